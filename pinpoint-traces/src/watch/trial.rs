//! An alert, tried over the past.

use std::collections::BTreeMap;

use serde::Serialize;

use super::alarm_count::by_chance;
use super::alert::Alert;
use super::event::{Event, EventKind};
use super::group::Group;
use super::regression::Regression;
use super::run::{RunError, RunInput, run_alerts};
use super::state::WatchState;
use crate::annotation::Annotation;
use crate::commit::CommitNumber;
use crate::frame::Frame;
use crate::id::TraceId;

/// The regressions that an alert would have found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlertTrial {
    /// The regressions, by trace and commit.
    pub regressions: Vec<Regression>,
    /// Their groups.
    pub groups: Vec<Group>,
    /// The values of all traces that it watches.
    pub values: u64,
    /// The regressions to expect if nothing had changed. Absent for detectors without a stated rate.
    pub by_chance: Option<f64>,
}

/// Runs an alert over the past as if all values were new. A deleted one is run as well.
///
/// # Errors
///
/// [`RunError`].
///
/// # Cost
///
/// That of [`run_alerts`].
pub fn try_alert(
    alert: &Alert,
    frame: &Frame,
    annotations: &[Annotation],
) -> Result<AlertTrial, RunError> {
    let mut ingested: Vec<(TraceId, CommitNumber)> = Vec::new();
    for (name, row) in frame.rows() {
        let Some(trace) = name.stored().filter(|it| alert.query.matches_id(it)) else {
            continue;
        };
        let present = frame
            .columns()
            .iter()
            .zip(row)
            .filter(|(_, value)| !value.is_nan());
        ingested.extend(present.map(|(commit, _)| (trace.clone(), commit)));
    }
    let alert = Alert {
        state: super::alert::AlertState::Active,
        ..alert.clone()
    };
    let input = RunInput {
        alerts: std::slice::from_ref(&alert),
        frame,
        ingested: &ingested,
        annotations,
        commits: &BTreeMap::new(),
    };
    let mut state = WatchState::default();
    let mut values = 0;
    for kind in run_alerts(&state, input)? {
        if let EventKind::Tested { values: tested, .. } = &kind {
            values += tested;
        }
        // The run's own events fit the state that they began from.
        let _ = state.apply(&Event::new(0, "", kind));
    }
    let groups = state.groups();
    let mut regressions: Vec<Regression> = state.regressions.into_values().collect();
    regressions.sort_by(|a, b| (&a.change.trace, a.range).cmp(&(&b.change.trace, b.range)));
    Ok(AlertTrial {
        regressions,
        groups,
        values,
        by_chance: by_chance(&alert, values),
    })
}

#[cfg(test)]
mod tests {
    use super::super::detect::noise;
    use super::*;
    use crate::frame::Columns;

    #[test]
    fn a_trial_counts_what_it_found_and_what_chance_gives() {
        let mut frame = Frame::new(Columns::range(CommitNumber(0)..=CommitNumber(99)));
        let still = noise(100);
        let moved: Vec<f64> = (0..)
            .zip(&still)
            .map(|(i, it)| if i < 60 { *it } else { it + 3.0 })
            .collect();
        for (trace, row) in [
            (",t=a,", &still),
            (",t=b,", &moved),
            (",t=c,", &moved),
            (",u=d,", &moved),
        ] {
            frame
                .push(trace.parse::<TraceId>().unwrap().into(), row)
                .unwrap();
        }
        let alert = r#"{"query": "t=*", "rate": 0.001, "state": "DELETED"}"#;
        let trial = try_alert(&Alert::from_json(alert).unwrap(), &frame, &[]).unwrap();
        let traces: Vec<&str> = trial
            .regressions
            .iter()
            .map(|it| it.change.trace.as_str())
            .collect();
        assert_eq!(traces, [",t=b,", ",t=c,"]);
        assert_eq!((trial.groups.len(), trial.values), (1, 300));
        assert!((trial.by_chance.unwrap() - 0.3).abs() < 1e-12);
        let alert = r#"{"query": "t=*", "least_share": 0.9}"#;
        let trial = try_alert(&Alert::from_json(alert).unwrap(), &frame, &[]).unwrap();
        assert!(trial.regressions.is_empty());
    }
}
