//! `pinpoint traces query`: values by commit.

use pinpoint_backends::traces::ValuesOf;
use pinpoint_traces::frame_to_csv;

use super::open_dataset::OpenDataset;
use super::selection;
use crate::arguments::{Display, OutputFormat, TraceQuery};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::output::{print_bytes, print_json, print_text};
use crate::show::trace_table::{TraceTable, render};

pub(crate) async fn run(arguments: &TraceQuery, display: &Display) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &arguments.dataset.dataset).await?;
    let of = match &arguments.formula {
        Some(formula) => ValuesOf::Formula(formula),
        None => ValuesOf::Query(&arguments.query),
    };
    let values = selection::values(&opened, of, &arguments.commits).await?;
    let frame = values.frame;
    let numbers: Vec<_> = frame.columns().iter().collect();
    let commits = opened.commits(&numbers).await?;
    let annotations = opened.annotations(&numbers).await?;
    match arguments.output {
        OutputFormat::Csv => print_bytes(frame_to_csv(&frame, "").as_bytes()),
        output => {
            let table = TraceTable {
                version: 1,
                dataset: opened.history.dataset().to_string(),
                frame,
                commits,
                annotations,
                warnings: values.unknown.iter().map(ToString::to_string).collect(),
            };
            match output {
                OutputFormat::Json => print_json(table.document()),
                _ => print_text(&render(&table)),
            }
        }
    }
    Ok(FOUND)
}
