//! Who works on a job, when many could.

use super::JobId;

/// The right to work on a job, for a while.
///
/// It lasts until it is let go of, or until it has run out and somebody else has
/// taken the job. From then on nothing that is written under it reaches the store:
/// each lease has a number of its own, and the job knows the last one. Time decides
/// who may take a job, never who may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub(super) id: JobId,
    pub(super) job: i64,
    pub(super) token: i64,
}

impl Lease {
    /// The job.
    pub fn id(&self) -> &JobId {
        &self.id
    }
}
