//! `pinpoint compare`: two results, chart by chart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinpoint_backends::local::Results;
use pinpoint_core::results::{
    CompareOptions, CompareResultsError, Format, Output as Content, ResultsComparison, compare,
    unread_values,
};
use pinpoint_core::{Aggregate, Series, Verdict};
use serde::Serialize;

use crate::arguments::{Compare, Display, Output};
use crate::error::CliError;
use crate::exit_code::{FOUND, NO_DIFFERENCE, UNDECIDED};
use crate::show::comparison_table;
use crate::show::output::{print, print_json};
use crate::show::summary::write_warnings;
use pinpoint_report::quantity::count;

/// The version of the document.
const VERSION: u32 = 1;

/// The most failed charts of a file that are named.
const MAX_FAILED_NAMES: usize = 5;

/// The most names that a message lists.
const NAMES_IN_A_MESSAGE: usize = 20;

/// The comparison, as `--output json` prints it.
#[derive(Debug, Serialize)]
struct Document<'a> {
    version: u32,
    control: &'a [PathBuf],
    treatment: &'a [PathBuf],
    #[serde(flatten)]
    comparison: &'a ResultsComparison,
    /// Measurements that failed, and lines that look like values but were not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The results of the control, or of the treatment.
#[derive(Default)]
struct Side {
    files: Vec<BTreeMap<String, Series>>,
    warnings: Vec<String>,
    has_failures: bool,
}

pub(crate) fn run(arguments: Compare, display: &Display) -> Result<u8, CliError> {
    let mut control = vec![arguments.control.clone()];
    control.extend(arguments.more_control.iter().cloned());
    let mut treatment = vec![arguments.treatment.clone()];
    treatment.extend(arguments.more_treatment.iter().cloned());
    let options = CompareOptions {
        paired: arguments.paired,
        confidence: arguments.confidence,
        magnitude: arguments.magnitude,
        direction: arguments.direction.map(Into::into),
    };
    if options.paired && control.len() != treatment.len() {
        let (controls, treatments) = (control.len(), treatment.len());
        let error = CompareResultsError::Unpaired {
            controls,
            treatments,
        };
        return Err(refused(&arguments, &error, &[]));
    }
    let [before, after] = [&control, &treatment].map(|paths| read(paths, &arguments));
    let (before, after) = (before?, after?);
    let mut comparison = compare(&before.files, &after.files, &options)
        .map_err(|error| refused(&arguments, &error, &[&before, &after]))?;
    // A chart whose measurement failed may have moved.
    if comparison.status == Verdict::Same && (before.has_failures || after.has_failures) {
        comparison.status = Verdict::Unknown;
    }
    let warnings = [before.warnings, after.warnings].concat();
    match display.output {
        // Every key is a string and every number finite: this can't fail.
        Output::Json => {
            let document = Document {
                version: VERSION,
                control: &control,
                treatment: &treatment,
                comparison: &comparison,
                warnings,
            };
            print_json(serde_json::to_string_pretty(&document).unwrap_or_default());
        }
        Output::Text => {
            let mut text = comparison_table::render(&comparison);
            // Writing to a string can't fail.
            let _ = write_warnings(&mut text, &warnings);
            print(format_args!("{text}"));
        }
    }
    Ok(match comparison.status {
        Verdict::Different => FOUND,
        Verdict::Same => NO_DIFFERENCE,
        Verdict::Unknown | Verdict::Nil => UNDECIDED,
    })
}

/// Reads the files of a side: the charts that `--chart` names, aggregated by `--aggregate`.
fn read(paths: &[PathBuf], arguments: &Compare) -> Result<Side, CliError> {
    let mut side = Side::default();
    for path in paths {
        read_file(path, arguments, &mut side)?;
    }
    Ok(side)
}

