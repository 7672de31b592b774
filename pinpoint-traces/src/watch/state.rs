//! The state of regressions and groups, as events make it.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_compare::steps::{Fingerprint, Triage, match_fingerprints};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::alarm_count::DAYS_KEPT;
use super::alert::AlertId;
use super::change::{Change, RegressionId};
use super::event::{EVENT_VERSION, Event, EventKind};
use super::group::{Acted, Group, GroupName, open_groups};
use super::job::BisectionJob;
use super::quiet::QuietTrace;
use super::range::CommitRange;
use super::regression::{Label, Regression, Seen};
use crate::commit::CommitNumber;
use crate::id::TraceId;

/// The version of [`WatchState`] that this library writes.
pub const WATCH_STATE_VERSION: u32 = 1;

/// A day, in milliseconds.
pub(super) const DAY: i64 = 86_400_000;

/// All regressions, groups, fingerprints and quiet traces: the events of a log, applied in order.
///
/// The same events give the same state. It is stored to save time alone: the log has everything.
///
/// ```
/// use pinpoint_traces::watch::{Event, EventKind, WatchState};
///
/// let text = r#"{"version": 1, "at": 5, "by": "ann", "event": "taken_back", "regression": "r0"}"#;
/// let event: Event = serde_json::from_str(text).unwrap();
/// let mut state = WatchState::default();
/// // No such regression.
/// assert!(state.apply(&event).is_err());
/// assert_eq!(state, WatchState::default());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchState {
    /// The version of this record, [`WATCH_STATE_VERSION`].
    pub version: u32,
    /// The number of events applied.
    pub events: u64,
    /// All regressions, also those that went back or were taken back.
    pub regressions: BTreeMap<RegressionId, Regression>,
    /// The groups that stay: acted on, or made by hand. [`WatchState::groups`] has the open ones,
    /// too.
    pub kept_groups: BTreeMap<GroupName, Group>,
    /// The fingerprints of clusters, by alert and the text of the query.
    pub fingerprints: BTreeMap<AlertId, BTreeMap<String, Vec<Fingerprint>>>,
    /// The traces that are quiet.
    pub quiet: BTreeMap<TraceId, QuietTrace>,
    /// The values tested, by alert and day of Unix time, for the last days.
    pub tested: BTreeMap<AlertId, BTreeMap<i64, u64>>,
    /// When an alert was run over new values last, in milliseconds of Unix time.
    #[serde(default)]
    pub last_run: Option<i64>,
}

impl Default for WatchState {
    fn default() -> Self {
        Self {
            version: WATCH_STATE_VERSION,
            events: 0,
            regressions: BTreeMap::new(),
            kept_groups: BTreeMap::new(),
            fingerprints: BTreeMap::new(),
            quiet: BTreeMap::new(),
            tested: BTreeMap::new(),
            last_run: None,
        }
    }
}

