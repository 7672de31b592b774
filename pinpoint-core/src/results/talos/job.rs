//! Jobs, with their suites, subtests and replicates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::Counter;
use super::details::Details;
use super::lines::{Kind, lines};
use super::measured::{Measured, present, replicates};
use super::settings::{BoundedSubtest, BoundedSuite, OutOfBounds, Settings, check_suite};
use super::values::{MissingValue, TalosValues};
use super::{perfherder, talosdata};
use crate::results::{Origin, ReadError};

/// The results of one machine: a line of a log.
///
/// ```
/// use pinpoint_core::results::talos::Job;
///
/// let log = r#"INFO - TALOSDATA: [{"testrun": {"suite": "tp5o"}, "results": {"a.com": [181, 149]}}]"#;
/// let jobs = Job::read_all(log)?;
/// let suite = &jobs[0].suites[0];
/// assert_eq!((&*suite.name, &*suite.subtests[0].name), ("tp5o", "a.com"));
/// assert_eq!(Job::read_all(&jobs[0].to_talosdata()?)?, jobs);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Job {
    /// The harness: its `name`.
    pub framework: Details,
    /// The program under test: `name` and `version`.
    pub application: Details,
    /// The suites, usually one to four.
    pub suites: Vec<Suite>,
    /// The other members.
    pub other: Details,
}

/// A suite: a summary of its subtests.
///
/// Members of `TALOSDATA` that Perfherder does not have are written beside its own, and the
/// other way around.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Suite {
    /// The name, which is its identity together with `extra_options`.
    pub name: String,
    /// The name that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_name: Option<String>,
    /// The options that are part of the identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_options: Vec<String>,
    /// Labels that are not part of the identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The summary.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub value: Option<Measured>,
    /// The unit of the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// False if more is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_is_better: Option<bool>,
    /// The settings of its alerts.
    #[serde(flatten)]
    pub settings: Settings,
    /// The subtests.
    pub subtests: Vec<Subtest>,
    /// The machine: `platform`, `osversion`, `os` and `name`.
    #[serde(
        default,
        rename = "test_machine",
        skip_serializing_if = "Details::is_empty"
    )]
    pub machine: Details,
    /// The run: `date` and `options`.
    #[serde(default, rename = "testrun", skip_serializing_if = "Details::is_empty")]
    pub run: Details,
    /// The build: `name`, `version`, `id`, `branch` and `revision`.
    #[serde(
        default,
        rename = "test_build",
        skip_serializing_if = "Details::is_empty"
    )]
    pub build: Details,
    /// The counters by name.
    #[serde(
        default,
        rename = "talos_counters",
        deserialize_with = "counters",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub counters: BTreeMap<String, Counter>,
    /// The other members of the summary of `TALOSDATA`.
    #[serde(
        default,
        rename = "talos_summary",
        skip_serializing_if = "Details::is_empty"
    )]
    pub summary: Details,
    /// The other members.
    #[serde(flatten)]
    pub other: Details,
}

/// A subtest: its replicates, and one value of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subtest {
    /// The name, which is its identity within the suite.
    pub name: String,
    /// The name that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_name: Option<String>,
    /// The value that counts: `filtered` in `TALOSDATA`.
    #[serde(deserialize_with = "present")]
    pub value: Option<Measured>,
    /// The values of which it was made.
    #[serde(
        default,
        deserialize_with = "replicates",
        skip_serializing_if = "Option::is_none"
    )]
    pub replicates: Option<Vec<Measured>>,
    /// The unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// False if more is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_is_better: Option<bool>,
    /// The settings of its alerts.
    #[serde(flatten)]
    pub settings: Settings,
    /// The statistics of the summary of `TALOSDATA`.
    #[serde(
        default,
        rename = "talos_summary",
        skip_serializing_if = "Statistics::is_empty"
    )]
    pub statistics: Statistics,
    /// The other members.
    #[serde(flatten)]
    pub other: Details,
}

/// The statistics of a subtest, of those replicates that its filters left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// The standard deviation of the population.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub std: Option<Measured>,
    /// The smallest.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub min: Option<Measured>,
    /// The largest.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub max: Option<Measured>,
    /// The median.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub median: Option<Measured>,
    /// The mean.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub mean: Option<Measured>,
}

