//! Reading a job on: from its journal to the events for its watchers.

use pinpoint_backends::job::{JobError, machine_of};
use pinpoint_backends::store::{JobId, JobJournal, JobMark, JobStore, JobSummary, JournalEntry};
use pinpoint_core::{
    Applied, Bisection, CommitNames, CommitOrder, Engine, JobMachine, Journal, Pairwise, Position,
    Record, Report, Search, Task,
};

use crate::api::grpc::v2::messages::{
    Estimate, Measured, OpenRange, Posterior, Progress, Record as Message, SequenceRange,
};
use crate::api::grpc::v2::{journal, show};
use crate::jobs::replays::REPLAYS;

/// The entries that are read at once.
const PAGE: u32 = 1000;

/// Reads a job from the store, and on.
pub(super) struct ReplayReader {
    store: JobStore,
    id: JobId,
    so_far: Option<SoFar>,
}

/// The state of a job as far as it was read.
struct SoFar {
    /// The mark of the job itself.
    sign: (JobMark, JobSummary),
    journal: JobJournal,
    /// The number of the last entry.
    last: Option<i64>,
    replay: Replay,
}

/// The result of reading.
pub(super) struct ReplayUpdate {
    pub(super) job: JobSummary,
    /// Records that were not read before, or all of them.
    pub(super) records: Vec<Message>,
    /// Absent where it can't have changed.
    pub(super) withdrawn: Option<Vec<SequenceRange>>,
    pub(super) progress: Option<Progress>,
    pub(super) posterior: Option<Posterior>,
    pub(super) estimate: Option<Estimate>,
}

impl ReplayReader {
    pub(super) fn new(store: JobStore, id: JobId) -> Self {
        Self {
            store,
            id,
            so_far: None,
        }
    }

