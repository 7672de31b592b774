//! Large jobs, whose journals are those of a machine that answers at once.

use std::time::Duration;

use async_trait::async_trait;
use pinpoint_backends::store::{JobId, JobStore, NewJob};
use pinpoint_core::job::{JobResult, ResultError, ResultSource};
use pinpoint_core::prelude::*;
use pinpoint_core::{JobMachine, JobSpec, JobState, PairwiseSpec, Series, Strategy};

use crate::Sizes;
use crate::program::Failure;

/// Records that are written at once.
const GROUP: usize = 1000;

/// A job, and the values of its runs.
#[derive(Debug, Clone)]
pub(crate) struct Simulated {
    pub(crate) spec: JobSpec,
    name: &'static str,
    /// The metrics of a run.
    charts: usize,
    /// The change between neighbors.
    step: f64,
}

fn commit(number: u64) -> CombinedCommit {
    let repository = "https://chromium.googlesource.com/chromium/src";
    // A hash is random, so it hardly compresses.
    let hash: String = (1..=5_u64)
        .map(|part| (number + 1).wrapping_mul(part.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .map(|part| format!("{:08x}", part >> 32))
        .collect();
    let mut commit = Commit::new(repository, hash);
    commit.subject = Some(format!(
        "[component-{}] Change number {number}",
        number % 37
    ));
    commit.author = Some(format!("author-{}@example.org", number % 211));
    commit.created = Some("2026-01-01T00:00:00Z".into());
    commit.into()
}

fn number(commit: &CombinedCommit) -> Option<u64> {
    let subject = commit.main.subject.as_deref()?;
    subject.rsplit(' ').next()?.parse().ok()
}

fn named(located: &Located) -> CombinedCommit {
    match located {
        Located::Commit(commit) => commit.clone(),
        Located::Offset { listing, offset } => {
            commit(number(&listing.lower).unwrap_or_default() + offset + 1)
        }
    }
}

#[async_trait]
impl InProcess for Simulated {
    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        let ends = number(&request.higher).zip(number(&request.lower));
        let between = ends.map_or(0, |(higher, lower)| higher - lower - 1);
        Ok(Listing::new(request, between))
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        Ok(BuildReport::built(named(&request.commit)))
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let place = number(&request.variant.commit).unwrap_or_default() as f64;
        let began = 1_767_225_600_000 + 1000 * request.key.action;
        let mut report = RunReport::new(began).bot(format!("machine-{}", request.key.action % 7));
        for chart in 0..self.charts {
            // Weyl's sequence: spread evenly, and never the same.
            let part = f64::from(request.index) * 0.618_033_988_749 + place * 0.37;
            let noise = (part + chart as f64 * 0.577_215_664_901).fract();
            // Every third metric changes.
            let change = if chart % 3 == 0 {
                self.step * place
            } else {
                0.0
            };
            let series = Series {
                values: vec![100.0 + change + noise],
                unit: Some("ms".into()),
                ..Series::default()
            };
            let name = match self.charts {
                1 => "time".to_owned(),
                _ => format!(
                    "page-{:02}/component-{}/time-{chart:04}",
                    chart % 40,
                    chart % 13
                ),
            };
            report = report.series(name, series);
        }
        Ok(report)
    }
}

#[async_trait]
impl Clock for Simulated {
    async fn sleep(&self, _: Duration) {}
}

#[async_trait]
impl ResultSource for Simulated {
    async fn resolve(&self, located: &[Located]) -> Result<Vec<CombinedCommit>, ResultError> {
        Ok(located.iter().map(named).collect())
    }
}

impl Simulated {
    /// A search that ends with every commit as a culprit, and so runs them all.
    pub(crate) fn many_runs(sizes: Sizes) -> Self {
        let ends = (commit(0), commit(sizes.commits - 1));
        let spec = BisectionSpec {
            strategy: Strategy::Pinpoint,
            chart: Some("time".into()),
            attempts: Some(sizes.runs_of_each),
            ..BisectionSpec::new(Range::Between {
                good: ends.0,
                bad: ends.1,
            })
        };
        Self {
            spec: spec.into(),
            name: "many runs",
            charts: 1,
            step: 1.5,
        }
    }

    /// A comparison of many metrics.
    pub(crate) fn many_charts(sizes: Sizes) -> Self {
        Self {
            spec: PairwiseSpec::new(commit(0), commit(1)).into(),
            name: "many metrics",
            charts: sizes.charts,
            step: 1.0,
        }
    }

    /// A search by the most common strategy, for so many runs.
    pub(crate) fn usual() -> Self {
        let spec = BisectionSpec {
            chart: Some("time".into()),
            ..BisectionSpec::new(Range::Between {
                good: commit(0),
                bad: commit(400),
            })
        };
        Self {
            spec: spec.into(),
            name: "usual",
            charts: 1,
            // Hardly to be seen, so that it takes many runs.
            step: 0.000_8,
        }
    }

    /// All records of the job.
    pub(crate) async fn records(&self) -> Result<(Vec<Record>, JobResult), Failure> {
        let mut journal = MemoryJournal::new("simulated");
        let machine = JobMachine::new(self.spec.clone())?;
        let done = drive(machine, self, &mut journal, self, std::future::pending()).await?;
        let result = JobResult::new(&done.engine, done.outcome, self, 0).await?;
        Ok((journal.records, result))
    }

    /// Makes the job. A running one has so many records; any other has ended.
    pub(crate) async fn job(
        &self,
        store: &JobStore,
        so_far: Option<&[Record]>,
    ) -> Result<JobId, Failure> {
        let job = NewJob {
            name: self.name.into(),
            benchmark: "simulated".into(),
            bot: "lab".into(),
            user: "nobody".into(),
            ..NewJob::new(self.spec.clone())?
        };
        let id = store.jobs().create(&job).await?;
        let lease = store
            .leases()
            .grant(&id, "simulated", Duration::from_secs(600))
            .await?;
        store
            .leases()
            .set_state(&lease, JobState::Running, None, None)
            .await?;
        let mut journal = store.journals().open_leased(&lease).await?;
        let (records, result) = match so_far {
            Some(records) => (records.to_vec(), None),
            None => {
                let (records, result) = self.records().await?;
                (records, Some(result))
            }
        };
        for group in records.chunks(GROUP) {
            journal.append_all(group).await?;
        }
        if let Some(result) = result {
            let outcome = serde_json::to_value(&result)?;
            let state = result.state();
            store
                .leases()
                .set_state(&lease, state, None, Some(&outcome))
                .await?;
            store.leases().release(&lease).await?;
        }
        Ok(id)
    }
}
