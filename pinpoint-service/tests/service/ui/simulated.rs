//! Jobs without workers: their journals are those of a simulated machine.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use pinpoint_backends::store::{JobId, NewJob};
use pinpoint_core::job::{JobResult, ResultError, ResultSource};
use pinpoint_core::prelude::*;
use pinpoint_core::{JobMachine, JobSpec, JobState, Series};

use crate::world::World;

/// Gives the report of a run, by the number of its commit and its index.
pub(super) type Runs = fn(u64, u32) -> RunReport;

/// A repository whose commits are numbers.
struct Numbers {
    runs: Runs,
    /// Commits that do not build.
    broken: Vec<u64>,
}

pub(super) fn commit(number: u64) -> CombinedCommit {
    let mut commit = Commit::new(
        "https://github.com/example/numbers",
        format!("{number:040x}"),
    );
    commit.subject = Some(format!("Number {number} {}", super::job::HOSTILE));
    commit.into()
}

pub(super) fn number(commit: &CombinedCommit) -> u64 {
    u64::from_str_radix(&commit.main.git_hash, 16).unwrap()
}

fn named(located: &Located) -> CombinedCommit {
    match located {
        Located::Commit(commit) => commit.clone(),
        Located::Offset { listing, offset } => commit(number(&listing.lower) + offset + 1),
    }
}

#[async_trait]
impl InProcess for Numbers {
    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        let between = number(&request.higher) - number(&request.lower) - 1;
        Ok(Listing::new(request, between))
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        let commit = named(&request.commit);
        Ok(match self.broken.contains(&number(&commit)) {
            true => BuildReport::failed(commit, super::job::HOSTILE),
            false => BuildReport::built(commit),
        })
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        Ok((self.runs)(number(&request.variant.commit), request.index))
    }
}

#[async_trait]
impl Clock for Numbers {
    async fn sleep(&self, _: Duration) {}
}

#[async_trait]
impl ResultSource for Numbers {
    async fn resolve(&self, located: &[Located]) -> Result<Vec<CombinedCommit>, ResultError> {
        Ok(located.iter().map(named).collect())
    }
}

/// A job of this question that has ended.
pub(super) async fn ended(world: &World, spec: impl Into<JobSpec>, runs: Runs) -> JobId {
    ended_with(world, spec, runs, &[], NewJob::default()).await
}

/// One in which these commits do not build, with the names that this one has.
pub(super) async fn ended_with(
    world: &World,
    spec: impl Into<JobSpec>,
    runs: Runs,
    broken: &[u64],
    names: NewJob,
) -> JobId {
    let spec = spec.into();
    let job = NewJob::new(spec.clone()).unwrap();
    let job = NewJob {
        kind: job.kind,
        spec: job.spec,
        ..names
    };
    let id = world.store.jobs().create(&job).await.unwrap();
    let lease = world
        .store
        .leases()
        .grant(&id, "test", Duration::from_secs(600));
    let lease = lease.await.unwrap();
    let running = world
        .store
        .leases()
        .set_state(&lease, JobState::Running, None, None);
    running.await.unwrap();
    let numbers = Numbers {
        runs,
        broken: broken.to_vec(),
    };
    let mut journal = world.store.journals().open_leased(&lease).await.unwrap();
    let machine = JobMachine::new(spec).unwrap();
    let never = std::future::pending();
    let done = drive(machine, &numbers, &mut journal, &numbers, never).await;
    let done = done.unwrap();
    let result = JobResult::new(&done.engine, done.outcome, &numbers, 0).await;
    let result = result.unwrap();
    let (state, outcome) = (result.state(), serde_json::to_value(&result).unwrap());
    let ended = world
        .store
        .leases()
        .set_state(&lease, state, None, Some(&outcome));
    ended.await.unwrap();
    world.store.leases().release(&lease).await.unwrap();
    id
}

/// A run on a machine with a hostile name, with a value of each of these charts and its unit.
pub(super) fn report(values: &[(&str, &str, f64)]) -> RunReport {
    let mut report = RunReport::new(1_700_000_000_000).bot(super::job::HOSTILE);
    let charts = values.iter().map(|(chart, unit, value)| {
        let series = Series {
            values: vec![*value],
            unit: Some((*unit).to_owned()),
            ..Series::default()
        };
        ((*chart).to_owned(), series)
    });
    report.charts = charts.collect::<BTreeMap<_, _>>();
    report
}
