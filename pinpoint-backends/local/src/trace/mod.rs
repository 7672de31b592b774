//! Traces the reads of a build command and the benchmark, to prove that two builds are the same.
//!
//! Two commits differ in their sources, and so do their builds, if only by the path in which they
//! were made. Only the parts that the benchmark can see matter. So each build is made, and then the
//! benchmark is run in it once, uncounted, under `strace`.
//!
//! - **The digest** of a build is that of everything the benchmark's own run looked up in it: the
//!   contents of files that it read, the names in directories that it listed, the paths where it
//!   found nothing. In a build with the same digest it takes the same steps, and so its runs are of
//!   the same level.
//! - **Without a build** a commit is known to be the same as one that was built when git has the
//!   same contents for both wherever that one's build or run looked. Its build would have taken the
//!   same steps.
//!
//! A file that was looked for in vain counts, and so does a directory that was listed: a commit
//! that adds a file there changes something. Nothing is inferred from the *ends* of a range for
//! commits between them: those may read other files. Each build proves only what is the same as
//! itself.
//!
//! # Ignored differences
//!
//! - The path of the work tree: its name is blanked out of file contents.
//! - The parts of an executable that are not loaded: symbols, debug information, the build id;
//!   unless the file is read other than by loading it (`nm`, `wc -c`), or its size is read. That
//!   needs `objcopy`; without it such files are compared in full.
//! - Times of files. `SOURCE_DATE_EPOCH` is set for builds that use it.
//! - The hash of the commit, which commands of such a job do not get: its effects could not be
//!   seen.
//!
//! # Unprovable cases
//!
//! A command that reads git's data (`git describe`), asks another process (a compiler cache, a
//! container daemon, anything in the network), gives files that it did not make other names,
//! removes symbolic links that it made or replaces those of the commit, accesses a build through a
//! link, a hard link or a mount outside of it, or files that its build command put elsewhere,
//! changes a file of the build that it read, brings its own loader, changes its root, or reads by
//! `io_uring`: its builds are compared by their sources alone, and the reason is reported.
//!
//! # Limits
//!
//! The benchmark is assumed to read the same files in each of its runs. Files outside of the work
//! tree are assumed to be the same for all commits. A traced command lasts until all processes that
//! it started have ended, and programs lose their set-user-id bits.
//!
//! `docs/same-builds.md` explains all of this to users.

mod call;
mod digest;
mod elf;
mod reads;
mod strace;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pinpoint_midpoint::manifest::all;
use serde::{Deserialize, Serialize};

use super::error::LocalError;
use crate::build::workspace::BuildDir;
use crate::process::files;
pub(super) use digest::BuildSnapshot;
use reads::Outside;
pub(super) use reads::Reads;
use strace::{Access, CALLS, StraceReader, Trace};

/// A traced command takes longer by a factor below this, and gets more time.
const SLOWER: u32 = 4;

/// The means to trace commands.
#[derive(Debug)]
pub(super) struct Tracer {
    options: Vec<&'static str>,
}