fn read_file(path: &Path, arguments: &Compare, side: &mut Side) -> Result<(), CliError> {
    let unreadable = |error| CliError::Input(format!("can't read {}: {error}", path.display()));
    if arguments.format == Format::Time {
        return Err(CliError::Input(
            "the format time is what the system measures of a run, and no file has it; name the format of the files".into(),
        ));
    }
    // Only a file beyond the limit has no content here.
    let results = Results::load(path, u64::MAX).map_err(unreadable)?;
    let results = results.unwrap_or_else(|| Results::File(Vec::new()));
    let mut reading = arguments
        .format
        .read_with_failures(results.output())
        .map_err(|source| CliError::Results {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
    let is_asked = |name: &String| arguments.chart.is_empty() || arguments.chart.contains(name);
    reading.charts.retain(|name, _| is_asked(name));
    reading.failed.retain(|name, _| is_asked(name));
    if let Some(aggregate) = arguments.aggregate {
        for (name, series) in &mut reading.charts {
            series.values = aggregated(path, name, &series.values, aggregate)?;
        }
    }
    let path = path.display();
    let mut warnings = reading.remarks;
    for (name, reason) in reading.failed.iter().take(MAX_FAILED_NAMES) {
        warnings.push(format!("{path} has no value for `{name}`: {reason}"));
    }
    if let more @ 1.. = reading.failed.len().saturating_sub(MAX_FAILED_NAMES) {
        let more = count(more as u64, "more chart");
        warnings.push(format!("{path} has no value for {more}"));
    }
    if arguments.chart.is_empty()
        && let Content::File(content) = results.output()
        && let unread = unread_values(content, Some(&arguments.format))
        && let Some(first) = unread.first()
    {
        let lines: Vec<String> = unread.iter().map(|it| it.line.to_string()).collect();
        let lines = match lines.len() {
            1 => format!("line {}", lines.concat()),
            _ => format!("lines {}", lines.join(", ")),
        };
        let (text, hint) = (&first.text, &first.hint);
        warnings.push(format!("{path}, {lines}, not read: `{text}` ({hint})"));
    }
    warnings.retain(|warning| !side.warnings.contains(warning));
    side.warnings.extend(warnings);
    side.has_failures |= !reading.failed.is_empty();
    side.files.push(reading.charts);
    Ok(())
}

fn aggregated(
    path: &Path,
    name: &str,
    values: &[f64],
    aggregate: Aggregate,
) -> Result<Vec<f64>, CliError> {
    let value = aggregate.apply(values).ok_or_else(|| {
        CliError::Input(format!(
            "{}: the {} values of `{name}` have no {aggregate}; use another --aggregate, or name the charts with --chart",
            path.display(),
            values.len()
        ))
    })?;
    Ok(vec![value])
}

/// The error for a refused comparison, with advice.
fn refused(arguments: &Compare, error: &CompareResultsError, sides: &[&Side]) -> CliError {
    CliError::Input(match error {
        CompareResultsError::Unpaired { .. } => {
            format!("{error}; name the missing ones, or leave out --paired")
        }
        CompareResultsError::Lengths { .. } => {
            format!("{error}; make one of each with --aggregate")
        }
        CompareResultsError::NothingInCommon { control, treatment } => {
            let asked = match &arguments.chart[..] {
                [] => String::new(),
                names => format!(" of those asked for (--chart {})", names.join(", ")),
            };
            format!(
                "no chart{asked} is on both sides; the control has {}, the treatment {}",
                listed(control.iter()),
                listed(treatment.iter())
            ) + &sides
                .iter()
                .flat_map(|side| &side.warnings)
                .fold(String::new(), |text, warning| text + "\n  " + warning)
        }
        error => error.to_string(),
    })
}

fn listed<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len() > NAMES_IN_A_MESSAGE;
    let names: Vec<String> = (names.take(NAMES_IN_A_MESSAGE))
        .map(|name| format!("`{name}`"))
        .collect();
    match (&names[..], more) {
        ([], _) => "none".into(),
        (names, true) => format!("{}, …", names.join(", ")),
        (names, false) => names.join(", "),
    }
}
