//! Several processes at one file, and processes that are killed.
//!
//! A child is this test program again, marked by its environment.

use std::collections::BTreeSet;
use std::env;
use std::future::{Future, poll_fn};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use pinpoint_backends::store::{
    Job, JobFilter, JobId, JobLock, JobStore, KnownFile, Lease, LockError, StoreError, Total,
};
use pinpoint_core::{JobState, Journal};

use crate::a_run::run;
use crate::common::{Fixture, all, append_all, cause, new_job, open};
use crate::on_both;

on_both! {
    what_was_acknowledged_survives_a_kill_at_any_moment,
    jobs_are_finished_whoever_is_killed_meanwhile,
    a_worker_that_slept_too_long_writes_nothing_more,
    a_process_that_was_suspended_writes_nothing_more,
    what_is_dropped_half_way_locks_nobody_out,
}

/// Canceled work is dropped at any point of waiting.
async fn what_is_dropped_half_way_locks_nobody_out(fixture: Fixture) {
    let store = &fixture.store;
    let other = open(&fixture.place()).await;
    let id = fixture.job().await;
    let lease = store
        .leases()
        .grant(&id, "ada", Duration::from_secs(3600))
        .await
        .unwrap();
    let file = KnownFile {
        name: "sessions.jsonl".into(),
        size: 0,
        pieces: 0,
    };
    for most in 0..60 {
        let mut written = Box::pin(store.files().append(&lease, &file, b"content"));
        let mut polls = 0;
        let half = poll_fn(|context| {
            polls += 1;
            match written.as_mut().poll(context) {
                Poll::Pending if polls <= most => Poll::Pending,
                _ => Poll::Ready(()),
            }
        });
        half.await;
        drop(written);
        // As held by another process: it waits for half a minute at most, and then fails.
        other.jobs().create(&new_job("another")).await.unwrap();
    }
}

const STORE: &str = "PINPOINT_TEST_STORE";
const JOB: &str = "PINPOINT_TEST_JOB";

/// Starts a child that runs one of the tests named `child_…`.
fn start(child: &str, store: &str, job: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("processes::{child}"), "--nocapture"])
        .env(STORE, store)
        .env(JOB, job)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The orders of a child; `None` when this is not a child.
fn told() -> Option<(String, String)> {
    Some((env::var(STORE).ok()?, env::var(JOB).ok()?))
}

/// Reports something to the parent, in a line.
#[expect(clippy::disallowed_methods, reason = "the parent reads it")]
fn tell(what: impl std::fmt::Display) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "tell {what}").unwrap();
    output.flush().unwrap();
}

/// Everything that a child reported until its output ended, as it arrives. The last line may be cut
/// off by a kill, and counts only if complete.
fn heard(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let mut output = BufReader::new(child.stdout.take().unwrap());
    std::iter::from_fn(move || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line.ends_with('\n').then_some(line)
    })
    .filter_map(|line| Some(line.split_once("tell ")?.1.trim_end().to_owned()))
}

#[tokio::test]
async fn child_appends() {
    let Some((place, job)) = told() else {
        return;
    };
    let store = open(&place).await;
    let id = store.jobs().find(&job.parse().unwrap()).await.unwrap().id;
    let mut journal = store.journals().open(&id).await.unwrap();
    let mut next = journal.records().await.unwrap().len() as u64;
    loop {
        journal.append(&run(next)).await.unwrap();
        tell(next);
        next += 1;
    }
}

