//! What makes a job stop: signals, and `pinpoint jobs cancel`.

use std::future::Future;
use std::time::Duration;

use pinpoint_backends::store::{JobId, JobStore};
use pinpoint_core::Stop;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::INTERRUPTED;

/// How soon a running job hears of `jobs cancel`.
const CANCEL_POLL: Duration = Duration::from_millis(500);

/// The signals that interrupt a job: Ctrl-C, `kill`, a closed terminal.
pub(crate) struct Signals(Vec<Signal>);

impl Signals {
    pub(crate) fn listen() -> std::io::Result<Self> {
        [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ]
        .into_iter()
        .map(signal)
        .collect::<Result<_, _>>()
        .map(Self)
    }

    async fn any(&mut self) {
        let [first, second, third] = &mut self.0[..] else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = first.recv() => {}
            _ = second.recv() => {}
            _ = third.recv() => {}
        }
    }

    /// Resolves at the first signal; a second one ends the process at once.
    pub(crate) async fn interrupted(mut self) {
        self.any().await;
        tokio::spawn(async move {
            self.any().await;
            std::process::exit(i32::from(INTERRUPTED));
        });
    }
}

/// Resolves when the job is to stop.
pub(crate) async fn stop(
    interrupted: impl Future<Output = ()>,
    store: JobStore,
    id: JobId,
) -> Stop {
    let canceled = async {
        loop {
            tokio::time::sleep(CANCEL_POLL).await;
            // A store that can't be read shows itself at the next record.
            if store.cancel_requested(&id).await.unwrap_or(false) {
                return;
            }
        }
    };
    tokio::select! {
        () = interrupted => Stop::Interrupt,
        () = canceled => Stop::Cancel,
    }
}
