//! A job as of a moment: its machine, and all that follows from the records of its journal up to
//! then.
//!
//! A moment grows record by record, so that a kept one continues where it was: each further record
//! costs only itself. After the last one, [`JobSnapshot::settle`] derives what follows from
//! all of them together.

use pinpoint_backends::job::{JobError, kind_of, machine_of, stored_result};
use pinpoint_backends::store::{Job, JournalEntry};
use pinpoint_core::job::{JobResult, MeasuredMetric, NamedChart};
use pinpoint_core::{
    Action, Answered, Applied, Bisection, BuildReport, ChartComparison, CombinedCommit, Culprit,
    Engine, JobKey, JobKind, JobMachine, JobOutcome, Machine, Pairwise, PairwiseOutcome, Posterior,
    Record, Report,
};
use pinpoint_report::Measurements;

use crate::jobs::watching::replay::{Pace, runs_to_come};

/// A job after the first records of its journal.
#[derive(Debug)]
pub(super) struct JobSnapshot {
    pub(super) job: Job,
    pub(super) kind: JobKind,
    /// The records that count.
    pub(super) records: usize,
    /// Those of them up to the moment.
    pub(super) at: usize,
    /// The time when the last of these was recorded, in milliseconds since 1970.
    pub(super) recorded: Option<i64>,
    pub(super) engine: Engine<JobMachine>,
    pub(super) measured: Measurements,
    /// The builds, in the order in which they were tried.
    pub(super) builds: Vec<BuildReport>,
    /// The work under way, or to be done next.
    pub(super) outstanding: Vec<Action>,
    /// The result; absent in the past, and as long as the job has not ended.
    pub(super) result: Option<JobResult>,
    /// The comparison in pairs: of a try job, or of the ends of a culprit finder.
    compared: Option<PairwiseOutcome>,
    /// The machine has moved on since the comparison.
    has_gone_on: bool,
    /// The reason why the journal can't be replayed to this moment.
    pub(super) broken: Option<String>,
    pub(super) pace: Pace,
    /// Some work was answered.
    has_answers: bool,
}

impl JobSnapshot {
    /// A job before the first record of its journal, which may be empty.
    ///
    /// # Errors
    ///
    /// When the job can't be read.
    pub(super) fn begin(mut job: Job, key: JobKey, is_empty: bool) -> Result<Self, JobError> {
        let machine = machine_of(&job, is_empty)?;
        let result = match job.state.has_ended() {
            true => stored_result(&job)?,
            false => None,
        };
        // It may be long, and is in the result.
        job.outcome = None;
        Ok(Self {
            kind: kind_of(&job)?,
            job,
            records: 0,
            at: 0,
            recorded: None,
            engine: Engine::new(key, machine),
            measured: Measurements::default(),
            builds: Vec::new(),
            outstanding: Vec::new(),
            result,
            compared: None,
            has_gone_on: true,
            broken: None,
            pace: Pace::default(),
            has_answers: false,
        })
    }

    /// Takes the next record. Withdrawn ones do not count.
    pub(super) fn take(&mut self, entry: JournalEntry) {
        if entry.withdrawn {
            return;
        }
        self.at += 1;
        if self.broken.is_some() {
            return;
        }
        let applied = match self.engine.apply(&entry.record) {
            Ok(applied) => applied,
            Err(error) => {
                self.broken = Some(error.to_string());
                self.has_gone_on = true;
                return;
            }
        };
        self.recorded = Some(entry.recorded);
        self.has_gone_on |= applied.event.is_some();
        let Record::Reported { action, report } = entry.record else {
            return;
        };
        match &report {
            Report::Ran(_) => self.pace.add(entry.recorded, 1),
            Report::RanPair(_) => self.pace.add(entry.recorded, 2),
            _ => {}
        }
        let Applied {
            event: Some(event),
            task: Some(task),
        } = applied
        else {
            return;
        };
        if let Report::Built(build) = &report {
            self.builds.push(build.clone());
        }
        self.has_answers = true;
        let answer = Answered {
            action,
            task,
            report,
            event,
        };
        self.measured.add(answer, self.engine.names());
    }

    /// Derives what follows from the records so far; the journal has this many.
    pub(super) fn settle(&mut self, records: usize) {
        self.records = records;
        if self.is_past() {
            self.result = None;
        }
        self.outstanding = match self.job.state.has_ended() && !self.is_past() {
            true => Vec::new(),
            false => self.engine.outstanding(),
        };
        if std::mem::take(&mut self.has_gone_on) {
            self.compared = self.compare();
        }
    }

    /// The comparison in pairs so far, at the cost of comparing all charts.
    fn compare(&self) -> Option<PairwiseOutcome> {
        let machine = self.engine.machine();
        let comparison = machine.search().comparison();
        let is_there = machine.outcome().is_some() || (self.has_answers && self.broken.is_none());
        comparison.filter(|_| is_there).map(Pairwise::so_far)
    }

    /// Returns true if records followed.
    pub(super) fn is_past(&self) -> bool {
        self.at < self.records
    }

    /// Returns true if the job has not ended.
    pub(super) fn is_live(&self) -> bool {
        !self.is_past() && !self.job.state.has_ended()
    }

    /// The search for a commit, in a job that does one, once it has begun.
    pub(super) fn bisection(&self) -> Option<&Bisection> {
        self.engine.machine().search().bisection()
    }

    /// The builds that failed.
    pub(super) fn failed_builds(&self) -> impl Iterator<Item = &BuildReport> {
        self.builds.iter().filter(|build| build.failure.is_some())
    }

    /// The build of this commit's runs.
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
        let outcome = self.engine.machine().outcome();
        let search = outcome.and_then(JobOutcome::bisection);
        search.map_or(&[], |outcome| &outcome.culprits)
    }

    /// The comparison in pairs: of a try job, or of the ends of a culprit finder. Before its end,
    /// it is the result of ending now.
    pub(super) fn comparison(&self) -> Option<&PairwiseOutcome> {
        self.compared.as_ref()
    }

    /// The metric that the job measures: from its result, or as known so far.
    pub(super) fn measured_metric(&self) -> Option<MeasuredMetric> {
        match &self.result {
            Some(result) => result.metric().cloned(),
            None => MeasuredMetric::of(self.engine.machine(), self.engine.metric()),
        }
    }

    /// A chart of it, with its unit.
    pub(super) fn named(&self, comparison: &ChartComparison) -> NamedChart {
        NamedChart {
            unit: self.measured.unit(&comparison.chart).map(str::to_owned),
            comparison: comparison.clone(),
        }
    }

    /// The deciding chart, if any, and its unit.
    pub(super) fn chart(&self) -> (Option<&str>, Option<&str>) {
        let chart = (self.measured).deciding_chart(self.engine.machine().spec().chart());
        let unit = chart.and_then(|chart| self.measured.unit(chart));
        (chart, unit)
    }
}