async fn what_was_acknowledged_survives_a_kill_at_any_moment(fixture: Fixture) {
    let id = fixture.job().await;
    let mut acknowledged = 0;
    let mut appended = 0;
    for kill in 0..40_u64 {
        let mut child = start("child_appends", &fixture.place(), id.as_str());
        let told = heard(&mut child);
        let seen = Arc::new(AtomicU64::new(0));
        let count = seen.clone();
        let reader = std::thread::spawn(move || {
            let counted = told.inspect(|_| _ = count.fetch_add(1, Ordering::SeqCst));
            counted.last()
        });
        // Every second one at some time during its start, which takes up to 300 ms; the others
        // after some records, however long a busy machine takes for them.
        let moment = if kill % 2 == 0 {
            kill * 23_757 % 300_000
        } else {
            while seen.load(Ordering::SeqCst) < kill / 2 && !reader.is_finished() {
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            kill * 1_757 % 10_000
        };
        tokio::time::sleep(Duration::from_micros(moment)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        if let Some(last) = reader.join().unwrap() {
            acknowledged = last.parse::<usize>().unwrap() + 1;
        }

        let mut journal = fixture.store.journals().open(&id).await.unwrap();
        let records = journal.records().await.unwrap();
        let expected: Vec<_> = (0..records.len() as u64).map(run).collect();
        assert!(
            records == expected,
            "records are missing or out of order after kill {kill}"
        );
        assert!(
            records.len() >= acknowledged.max(appended),
            "{acknowledged} acknowledged, {} there after kill {kill}",
            records.len()
        );
        appended = records.len();
    }
    assert!(
        acknowledged > 100,
        "the children hardly came to work: {acknowledged}"
    );
    // The counts in the store agree with it.
    let job = fixture.store.jobs().get(&id).await.unwrap();
    assert_eq!(job.runs, appended as u64);
}

/// Records of each job for workers.
const LENGTH: u64 = 12;

/// The owner that falls asleep after each record.
const SLEEPER: &str = "sleeper";

/// The owner whose job has no end.
const ENDLESS: &str = "endless";

/// Takes jobs and works on them until all are done, as long as no other worker has taken them.
#[tokio::test]
async fn child_labors() {
    let Some((place, owner)) = told() else {
        return;
    };
    let store = open(&place).await;
    let time = Duration::from_millis(200);
    loop {
        let taken = store
            .leases()
            .take(&JobFilter::default(), &owner, time)
            .await;
        let Some((job, lease)) = taken.unwrap() else {
            let left = [JobState::Pending, JobState::Running].map(|state| JobFilter {
                state: Some(state),
                ..JobFilter::default()
            });
            let mut done = true;
            for filter in left {
                done &= store.jobs().count(&filter).await.unwrap() == Total::Exactly(0);
            }
            if done {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        tell(format!("took {}", job.id));
        let (sleeps, endless) = (owner == SLEEPER, owner == ENDLESS);
        match labor(&store, &job, &lease, time, sleeps, endless).await {
            Ok(()) => tell(format!("done {}", job.id)),
            Err(StoreError::LeaseLost { id }) => tell(format!("lost {id}")),
            Err(error) => panic!("{error}"),
        }
    }
}

async fn labor(
    store: &JobStore,
    job: &Job,
    lease: &Lease,
    time: Duration,
    sleeps: bool,
    endless: bool,
) -> Result<(), StoreError> {
    if job.state == JobState::Pending {
        store
            .leases()
            .set_state(lease, JobState::Running, None, None)
            .await?;
    }
    let mut journal = store.journals().open_leased(lease).await?;
    let begun = journal.records().await?.len() as u64;
    let length = if endless { u64::MAX } else { LENGTH };
    for number in begun..length {
        tokio::time::sleep(Duration::from_millis(3)).await;
        if !sleeps {
            store.leases().renew(lease, time).await?;
        }
        journal.append(&run(number)).await.map_err(cause)?;
        tell(format!("{} {number}", job.id));
        if sleeps {
            // Until the parent wakes it.
            std::io::stdin().lines().next();
        }
    }
    store
        .leases()
        .set_state(lease, JobState::Completed, None, None)
        .await?;
    store.leases().release(lease).await
}

async fn jobs_are_finished_whoever_is_killed_meanwhile(fixture: Fixture) {
    const JOBS: usize = 24;
    for _ in 0..JOBS {
        fixture.job().await;
    }
    let begin = |number: usize| {
        let mut child = start("child_labors", &fixture.place(), &number.to_string());
        let heard = heard(&mut child);
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || heard.for_each(|line| sender.send(line).unwrap()));
        (child, lines)
    };
    let mut told = Vec::new();
    let mut children: Vec<_> = (0..3).map(begin).collect();
    for kill in 0..25_u64 {
        let (mut child, lines) = children.remove(0);
        // Even on a slow machine: a job whose workers die one after the other without a record has
        // failed, as it should.
        for line in &lines {
            let recorded = !["took", "done", "lost"].contains(&line.split(' ').next().unwrap());
            told.push(line);
            if recorded {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(kill * 7919 % 40)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        told.extend(lines);
        children.push(begin(3 + kill as usize));
    }
    for (mut child, lines) in children {
        let status = child.wait().unwrap();
        told.extend(lines);
        assert!(status.success(), "{status} {told:#?}");
    }
    let jobs = all(&fixture.store).await;
    assert_eq!(jobs.len(), JOBS);
    let expected: Vec<_> = (0..LENGTH).map(run).collect();
    for job in &jobs {
        assert_eq!((job.state, job.runs), (JobState::Completed, LENGTH));
        let mut journal = fixture.store.journals().open(&job.id).await.unwrap();
        assert_eq!(journal.records().await.unwrap(), expected);
    }
    // Each record was acknowledged at most once, and each job done by one worker. On a busy machine
    // a job is lost as often as a worker can't renew its lease in time.
    let mut once = BTreeSet::new();
    let is_once = |line: &&String| !line.starts_with("took") && !line.starts_with("lost");
    for line in told.iter().filter(is_once) {
        assert!(once.insert(line), "{line} was told twice");
    }
    let took = told.iter().filter(|line| line.starts_with("took"));
    assert!(took.count() > JOBS, "nobody was killed at work");
}

async fn a_worker_that_slept_too_long_writes_nothing_more(fixture: Fixture) {
    let id = fixture.job().await;
    let mut child = start("child_labors", &fixture.place(), SLEEPER);
    let mut told = heard(&mut child);
    assert_eq!(told.next(), Some(format!("took {id}")));
    assert_eq!(told.next(), Some(format!("{id} 0")));
    let long = Duration::from_secs(3600);
    let lease = loop {
        match fixture.store.leases().grant(&id, "bob", long).await {
            Ok(lease) => break lease,
            Err(StoreError::Leased { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => panic!("{error}"),
        }
    };
    let mut journal = fixture.store.journals().open_leased(&lease).await.unwrap();
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(told.next(), Some(format!("lost {id}")));
    assert_eq!(journal.records().await.unwrap(), [run(0)]);
    child.kill().unwrap();
    child.wait().unwrap();
}

fn signal(child: &Child, signal: &str) {
    let number = child.id().to_string();
    let sent = Command::new("kill").args([signal, &number]).status();
    assert!(sent.unwrap().success());
}

/// Stopped at any time, as when a machine is suspended.
async fn a_process_that_was_suspended_writes_nothing_more(fixture: Fixture) {
    let rounds: u64 = match env::var_os("PINPOINT_TEST_LONG") {
        Some(_) => 100,
        None => 5,
    };
    for round in 0..rounds {
        let id = fixture.job().await;
        let mut child = start("child_labors", &fixture.place(), ENDLESS);
        let mut told = heard(&mut child);
        assert_eq!(told.next(), Some(format!("took {id}")));
        for number in 0..=round % 5 {
            assert_eq!(told.next(), Some(format!("{id} {number}")));
        }
        tokio::time::sleep(Duration::from_micros(round * 7919 % 9000)).await;
        signal(&child, "-STOP");
        let long = Duration::from_secs(3600);
        let lease = loop {
            match fixture.store.leases().grant(&id, "bob", long).await {
                Ok(lease) => break lease,
                Err(StoreError::Leased { .. }) => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                // Stopped in the middle of a write to a file, it blocks the others: it is stopped
                // at another point.
                Err(StoreError::Busy { .. }) => {
                    signal(&child, "-CONT");
                    tokio::time::sleep(Duration::from_millis(3)).await;
                    signal(&child, "-STOP");
                }
                Err(error) => panic!("{error}"),
            }
        };
        let mut journal = fixture.store.journals().open_leased(&lease).await.unwrap();
        let known = journal.records().await.unwrap().len() as u64;
        journal.append(&run(known)).await.unwrap();
        signal(&child, "-CONT");
        let told: Vec<String> = told.take_while(|line| !line.starts_with("lost")).collect();
        // Acknowledged records exist, and nothing more.
        if let Some(last) = told.last() {
            let (_, last) = last.split_once(' ').unwrap();
            assert!(last.parse::<u64>().unwrap() < known, "{told:?} {known}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let expected: Vec<_> = (0..=known).map(run).collect();
        assert_eq!(journal.records().await.unwrap(), expected);
        fixture
            .store
            .leases()
            .set_state(&lease, JobState::Completed, None, None)
            .await
            .unwrap();
        fixture.store.leases().release(&lease).await.unwrap();
    }
}

#[tokio::test]
async fn child_works() {
    let Some((place, title)) = told() else {
        return;
    };
    let store = open(&place).await;
    let id = store.jobs().create(&new_job(&title)).await.unwrap();
    let mut journal = store.journals().open(&id).await.unwrap();
    append_all(&mut journal, &(0..200).map(run).collect::<Vec<_>>()).await;
    tell(id);
}

#[tokio::test]
async fn processes_share_a_file_from_its_creation_on() {
    for _ in 0..5 {
        let directory = tempfile::tempdir().unwrap();
        let start = |number: usize| {
            start(
                "child_works",
                directory.path().to_str().unwrap(),
                &number.to_string(),
            )
        };
        let mut children: Vec<Child> = (0..4).map(start).collect();
        let mut jobs: Vec<JobId> = Vec::new();
        let store = JobStore::open(directory.path()).await.unwrap();
        for child in &mut children {
            let id = heard(child).last().expect("the child failed");
            assert!(child.wait().unwrap().success());
            jobs.push(store.jobs().find(&id.parse().unwrap()).await.unwrap().id);
        }
        for id in &jobs {
            let records = store
                .journals()
                .open(id)
                .await
                .unwrap()
                .records()
                .await
                .unwrap();
            assert_eq!(records, (0..200).map(run).collect::<Vec<_>>());
        }
        assert_eq!(all(&store).await.len(), 4);
    }
}

#[test]
fn child_locks() {
    let Some((state_dir, _)) = told() else { return };
    let _lock = JobLock::acquire(Path::new(&state_dir)).unwrap();
    tell("locked");
    // Until the parent kills it.
    std::io::stdin().lines().next();
}

#[test]
fn a_lock_ends_with_its_process() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let mut child = start("child_locks", directory.path().to_str().unwrap(), "");
        assert_eq!(heard(&mut child).next().as_deref(), Some("locked"));
        match JobLock::acquire(directory.path()).unwrap_err() {
            LockError::Held { pid } => assert_eq!(pid, Some(child.id())),
            other => panic!("{other}"),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let lock = JobLock::acquire(directory.path()).unwrap();
        let second = JobLock::acquire(directory.path()).unwrap_err();
        assert!(
            second.to_string().contains(&std::process::id().to_string()),
            "{second}"
        );
        drop(lock);
    }
    let missing = JobLock::acquire(&directory.path().join("missing")).unwrap_err();
    assert!(matches!(missing, LockError::File { .. }));
}
