//! Errors of the local executor.

use std::io;
use std::path::{Path, PathBuf};

use pinpoint_core::results::MetricDoubt;
use pinpoint_core::{ExecutorError, NoMetric};
use pinpoint_midpoint::{HistoryError, MidpointError};

use crate::git::mirror_error::MirrorError;
use crate::git::repository_error::RepositoryError;
use crate::process::child::Interrupted;
use crate::process::cpus::CpuList;
use crate::process::files::FileError;
use crate::process::machine_lock::MachineDirError;
use crate::run::outside_reads::OutsideRead;
use crate::run::profiler::ProfilerError;
use crate::trace::NoTracer;

/// The local executor failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// The metric of the job names an unknown format.
    #[error("the format of the job's metric: {source}")]
    Format {
        /// The problem.
        source: pinpoint_core::results::FormatError,
    },
    /// One of our files or directories could not be used.
    #[error("can't {action} {path}: {source}; {}", advice(source))]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The path concerned.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// One of our files has unexpected contents.
    #[error("{path} is damaged: {source}; remove it and resume the job", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: serde_json::Error,
    },
    /// The state directory's name is not text.
    #[error("the name of the state directory {path} is not UTF-8; choose another state directory", path = path.display())]
    StateDirNotUnicode {
        /// The directory, with anything that is not UTF-8 replaced.
        path: PathBuf,
    },
    /// A build lost something while it was used.
    #[error("the build in {path} lost {missing} while it was in use; it is built again when it is needed next", path = path.display())]
    BuildDamaged {
        /// The directory of the build.
        path: PathBuf,
        /// The missing build or file.
        missing: String,
    },
    /// Trouble with the user's repository, or with `git`.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The range between two commits can't be determined.
    #[error(transparent)]
    Midpoint(#[from] pinpoint_midpoint::MidpointError),
    /// A repository is not available from its URL.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// The directory of the machine's locks belongs to another user.
    #[error("{path} belongs to another user, so its locks can't be trusted; have it removed, or set XDG_RUNTIME_DIR", path = path.display())]
    ForeignMachineDir {
        /// The directory.
        path: PathBuf,
    },
    /// The directory of the machine's locks can't be used.
    #[error(
        "the locks of this machine can't be kept in {}: {source}; make it writable, or set XDG_RUNTIME_DIR to a directory that is, the same for all processes of this user",
        .path.display()
    )]
    MachineDir {
        /// The directory, or a file in it.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Reads of commands can't be traced.
    #[error(
        "the files that a build and the benchmark read can't be traced: {reason}; install strace, and where a container forbids it, allow it to trace (SYS_PTRACE)"
    )]
    NoTracer {
        /// The reason.
        reason: String,
    },
    /// No benchmark command is given.
    #[error("no benchmark command is given")]
    NoCommand,
    /// The results file is not one in the work tree.
    #[error("the results file {path} is not inside the work tree; name it relative to the top of the repository, without `..`", path = path.display())]
    ResultsOutside {
        /// The path as given.
        path: PathBuf,
    },
    /// The benchmark's program does not exist.
    #[error(
        "the benchmark command {program} does not exist at the good end {commit}; {}",
        hint.as_deref().unwrap_or("correct its path (one with a `/` is looked up in the work tree), or have the build make it")
    )]
    CommandMissing {
        /// A hint about files of this name.
        hint: Option<String>,
        /// The program.
        program: String,
        /// The good end.
        commit: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The benchmark's program exists, but its interpreter does not.
    #[error(
        "the benchmark command {program} exists, but the interpreter that its first line names does not; install it, or correct that line"
    )]
    InterpreterMissing {
        /// The program.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The benchmark's program can't be executed.
    #[error(
        "the benchmark command {program} can't be executed: {source}; make it executable (chmod +x), or name its interpreter"
    )]
    CommandNotExecutable {
        /// The program.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The system could not start a process.
    #[error("can't start {program}: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A measure of runs, and a format of their output.
    #[error(
        "values are read from the benchmark's output, or its runs are measured, but not both; leave out the format and the file of results, or the measure"
    )]
    MeasureOfOutput,
    /// Instructions can't be counted here.
    #[error(
        "instructions can't be counted: {}, and valgrind is not installed; {}install valgrind",
        why_uncounted(source),
        way_to_count(source)
    )]
    NoInstructionCounter {
        /// The error of the processor's counters.
        source: io::Error,
    },
    /// The processor did not count the instructions of a run.
    #[error(
        "the instructions of a run were not counted: {}; {}resume the job where they can be counted",
        why_uncounted(source),
        way_to_count(source)
    )]
    InstructionsNotCounted {
        /// The error of the processor's counters.
        source: io::Error,
    },
    /// The profiler of the job can't be used.
    #[error(transparent)]
    Profiler(#[from] ProfilerError),
    /// The benchmark or the build uses the user's checkout.
    #[error(transparent)]
    OutsideRead(#[from] OutsideRead),
    /// The good end does not build, so there is nothing to compare with.
    #[error(
        "the good end {commit} does not build: {reason}; choose a good commit that builds, or correct the build command"
    )]
    GoodDoesNotBuild {
        /// The good end.
        commit: String,
        /// The reason, in one line.
        reason: String,
    },
    /// The good end failed in every try.
    #[error("the benchmark fails at the good end {commit}, {attempts} of {attempts} times: {reason}; {}{}", hint.as_deref().unwrap_or("make it pass there, or choose another good commit"), quoted(.tail))]
    GoodFails {
        /// The good end.
        commit: String,
        /// The number of tries.
        attempts: u32,
        /// The reason for the last failure, in one line.
        reason: String,
        /// A hint about a missing file that the command names.
        hint: Option<String>,
        /// The first and the last lines of its standard error.
        tail: String,
    },
    /// The output at the good end is not a valid measurement.
    #[error("the benchmark's output at the good end {commit} can't be used: {reason}")]
    GoodUnreadable {
        /// The good end.
        commit: String,
        /// The problem.
        reason: String,
    },
    /// The good end lacks the requested charts.
    #[error(transparent)]
    Charts(#[from] NoMetric),
    /// The benchmark's metric is ambiguous.
    #[error(transparent)]
    Doubt(#[from] MetricDoubt),
    /// A dependency has to be held at a revision of a repository that is not available
    /// locally.
    #[error("the repository {repository} is not available locally; name a local clone of it")]
    NotAvailable {
        /// The dependency.
        repository: String,
    },
    /// The patch would have to be fetched.
    #[error(
        "the change {change} at {host} is not available locally, and the local executor does not fetch changes; download it as a patch file"
    )]
    PatchAtGerrit {
        /// The host of Gerrit.
        host: String,
        /// The number of the change.
        change: u64,
    },
    /// The patch is not the one that the commit names.
    #[error("the patch {name} has changed since the job was created ({}); restore the file and resume the job, or start a new job", place(.path))]
    PatchChanged {
        /// The user's name for it.
        name: String,
        /// The path where it should be.
        path: Option<PathBuf>,
    },
    /// The range has no such offset.
    #[error(
        "the range of {count} commits has no commit at offset {offset}; the repository's history changed since the range was listed: start a new job"
    )]
    NoSuchOffset {
        /// The requested offset.
        offset: u64,
        /// The number of commits.
        count: u64,
    },
    /// A range has another number of commits than when it was listed.
    #[error(
        "there were {then} states between {lower} and {higher} when they were listed, and now there are {now}: the repository's history changed, or another version of pinpoint listed them; start a new job"
    )]
    ListedOtherwise {
        /// The older end.
        lower: String,
        /// The newer end.
        higher: String,
        /// The number listed.
        then: u64,
        /// The number now.
        now: u64,
    },
    /// The directory of an existing build is gone.
    #[error("the build in {} is gone; put it back, and resume the job", .path.display())]
    BuildGone {
        /// The directory.
        path: PathBuf,
    },
    /// A job on existing builds has no commits.
    #[error("existing builds have no history: nothing lies between them")]
    NoHistory,
    /// Runs can't be pinned to all of the processors that were named.
    #[error(
        "there is no processor {missing} that runs can be pinned to; here they can use {available}"
    )]
    NoSuchProcessor {
        /// Those that don't exist, or may not be used.
        missing: CpuList,
        /// Those that may be used.
        available: CpuList,
    },
    /// No thread can be started on chosen processors.
    #[error("can't start a thread on chosen processors: {source}")]
    CannotPin {
        /// The error of the operating system.
        source: io::Error,
    },
    /// The work was canceled.
    #[error("canceled")]
    Canceled,
    /// The runtime is being shut down.
    #[error("the runtime was shut down while work was under way; resume the job")]
    ShutDown,
}

