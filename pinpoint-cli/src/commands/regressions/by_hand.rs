//! The deeds of people: each is an event, with who and when.

use std::cell::RefCell;
use std::slice;

use pinpoint_backends::traces::{History, ValuesAt, ValuesOf};
use pinpoint_traces::TraceId;
use pinpoint_traces::watch::{
    AlertId, CommitRange, EventKind, Group, GroupName, Label, RegressionId, WatchState,
    change_by_hand, sub_queries,
};
use serde_json::json;

use super::clusters::query_of_cluster;
use super::names::{common_alert, regression, regressions};
use crate::arguments::{By, Display, Output, RangeArgument, Regressions};
use crate::commands::traces::open_dataset::OpenDataset;
use crate::commands::watch::log::append;
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::output::{outln, print_result_json};

pub(super) async fn run(command: Regressions, display: &Display) -> Result<u8, CliError> {
    match command {
        Regressions::Triage {
            by,
            triage,
            message,
            names,
        } => {
            let decide = |state: &WatchState| {
                let found = regressions(state, &names)?.into_iter();
                let kinds = found.map(|regression| EventKind::Triaged {
                    triage: triage.into(),
                    message: message.clone().unwrap_or_else(|| {
                        let known = state.regressions.get(&regression);
                        known.map(|it| it.message.clone()).unwrap_or_default()
                    }),
                    regression,
                });
                Ok(kinds.collect())
            };
            say(&by, decide, display).await
        }
        Regressions::Move { by, name, commits } => {
            let opened = OpenDataset::open(display, &by.dataset.dataset).await?;
            let range = half_open(&opened, &commits).await?;
            let decide = |state: &WatchState| {
                let regression = regression(state, &name)?.id.clone();
                Ok(vec![EventKind::Moved { regression, range }])
            };
            say(&by, decide, display).await
        }
        Regressions::Split { members } => {
            let decide = |state: &WatchState| {
                let regressions = regressions(state, &members.names)?;
                let alert = common_alert(state, members.alert, &regressions)?;
                Ok(vec![EventKind::Split { alert, regressions }])
            };
            say(&members.by, decide, display).await
        }
        Regressions::Join { members } => {
            let decide = |state: &WatchState| {
                let regressions = regressions(state, &members.names)?;
                let alert = common_alert(state, members.alert, &regressions)?;
                Ok(vec![EventKind::Joined { alert, regressions }])
            };
            say(&members.by, decide, display).await
        }
        Regressions::TakeBack { by, message, names } => {
            let decide = |state: &WatchState| {
                let found = regressions(state, &names)?.into_iter();
                let kinds = found.map(|regression| EventKind::TakenBack {
                    regression,
                    message: message.clone(),
                });
                Ok(kinds.collect())
            };
            say(&by, decide, display).await
        }
        Regressions::Add {
            by,
            alert,
            trace,
            commits,
        } => {
            let opened = OpenDataset::open(display, &by.dataset.dataset).await?;
            let range = half_open(&opened, &commits).await?;
            let kind = made_by_hand(&opened.history, alert, &trace, range).await?;
            say(&by, |_: &WatchState| Ok(vec![kind.clone()]), display).await
        }
        Regressions::TriageCluster {
            by,
            triage,
            message,
            query,
            alert,
            number,
        } => {
            let decide = |state: &WatchState| {
                let query = query_of_cluster(state, alert, number, query.as_ref())?;
                Ok(vec![EventKind::FingerprintTriaged {
                    alert,
                    query,
                    fingerprint: number,
                    triage: triage.into(),
                    message: message.clone(),
                }])
            };
            say(&by, decide, display).await
        }
        // They say nothing.
        Regressions::List(_)
        | Regressions::Show { .. }
        | Regressions::Clusters { .. }
        | Regressions::Bisect(_) => Ok(FOUND),
    }
}

async fn made_by_hand(
    history: &History,
    alert: Option<AlertId>,
    trace: &TraceId,
    range: CommitRange,
) -> Result<EventKind, CliError> {
    let label = match alert {
        None => None,
        Some(id) => {
            let alert = history.alert(id).await?;
            let queries =
                sub_queries(&alert, [trace]).map_err(|error| CliError::Input(error.to_string()))?;
            let query = queries.into_iter().next().ok_or_else(|| {
                CliError::Input(format!(
                    "alert {id} does not watch {trace}; leave --alert out, or name another one"
                ))
            })?;
            Some(Label {
                alert: id,
                query,
                value: alert.group_of(trace),
            })
        }
    };
    let of = ValuesOf::Ids(slice::from_ref(trace));
    let values = history.values(of, &ValuesAt::Last(usize::MAX), 1).await?;
    let frame = values.frame;
    let Some(row) = frame.row(0) else {
        return Err(CliError::Input(format!(
            "the dataset has no trace {trace}; `pinpoint traces params` shows its keys and values"
        )));
    };
    let change = change_by_hand(trace, range, frame.columns(), row)
        .map_err(|error| CliError::Input(error.to_string()))?;
    Ok(EventKind::MadeByHand { label, change })
}

