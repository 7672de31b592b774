//! A job as of a moment: its machine, and all that follows from the records of its journal up
//! to then.

use pinpoint_backends::job::{kind_of, machine_of, stored_result};
use pinpoint_backends::store::{Job, JournalEntry};
use pinpoint_core::job::{JobResult, NamedChart};
use pinpoint_core::{
    Action, Answered, Applied, Bisection, BuildReport, CombinedCommit, Culprit, Engine, JobKind,
    JobMachine, JobOutcome, Journal, Machine, PairwiseOutcome, Posterior, Record, Report, Search,
};
use pinpoint_report::Measurements;
use tonic::Status;

use crate::Service;
use crate::grpc::{REPLAYS, errors};
use crate::watching::has_ended;
use crate::watching::replay::{Pace, runs_to_come};

/// The entries that are read at once.
const PAGE: u32 = 1000;

/// A job after the first records of its journal.
pub(super) struct Moment {
    pub(super) job: Job,
    pub(super) kind: JobKind,
    /// The records that count.
    pub(super) records: usize,
    /// Those of them up to the moment.
    pub(super) at: usize,
    /// When the last of these was recorded, in milliseconds since 1970.
    pub(super) recorded: Option<i64>,
    /// The number of the last record that was read.
    pub(super) last: Option<i64>,
    pub(super) engine: Engine<JobMachine>,
    pub(super) measured: Measurements,
    /// The builds, in the order in which they were tried.
    pub(super) builds: Vec<BuildReport>,
    /// The work under way, or to be done next.
    pub(super) outstanding: Vec<Action>,
    /// The result; absent in the past, and as long as the job has not ended.
    pub(super) result: Option<JobResult>,
    /// The outcome; of a comparison that has none yet, what it would be if it ended now.
    pub(super) outcome: Option<JobOutcome>,
    /// The reason why the journal can't be replayed to this moment.
    pub(super) broken: Option<String>,
    pub(super) pace: Pace,
}

/// Reads a job, and shows it after the first `at` records of its journal, or as it is now.
pub(super) async fn read<T: Send + 'static>(
    service: &Service,
    job: Job,
    at: Option<usize>,
    show: impl FnOnce(Moment) -> T + Send + 'static,
) -> Result<T, Status> {
    // Before the journal is read, which may be long.
    let turn = REPLAYS.acquire().await;
    let journal = service.store.journal(&job.id).await;
    let journal = journal.map_err(errors::store)?;
    let mut entries: Vec<JournalEntry> = Vec::new();
    loop {
        let last = entries.last().map(|entry| entry.sequence);
        let page = journal.entries_after(last, PAGE).await;
        let page = page.map_err(errors::store)?;
        let is_last = page.len() < PAGE as usize;
        entries.extend(page);
        if is_last {
            break;
        }
    }
    let kind = kind_of(&job).map_err(errors::job)?;
    let last = entries.last().map(|entry| entry.sequence);
    entries.retain(|entry| !entry.withdrawn);
    let machine = machine_of(&job, entries.is_empty()).map_err(errors::job)?;
    let result = match has_ended(job.state) {
        true => stored_result(&job).map_err(errors::job)?,
        false => None,
    };
    let engine = Engine::new(journal.job(), machine);
    let shown = tokio::task::spawn_blocking(move || {
        let moment = Moment::new(job, kind, engine, entries, at);
        let is_past = moment.is_past();
        drop(turn);
        show(Moment {
            last,
            result: result.filter(|_| !is_past),
            ..moment
        })
    });
    shown
        .await
        .map_err(|_| Status::internal("the job can't be shown"))
}

impl Moment {
    fn new(
        job: Job,
        kind: JobKind,
        mut engine: Engine<JobMachine>,
        entries: Vec<JournalEntry>,
        at: Option<usize>,
    ) -> Self {
        let records = entries.len();
        let at = at.map_or(records, |at| at.min(records));
        let mut answers = Vec::new();
        let (mut recorded, mut broken) = (None, None);
        let mut pace = Pace::default();
        for entry in entries.into_iter().take(at) {
            let applied = match engine.apply(&entry.record) {
                Ok(applied) => applied,
                Err(error) => {
                    broken = Some(error.to_string());
                    break;
                }
            };
            recorded = Some(entry.recorded);
            let Record::Reported { action, report } = entry.record else {
                continue;
            };
            match &report {
                Report::Ran(_) => pace.add(entry.recorded, 1),
                Report::RanPair(_) => pace.add(entry.recorded, 2),
                _ => {}
            }
            if let Applied {
                event: Some(event),
                task: Some(task),
            } = applied
            {
                answers.push(Answered {
                    action,
                    task,
                    report,
                    event,
                });
            }
        }
        let outstanding = match has_ended(job.state) && at == records {
            true => Vec::new(),
            false => engine.outstanding(),
        };
        let builds = answers.iter().filter_map(|answer| match &answer.report {
            Report::Built(build) => Some(build.clone()),
            _ => None,
        });
        let builds = builds.collect();
        let outcome = engine.machine().outcome().cloned().or_else(|| {
            let is_compared = !matches!(engine.machine().search(), Search::Bisection(_));
            if !is_compared || answers.is_empty() || broken.is_some() {
                return None;
            }
            let mut ended = engine.clone();
            ended.conclude().ok()?;
            ended.machine().outcome().cloned()
        });
        Self {
            job,
            kind,
            records,
            at,
            recorded,
            last: None,
            measured: Measurements::of(answers, engine.names()),
            engine,
            builds,
            outstanding,
            result: None,
            outcome,
            broken,
            pace,
        }
    }

