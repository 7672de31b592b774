//! The result of a job explained: its two builds under a profiler, as a separate job.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use pinpoint_backends::job::{CommandLine, Explained, JobConfig, explain_job};
use pinpoint_backends::local::{
    LocalConfig, Profiler, Profiling, Provisions, choose_profiler, profiler_facts,
};
use pinpoint_backends::store::{Job, JobFilter, JobId, Order, Place};
use pinpoint_core::job::{BisectionResult, JobResult};
use pinpoint_core::profile::{Wait, Window};
use pinpoint_core::{CombinedCommit, JobState, PairwiseStatus};
use pinpoint_report::profile;
use pinpoint_report::results::stored;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::made::{KEEP, alternative_to, keep, made, made_again, made_or_kept};
use super::problems::{explain_command, runs_are_over};
use super::{ExplanationReport, Written};
use crate::arguments::{Display, Explain, LuciTokens, Output, ProfilerArgument};
use crate::commands::jobs::trust::{self, PermissionReason};
use crate::error::{CliError, INTERRUPTED, with_advice};
use crate::job::command_line;
use crate::job::luci;
use crate::job::new_job::{Names, store_job, values_of};
use crate::job::report;
use crate::job::storage::{Storage, resume_command};
use crate::job::work::Session;
use crate::show::job_result::{exit_code, print_result};
use crate::show::output::{errln, outln, print_result_json};
use crate::show::text::{ERROR, FOUND as WARNING};

/// Pairs of runs of a profiler that samples, and of one that counts. Among 400 functions, one that
/// is slower by three times its scatter is certain in 97 of 100 simulated jobs of 16 pairs, and
/// in 80 of 14 pairs.
const PAIRS: u32 = 16;
const PAIRS_COUNTED: u32 = 1;

/// An explanation among the jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The explanation.
    pub(crate) job_id: String,
    /// The job that is explained.
    pub(crate) explains: String,
    pub(crate) profiler: String,
    /// The change that the job measured, relative to the level before; above zero if the experiment
    /// is worse.
    pub(crate) measured: Option<f64>,
    /// True if enough of that is in the profiles; absent if nothing comparable was measured.
    pub(crate) shown: Option<bool>,
    /// The seconds by which the experiment waits longer, if that is most of the difference and the
    /// profiles do not show it.
    #[serde(default)]
    pub(crate) waiting: Option<f64>,
    /// The waiting time of runs, if it is certain, or if the profiles do not show the measured
    /// change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waits: Option<Wait>,
    /// The build before the change, and the one after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<BuildName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) experiment: Option<BuildName>,
    /// The benchmark and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) command: Vec<String>,
    /// A profiler that sees other things.
    pub(crate) alternative: String,
    /// Pairs of runs that left no profiles of both sides.
    pub(crate) pairs_without_profiles: usize,
    /// The reason for one of them.
    pub(crate) missing: Option<String>,
}

impl About {
    /// The same for a report, with these lines.
    pub(crate) fn of_report<'a>(&'a self, lines: &'a [String]) -> profile::Job<'a> {
        profile::Job {
            id: &self.job_id,
            explains: &self.explains,
            profiler: &self.profiler,
            about: lines,
        }
    }
}

/// The commit of one of the two builds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BuildName {
    /// The full hash.
    pub(crate) commit: String,
    pub(crate) repository: String,
    /// The first line of the commit's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<String>,
}

impl From<&CombinedCommit> for BuildName {
    fn from(commit: &CombinedCommit) -> Self {
        Self {
            commit: commit.main.git_hash.clone(),
            repository: commit.main.repository.clone(),
            subject: commit.main.subject.clone(),
        }
    }
}

