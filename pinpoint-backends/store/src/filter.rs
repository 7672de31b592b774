//! The jobs that a list shows.

use pinpoint_core::JobState;

use super::{JobSummary, SortKey};

/// The conditions on jobs; absent ones match any job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// The job name.
    pub name: Option<String>,
    /// The benchmark.
    pub benchmark: Option<String>,
    /// The bots, any of which matches; all bots when empty.
    pub bots: Vec<String>,
    /// Only jobs that the workers of their bots carry out.
    pub by_workers: bool,
    /// The user who asked for it.
    pub user: Option<String>,
    /// The machines that run it, any of which matches; all of them when empty.
    pub kinds: Vec<String>,
    /// The state.
    pub state: Option<JobState>,
    /// Created then or later, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Created before then, in milliseconds since 1970.
    pub until: Option<i64>,
    /// Words that occur in its title, names, repository or error, or hashes of commits that it
    /// began or ended at, compared or found, all of them, in
    /// any order and case; a `*` after one makes it the beginning of a word.
    pub text: Option<String>,
    /// Parts of its names.
    pub parts: NameParts,
}

/// Texts that occur literally in the names of a job; empty ones occur in any. They have no index:
/// jobs are walked, newest first, until the list is full.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameParts {
    /// In its job name; in its title if it has no name.
    pub name: String,
    /// In its benchmark.
    pub benchmark: String,
    /// In its bot.
    pub bot: String,
    /// In the user who asked for it.
    pub user: String,
}

/// The part of a list that a page shows. Continuing from the place of a job shows no job twice and
/// misses none, whatever was added in between, except for those whose value in the column that the
/// list is sorted by has changed: by age none has. The job itself may have been removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PagePosition {
    /// The beginning of the list: by default the newest jobs.
    #[default]
    First,
    /// The jobs right after this place.
    After(SortKey),
    /// The jobs right before this place.
    Before(SortKey),
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The jobs, in the order of the list.
    pub jobs: Vec<JobSummary>,
    /// True if more jobs follow in the direction of the page: before it for [`PagePosition::Before`],
    /// after it otherwise.
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
