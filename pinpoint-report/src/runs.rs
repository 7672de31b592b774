//! Every run, with the tail of its output: packed, and unpacked by the page on demand.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::foreign::clean;
use super::measurements::Run;
use super::model::Report;
use super::pack::{Blocks, pack};
use crate::ReportError;
use crate::quantity::{count, duration, quantity};
use crate::words::short;
use pinpoint_core::job::JobResult;

/// The maximum size of all outputs together in the file, packed.
const MOST_OUTPUT: usize = 2 << 20;
/// The file in which the executor keeps the tails of outputs.
const TAILS: &str = "tails.jsonl";
/// The most metrics that have a column.
const MOST_CHARTS: usize = 4;

pub(super) fn section(report: &Report) -> Result<Markup, ReportError> {
    if report.measured.runs.is_empty() {
        return Ok(html! {});
    }
    let (table, blocks, left_out) = packed(report).map_err(ReportError::Pack)?;
    Ok(html! {
        section {
            h2 { "Runs" }
            details #runs {
                summary { "All runs, with the end of each output (" (count(report.measured.runs.len() as u64, "run")) ")" }
                noscript { p.note { "This table needs JavaScript." } }
                div #runs-table {}
            }
            @if report.job_dir.is_some() || left_out > 0 {
                p.note {
                    @if let Some(job_dir) = &report.job_dir {
                        "The ends of all outputs are in "
                        code { (clean(&job_dir.join("runs").join(TAILS).display().to_string())) } "."
                    }
                    @if left_out > 0 {
                        " Those of " (count(left_out as u64, "run")) " were left out to save space."
                    }
                }
            }
            script #runs-data type="text/plain" { (table) }
            @for (number, block) in blocks.iter().enumerate() {
                script id=(format!("outputs-{number}")) type="text/plain" { (block) }
            }
        }
    })
}

/// The table, the blocks of outputs, and the number of outputs that are left out.
fn packed(report: &Report) -> std::io::Result<(String, Vec<String>, usize)> {
    let charts = charts(report);
    let mut blocks = Blocks::default();
    let mut left_out = 0;
    let mut outputs = vec![None; report.measured.runs.len()];
    // Readers look at failures first.
    let order = |failed: bool| {
        (report.measured.runs.iter().enumerate())
            .filter(move |(_, run)| run.failure.is_some() == failed)
    };
    for (number, run) in order(true).chain(order(false)) {
        if let Some(output) = &run.output {
            outputs[number] = blocks.add(output.clone(), MOST_OUTPUT)?;
            left_out += usize::from(outputs[number].is_none());
        }
    }
    let created = u64::try_from(report.job.created).unwrap_or_default();
    let rows: Vec<Value> = (report.measured.runs.iter().zip(outputs))
        .map(|(run, output)| {
            let commit = report.measured.place_of(run.position);
            row(run, commit, created, &charts, output)
        })
        .collect();
    let commits: Vec<String> = (report.measured.places.iter())
        .map(|place| clean(&short(&place.commit)).into_owned())
        .collect();
    let names: Vec<_> = charts.iter().map(|chart| clean(chart)).collect();
    let table = pack(&json!({ "charts": names, "commits": commits, "rows": rows }))?;
    Ok((table, blocks.finish()?, left_out))
}

/// The metrics with a column: the one that decides, or those that moved and then others.
fn charts(report: &Report) -> Vec<&str> {
    if let Some(JobResult::Pairwise(document)) = &report.result {
        let mut charts: Vec<_> = document.charts.iter().collect();
        charts.sort_by_key(|chart| (!chart.comparison.moved(), !chart.comparison.improved()));
        let names = charts.iter().map(|chart| chart.comparison.chart.as_str());
        return names.take(MOST_CHARTS).collect();
    }
    match report.chart() {
        Some(chart) => vec![chart],
        None => report
            .measured
            .units()
            .into_keys()
            .take(MOST_CHARTS)
            .collect(),
    }
}

fn row(
    run: &Run,
    commit: Option<usize>,
    created: u64,
    charts: &[&str],
    output: Option<(usize, usize)>,
) -> Value {
    let values: Vec<Value> = (charts.iter())
        .map(|chart| match run.value(chart).zip(run.chart(chart)) {
            Some((value, of)) => json!(clean(&quantity(value, of.unit.as_deref()))),
            None => Value::Null,
        })
        .collect();
    let output = match (output, &run.output) {
        (Some((block, place)), _) => json!([block, place]),
        (None, Some(_)) => json!(TAILS),
        (None, None) => Value::Null,
    };
    json!([
        run.name,
        commit,
        duration(run.report.started.saturating_sub(created) as f64 / 1000.0),
        values,
        run.report
            .usage
            .map(|usage| quantity(usage.wall, Some("s"))),
        run.failure.as_deref().map(clean),
        output,
        run.report.log,
    ])
}

#[cfg(test)]
mod tests {
    use pinpoint_core::{Position, RunReport};

    use super::*;

    #[test]
    fn a_run_began_so_long_after_the_job() {
        let created = 1_700_000_000_000;
        let run = Run {
            name: "3".into(),
            position: Position::Lower,
            report: RunReport::new(created + 90_000),
            charts: Box::default(),
            failure: None,
            output: None,
        };
        assert_eq!(row(&run, None, created, &[], None)[2], duration(90.0));
    }
}
