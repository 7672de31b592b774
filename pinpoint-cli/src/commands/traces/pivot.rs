//! `pinpoint traces pivot`: traces folded by some of their keys.

use pinpoint_backends::traces::ValuesOf;
use pinpoint_traces::{
    Frame, Pivot, PivotOperation, PivotTable, Query, TraceName, UnknownName, frame_to_csv, nearest,
};
use serde_json::{Value, json};

use super::open_dataset::OpenDataset;
use super::selection::{self, wrong};
use super::warn;
use crate::arguments::{Display, OutputFormat, TracePivot};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::output::{errln, outln, print_bytes, print_json, print_text};
use crate::show::trace_table::{matrix, number};

pub(crate) async fn run(arguments: &TracePivot, display: &Display) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &arguments.dataset.dataset).await?;
    let of = ValuesOf::Query(&arguments.query);
    let frame = selection::values(&opened, of, &arguments.commits)
        .await?
        .frame;
    let pivot = Pivot {
        group_by: arguments.by.clone(),
        operation: arguments.operation,
        summary: arguments.summary.clone(),
    };
    let table = pivot.apply(&frame).map_err(wrong)?;
    match arguments.output {
        OutputFormat::Json => print_json(document(&pivot, &table)),
        OutputFormat::Csv => print_bytes(csv(&table, &pivot.summary)?.as_bytes()),
        _ if table.rows.is_empty() => outln!("no trace has all of these keys"),
        _ => {
            let heads: Vec<String> = { table.columns.iter().map(|it| it.to_string()) }
                .chain(pivot.summary.iter().map(|it| format!("{it} of all")))
                .collect();
            let rows = table.rows.iter().map(|row| {
                let cells = row.values.iter().chain(&row.summary).map(|it| number(*it));
                (label(row.group.as_str()), cells.collect())
            });
            print_text(&matrix(&heads, &rows.collect::<Vec<_>>()));
        }
    }
    if table.left_out > 0 {
        let keys = arguments.by.join(", ");
        errln!("left out: {} traces without {keys}", table.left_out);
    }
    if table.rows.is_empty() {
        warn_of_keys(&opened, &arguments.by).await?;
    }
    Ok(FOUND)
}

/// Names the keys that no trace has, and those that are meant.
async fn warn_of_keys(opened: &OpenDataset, keys: &[String]) -> Result<(), CliError> {
    let known = opened.history.survey(&Query::default(), None).await?.params;
    for key in keys.iter().filter(|key| known.values(key).is_none()) {
        let nearest = nearest(key, known.keys()).map(str::to_owned);
        let key = key.clone();
        warn(&[UnknownName::Key { key, nearest }.to_string()]);
    }
    Ok(())
}

/// The keys and values of a group, without the commas at the ends.
fn label(group: &str) -> String {
    group.trim_matches(',').replace(',', ", ")
}

fn document(pivot: &Pivot, table: &PivotTable) -> Value {
    let commits: Vec<u32> = table.columns.iter().map(|it| it.0).collect();
    let rows = table.rows.iter().map(|row| {
        // A missing value is null.
        json!({
            "group": row.group,
            "traces": row.traces,
            "values": row.values,
            "summary": row.summary,
        })
    });
    json!({
        "version": 1,
        "pivot": pivot,
        "commits": commits,
        "rows": rows.collect::<Vec<_>>(),
        "left_out": table.left_out,
    })
}

/// The rows, and behind them a column for each summary.
fn csv(table: &PivotTable, summary: &[PivotOperation]) -> Result<String, CliError> {
    let mut frame = Frame::new(table.columns.clone());
    for row in &table.rows {
        let name = TraceName::Stored(row.group.clone());
        frame.push(name, &row.values).map_err(wrong)?;
    }
    let text = frame_to_csv(&frame, "");
    let mut lines = text.lines();
    let mut head = lines.next().unwrap_or_default().to_owned();
    for operation in summary {
        head.push_str(&format!(",{operation}"));
    }
    let mut all = vec![head];
    for (line, row) in lines.zip(&table.rows) {
        let mut line = line.to_owned();
        for value in &row.summary {
            line.push(',');
            if !value.is_nan() {
                line.push_str(&format!("{value:?}"));
            }
        }
        all.push(line);
    }
    all.push(String::new());
    Ok(all.join("\n"))
}