fn counters<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Counter>, D::Error> {
    let super::pairs::Pairs(counters) = Deserialize::deserialize(deserializer)?;
    Ok(counters.into_iter().collect())
}

/// The job can't be written in the format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteJobError {
    /// A subtest has no value, which each has in `PERFHERDER_DATA`.
    #[error("the subtest `{subtest}` of `{suite}` has no value, which PERFHERDER_DATA needs")]
    NoValue {
        /// The suite.
        suite: String,
        /// The subtest.
        subtest: String,
    },
    /// Two subtests have one name, which is a key in `TALOSDATA`.
    #[error("`{suite}` has two subtests `{subtest}`; TALOSDATA has each name once")]
    Twice {
        /// The suite.
        suite: String,
        /// The subtest.
        subtest: String,
    },
    /// Without a suite, `TALOSDATA` has no place for the framework and the application.
    #[error("the job has no suite, and so nothing can be written of it as TALOSDATA")]
    NoSuite,
    /// A member that is not known in one format has a meaning in the other.
    #[error("the member `{0}` has another meaning in the format that is written")]
    Taken(String),
    /// A member is out of Perfherder's bounds.
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    /// A value can't be written as JSON.
    #[error("the job can't be written as JSON")]
    Json(#[from] serde_json::Error),
}

impl Job {
    /// The jobs of a log, one for each line with results.
    ///
    /// # Errors
    ///
    /// Fails at a line that is cut off or damaged, or has a member out of its bounds.
    pub fn read_all(log: &str) -> Result<Vec<Self>, ReadError> {
        let read = |line: super::lines::Line<'_>| {
            let job = match line.kind {
                Kind::Perfherder => perfherder::read(&line.document),
                Kind::Talos => talosdata::read(&line.document),
            };
            let job = job.map_err(|error| line.moved(error))?;
            if line.kind == Kind::Perfherder {
                job.check_bounds()
                    .map_err(|source| ReadError::OutOfBounds {
                        place: line.place(),
                        source,
                    })?;
            }
            Ok(job)
        };
        lines(log).map(read).collect()
    }

    /// Checks the bounds of Perfherder.
    ///
    /// # Errors
    ///
    /// Fails with the path of the first member that is out of them.
    pub fn check_bounds(&self) -> Result<(), OutOfBounds> {
        for (index, suite) in self.suites.iter().enumerate() {
            suite.check_bounds(index)?;
        }
        Ok(())
    }

    /// The line of a log for Perfherder, without its end.
    ///
    /// # Errors
    ///
    /// Fails if a subtest has no value, or a member is out of its bounds.
    pub fn to_perfherder(&self) -> Result<String, WriteJobError> {
        self.check_bounds()?;
        perfherder::write(self)
    }

    /// The older line of Talos, without its end.
    ///
    /// # Errors
    ///
    /// Fails if two subtests of a suite have one name, or there is no suite.
    pub fn to_talosdata(&self) -> Result<String, WriteJobError> {
        talosdata::write(self)
    }

    /// The suites of several jobs, each identity once: one that stands there again adds its
    /// replicates, as another run of the same suite. A summary of some of the values is no summary of
    /// all, and is left out there.
    pub fn joined(jobs: impl IntoIterator<Item = Self>) -> Vec<Suite> {
        let mut places: BTreeMap<(String, Vec<String>), usize> = BTreeMap::new();
        let mut suites: Vec<Suite> = Vec::new();
        for suite in jobs.into_iter().flat_map(|job| job.suites) {
            let mut options = suite.extra_options.clone();
            options.sort_unstable();
            let identity = (suite.name.clone(), options);
            match places.get(&identity) {
                Some(&place) => suites[place].add(suite),
                None => {
                    places.insert(identity, suites.len());
                    suites.push(suite);
                }
            }
        }
        suites
    }
}

impl Suite {
    fn check_bounds(&self, index: usize) -> Result<(), OutOfBounds> {
        let suite = BoundedSuite {
            settings: self.settings,
            tags: &self.tags,
            extra_options: &self.extra_options,
            value: self.value.and_then(Measured::number),
        };
        let subtests = self.subtests.iter().map(|subtest| BoundedSubtest {
            settings: subtest.settings,
            value: subtest.value.and_then(Measured::number),
            replicates: (subtest.replicates.iter().flatten()).map(|value| value.number()),
        });
        check_suite(index, &suite, subtests)
    }

