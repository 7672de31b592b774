//! A bot, and the machines that run its benchmarks.

use serde::{Deserialize, Serialize};

/// The visibility of a bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BotSet {
    /// All users.
    External,
    /// Users who also know the internal ones.
    Internal,
}

/// A bot, found by its name or an alias.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bot<'a> {
    /// The name asked for.
    pub name: &'a str,
    /// The name under which it is configured: another one if `name` is an alias.
    pub configured_as: &'a str,
    /// The set of `name`.
    pub set: BotSet,
    /// It takes no jobs for now.
    pub out_of_resources: bool,
    /// It takes no culprit finders for now, which need more runs than other jobs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_culprit_finder: bool,
    /// The repository that is built: a URL, or the absolute path of a local one.
    /// Absent where each job names its own.
    pub repository: Option<&'a str>,
    /// The machines that run the benchmark.
    pub workers: &'a Workers,
}

/// The machines that run the benchmarks of a bot.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Workers {
    /// Machines of a Swarming server, with builds from Buildbucket.
    Swarming(Swarming),
    /// A pool of machines, by name.
    Machines(Vec<String>),
    /// This machine.
    Local,
}

/// Machines of a Swarming server, with builds from Buildbucket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Swarming {
    /// The browser that the benchmark is to run.
    pub browser: String,
    /// The Buildbucket bucket of the builder.
    pub bucket: String,
    /// The builder.
    pub builder: String,
    /// The URL of the Swarming server.
    pub swarming_server: String,
    /// The properties that a machine must have; never empty.
    pub dimensions: Vec<Dimension>,
    /// Arguments of all its runs, before those of a job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_test_args: Vec<String>,
}

/// A property of a Swarming bot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    /// Its name, such as `os`.
    #[serde(deserialize_with = "super::file::text")]
    pub key: String,
    /// Its value, such as `Windows-11`.
    #[serde(deserialize_with = "super::file::text")]
    pub value: String,
}
