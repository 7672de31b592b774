//! The life of a service.

use tokio::sync::watch;

/// A part of the life of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It answers.
    #[default]
    Serving,
    /// It answers, and says that it is not ready: clients should send nothing more.
    Leaving,
    /// It answers what is under way. Streams end.
    Ending,
}

/// Waits until the service ends: forever if nobody is left who could end it.
pub(crate) async fn ending(phase: &mut watch::Receiver<Phase>) {
    if phase.wait_for(|it| *it == Phase::Ending).await.is_err() {
        std::future::pending::<()>().await;
    }
}
