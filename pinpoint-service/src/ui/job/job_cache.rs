//! The jobs that have viewers, each replayed as far as its journal goes.
//!
//! However many look at a job, its journal is read and replayed once, and read on from there: a
//! further record costs only itself. Each view of a job is drawn once for all its viewers, and
//! drawn again when there is something to add. The rights of each viewer are checked before.
//!
//! A job is kept while its page is open somewhere, and for [`UNSEEN`] after its last viewer; never
//! more of them than [`MOST_JOBS`] and about [`MOST_BYTES`], except the last one viewed. A job that
//! had to make room is replayed from its beginning when there is something to add, and looks the
//! same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pinpoint_backends::store::{JobId, JobJournal, JobMark, JobStore, JournalEntry};
use pinpoint_core::{Journal, Record, Report, RunReport};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;
use tonic::Status;

use super::evidence::{Evidence, ViewRequest};
use super::job_snapshot::JobSnapshot;
use crate::api::grpc::errors;
use crate::jobs::replays::REPLAYS;

/// The entries that are read at once.
const PAGE: u32 = 1000;

/// The most jobs that are kept, and how much memory they take, estimated.
const MOST_JOBS: usize = 64;
const MOST_BYTES: usize = 32 << 20;

/// The time for which a job without viewers is kept.
const UNSEEN: Duration = Duration::from_secs(60);

/// The time between two looks for such jobs.
const SWEEP: Duration = Duration::from_secs(10);

/// The views of a job that are kept: viewers with the default view share one.
const MOST_VIEWS: usize = 4;

/// The jobs that a process keeps.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobCache {
    slots: Arc<Mutex<Slots>>,
}

#[derive(Debug, Default)]
struct Slots {
    of: BTreeMap<JobId, Slot>,
    is_swept: bool,
}

/// The place of a job, which its viewers share.
pub(super) type SharedJob = Arc<AsyncMutex<Option<CachedJob>>>;

#[derive(Debug)]
struct Slot {
    place: SharedJob,
    looked: Instant,
    /// In bytes, estimated.
    weight: usize,
}

impl Slot {
    /// Returns true if somebody follows the job, or waits for it.
    fn is_held(&self) -> bool {
        Arc::strong_count(&self.place) > 1
    }
}

/// A job as it is now.
#[derive(Debug)]
pub(super) struct CachedJob {
    /// The mark of the job itself: records are withdrawn when it changes, and at no other time.
    sign: JobMark,
    journal: JobJournal,
    /// The number of the last entry that was read.
    last: Option<i64>,
    records: usize,
    /// Absent if it had to make room: its views are good until something changes.
    moment: Option<JobSnapshot>,
    /// In bytes, estimated.
    weight: usize,
    views: Vec<View>,
}

impl CachedJob {
    /// The requested view, if it is kept.
    fn view(&self, wanted: &ViewRequest) -> Option<Arc<Evidence>> {
        // The output of a run may come after its record.
        if wanted.asked.run.is_some() {
            return None;
        }
        let address = wanted.asked.address();
        let mut views = self.views.iter();
        let view = views.find(|view| view.address == address && view.waits == wanted.waits)?;
        Some(view.evidence.clone())
    }
}

/// A rendered view of a job.
#[derive(Debug)]
struct View {
    address: String,
    waits: bool,
    evidence: Arc<Evidence>,
}

impl JobCache {
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a job. The job is kept as long as somebody has it.
    pub(super) fn place(&self, id: &JobId) -> SharedJob {
        let mut slots = self.slots();
        if !slots.is_swept {
            slots.is_swept = true;
            tokio::spawn(sweep(self.clone()));
        }
        let slot = slots.of.entry(id.clone()).or_insert_with(|| Slot {
            place: SharedJob::default(),
            looked: Instant::now(),
            weight: 0,
        });
        slot.looked = Instant::now();
        slot.place.clone()
    }

    /// The evidence of a job as it is now, or after the requested records.
    pub(super) async fn look(
        &self,
        store: &JobStore,
        id: &JobId,
        wanted: ViewRequest,
    ) -> Result<Arc<Evidence>, Status> {
        let kept = self.clone();
        let mut place = kept.place(id).lock_owned().await;
        let (store, id) = (store.clone(), id.clone());
        // A dropped request must not cancel work others await.
        let looked = tokio::spawn(async move {
            let now = current(&store, &id, place.take(), &wanted).await?;
            let records = now.records;
            // Entries without a moment keep their initial weight.
            let weight = now.moment.as_ref().map_or(0, |_| now.weight);
            let at = wanted.asked.at.filter(|at| *at < records);
            let drawn = match at {
                None => {
                    let (now, evidence) = drawn(now, wanted).await?;
                    *place = Some(now);
                    evidence
                }
                Some(at) => {
                    *place = Some(now);
                    // The others need not wait for the past.
                    drop(place);
                    let mut moment = past(&store, &id, at).await?;
                    let draw = move || {
                        moment.settle(records);
                        Evidence::draw(&moment, &wanted).map(Arc::new)
                    };
                    blocking(draw).await?.map_err(undrawn)
                }
            };
            kept.weigh(&id, weight);
            drawn
        });
        looked
            .await
            .map_err(|_| Status::internal("the job can't be shown"))?
    }

