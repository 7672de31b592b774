//! The answer of an explanation among the jobs: made of its profiles, or read from a file.

use std::fs;

use bytesize::ByteSize;
use pinpoint_backends::job::{
    Explained, ExplainedChanges, JobConfig, ProfilePair, machine_of, profile_pairs,
};
use pinpoint_backends::local::{Profiler, Profiling, Repository, run_warnings};
use pinpoint_backends::store::Job;
use pinpoint_core::job::{JobResult, PairwiseResult};
use pinpoint_core::profile::{
    ExplainError, ExplainOptions, Explanation, LongerWait, Profile, SourceDiff, Window, explain,
    longer_wait, shows_difference,
};
use pinpoint_core::{Answers, Journal, Usage, Variant};
use pinpoint_report::results::stored;
use serde::Deserialize;

use super::about::{About, BuildName};
use super::explanation_report::ExplanationReport;
use super::pairs::ReadPairs;
use super::problems::{unfit, without_profiles};
use super::report_file;
use super::warnings::warnings;
use crate::advice::with_advice;
use crate::arguments::Display;
use crate::error::CliError;
use crate::job::storage::Storage;
use crate::show::output::errln;
use crate::show::text::FOUND as WARNING;

/// The reason why a pair whose runs left profiles has none.
const REMOVED: &str = "whose profiles are not on this machine, or were removed by `pinpoint clean`";

/// A remark on an answer that outlives its profiles.
const GONE: &str = "the profiles are not on this machine, or were removed by `pinpoint clean`; this is the answer as it was made";

/// The default of `--keep-profiles`.
pub(crate) const KEEP: u64 = 1 << 30;

/// The stored answer, or a new one, which is then stored.
pub(crate) async fn made_or_kept(
    storage: &Storage,
    job: &Job,
    explains: &Explained,
    display: &Display,
) -> Result<ExplanationReport, CliError> {
    let directory = storage.job_dir(&job.id);
    if let Some(mut answer) = report_file::read(&directory)? {
        if answer.files.iter().flatten().any(|file| !file.exists()) {
            answer.warnings.push(GONE.into());
        }
        return Ok(answer);
    }
    let given = Explained {
        same: Vec::new(),
        map: Vec::new(),
        window: None,
        ..explains.clone()
    };
    let answer = made_again(storage, job, explains, given, display).await?;
    keep(storage, job, &answer);
    Ok(answer)
}

pub(super) fn keep(storage: &Storage, job: &Job, answer: &ExplanationReport) {
    if let Err(error) = report_file::keep(&storage.job_dir(&job.id), answer) {
        errln!(
            "{WARNING}warning:{WARNING:#} the answer can't be shown once its profiles are removed: {}",
            with_advice(&error)
        );
    }
}

/// The answer with the options of `given`. Missing ones are those of the job, if the profiles fit
/// them.
pub(crate) async fn made_again(
    storage: &Storage,
    job: &Job,
    explains: &Explained,
    given: Explained,
    display: &Display,
) -> Result<ExplanationReport, CliError> {
    let mut asked = given.clone();
    if asked.same.is_empty() {
        asked.same.clone_from(&explains.same);
    }
    if asked.map.is_empty() {
        asked.map.clone_from(&explains.map);
    }
    asked.window = asked.window.or_else(|| explains.window.clone());
    match made(storage, job, &asked, display).await {
        Err(CliError::UnfitOptions { reason, .. }) if asked != given => {
            let answer = made(storage, job, &given, display).await?;
            errln!(
                "{WARNING}warning:{WARNING:#} {reason}; the answer leaves out the --same, --map and --window of the job"
            );
            Ok(answer)
        }
        made => made,
    }
}

