//! The time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds of Unix time.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}
