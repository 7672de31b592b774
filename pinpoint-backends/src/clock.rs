//! The clock of the `tokio` runtime.

use std::time::Duration;

use async_trait::async_trait;
use pinpoint_core::Clock;

/// Waits as `tokio` does.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioClock;

#[async_trait]
impl Clock for TokioClock {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
