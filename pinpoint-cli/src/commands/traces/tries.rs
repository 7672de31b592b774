//! `pinpoint traces tries`: values of changes under review beside the history.

use std::collections::BTreeMap;

use pinpoint_backends::traces::Select;
use pinpoint_traces::{
    CommitNumber, HISTORY, Query, TILE_SIZE, TraceId, Try, TryReport, try_report,
};
use serde_json::json;

use super::asked::Asked;
use super::{lists, warn_of_unknown};
use crate::arguments::{Display, Output, TraceTries};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::output::{outln, print_json, print_text};
use crate::show::try_table::render;

pub(crate) async fn run(arguments: &TraceTries, display: &Display) -> Result<u8, CliError> {
    let asked = Asked::open(display, &arguments.dataset.dataset).await?;
    let Some(tried) = &arguments.tried else {
        let tries = asked.history.tries().await?;
        match display.output {
            Output::Json => print_json(json!({ "version": 1, "tries": tries })),
            Output::Text if tries.is_empty() => {
                outln!("the dataset has no tries; a file with `issue` is one");
            }
            Output::Text => { tries.iter() }.for_each(|it| outln!("{}/{}", it.issue, it.patchset)),
        }
        return Ok(FOUND);
    };
    let values = tried_values(&asked, tried, &arguments.query).await?;
    if values.is_empty() {
        warn_of_unknown(&asked, &arguments.query).await?;
    }
    let report = compared(&asked, values).await?;
    match display.output {
        Output::Json => print_json(document(tried, &report)),
        Output::Text => print_text(&render(tried, &report, arguments.worst)),
    }
    Ok(FOUND)
}

/// The values of a try for the traces of a query; of two of a trace, the later one.
pub(crate) async fn tried_values(
    asked: &Asked,
    tried: &Try,
    query: &Query,
) -> Result<BTreeMap<TraceId, f64>, CliError> {
    let files = asked.history.try_files(tried).await?;
    if files.is_empty() {
        return Err(lists::no_try(&tried.issue, &tried.patchset));
    }
    let points = files.into_iter().flat_map(|it| it.points);
    let points = points.filter(|it| query.matches_id(&it.trace));
    Ok(points.map(|it| (it.trace, it.value)).collect())
}

/// Compares the values with the last ones of their traces.
async fn compared(asked: &Asked, values: BTreeMap<TraceId, f64>) -> Result<TryReport, CliError> {
    let ids: Vec<TraceId> = values.keys().cloned().collect();
    let mut histories: BTreeMap<TraceId, Vec<f64>> = BTreeMap::new();
    for tile in asked.history.tiles().await?.into_iter().rev() {
        let is_short = |id: &&TraceId| histories.get(*id).map_or(0, Vec::len) < HISTORY;
        let short: Vec<TraceId> = ids.iter().filter(is_short).cloned().collect();
        if short.is_empty() {
            break;
        }
        let first = CommitNumber(tile.number * TILE_SIZE);
        let select = Select::Ids(&short);
        let frame = asked
            .history
            .frame(select, first..=tile.last, u64::MAX)
            .await?;
        for (name, row) in frame.rows() {
            let Some(id) = name.stored() else { continue };
            let present = row.iter().copied().filter(|it| !it.is_nan());
            let earlier: Vec<f64> = present.collect();
            let history = histories.entry(id.clone()).or_default();
            history.splice(0..0, earlier);
        }
    }
    let values = values.into_iter();
    Ok(try_report(values.map(|(id, value)| {
        let history = histories.remove(&id).unwrap_or_default();
        (id, history, value)
    })))
}

fn document(tried: &Try, report: &TryReport) -> serde_json::Value {
    let mut document = json!(report);
    document["version"] = json!(1);
    document["try"] = json!(tried);
    document
}
