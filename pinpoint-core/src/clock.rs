//! Time, for drivers. A machine has none.

use std::time::Duration;

use async_trait::async_trait;

/// Waits.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Returns when the time has passed.
    async fn sleep(&self, duration: Duration);
}
