//! A service that brings its own way to build and run.
//!
//! `cargo run -p pinpoint-core --example embed`
//!
//! The "farm" here makes its values up: of the revisions r0 to r64, every one
//! from r41 on takes 12 ms instead of 10. A real one sends each request to its
//! machines, with the key of the request, so that a request that is repeated
//! after a crash finds the work that was begun.
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use pinpoint_core::{
    Bisection, BisectionSpec, BuildReport, BuildRequest, CombinedCommit, Commit, Direction,
    Executor, ExecutorError, Journal, JournalError, Key, ListRequest, Listing, Located, Magnitude,
    PairReport, Range, Record, RunPairRequest, RunReport, RunRequest, Series, drive,
};

/// Revisions are numbered; what lies between two of them is easy to tell.
struct Farm;

fn revision(number: u64) -> CombinedCommit {
    Commit::new("https://example.org/tool", format!("r{number}")).into()
}

fn number(commit: &CombinedCommit) -> u64 {
    commit.main.git_hash[1..]
        .parse()
        .expect("revisions are called r and a number")
}

#[async_trait]
impl Executor for Farm {
    async fn list(&self, request: ListRequest) -> Result<Listing, ExecutorError> {
        let count = number(&request.higher) - number(&request.lower) - 1;
        Ok(Listing {
            lower: request.lower,
            higher: request.higher,
            count,
            changes: Vec::new(),
        })
    }

    async fn build(&self, request: BuildRequest) -> Result<BuildReport, ExecutorError> {
        let commit = match request.commit {
            Located::Commit(commit) => commit,
            Located::Offset { listing, offset } => revision(number(&listing.lower) + 1 + offset),
        };
        Ok(BuildReport {
            commit,
            failure: None,
            cached: false,
            duration: 0,
            log: None,
        })
    }

    async fn run(&self, request: RunRequest) -> Result<RunReport, ExecutorError> {
        let level = if number(&request.commit) < 41 {
            10.0
        } else {
            12.0
        };
        let noise = 0.1 * f64::from(request.index * 7 % 11);
        let time = Series {
            values: vec![level + noise],
            unit: Some("ms".into()),
            ..Series::default()
        };
        Ok(RunReport {
            commit: request.commit,
            index: request.index,
            bot: None,
            started: 0,
            chart: None,
            failure: None,
            charts: BTreeMap::from([("time".into(), time)]),
            usage: None,
            exit_code: Some(0),
            log: None,
        })
    }

    async fn run_pair(&self, _request: RunPairRequest) -> Result<PairReport, ExecutorError> {
        Err(ExecutorError::Refused(
            "a bisection asks for no pairs".into(),
        ))
    }

    async fn cancel(&self, _key: Key) -> Result<(), ExecutorError> {
        Ok(())
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// A journal that forgets everything with the process. One that lasts is
/// `pinpoint_backends::sqlite`.
#[derive(Default)]
struct Memory(Vec<Record>);

#[async_trait]
impl Journal for Memory {
    fn job(&self) -> &str {
        "example"
    }

    async fn records(&mut self) -> Result<Vec<Record>, JournalError> {
        Ok(self.0.clone())
    }

    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        self.0.push(record.clone());
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec = BisectionSpec {
        chart: Some("time".into()),
        magnitude: Some(Magnitude::Absolute(1.0)),
        direction: Direction::Down,
        ..BisectionSpec::new(Range::Between {
            good: revision(0),
            bad: revision(64),
        })
    };
    let mut journal = Memory::default();
    let never = std::future::pending();
    let driven = drive(Bisection::new(spec)?, &Farm, &mut journal, never).await?;

    let outcome = driven.outcome;
    println!(
        "{:?} after {} runs of {} builds",
        outcome.status, outcome.runs, outcome.builds
    );
    for culprit in &outcome.culprits {
        let name = driven
            .atlas
            .commit(culprit.commit)
            .map_or("?", |commit| &commit.main.git_hash);
        let effect = &culprit.effect;
        println!("{name}: {} ms to {} ms", effect.before, effect.after);
    }
    Ok(())
}