/// The requested explanation.
struct RequestedExplanation {
    profiler: Option<Profiler>,
    pairs: Option<u32>,
    keep: Option<ByteSize>,
    culprit: Option<String>,
    same: Vec<(String, String)>,
    map: Vec<(String, String)>,
    window: Option<Window>,
    /// Of the benchmark's runner in LUCI.
    arguments: Vec<String>,
    tokens: LuciTokens,
    /// As it was given; absent if another command has the job explained.
    command: Option<CommandLine>,
}

impl RequestedExplanation {
    /// The options that only runs can follow.
    fn words_of_runs(&self) -> Vec<String> {
        let options = [
            (
                "--profiler",
                self.profiler.as_ref().map(Profiler::to_string),
            ),
            ("--pairs", self.pairs.map(|pairs| pairs.to_string())),
            ("--culprit", self.culprit.clone()),
            ("--keep-profiles", self.keep.map(|keep| keep.to_string())),
        ];
        let given = options
            .into_iter()
            .filter_map(|(name, value)| Some([name.into(), value?]));
        let mut words: Vec<String> = given.flatten().collect();
        if !self.arguments.is_empty() {
            words.push("--".into());
            words.extend_from_slice(&self.arguments);
        }
        words
    }
}

pub(super) async fn run(arguments: Explain, display: &Display) -> Result<u8, CliError> {
    let storage = Storage::open(display).await?;
    let written = Written::from_arguments(&arguments)?;
    let report = arguments.report.as_deref();
    let report: Vec<String> = report.map_or_else(Vec::new, |file| {
        vec!["--report".into(), file.display().to_string()]
    });
    // Required where there are no files.
    let name = arguments.job.unwrap_or_default();
    let job = storage.jobs.get(&name).await?;
    let wanted = RequestedExplanation {
        profiler: arguments.profiler.0,
        pairs: arguments.pairs,
        keep: arguments.keep_profiles,
        culprit: arguments.culprit,
        same: arguments.same,
        map: arguments.map,
        window: arguments.window,
        arguments: arguments.arguments,
        tokens: arguments.tokens,
        command: Some(command_of(&name, &job)),
    };
    if let Some(explains) = JobConfig::of(&job)?.explains {
        return read_again(&storage, &job, explains, wanted, &written, display).await;
    }
    if job.imported {
        trust::ask(&job, PermissionReason::Imported, arguments.yes).await?;
    }
    let tokens = wanted.tokens.clone();
    let id = store(&storage, &job, wanted).await?;
    let result = carried_out(&storage, &id, tokens, display).await;
    let result = result.map_err(|error| match report.is_empty() {
        true => error,
        false => error.with_afterwards(explain_command(display, id.as_str(), &report)),
    })?;
    end_with(&storage, &id, &result, &written, Stored::Asked, display).await
}

/// The command of this process, with the whole id of the job: later, another job may share its
/// beginning.
fn command_of(name: &str, job: &Job) -> CommandLine {
    let mut command = command_line::without_ends();
    if let Some(word) = command.words.iter_mut().find(|word| *word == name) {
        *word = job.id.to_string();
    }
    command
}

/// The answer of an explanation once more, perhaps with other options.
async fn read_again(
    storage: &Storage,
    job: &Job,
    explains: Explained,
    wanted: RequestedExplanation,
    written: &Written,
    display: &Display,
) -> Result<u8, CliError> {
    if job.state != JobState::Completed {
        return Err(CliError::Input(format!(
            "explanation {} is not finished; continue it with:  {}",
            job.id,
            resume_command(display, job.id.as_str())
        )));
    }
    let of_runs = wanted.words_of_runs();
    if !of_runs.is_empty() {
        return Err(runs_are_over(job, &explains, &of_runs, display));
    }
    let asks_nothing = wanted.same.is_empty() && wanted.map.is_empty() && wanted.window.is_none();
    let is_as_made = asks_nothing && !written.needs_profiles();
    let answer = match is_as_made {
        true => made_or_kept(storage, job, &explains, display).await?,
        false => {
            let given = Explained {
                same: wanted.same,
                map: wanted.map,
                window: wanted.window.map(|it| it.to_string()),
                ..explains.clone()
            };
            made_again(storage, job, &explains, given, display).await?
        }
    };
    answer.print(written, display)
}

