//! Profilers: they run the benchmark and leave a profile of the run.
//!
//! Each has its own file, for starting the benchmark and processing the files that it left. Command
//! lines are made by pure functions; only [`Recording`] touches files.
//!
//! | profiler | starts | leaves |
//! | --- | --- | --- |
//! | `perf`, `perf-dwarf` | `perf record … -- COMMAND` | the text of `perf script` |
//! | `samply` | `samply record … -- COMMAND` | the JSON of the Firefox Profiler |
//! | `callgrind` | `valgrind --tool=callgrind … COMMAND` | a file for each process |
//! | `node` | COMMAND, with a script in `NODE_OPTIONS` | a `.cpuprofile` for each process and worker |
//! | `python` | `py-spy record … -- COMMAND` | a speedscope file |
//! | `go` | COMMAND, its tests with `-cpuprofile` | a pprof file for each package |
//! | `chrome` | COMMAND, its browsers with options | a Chrome trace for each browser |
//! | `command:TEMPLATE` | the template, by `sh -c` | its output to `{profile}` |
//! | `files:GLOB` | COMMAND | the files in the work tree that match |

mod callgrind;
mod choice;
mod chrome;
mod error;
mod files;
mod go;
mod kept;
mod node;
mod perf;
mod python;
mod samply;
mod started;
mod template;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use self::choice::is_installed;
pub use self::choice::{ProfilerFacts, choose_profiler, profiler_facts};
pub use self::error::ProfilerError;
#[doc(hidden)]
pub use self::kept::ProfileStore;
pub(crate) use self::kept::clean;
pub use self::kept::kept_profiles;
use crate::error::LocalError;
use crate::run::job_remarks::Remark;

/// Begins the names of directories for profiles of runs that are being made.
const PREFIX: &str = "profile-";

/// A profiler for the runs of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Profiler {
    /// Linux's sampler, with call graphs by frame pointers.
    Perf,
    /// Like [`Perf`](Self::Perf), with call graphs by DWARF: for programs without frame pointers.
    /// Each sample takes 8 kB, and minutes may pass until all are read.
    PerfDwarf,
    /// Valgrind's callgrind, which counts instructions: one pair of runs is enough, and a
    /// run takes 20 to 200 times as long.
    Callgrind,
    /// V8's sampler in all processes of Node.js.
    Node,
    /// py-spy.
    Python,
    /// The sampler of `go test`.
    Go,
    /// samply: also on macOS, which lacks perf.
    Samply,
    /// The traces of Chromium, which the benchmark starts.
    Chrome,
    /// A shell command that writes a profile to `{profile}`. `{command}` is the benchmark; without
    /// it, the shell command replaces the benchmark.
    Command(String),
    /// The benchmark writes profiles itself, to files in the work tree that match.
    Files(String),
}

impl Profiler {
    /// The names of those without a parameter.
    pub const NAMES: [&str; 8] = [
        "perf",
        "perf-dwarf",
        "callgrind",
        "node",
        "python",
        "go",
        "samply",
        "chrome",
    ];

    /// Returns true if it counts instead of sampling, so that one pair of runs is enough.
    pub fn is_exact(&self) -> bool {
        *self == Self::Callgrind
    }

    /// Returns true if its profiles may have timestamps, so that a part of their time can be
    /// examined.
    pub fn has_times(&self) -> bool {
        !matches!(self, Self::Callgrind | Self::Go)
    }

    /// Describes what it measures, for users. `None` for the user's command or files.
    pub fn counts(&self) -> Option<&'static str> {
        match self {
            Self::Perf | Self::PerfDwarf | Self::Samply | Self::Go => {
                Some("what processors spend on the program, without its waiting")
            }
            Self::Node | Self::Chrome => Some(
                "time by the clock in which a thread is not idle, with the wait for a processor",
            ),
            Self::Python => Some(
                "time by the clock in which a thread is not idle, with the wait for a processor: 2 ms for each sample, of which py-spy is to take 500 a second; a machine on which it takes fewer shows less time",
            ),
            Self::Callgrind => Some("instructions, without the kernel's"),
            Self::Command(_) | Self::Files(_) => None,
        }
    }

    /// Its name in a sentence: a template may be long.
    pub fn in_words(&self) -> String {
        match self {
            Self::Command(_) => "the profiler's command".into(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Profiler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Perf => formatter.write_str("perf"),
            Self::PerfDwarf => formatter.write_str("perf-dwarf"),
            Self::Callgrind => formatter.write_str("callgrind"),
            Self::Node => formatter.write_str("node"),
            Self::Python => formatter.write_str("python"),
            Self::Go => formatter.write_str("go"),
            Self::Samply => formatter.write_str("samply"),
            Self::Chrome => formatter.write_str("chrome"),
            Self::Command(template) => write!(formatter, "command:{template}"),
            Self::Files(glob) => write!(formatter, "files:{glob}"),
        }
    }
}

