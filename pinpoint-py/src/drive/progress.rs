//! Reports the progress of a job to Python's caller.

use pinpoint_core::{
    Bisection, CulpritFinder, DriveEvent, Event, JobMachine, Machine, Pairwise, Search,
};
use serde::Serialize;

use super::bridge::Bridge;

#[derive(Debug, Default, Serialize)]
pub(super) struct Progress {
    runs: u64,
    builds: u64,
    runs_to_come: u64,
    /// Commits that may still be a culprit.
    candidates: u64,
    no_change: Option<f64>,
}

/// The report of a step.
#[derive(Serialize)]
struct Step<'a> {
    event: &'static str,
    #[serde(flatten)]
    progress: &'a Progress,
}

/// Tells Python that a run waits for a quiet machine.
pub(super) fn tell_wait(bridge: &Bridge, progress: &Progress) {
    let event = "waiting";
    bridge.tell("progress", 0, &Step { event, progress });
}

/// Tells Python about a step, and keeps the progress of the job.
pub(super) fn tell(
    bridge: &Bridge,
    event: &DriveEvent<'_>,
    machine: &JobMachine,
    progress: &mut Progress,
) {
    let event = match event {
        DriveEvent::Replayed(0) => None,
        DriveEvent::Replayed(_) => Some("resumed"),
        DriveEvent::Recorded { event, .. } => match event {
            Some(Event::Built { .. }) => Some("built"),
            Some(Event::BuildFailed { .. }) => Some("build_failed"),
            Some(Event::Ran { .. }) => Some("ran"),
            Some(Event::RanPair { first, second, .. }) => {
                let failed = first.failure.is_some() || second.failure.is_some();
                Some(if failed { "run_failed" } else { "ran" })
            }
            Some(Event::RunFailed { .. }) => Some("run_failed"),
            Some(Event::GaveUp { .. }) => Some("gave_up"),
            _ => None,
        },
        _ => None,
    };
    let is_finished = machine.outcome().is_some();
    let finished = is_finished.then_some("finished");
    for event in event.into_iter().chain(finished) {
        *progress = match machine.search() {
            Search::Bisection(search) => of_bisection(search),
            Search::Pairwise(search) => of_pairwise(search),
            Search::CulpritFinder(search) => of_culprit_finder(search),
            _ => Progress::default(),
        };
        if is_finished {
            progress.runs_to_come = 0;
        }
        bridge.tell("progress", 0, &Step { event, progress });
    }
}

fn of_bisection(search: &Bisection) -> Progress {
    let progress = search.progress();
    Progress {
        runs: progress.runs,
        builds: progress.builds,
        runs_to_come: progress.runs_to_come,
        candidates: progress.open.iter().map(|range| range.between + 1).sum(),
        no_change: search.posterior().map(|posterior| posterior.no_change),
    }
}

fn of_pairwise(search: &Pairwise) -> Progress {
    let pairs = search.pairs_done();
    Progress {
        runs: 2 * u64::from(pairs),
        builds: search.builds(),
        runs_to_come: 2 * u64::from(search.spec().pairs.saturating_sub(pairs)),
        ..Progress::default()
    }
}

fn of_culprit_finder(search: &CulpritFinder) -> Progress {
    let confirmations = search.confirmations();
    let to_come: u64 = std::iter::once(search.verification())
        .chain(confirmations.filter_map(|(_, comparison)| comparison))
        .filter(|comparison| comparison.outcome().is_none())
        .map(|comparison| of_pairwise(comparison).runs_to_come)
        .sum();
    let bisection = search.bisection().map(of_bisection).unwrap_or_default();
    Progress {
        runs: search.runs(),
        builds: search.builds(),
        runs_to_come: to_come + bisection.runs_to_come,
        ..bisection
    }
}
