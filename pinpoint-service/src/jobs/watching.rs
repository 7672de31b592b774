//! Watching jobs: the records of their journals, and their state.
//!
//! However many watch, a process asks the store one question at a time: which of the watched jobs
//! have changed? The journal of a changed one is read on once, and the result is kept for all its
//! watchers while there are any. Each of them takes it at its own pace: only a place in the journal
//! tells two apart, and a watcher that stops reading is cut off.
//!
//! Records come in order and without a gap. Everything else is current: a watcher that begins, or
//! that was slow, gets the newest state, progress and so on, and not those between.

mod marks;
pub(crate) mod replay;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use axum::body::Bytes;
use pinpoint_backends::store::{JobId, JobMark, JobStore};
use prost::Message;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use tonic::{Code, Status};

pub(crate) use self::marks::{Marks, ObservedMark};
use self::replay::{ReplayReader, ReplayUpdate};
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::watch_job_event::Event;
use crate::api::grpc::v2::messages::{SequenceRange, WatchJobEvent, Withdrawn};
use crate::api::grpc::v2::show;
use crate::api::rest::to_json;
use crate::phase::{Phase, ending};

/// The batches that wait for a watcher to take them.
const BUFFER: usize = 4;

/// The records of a batch.
const BATCH: usize = 64;

/// The time after which a stream ends: the rights of its caller were looked up when it began, and a
/// client that resumes by the id must still have them.
pub(crate) const LIFETIME: Duration = Duration::from_secs(15 * 60);

/// The time after which a store that is away is asked again.
const AWAY: Duration = Duration::from_millis(100);

/// The watchers of a process.
#[derive(Debug, Clone)]
pub struct Watches {
    marks: Marks,
    /// The longest that a watcher may take for an event.
    patience: Duration,
    /// The longest that a stream lasts.
    lifetime: Duration,
    feeds: Arc<Mutex<BTreeMap<JobId, Weak<Feed>>>>,
}

impl Default for Watches {
    fn default() -> Self {
        Self::new(
            Duration::from_millis(100),
            Duration::from_secs(30),
            LIFETIME,
        )
    }
}

/// An event, which all watchers share.
#[derive(Debug)]
struct SharedEvent {
    /// The sequence number, of a record.
    sequence: Option<i64>,
    message: WatchJobEvent,
    /// As server-sent events write it.
    text: OnceLock<Bytes>,
}

impl SharedEvent {
    fn new(event: Event) -> Self {
        Self {
            sequence: match &event {
                Event::Record(record) => Some(record.sequence),
                _ => None,
            },
            message: WatchJobEvent { event: Some(event) },
            text: OnceLock::new(),
        }
    }

    /// The event as server-sent events write it, with the sequence number of a record for id.
    fn text(&self) -> &Bytes {
        let write = || {
            let name = match &self.message.event {
                Some(Event::Record(_)) => "record",
                Some(Event::State(_)) => "state",
                Some(Event::Progress(_)) => "progress",
                Some(Event::Posterior(_)) => "posterior",
                Some(Event::Estimate(_)) => "estimate",
                Some(Event::Withdrawn(_)) | None => "withdrawn",
            };
            let id = self.sequence.map(|sequence| format!("id: {sequence}\n"));
            let id = id.unwrap_or_default();
            let json = to_json("pinpoint.v2.WatchJobEvent", &self.message.encode_to_vec());
            let json = json.unwrap_or_else(|_| b"{}".to_vec());
            let before = format!("event: {name}\n{id}data: ");
            [before.as_bytes(), &json, b"\n\n"].concat().into()
        };
        self.text.get_or_init(write)
    }
}

/// Events that follow each other, which all watchers share that have come as far.
#[derive(Debug)]
pub(crate) struct Batch {
    events: Vec<Arc<SharedEvent>>,
    /// As server-sent events write them.
    text: OnceLock<Bytes>,
}

impl Batch {
    pub(crate) fn messages(&self) -> impl Iterator<Item = WatchJobEvent> {
        self.events.iter().map(|told| told.message.clone())
    }

    pub(crate) fn text(&self) -> Bytes {
        let write = || {
            let texts: Vec<&[u8]> = self.events.iter().map(|told| &**told.text()).collect();
            texts.concat().into()
        };
        self.text.get_or_init(write).clone()
    }
}

/// The journal of a watched job as read so far, for all of its watchers.
#[derive(Debug)]
struct Feed {
    known: Mutex<FeedState>,
    /// Notified of each change.
    changed: watch::Sender<()>,
    /// Dropped with the feed, which tells the task that reads the job to stop.
    _is_watched: oneshot::Sender<()>,
}

