//! The runs of a job, as its journal tells of them.

use std::collections::BTreeMap;

use pinpoint_core::{
    CombinedCommit, Engine, Event, JobKey, Machine, MachineError, PairedRun, Record, Report,
    RunReport, Task,
};

/// A run that was journaled.
pub(super) struct Run {
    pub(super) commit: CombinedCommit,
    pub(super) report: RunReport,
    /// What the machine heard of it; absent when it counted as failed.
    pub(super) values: Option<BTreeMap<String, Vec<f64>>>,
}

/// The runs among these records of a machine's job, in order.
pub(super) fn runs<M: Machine>(
    job: JobKey,
    machine: M,
    records: Vec<Record>,
) -> Result<Vec<Run>, MachineError> {
    let mut engine = Engine::new(job, machine);
    let mut runs = Vec::new();
    for record in records {
        let applied = engine.apply(&record)?;
        let Record::Reported { report, .. } = record else {
            continue;
        };
        let mut add = |position, report, values| {
            runs.extend(engine.names().commit(position).map(|commit| Run {
                commit: commit.clone(),
                report,
                values,
            }));
        };
        let of = |run: PairedRun| run.failure.is_none().then_some(run.values);
        match (applied.task, report, applied.event) {
            (Some(Task::Run { commit, .. }), Report::Ran(report), event) => {
                let values = match event {
                    Some(Event::Ran { values, .. }) => Some(values),
                    _ => None,
                };
                add(commit, report, values);
            }
            (
                Some(Task::RunPair { first, second, .. }),
                Report::RanPair(pair),
                Some(Event::RanPair {
                    first: one,
                    second: other,
                    ..
                }),
            ) => {
                add(first, pair.first, of(one));
                add(second, pair.second, of(other));
            }
            _ => {}
        }
    }
    Ok(runs)
}