impl LocalError {
    /// Names the path in an error of the operating system.
    #[doc(hidden)]
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.into(),
            source,
        }
    }

    /// Returns true if this machine or the network is in trouble: another machine may carry out the
    /// same request, or this one when its disk has space again.
    #[doc(hidden)]
    pub fn is_of_machine(&self) -> bool {
        match self {
            Self::MachineDir { .. } | Self::ForeignMachineDir { .. } | Self::NoTracer { .. } => {
                true
            }
            Self::Io { source, .. } | Self::Spawn { source, .. } => {
                self.may_pass()
                    || matches!(
                        source.kind(),
                        io::ErrorKind::StorageFull
                            | io::ErrorKind::QuotaExceeded
                            | io::ErrorKind::ReadOnlyFilesystem
                            | io::ErrorKind::StaleNetworkFileHandle
                    )
                    || matches!(
                        source.raw_os_error(),
                        Some(libc::EIO | libc::EMFILE | libc::ENFILE)
                    )
            }
            _ => self.may_pass(),
        }
    }

    /// Returns true if the same request may succeed a little later, without intervention.
    fn may_pass(&self) -> bool {
        match self {
            Self::Canceled
            | Self::ShutDown
            | Self::BuildDamaged { .. }
            | Self::Mirror(MirrorError::Fetch { .. }) => true,
            Self::Midpoint(MidpointError::History(HistoryError::Unreadable { source, .. })) => {
                matches!(source.downcast_ref(), Some(MirrorError::Fetch { .. }))
            }
            Self::Io { source, .. }
            | Self::InstructionsNotCounted { source }
            | Self::Spawn { source, .. }
            | Self::Repository(RepositoryError::NotStarted(source)) => matches!(
                source.kind(),
                io::ErrorKind::Interrupted
                    | io::ErrorKind::OutOfMemory
                    | io::ErrorKind::ResourceBusy
                    | io::ErrorKind::WouldBlock
                    | io::ErrorKind::ExecutableFileBusy
            ),
            _ => false,
        }
    }
}

