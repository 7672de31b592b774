//! From groups that are due to actions: whom to tell, and what to bisect.

use std::collections::{BTreeMap, BTreeSet};

use super::alert::{Alert, AlertAction, AlertId, Algo};
use super::change::RegressionId;
use super::event::EventKind;
use super::group::{Group, GroupName};
use super::job::{BisectionJob, NotBisected, bisection_job};
use super::regression::Regression;
use super::state::{DAY, WatchState};
use super::template::{Template, TemplateError};

/// Options of [`plan`].
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOptions {
    /// A group is due when its newest member was found this long ago, in milliseconds.
    pub quiet_time: i64,
    /// The most bisections that are started in 24 hours.
    pub max_jobs: usize,
    /// The benchmark's command for alerts that have none.
    pub command: Option<Template>,
    /// The chart for alerts that have none; absent: the trace's `test`.
    pub chart: Option<Template>,
    /// Groups to pass over, such as those whose bisection can't be started: none waits for them.
    pub passed_over: BTreeSet<GroupName>,
}

impl Default for PlanOptions {
    /// 30 minutes, 10 bisections, no command, and the chart `{test}`.
    fn default() -> Self {
        Self {
            quiet_time: 30 * 60_000,
            max_jobs: 10,
            command: None,
            chart: None,
            passed_over: BTreeSet::new(),
        }
    }
}

/// The time that [`plan`] goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanTime {
    /// Now, in milliseconds of Unix time.
    pub now: i64,
    /// When values were ingested and detectors run last: a group whose newest member was found
    /// before is due, too. It is [`WatchState::last_run`].
    pub last_ingest: Option<i64>,
}

/// An action on a group.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedAction {
    /// The group.
    pub group: Group,
    /// The bisection to start; else somebody is notified.
    pub job: Option<BisectionJob>,
    /// The reason why none is started where the alert asks for one.
    pub not_bisected: Option<NotBisected>,
}

impl PlannedAction {
    /// The event to store **before** the job is started or anybody is notified. After a crash,
    /// [`WatchState::pending_jobs`] has the job again, under the same name.
    pub fn into_event(self) -> EventKind {
        EventKind::ActedOn {
            group: self.group,
            job: self.job,
            not_bisected: self.not_bisected,
        }
    }
}

/// The actions that are due.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The actions: bisections first, the largest relative regression first and improvements last.
    pub actions: Vec<PlannedAction>,
    /// Groups whose bisection waits until a day has room for it, in the same order.
    pub waiting: Vec<GroupName>,
    /// Groups whose bisection can't be described, until alert or options are corrected.
    pub faults: Vec<(GroupName, PlanFault)>,
}

/// The reason why the bisection of a group can't be described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFault {
    /// Neither the alert nor the options have a command.
    #[error("no command of the benchmark is known")]
    NoCommand,
    /// Command or chart can't be made for the trace.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// The reason why a group is not bisected that a person asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupFault {
    /// It has a bisection already: one that goes on, or one with an outcome other than a failure.
    #[error(
        "the group `{0}` has a bisection already; split regressions off to search for them again"
    )]
    Bisected(GroupName),
    /// None of its members can be bisected.
    #[error("the group `{group}` can't be bisected: {reason}")]
    NotBisected {
        /// The group.
        group: GroupName,
        /// The reason.
        #[source]
        reason: NotBisected,
    },
    /// Its bisection can't be described.
    #[error(transparent)]
    Plan(#[from] PlanFault),
}

/// The bisection of one group that a person asks for, whatever its alert does and how many bisections
/// a day has. One that failed may be made again: it is another job.
///
/// # Errors
///
/// [`GroupFault`].
pub fn plan_group(
    state: &WatchState,
    alert: &Alert,
    group: Group,
    options: &PlanOptions,
) -> Result<PlannedAction, GroupFault> {
    if group.is_searched() {
        return Err(GroupFault::Bisected(group.name));
    }
    let regression = choice(state, &group, &searched(state));
    let regression = regression.map_err(|reason| GroupFault::NotBisected {
        group: group.name.clone(),
        reason,
    })?;
    let job = describe(&group, regression, alert, options)?;
    Ok(PlannedAction {
        group,
        job: Some(job),
        not_bisected: None,
    })
}