    /// Adds the replicates of the same suite, measured again.
    fn add(&mut self, other: Self) {
        self.value = None;
        self.summary = Details::default();
        let mut places: BTreeMap<String, usize> = (self.subtests.iter().enumerate())
            .map(|(place, subtest)| (subtest.name.clone(), place))
            .collect();
        for added in other.subtests {
            match places.get(&added.name) {
                Some(&place) => self.subtests[place].add(added),
                None => {
                    places.insert(added.name.clone(), self.subtests.len());
                    self.subtests.push(added);
                }
            }
        }
    }

    /// The commit and the time of the suite, and its parameters: those of
    /// [`Origin`](crate::results::Origin).
    pub fn origin(&self) -> Origin {
        origin(
            (&self.name, &self.extra_options),
            &self.machine,
            &self.run,
            &self.build,
        )
    }
}

/// Extra options in words: their order is no part of the identity.
pub(super) fn sorted(extra_options: &[String]) -> String {
    let mut options: Vec<&str> = extra_options.iter().map(String::as_str).collect();
    options.sort_unstable();
    options.join(", ")
}

/// The origin of a suite. Its parameters are suite, extra_options, machine, branch, version, and the
/// options of the run that are not lists, as `option_cycles`.
pub(super) fn origin(
    (name, extra_options): (&str, &[String]),
    machine: &Details,
    run: &Details,
    build: &Details,
) -> Origin {
    let mut parameters = BTreeMap::from([("suite".to_owned(), name.to_owned())]);
    if !extra_options.is_empty() {
        parameters.insert("extra_options".to_owned(), sorted(extra_options));
    }
    for (name, value) in [
        ("machine", machine.text("name")),
        ("branch", build.text("branch")),
        ("version", build.text("version")),
    ] {
        parameters.extend(value.map(|value| (name.to_owned(), value)));
    }
    if let Some(serde_json::Value::Object(options)) = run.0.get("options") {
        for (name, value) in options {
            let value = super::details::scalar(value);
            parameters.extend(value.map(|value| (format!("option_{name}"), value)));
        }
    }
    Origin {
        revision: build.text("revision"),
        date: run.0.get("date").and_then(serde_json::Value::as_i64),
        parameters,
    }
}

impl Subtest {
    /// The replicates, or the value if there are no replicates.
    pub fn all_values(&self) -> Vec<Measured> {
        match &self.replicates {
            Some(replicates) if !replicates.is_empty() => replicates.clone(),
            _ => self.value.into_iter().collect(),
        }
    }

    fn add(&mut self, other: Self) {
        let mut replicates = self.all_values();
        replicates.extend(other.all_values());
        self.replicates = Some(replicates);
        self.value = None;
        self.statistics = Statistics::default();
    }
}

impl TalosValues {
    /// The values of a subtest of the suite.
    ///
    /// # Errors
    ///
    /// Fails if the results do not state them. They are never computed from others.
    pub fn of(self, suite: &Suite, subtest: &Subtest) -> Result<Vec<Measured>, MissingValue> {
        let stated = match self {
            Self::Replicates => subtest.all_values(),
            one => (one
                .of_summary(subtest.value, &subtest.statistics)
                .into_iter())
            .collect(),
        };
        // An empty list of replicates is stated as well.
        if stated.is_empty() && !(self == Self::Replicates && subtest.replicates.is_some()) {
            return Err(self.missing(&suite.name, &subtest.name));
        }
        Ok(stated)
    }

    /// The number of a summary, if it states it; replicates are in none.
    pub(super) fn of_summary(
        self,
        filtered: Option<Measured>,
        statistics: &Statistics,
    ) -> Option<Measured> {
        match self {
            Self::Replicates => None,
            Self::Filtered => filtered,
            Self::Mean => statistics.mean,
            Self::Median => statistics.median,
            Self::Min => statistics.min,
            Self::Max => statistics.max,
        }
    }
}

/// Refuses members that would stand beside known ones of the same name.
pub(super) fn check_free(other: &Details, taken: &[&str]) -> Result<(), WriteJobError> {
    match taken.iter().find(|name| other.0.contains_key(**name)) {
        Some(name) => Err(WriteJobError::Taken((*name).to_owned())),
        None => Ok(()),
    }
}

impl Statistics {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
