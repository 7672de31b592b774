//! A repository, a state directory and the command, in a temporary place.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::{Display, Write as _};
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pinpoint_backends::job::machine_of;
use pinpoint_backends::store::{JobStore, NewJob};
use pinpoint_core::{Applied, Engine, JobMachine, Journal, Record, Report, Task};
use serde_json::Value;

/// A run of the benchmark: its commit and its index.
pub(crate) type Run = (String, u32);

/// Longer than anything takes on a busy machine: a process that has not ended by then never will.
const HANG_TIMEOUT: Duration = Duration::from_secs(600);

/// The time between two checks whether something has happened.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Prints the value of the commit, with a little noise that is the same
/// whenever the same run is made again.
pub(crate) const BENCHMARK: &str =
    "echo \"latency: $(($(cat value) * 100 + ${PINPOINT_RUN:-0} * 7 % 10)) ms\"";

/// The number of times that something is done to a job: as given here, or in
/// `PINPOINT_ATTACKS`.
pub(crate) fn attacks(usually: usize) -> usize {
    std::env::var("PINPOINT_ATTACKS").map_or(usually, |often| often.parse().unwrap())
}

/// SplitMix64, by Steele, Lea and Flood.
pub(crate) struct Dice(u64);

impl Dice {
    /// A new seed for each run, printed to repeat it with.
    #[expect(clippy::print_stdout, reason = "seen when the test fails")]
    pub(crate) fn new() -> Self {
        let seed = std::env::var("KILL_SEED").ok().map_or_else(
            || {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                now.as_nanos() as u64
            },
            |seed| seed.parse().unwrap(),
        );
        println!("the seed is {seed}; give it again with KILL_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
}

/// A place with everything in it. The repository's branch is `main`.
pub(crate) struct World {
    _root: tempfile::TempDir,
    root: PathBuf,
    pub(crate) repository: PathBuf,
    /// The commits, oldest first.
    pub(crate) commits: Vec<String>,
}

pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut child = git_command(directory, arguments);
    let output = child.stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes commits of a stream as `git fast-import` reads it.
pub(crate) fn fast_import(directory: &Path, stream: &str) {
    let mut import = git_command(directory, &["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = import.stdin.take().unwrap();
    stdin.write_all(stream.as_bytes()).unwrap();
    drop(stdin);
    let output = import.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git fast-import: {error}");
}

fn git_command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl World {
    /// An empty repository.
    pub(crate) fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let repository = root.join("repository");
        fs::create_dir(&repository).unwrap();
        git(&repository, &["init", "-q", "-b", "main"]);
        Self {
            _root: temporary,
            root,
            repository,
            commits: Vec::new(),
        }
    }

    /// A repository whose file `value` holds one value after the other.
    pub(crate) fn with_values(values: impl IntoIterator<Item = impl Display>) -> Self {
        // The number keeps commits of the same value apart.
        let commits: Vec<_> = values
            .into_iter()
            .enumerate()
            .map(|(number, value)| {
                BTreeMap::from([
                    ("value", format!("{value}\n")),
                    ("number", number.to_string()),
                ])
            })
            .collect();
        let mut world = Self::new();
        world.add(&commits);
        world
    }

    /// `count` commits; from the one with that number on, the value is higher.
    pub(crate) fn with_step(count: usize, at: usize) -> Self {
        Self::with_values((0..count).map(|number| if number < at { 1 } else { 2 }))
    }

    /// A commit for each set of files, on top of `main`.
    pub(crate) fn add(&mut self, commits: &[BTreeMap<&str, String>]) {
        self.commit_all("main", commits);
    }

    /// An unrelated line of history.
    pub(crate) fn add_orphan(&mut self, branch: &str, files: &BTreeMap<&str, String>) {
        let before = self.commits.clone();
        self.commit_all(branch, std::slice::from_ref(files));
        self.commits = before;
    }

    fn commit_all(&mut self, branch: &str, commits: &[BTreeMap<&str, String>]) {
        let mut stream = String::new();
        let first = self.commits.len();
        for (number, files) in (first..).zip(commits) {
            let _ = writeln!(stream, "commit refs/heads/{branch}");
            for role in ["author", "committer"] {
                let time = 1_700_000_000 + number * 3600;
                let _ = writeln!(stream, "{role} Ada Lovelace <ada@example.org> {time} +0100");
            }
            let subject = format!("Change number {number}");
            let _ = writeln!(stream, "data {}\n{subject}", subject.len());
            if number == first
                && let Some(parent) = self.commits.last()
                && branch == "main"
            {
                let _ = writeln!(stream, "from {parent}");
            }
            for (name, content) in files {
                let mode = if name.ends_with(".sh") {
                    "100755"
                } else {
                    "100644"
                };
                let length = content.len();
                let _ = writeln!(stream, "M {mode} inline {name}\ndata {length}\n{content}");
            }
        }
        fast_import(&self.repository, &stream);
        git(&self.repository, &["reset", "-q", "--hard", "main"]);
        let listed = git(&self.repository, &["rev-list", "--reverse", branch]);
        self.commits = listed.lines().map(str::to_owned).collect();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The directory of the jobs.
    pub(crate) fn state_dir(&self) -> PathBuf {
        self.path("state/pinpoint")
    }

    pub(crate) fn good(&self) -> &str {
        &self.commits[0]
    }

    pub(crate) fn bad(&self) -> &str {
        self.commits.last().unwrap()
    }

    /// The command, called in the repository.
    pub(crate) fn pinpoint(&self, arguments: &[&str]) -> Pinpoint {
        Pinpoint::new(self, arguments)
    }

    /// Bisects all of history with a shell script as the benchmark.
    pub(crate) fn bisect(&self, options: &[&str], script: &str) -> Pinpoint {
        self.pinpoint(&["bisect"]).and(options).and(&[
            self.good(),
            self.bad(),
            "--",
            "sh",
            "-c",
            script,
        ])
    }

    /// A command as it was printed, as a shell takes it apart.
    pub(crate) fn paste(&self, printed: &str) -> Pinpoint {
        let mut words = shlex::split(printed).unwrap();
        assert_eq!(words.remove(0), "pinpoint", "{printed}");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.pinpoint(&words)
    }

    /// The only job.
    pub(crate) fn only_job(&self) -> Value {
        let jobs = self.jobs();
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        jobs.into_iter().next().unwrap()
    }

    pub(crate) fn jobs(&self) -> Vec<Value> {
        let list = self.pinpoint(&["jobs", "list", "--output", "json"]);
        list.ends_with(0).document()["jobs"]
            .as_array()
            .unwrap()
            .clone()
    }

    /// The journal of a job, as the store replays it.
    pub(crate) fn journal(&self, job: &str) -> Vec<Record> {
        self.stored(job).1
    }

    /// A job at its beginning, and its journal.
    pub(crate) fn stored(&self, job: &str) -> (Engine<JobMachine>, Vec<Record>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let store = JobStore::open(&self.state_dir()).await.unwrap();
            let job = store.jobs().find(&job.parse().unwrap()).await.unwrap();
            let mut journal = store.journals().open(&job.id).await.unwrap();
            let records = journal.records().await.unwrap();
            let machine = machine_of(&job, records.is_empty()).unwrap();
            let engine = Engine::new(journal.job(), machine);
            store.close().await;
            (engine, records)
        })
    }

    /// The runs of a search that its journal holds. None is there twice, and no action
    /// was answered twice.
    pub(crate) fn recorded_runs(&self, job: &str) -> BTreeSet<Run> {
        let (mut engine, records) = self.stored(job);
        let mut runs = BTreeSet::new();
        for record in &records {
            let Applied { task, .. } = engine.apply(record).unwrap();
            assert!(
                task.is_some() || record.action().is_none(),
                "answered twice, or never asked: {record:?}"
            );
            if let Record::Reported {
                report: Report::Ran(_),
                ..
            } = record
                && let Some(Task::Run { commit, index, .. }) = task
            {
                let commit = engine.names().commit(commit).unwrap();
                let run = (commit.main.git_hash.clone(), index);
                assert!(runs.insert(run), "a run was recorded twice: {record:?}");
            }
        }
        runs
    }

    /// Stores a job like another, with functions that only a program has, or without.
    pub(crate) fn store_as(&self, job: &str, kind: &str, has_functions: bool) -> String {
        self.store_like(job, |new| {
            new.kind = kind.into();
            new.config["runs"] = has_functions.into();
        })
    }

    /// Stores a job like another, changed.
    pub(crate) fn store_like(&self, job: &str, change: impl FnOnce(&mut NewJob)) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let store = JobStore::open(&self.state_dir()).await.unwrap();
            let job = store.jobs().find(&job.parse().unwrap()).await.unwrap();
            let mut new = NewJob {
                kind: job.kind,
                title: job.title,
                repository: job.repository,
                bot: job.bot,
                spec: job.spec,
                config: job.config,
                ..NewJob::default()
            };
            change(&mut new);
            let id = store.jobs().create(&new).await.unwrap();
            store.close().await;
            id.to_string()
        })
    }

    /// Everything that belongs to the user, to be compared later.
    pub(crate) fn snapshot(&self) -> Vec<(PathBuf, SystemTime, Vec<u8>)> {
        let mut files = Vec::new();
        let mut directories = vec![self.repository.clone()];
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
}

