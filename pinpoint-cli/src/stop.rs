//! The signals that make a job stop.

use std::future::poll_fn;
use std::task::Poll;

use pinpoint_backends::local::ignores_hangup;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::error::INTERRUPTED;

/// True when a signal has interrupted the job: Ctrl-C, `kill`, a closed terminal.
///
/// The signals are listened to by a task of their own, whatever the job does
/// meanwhile.
#[derive(Clone)]
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Listens from now on. The second signal ends the process at once.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let mut signals = Signals::listen()?;
        let (heard, interrupt) = watch::channel(false);
        tokio::spawn(async move {
            signals.any().await;
            heard.send_replace(true);
            signals.any().await;
            std::process::exit(i32::from(INTERRUPTED));
        });
        Ok(Self(interrupt))
    }

    /// Resolves at the first signal, or if it has come already.
    pub(crate) async fn interrupted(mut self) {
        if self.0.wait_for(|heard| *heard).await.is_err() {
            // No receiver is left: the runtime is being shut down.
            std::future::pending().await
        }
    }
}

struct Signals(Vec<Signal>);

impl Signals {
    fn listen() -> std::io::Result<Self> {
        // To listen would undo what `nohup` has done.
        let hangup = (!ignores_hangup()).then(SignalKind::hangup);
        [SignalKind::interrupt(), SignalKind::terminate()]
            .into_iter()
            .chain(hangup)
            .map(signal)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    async fn any(&mut self) {
        poll_fn(|context| {
            let heard = (self.0.iter_mut()).any(|signal| signal.poll_recv(context).is_ready());
            if heard {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}
