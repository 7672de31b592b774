//! The signals that make a job stop.

use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use pinpoint_backends::local::ignores_hangup;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::exit_code::INTERRUPTED;
use crate::show::output::errln;

/// A signal so soon after the first is the same one: `timeout` sends it to the process and to
/// its group, and an impatient terminal or supervisor repeats it.
const SAME: Duration = Duration::from_secs(1);

/// True when a signal has interrupted the job: Ctrl-C, `kill`, a closed terminal.
///
/// A separate task listens for the signals, whatever the job does.
#[derive(Clone)]
pub(crate) struct Interrupt {
    heard: watch::Receiver<bool>,
    last_words: Arc<OnceLock<String>>,
}

impl Interrupt {
    /// Listens from now on. A second signal, a second or more after the first, ends the process
    /// at once.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let mut signals = Signals::listen()?;
        let (hears, heard) = watch::channel(false);
        let last_words = Arc::new(OnceLock::<String>::new());
        let words = Arc::clone(&last_words);
        tokio::spawn(async move {
            poll_fn(|context| signals.poll_any(context)).await;
            hears.send_replace(true);
            another(|context| signals.poll_any(context)).await;
            if let Some(words) = words.get() {
                errln!("{words}");
            }
            std::process::exit(i32::from(INTERRUPTED));
        });
        Ok(Self { heard, last_words })
    }

    /// Sets the words to print if a second signal ends the process.
    pub(crate) fn say_at_once(&self, words: String) {
        // Each command sets them once.
        let _ = self.last_words.set(words);
    }

    /// Returns true once a signal has come.
    pub(crate) fn is_heard(&self) -> bool {
        *self.heard.borrow()
    }

    /// Resolves at the first signal, even if it has already come.
    pub(crate) async fn interrupted(mut self) {
        if self.heard.wait_for(|heard| *heard).await.is_err() {
            // No receiver is left: the runtime is being shut down.
            std::future::pending().await
        }
    }
}

/// Resolves at a signal that is not the same as one that has just come.
async fn another(mut signal: impl FnMut(&mut Context<'_>) -> Poll<()>) {
    let until = Instant::now() + SAME;
    while timeout_at(until, poll_fn(&mut signal)).await.is_ok() {}
    poll_fn(signal).await;
}

struct Signals(Vec<Signal>);

impl Signals {
    fn listen() -> std::io::Result<Self> {
        // Listening would undo the effect of `nohup`.
        let hangup = (!ignores_hangup()).then(SignalKind::hangup);
        [SignalKind::interrupt(), SignalKind::terminate()]
            .into_iter()
            .chain(hangup)
            .map(signal)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn poll_any(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let heard = (self.0.iter_mut()).any(|signal| signal.poll_recv(context).is_ready());
        match heard {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use tokio::time::sleep_until;

    use super::*;

    /// The time of the signal that ends the process, of signals at these milliseconds after the
    /// first.
    async fn ends_at(signals: &[u64]) -> Option<u64> {
        let began = Instant::now();
        let at = |time: &u64| Box::pin(sleep_until(began + Duration::from_millis(*time)));
        let mut signals: VecDeque<_> = signals.iter().map(at).collect();
        let signal = |context: &mut Context<'_>| {
            let Some(next) = signals.front_mut() else {
                return Poll::Pending;
            };
            let heard = next.as_mut().poll(context);
            if heard.is_ready() {
                signals.pop_front();
            }
            heard
        };
        let ended = timeout_at(began + Duration::from_secs(3600), another(signal));
        let is_ended = ended.await.is_ok();
        is_ended.then(|| began.elapsed().as_millis() as u64)
    }

    #[tokio::test(start_paused = true)]
    async fn a_signal_that_comes_twice_is_one() {
        assert_eq!(ends_at(&[]).await, None);
        assert_eq!(ends_at(&[0, 3, 900]).await, None);
        assert_eq!(ends_at(&[0, 1_500]).await, Some(1_500));
        assert_eq!(ends_at(&[2_000, 2_001]).await, Some(2_000));
    }
}
