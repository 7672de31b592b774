//! `pinpoint traces tries`: values of changes under review beside the history.

use pinpoint_traces::{Try, TryReport};
use serde_json::json;

use super::open_dataset::OpenDataset;
use super::warn_of_unknown;
use crate::arguments::{Display, Output, TraceTries};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::output::{outln, print_json, print_text};
use crate::show::try_table::render;

pub(crate) async fn run(arguments: &TraceTries, display: &Display) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &arguments.dataset.dataset).await?;
    let Some(tried) = &arguments.tried else {
        let tries = opened.history.tries().await?;
        match display.output {
            Output::Json => print_json(json!({ "version": 1, "tries": tries })),
            Output::Text if tries.is_empty() => {
                outln!("the dataset has no tries; a file with `issue` is one");
            }
            Output::Text => { tries.iter() }.for_each(|it| outln!("{}/{}", it.issue, it.patchset)),
        }
        return Ok(FOUND);
    };
    let report = opened.history.try_report(tried, &arguments.query).await?;
    if report.traces.is_empty() && report.left_out.is_empty() {
        warn_of_unknown(&opened, &arguments.query).await?;
    }
    match display.output {
        Output::Json => print_json(document(tried, &report)),
        Output::Text => print_text(&render(tried, &report, arguments.worst)),
    }
    Ok(FOUND)
}

fn document(tried: &Try, report: &TryReport) -> serde_json::Value {
    let mut document = json!(report);
    document["version"] = json!(1);
    document["try"] = json!(tried);
    document
}
