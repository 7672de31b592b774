//! The jobs that a list shows.

use pinpoint_core::JobState;

use super::{JobId, JobSummary};

/// The conditions on jobs; absent ones match any job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// The job name.
    pub name: Option<String>,
    /// The benchmark.
    pub benchmark: Option<String>,
    /// The bots, any of which will do; all bots when empty.
    pub bots: Vec<String>,
    /// Only jobs that the workers of their bots carry out.
    pub by_workers: bool,
    /// The user who asked for it.
    pub user: Option<String>,
    /// The machines that run it, any of which will do; all of them when empty.
    pub kinds: Vec<String>,
    /// The state.
    pub state: Option<JobState>,
    /// Created then or later, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Created before then, in milliseconds since 1970.
    pub until: Option<i64>,
    /// Words that occur in its title, names, repository or error, all of them, in
    /// any order and case; a `*` after one makes it the beginning of a word.
    pub text: Option<String>,
    /// Parts of its names.
    pub parts: NameParts,
}

/// Texts that occur in the names of a job as they are written, letter by letter; empty ones
/// occur in any. They have no index: jobs are walked, newest first, until the list is full.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameParts {
    /// In its job name; in its title where it has none.
    pub name: String,
    /// In its benchmark.
    pub benchmark: String,
    /// In its bot.
    pub bot: String,
    /// In the user who asked for it.
    pub user: String,
}

/// The part of a list that a page shows. Lists are sorted by the time of creation,
/// the newest job first, and the place of a job in them never changes: going on
/// from a job shows none twice and misses none, whatever was added meanwhile. The
/// job itself may have been removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Place {
    /// The newest jobs.
    #[default]
    Newest,
    /// The jobs right after this one: older ones.
    After(JobId),
    /// The jobs right before this one: newer ones.
    Before(JobId),
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The jobs, newest first.
    pub jobs: Vec<JobSummary>,
    /// There are more in the direction of the page: newer ones for
    /// [`Place::Before`], older ones otherwise.
    pub more: bool,
}

/// The number of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// So many.
    Exactly(u64),
    /// More than these.
    MoreThan(u64),
}