impl From<FileError> for LocalError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io {
                action,
                path,
                source,
            } => Self::Io {
                action,
                path,
                source,
            },
            FileError::Damaged { path, source } => Self::Damaged { path, source },
        }
    }
}

impl From<Interrupted> for LocalError {
    fn from(reason: Interrupted) -> Self {
        match reason {
            Interrupted::Canceled => Self::Canceled,
            Interrupted::ShutDown => Self::ShutDown,
            // It may succeed another time.
            Interrupted::SupervisorKilled { program } => Self::Spawn {
                program,
                source: io::Error::new(
                    io::ErrorKind::Interrupted,
                    "its supervising process was killed",
                ),
            },
        }
    }
}

impl From<MachineDirError> for LocalError {
    fn from(error: MachineDirError) -> Self {
        match error {
            MachineDirError::Foreign { path } => Self::ForeignMachineDir { path },
            MachineDirError::Unusable { path, source } => Self::MachineDir { path, source },
        }
    }
}

impl From<NoTracer> for LocalError {
    fn from(NoTracer { reason }: NoTracer) -> Self {
        Self::NoTracer { reason }
    }
}

impl From<LocalError> for ExecutorError {
    fn from(error: LocalError) -> Self {
        if error.may_pass() {
            Self::Unavailable(Box::new(error))
        } else {
            Self::Refused(Box::new(error))
        }
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, then resume the job"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make it writable, or choose another state directory, then resume the job"
        }
        io::ErrorKind::NotADirectory => {
            "there is a file where a directory should be; choose another state directory"
        }
        _ => "fix that, then resume the job",
    }
}

fn why_uncounted(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("the use of the processor's counters is forbidden ({error})")
        }
        io::ErrorKind::ResourceBusy => "others used the processor's counters, too".into(),
        _ => format!(
            "there are no usable counters of the processor ({error}), as in many virtual machines"
        ),
    }
}

fn way_to_count(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "`sysctl kernel.perf_event_paranoid=2` allows it; ",
        _ => "",
    }
}

fn place(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or_else(
        || "no file is named".into(),
        |path| path.display().to_string(),
    )
}

fn quoted(tail: &str) -> String {
    if tail.is_empty() {
        String::new()
    } else {
        format!("\nit wrote:\n{tail}")
    }
}
