//! Reads what this program has written. What cannot be read is damaged.

use serde::de::DeserializeOwned;

use super::error::{StoreError, brief};

/// Reads JSON that this program has written.
pub(super) fn parsed<T: DeserializeOwned>(
    store: &str,
    place: impl Fn() -> String,
    json: &str,
) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|source| damaged(store, place(), &source.to_string()))
}

/// `what` replaces the expected JSON.
pub(super) fn damaged(store: &str, place: String, what: &str) -> StoreError {
    StoreError::Damaged {
        store: store.to_owned(),
        place,
        source: brief(what).into(),
    }
}
