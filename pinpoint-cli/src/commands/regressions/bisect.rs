//! `pinpoint regressions bisect`: the bisection of a group, now.

use std::path::Path;

use pinpoint_backends::local::Repository;
use pinpoint_backends::traces::{History, TraceStoreError};
use pinpoint_traces::watch::{
    AlertId, BisectionJob, BisectionOutcome, Event, Group, WatchState, plan_group,
};
use serde_json::json;

use super::names::{Named, find};
use crate::arguments::{Display, Output, RegressionBisect};
use crate::commands::ingest::git;
use crate::commands::traces::open_dataset::OpenDataset;
use crate::commands::watch::bisection::{Bisections, Finished};
use crate::commands::watch::conclude;
use crate::error::CliError;
use crate::exit_code::{FAILED, FOUND, INTERRUPTED, NO_DIFFERENCE, UNDECIDED};
use crate::job::clock::now;
use crate::show::output::{errln, outln, print_result_json};

pub(super) async fn run(arguments: &RegressionBisect, display: &Display) -> Result<u8, CliError> {
    let here = git(|| Repository::discover(Path::new("."))).await;
    let bisections = Bisections::new(here.ok(), &arguments.options, display)?;
    let opened = OpenDataset::open(display, &arguments.by.dataset.dataset).await?;
    let history = &opened.history;
    let job = started(arguments, history, &bisections).await?;
    let state = history.watch_state().await?;
    let outcome = match bisections.carry_out(history, &state, &job).await {
        Err(error) if error.is_interrupt() => {
            errln!("interrupted; the same command continues, and so does `pinpoint watch`");
            return Ok(INTERRUPTED);
        }
        Err(error) => return Err(error),
        Ok(Finished::With(outcome)) => outcome,
        Ok(Finished::Elsewhere) => {
            errln!(
                "another process works on the bisection of group {}",
                job.name
            );
            return Ok(UNDECIDED);
        }
    };
    conclude(history, &job.name, &outcome).await?;
    match display.output {
        Output::Json => print_result_json(&json!({
            "version": 1,
            "group": job.name,
            "regression": job.regression,
            "outcome": outcome,
        })),
        Output::Text => outln!("{}: {outcome}", job.name),
    }
    Ok(match outcome {
        BisectionOutcome::Culprit { .. } => FOUND,
        BisectionOutcome::NotReproduced => NO_DIFFERENCE,
        BisectionOutcome::Failed { .. } => FAILED,
        _ => UNDECIDED,
    })
}

/// The bisection of the group, noted in the log.
async fn started(
    arguments: &RegressionBisect,
    history: &History,
    bisections: &Bisections,
) -> Result<BisectionJob, CliError> {
    loop {
        let mut state = history.watch_state().await?;
        let group = group(&state, &arguments.name, arguments.alert)?;
        let pending = state.pending_jobs().find(|it| it.name == group.name);
        if let Some(job) = pending {
            return Ok(job.clone());
        }
        let alert = history.alert(group.alert).await?;
        let options = arguments.options.plan_options();
        let action = plan_group(&state, &alert, group, &options).map_err(|error| {
            let advice = match error {
                pinpoint_traces::watch::GroupFault::Plan(
                    pinpoint_traces::watch::PlanFault::NoCommand,
                ) => "; name it with --command",
                _ => "",
            };
            CliError::Input(format!("{error}{advice}"))
        })?;
        let Some(job) = action.job.clone() else {
            continue;
        };
        bisections.check(history, &job).await?;
        let event = Event::new(now(), arguments.by.name(), action.into_event());
        match history.append_events(&mut state, &[event]).await {
            Err(TraceStoreError::WatchConflict { .. }) => {}
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(job),
        }
    }
}

/// The group of this name, or the one that a regression of this name is in.
fn group(state: &WatchState, name: &str, alert: Option<AlertId>) -> Result<Group, CliError> {
    let id = match find(state, name)? {
        Named::Group(group) => return Ok(*group),
        Named::Regression(regression) => regression.id.clone(),
    };
    let groups = state.groups().into_iter();
    let groups = groups.filter(|it| it.members.contains(&id));
    let groups = groups.filter(|it| alert.is_none_or(|alert| it.alert == alert));
    let mut groups: Vec<Group> = groups.collect();
    match (groups.pop(), groups.len()) {
        (Some(group), 0) => Ok(group),
        (None, _) => Err(CliError::Input(format!(
            "{id} is in no group: it went back, was taken back, is to be ignored, or no alert sees it"
        ))),
        (Some(_), _) => Err(CliError::Input(format!(
            "{id} is in groups of several alerts; say with --alert which one is meant, or name the group"
        ))),
    }
}
