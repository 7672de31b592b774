//! A service that brings its own way to build and run.
//!
//! `cargo run -p pinpoint-core --example embed`
//!
//! The program under test makes its values up: of 64 revisions after the first, every
//! one from the 41st on takes 12 ms instead of 10.
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;
use std::future::pending;
use std::time::Duration;

use async_trait::async_trait;
use pinpoint_core::prelude::*;

/// Revisions are numbered.
struct Revisions;

fn revision(number: u64) -> CombinedCommit {
    Commit::new("https://example.org/tool", format!("r{number}")).into()
}

fn number(commit: &CombinedCommit) -> u64 {
    commit.main.git_hash[1..].parse().unwrap_or_default()
}

#[async_trait]
impl InProcess for Revisions {
    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        let count = number(&request.higher) - number(&request.lower) - 1;
        Ok(Listing::new(request, count))
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        Ok(BuildReport::built(match &request.commit {
            Located::Commit(commit) => commit.clone(),
            Located::Offset { listing, offset } => revision(number(&listing.lower) + 1 + offset),
        }))
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let slow = number(&request.variant.commit) >= 41;
        let time = if slow { 12.0 } else { 10.0 } + 0.01 * f64::from(request.index % 7);
        Ok(RunReport::default().value("time", time))
    }
}

#[async_trait]
impl Clock for Revisions {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let spec = BisectionSpec {
        chart: Some("time".into()),
        magnitude: Some(Magnitude::Absolute(1.0)),
        direction: Direction::Down,
        ..BisectionSpec::new(Range::Between {
            good: revision(0),
            bad: revision(64),
        })
    };
    let machine = Bisection::new(spec)?;
    // Forgets the job with the process. `pinpoint_backends::store` has journals that a
    // job is resumed from.
    let mut journal = MemoryJournal::new("an example");
    let driven = drive(machine, &Revisions, &mut journal, &Revisions, pending()).await?;
    for culprit in &driven.outcome.culprits {
        let commit = culprit.commit_name.as_ref();
        let name = commit.map_or("?", |commit| &commit.main.git_hash);
        let estimate = culprit.effect.estimate.unwrap_or_default();
        println!("{name}: {estimate:+.2} ms, {} runs", driven.outcome.runs);
    }
    Ok(())
}
