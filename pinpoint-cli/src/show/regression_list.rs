//! Regressions and their groups, for people and as documents.

use std::fmt::Write as _;

use pinpoint_report::quantity::{digits, percent_change};
use pinpoint_traces::Shape;
use pinpoint_traces::watch::{Event, Group, Regression, Standing, Triage, WatchState};
use serde_json::{Value, json};

use super::text::{BOLD, DIM, ERROR, FOUND, GOOD, Text, in_list, one_line};
use crate::commands::traces::commit_names::CommitNames;

/// A group with its members, as they are shown.
pub(crate) struct GroupRow<'a> {
    pub(crate) group: Group,
    pub(crate) members: Vec<&'a Regression>,
    /// The name of the alert.
    pub(crate) alert: String,
}

impl<'a> GroupRow<'a> {
    pub(crate) fn of(group: Group, state: &'a WatchState, alert: String) -> Self {
        let members = group.members.iter();
        let mut members: Vec<&Regression> =
            members.filter_map(|id| state.regressions.get(id)).collect();
        members.sort_by(|a, b| (a.range, &a.change.trace).cmp(&(b.range, &b.change.trace)));
        Self {
            group,
            members,
            alert,
        }
    }

    /// Returns true if somebody has to look at it.
    pub(crate) fn is_untriaged(&self) -> bool {
        (self.members.iter()).any(|it| it.is_open() && it.triage == Triage::New)
    }

    /// When its first member was found.
    pub(crate) fn found_at(&self) -> i64 {
        let alert = self.group.alert;
        let times = self
            .members
            .iter()
            .filter_map(|it| Some(it.alerts.get(&alert)?.at));
        times.min().unwrap_or(i64::MAX)
    }
}

/// The group and its members, with the hashes of commits.
pub(crate) fn group_document(row: &GroupRow<'_>, names: &CommitNames) -> Value {
    let mut document = json!(row.group);
    let members = row.members.iter();
    document["members"] = members.map(|it| regression_document(it, names)).collect();
    document["alert_name"] = json!(row.alert);
    document
}

pub(crate) fn regression_document(regression: &Regression, names: &CommitNames) -> Value {
    let mut document = json!(regression);
    document["hash"] = json!(names.hash(regression.range.commit()));
    document["previous_hash"] = json!(names.hash(regression.range.previous()));
    document
}

pub(crate) fn groups(rows: &[GroupRow<'_>], names: &CommitNames) -> Text {
    let mut text = Text::default();
    for row in rows {
        let group = &row.group;
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "{BOLD}{}{BOLD:#}  {}{}: {}",
            group.name,
            row.alert,
            match group.value.as_str() {
                "" => String::new(),
                value => format!(", {value}"),
            },
            names.range(group.range),
        );
        if let Some(done) = done(group) {
            let _ = writeln!(text, "  {DIM}{}{DIM:#}", in_list(&done));
        }
        for regression in &row.members {
            write_regression(&mut text, regression, in_list, names);
        }
        let _ = writeln!(text);
    }
    text
}

/// The first groups of a trial, whose regressions are in no state.
pub(crate) fn trial_groups(
    all: &[Group],
    regressions: &[Regression],
    most: usize,
    names: &CommitNames,
) -> Text {
    let rows = all.iter().take(most).map(|group| GroupRow {
        members: (regressions.iter())
            .filter(|it| group.members.contains(&it.id))
            .collect(),
        alert: "group".into(),
        group: group.clone(),
    });
    groups(&rows.collect::<Vec<_>>(), names)
}

/// Regressions that are in no group.
pub(crate) fn ungrouped(regressions: &[&Regression], names: &CommitNames) -> Text {
    let mut text = Text::default();
    if !regressions.is_empty() {
        let _ = writeln!(text, "{BOLD}in no group{BOLD:#}");
        for regression in regressions {
            write_regression(&mut text, regression, in_list, names);
        }
        let _ = writeln!(text);
    }
    text
}

/// The consequence of a group, in words.
fn done(group: &Group) -> Option<String> {
    if let Some(outcome) = &group.outcome {
        return Some(format!("bisected: {outcome}"));
    }
    let acted = group.acted.as_ref()?;
    Some(match (&acted.job, &acted.not_bisected) {
        (Some(_), _) => "its bisection has no outcome yet".into(),
        (None, Some(reason)) => format!("reported, not bisected: {reason}"),
        (None, None) => "reported".into(),
    })
}

