//! One execution of the benchmark.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use pinpoint_core::Variant;
use pinpoint_core::results::RunOutput;
use tracing::Instrument;

use crate::blocking::blocking;
use crate::build::builds::Builds;
use crate::build::finished_build::Build;
use crate::build::old_results;
use crate::build::tracked_files::Restored;
use crate::config::LocalConfig;
use crate::error::LocalError;
use crate::job_remarks::Remark;
use crate::listed::listed_paths;
use crate::process::child::{self, Ended, Launch, NotRun, Processes};
use crate::process::environment::Environment;
use crate::process::error_line;
use crate::process::files;
use crate::process::machine_lock::RunHold;
use crate::process::supervisor::check_program;
use crate::run::instructions::{CallgrindCounts, InstructionCounter};
use crate::run::measures::{self, Values};
use crate::run::metric::{MetricReader, Outputs};
use crate::run::profiler::Recording;
use crate::run::results::{self, Results};
use crate::run::tails::OutputTail;
use crate::run::uncommitted;

/// Larger results are not read: they would fill the memory.
const LARGEST_RESULTS: u64 = 128 << 20;

/// Held while the benchmark runs; the machine over both runs of a pair.
pub(crate) type Holds = Arc<(Arc<Build>, Arc<RunHold>)>;

/// The purpose of one execution.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// To be counted, as the run with this index.
    Count(u32),
    /// To show the metric, by a run like those that are counted.
    FindMetric,
    WarmUp,
}

/// An execution that has ended.
pub(crate) struct Execution {
    pub(crate) ended: Ended,
    pub(crate) stdout: File,
    pub(crate) stderr: File,
    pub(crate) tail: OutputTail,
    /// The reason for its failure, from the way it ended.
    pub(crate) failure: Option<String>,
    /// Its results, or the reason why they are missing; empty when they are not read.
    pub(crate) results: Result<Results, String>,
    /// The name of the results file.
    file: Option<String>,
    /// Its standard error, where that is read.
    errors: Vec<u8>,
    pub(crate) measures: Values,
    /// The profile of a run that did not fail.
    pub(crate) profile: Option<Profile>,
}

/// The profile that a run left.
pub(crate) struct Profile {
    pub(crate) files: Vec<PathBuf>,
    /// Removes the files when it is dropped.
    _recording: Arc<Recording>,
}

/// The program that stands between a run and its benchmark, if one does.
enum Above {
    Callgrind(Arc<CallgrindCounts>),
    Profiler(Arc<Recording>),
}

impl Execution {
    /// Fails where the instructions decide and were not counted.
    pub(crate) fn check_count(&mut self, needed: bool) -> Result<(), LocalError> {
        match self.ended.uncounted.take() {
            Some(source) if needed => Err(LocalError::InstructionsNotCounted { source }),
            _ => Ok(()),
        }
    }

    /// The deciding chart and the values, or the reason why the run failed.
    pub(crate) fn values(
        &self,
        reader: &MetricReader<'_>,
    ) -> Result<(Option<String>, Values), String> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let results = self.results.as_ref().map_err(Clone::clone)?;
        reader.read(self.output(results))
    }

    /// The run's output, with these results.
    pub(crate) fn output<'a>(&'a self, results: &'a Results) -> RunOutput<'a> {
        RunOutput {
            results: results.output(),
            file: self.file.as_deref(),
            stderr: &self.errors,
            measures: &self.measures,
            usual_measure: measures::WALL,
        }
    }
}

/// The reason why nothing was executed, when it lies in the commit.
pub(crate) enum NotBegun {
    /// Old results can't be removed.
    Results(String),
    /// The program can't be started.
    Program(io::Error),
}

/// The command of a job.
pub(crate) struct Benchmark {
    pub(crate) config: Arc<LocalConfig>,
    pub(crate) environment: Arc<Environment>,
    pub(crate) builds: Arc<Builds>,
    /// The work trees of the user.
    pub(crate) user_trees: Vec<PathBuf>,
    /// The directory for outputs.
    pub(crate) runs: PathBuf,
}

