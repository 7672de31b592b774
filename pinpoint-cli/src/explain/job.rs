//! The result of a job explained: its two builds under a profiler, as a job of its own.

use std::fs;
use std::path::PathBuf;

use pinpoint_backends::job::{
    Changes, CommandLine, Explained, JobConfig, ProfilePair, explain_job, machine_of, profile_pairs,
};
use pinpoint_backends::local::{
    LocalConfig, Profiler, Profiling, Repository, choose_profiler, profiler_facts,
};
use pinpoint_backends::store::{Job, JobId};
use pinpoint_core::job::JobResult;
use pinpoint_core::profile::{
    ExplainOptions, Profile, ReadProfileError, SourceDiff, Window, shows_difference,
};
use pinpoint_core::{Answers, JobState, Journal, PairwiseStatus};
use pinpoint_report::results::stored;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Answer, Written, explained, kept, read};
use crate::arguments::{Display, Explain, Output, ProfilerArgument};
use crate::error::{CliError, with_advice};
use crate::job::Session;
use crate::job_result::{exit_code, print_result};
use crate::jobs::trust::{self, Asked};
use crate::new_job::{Names, store_job, values_of};
use crate::output::{errln, outln, print_json};
use crate::storage::{Storage, job_command, resume_command};
use crate::text::{ERROR, FOUND as WARNING};

/// Pairs of runs of a profiler that samples, and of one that counts.
const PAIRS: u32 = 10;
const PAIRS_COUNTED: u32 = 1;

/// The default of `--keep-profiles`.
const KEEP: u64 = 1 << 30;

/// An explanation among the jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The explanation.
    pub(crate) job_id: String,
    /// The job that is explained.
    pub(crate) explains: String,
    pub(crate) profiler: String,
    /// What that job measured, as a part of the level before; above zero where the
    /// experiment is worse.
    pub(crate) measured: Option<f64>,
    /// Whether enough of that is in the profiles; absent where nothing was measured to
    /// compare with.
    pub(crate) shown: Option<bool>,
    /// A profiler that sees other things.
    pub(crate) alternative: String,
    /// Pairs of runs that left no profiles of both sides.
    pub(crate) pairs_without_profiles: usize,
    /// Why one of them did not.
    pub(crate) missing: Option<String>,
}

/// What is asked for.
struct Wanted {
    profiler: Option<Profiler>,
    pairs: Option<u32>,
    keep: u64,
    culprit: Option<String>,
    same: Vec<(String, String)>,
    window: Option<Window>,
}

pub(super) async fn run(arguments: Explain, display: &Display) -> Result<u8, CliError> {
    let storage = Storage::open(display).await?;
    let written = Written::of(&arguments)?;
    // Required where there are no files.
    let job = storage.jobs.get(&arguments.job.unwrap_or_default()).await?;
    let wanted = Wanted {
        profiler: arguments.profiler.0,
        pairs: arguments.pairs,
        keep: arguments.keep_profiles.as_u64(),
        culprit: arguments.culprit,
        same: arguments.same,
        window: arguments.window,
    };
    if let Some(explains) = JobConfig::of(&job)?.explains {
        return read_again(&storage, &job, explains, wanted, &written, display).await;
    }
    if job.imported {
        trust::ask(&job, Asked::Imported, arguments.yes).await?;
    }
    let id = store(&storage, &job, wanted).await?;
    let result = Session::take(&storage, &id).await?.run(display).await?;
    end_with(&storage, &id, &result, &written, display).await
}

/// The answer of an explanation once more, perhaps with other options.
async fn read_again(
    storage: &Storage,
    job: &Job,
    explains: Explained,
    wanted: Wanted,
    written: &Written,
    display: &Display,
) -> Result<u8, CliError> {
    if job.state != JobState::Completed {
        return Err(CliError::Input(format!(
            "explanation {} is not finished; go on with it:  {}",
            job.id,
            resume_command(display, job.id.as_str())
        )));
    }
    let is_as_made = wanted.same.is_empty() && wanted.window.is_none() && !written.needs_profiles();
    let explains = Explained {
        same: [explains.same, wanted.same].concat(),
        window: wanted.window.map(|it| it.to_string()).or(explains.window),
        ..explains
    };
    let answer = match is_as_made {
        true => made_or_kept(storage, job, &explains, display).await?,
        false => made(storage, job, &explains, display).await?,
    };
    answer.print(written, display)
}

