//! The answer of `pinpoint alerts try`.

use std::fmt::Write as _;

use pinpoint_report::quantity::count;
use pinpoint_report::words::expected_alarms;
use pinpoint_traces::watch::{AlertTrial, Regression};

use super::regression_list::{trial_groups, ungrouped};
use super::text::{BOLD, DIM, Text, text};
use crate::commands::traces::commit_names::CommitNames;

/// The most groups, and the most regressions in none, that are listed.
const MOST_GROUPS: usize = 20;

pub(crate) fn render(trial: &AlertTrial, traces: usize, names: &CommitNames) -> Text {
    let mut shown = trial_groups(&trial.groups, &trial.regressions, MOST_GROUPS, names);
    if trial.groups.len() > MOST_GROUPS {
        let more = count((trial.groups.len() - MOST_GROUPS) as u64, "group");
        shown = text!("{shown}… and {more} more (--output json has all)\n\n");
    }
    let back: Vec<&Regression> = (trial.regressions.iter())
        .filter(|it| it.back_at.is_some())
        .collect();
    let listed = back.get(..MOST_GROUPS).unwrap_or(&back);
    shown = text!("{shown}{}", ungrouped(listed, names));
    let found = count(trial.regressions.len() as u64, "regression");
    let groups = count(trial.groups.len() as u64, "group");
    let found = match (back.len(), trial.groups.len()) {
        (0, _) => format!("{found} in {groups}"),
        (back, 0) => format!("{found} ({back} went back, in no group)"),
        (back, _) => {
            let grouped = trial.regressions.len() - back;
            format!("{found} ({grouped} in {groups}; {back} went back, in no group)")
        }
    };
    // Writing to a string can't fail.
    let _ = writeln!(
        shown,
        "{BOLD}{found}{BOLD:#} in {} of {}",
        count(trial.values, "value"),
        count(traces as u64, "trace"),
    );
    let chance = match trial.by_chance {
        Some(expected) => format!(
            "{} by chance, if nothing had changed and noise keeps its shape",
            expected_alarms(expected)
        ),
        None => "how many are chance is not known: its detector has no stated rate".into(),
    };
    let _ = writeln!(shown, "{DIM}{chance}{DIM:#}");
    shown
}

#[cfg(test)]
mod tests {
    use pinpoint_traces::watch::{Alert, try_alert};
    use pinpoint_traces::{Columns, CommitNumber, Frame, TraceId};

    use super::*;
    use crate::show::screen_tests::without_styles;

    #[test]
    fn what_went_back_is_listed_and_counted() {
        let columns = Columns::range(CommitNumber(0)..=CommitNumber(99));
        let noise = |i: u32| f64::from((i * i * 37 + i * 11) % 101) / 101.0;
        let spike = |i| if (40..52).contains(&i) { 5.0 } else { 0.0 };
        let step = |i| if i < 60 { 0.0 } else { 3.0 };
        let shown = |steps: &[&dyn Fn(u32) -> f64]| {
            let mut frame = Frame::new(columns.clone());
            for (number, level) in steps.iter().enumerate() {
                let row: Vec<f64> = (0..100).map(|i| 10.0 + noise(i) + level(i)).collect();
                let trace: TraceId = format!(",t={number},").parse().unwrap();
                frame.push(trace.into(), &row).unwrap();
            }
            let alert = Alert::from_json(r#"{"query": "", "direction": "UP"}"#).unwrap();
            let trial = try_alert(&alert, &frame, &[]).unwrap();
            without_styles(&render(&trial, steps.len(), &CommitNames::default()))
        };
        let alone = shown(&[&spike]);
        assert!(alone.contains("a spike: back at commit 52"), "{alone}");
        let counted = "1 regression (1 went back, in no group) in 100 values of 1 trace";
        assert!(alone.contains(counted), "{alone}");
        let both = shown(&[&spike, &step]);
        let counted = "2 regressions (1 in 1 group; 1 went back, in no group) in 200 values";
        assert!(both.contains(counted), "{both}");
        let step = shown(&[&step]);
        assert!(
            step.contains("1 regression in 1 group in 100 values"),
            "{step}"
        );
    }
}