    /// Sets the weight of a job, and makes room if the sum is too large.
    fn weigh(&self, id: &JobId, weight: usize) {
        let mut slots = self.slots();
        if let Some(slot) = slots.of.get_mut(id) {
            slot.weight = weight;
        }
        let mut others: Vec<_> = (slots.of.iter())
            .filter(|(other, slot)| *other != id && slot.weight > 0)
            .map(|(other, slot)| (slot.is_held(), slot.looked, other.clone()))
            .collect();
        others.sort_unstable();
        let mut jobs = 1 + others.len();
        let mut bytes: usize = slots.of.values().map(|slot| slot.weight).sum();
        for (is_held, _, other) in others {
            if jobs <= MOST_JOBS && bytes <= MOST_BYTES {
                return;
            }
            let Some(slot) = slots.of.get_mut(&other) else {
                continue;
            };
            // A viewer holds the lock of a job that is being viewed.
            let Ok(mut place) = slot.place.try_lock() else {
                continue;
            };
            if let Some(now) = &mut *place {
                now.moment = None;
            }
            drop(place);
            bytes -= std::mem::take(&mut slot.weight);
            jobs -= 1;
            if !is_held {
                slots.of.remove(&other);
            }
        }
    }
}

/// Drops jobs without viewers, until none is left.
async fn sweep(kept: JobCache) {
    loop {
        tokio::time::sleep(SWEEP).await;
        if kept.slots().sweep(Instant::now()) {
            return;
        }
    }
}

impl Slots {
    /// Drops jobs that had no viewers for long; returns true if nothing is left.
    fn sweep(&mut self, now: Instant) -> bool {
        let is_seen = |slot: &Slot| now.saturating_duration_since(slot.looked) < UNSEEN;
        self.of.retain(|_, slot| slot.is_held() || is_seen(slot));
        self.is_swept = !self.of.is_empty();
        !self.is_swept
    }
}

/// The current state of a job, read on from an earlier one.
async fn current(
    store: &JobStore,
    id: &JobId,
    before: Option<CachedJob>,
    wanted: &ViewRequest,
) -> Result<CachedJob, Status> {
    let marks = store.jobs().marks(std::slice::from_ref(id)).await;
    let mark = marks.map_err(errors::store)?.pop();
    let mark = mark.ok_or_else(|| Status::not_found("the job is gone"))?;
    let mut sign = mark.clone();
    sign.last = None;
    // An empty journal may matter for the machine.
    let goes_on = |now: &CachedJob| {
        let is_there = now.last == mark.last && now.view(wanted).is_some();
        let can_go_on = now.records > 0 || now.last == mark.last;
        now.sign == sign && (is_there || (now.moment.is_some() && can_go_on))
    };
    let (now, _turn) = match before.filter(goes_on) {
        Some(now) if now.last == mark.last => return Ok(now),
        Some(now) => (now, None),
        // Before the journal is read, which may be long.
        None => {
            let turn = REPLAYS.acquire().await;
            (begin(store, id, sign).await?, Some(turn))
        }
    };
    read_on(now).await
}

async fn begin(store: &JobStore, id: &JobId, sign: JobMark) -> Result<CachedJob, Status> {
    let job = store.jobs().get(id).await.map_err(errors::store)?;
    let mut journal = store.journals().open(id).await.map_err(errors::store)?;
    let is_empty = journal.is_empty().await.map_err(errors::store)?;
    let moment = JobSnapshot::begin(job, journal.job(), is_empty).map_err(errors::job)?;
    Ok(CachedJob {
        sign,
        journal,
        last: None,
        records: 0,
        moment: Some(moment),
        weight: 1,
        views: Vec::new(),
    })
}

/// Reads the journal to its end: a page is replayed while the next one is read.
async fn read_on(mut now: CachedJob) -> Result<CachedJob, Status> {
    now.views.clear();
    let mut page = now.journal.entries_after(now.last, PAGE).await;
    loop {
        let entries = page.map_err(errors::store)?;
        let is_last = entries.len() < PAGE as usize;
        now.last = entries.last().map(|entry| entry.sequence).or(now.last);
        let moment = now.moment.take();
        let mut moment = moment.ok_or_else(|| Status::internal("the job is not there"))?;
        let replay = blocking(move || {
            let mut weight = 0;
            for entry in entries {
                weight += weight_of(&entry);
                moment.take(entry);
            }
            if is_last {
                let records = moment.at;
                moment.settle(records);
            }
            (moment, weight)
        });
        let next = async {
            match is_last {
                true => Ok(Vec::new()),
                false => now.journal.entries_after(now.last, PAGE).await,
            }
        };
        let (replayed, next) = tokio::join!(replay, next);
        let (moment, weight) = replayed?;
        now.records = moment.at;
        now.moment = Some(moment);
        now.weight += weight;
        page = next;
        if is_last {
            return Ok(now);
        }
    }
}