/// Processes that were started for a job and live, with their command lines.
#[cfg(target_os = "linux")]
pub(crate) fn processes_of(job: &str) -> Vec<String> {
    let mark = format!("PINPOINT_JOB={job}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let file = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        // Empty for dead processes that were not waited for.
        let environment = file("environ");
        if environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark.as_bytes())
        {
            let command = String::from_utf8_lossy(&file("cmdline")).replace('\0', " ");
            found.push(format!("{:?}: {command}", entry.file_name()));
        }
    }
    found
}

/// Elsewhere other processes' environments can't be read.
#[cfg(not(target_os = "linux"))]
pub(crate) fn processes_of(_: &str) -> Vec<String> {
    Vec::new()
}

/// Waits for something that is bound to happen.
pub(crate) fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let began = Instant::now();
    loop {
        let check = Instant::now();
        if happened() {
            return;
        }
        assert!(began.elapsed() < HANG_TIMEOUT, "waited for {what}");
        // A check that starts a process leaves the processors to what it waits for.
        let pause = 4 * check.elapsed();
        std::thread::sleep(pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE));
    }
}

/// A command line in the making.
pub(crate) struct Pinpoint {
    command: Command,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Pinpoint {
    fn new(world: &World, arguments: &[&str]) -> Self {
        let outputs = tempfile::Builder::new()
            .prefix("output-")
            .tempdir_in(&world.root)
            .unwrap()
            .keep();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinpoint"));
        command
            .args(arguments)
            .current_dir(&world.repository)
            .env_remove("PINPOINT_STATE_DIR")
            .env_remove("PINPOINT_STORE")
            .env_remove("TRACEPARENT")
            .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT")
            .env("HOME", world.path("home"))
            .env("XDG_STATE_HOME", world.path("state"))
            .env("XDG_RUNTIME_DIR", world.path("runtime"))
            // The machine may be as busy as it likes.
            .env("PINPOINT_DOCTOR", "off")
            .stdin(Stdio::null());
        Self {
            command,
            stdout: outputs.join("stdout"),
            stderr: outputs.join("stderr"),
        }
    }

    pub(crate) fn and(mut self, arguments: &[impl AsRef<OsStr>]) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn in_dir(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Has another program start it, which gets the command as its last arguments.
    pub(crate) fn started_by(mut self, starter: &[String]) -> Self {
        let mut command = Command::new(&starter[0]);
        command
            .args(&starter[1..])
            .arg(self.command.get_program())
            .args(self.command.get_args())
            .stdin(Stdio::null());
        if let Some(directory) = self.command.get_current_dir() {
            command.current_dir(directory);
        }
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        self.command = command;
        self
    }

    pub(crate) fn start(self) -> Running {
        let stdout = File::create(&self.stdout).unwrap();
        self.start_into(stdout)
    }

    /// Starts it with its standard output somewhere else.
    pub(crate) fn start_into(self, stdout: impl Into<Stdio>) -> Running {
        let stderr = File::create(&self.stderr).unwrap();
        self.start_onto(stdout, stderr)
    }

    /// As [`start_into`](Self::start_into), with its standard error somewhere else, too.
    pub(crate) fn start_onto(
        mut self,
        stdout: impl Into<Stdio>,
        stderr: impl Into<Stdio>,
    ) -> Running {
        let child = self.command.stdout(stdout).stderr(stderr).spawn().unwrap();
        Running {
            child,
            stdout: self.stdout,
            stderr: self.stderr,
        }
    }

    /// Runs to the end, which has to be this one.
    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Finished {
        self.start().ends_with(code)
    }
}

/// The command at work. Killed when dropped.
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    pub(crate) fn signal(&self, signal: i32) {
        let process = libc::pid_t::try_from(self.child.id()).unwrap();
        // SAFETY: no memory is involved, and the child was not waited for, so
        // that its number is its own.
        assert_eq!(unsafe { libc::kill(process, signal) }, 0);
    }

    /// Waits until `SIGSTOP` has stopped all of it.
    pub(crate) fn has_stalled(&self) {
        until("the command to stall", || {
            // SAFETY: all zeros is a value of it, and it is only written to.
            let mut state: libc::siginfo_t = unsafe { std::mem::zeroed() };
            let options = libc::WSTOPPED | libc::WNOHANG;
            // SAFETY: `state` outlives the call, which waits for nothing.
            let waited =
                unsafe { libc::waitid(libc::P_PID, self.child.id(), &raw mut state, options) };
            assert_eq!(waited, 0);
            state.si_signo != 0
        });
    }

    /// Its messages so far.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    /// Its result so far.
    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap()
    }