impl From<Profiler> for String {
    fn from(profiler: Profiler) -> Self {
        profiler.to_string()
    }
}

impl TryFrom<String> for Profiler {
    type Error = ProfilerError;

    fn try_from(text: String) -> Result<Self, ProfilerError> {
        text.parse()
    }
}

impl FromStr for Profiler {
    type Err = ProfilerError;

    fn from_str(text: &str) -> Result<Self, ProfilerError> {
        Ok(match text {
            "perf" => Self::Perf,
            "perf-dwarf" => Self::PerfDwarf,
            "callgrind" => Self::Callgrind,
            "node" => Self::Node,
            "python" => Self::Python,
            "go" => Self::Go,
            "samply" => Self::Samply,
            "chrome" => Self::Chrome,
            _ => match text.split_once(':') {
                Some(("command", text)) => Self::Command(template::checked(text)?),
                Some(("files", glob)) => Self::Files(files::checked(glob)?),
                _ => return Err(ProfilerError::Unknown(text.into())),
            },
        })
    }
}

/// The profiling of a job's runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profiling {
    /// The profiler.
    pub profiler: Profiler,
    /// The most bytes of profiles that are kept with the job.
    pub keep: u64,
    /// When frame pointers yield no callers, perf unwinds with DWARF from then on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dwarf_if_needed: bool,
}

/// The remark on a job for which perf switched to DWARF.
const BY_DWARF: &str = "most stacks name no callers by frame pointers, which compilers leave out by \
    default: runs were recorded with perf-dwarf instead. -fno-omit-frame-pointer (Rust: -C \
    force-frame-pointers=yes) has perf find callers with less to record";

impl Profiling {
    /// The profiler of the next run of the job in this directory.
    pub(crate) fn of_next_run(&self, job_dir: &Path) -> Result<Profiler, LocalError> {
        let by_dwarf = self.dwarf_if_needed && Remark::CallersMissing.is_noted(job_dir)?;
        Ok(match by_dwarf {
            true => Profiler::PerfDwarf,
            false => self.profiler.clone(),
        })
    }

