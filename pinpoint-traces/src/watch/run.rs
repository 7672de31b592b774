//! A run of alerts over new values: which events follow.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_compare::steps::{Shape, StepError};

use super::alert::{Alert, AlertId, Algo};
use super::clusters::by_clusters;
use super::detect::{FoundChange, Series, by_conformal, by_rank};
use super::event::EventKind;
use super::known::Known;
use super::perfherder::by_perfherder;
use super::regression::{Label, Regression, Seen};
use super::standing::standing;
use super::state::WatchState;
use super::sub_query::sub_queries;
use super::windows::by_windows;
use crate::annotation::{Annotation, AnnotationKind};
use crate::commit::CommitNumber;
use crate::frame::Frame;
use crate::id::TraceId;
use crate::query::{Query, QueryError};

/// The input of [`run_alerts`].
#[derive(Debug, Clone, Copy)]
pub struct RunInput<'a> {
    /// The alerts. Deleted ones are passed over.
    pub alerts: &'a [Alert],
    /// The history of the traces, with the new values, and joined
    /// ([`join`](crate::join())) where they go on under another id. Rank detectors need it from its
    /// beginning: a later one may place changes elsewhere.
    pub frame: &'a Frame,
    /// The values that are new. Nothing but traces and queries that they match is run. All of them
    /// count as tested, also those of a trace without a row, which a screen
    /// ([`screen_values`](super::screen_values)) may have left out.
    pub ingested: &'a [(TraceId, CommitNumber)],
    /// Where machines changed.
    pub annotations: &'a [Annotation],
    /// Hashes and times of commits, for clusters. One that is not here has neither.
    pub commits: &'a BTreeMap<CommitNumber, CommitFacts>,
}

/// The hash and the time of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitFacts {
    /// The hash.
    pub hash: String,
    /// When it was made, in milliseconds of Unix time.
    pub time: i64,
}

/// Runs alerts over new values, and returns the events that follow: those that the state does not
/// know.
///
/// A change is reported if it showed at or after the earliest new value of its trace, or else it is old
/// news; so a first run over a long history reports all of it, and a run over one commit that
/// commit's. It is reported once, however many alerts see it, and not again when a person moved it or
/// took it back. Regressions that are known are reported when they went back, when the second
/// detector agrees, and when they stand in another way.
///
/// The events are not yet applied; the caller gives each its time and author.
///
/// # Errors
///
/// [`RunError`], which names the alert.
///
/// # Cost
///
/// About 3 µs for each value of the traces with new values, once for each rate; for windows and
/// clusters, that of their statistics.
pub fn run_alerts(state: &WatchState, input: RunInput<'_>) -> Result<Vec<EventKind>, RunError> {
    let rows: BTreeMap<&TraceId, &[f64]> = (input.frame.rows())
        .filter_map(|(name, row)| Some((name.stored()?, row)))
        .collect();
    let mut fresh: BTreeMap<&TraceId, BTreeSet<CommitNumber>> = BTreeMap::new();
    let mut counts: BTreeMap<&TraceId, u64> = BTreeMap::new();
    for (trace, commit) in input.ingested {
        *counts.entry(trace).or_default() += 1;
        if rows.contains_key(trace) {
            fresh.entry(trace).or_default().insert(*commit);
        }
    }
    // A cluster may hold traces that have no new value.
    let is_clustered = input
        .alerts
        .iter()
        .any(|it| it.is_active() && it.algo == Algo::Kmeans);
    let touched = if is_clustered {
        rows.keys().copied().collect()
    } else {
        fresh.keys().copied().collect()
    };
    let mut run = Run {
        input,
        known: Known::of(state, &touched),
        rows,
        fresh,
        counts,
        found: BTreeMap::new(),
        events: Vec::new(),
    };
    let mut alerts: Vec<&Alert> = input.alerts.iter().filter(|it| it.is_active()).collect();
    alerts.sort_by_key(|it| it.id);
    for alert in alerts {
        run.alert(alert)?;
    }
    run.stand();
    Ok(run.events)
}

struct Run<'a> {
    input: RunInput<'a>,
    rows: BTreeMap<&'a TraceId, &'a [f64]>,
    /// The commits of new values.
    fresh: BTreeMap<&'a TraceId, BTreeSet<CommitNumber>>,
    /// The number of new values of each trace, also of those that have no row.
    counts: BTreeMap<&'a TraceId, u64>,
    known: Known,
    /// The changes of traces by detector and rate, which several alerts may ask for.
    found: BTreeMap<(&'a TraceId, Algo, u64), Vec<FoundChange>>,
    events: Vec<EventKind>,
}

