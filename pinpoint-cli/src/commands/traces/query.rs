//! `pinpoint traces query`: values by commit.

use pinpoint_traces::frame_to_csv;

use super::asked::Asked;
use super::selection::Plan;
use super::warn;
use crate::arguments::{Display, OutputFormat, TraceQuery};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::output::{print_bytes, print_json, print_text};
use crate::show::trace_table::{TraceTable, render};

pub(crate) async fn run(arguments: &TraceQuery, display: &Display) -> Result<u8, CliError> {
    let asked = Asked::open(display, &arguments.dataset.dataset).await?;
    let limit = arguments.commits.limit;
    let (plan, node) = match &arguments.formula {
        Some(formula) => Plan::of_formula(&asked, formula, limit).await?,
        None => Plan::of_query(&asked, &arguments.query, limit).await?,
    };
    let frame = plan.frame(&asked, &node, &arguments.commits).await?;
    warn(&plan.warnings);
    let numbers: Vec<_> = frame.columns().iter().collect();
    let commits = asked.commits(&numbers).await?;
    let annotations = asked.annotations(&numbers).await?;
    match arguments.output {
        OutputFormat::Csv => print_bytes(frame_to_csv(&frame, "").as_bytes()),
        output => {
            let table = TraceTable {
                version: 1,
                dataset: asked.history.dataset().to_string(),
                frame,
                commits,
                annotations,
                warnings: plan.warnings,
            };
            match output {
                OutputFormat::Json => print_json(table.document()),
                _ => print_text(&render(&table)),
            }
        }
    }
    Ok(FOUND)
}
