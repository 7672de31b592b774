//! The states between two states of real repositories: the examples of the
//! design, each rule and each boundary case.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use pinpoint_backends::local::{LocalConfig, LocalRepositories, Repository};
use pinpoint_core::{CombinedCommit, Commit, Followed, ModifiedDependency};
use pinpoint_midpoint::{MidpointError, Midpoints};

use crate::world::{World, build, git};

/// Repositories that name one another in their `DEPS`. `skia@3` is the third commit after the first
/// of the repository `skia`.
struct Repositories {
    world: World,
    commits: BTreeMap<&'static str, Vec<String>>,
    main: &'static str,
}

impl Repositories {
    fn new() -> Self {
        Self {
            world: World::new(),
            commits: BTreeMap::new(),
            main: "",
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.path(name)
    }

    /// Adds a repository, in which each commit names other commits, as `skia@3 v8@1`. The last one
    /// added is the main repository.
    fn with(mut self, name: &'static str, commits: &[&str]) -> Self {
        let directory = self.path(name);
        fs::create_dir(&directory).unwrap();
        git(&directory, &["init", "-q", "-b", "main"]);
        let mut hashes = Vec::new();
        for (number, names) in commits.iter().enumerate() {
            fs::write(directory.join("number"), number.to_string()).unwrap();
            fs::write(directory.join("DEPS"), self.manifest(names)).unwrap();
            git(&directory, &["add", "-A"]);
            git(
                &directory,
                &["commit", "-q", "-m", &format!("{name} {number}")],
            );
            hashes.push(git(&directory, &["rev-parse", "HEAD"]));
        }
        self.commits.insert(name, hashes);
        self.main = name;
        self
    }

    fn manifest(&self, names: &str) -> String {
        let mut deps = String::new();
        let mut recursed = String::new();
        for named in names.split_whitespace() {
            let commit = self.commit(named);
            let (name, _) = named.split_once('@').unwrap();
            deps += &format!("  '{name}': '{}@{}',\n", commit.repository, commit.git_hash);
            recursed += &format!("'{name}', ");
        }
        format!("use_relative_paths = True\ndeps = {{\n{deps}}}\nrecursedeps = [{recursed}]\n")
    }

    fn commit(&self, text: &str) -> Commit {
        let (name, number) = text.split_once('@').unwrap();
        let number: usize = number.parse().unwrap();
        Commit::new(self.url(name), &*self.commits[name][number])
    }

    /// The main repository, C, is named by its path, the others by their URLs.
    fn url(&self, name: &str) -> String {
        let path = self.path(name).to_str().unwrap().to_owned();
        if name.starts_with('C') {
            path
        } else {
            format!("file://{path}")
        }
    }

    /// `C@1`, or `C@1 C/skia@2 skia/fonts@3`: after a slash, a dependency of the repository before
    /// it.
    fn state(&self, text: &str) -> CombinedCommit {
        let mut words = text.split(' ');
        let main = self.commit(words.next().unwrap());
        let modified_deps = words
            .map(|word| {
                let (named_by, held) = word.split_once('/').unwrap();
                ModifiedDependency {
                    commit: self.commit(held),
                    named_by: self.url(named_by),
                }
            })
            .collect();
        CombinedCommit {
            modified_deps,
            ..main.into()
        }
    }

    fn written(&self, state: &CombinedCommit) -> String {
        let name = |repository: &str| repository.rsplit('/').next().unwrap().to_owned();
        let commit = |commit: &Commit| {
            let name = name(&commit.repository);
            let known = &self.commits[&*name];
            let number = known.iter().position(|hash| *hash == commit.git_hash);
            format!("{name}@{}", number.unwrap())
        };
        let mut text = commit(&state.main);
        for held in &state.modified_deps {
            text += &format!(" {}/{}", name(&held.named_by), commit(&held.commit));
        }
        text
    }

    fn midpoints(&self) -> Midpoints {
        let main = Repository::discover(&self.path(self.main)).unwrap();
        let state_dir = self.world.path("state");
        let named = self.commits.keys();
        let named = named.map(|name| (self.url(name), self.path(name)));
        let repositories = LocalRepositories::new(main, named, &state_dir);
        Midpoints::new(Arc::new(repositories))
    }

    async fn between(&self, lower: &str, higher: &str) -> Vec<String> {
        let midpoints = self.midpoints();
        let (lower, higher) = (self.state(lower), self.state(higher));
        let before = (lower.clone(), higher.clone());
        let between = midpoints.between(&lower, &higher).await.unwrap();
        let mut states = Vec::new();
        for offset in 0..between.count() {
            let state = midpoints.nth(&between, offset).await.unwrap();
            states.push(self.written(&state));
        }
        assert_eq!((lower, higher), before);
        states
    }

    async fn midpoint(&self, lower: &str, higher: &str) -> String {
        let (lower, higher) = (self.state(lower), self.state(higher));
        let midpoint = self.midpoints().midpoint(&lower, &higher).await.unwrap();
        self.written(&midpoint)
    }

    async fn refused(&self, lower: &str, higher: &str) -> MidpointError {
        let (lower, higher) = (self.state(lower), self.state(higher));
        self.midpoints().between(&lower, &higher).await.unwrap_err()
    }
}

#[tokio::test]
async fn linear_history() {
    let repositories = Repositories::new().with("C", &["", "", "", "", "", ""]);
    assert_eq!(repositories.midpoint("C@1", "C@4").await, "C@2");
    assert_eq!(repositories.midpoint("C@1", "C@5").await, "C@3");
    assert_eq!(repositories.midpoint("C@1", "C@3").await, "C@2");
    assert_eq!(repositories.midpoint("C@1", "C@2").await, "C@1");
    let between = repositories.between("C@0", "C@5").await;
    assert_eq!(between, ["C@1", "C@2", "C@3", "C@4"]);
}

/// C@2 rolls skia from 1 to 3.
fn roll() -> Repositories {
    Repositories::new()
        .with("skia", &["", "", "", "", ""])
        .with("C", &["skia@1", "skia@1", "skia@3", "skia@3"])
}

#[tokio::test]
async fn a_roll() {
    let roll = roll();
    assert_eq!(roll.between("C@0", "C@3").await, ["C@1", "C@2"]);
    let states = ["C@1 C/skia@2", "C@1 C/skia@3"];
    assert_eq!(roll.between("C@1", "C@2").await, states);
    assert_eq!(roll.midpoint("C@1", "C@2").await, states[0]);
}

#[tokio::test]
async fn boundary_cases_of_a_roll() {
    let roll = roll();
    // The rest of the roll.
    assert_eq!(roll.midpoint("C@1 C/skia@2", "C@2").await, "C@1 C/skia@3");
    // Its last commit against the roll itself: the roll is the culprit.
    assert_eq!(roll.midpoint("C@1 C/skia@3", "C@2").await, "C@1 C/skia@3");
    // Held at the revision that is named anyway.
    assert_eq!(roll.midpoint("C@1", "C@1 C/skia@1").await, "C@1");
    assert_eq!(roll.midpoint("C@1", "C@1 C/skia@3").await, "C@1 C/skia@2");
    assert_eq!(roll.midpoint("C@1", "C@1 C/skia@2").await, "C@1");
    assert_eq!(roll.between("C@0", "C@1 C/skia@2").await, ["C@1"]);
}

#[tokio::test]
async fn several_rolls_at_once() {
    let repositories = Repositories::new()
        .with("skia", &["", "", ""])
        .with("angle", &["", "", ""])
        .with("C", &["skia@0 angle@0", "skia@2 angle@2"]);
    let states = [
        "C@0 C/angle@1",
        "C@0 C/angle@2",
        "C@0 C/angle@2 C/skia@1",
        "C@0 C/angle@2 C/skia@2",
    ];
    assert_eq!(repositories.between("C@0", "C@1").await, states);
    assert_eq!(repositories.midpoint("C@0", "C@1").await, states[1]);
    assert_eq!(repositories.between(states[1], "C@1").await, states[2..]);
    assert_eq!(repositories.between("C@0", states[3]).await, states[..3]);
}

#[tokio::test]
async fn a_roll_in_a_roll() {
    let repositories = Repositories::new()
        .with("fonts", &["", "", "", ""])
        .with("skia", &["fonts@0", "fonts@0", "fonts@3"])
        .with("C", &["skia@1", "skia@2"]);
    assert_eq!(repositories.between("C@0", "C@1").await, ["C@0 C/skia@2"]);
    let states = [
        "C@0 C/skia@1 skia/fonts@1",
        "C@0 C/skia@1 skia/fonts@2",
        "C@0 C/skia@1 skia/fonts@3",
    ];
    assert_eq!(repositories.between("C@0", "C@0 C/skia@2").await, states);
    assert_eq!(
        repositories.between(states[0], "C@0 C/skia@2").await,
        states[1..]
    );
    assert_eq!(
        repositories.midpoint(states[2], "C@0 C/skia@2").await,
        states[2]
    );
}

#[tokio::test]
async fn a_roll_back() {
    let repositories = Repositories::new()
        .with("skia", &["", "", "", ""])
        .with("C", &["skia@3", "skia@0"]);
    let states = ["C@0 C/skia@2", "C@0 C/skia@1", "C@0 C/skia@0"];
    assert_eq!(repositories.between("C@0", "C@1").await, states);
    let (lower, higher) = (repositories.state("C@0"), repositories.state("C@1"));
    let midpoints = repositories.midpoints();
    let between = midpoints.between(&lower, &higher).await.unwrap();
    assert_eq!(between.changes()[0].followed, Followed::Backward);
}

/// A roll set back over a merge is walked through the branch, as a roll forward is.
#[tokio::test]
async fn a_roll_back_over_a_merge() {
    let mut repositories = Repositories::new().with("skia", &["", ""]);
    let skia = repositories.path("skia");
    let before = repositories.commits["skia"][1].clone();
    let commit = |file: &str| {
        fs::write(skia.join(file), file).unwrap();
        git(&skia, &["add", "-A"]);
        git(&skia, &["commit", "-q", "-m", file]);
        git(&skia, &["rev-parse", "HEAD"])
    };
    git(&skia, &["checkout", "-q", "-b", "branch", "HEAD~1"]);
    let branch = ["b1", "b2", "b3"].map(commit);
    git(&skia, &["checkout", "-q", "main"]);
    git(&skia, &["merge", "-q", "--no-ff", "-m", "Merge", "branch"]);
    let merge = git(&skia, &["rev-parse", "HEAD"]);
    repositories
        .commits
        .insert("skia", vec![before.clone(), merge.clone()]);
    let repositories = repositories.with("C", &["skia@1", "skia@0"]);
    let (lower, higher) = (repositories.state("C@0"), repositories.state("C@1"));
    let midpoints = repositories.midpoints();
    let states = async |lower: &CombinedCommit, higher: &CombinedCommit| {
        let between = midpoints.between(lower, higher).await.unwrap();
        let mut states = Vec::new();
        for offset in 0..between.count() {
            states.push(midpoints.nth(&between, offset).await.unwrap());
        }
        states
    };
    let all = states(&lower, &higher).await;
    let held = |state: &CombinedCommit| state.modified_deps[0].commit.revision();
    let [_, b2, b3] = [0, 1, 2].map(|at: usize| format!("{before}+{}", branch[at]));
    let b1 = format!("{before}+{}", branch[0]);
    // With b3 merged in it equals the merge.
    assert_eq!(
        all.iter().map(held).collect::<Vec<_>>(),
        [&*b2, &*b1, &*before]
    );
    assert!(!all.iter().any(|state| held(state) == b3));
    assert_eq!(states(&all[0], &all[2]).await, all[1..2]);
    assert_eq!(states(&all[0], &higher).await, all[1..]);
    assert_eq!(states(&lower, &all[1]).await, all[..1]);
    assert_eq!(states(&all[1], &all[2]).await, []);
    let between = midpoints.between(&lower, &higher).await.unwrap();
    assert_eq!(between.changes()[0].followed, Followed::Backward);
    assert_eq!(between.changes()[0].before.as_ref(), Some(&merge));
}

/// No text of a manifest becomes an argument of a process.
#[tokio::test]
async fn manifests_that_no_process_takes_as_arguments() {
    let world = World::new();
    let module = |path: &str| format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = /u\n");
    let good = world.commit("file", "1");
    let many: String = (0..40_000)
        .map(|at| module(&format!("sub/module/{at}")))
        .collect();
    let mut commits = vec![
        world.commit(".gitmodules", &module(&"p".repeat(200_000))),
        world.commit(".gitmodules", &module("a\0b")),
        world.commit(".gitmodules", &many),
        world.commit(".gitmodules", "not a configuration\n"),
    ];
    let revision =
        |revision: &str| format!("deps = {{'a': 'https://host.example/a@{revision}'}}\n");
    for revision in [
        revision("1\0"),
        revision(&"1".repeat(200_000)),
        revision("v1"),
    ] {
        commits.push(world.commit("DEPS", &revision));
    }
    let library = world.path("library");
    fs::create_dir(&library).unwrap();
    git(&library, &["init", "-q", "-b", "main"]);
    git(&library, &["commit", "-q", "--allow-empty", "-m", "Begin"]);
    let named = ("https://host.example/a".to_owned(), library);
    let config = LocalConfig {
        repositories: [named.clone()].into(),
        ..world.config(&good, "true")
    };
    let executor = world.open(config, "job");
    let main = Repository::discover(&world.repository).unwrap();
    let repositories = LocalRepositories::new(main, [named], &world.path("state"));
    let midpoints = Midpoints::new(Arc::new(repositories));
    let mut prior = good.clone();
    for (action, commit) in (1..).zip(&commits) {
        // Some commits build and some do not: neither ends the job.
        build(&executor, action, &world.combined(commit))
            .await
            .unwrap();
        let ends = [&prior, commit].map(|hash| world.combined(hash));
        let between = midpoints.between(&ends[0], &ends[1]).await.unwrap();
        for change in between.changes() {
            assert!(matches!(change.followed, Followed::No { .. }), "{change:?}");
        }
        prior.clone_from(commit);
    }
}

#[tokio::test]
async fn ends_between_which_nothing_can_lie() {
    let roll = roll().with("C2", &["", ""]);
    assert!(matches!(
        roll.refused("C@1", "C@1").await,
        MidpointError::SameCommit(_)
    ));
    assert!(matches!(
        roll.refused("C@1", "C2@1").await,
        MidpointError::DifferentRepositories { .. }
    ));
    let (later, earlier) = (roll.state("C2@1"), roll.state("C2@0"));
    assert!(matches!(
        roll.midpoints().check_order(&later, &earlier).await,
        Err(MidpointError::Reversed { .. })
    ));
    assert!(matches!(
        roll.refused("C2@0", "C2@0 C2/skia@0").await,
        MidpointError::NotNamed { .. }
    ));
}

#[tokio::test]
async fn a_dependency_that_is_not_at_hand_or_lacks_the_commit_is_named() {
    let repositories = Repositories::new()
        .with("skia", &["", "", ""])
        .with("C", &["skia@0", "skia@2"]);
    let ask = async || {
        let (lower, higher) = (repositories.state("C@0"), repositories.state("C@1"));
        let midpoints = repositories.midpoints();
        let between = midpoints.between(&lower, &higher).await.unwrap();
        assert_eq!(between.count(), 0);
        match &between.changes()[0].followed {
            Followed::No { reason, .. } => reason.clone(),
            other => panic!("{other:?}"),
        }
    };
    let skia = repositories.path("skia");
    git(&skia, &["reset", "-q", "--hard", "HEAD~1"]);
    git(&skia, &["reflog", "expire", "--expire=now", "--all"]);
    git(&skia, &["gc", "-q", "--prune=now"]);
    let reason = ask().await;
    assert!(
        reason.contains(&repositories.commits["skia"][2]),
        "{reason}"
    );
    fs::rename(&skia, repositories.path("elsewhere")).unwrap();
    let reason = ask().await;
    assert!(reason.contains("is not available locally"), "{reason}");
}
