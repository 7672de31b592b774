//! A repository and a state directory in a temporary place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use pinpoint_backends::local::{LocalConfig, LocalExecutor, Location, Repository};
use pinpoint_core::{
    BuildReport, BuildRequest, Charts, CombinedCommit, ExecutorError, FindMetricRequest, InProcess,
    Key, Located, Metric, RunReport, RunRequest,
};

pub(crate) struct World {
    root: tempfile::TempDir,
    /// The user's repository.
    pub(crate) repository: PathBuf,
}

pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org")
        .env("GIT_AUTHOR_DATE", "2024-02-03T04:05:06+01:00")
        .env("GIT_COMMITTER_DATE", "2024-02-03T04:05:06+01:00")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let repository = root.path().canonicalize().unwrap().join("repository");
        fs::create_dir(&repository).unwrap();
        git(&repository, &["init", "-q", "-b", "main"]);
        Self { root, repository }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    /// Commits a file and returns the hash.
    pub(crate) fn commit(&self, name: &str, content: &str) -> String {
        fs::write(self.repository.join(name), content).unwrap();
        git(&self.repository, &["add", "-A"]);
        git(
            &self.repository,
            &[
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                &format!("Change {name}"),
            ],
        );
        git(&self.repository, &["rev-parse", "HEAD"])
    }

    pub(crate) fn combined(&self, revision: &str) -> CombinedCommit {
        let repository = Repository::discover(&self.repository).unwrap();
        repository.resolve_revision(revision).unwrap().into()
    }

    /// Runs a shell script as the benchmark; the good end is `good`.
    pub(crate) fn config(&self, good: &str, script: &str) -> LocalConfig {
        LocalConfig {
            warmup: 0,
            build_jobs: 2,
            ..LocalConfig::new(
                self.repository.clone(),
                self.combined(good),
                vec!["sh".into(), "-c".into(), script.into()],
            )
        }
    }

    pub(crate) fn location(&self, job: &str) -> Location {
        Location {
            state_dir: self.path("state"),
            job_dir: self.path("jobs").join(job),
            machine_dir: self.path("machine"),
        }
    }

    pub(crate) fn open(&self, config: LocalConfig, job: &str) -> LocalExecutor {
        LocalExecutor::open(config, self.location(job), job).unwrap()
    }
}

pub(crate) fn key(action: u64) -> Key {
    Key {
        job: "job".into(),
        action,
    }
}

pub(crate) async fn build(
    executor: &LocalExecutor,
    action: u64,
    commit: &CombinedCommit,
) -> Result<BuildReport, ExecutorError> {
    let commit = Located::Commit(commit.clone());
    let key = key(action);
    executor.build(&BuildRequest { key, commit }).await
}

pub(crate) async fn find_metric(
    executor: &LocalExecutor,
    commit: &CombinedCommit,
) -> Result<Metric, ExecutorError> {
    let request = FindMetricRequest {
        key: key(u64::MAX),
        commit: commit.clone(),
        aggregate: None,
    };
    executor.find_metric(&request).await
}

pub(crate) fn request(action: u64, commit: &CombinedCommit, index: u32) -> RunRequest {
    RunRequest {
        key: key(action),
        variant: commit.clone().into(),
        index,
        bot: None,
        charts: Charts::Deciding(None),
        metric: None,
    }
}

pub(crate) async fn run(
    executor: &LocalExecutor,
    action: u64,
    commit: &CombinedCommit,
    index: u32,
) -> RunReport {
    executor.run(&request(action, commit, index)).await.unwrap()
}

/// The reason why the executor refuses.
pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, ExecutorError>) -> String {
    match result {
        Err(ExecutorError::Refused(error)) => error.to_string(),
        other => panic!("not refused: {other:?}"),
    }
}

/// Waits for something that is bound to happen.
pub(crate) async fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(
            began.elapsed() < Duration::from_secs(300),
            "waited for {what}"
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Checks whether the process whose number is in a file is alive.
pub(crate) fn lives(file: &Path) -> bool {
    let number = fs::read_to_string(file).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", number.trim()));
    stat.is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}

/// Every file below a directory, with its modification time and content.
pub(crate) fn snapshot(directory: &Path) -> Vec<(PathBuf, SystemTime, Vec<u8>)> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_dir() {
                directories.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            files.push((path, metadata.modified().unwrap(), content));
        }
    }
    files.sort();
    files
}
