//! `pinpoint regressions list` and `show`.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_backends::traces::History;
use pinpoint_traces::watch::{Alert, AlertId, Event, Group, Regression, RegressionId, WatchState};
use serde_json::json;

use super::names::{Named, find};
use crate::arguments::{DatasetOption, Display, Output, RegressionList};
use crate::commands::traces::commit_names::CommitNames;
use crate::commands::traces::open_dataset::OpenDataset;
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::clock::now;
use crate::show::alert_list::{AlertRow, alert_document, title};
use crate::show::output::{outln, print_result_json, print_text};
use crate::show::regression_list::{
    GroupRow, described, group_document, groups, hidden, regression_document, ungrouped,
};

/// The events that are read at a time.
const AT_A_TIME: u64 = 4096;

pub(super) async fn run(arguments: &RegressionList, display: &Display) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &arguments.dataset.dataset).await?;
    let history = &opened.history;
    let (alerts, state) = (history.alerts().await?, history.watch_state().await?);
    if let Some(id) = arguments.alert {
        // A number that no alert has is a mistake, and not an empty list.
        history.alert(id).await?;
    }
    let is_asked = |id: AlertId| arguments.alert.is_none_or(|it| it == id);
    let mut rows: Vec<GroupRow<'_>> = (state.groups().into_iter())
        .filter(|it| is_asked(it.alert))
        .map(|group| {
            let alert = alert_name(&alerts, group.alert);
            GroupRow::of(group, &state, alert)
        })
        .filter(|it| arguments.all || it.members.iter().any(|it| it.is_open()))
        .collect();
    rows.sort_by_key(|row| (!row.is_untriaged(), row.found_at(), row.group.name.clone()));
    let grouped: BTreeSet<&RegressionId> = rows
        .iter()
        .flat_map(|row| row.members.iter().map(|it| &it.id))
        .collect();
    let rest: Vec<&Regression> = (state.regressions.values())
        .filter(|it| !grouped.contains(&it.id))
        .filter(|it| arguments.all || (it.is_open() && it.alerts.is_empty()))
        .filter(|it| arguments.alert.is_none_or(|id| it.alerts.contains_key(&id)))
        .collect();
    let ranges = (state.regressions.values()).flat_map(|it| [it.range, it.interval]);
    let names = CommitNames::of(history, ranges).await?;
    let counts: Vec<AlertRow> = (alerts.iter())
        .filter(|it| is_asked(it.id) && it.is_active())
        .map(|it| AlertRow::of(it.clone(), &state, now()))
        .collect();
    match display.output {
        Output::Json => {
            let rows: Vec<_> = rows.iter().map(|it| group_document(it, &names)).collect();
            let rest = rest.iter().map(|it| regression_document(it, &names));
            let counts: Vec<_> = counts.iter().map(alert_document).collect();
            print_result_json(&json!({
                "version": 1,
                "dataset": history.dataset(),
                "groups": rows,
                "ungrouped": rest.collect::<Vec<_>>(),
                "alerts": counts,
                "quiet": state.quiet.values().collect::<Vec<_>>(),
            }));
        }
        Output::Text => {
            print_text(&groups(&rows, &names));
            print_text(&ungrouped(&rest, &names));
            if rows.is_empty() && rest.is_empty() {
                let asked = (state.regressions.values())
                    .filter(|it| arguments.alert.is_none_or(|id| it.alerts.contains_key(&id)));
                match hidden(asked) {
                    Some(counts) => outln!("no open regressions ({counts}: --all)"),
                    None => outln!("no regressions{}", empty(&alerts, &state)),
                }
            }
            for count in &counts {
                print_text(&count.line());
            }
            for quiet in state.quiet.values() {
                let successor = quiet
                    .successor
                    .as_ref()
                    .map_or_else(String::new, |it| format!("; {} may go on for it", it.trace));
                outln!(
                    "quiet since commit {}: {}{successor}",
                    quiet.last,
                    quiet.trace
                );
            }
        }
    }
    Ok(FOUND)
}

/// The reason why there is nothing.
fn empty(alerts: &[Alert], state: &WatchState) -> &'static str {
    match (alerts.iter().any(Alert::is_active), state.last_run) {
        (false, _) => ": there are no alerts; `pinpoint alerts new` makes one",
        (true, None) => ": no alert was run yet; `pinpoint watch` does",
        (true, Some(_)) => "",
    }
}

fn alert_name(alerts: &[Alert], id: AlertId) -> String {
    let alert = alerts.iter().find(|it| it.id == id);
    alert.map_or_else(
        || format!("alert {id}"),
        |it| format!("alert {id} ({})", title(it)),
    )
}

pub(super) async fn show(
    dataset: &DatasetOption,
    name: &str,
    display: &Display,
) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &dataset.dataset).await?;
    let history = &opened.history;
    let state = history.watch_state().await?;
    let shown: Vec<&Regression> = match find(&state, name)? {
        Named::Regression(regression) => vec![regression],
        Named::Group(group) => (group.members.iter())
            .filter_map(|id| state.regressions.get(id))
            .collect(),
    };
    let all = state.groups();
    let ranges = shown.iter().flat_map(|it| [it.range, it.interval]);
    let names = CommitNames::of(history, ranges).await?;
    let mut events = events_of(history, &shown, &all).await?;
    let groups_of = |id: &RegressionId| -> Vec<&Group> {
        all.iter().filter(|it| it.members.contains(id)).collect()
    };
    match display.output {
        Output::Json => {
            let shown = shown.iter().map(|regression| {
                let mut document = regression_document(regression, &names);
                document["groups"] = json!(groups_of(&regression.id));
                document["events"] = json!(events.remove(&regression.id).unwrap_or_default());
                document
            });
            let shown: Vec<_> = shown.collect();
            print_result_json(&json!({ "version": 1, "regressions": shown }));
        }
        Output::Text => {
            for regression in shown {
                let events = events.remove(&regression.id).unwrap_or_default();
                let groups_of = groups_of(&regression.id);
                print_text(&described(regression, &groups_of, &events, &names));
            }
        }
    }
    Ok(FOUND)
}

/// The events of the log that are about these regressions, or about a group of theirs.
async fn events_of(
    history: &History,
    shown: &[&Regression],
    groups: &[Group],
) -> Result<BTreeMap<RegressionId, Vec<Event>>, CliError> {
    let mut events: BTreeMap<RegressionId, Vec<Event>> = BTreeMap::new();
    let mut from = 0;
    loop {
        let read = history.watch_events(from, AT_A_TIME).await?;
        if read.is_empty() {
            return Ok(events);
        }
        from += read.len() as u64;
        for event in read {
            for regression in shown {
                let group = event.group();
                let is_of_group = groups
                    .iter()
                    .any(|it| Some(&it.name) == group && it.members.contains(&regression.id));
                if event.names(&regression.id) || is_of_group {
                    let list = events.entry(regression.id.clone()).or_default();
                    list.push(event.clone());
                }
            }
        }
    }
}
