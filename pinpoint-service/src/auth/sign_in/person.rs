//! A user who has signed in, and the groups that give rights.

use crate::auth::users::user_name;

/// A user who has signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Person {
    /// The name, as [`user_name`] writes it.
    pub(super) user: String,
    pub(super) groups: Vec<String>,
}

impl Person {
    /// Returns `None` for an empty name, or one with control characters.
    pub(super) fn new(user: &str, groups: Vec<String>) -> Option<Self> {
        let user = user_name(user)?;
        Some(Self { user, groups })
    }
}