    /// The job it works on, once it says so.
    pub(crate) fn job(&self) -> String {
        let mut job = None;
        until("the name of the job", || {
            let said = self.stderr();
            job = said
                .lines()
                .find_map(|line| line.strip_prefix("job "))
                .map(str::to_owned);
            job.is_some()
        });
        job.unwrap()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn wait(mut self) -> Finished {
        let mut status = None;
        until("the command to end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        Finished {
            status: status.unwrap(),
            stdout: fs::read_to_string(&self.stdout).unwrap_or_default(),
            stderr: fs::read_to_string(&self.stderr).unwrap_or_default(),
        }
    }

    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Finished {
        let finished = self.wait();
        assert_eq!(finished.status.code(), Some(code), "{finished}");
        finished
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The messages of the command and how it ended.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl std::fmt::Display for Finished {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            status,
            stdout,
            stderr,
        } = self;
        write!(
            formatter,
            "{status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        )
    }
}

impl Finished {
    pub(crate) fn was_killed(&self) -> bool {
        self.status.signal() == Some(libc::SIGKILL)
    }

    /// True when a signal ended it, at once or in its own way.
    pub(crate) fn was_stopped(&self) -> bool {
        let signals = [libc::SIGHUP, libc::SIGINT, libc::SIGKILL, libc::SIGTERM];
        self.status.code() == Some(130)
            || (self.status.signal()).is_some_and(|signal| signals.contains(&signal))
    }

    /// Standard output, all of which is one JSON document.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(document) => document,
            Err(error) => panic!("{error}\n{self}"),
        }
    }

