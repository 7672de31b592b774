//! Jobs that explain others: the two builds of a result, run in pairs under a profiler.
//!
//! An explanation is a comparison in pairs like any other, with its journal; the profiles of its
//! runs are kept along with their values. The value of a run is its time under the profiler, which
//! decides nothing: the answer follows from the profiles.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinpoint_core::job::{BisectionResult, JobResult, NamedCulprit, PairwiseResult};
use pinpoint_core::results::Format;
use pinpoint_core::{
    Answered, CombinedCommit, Direction, EffectOf, FindMetric, PairwiseSpec, Position, Report,
    Status, Task, Usage, Variant, direction_of, is_memory,
};
use serde::{Deserialize, Serialize};

use super::{JobConfig, JobError, JobRequest, spec_of};
use crate::local::{
    LocalConfig, LocalError, NOT_KEPT, Profiling, RepositoryLocation, kept_profiles,
};
use crate::store::{Job, JobId};

/// The chart of the runs of an explanation.
const CHART: &str = "wall";

/// The factor by which a run is slower, at most, while its instructions are counted.
const SLOWEST: u32 = 200;

/// The job that another explains, and its changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// The job whose result it is.
    pub job: String,
    /// The difference that the job measured, as a part of the level before: above zero where the
    /// experiment is worse. Absent without a difference, where the worse direction is unknown, and
    /// for failures and memory, which profiles of time do not show.
    #[serde(default)]
    pub difference: Option<f64>,
    /// The changes; absent if unknown.
    #[serde(default)]
    pub changes: Option<ExplainedChanges>,
    /// Functions of the base that have another name in the experiment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same: Vec<(String, String)>,
    /// Programs, files and folders of the base that have another name in the experiment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub map: Vec<(String, String)>,
    /// The part of each run that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
}

/// The location of the changes between two states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplainedChanges {
    /// Between two commits of a repository; the first parent if none is named.
    Commits {
        /// The repository.
        repository: RepositoryLocation,
        /// The full hash of the older one.
        from: Option<String>,
        /// That of the newer one.
        to: String,
    },
    /// In this patch.
    Patch(PathBuf),
}

/// The result of a job can't be explained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotExplicable {
    /// It has no result.
    #[error("job {0} has no result to explain; let it end first")]
    Unfinished(JobId),
    /// It ended before its result.
    #[error("job {0} was canceled before it found a culprit")]
    Canceled(JobId),
    /// It failed.
    #[error("job {0} failed before it found a culprit")]
    Failed(JobId),
    /// It found nothing.
    #[error("job {0} found no culprit, so there is nothing to explain")]
    NoCulprit(JobId),
    /// The requested commit is not a culprit.
    #[error("{revision} is not a culprit of job {job}; its culprits are {culprits}")]
    OtherCulprit {
        /// The job.
        job: JobId,
        /// The commit.
        revision: String,
        /// Its culprits.
        culprits: String,
    },
    /// A culprit was requested of a job that compares two builds.
    #[error("job {0} compares two builds and has no culprits to choose from")]
    NoChoice(JobId),
    /// Its commits are built or run by functions of a program.
    #[error(
        "job {0} was built and run by functions of a program, so that its runs can't be profiled here; record profiles where they run, and compare those"
    )]
    Elsewhere(JobId),
    /// It is of a kind that can't be explained.
    #[error("job {0} is of a kind whose results can't be explained by this version")]
    UnsupportedKind(JobId),
    /// It is an explanation itself.
    #[error("job {0} is an explanation")]
    Explanation(JobId),
    /// It can't be read.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// The two states that an explanation compares.
struct Sides {
    base: Variant,
    experiment: Variant,
    difference: Option<f64>,
    changes: Option<ExplainedChanges>,
}

