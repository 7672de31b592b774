//! Tracing a command, and reading its trace.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::access::Trace;
use super::reads::Reads;
use super::strace::{CALLS, StraceReader};
use crate::process::files::{self, FileError};

/// A traced command takes longer by a factor below this, and gets more time.
const SLOWER: u32 = 4;

/// Commands can't be traced here.
#[derive(Debug)]
pub(crate) struct NoTracer {
    pub(crate) reason: String,
}

/// The means to trace commands.
#[derive(Debug)]
pub(crate) struct Tracer {
    options: Vec<&'static str>,
}

impl Tracer {
    /// Checks that commands can be traced here.
    pub(crate) fn open() -> Result<Self, NoTracer> {
        let plain = vec!["-f", "-y", "-q", "-e", "signal=none", "-e", CALLS];
        // Stops at the calls of interest only; since strace 5.3.
        let mut quick = vec!["--seccomp-bpf"];
        quick.extend(&plain);
        let mut reason = String::new();
        for options in [quick, plain] {
            let tracer = Self { options };
            match tracer.trial() {
                Ok(()) => return Ok(tracer),
                Err(found) => reason = found,
            }
        }
        Err(NoTracer { reason })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "it traces `true`, which ends by itself"
    )]
    fn trial(&self) -> Result<(), String> {
        let mut command = self.command(&Command::new("true"), Path::new("/dev/null"));
        match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(said.trim().lines().last().unwrap_or("it failed").to_owned())
            }
            Err(error) => Err(format!("strace can't be started: {error}")),
        }
    }

    /// The command, traced into a file.
    pub(crate) fn command(&self, traced: &Command, output: &Path) -> Command {
        let mut command = Command::new("strace");
        command.args(&self.options).arg("-o").arg(output).arg("--");
        command.arg(traced.get_program()).args(traced.get_args());
        for (name, value) in traced.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = traced.get_current_dir() {
            command.current_dir(directory);
        }
        command
    }

    /// The time limit of a traced command.
    pub(crate) fn timeout(&self, timeout: Option<Duration>) -> Option<Duration> {
        timeout.map(|timeout| timeout.saturating_mul(SLOWER))
    }
}

/// The paths of a build that a command accessed from its work tree, from a trace, which is removed.
/// `build` is the directory of the build, and `tree` the work tree in it. Git keeps its data of all
/// work trees in `repositories`.
pub(crate) fn read(
    output: &Path,
    build: &Path,
    tree: &Path,
    repositories: &Path,
) -> Result<Reads, FileError> {
    let trace = parse(output, tree).map_err(FileError::io("read", output))?;
    files::remove(output)?;
    Ok(Reads::from_trace(trace, build, repositories))
}

fn parse(output: &Path, directory: &Path) -> io::Result<Trace> {
    let mut reader = StraceReader::new(directory);
    let mut lines = BufReader::new(File::open(output)?);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        reader.line(line.strip_suffix(b"\n").unwrap_or(&line));
        line.clear();
    }
    Ok(reader.finish())
}