/// Makes the job.
async fn store(storage: &Storage, job: &Job, wanted: Wanted) -> Result<JobId, CliError> {
    let not_ended = || {
        CliError::NotExplicable(pinpoint_backends::job::NotExplicable::Unfinished(
            job.id.clone(),
        ))
    };
    let result = stored(job).ok_or_else(not_ended)?;
    let local = JobConfig::of(job)?.local;
    let profiler = match (wanted.profiler, &local) {
        (Some(profiler), _) => profiler,
        (None, Some(local)) => choose_profiler(&profiler_facts(local))?,
        // Refused below.
        (None, None) => Profiler::Perf,
    };
    let pairs = wanted.pairs.unwrap_or(match profiler.is_exact() {
        true => PAIRS_COUNTED,
        false => PAIRS,
    });
    let profiling = Profiling {
        profiler: profiler.clone(),
        keep: wanted.keep,
    };
    let culprit = wanted.culprit.as_deref();
    let (spec, config) = explain_job(job, &result, culprit, profiling, pairs)?;
    let words = ["pinpoint", "explain", job.id.as_str(), "--profiler"];
    let words = words.into_iter().map(str::to_owned);
    let command = CommandLine {
        words: words.chain([profiler.to_string()]).collect(),
        ends: None,
    };
    values_of(&config.inherited_env)?;
    let benchmark = config.local.as_ref();
    let benchmark = benchmark.map(|local: &LocalConfig| &*local.command);
    profiler.check(benchmark.unwrap_or_default())?;
    let config = JobConfig {
        explains: config.explains.map(|explains| Explained {
            same: wanted.same,
            window: wanted.window.map(|it| it.to_string()),
            ..explains
        }),
        command_line: Some(command),
        ..config
    };
    store_job(storage, spec, &config, Names::like(job), None, None).await
}

/// Prints what came of a job, which may be an explanation, and returns the exit code.
pub(crate) async fn end(
    storage: &Storage,
    id: &JobId,
    result: &JobResult,
    display: &Display,
) -> Result<u8, CliError> {
    end_with(storage, id, result, &Written::default(), display).await
}

async fn end_with(
    storage: &Storage,
    id: &JobId,
    result: &JobResult,
    written: &Written,
    display: &Display,
) -> Result<u8, CliError> {
    let job = storage.jobs.get(id.as_str()).await?;
    let Some(explains) = explanation_of(&job, result)? else {
        if written.report.is_some() {
            errln!("{WARNING}warning:{WARNING:#} no report is written: the job has no profiles");
        }
        print_result(result, display);
        return Ok(exit_code(result));
    };
    let answer = match written.needs_profiles() {
        true => made(storage, &job, &explains, display).await?,
        false => made_or_kept(storage, &job, &explains, display).await?,
    };
    answer.print(written, display)
}

/// What the job explains, if it is an explanation that has ended with profiles.
fn explanation_of(job: &Job, result: &JobResult) -> Result<Option<Explained>, CliError> {
    let is_over = match result {
        JobResult::Pairwise(result) => !matches!(
            result.status,
            PairwiseStatus::Failed | PairwiseStatus::Canceled
        ),
        _ => false,
    };
    Ok(JobConfig::of(job)?.explains.filter(|_| is_over))
}

/// The answer of such an explanation; absent for another job.
pub(crate) async fn of_stored(
    storage: &Storage,
    job: &Job,
    result: &JobResult,
    display: &Display,
) -> Result<Option<Answer>, CliError> {
    match explanation_of(job, result)? {
        Some(explains) => made_or_kept(storage, job, &explains, display)
            .await
            .map(Some),
        None => Ok(None),
    }
}

