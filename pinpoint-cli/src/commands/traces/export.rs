//! `pinpoint traces export`: values for other programs.

use pinpoint_backends::traces::{ValuesAt, ValuesOf};
use pinpoint_core::results::GraphServerReport;
use pinpoint_report::quantity::count;
use pinpoint_traces::{ExportedBuild, graph_server_export};

use super::open_dataset::OpenDataset;
use super::selection::wrong;
use super::warn;
use crate::arguments::{Display, ExportFormat, TraceExport};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::output::{errln, print_bytes};

pub(crate) async fn run(arguments: &TraceExport, display: &Display) -> Result<u8, CliError> {
    let ExportFormat::GraphServer = arguments.format;
    let opened = OpenDataset::open(display, &arguments.dataset.dataset).await?;
    let number = opened.commit(&arguments.commit).await?;
    let commit = opened.commits(&[number]).await?.pop().ok_or_else(|| {
        CliError::Input(format!(
            "the hash and the time of commit {number} are not known, and a message needs both; \
             `pinpoint ingest --repo` adds them"
        ))
    })?;
    let at = ValuesAt::Range(number..=number);
    let of = ValuesOf::Query(&arguments.query);
    let values = opened.history.values(of, &at, arguments.limit).await?;
    let unknown: Vec<String> = values.unknown.iter().map(ToString::to_string).collect();
    warn(&unknown);
    let present = values.frame.rows().filter_map(|(name, row)| {
        let value = row.first().copied().filter(|value| value.is_finite())?;
        Some((name.stored()?, value))
    });
    let export = graph_server_export(
        present,
        ExportedBuild {
            changeset: &commit.hash,
            build_id: arguments.build_id.as_deref().unwrap_or_default(),
            date: commit.time,
        },
    )
    .map_err(wrong)?;
    let text: String = (export.reports.iter())
        .map(GraphServerReport::write)
        .collect();
    print_bytes(text.as_bytes());
    if let left_out @ 1.. = export.left_out.len() {
        let first = &export.left_out[0];
        let traces = count(left_out as u64, "trace");
        errln!("note: {traces} left out, which failed or has no `test`: `{first}`");
    }
    if arguments.build_id.is_none() && !export.reports.is_empty() {
        errln!(
            "note: the history does not keep the ids of builds, which the server wants; give the build's with --build-id"
        );
    }
    if export
        .reports
        .iter()
        .any(|report| report.machine.is_empty())
    {
        errln!(
            "note: traces without `machine` and `bot` have no name of a machine, which the server wants"
        );
    }
    if export.reports.is_empty() {
        errln!("no trace of the query has a value at commit {number}");
    }
    Ok(FOUND)
}
