//! Locks in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even one whose holder panicked: none does so in the middle of a change.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
