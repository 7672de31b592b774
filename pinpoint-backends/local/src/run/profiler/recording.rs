//! The recording of one run's profile.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::choice::is_installed;
use super::error::ProfilerError;
use super::tool::Profiler;
use super::{callgrind, chrome, files, go, node, perf, python, samply, template};
use crate::error::LocalError;
use crate::process;

/// Begins the names of directories for profiles of runs that are being made.
const PREFIX: &str = "profile-";

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

/// Writes these programs into a directory.
pub(super) fn write_scripts(place: &Path, scripts: &[(&str, String)]) -> Result<(), LocalError> {
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
pub(super) fn all_in(place: &Path) -> Result<Vec<PathBuf>, LocalError> {
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
    Ok(process::files::remove_left(runs, PREFIX)?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
