//! The alerts over what is new: one transaction has the events and what was seen for them.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_backends::traces::{History, Select, TraceStoreError, Unseen, ValuesAt, ValuesOf};
use pinpoint_traces::watch::{
    Alert, AlertId, Algo, CommitFacts, Event, EventKind, Rhythm, RunInput, WatchState,
    quiet_events, quiet_traces, run_alerts,
};
use pinpoint_traces::{Annotation, CommitNumber, Frame, Joined, TILE_SIZE, TraceId};

use crate::commands::traces::open_dataset::{ALL, OpenDataset};
use crate::error::CliError;
use crate::job::clock::now;
use crate::job::stop::Interrupt;

/// The author of events of detectors.
const BY: &str = "watch";

/// Traces are read together until they may have this many values: 64 MiB.
const MOST_VALUES: usize = 1 << 23;

/// Runs the alerts over the values that were not seen yet, and appends what follows. Returns false if
/// there are no alerts. The first run takes values from the commit `since` on for new.
pub(super) async fn detect(
    history: &History,
    since: Option<&str>,
    interrupt: &Interrupt,
) -> Result<bool, CliError> {
    loop {
        let alerts = history.alerts().await?.into_iter();
        let alerts: Vec<Alert> = alerts.filter(Alert::is_active).collect();
        if alerts.is_empty() {
            // The first run of the first alert is over all values.
            return Ok(false);
        }
        let mut state = history.watch_state().await?;
        let unseen = history.unseen().await?;
        if unseen.is_empty() {
            return Ok(true);
        }
        let mut run = Run::new(history, &alerts, &state, &unseen, interrupt).await?;
        if let (true, Some(commit)) = (unseen.is_all, since) {
            let history = history.clone();
            run.since = OpenDataset { history }.commit(commit).await?;
        }
        let events = run.events().await?;
        match history.append_seen(&mut state, &events, &unseen).await {
            // Somebody said something of a regression, or another process watches, too.
            Err(TraceStoreError::WatchConflict { .. }) => {}
            done => return Ok(done.map(|()| true)?),
        }
    }
}

/// A run of alerts.
struct Run<'a> {
    history: &'a History,
    interrupt: &'a Interrupt,
    alerts: &'a [Alert],
    /// The new values, those of old ids under the new ones; absent if all are new.
    fresh: Option<BTreeMap<TraceId, BTreeSet<CommitNumber>>>,
    /// If all are new, those from this commit on count.
    since: CommitNumber,
    /// The ids under which series do not go on, each with the next one.
    renamed: BTreeMap<TraceId, TraceId>,
    /// The traces that any alert watches, without old ids of others.
    watched: BTreeSet<TraceId>,
    annotations: Vec<Annotation>,
    before: &'a WatchState,
    /// The state with the events of this run.
    state: WatchState,
    at: i64,
    events: Vec<Event>,
    /// Values tested, by alert.
    tested: BTreeMap<AlertId, u64>,
}

impl<'a> Run<'a> {
    async fn new(
        history: &'a History,
        alerts: &'a [Alert],
        state: &'a WatchState,
        unseen: &Unseen,
        interrupt: &'a Interrupt,
    ) -> Result<Self, CliError> {
        let renamed = renamed(history).await?;
        let mut watched = BTreeSet::new();
        for alert in alerts {
            let ids = history.ids(Select::Query(&alert.query), u64::MAX).await?;
            watched.extend(ids.into_iter().filter(|it| !renamed.contains_key(it)));
        }
        let fresh = (!unseen.is_all).then(|| {
            let mut fresh: BTreeMap<TraceId, BTreeSet<CommitNumber>> = BTreeMap::new();
            for (trace, commits) in &unseen.values {
                let trace = newest_id(&renamed, trace).clone();
                fresh.entry(trace).or_default().extend(commits);
            }
            fresh
        });
        let annotations = history.annotations(ALL).await?.into_iter();
        Ok(Self {
            history,
            interrupt,
            alerts,
            fresh,
            since: CommitNumber(0),
            renamed,
            watched,
            annotations: annotations.map(|it| it.annotation).collect(),
            before: state,
            state: state.clone(),
            at: now(),
            events: Vec::new(),
            tested: BTreeMap::new(),
        })
    }

    /// The events that follow, in order.
    async fn events(mut self) -> Result<Vec<Event>, CliError> {
        let (clustered, alone): (Vec<Alert>, Vec<Alert>) =
            (self.alerts.iter().cloned()).partition(|it| it.algo == Algo::Kmeans);
        let mut rhythms = Vec::new();
        let ids: Vec<TraceId> = self.watched.iter().cloned().collect();
        let tiles = self.history.tiles().await?.len();
        let at_a_time = MOST_VALUES / (tiles * TILE_SIZE as usize).max(1);
        for ids in ids.chunks(at_a_time.max(1)) {
            if self.interrupt.is_heard() {
                return Err(CliError::Interrupted);
            }
            let frame = self.frame(ValuesOf::Ids(ids)).await?;
            rhythms.extend(rhythms_of(&frame));
            self.run(&alone, &frame, &BTreeMap::new())?;
        }
        for alert in &clustered {
            let frame = self.frame(ValuesOf::Query(&alert.query)).await?;
            let facts = self.commits(&frame).await?;
            self.run(std::slice::from_ref(alert), &frame, &facts)?;
        }
        let newest = rhythms.iter().map(|(_, rhythm)| rhythm.last).max();
        if let Some(newest) = newest {
            let quiet = quiet_traces(&rhythms, newest);
            let has_values = |trace: &TraceId| {
                // One that was joined goes on under another id.
                let fresh = self.fresh.as_ref();
                self.renamed.contains_key(trace) || fresh.is_none_or(|it| it.contains_key(trace))
            };
            let kinds = quiet_events(self.before, &quiet, has_values);
            kinds.into_iter().try_for_each(|it| self.tell(it))?;
        }
        for (alert, values) in std::mem::take(&mut self.tested) {
            self.tell(EventKind::Tested { alert, values })?;
        }
        Ok(self.events)
    }

