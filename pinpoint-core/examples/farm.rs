//! Work that outlives the process that asked for it.
//!
//! `cargo run -p pinpoint-core --example farm`
//!
//! The "farm" is a directory: a task is a file there, done a while after it was made.
//! This program starts itself as a worker that searches with it, kills the worker in the
//! middle, and starts another one. That one reads the journal, waits for the tasks that
//! the first one had started, and finds the culprit; no task is started twice.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example shows what it does, and its main thread waits"
)]

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::future::pending;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use pinpoint_core::prelude::*;

const TASK_TAKES: Duration = Duration::from_millis(150);

/// A farm reached over a directory.
struct Farm(PathBuf);

impl Farm {
    fn task(&self, ticket: &Ticket) -> PathBuf {
        self.0.join(format!("task-{}", ticket.key.action))
    }
}

#[async_trait]
impl Executor for Farm {
    /// The key names the task, so that a task that is already started is found.
    async fn start(&self, request: &Request) -> Result<Ticket, ExecutorError> {
        let handle = format!("task-{}", request.key().action);
        let ticket = Ticket::durable(request.key().clone(), handle);
        match File::create_new(self.task(&ticket)) {
            Ok(_) => log(&self.0, "starts")?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(unavailable(error)),
        }
        Ok(ticket)
    }

    /// Asks again and again, as one does over a network.
    async fn wait(
        &self,
        request: &Request,
        ticket: &Ticket,
        heartbeat: &Heartbeat,
    ) -> Result<Report, ExecutorError> {
        loop {
            let task = fs::metadata(self.task(ticket));
            match task.and_then(|task| task.modified()) {
                Ok(made) if made.elapsed().is_ok_and(|time| time >= TASK_TAKES) => {
                    return result(request);
                }
                Ok(_) => heartbeat.beat(),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(ExecutorError::Lost);
                }
                Err(error) => return Err(unavailable(error)),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn cancel(&self, ticket: &Ticket) -> Result<(), ExecutorError> {
        match fs::remove_file(self.task(ticket)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(unavailable(error)),
            _ => Ok(()),
        }
    }
}

/// The farm's findings: revisions from r21 on take 12 ms instead of 10.
fn result(request: &Request) -> Result<Report, ExecutorError> {
    let number = |commit: &CombinedCommit| commit.main.git_hash[1..].parse().unwrap_or(0_u64);
    Ok(match request {
        Request::List(request) => {
            let count = number(&request.higher) - number(&request.lower) - 1;
            Report::Listed(Listing::new(request, count))
        }
        Request::Build(request) => Report::Built(BuildReport::built(match &request.commit {
            Located::Commit(commit) => commit.clone(),
            Located::Offset { listing, offset } => revision(number(&listing.lower) + 1 + offset),
        })),
        Request::Run(request) => {
            let slow = number(&request.variant.commit) >= 21;
            let time = if slow { 12.0 } else { 10.0 } + 0.01 * f64::from(request.index % 7);
            Report::Ran(RunReport::new(unix_time()).value("time", time))
        }
        other => {
            return Err(ExecutorError::Refused(
                format!("the farm can't {other:?}").into(),
            ));
        }
    })
}

fn revision(number: u64) -> CombinedCommit {
    Commit::new("https://example.org/tool", format!("r{number}")).into()
}

fn unavailable(error: std::io::Error) -> ExecutorError {
    ExecutorError::Unavailable(Box::new(error))
}

/// A record a line. A line that a kill cut off is not a record: its work is done again.
struct FileJournal(PathBuf);

#[async_trait]
impl Journal for FileJournal {
    fn job(&self) -> JobKey {
        JobKey {
            id: "example".into(),
            created: 0,
        }
    }

    async fn replay(&mut self, each: &mut (dyn FnMut(Record) + Send)) -> Result<(), JournalError> {
        let text = match fs::read_to_string(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.map_err(|error| JournalError(Box::new(error)))?,
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        if whole.len() < text.len() {
            let file = OpenOptions::new().write(true).open(&self.0);
            let cut = file.and_then(|file| file.set_len(whole.len() as u64));
            cut.map_err(|error| JournalError(Box::new(error)))?;
        }
        for line in whole.lines() {
            each(serde_json::from_str(line).map_err(|error| JournalError(Box::new(error)))?);
        }
        Ok(())
    }

    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        let write = || {
            let mut file = OpenOptions::new().create(true).append(true).open(&self.0)?;
            writeln!(file, "{}", serde_json::to_string(record)?)?;
            file.sync_data()
        };
        write().map_err(|error| JournalError(Box::new(error)))
    }
}

struct Tokio;

#[async_trait]
impl Clock for Tokio {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

async fn work(directory: &Path) -> Result<(), Box<dyn Error>> {
    let spec = BisectionSpec {
        chart: Some("time".into()),
        ..BisectionSpec::new(Range::Between {
            good: revision(0),
            bad: revision(64),
        })
    };
    let farm = Farm(directory.to_owned());
    let mut journal = FileJournal(directory.join("journal"));
    let driven = drive(
        Bisection::new(spec)?,
        &farm,
        &mut journal,
        &Tokio,
        pending(),
    )
    .await?;
    for culprit in &driven.outcome.culprits {
        if let Some(commit) = &culprit.commit_name {
            println!("culprit: {}", commit.main.git_hash);
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(directory) = std::env::args_os().nth(1) {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().build()?;
        return runtime.block_on(work(Path::new(&directory)));
    }
    let directory = std::env::temp_dir().join(format!("farm-{}", std::process::id()));
    fs::create_dir(&directory)?;
    let mut worker = start_worker(&directory)?;
    while !directory.join("task-4").exists() {
        std::thread::yield_now();
    }
    worker.kill()?;
    worker.wait()?;
    println!(
        "a worker was killed; {} tasks were started",
        lines(&directory, "starts")
    );
    start_worker(&directory)?.wait()?;
    let tasks = fs::read_dir(&directory)?.flatten();
    let is_task = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("task-");
    let tasks = tasks.filter(|entry| is_task(&entry.file_name())).count();
    println!(
        "{tasks} tasks in all, started {} times",
        lines(&directory, "starts")
    );
    Ok(fs::remove_dir_all(&directory)?)
}

fn start_worker(directory: &Path) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg(directory)
        .spawn()
}

fn log(directory: &Path, name: &str) -> Result<(), ExecutorError> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(directory.join(name));
    { file }
        .and_then(|mut file| writeln!(file, "1"))
        .map_err(unavailable)
}

fn lines(directory: &Path, name: &str) -> usize {
    fs::read_to_string(directory.join(name)).map_or(0, |text| text.lines().count())
}

fn unix_time() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}
