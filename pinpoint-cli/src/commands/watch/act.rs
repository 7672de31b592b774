//! Acting on groups that are due: somebody is told, and bisections are started.

use std::collections::BTreeSet;

use pinpoint_backends::traces::{History, TraceStoreError};
use pinpoint_traces::watch::{
    BisectionJob, BisectionOutcome, Event, EventKind, GroupName, PlanOptions, PlanTime, WatchState,
    plan,
};

use super::bisection::{Bisections, Finished};
use crate::error::CliError;
use crate::job::clock::now;
use crate::job::stop::Interrupt;
use crate::show::output::errln;
use crate::show::text::FOUND as WARNING;

/// The author of events of the watcher.
const BY: &str = "watch";

/// Says once what stands in the way of each group.
#[derive(Debug, Default)]
pub(super) struct Told(BTreeSet<(GroupName, String)>);

impl Told {
    fn warn(&mut self, group: &GroupName, reason: String) {
        if self.0.insert((group.clone(), reason.clone())) {
            errln!("{WARNING}warning:{WARNING:#} group {group} is not bisected yet: {reason}");
        }
    }
}

/// Appends what is to be done with the groups that are due: before it is done, so that a crash
/// neither forgets nor repeats it. Returns false if the bisection of one of them can't be started.
pub(super) async fn decide(
    history: &History,
    options: &PlanOptions,
    bisections: &Bisections,
    told: &mut Told,
) -> Result<bool, CliError> {
    // Groups whose bisection can't be started hold up no other.
    let mut options = options.clone();
    let mut checked: BTreeSet<GroupName> = BTreeSet::new();
    loop {
        let mut state = history.watch_state().await?;
        let alerts = history.alerts().await?;
        let at = now();
        let time = PlanTime {
            now: at,
            last_ingest: state.last_run,
        };
        let plan = plan(&state, &alerts, time, &options);
        let passed_over = options.passed_over.len();
        for job in plan.actions.iter().filter_map(|it| it.job.as_ref()) {
            if checked.insert(job.name.clone())
                && let Err(error) = bisections.check(history, job).await
            {
                if error.is_interrupt() {
                    return Err(error);
                }
                told.warn(&job.name, error.to_string());
                options.passed_over.insert(job.name.clone());
            }
        }
        if options.passed_over.len() > passed_over {
            continue;
        }
        let can_start = options.passed_over.is_empty() && plan.faults.is_empty();
        for (group, fault) in plan.faults {
            told.warn(
                &group,
                format!("{fault}; give the alert a command, or the watch --command"),
            );
        }
        for group in &plan.waiting {
            let reason = "as many bisections as --max-jobs allows were started in 24 hours";
            told.warn(group, reason.to_owned());
        }
        let events = plan.actions.into_iter();
        let events = events.map(|it| Event::new(at, BY, it.into_event()));
        let events: Vec<Event> = events.collect();
        if events.is_empty() {
            return Ok(can_start);
        }
        match history.append_events(&mut state, &events).await {
            Err(TraceStoreError::WatchConflict { .. }) => {}
            done => return Ok(done.map(|()| can_start)?),
        }
    }
}

/// Carries out the bisections without an outcome, and appends that. Returns false if one of them
/// failed, or could not be carried out now.
pub(super) async fn carry_out(
    history: &History,
    bisections: &Bisections,
    interrupt: &Interrupt,
) -> Result<bool, CliError> {
    let state = history.watch_state().await?;
    let pending: Vec<BisectionJob> = state.pending_jobs().cloned().collect();
    let mut is_done = true;
    for job in pending {
        if interrupt.is_heard() {
            return Err(CliError::Interrupted);
        }
        match bisections.carry_out(history, &state, &job).await {
            Ok(Finished::With(outcome)) => {
                conclude(history, &job.name, &outcome).await?;
                if outcome.is_failure() {
                    is_done = false;
                    let name = &job.name;
                    errln!(
                        "{WARNING}warning:{WARNING:#} group {name}: {outcome}\nit is not tried again by itself: correct the command or the chart of alert {}, and start it with\n  pinpoint regressions bisect {name}{}",
                        job.alert,
                        in_dataset(history)
                    );
                }
            }
            Ok(Finished::Elsewhere) => errln!(
                "another process carries out the bisection of group {}; a later look writes its outcome",
                job.name
            ),
            Err(error) if error.is_interrupt() => return Err(error),
            Err(error) => {
                is_done = false;
                errln!(
                    "{WARNING}warning:{WARNING:#} the bisection of group {} can't go on: {error}",
                    job.name
                );
            }
        }
    }
    Ok(is_done)
}

/// The option that names the dataset, if it needs one.
pub(crate) fn in_dataset(history: &History) -> String {
    match history.dataset().as_str() {
        "default" => String::new(),
        name => format!(" --dataset {name}"),
    }
}

/// Writes the outcome of a group's bisection, once.
pub(crate) async fn conclude(
    history: &History,
    group: &GroupName,
    outcome: &BisectionOutcome,
) -> Result<(), CliError> {
    let decide = |state: &WatchState| {
        let is_open = state.kept_groups.get(group);
        let is_open = is_open.is_some_and(|it| it.outcome.is_none());
        let kind = is_open.then(|| EventKind::Bisected {
            group: group.clone(),
            outcome: outcome.clone(),
        });
        Ok(kind.into_iter().collect())
    };
    super::log::append(history, BY, decide).await.map(drop)
}