    /// Reads the changes up to this mark.
    pub(super) async fn read(&mut self, mark: &JobMark) -> Result<ReplayUpdate, JobError> {
        let mut sign = mark.clone();
        sign.last = None;
        let is_as_before = |so_far: &SoFar| so_far.sign.0 == sign;
        let (mut so_far, is_whole) = match self.so_far.take() {
            // Records are withdrawn when the state changes, and at no other time.
            Some(so_far) if is_as_before(&so_far) => (so_far, false),
            _ => (self.begin(sign).await?, true),
        };
        let turn = REPLAYS.acquire().await;
        let mut entries = Vec::new();
        loop {
            let page = so_far.journal.entries_after(so_far.last, PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            so_far.last = page.last().map(|entry| entry.sequence).or(so_far.last);
            entries.extend(page);
            if is_last {
                break;
            }
        }
        let withdrawn = is_whole.then(|| withdrawn(&entries));
        // A long journal takes a processor for a while.
        let mut replay = so_far.replay;
        let replayed = tokio::task::spawn_blocking(move || {
            let valid = entries.iter().filter(|entry| !entry.withdrawn);
            let records: Vec<_> = valid.map(|entry| replay.take(entry)).collect();
            let shown = replay.shown();
            (replay, records, shown)
        });
        let (replay, records, (progress, posterior)) = match replayed.await {
            Ok(replayed) => replayed,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        drop(turn);
        let to_come = progress.as_ref().and_then(|(_, to_come)| *to_come);
        let estimate = to_come.map(|to_come| replay.estimate(to_come));
        let mut job = so_far.sign.1.clone();
        if let Some((progress, _)) = &progress {
            (job.runs, job.builds) = (progress.runs, progress.builds);
        }
        self.so_far = Some(SoFar { replay, ..so_far });
        Ok(ReplayUpdate {
            job,
            records,
            withdrawn,
            progress: progress.map(|(progress, _)| progress),
            posterior,
            estimate,
        })
    }

    async fn begin(&self, sign: JobMark) -> Result<SoFar, JobError> {
        let job = self.store.jobs().get(&self.id).await?;
        let mut journal = self.store.journals().open(&self.id).await?;
        let machine = machine_of(&job, journal.is_empty().await?)?;
        Ok(SoFar {
            sign: (sign, JobSummary::from(&job)),
            replay: Replay::new(Engine::new(journal.job(), machine)),
            journal,
            last: None,
        })
    }
}

/// The numbers of the entries that were withdrawn.
fn withdrawn(entries: &[JournalEntry]) -> Vec<SequenceRange> {
    let mut ranges: Vec<SequenceRange> = Vec::new();
    let mut was_withdrawn = false;
    for entry in entries {
        let sequence = entry.sequence;
        match ranges.last_mut() {
            _ if !entry.withdrawn => {}
            Some(range) if was_withdrawn => range.last = sequence,
            _ => ranges.push(SequenceRange {
                first: sequence,
                last: sequence,
            }),
        }
        was_withdrawn = entry.withdrawn;
    }
    ranges
}

/// The machine of a job after the records so far.
struct Replay {
    engine: Engine<JobMachine>,
    /// Those that list, for the order of commits.
    lists: Vec<Task>,
    pace: Pace,
    /// A record did not fit: the rest is not known.
    is_broken: bool,
}

impl Replay {
    fn new(engine: Engine<JobMachine>) -> Self {
        Self {
            engine,
            lists: Vec::new(),
            pace: Pace::default(),
            is_broken: false,
        }
    }

    fn take(&mut self, entry: &JournalEntry) -> Message {
        let applied = match self.is_broken {
            true => Applied {
                event: None,
                task: None,
            },
            false => self.engine.apply(&entry.record).unwrap_or_else(|error| {
                let job = &self.engine.job().id;
                tracing::warn!(job, %error, "the journal can't be replayed to its end");
                self.is_broken = true;
                Applied {
                    event: None,
                    task: None,
                }
            }),
        };
        let message = journal::record(
            entry,
            self.engine.names(),
            applied.task.as_ref(),
            applied.event.as_ref(),
        );
        if let Record::Reported {
            report: Report::Ran(_) | Report::RanPair(_),
            ..
        } = &entry.record
        {
            self.pace.add(entry.recorded, message.runs.len() as u64);
        }
        if let Some(list @ Task::List { .. }) = applied.task {
            self.lists.push(list);
        }
        message
    }

    /// The progress, with the runs that are to come once that can be said, and the posterior.
    fn shown(&self) -> (Option<(Progress, Option<u64>)>, Option<Posterior>) {
        if self.is_broken {
            return (None, None);
        }
        let machine = self.engine.machine();
        let bisection = machine.search().bisection();
        let mut progress = bisection.map_or_else(Default::default, |search| self.progress(search));
        match machine.search() {
            Search::Pairwise(search) => {
                let pairs = search.pairs_done();
                progress.runs = 2 * u64::from(pairs);
                progress.builds = search.builds();
            }
            Search::CulpritFinder(search) => {
                progress.runs = search.runs();
                progress.builds = search.builds();
            }
            _ => {}
        }
        let name = |place: &Position| self.name(*place);
        let posterior = bisection.and_then(Bisection::posterior);
        let posterior = posterior.map(|posterior| show::posterior(&posterior, name));
        (Some((progress, runs_to_come(machine))), posterior)
    }

    fn progress(&self, search: &Bisection) -> Progress {
        let mut found = search.progress();
        let order = CommitOrder::of(&self.lists);
        found.measured.sort_by_cached_key(|it| order.key(it.commit));
        let measured = found.measured.iter().map(|it| Measured {
            commit: self.name(it.commit),
            runs: it.runs,
            failures: it.failures,
            median: it.median,
        });
        let open = found.open.iter().map(|range| OpenRange {
            lower: self.name(range.lower),
            higher: self.name(range.higher),
            between: range.between,
        });
        Progress {
            runs: found.runs,
            builds: found.builds,
            measured: measured.collect(),
            open: open.collect(),
        }
    }

    fn estimate(&self, runs_to_come: u64) -> Estimate {
        Estimate {
            runs_to_come,
            seconds_to_come: self.pace.seconds(runs_to_come),
        }
    }

    fn name(&self, place: Position) -> Option<crate::api::grpc::v2::messages::Commit> {
        let names: &CommitNames = self.engine.names();
        names.commit(place).map(show::commit)
    }
}

/// The runs that a search still expects to make, at least; absent before it has begun.
pub(crate) fn runs_to_come(machine: &JobMachine) -> Option<u64> {
    let left = |pairs: u32, search: &Pairwise| {
        let done = search.pairs_done();
        2 * u64::from(pairs.saturating_sub(done))
    };
    let to_come = match machine.search() {
        Search::Bisection(search) => search.progress().runs_to_come,
        Search::Pairwise(search) => left(search.spec().pairs, search),
        Search::CulpritFinder(search) => match search.bisection() {
            Some(search) => search.progress().runs_to_come,
            None => left(search.spec().pairs, search.verification()),
        },
        _ => return None,
    };
    machine.is_searching().then_some(to_come)
}

/// The speed of runs so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    /// The times when the first and the last run were recorded, and the number since the first.
    runs: Option<(i64, i64, u64)>,
    /// The records since the first, and the sum over them of the square of their seconds, in
    /// parts of their runs.
    steps: u32,
    squares: f64,
}

impl Pace {
    /// Adds runs that were recorded at this time.
    pub(crate) fn add(&mut self, recorded: i64, runs: u64) {
        self.runs = Some(match self.runs {
            None => (recorded, recorded, 0),
            Some((first, last, before)) => {
                let seconds = recorded.saturating_sub(last) as f64 / 1000.0;
                self.squares += seconds * seconds / runs.max(1) as f64;
                self.steps += 1;
                (first, recorded, before + runs)
            }
        });
    }