/// Writes a regression; `on_line` makes one line of what people said.
fn write_regression(
    text: &mut Text,
    regression: &Regression,
    on_line: fn(&str) -> String,
    names: &CommitNames,
) {
    let change = &regression.change;
    let (style, word) = match regression.is_improvement {
        true => (GOOD, "improvement"),
        false => (ERROR, "regression"),
    };
    // Writing to a string can't fail.
    let _ = writeln!(
        text,
        "  {}  {style}{word}{style:#}  {}  {}",
        regression.id,
        what(regression),
        change.trace,
    );
    let mut facts = vec![names.commit(regression.range.commit())];
    facts.push(match regression.triage {
        Triage::Bug => "a bug".into(),
        Triage::Ignore => "to be ignored".into(),
        _ => "not triaged".into(),
    });
    facts.extend(standing(regression, names));
    if regression.is_by_hand {
        facts.push("made by hand".into());
    }
    if regression.is_moved {
        facts.push("moved by hand".into());
    }
    if let Some(machine) = &change.machine {
        let (before, after) = (&machine.before, &machine.after);
        facts.push(format!("the machine changed from {before} to {after}"));
    }
    let _ = writeln!(text, "    {DIM}{}{DIM:#}", facts.join("; "));
    if !regression.message.is_empty() {
        let by = regression.triaged_by.as_ref();
        let by = by.map_or_else(String::new, |by| format!("{}: ", in_list(by)));
        let message = on_line(&regression.message);
        let _ = writeln!(text, "    {FOUND}{by}{message}{FOUND:#}");
    }
}

/// "10.2 to 13.1 (+28.4 %)".
fn what(regression: &Regression) -> String {
    let change = &regression.change;
    match (change.shape, change.rose) {
        (Shape::Spread, true) => return "scatters more".into(),
        (Shape::Spread, false) => return "scatters less".into(),
        _ => {}
    }
    let share = change.share();
    let share = match share.is_finite() {
        true => format!(" ({})", percent_change(share)),
        false => String::new(),
    };
    let drifts = match change.shape {
        Shape::Drift => "drifts: ",
        _ => "",
    };
    let (before, after) = (digits(change.before), digits(change.after));
    format!("{drifts}{before} to {after}{share}")
}

/// Its standing, in words.
fn standing(regression: &Regression, names: &CommitNames) -> Option<String> {
    if regression.is_taken_back {
        return Some("taken back".into());
    }
    if let Some(commit) = regression.back_at {
        let commit = names.commit(commit);
        return Some(match regression.triage {
            // Somebody knows better.
            Triage::Bug => format!("went back at {commit}"),
            _ => format!("a spike: back at {commit}"),
        });
    }
    Some(match regression.now? {
        Standing::StillThere => "still there".into(),
        Standing::Better => "better now".into(),
        Standing::Worse => "worse now".into(),
        Standing::Gone { commit } => format!("gone with {}", names.commit(commit)),
        _ => return None,
    })
}

/// One regression, and all that happened to it.
pub(crate) fn described(
    regression: &Regression,
    groups_of: &[&Group],
    events: &[Event],
    names: &CommitNames,
) -> Text {
    let mut text = Text::default();
    write_regression(&mut text, regression, one_line, names);
    let _ = writeln!(
        text,
        "    {DIM}begins {}{DIM:#} {}",
        match regression.interval.len() {
            1 => "with",
            _ => "among",
        },
        names.range(regression.interval)
    );
    for group in groups_of {
        let done = done(group).map_or_else(String::new, |done| format!("; {}", one_line(&done)));
        let _ = writeln!(text, "    {DIM}group{DIM:#} {}{done}", group.name);
    }
    for event in events {
        let document = json!(event);
        let kind = document["event"].as_str().unwrap_or_default();
        let time = pinpoint_report::quantity::date(event.at);
        let _ = writeln!(
            text,
            "    {DIM}{time}{DIM:#}  {}  {}",
            in_list(&event.by),
            kind.replace('_', " ")
        );
    }
    text
}

/// "1 ignored, 1 went back": the regressions that are in no list of open ones, if there are any.
pub(crate) fn hidden<'a>(regressions: impl Iterator<Item = &'a Regression>) -> Option<String> {
    let [mut taken_back, mut went_back, mut ignored] = [0; 3];
    for regression in regressions.filter(|it| !it.is_open()) {
        match (regression.is_taken_back, regression.back_at) {
            (true, _) => taken_back += 1,
            (false, Some(_)) => went_back += 1,
            (false, None) => ignored += 1,
        }
    }
    let counts = [
        (ignored, "ignored"),
        (went_back, "went back"),
        (taken_back, "taken back"),
    ];
    let counts = counts.iter().filter(|(number, _)| *number > 0);
    let counts: Vec<String> = counts.map(|(it, what)| format!("{it} {what}")).collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}