impl Benchmark {
    /// Runs the benchmark, and reads these of its outputs.
    pub(crate) async fn execute(
        &self,
        variant: &Variant,
        purpose: Purpose,
        outputs: Outputs,
        holds: &Holds,
        processes: &Arc<Processes>,
    ) -> Result<Result<Execution, NotBegun>, LocalError> {
        let tree = holds.0.tree.clone();
        self.restore(holds).await?;
        if let Some(name) = self.config.results.clone() {
            let tree = tree.clone();
            let removed = blocking(Arc::clone(holds), move || {
                old_results::remove_old(&tree, &name)
                    .map_err(LocalError::io("remove", &tree.join(name)))
            });
            if let Err(reason) = removed.await? {
                return Ok(Err(NotBegun::Results(reason)));
            }
        }
        // Files, not pipes: a process left in the background keeps a pipe open,
        // and its reader waits for that process. New ones for each run: later output of
        // such a process belongs to no run.
        let runs = self.runs.clone();
        let (stdout, stderr) = (files::create_unnamed(&runs)?, files::create_unnamed(&runs)?);
        let copy = |file: &File| file.try_clone().map_err(LocalError::io("open", &runs));
        let profiler = match (purpose, &self.config.profiling) {
            (Purpose::Count(_), Some(profiling)) => Some(profiling.of_next_run(self.job_dir())?),
            _ => None,
        };
        let counter = match purpose {
            // Nothing runs under callgrind and a profiler at once.
            Purpose::Count(_) if profiler.is_some() => None,
            Purpose::Count(_) | Purpose::FindMetric => self.config.instructions,
            Purpose::WarmUp => None,
        };
        if (counter == Some(InstructionCounter::Callgrind) || profiler.is_some())
            && let Err(source) = check_program(&self.command(variant, purpose, &tree, None))
            && is_programs_fault(&source)
        {
            self.check_tree(holds)?;
            return Ok(Err(NotBegun::Program(source)));
        }
        let above = match (&profiler, counter) {
            (Some(profiler), _) => {
                let recording = Recording::begin(profiler, &runs, &tree)?;
                Some(Above::Profiler(Arc::new(recording)))
            }
            (None, Some(InstructionCounter::Callgrind)) => {
                Some(Above::Callgrind(Arc::new(CallgrindCounts::new(&runs)?)))
            }
            (None, _) => None,
        };
        let launch = Launch {
            command: self.command(variant, purpose, &tree, above.as_ref()),
            stdout: copy(&stdout)?,
            stderr: copy(&stderr)?,
            cpus: self.config.cpus.clone(),
            count_instructions: counter == Some(InstructionCounter::Processor),
        };
        let launched = launch.command.get_program().to_string_lossy().into_owned();
        let register = holds.1.register()?;
        let key = processes.key();
        let span = tracing::info_span!(
            "run",
            job = key.job,
            action = key.action,
            bot = processes.bot(),
            commit = %variant.commit.main.revision(),
            ?purpose,
        );
        let timeout = self.config.timeout;
        let held = (Arc::clone(holds), above.as_ref().map(Above::shared));
        let ran = child::execute(processes, launch, timeout, register, held)
            .instrument(span)
            .await;
        let mut ended = match ran {
            Ok(ended) => ended,
            Err(NotRun::Interrupted(reason)) => return Err(reason.into()),
            Err(NotRun::Spawn(source)) if is_programs_fault(&source) => {
                self.check_tree(holds)?;
                if above.is_some() {
                    let program = launched;
                    return Err(LocalError::Spawn { program, source });
                }
                return Ok(Err(NotBegun::Program(source)));
            }
            Err(NotRun::Spawn(source)) => {
                return Err(LocalError::Spawn {
                    program: self.config.command[0].clone(),
                    source,
                });
            }
        };
        // A leftover process may have written before it was ended.
        if ended.left.count > 0 {
            for (file, length) in [&stdout, &stderr].into_iter().zip(ended.written) {
                file.set_len(length)
                    .map_err(LocalError::io("write to", &runs))?;
            }
        }
        self.restore(holds).await?;
        let name = self.config.results.clone();
        let file = (name.as_ref()).map(|name| name.display().to_string());
        let read = move || {
            let unreadable = |error| LocalError::io("read", &runs)(error);
            let tail = OutputTail {
                stdout: files::tail(&stdout).map_err(unreadable)?,
                stderr: files::tail(&stderr).map_err(unreadable)?,
                ..OutputTail::default()
            };
            let results = match name {
                _ if matches!(outputs, Outputs::None | Outputs::Stderr) => {
                    Ok(Results::File(Vec::new()))
                }
                Some(name) => Results::of_run(&tree, &name, LARGEST_RESULTS)
                    .map_err(LocalError::io("read", &tree.join(&name)))?,
                None => Results::written_to(&stdout, LARGEST_RESULTS)
                    .map_err(unreadable)?
                    .ok_or_else(|| results::too_large(LARGEST_RESULTS)),
            };
            let errors = match outputs {
                Outputs::None | Outputs::Results => Vec::new(),
                Outputs::Stderr | Outputs::Both => {
                    files::read_at(&stderr, 0, LARGEST_RESULTS).map_err(unreadable)?
                }
            };
            let error_line = error_line::of_run(&stderr).map_err(unreadable)?;
            Ok((stdout, stderr, tail, results, errors, error_line))
        };
        let (stdout, stderr, tail, results, errors, error_line) =
            blocking(Arc::clone(holds), read).await?;
        let mut failure = ended.failure(&error_line);
        let mut profile = None;
        match above {
            Some(Above::Callgrind(counts)) => {
                ended.usage.instructions =
                    blocking(Arc::clone(holds), move || counts.sum()).await?;
            }
            Some(Above::Profiler(recording)) => {
                match profile_of(recording, &mut failure, &tail, holds).await? {
                    Ok(found) => profile = Some(found),
                    Err(reason) => failure = Some(reason),
                }
            }
            None => {}
        }
        Ok(Ok(Execution {
            failure,
            profile,
            measures: measures::of_run(&ended.usage, counter),
            tail: OutputTail {
                left: ended.left.in_words(),
                ..tail
            },
            ended,
            stdout,
            stderr,
            results,
            file,
            errors,
        }))
    }