#[derive(Debug, Default)]
struct FeedState {
    /// By sequence number, without withdrawn ones.
    records: BTreeMap<i64, Arc<SharedEvent>>,
    withdrawn: Vec<SequenceRange>,
    /// The newest of each, with a number that rises: progress, posterior, estimate, state.
    newest: [Option<(u64, Arc<SharedEvent>)>; 4],
    /// The number of withdrawals, and the number of the newest of the others.
    withdrawals: u64,
    number: u64,
    /// The mark up to which the job was read.
    mark: Option<JobMark>,
    end: Option<End>,
    /// The last batch, with the places before and after it, until something changes: most
    /// watchers are at the same place.
    last: Option<(Cursor, Cursor, Arc<Batch>)>,
}

/// The reason why no more events come.
#[derive(Debug, Clone)]
enum End {
    /// The job has ended.
    Ended,
    /// It can't be read.
    Failed(Status),
}

/// The place of a watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cursor {
    /// The last record that was sent; below all others if there was none.
    after: i64,
    withdrawals: u64,
    newest: [u64; 4],
}

impl FeedState {
    /// Keeps the newest of a kind of event, if it differs.
    fn set(&mut self, kind: usize, event: Option<Event>) {
        let Some(event) = event else {
            return;
        };
        let is_known = self.newest[kind]
            .as_ref()
            .is_some_and(|(_, told)| told.message.event.as_ref() == Some(&event));
        if !is_known {
            self.number += 1;
            self.newest[kind] = Some((self.number, Arc::new(SharedEvent::new(event))));
        }
    }

    /// The next batch of a watcher; none if it has all events.
    fn next(&mut self, cursor: &mut Cursor) -> Option<Arc<Batch>> {
        if let Some((before, after, batch)) = &self.last
            && before == cursor
        {
            cursor.clone_from(after);
            return Some(batch.clone());
        }
        let before = cursor.clone();
        let events = self.events_after(cursor);
        if events.is_empty() {
            return None;
        }
        let batch = Arc::new(Batch {
            events,
            text: OnceLock::new(),
        });
        self.last = Some((before, cursor.clone(), batch.clone()));
        Some(batch)
    }

    fn events_after(&self, cursor: &mut Cursor) -> Vec<Arc<SharedEvent>> {
        let mut next = Vec::new();
        if cursor.withdrawals < self.withdrawals {
            cursor.withdrawals = self.withdrawals;
            let known = self.withdrawn.iter().filter(|it| it.first <= cursor.after);
            let ranges: Vec<_> = known.copied().collect();
            if !ranges.is_empty() {
                let event = Event::Withdrawn(Withdrawn { ranges });
                next.push(Arc::new(SharedEvent::new(event)));
            }
        }
        let Some(first) = cursor.after.checked_add(1) else {
            return next;
        };
        for (sequence, record) in self.records.range(first..).take(BATCH) {
            cursor.after = *sequence;
            next.push(record.clone());
        }
        if next.len() >= BATCH {
            return next;
        }
        for (seen, newest) in cursor.newest.iter_mut().zip(&self.newest) {
            if let Some((number, told)) = newest
                && number > seen
            {
                *seen = *number;
                next.push(told.clone());
            }
        }
        next
    }
}

impl Feed {
    fn known(&self) -> MutexGuard<'_, FeedState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watches {
    /// Watchers of jobs with this interval between looks, this patience for an event, and this
    /// length of streams.
    pub fn new(interval: Duration, patience: Duration, lifetime: Duration) -> Self {
        Self {
            marks: Marks::new(interval),
            patience,
            lifetime,
            feeds: Arc::default(),
        }
    }