impl Tracer {
    /// Checks that commands can be traced here.
    ///
    /// # Errors
    ///
    /// [`LocalError::NoTracer`].
    pub(super) fn open() -> Result<Self, LocalError> {
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
        Err(LocalError::NoTracer { reason })
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
    pub(super) fn command(&self, traced: &Command, output: &Path) -> Command {
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
    pub(super) fn timeout(&self, timeout: Option<Duration>) -> Option<Duration> {
        timeout.map(|timeout| timeout.saturating_mul(SLOWER))
    }
}

/// The paths of a build that a command accessed from its work tree, from a trace, which is removed.
/// Git keeps its data of all work trees in `repositories`.
pub(super) fn read(
    output: &Path,
    dir: &BuildDir,
    repositories: &Path,
) -> Result<Reads, LocalError> {
    let trace = parse(output, &dir.tree).map_err(LocalError::io("read", output))?;
    files::remove(output)?;
    Ok(Reads::from_trace(trace, &dir.path, repositories))
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

/// The results of a traced build, kept next to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Traced {
    /// The paths in the work tree that its build command and the benchmark accessed.
    reads: BTreeMap<String, Access>,
    /// The files elsewhere that they read.
    #[serde(default)]
    outside: BTreeMap<String, Outside>,
    /// Identifies the benchmark's reads.
    pub(super) digest: Option<String>,
    /// The reason why the digest is missing, or the paths are incomplete.
    pub(super) unproved: Option<String>,
}

impl Traced {
    /// Combines the reads of the build command, if there is one, with those of the benchmark and
    /// their digest.
    pub(super) fn new(
        build: Option<Reads>,
        mut benchmark: Reads,
        digest: Result<String, String>,
    ) -> Self {
        let mut placed = build.iter().flat_map(|build| &build.placed);
        if let Some(place) = placed.find(|place| benchmark.seen.contains(*place)) {
            let doubt = format!(
                "it looks at {}, which the build command put outside of the work tree",
                place.display()
            );
            benchmark.doubt.get_or_insert(doubt);
        }
        let tree = |reads: &Reads| -> Vec<(String, Access)> {
            (reads.places.iter())
                .filter_map(|(path, access)| Some((path.strip_prefix("tree")?, *access)))
                .filter_map(|(path, access)| match path.strip_prefix('/') {
                    Some(path) => Some((path.to_owned(), access)),
                    None => path.is_empty().then(|| (String::new(), access)),
                })
                .collect()
        };
        let mut reads: BTreeMap<String, Access> = BTreeMap::new();
        for (path, access) in (build.iter()).chain([&benchmark]).flat_map(tree) {
            reads.entry(path).or_default().add(access);
        }
        let mut outside = benchmark.outside;
        outside.extend(build.iter().flat_map(|build| build.outside.clone()));
        let of = |who: &str, doubt: Option<String>| doubt.map(|doubt| format!("{who}: {doubt}"));
        let (digest, undigested) = match (benchmark.doubt, digest) {
            (Some(doubt), _) | (None, Err(doubt)) => (None, Some(doubt)),
            (None, Ok(digest)) => (Some(digest), None),
        };
        let in_build = build.and_then(|build| build.doubt);
        Self {
            reads,
            outside,
            digest,
            unproved: of("the build", in_build).or_else(|| of("the benchmark", undigested)),
        }
    }

    /// Keeps the results, unless files elsewhere have changed since: then the reads of a build are
    /// unknown.
    pub(super) fn if_still_true(self) -> Self {
        let mut outside = self.outside.iter();
        let Some((path, _)) = outside.find(|(path, outside)| !outside.is_still(path)) else {
            return self;
        };
        Self {
            unproved: Some(format!("{path} has changed since it was built")),
            ..Self::default()
        }
    }

    /// The paths at which a work tree must equal this build's for the two to be the same, with true
    /// if the names of a directory count; absent when unknown.
    pub(super) fn reads(&self) -> Option<BTreeMap<String, bool>> {
        let places = || {
            let mut places = (self.reads.iter())
                .map(|(path, access)| (path.clone(), access.listed))
                .collect();
            add_checkout(&mut places);
            places
        };
        self.unproved.is_none().then(places)
    }
}

/// Adds the paths that git and we read to fill a work tree: attributes in each parent directory of
/// a file, the manifests of dependencies, and those directories, any of which may be a submodule.
fn add_checkout(reads: &mut BTreeMap<String, bool>) {
    let mut directories = BTreeSet::from([String::new()]);
    for path in reads.keys() {
        let mut path = path.as_str();
        while let Some((directory, _)) = path.rsplit_once('/') {
            if !directories.insert(directory.to_owned()) {
                break;
            }
            path = directory;
        }
    }
    for directory in directories {
        let attributes = match &*directory {
            "" => ".gitattributes".to_owned(),
            directory => format!("{directory}/.gitattributes"),
        };
        reads.entry(attributes).or_default();
        reads.entry(directory).or_default();
    }
    for manifest in all() {
        reads.entry(manifest.file().into()).or_default();
    }
}