/// The request for a job that explains the result of another in this many pairs of runs. Of several
/// culprits it is the first, or the one whose hash begins with these digits.
///
/// Of a job in LUCI, the configuration of its executor is that of the job: the executor decides how
/// its runs are profiled. Its changes are unknown on this machine.
///
/// # Errors
///
/// [`NotExplicable`].
pub fn explain_job(
    job: &Job,
    result: &JobResult,
    culprit: Option<&str>,
    profiling: Profiling,
    pairs: u32,
) -> Result<JobRequest, NotExplicable> {
    let config = JobConfig::of(job)?;
    if config.explains.is_some() {
        return Err(NotExplicable::Explanation(job.id.clone()));
    }
    if config.needs_functions() {
        return Err(NotExplicable::Elsewhere(job.id.clone()));
    }
    let local = config.local.as_ref();
    let direction = spec_of(job)?.direction();
    let sides = match result {
        JobResult::Pairwise(_) if culprit.is_some() => {
            return Err(NotExplicable::NoChoice(job.id.clone()));
        }
        JobResult::Pairwise(result) => of_pair(result, local),
        result => match result.bisection() {
            Some(result) => of_culprit(job, result, culprit, direction, local)?,
            None => return Err(NotExplicable::UnsupportedKind(job.id.clone())),
        },
    };
    let spec = PairwiseSpec {
        chart: Some(CHART.into()),
        direction: Direction::Down,
        pairs,
        profiled: true,
        ..PairwiseSpec::new(sides.base, sides.experiment)
    };
    let request = match config.local {
        Some(local) => JobRequest::local(spec, profiled(local, profiling)),
        None => JobRequest::new(spec, JobConfig::default()),
    };
    let in_luci = config.luci.is_some();
    let config = JobConfig {
        local: request.config.local,
        luci: config.luci,
        // Many tasks are requested at once: one run before them shows whether they leave profiles.
        find_metric: in_luci.then(FindMetric::default),
        inherited_env: config.inherited_env,
        explains: Some(Explained {
            job: job.id.to_string(),
            difference: sides.difference,
            changes: sides.changes,
            ..Explained::default()
        }),
        ..JobConfig::default()
    };
    Ok(JobRequest { config, ..request })
}

/// The configuration of profiled runs on this machine.
fn profiled(local: LocalConfig, profiling: Profiling) -> LocalConfig {
    let is_exact = profiling.profiler.is_exact();
    LocalConfig {
        format: Format::Time,
        chart: Some(CHART.into()),
        instructions: None,
        measure_choice: None,
        run_aggregate: None,
        results: None,
        // It is meant for runs at full speed.
        timeout: local.timeout.map(|limit| match is_exact {
            true => limit.saturating_mul(SLOWEST),
            false => limit,
        }),
        // Exact counts do not depend on caches.
        warmup: if is_exact { 0 } else { local.warmup },
        skip: Vec::new(),
        trace: false,
        paths: Vec::new(),
        profiling: Some(profiling),
        ..local
    }
}

fn of_culprit(
    job: &Job,
    result: &BisectionResult,
    wanted: Option<&str>,
    direction: Direction,
    local: Option<&LocalConfig>,
) -> Result<Sides, NotExplicable> {
    let culprits = &result.culprits;
    let Some(first) = culprits.first() else {
        let id = job.id.clone();
        return Err(match result.status {
            Status::Canceled => NotExplicable::Canceled(id),
            Status::Failed => NotExplicable::Failed(id),
            _ => NotExplicable::NoCulprit(id),
        });
    };
    let culprit = match wanted {
        None => first,
        Some(wanted) => { culprits.iter() }
            .find(|it| it.blamed.git_hash.starts_with(wanted))
            .ok_or_else(|| NotExplicable::OtherCulprit {
                job: job.id.clone(),
                revision: wanted.into(),
                culprits: { culprits.iter() }
                    .map(|it| it.blamed.git_hash.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            })?,
    };
    let direction = direction_of(direction, result.unit.as_deref());
    let effect = &culprit.effect;
    let difference = (effect.of == EffectOf::Values && !is_memory(result.unit.as_deref()))
        .then(|| worse(effect.estimate? / effect.before, direction))
        .flatten();
    Ok(Sides {
        base: culprit.prior.clone().into(),
        experiment: culprit.commit.clone().into(),
        difference,
        changes: local.and_then(|local| changes_of(culprit, local)),
    })
}

fn of_pair(result: &PairwiseResult, local: Option<&LocalConfig>) -> Sides {
    let charts = || { result.charts.iter() }.filter(|chart| !is_memory(chart.unit.as_deref()));
    let moved = charts().find(|chart| chart.comparison.moved());
    let improved = charts().find(|chart| chart.comparison.improved());
    let difference = moved.or(improved).and_then(|chart| {
        let percent = chart.comparison.comparison.as_ref()?.estimate?;
        worse(percent / 100.0, chart.comparison.direction)
    });
    let (base, experiment) = (&result.base.commit, &result.experiment.commit);
    Sides {
        base: result.base.clone(),
        experiment: result.experiment.clone(),
        difference,
        changes: local.and_then(|local| changes_between(base, experiment, local)),
    }
}

/// The size of a change, positive for the worse, if the worse direction is known.
fn worse(change: f64, direction: Direction) -> Option<f64> {
    match direction {
        Direction::Down => Some(change),
        Direction::Up => Some(-change),
        Direction::Unknown => None,
    }
    .filter(|change| change.is_finite())
}

fn changes_of(culprit: &NamedCulprit, local: &LocalConfig) -> Option<ExplainedChanges> {
    if let Some((from, to)) = culprit.plain_ends() {
        return Some(ExplainedChanges::Commits {
            repository: local.repository.clone(),
            from: Some(from.into()),
            to: to.into(),
        });
    }
    let blamed = &culprit.blamed;
    let is_main = blamed.repository == culprit.commit.main.repository;
    let repository = match is_main {
        true => local.repository.clone(),
        false => local.repositories.get(&blamed.repository)?.clone().into(),
    };
    Some(ExplainedChanges::Commits {
        repository,
        from: None,
        to: blamed.git_hash.clone(),
    })
}

fn changes_between(
    base: &CombinedCommit,
    experiment: &CombinedCommit,
    local: &LocalConfig,
) -> Option<ExplainedChanges> {
    if local.made || base.main.repository != experiment.main.repository {
        return None;
    }
    match base.main.git_hash == experiment.main.git_hash {
        true if base.patch != experiment.patch => local.patch.clone().map(ExplainedChanges::Patch),
        true => None,
        false => Some(ExplainedChanges::Commits {
            repository: local.repository.clone(),
            from: Some(base.main.git_hash.clone()),
            to: experiment.main.git_hash.clone(),
        }),
    }
}

/// The profiles of a pair of runs: the files of each side.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfilePair {
    /// The base's files.
    pub base: Vec<PathBuf>,
    /// The experiment's files.
    pub experiment: Vec<PathBuf>,
    /// The operating system's measurements of both runs, the base's first; absent unless it
    /// measured both.
    pub usage: Option<[Usage; 2]>,
    /// The reason why one of them is missing.
    pub missing: Option<MissingProfile>,
}

