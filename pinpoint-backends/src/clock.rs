//! The clock of the `tokio` runtime.

use std::time::Duration;

use async_trait::async_trait;
use pinpoint_core::Clock;

/// Waits by the runtime's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioClock;

#[async_trait]
impl Clock for TokioClock {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