/// A job after so many records of its journal, which has more.
async fn past(store: &JobStore, id: &JobId, at: usize) -> Result<JobSnapshot, Status> {
    let _turn = REPLAYS.acquire().await;
    let job = store.jobs().get(id).await.map_err(errors::store)?;
    let journal = store.journals().open(id).await.map_err(errors::store)?;
    let mut moment = JobSnapshot::begin(job, journal.job(), false).map_err(errors::job)?;
    let mut last = None;
    while moment.at < at {
        let page = journal.entries_after(last, PAGE).await;
        let page = page.map_err(errors::store)?;
        let Some(entry) = page.last() else {
            break;
        };
        last = Some(entry.sequence);
        moment = blocking(move || {
            for entry in page {
                if moment.at == at {
                    break;
                }
                moment.take(entry);
            }
            moment
        })
        .await?;
    }
    Ok(moment)
}

/// The requested view of a job, drawn unless it is kept.
async fn drawn(
    mut now: CachedJob,
    wanted: ViewRequest,
) -> Result<(CachedJob, Result<Arc<Evidence>, Status>), Status> {
    if let Some(evidence) = now.view(&wanted) {
        return Ok((now, Ok(evidence)));
    }
    blocking(move || {
        let Some(moment) = &now.moment else {
            let status = Status::internal("the job is not there");
            return (now, Err(status));
        };
        let evidence = Evidence::draw(moment, &wanted);
        let evidence = evidence.map(Arc::new).map_err(undrawn);
        if let Ok(evidence) = &evidence
            && wanted.asked.run.is_none()
        {
            now.views.truncate(MOST_VIEWS - 1);
            let view = View {
                address: wanted.asked.address(),
                waits: wanted.waits,
                evidence: evidence.clone(),
            };
            now.views.insert(0, view);
        }
        (now, evidence)
    })
    .await
}

/// Runs work that takes a processor for a while.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Status> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Status::internal("the job can't be shown"))
}

fn undrawn(error: pinpoint_report::picture::PictureError) -> Status {
    tracing::error!(
        error = &error as &dyn std::error::Error,
        "a page can't be drawn"
    );
    Status::internal("the pictures of the job can't be drawn")
}

/// The bytes that are kept of an entry, roughly: the machine and the measurements both have
/// the values. For a comparison in pairs the machine has a map of them, whose least size is that
/// of eleven charts.
fn weight_of(entry: &JournalEntry) -> usize {
    const RECORD: usize = 300;
    const RUN: usize = 700;
    const MAP: usize = 600;
    const CHART: usize = 100;
    const CHART_OF_PAIR: usize = 250;
    let of_run = |run: &RunReport, of_chart: usize| -> usize {
        let charts = run.charts.values();
        let charts = charts.map(|series| of_chart + 16 * series.values.len());
        RUN + charts.sum::<usize>()
    };
    let more = match &entry.record {
        Record::Reported { report, .. } => match report {
            Report::Ran(run) => of_run(run, CHART),
            Report::RanPair(pair) => [&pair.first, &pair.second]
                .map(|run| MAP + of_run(run, CHART_OF_PAIR))
                .iter()
                .sum(),
            _ => 0,
        },
        _ => 0,
    };
    RECORD + more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> JobId {
        JobId::parse(&format!("0190000000007000800{number:013x}")).unwrap()
    }

    fn kept(kept: &JobCache) -> Vec<JobId> {
        kept.slots().of.keys().cloned().collect()
    }

    #[tokio::test]
    async fn those_not_seen_for_the_longest_make_room_and_those_that_are_followed_last() {
        let all = JobCache::default();
        let held = all.place(&id(0));
        all.weigh(&id(0), 1);
        for number in 1..=MOST_JOBS {
            all.place(&id(number));
            all.weigh(&id(number), 1);
        }
        let expected: Vec<JobId> = (0..=MOST_JOBS).filter(|it| *it != 1).map(id).collect();
        assert_eq!(kept(&all), expected);
        // Bytes count as well. A followed job keeps its place, without its content.
        all.place(&id(100));
        all.weigh(&id(100), MOST_BYTES);
        assert_eq!(kept(&all), [id(0), id(100)]);
        assert_eq!(all.slots().of[&id(0)].weight, 0);
        // The last one stays, however large.
        all.weigh(&id(100), 2 * MOST_BYTES);
        drop(held);
        assert_eq!(kept(&all), [id(0), id(100)]);
    }

    #[tokio::test]
    async fn what_nobody_looks_at_is_dropped() {
        let all = JobCache::default();
        let held = all.place(&id(0));
        all.place(&id(1));
        let now = Instant::now();
        assert!(!all.slots().sweep(now));
        assert_eq!(kept(&all), [id(0), id(1)]);
        assert!(!all.slots().sweep(now + 2 * UNSEEN));
        assert_eq!(kept(&all), [id(0)]);
        drop(held);
        assert!(all.slots().sweep(now + 2 * UNSEEN));
        assert!(kept(&all).is_empty());
    }
}
