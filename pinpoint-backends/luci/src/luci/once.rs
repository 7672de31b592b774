//! Requests work that must not be begun twice.

use tokio::time::sleep;

use super::error::LuciError;
use crate::google::{Backoff, ServiceError};

/// The tries to request work. Between two of them the work is looked for: the services know a
/// repeated request for a minute, and an answer may take longer.
pub(super) struct Tries {
    seed: u64,
    failed: u32,
}

impl Tries {
    /// The seed decides the jitter of the waits.
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, failed: 0 }
    }

    /// Waits before the next one.
    ///
    /// # Errors
    ///
    /// This error, if it is permanent or was the last try.
    pub(super) async fn wait_after(&mut self, error: ServiceError) -> Result<(), LuciError> {
        let wait = Backoff::default().wait(self.failed, self.seed);
        let Some(wait) = wait.filter(|_| error.is_transient()) else {
            return Err(error.into());
        };
        tracing::debug!(%error, failed = self.failed, "the work is looked for before it is asked for again");
        self.failed += 1;
        sleep(wait).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::google::Code;

    #[tokio::test(start_paused = true)]
    async fn there_are_as_many_tries_as_waits() {
        let lost = ServiceError::TimedOut {
            service: "Service",
            after: Duration::from_secs(90),
        };
        let mut tries = Tries::new(1);
        for _ in 0..10 {
            tries.wait_after(lost.clone()).await.unwrap();
        }
        assert!(tries.wait_after(lost).await.is_err());
        let refused = ServiceError::Code {
            service: "Service",
            code: Code::PERMISSION_DENIED,
            text: String::new(),
        };
        assert!(Tries::new(1).wait_after(refused).await.is_err());
    }
}