    async fn frame(&self, of: ValuesOf<'_>) -> Result<Frame, CliError> {
        let at = ValuesAt::Last(usize::MAX);
        Ok(self.history.values(of, &at, u64::MAX).await?.frame)
    }

    fn run(
        &mut self,
        alerts: &[Alert],
        frame: &Frame,
        commits: &BTreeMap<CommitNumber, CommitFacts>,
    ) -> Result<(), CliError> {
        let ingested = self.ingested(frame);
        let input = RunInput {
            alerts,
            frame,
            ingested: &ingested,
            annotations: &self.annotations,
            commits,
        };
        // A long computation, for which the runtime's other thread listens to signals.
        let found = tokio::task::block_in_place(|| run_alerts(&self.state, input));
        for kind in found.map_err(|error| CliError::Input(error.to_string()))? {
            match kind {
                EventKind::Tested { alert, values } => {
                    *self.tested.entry(alert).or_default() += values;
                }
                kind => self.tell(kind)?,
            }
        }
        Ok(())
    }

    fn tell(&mut self, kind: EventKind) -> Result<(), CliError> {
        let event = Event::new(self.at, BY, kind);
        (self.state.apply(&event)).map_err(TraceStoreError::from)?;
        self.events.push(event);
        Ok(())
    }

    /// The new values of a frame's rows.
    fn ingested(&self, frame: &Frame) -> Vec<(TraceId, CommitNumber)> {
        let mut ingested = Vec::new();
        for (name, row) in frame.rows() {
            let Some(trace) = name.stored().filter(|it| self.watched.contains(it)) else {
                continue;
            };
            match &self.fresh {
                None => {
                    let present = frame.columns().iter().zip(row);
                    let present =
                        present.filter(|(commit, value)| !value.is_nan() && *commit >= self.since);
                    ingested.extend(present.map(|(commit, _)| (trace.clone(), commit)));
                }
                Some(fresh) => {
                    let commits = fresh.get(trace).into_iter().flatten();
                    ingested.extend(commits.map(|commit| (trace.clone(), *commit)));
                }
            }
        }
        ingested
    }

    /// The hashes and times of a frame's commits.
    async fn commits(
        &self,
        frame: &Frame,
    ) -> Result<BTreeMap<CommitNumber, CommitFacts>, CliError> {
        let columns: Vec<CommitNumber> = frame.columns().iter().collect();
        let (Some(first), Some(last)) = (columns.first(), columns.last()) else {
            return Ok(BTreeMap::new());
        };
        let known = self.history.commits(*first..=*last).await?.into_iter();
        let facts = known.map(|it| {
            let facts = CommitFacts {
                hash: it.hash,
                time: it.time.saturating_mul(1000),
            };
            (it.number, facts)
        });
        Ok(facts.collect())
    }
}

fn rhythms_of(frame: &Frame) -> Vec<(TraceId, Rhythm)> {
    let rows = frame.rows().filter_map(|(name, row)| {
        let present = frame.columns().iter().zip(row);
        let present = present.filter(|(_, value)| !value.is_nan());
        let rhythm = Rhythm::of(present.map(|(commit, _)| commit))?;
        Some((name.stored()?.clone(), rhythm))
    });
    rows.collect()
}

/// The ids under which series do not go on, each with the next one, if the dataset has that.
async fn renamed(history: &History) -> Result<BTreeMap<TraceId, TraceId>, CliError> {
    let joins: Vec<Joined> = (history.joins().await?.into_iter())
        .map(|(_, it)| it)
        .collect();
    let afters: Vec<TraceId> = joins.iter().map(|it| it.after.clone()).collect();
    let known: BTreeSet<TraceId> = (history.ids(Select::Ids(&afters), u64::MAX).await?)
        .into_iter()
        .collect();
    let joins = joins.into_iter().filter(|it| known.contains(&it.after));
    Ok(joins.map(|it| (it.before, it.after)).collect())
}

/// The id under which a series goes on.
fn newest_id<'a>(renamed: &'a BTreeMap<TraceId, TraceId>, trace: &'a TraceId) -> &'a TraceId {
    let mut id = trace;
    // A circle of joins is a mistake that must not stop the watch.
    for _ in 0..renamed.len() {
        match renamed.get(id) {
            Some(next) => id = next,
            None => break,
        }
    }
    id
}