    /// Checks standard output.
    #[track_caller]
    pub(crate) fn says(&self, words: &str) -> &Self {
        assert!(self.stdout.contains(words), "no {words:?}\n{self}");
        self
    }

    /// Checks standard error.
    #[track_caller]
    pub(crate) fn tells(&self, words: &str) -> &Self {
        assert!(self.stderr.contains(words), "no {words:?}\n{self}");
        self
    }

    #[track_caller]
    pub(crate) fn says_nothing(&self) -> &Self {
        assert_eq!(self.stdout, "", "{self}");
        self
    }

    /// The command that a message names, on a line that holds nothing else but
    /// what comes before it.
    #[track_caller]
    pub(crate) fn command(&self, beginning: &str) -> String {
        let both = [&self.stdout, &self.stderr];
        let found = both.iter().find_map(|text| {
            let from = text.find(&format!("pinpoint {beginning}"))?;
            // A word in quotes may hold line breaks.
            let rest = &text[from..];
            (1..=rest.lines().count()).find_map(|lines| {
                let taken: Vec<&str> = rest.lines().take(lines).collect();
                let taken = taken.join("\n");
                shlex::split(&taken).map(|_| taken.trim().to_owned())
            })
        });
        found.unwrap_or_else(|| panic!("no command\n{self}"))
    }
}