impl WatchState {
    /// The state after these events.
    ///
    /// # Errors
    ///
    /// [`WatchError`] of the first event that does not fit, with its index.
    pub fn of<'a>(
        events: impl IntoIterator<Item = &'a Event>,
    ) -> Result<Self, (usize, WatchError)> {
        let mut state = Self::default();
        for (index, event) in events.into_iter().enumerate() {
            state.apply(event).map_err(|error| (index, error))?;
        }
        Ok(state)
    }

    /// Reads a state that was stored as JSON.
    ///
    /// # Errors
    ///
    /// [`WatchError::Version`] of a newer one, [`WatchError::Json`].
    pub fn from_json(text: &str) -> Result<Self, WatchError> {
        read_versioned(text, WATCH_STATE_VERSION)
    }

    /// Applies an event. On an error, the state is as it was; so an event that a person asks for is
    /// tried here before it is stored.
    ///
    /// # Errors
    ///
    /// [`WatchError`] for a regression, group or fingerprint that is not there, and for an event of a
    /// newer version.
    pub fn apply(&mut self, event: &Event) -> Result<(), WatchError> {
        if event.version > EVENT_VERSION {
            return Err(WatchError::Version(event.version));
        }
        let at = event.at;
        match &event.kind {
            EventKind::Detected { label, change } => self.found(change, Some(label), at),
            EventKind::MadeByHand { label, change } => {
                self.found(change, label.as_ref(), at);
                let regression = self.regression(&change.id())?;
                // Of one that went back or was taken back, a person thinks otherwise.
                (regression.back_at, regression.is_taken_back) = (None, false);
                regression.is_by_hand = true;
            }
            EventKind::Labeled { regression, label } => {
                self.regression(regression)?;
                self.label(regression, label, at);
            }
            EventKind::Firm { regression } => self.regression(regression)?.change.is_firm = true,
            EventKind::Retracted {
                regression,
                back_at,
            } => {
                let regression = self.regression(regression)?;
                if !regression.is_by_hand {
                    regression.went_back(*back_at);
                }
            }
            EventKind::Stands { regression, now } => self.regression(regression)?.now = Some(*now),
            EventKind::Triaged {
                regression,
                triage,
                message,
            } => {
                let regression = self.regression(regression)?;
                regression.triage = *triage;
                regression.message.clone_from(message);
                regression.triaged_by = Some(event.by.clone());
            }
            EventKind::Moved { regression, range } => {
                let moved = self.regression(regression)?;
                (moved.range, moved.interval) = (*range, *range);
                moved.is_moved = true;
                self.leave(std::slice::from_ref(regression), |group| {
                    !group.is_by_hand && !group.explains(*range)
                });
            }
            EventKind::TakenBack {
                regression,
                message,
            } => {
                let regression = self.regression(regression)?;
                regression.is_taken_back = true;
                regression.message.clone_from(message);
                regression.triaged_by = Some(event.by.clone());
            }
            EventKind::Split { alert, regressions } => {
                let members = self.members(*alert, regressions)?;
                self.put_apart(*alert, members);
            }
            EventKind::Joined { alert, regressions } => {
                let members = self.members(*alert, regressions)?;
                self.join(*alert, members);
            }
            EventKind::ActedOn {
                group,
                job,
                not_bisected,
            } => {
                let acted = Acted {
                    at,
                    job: job.clone(),
                    not_bisected: not_bisected.clone(),
                };
                self.acted_on(group, acted)?;
            }
            EventKind::Bisected { group, outcome } => {
                let found = (self.kept_groups.get_mut(group))
                    .ok_or_else(|| WatchError::NoGroup(group.clone()))?;
                found.outcome = Some(outcome.clone());
                for member in &found.members {
                    if let Some(regression) = self.regressions.get_mut(member) {
                        regression.conclude(outcome);
                    }
                }
            }
            EventKind::Clustered {
                alert,
                query,
                first,
                last,
                clusters,
            } => {
                let of_alert = self.fingerprints.entry(*alert).or_default();
                let stored = of_alert.entry(query.to_string()).or_default();
                let tile = u64::from(first.0)..u64::from(last.0) + 1;
                *stored = match_fingerprints(stored, clusters, tile);
            }
            EventKind::FingerprintTriaged {
                alert,
                query,
                fingerprint,
                triage,
                message,
            } => {
                let entries = self.fingerprints.get_mut(alert);
                let entries = entries.and_then(|it| it.get_mut(&query.to_string()));
                let entry = entries.and_then(|it| it.iter_mut().find(|it| it.id == *fingerprint));
                let entry = entry.ok_or(WatchError::NoFingerprint(*fingerprint))?;
                entry.triage = *triage;
                entry.message.clone_from(message);
            }
            EventKind::Tested { alert, values } => {
                let days = self.tested.entry(*alert).or_default();
                let day = at.div_euclid(DAY);
                *days.entry(day).or_default() += values;
                let newest = days.keys().next_back().copied().unwrap_or(day);
                days.retain(|it, _| *it > newest - DAYS_KEPT);
                self.last_run = self.last_run.max(Some(at));
            }
            EventKind::WentQuiet(quiet) => {
                self.quiet.insert(quiet.trace.clone(), quiet.clone());
            }
            EventKind::Resumed { trace } => {
                self.quiet.remove(trace);
            }
        }
        self.events += 1;
        Ok(())
    }

    /// All groups: those that stay, then the open ones, which follow from the regressions alone.
    ///
    /// # Cost
    ///
    /// O(n log n) of all regressions.
    pub fn groups(&self) -> Vec<Group> {
        let kept = self.kept_groups.values();
        let in_kept: BTreeSet<(AlertId, &RegressionId)> = kept
            .flat_map(|it| it.members.iter().map(|id| (it.alert, id)))
            .collect();
        let open = self.regressions.values().filter(|it| it.is_open());
        let ungrouped = open.flat_map(|regression| {
            let alerts = regression.alerts.iter();
            let ungrouped =
                alerts.filter(|(alert, _)| !in_kept.contains(&(**alert, &regression.id)));
            ungrouped
                .map(|(alert, seen)| (&regression.id, *alert, &*seen.value, regression.interval))
        });
        let mut open = open_groups(ungrouped);
        for group in &mut open {
            group.name = self.unused(std::mem::replace(&mut group.name, "".into()));
        }
        self.kept_groups.values().cloned().chain(open).collect()
    }

    /// The group of this name, also an open one.
    pub fn group(&self, name: &GroupName) -> Option<Group> {
        self.groups().into_iter().find(|it| it.name == *name)
    }

    /// The bisections whose outcome is not known: each is to be started, or found started, under
    /// its name. So a crash between the event and the start loses none and doubles none.
    pub fn pending_jobs(&self) -> impl Iterator<Item = &BisectionJob> {
        let pending = self.kept_groups.values().filter(|it| it.outcome.is_none());
        pending.filter_map(|it| it.acted.as_ref()?.job.as_ref())
    }

    /// The times at which bisections were started, in the order of the names of their groups.
    pub fn job_times(&self) -> Vec<i64> {
        let acted = self.kept_groups.values().filter_map(|it| it.acted.as_ref());
        acted
            .filter(|it| it.job.is_some())
            .map(|it| it.at)
            .collect()
    }

    /// The groups that share each culprit.
    pub fn culprits(&self) -> BTreeMap<CommitNumber, Vec<&GroupName>> {
        let mut culprits: BTreeMap<CommitNumber, Vec<&GroupName>> = BTreeMap::new();
        for group in self.kept_groups.values() {
            if let Some(commit) = group.outcome.as_ref().and_then(|it| it.culprit()) {
                culprits.entry(commit).or_default().push(&group.name);
            }
        }
        culprits
    }

    /// The regressions with this triage that were not taken back, by name.
    pub fn triaged(&self, triage: Triage) -> impl Iterator<Item = &Regression> {
        (self.regressions.values()).filter(move |it| it.triage == triage && !it.is_taken_back)
    }

    fn regression(&mut self, id: &RegressionId) -> Result<&mut Regression, WatchError> {
        self.regressions
            .get_mut(id)
            .ok_or_else(|| WatchError::NoRegression(id.clone()))
    }

    /// Keeps a change, unless it is kept already.
    fn found(&mut self, change: &Change, label: Option<&Label>, at: i64) {
        let id = change.id();
        (self.regressions.entry(id.clone())).or_insert_with(|| Regression::new(change.clone()));
        if let Some(label) = label {
            self.label(&id, label, at);
        }
    }

    /// Adds an alert to a regression, and the regression to the group of that alert that explains it.
    fn label(&mut self, id: &RegressionId, label: &Label, at: i64) {
        let Some(regression) = self.regressions.get_mut(id) else {
            return;
        };
        if regression.alerts.contains_key(&label.alert) {
            return;
        }
        let seen = Seen {
            at,
            query: label.query.clone(),
            value: label.value.clone(),
        };
        regression.alerts.insert(label.alert, seen);
        let explains = |group: &&mut Group| {
            group.alert == label.alert
                && group.value == label.value
                && !group.is_by_hand
                && group.explains(regression.interval)
        };
        let groups = self.kept_groups.values_mut().filter(explains);
        let first = groups.min_by_key(|it| (it.range, it.name.clone()));
        if let Some(group) = first {
            group.members.insert(id.clone());
            group.left.remove(id);
            if let Some(outcome) = &group.outcome {
                regression.conclude(outcome);
            }
        }
    }

    /// Removes regressions from the kept groups that fulfill a condition. An empty group of which
    /// nothing came vanishes.
    fn leave(&mut self, regressions: &[RegressionId], is_left: impl Fn(&Group) -> bool) {
        self.kept_groups.retain(|_, group| {
            if is_left(group) {
                let leaving = regressions.iter().filter(|it| group.members.contains(it));
                group.left.extend(leaving.cloned());
                group.members.retain(|it| !regressions.contains(it));
            }
            group.acted.is_some() || !group.members.is_empty()
        });
    }

    /// Regressions that an alert sees, for a group by hand.
    fn members(
        &self,
        alert: AlertId,
        regressions: &[RegressionId],
    ) -> Result<BTreeSet<RegressionId>, WatchError> {
        for id in regressions {
            let regression = self.regressions.get(id);
            let regression = regression.ok_or_else(|| WatchError::NoRegression(id.clone()))?;
            if !regression.alerts.contains_key(&alert) {
                let regression = id.clone();
                return Err(WatchError::NotSeen { regression, alert });
            }
        }
        if regressions.is_empty() {
            return Err(WatchError::NoMembers);
        }
        Ok(regressions.iter().cloned().collect())
    }

    fn put_apart(&mut self, alert: AlertId, members: BTreeSet<RegressionId>) {
        let leaving: Vec<RegressionId> = members.iter().cloned().collect();
        self.leave(&leaving, |group| group.alert == alert);
        let found = || leaving.iter().filter_map(|id| self.regressions.get(id));
        let ranges: Vec<CommitRange> = found().map(|it| it.interval).collect();
        let shared = ranges
            .iter()
            .copied()
            .map(Some)
            .reduce(|a, b| a?.intersection(b?))
            .flatten();
        let hull = ranges.iter().copied().reduce(CommitRange::hull);
        let value = found().find_map(|it| Some(it.alerts.get(&alert)?.value.clone()));
        let (Some(range), Some(value)) = (shared.or(hull), value) else {
            return;
        };
        let group = Group {
            name: GroupName::of(alert, &value, &members),
            alert,
            value,
            range,
            members,
            left: BTreeSet::new(),
            is_by_hand: true,
            acted: None,
            outcome: None,
        };
        let name = self.unused(group.name.clone());
        let named = Group {
            name: name.clone(),
            ..group
        };
        self.kept_groups.insert(name, named);
    }

    /// The name, or with a number if a group that was acted on has it: its members have left it, and
    /// its bisection is not theirs.
    fn unused(&self, name: GroupName) -> GroupName {
        let numbered = (2..).map(|number| GroupName::from(&*format!("{name}-{number}")));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let unused = names.find(|it| !self.kept_groups.contains_key(it));
        unused.unwrap_or(name)
    }

    /// Joins regressions: the group of one of them that was acted on takes the others.
    fn join(&mut self, alert: AlertId, members: BTreeSet<RegressionId>) {
        let is_taking = |it: &&Group| {
            it.alert == alert && it.acted.is_some() && !it.members.is_disjoint(&members)
        };
        let Some(name) = self
            .kept_groups
            .values()
            .find(is_taking)
            .map(|it| it.name.clone())
        else {
            return self.put_apart(alert, members);
        };
        let joining: Vec<RegressionId> = members.iter().cloned().collect();
        self.leave(&joining, |group| group.alert == alert && group.name != name);
        if let Some(group) = self.kept_groups.get_mut(&name) {
            for member in &members {
                group.left.remove(member);
                if group.members.insert(member.clone())
                    && let Some(outcome) = &group.outcome
                    && let Some(regression) = self.regressions.get_mut(member)
                {
                    regression.conclude(outcome);
                }
            }
        }
    }

    fn acted_on(&mut self, group: &Group, acted: Acted) -> Result<(), WatchError> {
        let unknown = group
            .members
            .iter()
            .find(|it| !self.regressions.contains_key(*it));
        if let Some(id) = unknown {
            return Err(WatchError::NoRegression(id.clone()));
        }
        // One that was only reported, or whose bisection failed, may be bisected yet.
        let is_open = |it: &Group| {
            let may_be_bisected = acted.job.is_some() && !it.is_searched();
            it.name == group.name && (it.acted.is_none() || may_be_bisected)
        };
        let is_acted_on = |it: &&Group| {
            it.alert == group.alert && !is_open(it) && !it.members.is_disjoint(&group.members)
        };
        if let Some(other) = self.kept_groups.values().find(is_acted_on) {
            return Err(WatchError::ActedOn(other.name.clone()));
        }
        let kept = self
            .kept_groups
            .entry(group.name.clone())
            .or_insert_with(|| group.clone());
        kept.acted = Some(acted);
        kept.outcome = None;
        for member in &kept.members {
            if let Some(regression) = self.regressions.get_mut(member) {
                regression.forget_failure();
            }
        }
        Ok(())
    }
}