/// The document of an explanation; absent for another job.
pub(crate) async fn document(
    storage: &Storage,
    job: &Job,
    display: &Display,
) -> Result<Option<Value>, CliError> {
    let Some(result) = stored(job) else {
        return Ok(None);
    };
    let answer = of_stored(storage, job, &result, display).await?;
    Ok(answer.map(|answer| answer.document()))
}

/// Prints the result of a search, explains it, and returns the exit code of the search.
pub(crate) async fn end_explained(
    result: &JobResult,
    profiler: ProfilerArgument,
    display: &Display,
) -> Result<u8, CliError> {
    if display.output == Output::Text {
        print_result(result, display);
    }
    let explained = after(result, profiler, display).await;
    match (display.output, explained) {
        (Output::Text, Ok(None)) => {}
        (Output::Text, Ok(Some(answer))) => {
            outln!("");
            answer.print(&Written::default(), display)?;
        }
        (Output::Text, Err(error)) => error.print(display),
        (Output::Json, explained) => {
            let mut document = serde_json::to_value(result).unwrap_or_default();
            document["explanation"] = match explained {
                Ok(answer) => answer.map_or(Value::Null, |answer| answer.document()),
                Err(error) => {
                    errln!("{ERROR}error:{ERROR:#} {}", with_advice(&error));
                    json!({ "error": with_advice(&error) })
                }
            };
            print_json(format_args!("{document:#}"));
        }
    }
    Ok(exit_code(result))
}

/// The explanation of a search that has ended just now; absent without a culprit.
async fn after(
    result: &JobResult,
    profiler: ProfilerArgument,
    display: &Display,
) -> Result<Option<Answer>, CliError> {
    let search = match result {
        JobResult::Bisection(search) => search,
        JobResult::CulpritFinder(result) => &result.search,
        JobResult::Pairwise(_) => return Ok(None),
    };
    if search.culprits.is_empty() {
        return Ok(None);
    }
    let storage = Storage::open(display).await?;
    let job = storage.jobs.get(&search.job_id).await?;
    let wanted = Wanted {
        profiler: profiler.0,
        pairs: None,
        keep: KEEP,
        culprit: None,
        same: Vec::new(),
        window: None,
    };
    let id = store(&storage, &job, wanted).await?;
    let result = Session::take(&storage, &id).await?.run(display).await?;
    let job = storage.jobs.get(id.as_str()).await?;
    of_stored(&storage, &job, &result, display).await
}

/// The answer as it was kept, or made and kept.
async fn made_or_kept(
    storage: &Storage,
    job: &Job,
    explains: &Explained,
    display: &Display,
) -> Result<Answer, CliError> {
    let directory = storage.job_dir(&job.id);
    if let Some(answer) = kept::read(&directory)? {
        return Ok(answer);
    }
    let answer = made(storage, job, explains, display).await?;
    if let Err(error) = kept::keep(&directory, &answer) {
        errln!(
            "{WARNING}warning:{WARNING:#} the answer can't be shown once its profiles are removed: {}",
            with_advice(&error)
        );
    }
    Ok(answer)
}