    /// The seconds that so many runs take, if there were any.
    pub(crate) fn seconds(&self, runs_to_come: u64) -> Option<f64> {
        let (first, last, runs) = self.runs?;
        let seconds = last.saturating_sub(first) as f64 / 1000.0;
        (runs > 0).then(|| seconds / runs as f64 * runs_to_come as f64)
    }

    /// The seconds between which so many runs end, in 95 of 100 cases where runs take as long as
    /// those so far, builds and waits between them included. The mean varies as far as it is
    /// unknown, and the sum as far as runs vary, as if each were independent.
    ///
    /// With m and s² the mean and the variance of one run, of r so far, the next n take
    /// n·m ± 1.96·s·√(n + n²/r).
    pub(crate) fn range(&self, runs_to_come: u64) -> Option<(f64, f64)> {
        let middle = self.seconds(runs_to_come)?;
        let (first, last, runs) = self.runs?;
        let seconds = last.saturating_sub(first) as f64 / 1000.0;
        let (runs, to_come) = (runs as f64, runs_to_come as f64);
        let beyond = f64::from(self.steps.checked_sub(1).filter(|steps| *steps > 0)?);
        let variance = ((self.squares - seconds * seconds / runs) / beyond).max(0.0);
        let half = 1.96 * (variance * (to_come + to_come * to_come / runs)).sqrt();
        Some(((middle - half).max(0.0), middle + half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_runs_to_come_is_known_as_well_as_that_of_those_so_far() {
        let mut pace = Pace::default();
        assert_eq!((pace.seconds(1), pace.range(1)), (None, None));
        pace.add(1_000_000, 1);
        pace.add(1_010_000, 1);
        // One run does not show a variance.
        assert_eq!((pace.seconds(3), pace.range(3)), (Some(30.0), None));
        pace.add(1_030_000, 2);
        // All take ten seconds, alone or in pairs.
        assert_eq!(pace.range(3), Some((30.0, 30.0)));
        pace.add(1_046_000, 1);
        pace.add(1_050_000, 1);
        // 10, 20 for two, 16 and 4 seconds: m = 10, and s² = (36 + 36) / 3.
        assert_eq!(pace.seconds(4), Some(40.0));
        let (low, high) = pace.range(4).unwrap();
        let half = 1.96 * (24.0_f64 * (4.0 + 16.0 / 5.0)).sqrt();
        assert!((low - (40.0 - half)).abs() < 1e-9 && (high - (40.0 + half)).abs() < 1e-9);
        assert_eq!(pace.range(0), Some((0.0, 0.0)));
    }
}
