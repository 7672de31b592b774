//! The orders of a list of jobs.
//!
//! Texts are compared by bytes, in both databases. Names are compared by their first letters in
//! lower case, which have separate columns.

use serde::{Deserialize, Serialize};

use super::{JobAnswer, JobFilter, JobId, JobSummary};

/// The characters of a name that count: PostgreSQL has no index entries of any length.
const MAX_INDEXED_CHARS: usize = 100;

/// A column that jobs are sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SortBy {
    /// The time of creation.
    #[default]
    Created,
    /// The job name, or the title of a job without one.
    Name,
    /// The benchmark.
    Benchmark,
    /// The bot.
    Bot,
    /// The machine that runs it.
    Kind,
    /// The user who asked for it.
    User,
    /// The state, by its name.
    State,
    /// The story of the benchmark.
    Story,
    /// The number of the issue; least for a job about none.
    Bug,
    /// The answer: none, canceled, failed, no change, not decided by the number of remaining
    /// commits, found by the size of the change in percent.
    Result,
    /// Executions of the benchmark so far.
    Runs,
    /// The total running time until it last stopped; least for a job that never did.
    Duration,
}

/// The order of a list: the newest job first by default. Letter case does not matter, an empty
/// name comes before all others, and of jobs with the same value the older is before the newer.
/// A descending list is an ascending one backwards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ListOrder {
    /// The column.
    pub by: SortBy,
    /// The least value, or the oldest job, is first, and not last.
    pub ascending: bool,
}

/// The place of a job in a list of an order. It stays when the job changes, or is removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortKey {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<SortValue>,
    pub(super) id: JobId,
}

/// The sort value of a job, apart from its age.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum SortValue {
    Number(i64),
    Text(String),
}

/// The place in a list that is sorted by the time of creation.
impl From<JobId> for SortKey {
    fn from(id: JobId) -> Self {
        Self { value: None, id }
    }
}

impl SortBy {
    /// All columns.
    pub const ALL: [Self; 12] = [
        Self::Created,
        Self::Name,
        Self::Benchmark,
        Self::Bot,
        Self::Kind,
        Self::User,
        Self::State,
        Self::Story,
        Self::Bug,
        Self::Result,
        Self::Runs,
        Self::Duration,
    ];

    /// The common value of all jobs that match the filter, if it implies one.
    pub(super) fn value_in(self, filter: &JobFilter) -> Option<SortValue> {
        let only = |values: &[String]| match values {
            [only] => Some(only.clone()),
            _ => None,
        };
        let value = match self {
            // Jobs without a name are sorted by their titles.
            Self::Name => filter
                .name
                .as_deref()
                .filter(|name| !name.is_empty())
                .map(name_key),
            Self::Benchmark => filter.benchmark.as_deref().map(name_key),
            Self::Bot => only(&filter.bots).as_deref().map(name_key),
            Self::Kind => only(&filter.kinds),
            Self::User => filter.user.as_deref().map(name_key),
            Self::State => filter.state.map(|state| state.as_str().to_owned()),
            Self::Created
            | Self::Story
            | Self::Bug
            | Self::Result
            | Self::Runs
            | Self::Duration => None,
        };
        value.map(SortValue::Text)
    }
}

impl ListOrder {
    /// The place of a job in a list of this order.
    pub fn key_of(self, job: &JobSummary) -> SortKey {
        let keys = || NameKeys::new(&job.name, &job.title, &job.benchmark, &job.bot, &job.user);
        let number = |number| Some(SortValue::Number(number));
        let text = |text: String| Some(SortValue::Text(text));
        SortKey {
            value: match self.by {
                SortBy::Created => None,
                SortBy::Name => text(keys().name),
                SortBy::Benchmark => text(keys().benchmark),
                SortBy::Bot => text(keys().bot),
                SortBy::User => text(keys().user),
                SortBy::Kind => text(job.kind.clone()),
                SortBy::State => text(job.state.as_str().into()),
                SortBy::Story => text(name_key(&job.story)),
                SortBy::Bug => number(job.bug.unwrap_or(-1)),
                SortBy::Result => number(job.answer.as_ref().map_or(0, JobAnswer::sort_key)),
                SortBy::Runs => number(i64::try_from(job.runs).unwrap_or(i64::MAX)),
                SortBy::Duration => number(job.duration.unwrap_or(-1)),
            },
            id: job.id.clone(),
        }
    }
}

/// The sort keys of a job's names.
pub(super) struct NameKeys {
    pub(super) name: String,
    pub(super) benchmark: String,
    pub(super) bot: String,
    pub(super) user: String,
}

impl NameKeys {
    pub(super) fn new(name: &str, title: &str, benchmark: &str, bot: &str, user: &str) -> Self {
        Self {
            name: name_key(if name.is_empty() { title } else { name }),
            benchmark: name_key(benchmark),
            bot: name_key(bot),
            user: name_key(user),
        }
    }
}

/// The sort key of a name.
pub(super) fn name_key(name: &str) -> String {
    let lower = name.chars().flat_map(char::to_lowercase);
    lower.take(MAX_INDEXED_CHARS).collect()
}

/// Sets the sort key by runs, for a job in this state (as SQL).
pub(super) fn set_runs_key(state: &str) -> String {
    format!("runs_key = CASE {state} WHEN 'running' THEN -1 ELSE runs END")
}