    /// The marks of the jobs that are watched.
    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// The events of a job, which has this mark, after the record of this number.
    pub(crate) fn watch(
        &self,
        store: &JobStore,
        mut phase: watch::Receiver<Phase>,
        mark: &JobMark,
        after: Option<i64>,
    ) -> mpsc::Receiver<Result<Arc<Batch>, Status>> {
        let (tell, told) = mpsc::channel(BUFFER);
        let feed = self.feed(store, mark);
        let (patience, lifetime) = (self.patience, self.lifetime);
        tokio::spawn(async move {
            let expires = Instant::now() + lifetime;
            let ending = ending(&mut phase);
            tokio::pin!(ending);
            let mut changes = feed.changed.subscribe();
            let mut cursor = Cursor {
                after: after.unwrap_or(i64::MIN),
                withdrawals: 0,
                newest: [0; 4],
            };
            while Instant::now() < expires {
                let (next, end) = {
                    let mut known = feed.known();
                    (known.next(&mut cursor), known.end.clone())
                };
                if let Some(batch) = next {
                    // A watcher that does not read is cut off, and can resume by the id.
                    match tell.send_timeout(Ok(batch), patience).await {
                        Ok(()) => continue,
                        Err(_) => return,
                    }
                }
                match end {
                    None => {}
                    Some(End::Ended) => return,
                    Some(End::Failed(status)) => {
                        // A watcher that has gone needs no error.
                        let _ = tell.send_timeout(Err(status), patience).await;
                        return;
                    }
                }
                tokio::select! {
                    changed = changes.changed() => {
                        if changed.is_err() {
                            return;
                        }
                    }
                    () = tell.closed() => return,
                    // Watchers continue at another process.
                    () = &mut ending => return,
                    () = sleep_until(expires) => return,
                }
            }
        });
        told
    }

    fn feed(&self, store: &JobStore, now: &JobMark) -> Arc<Feed> {
        let job = &now.id;
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        // Ended ones stay for later watchers, while there are any.
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let there = feeds.get(job).and_then(Weak::upgrade);
        // An ended job may have been resumed.
        let is_valid = |feed: &Arc<Feed>| {
            let known = feed.known();
            match known.end {
                None => true,
                Some(End::Ended) => known.mark.as_ref() == Some(now),
                Some(End::Failed(_)) => false,
            }
        };
        if let Some(feed) = there.filter(is_valid) {
            return feed;
        }
        let (is_watched, unwatched) = oneshot::channel();
        let feed = Arc::new(Feed {
            known: Mutex::default(),
            changed: watch::Sender::new(()),
            _is_watched: is_watched,
        });
        feeds.insert(job.clone(), Arc::downgrade(&feed));
        let reader = ReplayReader::new(store.clone(), job.clone());
        let marks = self.marks.of(store, job);
        let follow = follow(Arc::downgrade(&feed), reader, marks);
        tokio::spawn(async move {
            tokio::select! {
                () = follow => {}
                _ = unwatched => {}
            }
        });
        feed
    }
}

/// Reads a job on whenever its mark has changed, as long as somebody watches it.
async fn follow(
    feed: Weak<Feed>,
    mut reader: ReplayReader,
    mut marks: watch::Receiver<ObservedMark>,
) {
    while marks.changed().await.is_ok() {
        let seen = marks.borrow_and_update().clone();
        let (mark, read) = match seen {
            ObservedMark::Nothing => continue,
            ObservedMark::Gone => (None, Err(Status::not_found("the job is gone"))),
            ObservedMark::Marked(mark) => {
                let read = read_until_it_can_be(&mut reader, &mark).await;
                (Some(mark), read)
            }
        };
        let Some(feed) = feed.upgrade() else {
            return;
        };
        let mut known = feed.known();
        known.last = None;
        known.mark = mark;
        match read {
            Ok(read) => {
                if let Some(withdrawn) = read.withdrawn {
                    known.records.retain(|sequence, _| {
                        !(withdrawn.iter()).any(|it| (it.first..=it.last).contains(sequence))
                    });
                    if known.withdrawn != withdrawn {
                        known.withdrawn = withdrawn;
                        known.withdrawals += 1;
                    }
                }
                for record in read.records {
                    let sequence = record.sequence;
                    let told = SharedEvent::new(Event::Record(record));
                    known.records.entry(sequence).or_insert(Arc::new(told));
                }
                known.set(0, read.progress.map(Event::Progress));
                known.set(1, read.posterior.map(Event::Posterior));
                known.set(2, read.estimate.map(Event::Estimate));
                known.set(3, Some(Event::State(show::summary(&read.job))));
                if read.job.state.has_ended() {
                    known.end = Some(End::Ended);
                }
            }
            Err(status) => known.end = Some(End::Failed(status)),
        }
        let is_over = known.end.is_some();
        drop(known);
        feed.changed.send_replace(());
        if is_over {
            return;
        }
    }
}

/// Reads a job on, and tries again while the store is away.
async fn read_until_it_can_be(
    reader: &mut ReplayReader,
    mark: &JobMark,
) -> Result<ReplayUpdate, Status> {
    loop {
        match reader.read(mark).await {
            Ok(read) => return Ok(read),
            Err(error) => {
                let status = errors::job(error);
                if status.code() != Code::Unavailable {
                    return Err(status);
                }
                tokio::time::sleep(AWAY).await;
            }
        }
    }
}
