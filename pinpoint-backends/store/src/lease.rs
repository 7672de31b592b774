//! Leases: of many workers, one at a time works on a job.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::JobId;

/// The latest possible deadline from now.
const FAR: Duration = Duration::from_secs(24 * 60 * 60);

/// The right to work on a job, for a while.
///
/// It lasts until it is released, or until it has expired and another worker has taken the job.
/// From then on no write under it reaches the store: each lease has a unique number, and the job
/// knows the last one. Time decides who may take a job, never who may write. It decides how long a
/// store that does not answer is tried again: until the lease expires.
#[derive(Debug, Clone)]
pub struct Lease {
    pub(super) id: JobId,
    pub(super) job: i64,
    pub(super) token: i64,
    /// Absent for a journal that was opened without a lease. Clones share it.
    until: Option<Arc<Mutex<Instant>>>,
}

impl Lease {
    /// A lease that the store has just granted for this time.
    pub(super) fn new(id: JobId, job: i64, token: i64, time: Duration) -> Self {
        Self {
            until: Some(Arc::new(Mutex::new(Instant::now() + time.min(FAR)))),
            ..Self::none(id, job, token)
        }
    }

    /// A placeholder for no lease: the job may be written to until a worker takes it.
    pub(super) fn none(id: JobId, job: i64, token: i64) -> Self {
        Self {
            id,
            job,
            token,
            until: None,
        }
    }

    /// The job.
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// The time when the lease expires unless it is renewed, by this machine's clock.
    pub(super) fn until(&self) -> Option<Instant> {
        let until = self.until.as_ref()?;
        Some(*until.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn renewed(&self, time: Duration) {
        if let Some(until) = &self.until {
            *until.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + time.min(FAR);
        }
    }
}

impl PartialEq for Lease {
    fn eq(&self, other: &Self) -> bool {
        (&self.id, self.job, self.token) == (&other.id, other.job, other.token)
    }
}

impl Eq for Lease {}
