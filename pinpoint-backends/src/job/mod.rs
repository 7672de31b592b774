//! What may be done with a job, over any store and any executor: the one definition of
//! it, for the command line, Python, a service and its workers.
//!
//! A job is taken ([`TakenJob::take`]), worked on until it ends or this process is to
//! end ([`TakenJob::work`]), or concluded where nothing is under way
//! ([`TakenJob::cancel`]). Its result ([`JobResult`]) names commits and says which one is
//! to blame.
//!
//! A job is held by a lock, against other processes of this machine, and by a lease,
//! against other machines. The lease is renewed while the job is worked on.

mod error;
mod life;
mod result;

pub use error::JobError;
pub use life::{TakenJob, Worker, replayed, spec_of};
pub use result::{
    BisectionResult, CommitError, CommitSource, Confirmation, CulpritFinderResult, Evidence,
    JobResult, NamedChart, NamedComparison, NamedCulprit, NamedPosterior, NamedSkip, NamedSpan,
    PairwiseResult, RESULT_VERSION,
};