/// Reads a record of at most this version.
pub(super) fn read_versioned<T: DeserializeOwned>(text: &str, most: u32) -> Result<T, WatchError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let wrong = |error: serde_json::Error| WatchError::Json(error.to_string());
    let Versioned { version } = serde_json::from_str(text).map_err(wrong)?;
    if version > most {
        return Err(WatchError::Version(version));
    }
    serde_json::from_str(text).map_err(wrong)
}

/// An event that does not fit the state, or a record that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// A newer version of Pinpoint wrote it.
    #[error("a record of version {0} was written by a newer Pinpoint")]
    Version(u32),
    /// The text is not such a record.
    #[error("the record can't be read: {0}")]
    Json(String),
    /// A regression is not there.
    #[error("there is no regression `{0}`")]
    NoRegression(RegressionId),
    /// A group is not there, or is open: nothing was done with it.
    #[error("there is no group `{0}` that was acted on")]
    NoGroup(GroupName),
    /// A fingerprint is not there.
    #[error("there is no cluster {0} of this alert and query")]
    NoFingerprint(u64),
    /// An alert does not see a regression, so that it is in none of its groups.
    #[error("the alert {alert} does not see the regression `{regression}`")]
    NotSeen {
        /// The regression.
        regression: RegressionId,
        /// The alert.
        alert: AlertId,
    },
    /// A member of the group is in another one, which a person made or another watcher acted on.
    #[error("a regression of this group is in the group `{0}` already")]
    ActedOn(GroupName),
    /// A group has at least one regression.
    #[error("a group needs at least one regression")]
    NoMembers,
}
