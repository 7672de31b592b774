//! The result of a job explained: its two builds under a profiler, as a separate job.

use bytesize::ByteSize;
use pinpoint_backends::job::{CommandLine, Explained, JobConfig, NotExplicable, explain_job};
use pinpoint_backends::local::{
    LocalConfig, Profiler, Profiling, Provisions, choose_profiler, profiler_facts,
};
use pinpoint_backends::store::{Job, JobId};
use pinpoint_core::JobState;
use pinpoint_core::job::JobResult;
use pinpoint_core::profile::Window;
use pinpoint_report::results::stored;

use crate::arguments::{Display, Explain, LuciTokens};
use crate::commands::jobs::trust::{self, PermissionReason};
use crate::error::CliError;
use crate::job::command_line;
use crate::job::explanation::explanation_report::Written;
use crate::job::explanation::made::{KEEP, alternative_to, made_again, made_or_kept};
use crate::job::explanation::problems::{explain_command, runs_are_over};
use crate::job::explanation::stored::new_report;
use crate::job::luci;
use crate::job::new_job::{store_job, values_of};
use crate::job::storage::{Storage, host};
use crate::job::work::Session;
use crate::show::job_result::{exit_code, print_result};
use crate::show::output::errln;
use crate::show::text::FOUND as WARNING;

/// Pairs of runs of a profiler that samples, and of one that counts. Among 400 functions, one that
/// is slower by three times its scatter is certain in 97 of 100 simulated jobs of 16 pairs, and
/// in 80 of 14 pairs.
const PAIRS: u32 = 16;
const PAIRS_COUNTED: u32 = 1;

/// The requested explanation.
#[derive(Default)]
pub(super) struct RequestedExplanation {
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
    /// With defaults for all else.
    pub(super) fn new(profiler: Option<Profiler>, tokens: LuciTokens) -> Self {
        Self {
            profiler,
            tokens,
            ..Self::default()
        }
    }

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
    let job = storage.store.jobs().find(&name.parse()?).await?;
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
    if let Some(answer) = new_report(&storage, &id, &result, display).await? {
        return answer.print(&written, display);
    }
    if written.report.is_some() {
        errln!("{WARNING}warning:{WARNING:#} no report is written: the job has no profiles");
    }
    print_result(&result, display);
    Ok(exit_code(&result))
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
            display.resume_command(job.id.as_str())
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

pub(super) async fn carried_out(
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
pub(super) fn profiler_of(
    wanted: Option<Profiler>,
    local: &LocalConfig,
) -> Result<Profiler, CliError> {
    let profiler = match wanted {
        Some(profiler) => profiler,
        None => choose_profiler(&profiler_facts(local))?,
    };
    profiler.check(local)?;
    Ok(profiler)
}

/// Makes the job.
pub(super) async fn store(
    storage: &Storage,
    job: &Job,
    wanted: RequestedExplanation,
) -> Result<JobId, CliError> {
    let not_ended = || CliError::NotExplicable(NotExplicable::Unfinished(job.id.clone()));
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
    let mut request = explain_job(job, &result, culprit, profiling.clone(), pairs)?;
    let command = wanted.command.unwrap_or_else(|| {
        let words = ["pinpoint", "explain", job.id.as_str(), "--profiler"];
        let words = words.into_iter().map(str::to_owned);
        CommandLine {
            words: words.chain([profiler.to_string()]).collect(),
            ends: None,
        }
    });
    if request.config.local.is_none() {
        request.config = luci::profiled(request.config, profiling, wanted.arguments)?;
        request.bot.clone_from(&job.bot);
        request.repository = Some(job.repository.clone());
    } else if wanted.arguments.is_empty() {
        values_of(&request.config.inherited_env)?;
        request.bot = host();
    } else {
        return Err(CliError::Input(format!(
            "job {} ran on this machine, and its benchmark keeps the arguments that it had; leave out what is after `--`",
            job.id
        )));
    }
    request.benchmark.clone_from(&job.benchmark);
    if let Some(explains) = &mut request.config.explains {
        explains.same = wanted.same;
        explains.map = wanted.map;
        explains.window = wanted.window.map(|it| it.to_string());
    }
    request.config.command_line = Some(command);
    store_job(storage, request, None, None).await
}
