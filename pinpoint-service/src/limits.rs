//! What a request may cost.

/// The most bytes that a request may have.
pub(crate) const MOST_BODY_BYTES: usize = 1 << 20;