    /// Restores the tracked files that the benchmark has changed, and notes that it did.
    async fn restore(&self, holds: &Holds) -> Result<(), LocalError> {
        let (build, results) = (Arc::clone(&holds.0), self.config.results.clone());
        let restore = move || build.restore(results.as_deref());
        let found = match blocking(Arc::clone(holds), restore).await {
            Err(error @ LocalError::BuildDamaged { .. }) => {
                self.builds.forget(&holds.0);
                return Err(error);
            }
            other => other?,
        };
        if found.restored.is_nothing() {
            return Ok(());
        }
        let Restored {
            files,
            other_commit,
        } = &found.restored;
        let job_dir = self.job_dir();
        if found.is_first {
            let what = match files.is_empty() {
                true => "another commit was checked out there".to_owned(),
                false => listed_paths(files),
            };
            let sentence = format!(
                "a build that was kept had been changed since by a benchmark, and its tracked \
                 files were restored: {what}"
            );
            return Remark::ChangedKept.note(job_dir, &sentence);
        }
        if *other_commit {
            let sentence = "the benchmark checks out another commit in its work tree: what it \
                measures may not be the commit under test; each run begins with that again";
            Remark::OtherCommit.note(job_dir, sentence)?;
        }
        if !files.is_empty() {
            let sentence = format!(
                "the benchmark changes tracked files of its work tree, which are restored after \
                 each run: {}",
                listed_paths(files)
            );
            Remark::ChangedFiles.note(job_dir, &sentence)?;
        }
        Ok(())
    }

    /// The directory of the job.
    fn job_dir(&self) -> &Path {
        self.runs.parent().unwrap_or(&self.runs)
    }

    /// Without its directory no program can be started. An earlier run, at least a
    /// warm-up, may have removed it.
    fn check_tree(&self, holds: &Holds) -> Result<(), LocalError> {
        let tree = &holds.0.tree;
        if !tree.is_dir() {
            self.builds.check(&holds.0, None)?;
        }
        tree.metadata().map_err(LocalError::io("enter", tree))?;
        Ok(())
    }