async fn carried_out(
    storage: &Storage,
    id: &JobId,
    tokens: LuciTokens,
    display: &Display,
) -> Result<JobResult, CliError> {
    let mut session = Session::take(storage, id).await?;
    let options = tokens.words();
    session.provide(Provisions::default(), tokens, options);
    session.run(display).await
}

/// The requested profiler, or the one that fits the benchmark.
fn profiler_of(wanted: Option<Profiler>, local: &LocalConfig) -> Result<Profiler, CliError> {
    let profiler = match wanted {
        Some(profiler) => profiler,
        None => choose_profiler(&profiler_facts(local))?,
    };
    profiler.check(local)?;
    Ok(profiler)
}

/// The options of a search whose culprit is to be explained.
pub(crate) struct AtOnce {
    profiler: ProfilerArgument,
    /// The search's report, which gets the explanation.
    report: Option<PathBuf>,
}

impl AtOnce {
    /// # Errors
    ///
    /// When the profiler can't be used: that is known before the search.
    pub(crate) fn new(
        profiler: ProfilerArgument,
        local: &LocalConfig,
        report: Option<&Path>,
    ) -> Result<Self, CliError> {
        profiler_of(profiler.0.clone(), local)?;
        Ok(Self {
            profiler,
            report: report.map(Path::to_owned),
        })
    }

    /// The error that ended the search, with the command that explains its culprit later.
    pub(crate) fn not_yet(&self, error: CliError, display: &Display) -> CliError {
        let options = match &self.profiler.0 {
            Some(profiler) => vec!["--profiler".into(), profiler.to_string()],
            None => Vec::new(),
        };
        match &error {
            CliError::Stopped { job, .. } => {
                let command = explain_command(display, job, &options);
                error.with_afterwards(command)
            }
            _ => error,
        }
    }

    /// Prints the result of the search, explains it, and returns the exit code of the search.
    pub(crate) async fn end(self, result: &JobResult, display: &Display) -> Result<u8, CliError> {
        let report = self.report.as_deref();
        end_explained(
            result,
            self.profiler,
            report,
            &LuciTokens::default(),
            display,
        )
        .await
    }
}

/// Makes the job.
async fn store(
    storage: &Storage,
    job: &Job,
    wanted: RequestedExplanation,
) -> Result<JobId, CliError> {
    let not_ended = || {
        CliError::NotExplicable(pinpoint_backends::job::NotExplicable::Unfinished(
            job.id.clone(),
        ))
    };
    let result = stored(job).ok_or_else(not_ended)?;
    let explained = JobConfig::of(job)?;
    let is_asked_for = wanted.profiler.is_some();
    let profiler = match (wanted.profiler, &explained.local) {
        (profiler, Some(local)) => profiler_of(profiler, local)?,
        (Some(profiler), None) => profiler,
        // Bots run browsers. Benchmarks in functions are refused below.
        (None, None) => Profiler::Chrome,
    };
    if wanted.keep.is_some_and(|keep| keep.as_u64() == 0) {
        return Err(CliError::Input(
            "--keep-profiles 0 has no room for a profile, and an explanation needs one of each run; leave it out, or give a size, as in 100MiB (`pinpoint clean` removes profiles later)".into(),
        ));
    }
    let pairs = wanted.pairs.unwrap_or(match profiler.is_exact() {
        true => PAIRS_COUNTED,
        false => PAIRS,
    });
    if let Some(window) = wanted.window.as_ref().filter(|_| !profiler.has_times()) {
        return Err(CliError::Input(format!(
            "{profiler} profiles have no timestamps, so --window {window} can't be applied; leave out --window, or take --profiler {}",
            alternative_to(Some(&profiler))
        )));
    }
    let profiling = Profiling {
        profiler: profiler.clone(),
        keep: wanted.keep.map_or(KEEP, |keep| keep.as_u64()),
        dwarf_if_needed: !is_asked_for && profiler == Profiler::Perf,
    };
    let culprit = wanted.culprit.as_deref();
    let (spec, config) = explain_job(job, &result, culprit, profiling.clone(), pairs)?;
    let command = wanted.command.unwrap_or_else(|| {
        let words = ["pinpoint", "explain", job.id.as_str(), "--profiler"];
        let words = words.into_iter().map(str::to_owned);
        CommandLine {
            words: words.chain([profiler.to_string()]).collect(),
            ends: None,
        }
    });
    let config = match &config.local {
        None => luci::profiled(config, profiling, wanted.arguments)?,
        Some(_) if wanted.arguments.is_empty() => {
            values_of(&config.inherited_env)?;
            config
        }
        Some(_) => {
            return Err(CliError::Input(format!(
                "job {} ran on this machine, and its benchmark keeps the arguments that it had; leave out what is after `--`",
                job.id
            )));
        }
    };
    let config = JobConfig {
        explains: config.explains.map(|explains| Explained {
            same: wanted.same,
            map: wanted.map,
            window: wanted.window.map(|it| it.to_string()),
            ..explains
        }),
        command_line: Some(command),
        ..config
    };
    let names = Names::like(job, &config);
    store_job(storage, spec, &config, names, None, None).await
}

