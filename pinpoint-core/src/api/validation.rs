//! Validation of the texts in requests.

use std::fmt;

use pinpoint_compare::Direction;
use uuid::Uuid;

use super::{FlatCommit, Timestamp, TimestampError, messages};
use crate::bots::{Bot, Bots, UnknownBot};
use crate::{Aggregate, Method, UnknownAggregate};
use crate::{Commit, Patch, SpecError};

/// An invalid part of a request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field}: {problem}")]
#[non_exhaustive]
pub struct Violation {
    /// The field, by its names in the `.proto` file, as in
    /// `start_commit.modified_deps[0].git_hash`.
    pub field: String,
    /// The problem with it.
    pub problem: Problem,
}

/// The problems that a field can have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The field is required for this kind of job.
    #[error("this field is required")]
    Missing,
    /// One of two fields is required.
    #[error("this field or `{or}` is required")]
    MissingEither {
        /// The other one.
        or: &'static str,
    },
    /// Only one of two fields is allowed.
    #[error("this does not go with `{with}`; give one of them")]
    Both {
        /// The other one.
        with: &'static str,
    },
    /// Not the full name of a commit.
    #[error(
        "`{0}` is not a full git hash; give all 40 (or 64) hexadecimal digits, as `git rev-parse` prints them"
    )]
    Hash(String),
    /// There is nothing to search.
    #[error("this is the commit of `{0}` again; give two different commits")]
    SameCommit(&'static str),
    /// Not a digest of stored files.
    #[error("`{0}` is not a SHA-256 digest of 64 hexadecimal digits")]
    Digest(String),
    /// A number that must be larger.
    #[error("{0} is not positive")]
    NotPositive(i64),
    /// An invalid count.
    #[error("`{found}` is not a whole number from 1 to {most}", most = SpecError::MOST_ATTEMPTS)]
    Count {
        /// The text.
        found: String,
    },
    /// An invalid size.
    #[error("`{0}` is not a finite decimal number")]
    Number(String),
    /// Not a direction.
    #[error("`{0}` is not a direction; use Up, Down or Unknown")]
    Direction(String),
    /// Not a valid aggregate of values.
    #[error(transparent)]
    Aggregate(#[from] UnknownAggregate),
    /// No bot has this name.
    #[error(transparent)]
    Bot(#[from] UnknownBot),
    /// The bot takes no jobs for now.
    #[error("the bot `{0}` is out of resources for now; choose another one")]
    OutOfResources(String),
    /// The bot takes no culprit finders for now.
    #[error(
        "the bot `{0}` has too few machines for a culprit finder; choose another one, or a bisection"
    )]
    NoCulpritFinder(String),
    /// The bot has no build target.
    #[error("the bot `{0}` has no repository; add `repository` to its configuration")]
    NoRepository(String),
    /// A shell could not split the text.
    #[error("`{0}` ends inside a quotation; close it, or escape it with a backslash")]
    Arguments(String),
    /// Not valid tags.
    #[error("this is not a JSON object of strings; write it like {{\"key\": \"value\"}}")]
    Tags,
    /// Not a valid timestamp.
    #[error(transparent)]
    Moment(#[from] TimestampError),
    /// Not a valid job id.
    #[error("`{0}` is not a job id; job ids are UUIDs")]
    Job(String),
}

/// All problems of a request: never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &Violation> {
        self.0.iter()
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(Violation::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Violations {}

/// The job that a query, a cancellation or a legacy query names with `job_id`.
///
/// # Errors
///
/// When the id is missing, or not a valid UUID.
pub fn job_id(text: &str) -> Result<Uuid, Violations> {
    let mut check = Check::default();
    let text = check.needed("job_id", text);
    let job = text.parse();
    if job.is_err() && !text.is_empty() {
        check.note("job_id", Problem::Job(text));
    }
    check.end(job.unwrap_or_default())
}

impl FlatCommit {
    /// Reads a state.
    ///
    /// # Errors
    ///
    /// When the state has no main commit, a commit lacks a repository or a full hash, or the patch
    /// is incomplete. Fields are named from this message on.
    pub fn read(message: &messages::CombinedCommit) -> Result<Self, Violations> {
        let mut check = Check::default();
        let state = check.state("", message, None);
        check.end(state)
    }
}

/// Collects violations. Its methods give some value in any case, so that the rest is
/// checked as well; [`end`](Self::end) returns the result only if there was no violation.
#[derive(Default)]
pub(super) struct Check(Vec<Violation>);

impl Check {
    pub(super) fn end<T>(self, value: T) -> Result<T, Violations> {
        if self.0.is_empty() {
            Ok(value)
        } else {
            Err(Violations(self.0))
        }
    }

    pub(super) fn note(&mut self, field: impl Into<String>, problem: impl Into<Problem>) {
        self.0.push(Violation {
            field: field.into(),
            problem: problem.into(),
        });
    }

    pub(super) fn needed(&mut self, field: &str, text: &str) -> String {
        let text = text.trim();
        if text.is_empty() {
            self.note(field, Problem::Missing);
        }
        text.to_owned()
    }

    fn hash(&mut self, field: &str, text: &str) -> String {
        let hash = self.needed(field, text).to_ascii_lowercase();
        if !hash.is_empty() && !is_hexadecimal(&hash, &[40, 64]) {
            self.note(field, Problem::Hash(hash.clone()));
        }
        hash
    }

    /// Two hashes that differ.
    pub(super) fn ends(&mut self, start: &str, end: &str) -> [String; 2] {
        let ends = [
            self.hash("start_git_hash", start),
            self.hash("end_git_hash", end),
        ];
        if ends[0] == ends[1] && !ends[0].is_empty() {
            self.note("end_git_hash", Problem::SameCommit("start_git_hash"));
        }
        ends
    }

    /// A bot that takes jobs.
    pub(super) fn bot<'a>(&mut self, name: &str, bots: &'a Bots) -> Option<Bot<'a>> {
        const FIELD: &str = "configuration";
        let name = self.needed(FIELD, name);
        if name.is_empty() {
            return None;
        }
        match bots.get(&name) {
            Ok(bot) => {
                if bot.out_of_resources {
                    self.note(FIELD, Problem::OutOfResources(name));
                }
                Some(bot)
            }
            Err(unknown) => {
                self.note(FIELD, unknown);
                None
            }
        }
    }

    /// The repository that a bot builds.
    pub(super) fn repository(&mut self, bot: Option<Bot<'_>>) -> String {
        match bot {
            Some(bot) if bot.repository.is_none() => {
                self.note("configuration", Problem::NoRepository(bot.name.into()));
                String::new()
            }
            Some(bot) => bot.repository.unwrap_or_default().to_owned(),
            None => String::new(),
        }
    }

    /// The aggregate of values. `statistic` is the older field, and goes first.
    pub(super) fn aggregate(&mut self, statistic: &str, method: &str) -> Option<Aggregate> {
        let (field, text) = match statistic.trim() {
            "" => ("aggregation_method", method.trim()),
            statistic => ("statistic", statistic),
        };
        match text {
            "" => None,
            "avg" => Some(Method::Mean.into()),
            name => name
                .parse()
                .map_err(|error: UnknownAggregate| self.note(field, error))
                .ok(),
        }
    }

    pub(super) fn direction(&mut self, text: &str) -> Direction {
        let text = text.trim();
        match text.to_ascii_lowercase().as_str() {
            "up" => Direction::Up,
            "down" => Direction::Down,
            "" | "unknown" => Direction::Unknown,
            _ => {
                self.note("improvement_direction", Problem::Direction(text.into()));
                Direction::Unknown
            }
        }
    }

    pub(super) fn attempts(&mut self, text: &str) -> Option<u32> {
        let text = text.trim();
        let possible = 1..=SpecError::MOST_ATTEMPTS;
        match text.parse() {
            _ if text.is_empty() => None,
            Ok(count) if possible.contains(&count) => Some(count),
            _ => {
                let found = text.to_owned();
                self.note("initial_attempt_count", Problem::Count { found });
                None
            }
        }
    }

    /// A size in the unit of the chart, 1.0 by default: only the API has this default.
    pub(super) fn magnitude(&mut self, text: &str) -> f64 {
        let text = text.trim();
        match text.parse::<f64>() {
            _ if text.is_empty() => 1.0,
            Ok(number) if number.is_finite() => number,
            _ => {
                self.note("comparison_magnitude", Problem::Number(text.into()));
                1.0
            }
        }
    }

    pub(super) fn arguments(&mut self, field: &str, text: &str) -> Vec<String> {
        shlex::split(text).unwrap_or_else(|| {
            self.note(field, Problem::Arguments(text.into()));
            Vec::new()
        })
    }

    /// A state. A main commit without a repository is one of the bot's.
    pub(super) fn state(
        &mut self,
        field: &str,
        message: &messages::CombinedCommit,
        repository: Option<&str>,
    ) -> FlatCommit {
        let path = |name: &str| match field {
            "" => name.to_owned(),
            field => format!("{field}.{name}"),
        };
        let main = match &message.main {
            Some(main) => self.commit(&path("main"), main, repository),
            None => {
                self.note(path("main"), Problem::Missing);
                Commit::new("", "")
            }
        };
        let dependencies = (0..)
            .zip(&message.modified_deps)
            .map(|(index, dependency): (usize, _)| {
                self.commit(&path(&format!("modified_deps[{index}]")), dependency, None)
            })
            .collect();
        let patch = message.patch.as_ref();
        let patch = patch.map(|patch| self.patch(&path("patch"), patch));
        FlatCommit {
            main,
            dependencies,
            patch,
        }
    }

    fn commit(
        &mut self,
        field: &str,
        message: &messages::Commit,
        repository: Option<&str>,
    ) -> Commit {
        let named = match (message.repository.trim(), repository) {
            ("", Some(default)) => default,
            (named, _) => named,
        };
        let created = message.created.map(|created| created.to_string());
        if let Some(text) = &created
            && let Err(error) = text.parse::<Timestamp>()
        {
            self.note(format!("{field}.created"), error);
        }
        Commit {
            repository: self.needed(&format!("{field}.repository"), named),
            git_hash: self.hash(&format!("{field}.git_hash"), &message.git_hash),
            merged: Vec::new(),
            author: text(&message.author),
            created,
            subject: text(&message.subject),
        }
    }

    fn patch(&mut self, field: &str, message: &messages::GerritChange) -> Patch {
        let mut number = |name: &str, number: i64| {
            u64::try_from(number)
                .ok()
                .filter(|number| *number > 0)
                .unwrap_or_else(|| {
                    self.note(format!("{field}.{name}"), Problem::NotPositive(number));
                    0
                })
        };
        let (change, patchset) = (
            number("change", message.change),
            number("patchset", message.patchset),
        );
        Patch::Gerrit {
            host: self.needed(&format!("{field}.host"), &message.host),
            project: self.needed(&format!("{field}.project"), &message.project),
            change,
            patchset,
            hash: text(&message.patchset_hash),
        }
    }

    /// Files in content-addressed storage.
    pub(super) fn build(
        &mut self,
        field: &str,
        message: &messages::CasReference,
    ) -> messages::CasReference {
        self.needed(&format!("{field}.cas_instance"), &message.cas_instance);
        match &message.digest {
            None => self.note(format!("{field}.digest"), Problem::Missing),
            Some(digest) => {
                let path = format!("{field}.digest.hash");
                let hash = self.needed(&path, &digest.hash);
                if !hash.is_empty() && !is_hexadecimal(&hash, &[64]) {
                    self.note(path, Problem::Digest(hash));
                }
                if digest.size_bytes <= 0 {
                    let path = format!("{field}.digest.size_bytes");
                    self.note(path, Problem::NotPositive(digest.size_bytes));
                }
            }
        }
        message.clone()
    }
}

fn is_hexadecimal(text: &str, lengths: &[usize]) -> bool {
    lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A text that is not blank.
pub(super) fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
