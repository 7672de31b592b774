//! The answer of `pinpoint alerts try`.

use std::fmt::Write as _;

use pinpoint_report::quantity::count;
use pinpoint_report::words::expected_alarms;
use pinpoint_traces::watch::AlertTrial;

use super::regression_list::trial_groups;
use super::text::{BOLD, DIM, Text, text};
use crate::commands::traces::commit_names::CommitNames;

/// The most groups that are listed.
const MOST_GROUPS: usize = 20;

pub(crate) fn render(trial: &AlertTrial, traces: usize, names: &CommitNames) -> Text {
    let mut shown = trial_groups(&trial.groups, &trial.regressions, MOST_GROUPS, names);
    if trial.groups.len() > MOST_GROUPS {
        let more = count((trial.groups.len() - MOST_GROUPS) as u64, "group");
        shown = text!("{shown}… and {more} more (--output json has all)\n\n");
    }
    let found = count(trial.regressions.len() as u64, "regression");
    let groups = count(trial.groups.len() as u64, "group");
    // Writing to a string can't fail.
    let _ = writeln!(
        shown,
        "{BOLD}{found} in {groups}{BOLD:#}, spikes among them, in {} of {}",
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