/// Prints the result of a job, which may be an explanation, and returns the exit code.
pub(crate) async fn end(
    storage: &Storage,
    id: &JobId,
    result: &JobResult,
    display: &Display,
) -> Result<u8, CliError> {
    end_with(
        storage,
        id,
        result,
        &Written::default(),
        Stored::Known,
        display,
    )
    .await
}

/// The treatment of a job's own options that its profiles do not fit.
#[derive(Clone, Copy)]
enum Stored {
    /// This command gave them: an error.
    Asked,
    /// An earlier command gave them: the answer leaves them out.
    Known,
}

async fn end_with(
    storage: &Storage,
    id: &JobId,
    result: &JobResult,
    written: &Written,
    stored: Stored,
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
    let answer = match stored {
        Stored::Asked => {
            let answer = made(storage, &job, &explains, display).await?;
            keep(storage, &job, &answer);
            answer
        }
        Stored::Known => made_or_kept(storage, &job, &explains, display).await?,
    };
    answer.print(written, display)
}

/// The question of an explanation that has ended with profiles; none for other jobs.
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
) -> Result<Option<ExplanationReport>, CliError> {
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

/// Writes the report on a job as it is now, with the latest explanation of its result.
pub(crate) async fn write_report(
    storage: &Storage,
    job: &Job,
    file: &Path,
    display: &Display,
) -> Result<(), CliError> {
    let explanation = latest_of(storage, job).await?;
    let answer = match &explanation {
        Some((explanation, result)) => of_stored(storage, explanation, result, display).await,
        None => Ok(None),
    };
    match (answer, explanation) {
        (Ok(Some(answer)), _) => {
            answer
                .write_into(job.id.as_str(), file, None, display)
                .await
        }
        (Err(error), Some((explanation, _))) => {
            errln!(
                "{WARNING}warning:{WARNING:#} the report lacks explanation {}: {}",
                explanation.id,
                with_advice(&error)
            );
            report::write(storage, &job.id, file).await
        }
        _ => report::write(storage, &job.id, file).await,
    }
}

/// The jobs that are read together.
const PAGE: u32 = 100;

/// The latest explanation of a job that has a result, or the job itself if it is one.
async fn latest_of(storage: &Storage, job: &Job) -> Result<Option<(Job, JobResult)>, CliError> {
    let explains = |job: &Job| JobConfig::of(job).ok()?.explains;
    if explains(job).is_some() {
        return Ok(stored(job).map(|result| (job.clone(), result)));
    }
    let filter = JobFilter {
        kinds: vec!["pairwise".into()],
        state: Some(JobState::Completed),
        since: Some(job.created),
        ..JobFilter::default()
    };
    let mut place = Place::First;
    loop {
        let page = storage.jobs.list(&filter, Order::default(), &place, PAGE);
        let page = page.await?;
        for other in &page.jobs {
            let other = storage.jobs.get(other.id.as_str()).await?;
            if explains(&other).is_some_and(|it| it.job == job.id.as_str())
                && let Some(result) = stored(&other)
            {
                return Ok(Some((other, result)));
            }
        }
        match page.jobs.last() {
            Some(last) if page.more => place = Place::After(last.id.clone().into()),
            _ => return Ok(None),
        }
    }
}

/// Prints the result of a search, explains it, and returns the exit code of the search, unless the
/// explanation is interrupted.
///
/// `report` is the file of the search's report, which gets the explanation; the explanation's own
/// is written next to it.
pub(crate) async fn end_explained(
    result: &JobResult,
    profiler: ProfilerArgument,
    report: Option<&Path>,
    tokens: &LuciTokens,
    display: &Display,
) -> Result<u8, CliError> {
    if display.output == Output::Text {
        print_result(result, display);
    }
    let explained = after(result, profiler, tokens, display).await;
    if let (Some(file), Ok(Some(answer))) = (report, &explained)
        && let Err(error) = write_reports(result, answer, file, display).await
    {
        error.print(display);
    }
    let code = match &explained {
        Err(error) if error.exit_code() == INTERRUPTED => INTERRUPTED,
        _ => exit_code(result),
    };
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
            print_result_json(&document);
        }
    }
    Ok(code)
}

