//! A small Chrome: a main repository that rolls a dependency, with a regression.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use crate::git::Repository;

/// The main repository.
pub const MAIN: &str = "https://chromium.googlesource.com/chromium/src";

/// The dependency that `DEPS` of the main repository names.
pub const DEPENDENCY: &str = "https://chromium.googlesource.com/v8/v8";

/// Where a benchmark became slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slower {
    /// Nowhere.
    Never,
    /// From this commit of the main repository on, 0 being the oldest.
    Main(usize),
    /// From this commit of the dependency on.
    Dependency(usize),
}

/// The shape of the repositories.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Commits of the main repository.
    pub main: usize,
    /// Commits of the dependency.
    pub dependency: usize,
    /// Rolls: at this commit of the main repository, the dependency is set to that one of its
    /// own. Before the first it is its oldest.
    pub rolls: Vec<(usize, usize)>,
    /// Commits of the main repository that do not build.
    pub broken: Vec<usize>,
    /// Where it became slower.
    pub slower: Slower,
}

impl Shape {
    /// 24 commits, the tenth of which rolls the dependency; two do not build.
    pub fn small(slower: Slower) -> Self {
        Self {
            main: 24,
            dependency: 8,
            rolls: vec![(9, 6)],
            broken: vec![14, 15],
            slower,
        }
    }
}

/// The time of the benchmark, and by how much it grows at the regression.
const LEVEL: u32 = 100;
const STEP: u32 = 20;

/// By how much longer with a patch of Gerrit.
pub(crate) const PATCHED: f64 = 30.0;

/// Both repositories, with the hashes of their commits, oldest first.
#[derive(Debug)]
pub struct World {
    /// The main repository.
    pub main: Arc<Repository>,
    /// Its commits.
    pub main_hashes: Vec<String>,
    /// The dependency.
    pub dependency: Arc<Repository>,
    /// Its commits.
    pub dependency_hashes: Vec<String>,
}

impl World {
    /// Makes the repositories in a folder.
    pub fn make(dir: &Path, shape: &Shape) -> Self {
        let mut stream = String::new();
        for index in 0..shape.dependency {
            let level = match shape.slower {
                Slower::Dependency(slower) if index >= slower => STEP,
                _ => 0,
            };
            commit(
                &mut stream,
                index,
                "Change v8",
                &[("level", &level.to_string())],
            );
        }
        let dependency = Repository::import(&dir.join("v8.git"), &stream);
        let dependency_hashes = hashes(&dependency);
        let mut stream = String::new();
        for index in 0..shape.main {
            let level = match shape.slower {
                Slower::Main(slower) if index >= slower => LEVEL + STEP,
                _ => LEVEL,
            };
            let rolls = shape.rolls.iter().filter(|(at, _)| *at <= index);
            let held = rolls.map(|(_, to)| *to).next_back().unwrap_or_default();
            let held = dependency_hashes.get(held).map_or("", String::as_str);
            let deps = format!("deps = {{\n  'src/v8': '{DEPENDENCY}.git@{held}',\n}}\n");
            let subject = match shape.rolls.iter().any(|(at, _)| *at == index) {
                true => "Roll v8",
                false => "Change",
            };
            let mut files = vec![("DEPS", &*deps)];
            let level = level.to_string();
            files.push(("perf/level", &level));
            let broken = shape.broken.contains(&index).to_string();
            files.push(("broken", &broken));
            commit(&mut stream, index, subject, &files);
        }
        let main = Repository::import(&dir.join("src.git"), &stream);
        Self {
            main_hashes: hashes(&main),
            main: Arc::new(main),
            dependency: Arc::new(dependency),
            dependency_hashes,
        }
    }

    /// Both, by their URLs.
    pub fn repositories(&self) -> [(&'static str, Arc<Repository>); 2] {
        [
            (MAIN, self.main.clone()),
            (DEPENDENCY, self.dependency.clone()),
        ]
    }
}

fn hashes(repository: &Repository) -> Vec<String> {
    let tip = repository.resolve("main").map(|tip| tip.hash.clone());
    let line = repository.line(&tip.unwrap_or_default());
    line.iter()
        .rev()
        .map(|commit| commit.hash.clone())
        .collect()
}

/// One more commit of `main` in a stream of `git fast-import`.
fn commit(stream: &mut String, index: usize, subject: &str, files: &[(&str, &str)]) {
    let message = format!(
        "{subject} {index}\n\nCr-Commit-Position: refs/heads/main@{{#{}}}\n",
        index + 1
    );
    let time = 1_700_000_000 + index * 60;
    let _ = write!(
        stream,
        "commit refs/heads/main\nauthor Ada <ada@example.org> {time} +0000\n\
         committer Bo <bo@example.org> {time} +0000\ndata {}\n{message}\n",
        message.len()
    );
    for (path, text) in files {
        let _ = write!(
            stream,
            "M 100644 inline {path}\ndata {}\n{text}\n",
            text.len()
        );
    }
}