/// Reads the profiles of an explanation, and says what moved.
async fn made(
    storage: &Storage,
    job: &Job,
    explains: &Explained,
    display: &Display,
) -> Result<Answer, CliError> {
    let mut journal = storage.jobs.journal(&job.id).await?;
    let records = journal.records().await.map_err(|error| {
        CliError::NoProfiles(format!(
            "the journal of job {} can't be read: {error}",
            job.id
        ))
    })?;
    let answers = Answers::of(journal.job(), machine_of(job, false)?, records).answers;
    let pairs = profile_pairs(&answers, &storage.job_dir(&job.id))?;
    let whole: Vec<&ProfilePair> = pairs.iter().filter(|pair| pair.is_whole()).collect();
    let missing = pairs.iter().find_map(|pair| pair.missing.clone());
    if whole.is_empty() {
        return Err(CliError::NoProfiles(match &missing {
            Some(reason) => format!(
                "no pair of runs left profiles of both sides: {reason}; try another profiler:  {} --profiler {}",
                explain_command(display, &explains.job),
                alternative(job)
            ),
            None => format!(
                "the profiles of job {} are not on this machine, or `pinpoint clean` removed them; make them again:  {}",
                job.id,
                explain_command(display, &explains.job)
            ),
        }));
    }
    let window = explains.window.as_deref().map(str::parse).transpose();
    let window: Option<Window> = window
        .map_err(|error: pinpoint_core::profile::WindowError| CliError::Input(error.to_string()))?;
    let mut profiles = [Vec::new(), Vec::new()];
    let mut files = [Vec::new(), Vec::new()];
    for pair in &whole {
        for (side, run) in [&pair.base, &pair.experiment].into_iter().enumerate() {
            profiles[side].push(read_run(run, window.as_ref())?);
            files[side].extend(run.iter().cloned());
        }
    }
    let options = ExplainOptions {
        paired: true,
        same: explains.same.clone(),
    };
    let mut explanation = explained(&profiles, &options)?;
    if let Some(diff) = explains.changes.as_ref().and_then(diff_of) {
        diff.mark(&mut explanation);
    }
    let about = About {
        job_id: job.id.to_string(),
        explains: explains.job.clone(),
        profiler: profiler_of(job),
        measured: explains.difference,
        shown: (explains.difference).map(|measured| shows_difference(measured, &explanation.whole)),
        alternative: alternative(job).into(),
        pairs_without_profiles: pairs.len() - whole.len(),
        missing,
    };
    Ok(Answer {
        files,
        profiles,
        is_cut: window.is_some(),
        explanation,
        about: Some(about),
        options,
    })
}

fn profiling_of(job: &Job) -> Option<Profiler> {
    let local = JobConfig::of(job).ok()?.local?;
    Some(local.profiling?.profiler)
}

fn profiler_of(job: &Job) -> String {
    profiling_of(job).map_or_else(String::new, |profiler| profiler.to_string())
}

/// A profiler that sees what this one may not: of languages of their own, what runs below
/// them; of samples, what is too short for them.
fn alternative(job: &Job) -> &'static str {
    match profiling_of(job) {
        Some(Profiler::Perf | Profiler::PerfDwarf) => "callgrind",
        _ => "perf",
    }
}

fn explain_command(display: &Display, job: &str) -> String {
    let command = job_command(display, "explain", job);
    command.replacen("pinpoint jobs explain", "pinpoint explain", 1)
}

/// The profile of one run: of all its processes. A process may have done too little to be
/// sampled.
fn read_run(files: &[PathBuf], window: Option<&Window>) -> Result<Profile, CliError> {
    let (mut profiles, mut empty) = (Vec::new(), None);
    for file in files {
        match read(file, window) {
            Ok(profile) => profiles.push(profile),
            Err(CliError::Profile { path, source }) if has_nothing(&source) => {
                empty = Some(CliError::Profile { path, source });
            }
            Err(error) => return Err(error),
        }
    }
    let merged = Profile::merged(profiles).map_err(|source| CliError::RunProfiles {
        run: files
            .first()
            .map_or_else(String::new, |file| file.display().to_string()),
        source: Box::new(source),
    })?;
    match (merged, empty) {
        (Some(profile), _) => Ok(profile),
        (None, Some(error)) => Err(error),
        (None, None) => Err(CliError::NoProfiles("a run has no profile".into())),
    }
}

fn has_nothing(error: &ReadProfileError) -> bool {
    matches!(
        error,
        ReadProfileError::NoSamples { .. }
            | ReadProfileError::NoSymbols { .. }
            | ReadProfileError::NoMark { .. }
            | ReadProfileError::Empty
    )
}

/// The lines that were changed. Without them the answer is the same, but for its marks.
fn diff_of(changes: &Changes) -> Option<SourceDiff> {
    let text = match changes {
        Changes::Patch(path) => fs::read(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(CliError::file("read", path)),
        Changes::Commits {
            repository,
            from,
            to,
        } => Repository::discover(repository)
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