impl<'a> Run<'a> {
    fn alert(&mut self, alert: &Alert) -> Result<(), RunError> {
        let traces = self.fresh.keys().copied();
        let queries = sub_queries(alert, traces).map_err(|reason| RunError::Query {
            alert: alert.id,
            reason,
        })?;
        for query in queries {
            let matching = self
                .fresh
                .iter()
                .filter(|(trace, _)| query.matches_id(trace));
            let matching: Vec<(&'a TraceId, CommitNumber)> = matching
                .filter_map(|(trace, commits)| Some((*trace, *commits.first()?)))
                .collect();
            if alert.algo == Algo::Kmeans {
                self.clusters(alert, &query)?;
                continue;
            }
            for (trace, earliest) in matching {
                let found = self.changes(alert, trace)?;
                self.tell(alert, &query, trace, &found, earliest);
            }
        }
        let is_tested = |(trace, _): &(&&TraceId, &u64)| {
            alert.query.matches_id(trace)
                && alert.group_by.iter().all(|key| trace.get(key).is_some())
        };
        let values = self
            .counts
            .iter()
            .filter(is_tested)
            .map(|(_, count)| count)
            .sum();
        if values > 0 {
            self.events.push(EventKind::Tested {
                alert: alert.id,
                values,
            });
        }
        Ok(())
    }

    /// The changes of a trace, by the detector of an alert.
    fn changes(&mut self, alert: &Alert, trace: &'a TraceId) -> Result<Vec<FoundChange>, RunError> {
        let key = (trace, alert.algo, alert.rate.to_bits());
        if let Some(found) = self.found.get(&key) {
            return Ok(found.clone());
        }
        let row = self.rows.get(trace).copied().unwrap_or_default();
        let series = Series::of(trace, self.input.frame.columns(), row);
        let found = match alert.algo {
            Algo::Rank => by_rank(&series, alert.rate),
            Algo::Conformal => by_conformal(&series, alert.rate),
            Algo::Perfherder => by_perfherder(&series),
            // Its rule is the alert's own.
            Algo::Stepfit | Algo::Kmeans => by_windows(&series, alert),
        };
        let found = found.map_err(|reason| RunError::Step {
            alert: alert.id,
            trace: Some(trace.clone()),
            reason,
        })?;
        if !matches!(alert.algo, Algo::Stepfit | Algo::Kmeans) {
            self.found.insert(key, found.clone());
        }
        Ok(found)
    }

    fn clusters(&mut self, alert: &Alert, query: &Query) -> Result<(), RunError> {
        let rows: Vec<(&'a TraceId, &'a [f64])> = (self.rows.iter())
            .filter(|(trace, _)| query.matches_id(trace))
            .map(|(trace, row)| (*trace, *row))
            .collect();
        let fresh = self
            .fresh
            .iter()
            .filter(|(trace, _)| query.matches_id(trace));
        let ends: BTreeSet<CommitNumber> =
            fresh.flat_map(|(_, commits)| commits).copied().collect();
        let Some(earliest) = ends.first().copied() else {
            return Ok(());
        };
        let seed = seed_of(&format!("{}\n{query}", alert.id));
        let columns = self.input.frame.columns();
        let (all, changes) =
            by_clusters(alert, columns, &rows, &ends, seed).map_err(|reason| RunError::Step {
                alert: alert.id,
                trace: None,
                reason,
            })?;
        for (commit, mut clusters) in all {
            let facts = self.input.commits.get(&commit).cloned().unwrap_or_default();
            for cluster in &mut clusters {
                cluster.hash.clone_from(&facts.hash);
                cluster.time = facts.time;
            }
            let tile = commit.tile();
            self.events.push(EventKind::Clustered {
                alert: alert.id,
                query: query.clone(),
                first: tile.first(),
                last: tile.last(),
                clusters,
            });
        }
        let mut by_trace: BTreeMap<TraceId, Vec<FoundChange>> = BTreeMap::new();
        for found in changes {
            by_trace
                .entry(found.change.trace.clone())
                .or_default()
                .push(found);
        }
        for (trace, found) in by_trace {
            self.tell(alert, query, &trace, &found, earliest);
        }
        Ok(())
    }

    /// Tells what is new of the changes of a trace.
    fn tell(
        &mut self,
        alert: &Alert,
        query: &Query,
        trace: &TraceId,
        found: &[FoundChange],
        earliest: CommitNumber,
    ) {
        let floor = alert.floor_of(trace);
        let matched = self.known.matched(trace, found);
        for (found, known) in found.iter().zip(matched) {
            let change = &found.change;
            // A change of this run at the same place may have come first.
            let known = known.or_else(|| {
                let id = change.id();
                self.known.has(trace, &id).then_some(id)
            });
            let is_small =
                change.shape != Shape::Spread && floor.hides(change.before, change.after);
            let is_told =
                change.shown_at >= earliest && !is_small && alert.direction.admits(change.rose);
            let label = Label {
                alert: alert.id,
                query: query.clone(),
                value: alert.group_of(trace),
            };
            match &known {
                None if is_told => self.detected(found, label),
                Some(id) if is_told && !self.known.is_seen(trace, id, alert.id) => {
                    if let Some(regression) = self.known.get_mut(trace, id) {
                        see(regression, &label);
                    }
                    let regression = id.clone();
                    self.events.push(EventKind::Labeled { regression, label });
                }
                _ => {}
            }
            let id = known.unwrap_or_else(|| change.id());
            let Some(regression) = self.known.get_mut(trace, &id) else {
                continue;
            };
            if regression.is_taken_back || regression.is_by_hand {
                continue;
            }
            if change.is_firm && !regression.change.is_firm {
                regression.change.is_firm = true;
                self.events.push(EventKind::Firm {
                    regression: id.clone(),
                });
            }
            if let (Some(back_at), None) = (found.back_at, regression.back_at) {
                regression.went_back(back_at);
                self.events.push(EventKind::Retracted {
                    regression: id,
                    back_at,
                });
            }
        }
    }

    fn detected(&mut self, found: &FoundChange, label: Label) {
        let mut change = found.change.clone();
        let at =
            |it: &&Annotation| change.interval.contains(it.commit) && it.concerns(&change.trace);
        change.machine = (self.input.annotations.iter())
            .filter(at)
            .find_map(|it| match &it.kind {
                AnnotationKind::MachineChange(machine) => Some(machine.clone()),
                _ => None,
            });
        let mut regression = Regression::new(change.clone());
        see(&mut regression, &label);
        self.known.add(regression);
        self.events.push(EventKind::Detected { label, change });
    }

    /// Tells how the regressions of traces with new values stand, where that changed.
    fn stand(&mut self) {
        for trace in self.fresh.keys().copied() {
            let row = self.rows.get(trace).copied().unwrap_or_default();
            let mut series = None;
            for regression in self.known.of_trace(trace) {
                let change = &regression.change;
                let is_level = change.shape != Shape::Spread;
                if !is_level || regression.back_at.is_some() || regression.is_taken_back {
                    continue;
                }
                let columns = self.input.frame.columns();
                let series = series.get_or_insert_with(|| Series::of(trace, columns, row));
                let since = series.since(regression.range.commit());
                let now = standing(change.before, change.after, &since);
                if let Some(now) = now.filter(|it| regression.now != Some(*it)) {
                    let regression = regression.id.clone();
                    self.events.push(EventKind::Stands { regression, now });
                }
            }
        }
    }
}

/// Notes an alert in the run's own copy; the time is the caller's.
fn see(regression: &mut Regression, label: &Label) {
    let seen = Seen {
        at: 0,
        query: label.query.clone(),
        value: label.value.clone(),
    };
    regression.alerts.insert(label.alert, seen);
}

/// A seed that belongs to a text (FNV-1a).
fn seed_of(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// An alert that can't be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A sub-query can't be made.
    #[error("alert {alert}: {reason}")]
    Query {
        /// The alert.
        alert: AlertId,
        /// The fault.
        #[source]
        reason: QueryError,
    },
    /// A detector rejects values or options.
    #[error("alert {alert}{}: {reason}", .trace.as_ref().map_or(String::new(), |it| format!(", trace `{it}`")))]
    Step {
        /// The alert.
        alert: AlertId,
        /// The trace, if it is of one.
        trace: Option<TraceId>,
        /// The fault.
        #[source]
        reason: StepError,
    },
}