    /// Checks whether a run with these files has to be repeated because its stacks lack callers. A
    /// remark notes it, so that later runs use DWARF at once.
    pub(crate) fn is_to_be_repeated(
        &self,
        job_dir: &Path,
        files: &[PathBuf],
    ) -> Result<bool, LocalError> {
        if self.of_next_run(job_dir)? != Profiler::Perf || !self.dwarf_if_needed {
            return Ok(false);
        }
        for file in files {
            let text = fs::read(file).map_err(LocalError::io("read", file))?;
            if perf::lacks_callers(&String::from_utf8_lossy(&text)) {
                Remark::CallersMissing.note(job_dir, BY_DWARF)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The recording of one run's profile. Its files are removed when it is dropped.
pub(crate) struct Recording {
    profiler: Profiler,
    /// The profiler's files, and nothing else.
    directory: TempDir,
    /// The work tree in which the benchmark runs.
    tree: PathBuf,
    /// The state of profiles that the benchmark writes itself.
    before: files::FileSnapshot,
}

impl Recording {
    /// # Errors
    ///
    /// When its directory can't be created, or the work tree can't be read.
    pub(crate) fn begin(
        profiler: &Profiler,
        place: &Path,
        tree: &Path,
    ) -> Result<Self, LocalError> {
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place);
        let directory = directory.map_err(LocalError::io("make a directory in", place))?;
        let mut before = files::FileSnapshot::default();
        match profiler {
            Profiler::Node => {
                let hook = directory.path().join(node::HOOK);
                fs::write(&hook, node::SCRIPT).map_err(LocalError::io("write", &hook))?;
            }
            Profiler::Chrome => {
                let place = directory.path().join(chrome::STAND_INS);
                write_scripts(&place, &chrome::stand_ins(is_installed))?;
            }
            Profiler::Go => {
                let place = directory.path();
                write_scripts(place, &[(go::EXECUTOR, go::SCRIPT.into())])?;
            }
            Profiler::Files(glob) => before = files::FileSnapshot::from_tree(tree, glob)?,
            _ => {}
        }
        Ok(Self {
            profiler: profiler.clone(),
            directory,
            tree: tree.to_owned(),
            before,
        })
    }

    /// The command that runs the benchmark under the profiler.
    pub(crate) fn command(&self, program: &Path, arguments: Vec<OsString>) -> Command {
        let place = self.directory.path();
        match &self.profiler {
            Profiler::Perf => perf::command(place, perf::Stacks::FramePointers, program, arguments),
            Profiler::PerfDwarf => perf::command(place, perf::Stacks::Dwarf, program, arguments),
            Profiler::Callgrind => callgrind::command(place, program, arguments),
            Profiler::Python => python::command(place, program, arguments),
            Profiler::Go => go::command(place, program, arguments),
            Profiler::Samply => samply::command(place, program, arguments),
            Profiler::Chrome => chrome::command(place, program, arguments),
            Profiler::Command(template) => template::command(place, template, program, arguments),
            Profiler::Node | Profiler::Files(_) => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        }
    }

    /// Sets the variables by which the profiler is started, once the command has all others.
    pub(crate) fn set_environment(&self, command: &mut Command) {
        match self.profiler {
            Profiler::Node => node::set_environment(self.directory.path(), command),
            Profiler::Chrome => chrome::set_environment(self.directory.path(), command),
            Profiler::Go => go::set_environment(self.directory.path(), command),
            _ => {}
        }
    }

    /// The files of the profile, once the run has ended; or the reason why they are missing, in a
    /// line.
    pub(crate) fn end(&self, stderr: &str) -> Result<Result<Vec<PathBuf>, String>, LocalError> {
        let place = self.directory.path();
        let (written, failure) = match &self.profiler {
            Profiler::Perf | Profiler::PerfDwarf => match perf::text(place) {
                Ok(text) => (vec![text], None),
                Err(failure) => return Ok(Err(failure)),
            },
            Profiler::Samply => match samply::profile(place) {
                Ok(profile) => (vec![profile], None),
                Err(failure) => return Ok(Err(failure)),
            },
            Profiler::Python => {
                let profile = python::profile(place).map_err(LocalError::io("read", place))?;
                (vec![profile], python::failure(place, stderr))
            }
            Profiler::Files(glob) => (self.before.written(&self.tree, glob)?, None),
            Profiler::Command(_) => (vec![place.join(template::FILE)], None),
            _ => (all_in(place)?, None),
        };
        let is_written =
            |path: &PathBuf| fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() > 0);
        let written: Vec<PathBuf> = written.into_iter().filter(is_written).collect();
        Ok(match failure {
            Some(failure) => Err(failure),
            None if written.is_empty() => {
                Err(ProfilerError::Nothing(self.profiler.clone()).to_string())
            }
            None => Ok(written),
        })
    }

    /// The reason for a failed run, when the profiler is at fault.
    pub(crate) fn refusal(&self, stderr: &str) -> Option<ProfilerError> {
        match self.profiler {
            Profiler::Perf | Profiler::PerfDwarf | Profiler::Samply => perf::refusal(stderr),
            Profiler::Python => python::refusal(stderr),
            _ => None,
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Profiler::Files(glob) = &self.profiler {
            self.before.restore(&self.tree, glob);
        }
    }
}

/// A variable's value for a command: options of the job before those of this process.
fn set(command: &Command, variable: &str) -> Option<OsString> {
    let set = { command.get_envs() }.filter(|(name, _)| *name == variable);
    match set.last() {
        Some((_, value)) => value.map(OsStr::to_owned),
        None => std::env::var_os(variable),
    }
}

/// Writes these programs into a directory.
fn write_scripts(place: &Path, scripts: &[(&str, String)]) -> Result<(), LocalError> {
    fs::create_dir_all(place).map_err(LocalError::io("make", place))?;
    for (name, script) in scripts {
        let path = place.join(name);
        let write = || {
            fs::write(&path, script)?;
            #[cfg(unix)]
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
            Ok(())
        };
        write().map_err(LocalError::io("write", &path))?;
    }
    Ok(())
}

/// The profiles of a directory, in the order of their names.
fn all_in(place: &Path) -> Result<Vec<PathBuf>, LocalError> {
    let entries = fs::read_dir(place).map_err(LocalError::io("read", place))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(LocalError::io("read", place))?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_file() && name != node::HOOK && name != go::EXECUTOR {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Removes the files of runs whose process was killed. No other process is working on the job.
pub(crate) fn remove_left(runs: &Path) -> Result<(), LocalError> {
    for entry in fs::read_dir(runs).map_err(LocalError::io("read", runs))? {
        let entry = entry.map_err(LocalError::io("read", runs))?;
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes())
        {
            // Files still being written there are removed the next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command as its words, with the program's first.
    pub(crate) fn words(command: &Command) -> Vec<String> {
        std::iter::once(command.get_program())
            .chain(command.get_args())
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn a_profiler_is_written_as_it_is_read() {
        let parameters = [
            "command:samply record -o {profile} -- {command}",
            "files:out/*.folded",
        ];
        for name in Profiler::NAMES.into_iter().chain(parameters) {
            let profiler: Profiler = name.parse().unwrap();
            assert_eq!(profiler.to_string(), name);
            let json = serde_json::to_string(&profiler).unwrap();
            assert_eq!(serde_json::from_str::<Profiler>(&json).unwrap(), profiler);
        }
    }

    #[test]
    fn what_is_no_profiler_is_refused_with_what_to_do() {
        for (text, advice) in [
            ("gprof", "choose perf, perf-dwarf, callgrind"),
            ("command:perf record", "{profile}"),
            ("command:", "{profile}"),
            ("files:", "a pattern"),
            ("files:/etc/*", "inside the work tree"),
            ("files:../*", "inside the work tree"),
            ("files:[", "pattern"),
        ] {
            let error = text.parse::<Profiler>().unwrap_err().to_string();
            assert!(error.contains(advice), "{text}: {error}");
        }
    }

    #[test]
    fn runs_without_callers_are_repeated_with_dwarf() {
        let job = tempfile::tempdir().unwrap();
        let text = job.path().join("perf.txt");
        let files = std::slice::from_ref(&text);
        let mut profiling = Profiling {
            profiler: Profiler::Perf,
            keep: 1,
            dwarf_if_needed: false,
        };
        fs::write(
            &text,
            "w 1 1.0: 5 cycles:\n\t2 step+0x1 (/w)\n\t1 [unknown] (/w)\n\n",
        )
        .unwrap();
        assert!(!profiling.is_to_be_repeated(job.path(), files).unwrap());
        profiling.dwarf_if_needed = true;
        let next = |profiling: &Profiling| profiling.of_next_run(job.path()).unwrap();
        assert_eq!(next(&profiling), Profiler::Perf);
        assert!(profiling.is_to_be_repeated(job.path(), files).unwrap());
        assert_eq!(next(&profiling), Profiler::PerfDwarf);
        // Callers that DWARF does not find either are not looked for again.
        assert!(!profiling.is_to_be_repeated(job.path(), files).unwrap());
        let warnings = crate::run_warnings(job.path()).unwrap();
        assert!(
            warnings[0].contains("-fno-omit-frame-pointer"),
            "{warnings:?}"
        );
        profiling.dwarf_if_needed = false;
        assert_eq!(next(&profiling), Profiler::Perf);
    }

    #[test]
    fn a_directory_is_no_profile() {
        let place = tempfile::tempdir().unwrap();
        let profiler = "command:mkdir {profile}".parse().unwrap();
        let recording = Recording::begin(&profiler, place.path(), Path::new("/")).unwrap();
        fs::create_dir(recording.directory.path().join(template::FILE)).unwrap();
        let failure = recording.end("").unwrap().unwrap_err();
        assert!(failure.contains("wrote no profile"), "{failure}");
    }

    #[test]
    fn a_recording_that_left_nothing_says_so() {
        let place = tempfile::tempdir().unwrap();
        let recording = Recording::begin(&Profiler::Node, place.path(), Path::new("/")).unwrap();
        let failure = recording.end("").unwrap().unwrap_err();
        assert!(failure.contains("node wrote no profile"), "{failure}");
        let name = recording.directory.path().join("12-0.cpuprofile");
        fs::write(&name, "{}").unwrap();
        assert_eq!(recording.end("").unwrap().unwrap(), [name]);
        remove_left(place.path()).unwrap();
        assert!(fs::read_dir(place.path()).unwrap().next().is_none());
    }
}