/// The reason why a run has no profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingProfile {
    /// The job had no more space for profiles.
    NoRoom,
    /// The failure of the run, or another remark on it.
    Other(String),
}

impl ProfilePair {
    /// Returns true if both sides have profiles.
    pub fn is_whole(&self) -> bool {
        !self.base.is_empty() && !self.experiment.is_empty()
    }
}

/// The profiles of a job's pairs, in the order of their indices, from the answers in its
/// journal and its directory on this machine.
///
/// # Errors
///
/// When the directory can't be read.
pub fn profile_pairs(answers: &[Answered], job_dir: &Path) -> Result<Vec<ProfilePair>, LocalError> {
    let mut pairs = BTreeMap::new();
    for answer in answers {
        let (Task::RunPair { first, index, .. }, Report::RanPair(reports)) =
            (&answer.task, &answer.report)
        else {
            continue;
        };
        let files = |name: &str| kept_profiles(job_dir, &format!("{}-{name}", answer.action));
        let (first_files, second_files) = (files("first")?, files("second")?);
        let reasons = [&reports.first, &reports.second].map(|run| {
            let failure = run.failure.as_ref().or(run.warnings.first());
            match run.warnings.iter().any(|remark| remark == NOT_KEPT) {
                true => Some(MissingProfile::NoRoom),
                false => failure.cloned().map(MissingProfile::Other),
            }
        });
        let [first_reason, second_reason] = reasons;
        let missing = first_reason.or(second_reason);
        let usage = [reports.first.usage, reports.second.usage];
        let (base, experiment, [of_base, of_experiment]) = match first {
            Position::Lower => (first_files, second_files, usage),
            _ => (second_files, first_files, [usage[1], usage[0]]),
        };
        pairs.insert(
            *index,
            ProfilePair {
                base,
                experiment,
                usage: of_base.zip(of_experiment).map(<[Usage; 2]>::from),
                missing,
            },
        );
    }
    Ok(pairs.into_values().collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pinpoint_core::Commit;
    use serde_json::json;

    use super::*;
    use crate::local::Profiler;

    #[test]
    fn a_run_that_hangs_ends_under_each_profiler() {
        let commit = CombinedCommit::from(Commit::new("r", "0123"));
        let config = json!({
            "repository": "/r",
            "good": commit,
            "command": ["true"],
            "format": Format::Time,
            "cache_size": 0,
            "timeout": Duration::from_secs(3),
        });
        let local: LocalConfig = serde_json::from_value(config).unwrap();
        let seconds = |profiler: Profiler| {
            let profiling = Profiling {
                profiler,
                keep: 1,
                dwarf_if_needed: false,
            };
            let profiled = profiled(local.clone(), profiling);
            profiled.timeout.unwrap().as_secs()
        };
        assert_eq!(seconds(Profiler::Perf), 3);
        assert_eq!(seconds(Profiler::Callgrind), 600);
    }
}