/// Reads the profiles of an explanation, and compares them.
pub(super) async fn made(
    storage: &Storage,
    job: &Job,
    explains: &Explained,
    display: &Display,
) -> Result<ExplanationReport, CliError> {
    let mut journal = storage.store.journals().open(&job.id).await?;
    let records = journal.records().await.map_err(|error| {
        CliError::NoProfiles(format!(
            "the journal of job {} can't be read: {error}",
            job.id
        ))
    })?;
    let answers = Answers::of(journal.job(), machine_of(job, false)?, records).answers;
    let pairs = profile_pairs(&answers, &storage.job_dir(&job.id))?;
    let window = explains.window.as_deref().map(str::parse).transpose();
    let window: Option<Window> = window
        .map_err(|error: pinpoint_core::profile::WindowError| CliError::Input(error.to_string()))?;
    let profiling = profiling_of(job);
    let profiler = profiling.as_ref().map(|it| it.profiler.in_words());
    let profiler = profiler.unwrap_or_default();
    let read = ReadPairs::read(&pairs, window.as_ref(), &profiler, display);
    let most = ByteSize::b(profiling.map_or(KEEP, |profiling| profiling.keep));
    if read.count() == 0 {
        return Err(match read.window_problem() {
            Some(reason) => unfit(job, reason.into(), display),
            None => without_profiles(
                job,
                explains,
                read.reason(),
                (most, &profiler_of(job), alternative(job)),
                display,
            ),
        });
    }
    let options = ExplainOptions {
        paired: true,
        same: explains.same.clone(),
        map: explains.map.clone(),
    };
    let mut explanation = explained(job, &read.profiles, &options, display)?;
    if let Some(diff) = explains.changes.as_ref().and_then(diff_of) {
        diff.mark(&mut explanation);
    }
    let pairs_without_profiles = pairs.len() - read.count();
    // A window has only a part of the measured time.
    let shown = (explains.difference.filter(|_| window.is_none()))
        .map(|measured| shows_difference(measured, &explanation.whole));
    // A window has only a part of a run, and the wait may lie elsewhere.
    let wait = longer_wait_in(&pairs).filter(|_| window.is_none());
    let pairs_result = match stored(job) {
        Some(JobResult::Pairwise(result)) => Some(result),
        _ => None,
    };
    let local = JobConfig::of(job).ok().and_then(|config| config.local);
    let about = About {
        job_id: job.id.to_string(),
        explains: explains.job.clone(),
        profiler: profiler_of(job),
        measured: explains.difference,
        shown,
        waiting: wait
            .filter(|_| shown == Some(false))
            .map(|it| it.difference()),
        waits: wait.filter(|wait| wait.is_certain || shown == Some(false)),
        base: commit_of(&pairs_result, |it| &it.base),
        experiment: commit_of(&pairs_result, |it| &it.experiment),
        command: local.map_or_else(Vec::new, |local| local.command),
        alternative: alternative(job).into(),
        pairs_without_profiles,
        missing: (read.reason().map(|reason| reason.text(most)))
            .or_else(|| (pairs_without_profiles > 0).then(|| REMOVED.into())),
    };
    let builds = storage.state_dir.join("builds");
    // The warnings of the recording.
    let mut warnings = run_warnings(&storage.job_dir(&job.id))?;
    warnings.extend(self::warnings(
        &read.profiles,
        &explanation,
        profiling_of(job).as_ref(),
    ));
    Ok(ExplanationReport {
        warnings,
        files: read.files,
        profiles: read.profiles,
        window,
        explanation,
        about: Some(about),
        builds: Some(builds.canonicalize().unwrap_or(builds)),
        options,
    })
}

fn commit_of(
    result: &Option<PairwiseResult>,
    side: impl Fn(&PairwiseResult) -> &Variant,
) -> Option<BuildName> {
    result
        .as_ref()
        .map(|result| BuildName::from(&side(result).commit))
}

fn longer_wait_in(pairs: &[ProfilePair]) -> Option<LongerWait> {
    let [base, experiment] = [0, 1].map(|side| -> Vec<Usage> {
        pairs
            .iter()
            .filter_map(|it| Some(it.usage?[side]))
            .collect()
    });
    longer_wait(&base, &experiment)
}

/// Compares the profiles of a job.
fn explained(
    job: &Job,
    [base, experiment]: &[Vec<Profile>; 2],
    options: &ExplainOptions,
    display: &Display,
) -> Result<Explanation, CliError> {
    explain(base, experiment, options).map_err(|error| match error {
        ExplainError::NoFunction { .. }
        | ExplainError::Ambiguous { .. }
        | ExplainError::NoPlace { .. }
        | ExplainError::TwoNames { .. } => unfit(job, error.to_string(), display),
        error => CliError::Input(error.to_string()),
    })
}

fn profiling_of(job: &Job) -> Option<Profiling> {
    let config = JobConfig::of(job).ok()?;
    match (config.local, config.luci) {
        (Some(local), _) => local.profiling,
        // In the format of its executor.
        (None, Some(luci)) => Profiling::deserialize(luci.get("profiling")?).ok(),
        (None, None) => None,
    }
}

fn profiler_of(job: &Job) -> String {
    profiling_of(job).map_or_else(String::new, |profiling| profiling.profiler.to_string())
}

/// A profiler that sees what the job's may not.
fn alternative(job: &Job) -> &'static str {
    if JobConfig::of(job).is_ok_and(|config| config.luci.is_some()) {
        return "files:GLOB";
    }
    alternative_to(profiling_of(job).map(|it| it.profiler).as_ref())
}

/// A profiler that sees more than this one: for profilers of one language, code below it; for
/// samplers, code too short for them.
pub(crate) fn alternative_to(profiler: Option<&Profiler>) -> &'static str {
    match profiler {
        Some(Profiler::Perf | Profiler::PerfDwarf) => "callgrind",
        _ => "perf",
    }
}

/// The changed lines. Without them the answer only lacks its marks.
fn diff_of(changes: &ExplainedChanges) -> Option<SourceDiff> {
    let text = match changes {
        ExplainedChanges::Patch(path) => fs::read(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(CliError::file("read", path)),
        ExplainedChanges::Commits {
            repository,
            from,
            to,
        } => Repository::at(repository)
            .and_then(|repository| repository.changed_lines(from.as_deref(), to))
            .map_err(CliError::from),
    };
    match text {
        Ok(text) => Some(SourceDiff::parse(&text)),
        Err(error) => {
            errln!(
                "{WARNING}warning:{WARNING:#} the changes can't be read: {}",
                with_advice(&error)
            );
            None
        }
    }
}