    /// Whether records followed.
    pub(super) fn is_past(&self) -> bool {
        self.at < self.records
    }

    /// Whether the job still goes on.
    pub(super) fn is_live(&self) -> bool {
        !self.is_past() && !has_ended(self.job.state)
    }

    /// The search for a commit, in a job that does one, once it has begun.
    pub(super) fn bisection(&self) -> Option<&Bisection> {
        match self.engine.machine().search() {
            Search::Bisection(search) => Some(search),
            Search::CulpritFinder(search) => search.bisection(),
            Search::Pairwise(_) => None,
        }
    }

    /// The builds that failed.
    pub(super) fn failed_builds(&self) -> impl Iterator<Item = &BuildReport> {
        self.builds.iter().filter(|build| build.failure.is_some())
    }

    /// The build that runs of this commit were made with.
    pub(super) fn build_of(&self, commit: &CombinedCommit) -> Option<&BuildReport> {
        let mut builds = self.builds.iter().rev();
        builds.find(|build| build.failure.is_none() && build.commit == *commit)
    }

    /// The probable places of the change.
    pub(super) fn posterior(&self) -> Option<Posterior> {
        self.bisection().and_then(Bisection::posterior)
    }

    /// The runs that are still expected, at least.
    pub(super) fn runs_to_come(&self) -> Option<u64> {
        let machine = self.engine.machine();
        runs_to_come(machine).filter(|_| machine.outcome().is_none())
    }

    /// The culprits that the search has ended with.
    pub(super) fn culprits(&self) -> &[Culprit] {
        match self.engine.machine().outcome() {
            Some(JobOutcome::Bisection(outcome)) => &outcome.culprits,
            Some(JobOutcome::CulpritFinder(outcome)) => {
                let search = outcome.bisection.as_ref();
                search.map_or(&[], |outcome| &outcome.culprits)
            }
            Some(JobOutcome::Pairwise(_)) | None => &[],
        }
    }

    /// The comparison in pairs: of a try job, or of the ends of a culprit finder.
    pub(super) fn comparison(&self) -> Option<&PairwiseOutcome> {
        match self.outcome.as_ref()? {
            JobOutcome::Pairwise(outcome) => Some(outcome),
            JobOutcome::CulpritFinder(outcome) => Some(&outcome.verification),
            JobOutcome::Bisection(_) => None,
        }
    }

    /// Its charts, with their units.
    pub(super) fn charts(&self) -> Vec<NamedChart> {
        let units = self.measured.units();
        let charts = self.comparison().map_or(&[][..], |outcome| &outcome.charts);
        let named = charts.iter().map(|comparison| {
            let unit = units.get(&*comparison.chart).copied().flatten();
            NamedChart {
                unit: unit.map(str::to_owned),
                comparison: comparison.clone(),
            }
        });
        named.collect()
    }

    /// The chart that decides, where one does, and its unit.
    pub(super) fn chart(&self) -> (Option<&str>, Option<&str>) {
        let asked = match self.engine.machine().search() {
            Search::Bisection(search) => search.spec().chart.as_deref(),
            Search::CulpritFinder(search) => search.spec().bisection.chart.as_deref(),
            Search::Pairwise(search) => search.spec().chart.as_deref(),
        };
        let units = self.measured.units();
        let only = || match units.len() {
            1 => units.keys().next().copied(),
            _ => None,
        };
        let of_runs = || {
            let mut runs = self.measured.runs.iter();
            runs.find_map(|run| run.report.chart.as_deref())
        };
        let chart = asked.or_else(of_runs).or_else(only);
        let unit = chart.and_then(|chart| units.get(chart).copied().flatten());
        (chart, unit)
    }
}
