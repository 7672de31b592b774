//! The limits of a request.

use std::time::Duration;

/// The most bytes that a request may have.
pub(crate) const MOST_BODY_BYTES: usize = 1 << 20;

/// The longest that an answer may take to begin: a client that sends slowly has that long, too.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
