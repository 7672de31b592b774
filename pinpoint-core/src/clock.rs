//! Time, for the drivers of machines. The machine itself has none.

use std::time::Duration;

use async_trait::async_trait;

/// Waits.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Returns when the time has passed.
    async fn sleep(&self, duration: Duration);
}
