//! `pinpoint traces list`, `params` and `source`.

use pinpoint_backends::traces::Select;
use pinpoint_report::quantity::date;
use pinpoint_traces::{Query, TraceId};
use serde_json::json;

use super::open_dataset::OpenDataset;
use super::warn;
use crate::arguments::{Display, Output, TraceParams};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::storage::open_traces;
use crate::show::output::{outln, print_json, print_result_json, print_text};
use crate::show::trace_lists::{KnownDataset, datasets as dataset_table, params as param_table};

/// Lists the datasets of the store.
pub(super) async fn datasets(display: &Display) -> Result<u8, CliError> {
    let store = open_traces(display).await?;
    let mut known = Vec::new();
    for name in store.datasets().await? {
        let history = store.history(&name);
        let tiles = history.tiles().await?;
        known.push(KnownDataset {
            dataset: name.to_string(),
            traces: history.survey(&Query::default(), None).await?.count,
            tiles: tiles.len(),
            newest_commit: history.newest_commit().await?.map(|it| it.number.0),
            last_value: tiles.last().map(|it| it.last.0),
            tries: history.tries().await?.len(),
            waiting: history.waiting().await?.len(),
        });
    }
    match display.output {
        Output::Json => {
            print_result_json(&json!({ "version": 1, "store": store.name(), "datasets": known }))
        }
        Output::Text if known.is_empty() => {
            outln!(
                "the store {} has no datasets yet; `pinpoint ingest` makes one",
                store.name()
            );
        }
        Output::Text => print_text(&dataset_table(&known)),
    }
    Ok(FOUND)
}

/// Counts traces, with their keys and values.
pub(super) async fn params(arguments: &TraceParams, display: &Display) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &arguments.dataset.dataset).await?;
    let commits = match &arguments.commits {
        Some(range) => Some(opened.range(range).await?),
        None => None,
    };
    let mut survey = opened.history.survey(&arguments.query, commits).await?;
    let mut warnings: Vec<String> = survey.unknown.iter().map(ToString::to_string).collect();
    for key in &arguments.key {
        if !survey.counts.contains_key(key) {
            warnings.push(format!("no trace of these has the key `{key}`"));
        }
    }
    warn(&warnings);
    let is_asked = |key: &String| arguments.key.is_empty() || arguments.key.contains(key);
    survey.counts.retain(|key, _| is_asked(key));
    match display.output {
        Output::Json => print_json(json!({
            "version": 1,
            "dataset": opened.history.dataset(),
            "traces": survey.count,
            "params": survey.counts,
            "warnings": warnings,
        })),
        Output::Text => print_text(&param_table(survey.count, &survey.counts)),
    }
    Ok(FOUND)
}

/// Shows where a value comes from.
pub(super) async fn source(
    opened: &OpenDataset,
    trace: &TraceId,
    commit: &str,
    display: &Display,
) -> Result<u8, CliError> {
    let number = opened.commit(commit).await?;
    let values = opened
        .history
        .sourced_values(trace, number..=number)
        .await?;
    let Some(found) = values.into_iter().next() else {
        let known = opened
            .history
            .ids(Select::Ids(std::slice::from_ref(trace)), 1);
        let is_known = !known.await?.is_empty();
        return Err(CliError::Input(match is_known {
            true => format!(
                "{trace} has no value at commit {number}; `pinpoint traces query` shows where it has"
            ),
            false => format!(
                "the dataset has no trace {trace}; `pinpoint traces params` shows its keys and values"
            ),
        }));
    };
    let commit = opened.commits(&[number]).await?.into_iter().next();
    let source = &found.file.source;
    match display.output {
        Output::Json => print_json(json!({
            "version": 1,
            "trace": trace,
            "commit": { "number": number, "hash": commit.as_ref().map(|it| &it.hash) },
            "value": found.value,
            "file": source.path,
            "modified": source.modified,
            "links": found.links,
            "file_links": found.file.links,
        })),
        Output::Text => {
            outln!("value     {}", found.value);
            match commit {
                Some(it) => outln!("commit    {number}  {}  {}", it.hash, it.subject),
                None => outln!("commit    {number}"),
            }
            outln!(
                "file      {}, modified {}",
                source.path,
                date(source.modified)
            );
            for (name, link) in found.links.iter().chain(&found.file.links) {
                outln!("link      {name}: {link}");
            }
        }
    }
    Ok(FOUND)
}