    fn command(
        &self,
        variant: &Variant,
        purpose: Purpose,
        tree: &Path,
        above: Option<&Above>,
    ) -> Command {
        let program = self.config.program(tree);
        let arguments = self.config.command.iter().skip(1).chain(&variant.arguments);
        let arguments: Vec<OsString> = arguments.map(OsString::from).collect();
        let mut command = match above {
            Some(Above::Profiler(recording)) => recording.command(&program, arguments),
            Some(Above::Callgrind(counts)) => with(counts.command(&program), arguments),
            None => with(Command::new(program), arguments),
        };
        let hash = self.builds.hash(&variant.commit);
        self.environment.set(&mut command, hash);
        command.envs(&variant.env);
        match purpose {
            Purpose::Count(index) => command.env("PINPOINT_RUN", index.to_string()),
            // A benchmark may keep silent in a warm-up run, and read its number in others.
            Purpose::FindMetric => command.env("PINPOINT_RUN", "0"),
            Purpose::WarmUp => command.env("PINPOINT_WARMUP", "1"),
        };
        if let Some(Above::Profiler(recording)) = above {
            recording.set_environment(&mut command);
        }
        command.current_dir(tree);
        command
    }

    /// Checks whether a failure was for lack of space. The check writes to no directory that is not
    /// ours.
    pub(crate) fn check_room(&self, build: &Build) -> Result<(), LocalError> {
        if let Builds::OfCommits(_) = &*self.builds {
            files::check_room(&build.tree)?;
        }
        Ok(files::check_room(&self.runs)?)
    }

    /// The failure of a run that was not started.
    pub(crate) fn cannot_begin(&self, error: NotBegun, variant: &Variant, build: &Build) -> String {
        match error {
            NotBegun::Results(reason) => reason,
            NotBegun::Program(error) => self.cannot_run(error, variant, build).to_string(),
        }
    }

    /// The reason why the benchmark may not find a file that its user has.
    pub(crate) fn missing(&self, tree: &Path) -> Option<String> {
        uncommitted::missing(&self.config.command, tree, &self.user_trees)
    }

    /// Names the program that could not be started, with the reason.
    pub(crate) fn cannot_run(
        &self,
        source: io::Error,
        variant: &Variant,
        build: &Build,
    ) -> LocalError {
        let path = self.config.program(&build.tree);
        let program = path.display().to_string();
        match source.kind() {
            io::ErrorKind::NotFound if path.exists() => {
                LocalError::InterpreterMissing { program, source }
            }
            io::ErrorKind::NotFound => LocalError::CommandMissing {
                hint: self.missing(&build.tree),
                program,
                commit: self.builds.name(&variant.commit),
                source,
            },
            _ if is_programs_fault(&source) => LocalError::CommandNotExecutable { program, source },
            _ => LocalError::Spawn { program, source },
        }
    }
}

impl Above {
    /// Returns the data to keep until the run has ended.
    fn shared(&self) -> Arc<dyn Send + Sync> {
        match self {
            Self::Callgrind(counts) => Arc::clone(counts) as _,
            Self::Profiler(recording) => Arc::clone(recording) as _,
        }
    }
}

fn with(mut command: Command, arguments: Vec<OsString>) -> Command {
    command.args(arguments);
    command
}

/// The profile of a run that ended, or the reason why it is missing. A run that failed has none,
/// and may have failed because the profiler may not be used: then any other run would fail, too.
async fn profile_of(
    recording: Arc<Recording>,
    failure: &mut Option<String>,
    tail: &OutputTail,
    holds: &Holds,
) -> Result<Result<Profile, String>, LocalError> {
    if let Some(failure) = failure.take() {
        return match recording.refusal(&tail.stderr) {
            Some(error) => Err(error.into()),
            None => Ok(Err(failure)),
        };
    }
    let stderr = tail.stderr.clone();
    let ended = blocking(Arc::clone(holds), move || {
        let files = recording.end(&stderr)?;
        Ok(files.map(|files| Profile {
            files,
            _recording: recording,
        }))
    });
    ended.await
}

/// Checks whether the program is at fault, rather than a system that can't start any.
fn is_programs_fault(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory
    ) || matches!(
        error.raw_os_error(),
        // Links in a loop, directories, and executables that are damaged.
        Some(libc::ENOEXEC | libc::ELOOP | libc::ENAMETOOLONG | libc::EISDIR | libc::EINVAL)
    )
}
