//! `pinpoint regressions clusters`: what alerts with kmeans found, as a whole.

use pinpoint_traces::Query;
use pinpoint_traces::watch::{AlertId, WatchState};
use serde_json::{Value, json};

use crate::arguments::{DatasetOption, Display, Output};
use crate::commands::traces::open_dataset::OpenDataset;
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::cluster_list::{ClusterRow, listed};
use crate::show::output::{outln, print_result_json, print_text};

pub(super) async fn list(
    dataset: &DatasetOption,
    alert: Option<AlertId>,
    display: &Display,
) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &dataset.dataset).await?;
    if let Some(id) = alert {
        opened.history.alert(id).await?;
    }
    let state = opened.history.watch_state().await?;
    let mut rows = Vec::new();
    for (id, by_query) in &state.fingerprints {
        if alert.is_some_and(|it| it != *id) {
            continue;
        }
        for (query, found) in by_query {
            rows.extend(found.iter().map(|fingerprint| ClusterRow {
                alert: *id,
                query,
                fingerprint,
            }));
        }
    }
    match display.output {
        Output::Json => {
            let rows = rows.iter().map(|row| {
                let mut document = json!(row.fingerprint);
                document["alert"] = json!(row.alert);
                document["query"] = json!(row.query);
                document
            });
            let rows: Vec<Value> = rows.collect();
            print_result_json(&json!({ "version": 1, "clusters": rows }));
        }
        Output::Text if rows.is_empty() => {
            outln!("no clusters; alerts with the algo kmeans find them");
        }
        Output::Text => print_text(&listed(&rows)),
    }
    Ok(FOUND)
}

/// The query whose cluster is meant: the one that was named, or the only one that has this number.
pub(super) fn query_of_cluster(
    state: &WatchState,
    alert: AlertId,
    number: u64,
    named: Option<&Query>,
) -> Result<Query, CliError> {
    let by_query = state.fingerprints.get(&alert).into_iter().flatten();
    let has_it = by_query.filter(|(_, found)| found.iter().any(|it| it.id == number));
    let queries: Vec<&String> = has_it.map(|(query, _)| query).collect();
    let is_named = |it: &&&String| named.is_none_or(|named| **it == &named.to_string());
    let fitting: Vec<&&String> = queries.iter().filter(is_named).collect();
    match fitting[..] {
        [query] => (query.parse())
            .map_err(|error: pinpoint_traces::QueryError| CliError::Input(error.to_string())),
        [] => Err(CliError::Input(format!(
            "alert {alert} has no cluster {number}{}; `pinpoint regressions clusters` lists them",
            named.map_or_else(String::new, |it| format!(" of the query {it}"))
        ))),
        _ => {
            let queries: Vec<&str> = queries.iter().map(|it| it.as_str()).collect();
            Err(CliError::Input(format!(
                "alert {alert} has a cluster {number} of several queries; say with --query which one is meant: {}",
                queries.join(", ")
            )))
        }
    }
}