/// The commits after the first end and up to the second one, as in git; a single commit is itself.
async fn half_open(opened: &OpenDataset, commits: &RangeArgument) -> Result<CommitRange, CliError> {
    let (Some(from), Some(to)) = (&commits.from, &commits.to) else {
        return Err(CliError::Input(
            "both ends are needed: FROM..TO, or one commit".into(),
        ));
    };
    let commit = opened.commit(to).await?;
    let previous = match from == to {
        true => pinpoint_traces::CommitNumber(commit.0.checked_sub(1).ok_or_else(|| {
            CliError::Input("the first commit follows no other; name a later one".into())
        })?),
        false => opened.commit(from).await?,
    };
    CommitRange::new(previous, commit).map_err(|error| CliError::Input(error.to_string()))
}

/// The groups that some of these regressions have left and whose other members have another name
/// now: the name of an open group follows from its members.
fn renamed<'a>(
    before: &'a [Group],
    after: &'a [Group],
    touched: &[&RegressionId],
) -> Vec<(&'a GroupName, &'a GroupName)> {
    let mut renamed = Vec::new();
    for old in before {
        if !touched.iter().any(|it| old.members.contains(*it)) {
            continue;
        }
        let rest = old.members.iter().filter(|it| !touched.contains(it));
        for id in rest {
            let is_there = |it: &&Group| it.alert == old.alert && it.members.contains(id);
            if let Some(new) = after.iter().find(is_there)
                && new.name != old.name
                && !renamed.contains(&(&old.name, &new.name))
            {
                renamed.push((&old.name, &new.name));
            }
        }
    }
    renamed
}

/// Appends the events that a person asks for, and names the regressions.
async fn say(
    by: &By,
    decide: impl Fn(&WatchState) -> Result<Vec<EventKind>, CliError>,
    display: &Display,
) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &by.dataset.dataset).await?;
    let before = RefCell::new(Vec::new());
    let noting = |state: &WatchState| {
        *before.borrow_mut() = state.groups();
        decide(state)
    };
    let (state, events) = append(&opened.history, &by.name(), noting).await?;
    let ids = state.regressions.keys();
    let touched = ids.filter(|id| events.iter().any(|it| it.names(id)));
    let touched: Vec<_> = touched.collect();
    match display.output {
        Output::Json => print_result_json(&json!({ "version": 1, "events": events })),
        Output::Text => {
            for event in &events {
                if let EventKind::FingerprintTriaged {
                    alert, fingerprint, ..
                } = &event.kind
                {
                    outln!("cluster {fingerprint} of alert {alert} is triaged");
                }
            }
            for id in &touched {
                let groups = state.groups().into_iter();
                let groups = groups.filter(|it| it.members.contains(*id));
                let groups: Vec<String> = groups.map(|it| it.name.to_string()).collect();
                match groups.is_empty() {
                    true => outln!("{id}, in no group"),
                    false => outln!("{id}, in group {}", groups.join(", ")),
                }
            }
            for (old, new) in renamed(&before.into_inner(), &state.groups(), &touched) {
                outln!("what remains of group {old} is group {new} now");
            }
        }
    }
    Ok(FOUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, members: &[&str]) -> Group {
        let group = json!({
            "name": name, "alert": "1", "value": "b", "members": members,
            "range": { "previous": 1, "commit": 2 },
        });
        serde_json::from_value(group).unwrap()
    }

    #[test]
    fn what_remains_of_an_open_group_is_named_if_its_name_changed() {
        let before = [group("g1", &["r1", "r2", "r3"]), group("g5", &["r5"])];
        let after = [
            group("g2", &["r1"]),
            group("g3", &["r2", "r3"]),
            group("g5", &["r5"]),
        ];
        let split = RegressionId::from("r1");
        let names = (GroupName::from("g1"), GroupName::from("g3"));
        assert_eq!(renamed(&before, &after, &[&split]), [(&names.0, &names.1)]);
        // One that was acted on keeps its name.
        let after = [group("g2", &["r1"]), group("g1", &["r2", "r3"])];
        assert_eq!(renamed(&before, &after, &[&split]), []);
    }
}
