//! The error of a database.

/// The error of a database, for people: the library that reported it may change.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DatabaseError(pub(super) sqlx::Error);

impl DatabaseError {
    /// Returns the error of waiting in vain for a connection, for tests of those who wait on.
    #[doc(hidden)]
    #[must_use]
    pub fn no_connection() -> Self {
        Self(sqlx::Error::PoolTimedOut)
    }
}