/// Plans what to do with the groups that are due: pure, so that the same state and time give the
/// same plan.
///
/// A group is due when it is not acted on, its alert is active and asks for an action, it has
/// [`Alert::minimum_num`] members, and it has been quiet ([`PlanOptions::quiet_time`], or an ingest
/// since). It is bisected for its largest relative regression; improvements come last. A regression
/// that a bisection of another alert's group searches for is not searched for again. What can't be
/// bisected (a change of the machine, a drift) is reported instead, with the reason.
///
/// # Cost
///
/// That of [`WatchState::groups`].
pub fn plan(state: &WatchState, alerts: &[Alert], time: PlanTime, options: &PlanOptions) -> Plan {
    let by_id: BTreeMap<AlertId, &Alert> = alerts.iter().map(|it| (it.id, it)).collect();
    let mut searched = searched(state);
    let mut candidates = Vec::new();
    let mut plan = Plan::default();
    for group in state.groups() {
        let Some(alert) = by_id.get(&group.alert) else {
            continue;
        };
        if !is_due(state, &group, alert, time, options) {
            continue;
        }
        if alert.action == AlertAction::Bisect {
            candidates.push((group, *alert));
        } else {
            plan.actions.push(PlannedAction {
                group,
                job: None,
                not_bisected: None,
            });
        }
    }
    let mut in_order: Vec<_> = (candidates.into_iter())
        .map(|(group, alert)| {
            let largest = members(state, &group).filter(|it| it.not_bisected().is_none());
            let largest = largest.min_by(|a, b| urgency(a, b));
            (group, alert, largest)
        })
        .collect();
    in_order.sort_by(|(a, _, of_a), (b, _, of_b)| {
        let by_urgency = match (of_a, of_b) {
            (Some(a), Some(b)) => urgency(a, b),
            // Groups that are only told come last.
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        by_urgency.then_with(|| a.name.cmp(&b.name))
    });
    let mut left = jobs_left(time.now, &state.job_times(), options.max_jobs);
    let mut told = std::mem::take(&mut plan.actions);
    for (group, alert, _) in in_order {
        match choice(state, &group, &searched) {
            Err(not_bisected) => told.push(PlannedAction {
                group,
                job: None,
                not_bisected: Some(not_bisected),
            }),
            Ok(_) if left == 0 => plan.waiting.push(group.name),
            Ok(regression) => match describe(&group, regression, alert, options) {
                Err(fault) => plan.faults.push((group.name, fault)),
                Ok(job) => {
                    left -= 1;
                    for member in &group.members {
                        searched
                            .entry(member.clone())
                            .or_insert_with(|| group.name.clone());
                    }
                    plan.actions.push(PlannedAction {
                        group,
                        job: Some(job),
                        not_bisected: None,
                    });
                }
            },
        }
    }
    plan.actions.append(&mut told);
    plan
}

/// The bisections that may be started now, if these were started at these times (milliseconds of
/// Unix time) and at most `most` in any 24 hours.
///
/// ```
/// use pinpoint_traces::watch::jobs_left;
///
/// let day = 86_400_000;
/// assert_eq!(jobs_left(day + 5, &[5, 6, day], 3), 1);
/// assert_eq!(jobs_left(day + 5, &[5, 6, day], 1), 0);
/// ```
pub fn jobs_left(now: i64, earlier: &[i64], most: usize) -> usize {
    let recent = earlier
        .iter()
        .filter(|it| **it > now.saturating_sub(DAY))
        .count();
    most.saturating_sub(recent)
}

/// The members of a group, by name.
fn members<'a>(state: &'a WatchState, group: &Group) -> impl Iterator<Item = &'a Regression> {
    let found = group
        .members
        .iter()
        .filter_map(|id| state.regressions.get(id));
    found.collect::<Vec<_>>().into_iter()
}

fn is_due(
    state: &WatchState,
    group: &Group,
    alert: &Alert,
    time: PlanTime,
    options: &PlanOptions,
) -> bool {
    let seen = |it: &Regression| it.alerts.get(&alert.id).map(|seen| seen.at);
    let newest = members(state, group).filter_map(seen).max();
    let is_quiet = newest.is_some_and(|newest| {
        time.now.saturating_sub(newest) >= options.quiet_time
            || time.last_ingest.is_some_and(|ingest| ingest > newest)
    });
    let open = members(state, group).filter(|it| it.is_open()).count();
    let needed = match alert.algo {
        // Its clusters were large enough, and only some of their members are kept.
        Algo::Kmeans => 1,
        _ => alert.minimum_num.max(1),
    };
    group.acted.is_none()
        && !options.passed_over.contains(&group.name)
        && alert.is_active()
        && alert.action != AlertAction::NoAction
        && open >= needed
        && is_quiet
}

/// The bisection that searches for each regression.
fn searched(state: &WatchState) -> BTreeMap<RegressionId, GroupName> {
    let mut searched = BTreeMap::new();
    for group in state.kept_groups.values() {
        if group.is_searched() {
            for member in &group.members {
                searched.insert(member.clone(), group.name.clone());
            }
        }
    }
    searched
}

/// The most urgent first: regressions before improvements, the larger share first.
fn urgency(a: &Regression, b: &Regression) -> std::cmp::Ordering {
    let share = |it: &Regression| it.change.share().abs();
    (a.is_improvement.cmp(&b.is_improvement))
        .then_with(|| share(b).total_cmp(&share(a)))
        .then_with(|| a.change.trace.cmp(&b.change.trace))
        .then_with(|| a.id.cmp(&b.id))
}

/// The regression to search for, or the reason why none is: that of the most urgent one.
fn choice<'a>(
    state: &'a WatchState,
    group: &Group,
    searched: &BTreeMap<RegressionId, GroupName>,
) -> Result<&'a Regression, NotBisected> {
    let mut in_order: Vec<&Regression> = members(state, group).collect();
    in_order.sort_by(|a, b| urgency(a, b));
    let mut reason = None;
    for regression in in_order {
        let found = regression.not_bisected().or_else(|| {
            let job = searched.get(&regression.id)?.clone();
            Some(NotBisected::Searched { job })
        });
        match found {
            None => return Ok(regression),
            Some(found) => reason = reason.or(Some(found)),
        }
    }
    Err(reason.unwrap_or(NotBisected::Closed))
}

fn describe(
    group: &Group,
    regression: &Regression,
    alert: &Alert,
    options: &PlanOptions,
) -> Result<BisectionJob, PlanFault> {
    let command = (alert.command.as_ref()).or(options.command.as_ref());
    let command = command.ok_or(PlanFault::NoCommand)?;
    let by_default: Template = "{test}".parse()?;
    let chart = (alert.chart.as_ref()).or(options.chart.as_ref());
    let chart = chart.unwrap_or(&by_default);
    Ok(bisection_job(group, regression, command, chart)?)
}