/// Writes the explanation's report next to that of its search, and adds it to that one.
async fn write_reports(
    result: &JobResult,
    answer: &ExplanationReport,
    file: &Path,
    display: &Display,
) -> Result<(), CliError> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let own = file.with_file_name(format!("{stem}.explanation.html"));
    let text = answer.report(display);
    let written = text.and_then(|text| report::write_text(&text, &own));
    match &written {
        Ok(()) => errln!("the explanation's report: {}", own.display()),
        Err(error) => error.print(display),
    }
    let page = written.is_ok().then_some(&*own);
    match search_of(result) {
        Some(search) => answer.write_into(&search.job_id, file, page, display).await,
        None => Ok(()),
    }
}

fn search_of(result: &JobResult) -> Option<&BisectionResult> {
    match result {
        JobResult::Bisection(search) => Some(search),
        JobResult::CulpritFinder(result) => Some(&result.search),
        JobResult::Pairwise(_) => None,
    }
}

/// The explanation of a search that has ended just now; absent without a culprit.
async fn after(
    result: &JobResult,
    profiler: ProfilerArgument,
    tokens: &LuciTokens,
    display: &Display,
) -> Result<Option<ExplanationReport>, CliError> {
    let Some(search) = search_of(result).filter(|search| !search.culprits.is_empty()) else {
        return Ok(None);
    };
    let storage = Storage::open(display).await?;
    let job = storage.jobs.get(&search.job_id).await?;
    let wanted = RequestedExplanation {
        profiler: profiler.0,
        pairs: None,
        keep: None,
        culprit: None,
        same: Vec::new(),
        map: Vec::new(),
        window: None,
        arguments: Vec::new(),
        tokens: tokens.clone(),
        command: None,
    };
    let id = store(&storage, &job, wanted).await?;
    let result = carried_out(&storage, &id, tokens.clone(), display).await?;
    let job = storage.jobs.get(id.as_str()).await?;
    let Some(explains) = explanation_of(&job, &result)? else {
        return Ok(None);
    };
    // A report needs the profiles, which a kept answer lacks.
    let answer = made(&storage, &job, &explains, display).await?;
    keep(&storage, &job, &answer);
    Ok(Some(answer))
}
