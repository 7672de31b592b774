//! `pinpoint compare`: two results, chart by chart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinpoint_backends::local::Results;
use pinpoint_core::results::{
    CompareOptions, CompareResultsError, Format, ResultsComparison, compare,
};
use pinpoint_core::{Aggregate, Series, Verdict};
use serde::Serialize;

use crate::arguments::{Compare, Display, Output};
use crate::comparison_table;
use crate::error::{CliError, FOUND, NO_DIFFERENCE, UNDECIDED};
use crate::output::{print, print_json};

/// The version of the document.
const VERSION: u32 = 1;

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
}

pub(crate) fn run(arguments: Compare, display: &Display) -> Result<u8, CliError> {
    let mut control = vec![arguments.control.clone()];
    control.extend(arguments.more_control.iter().cloned());
    let mut treatment = vec![arguments.treatment.clone()];
    treatment.extend(arguments.more_treatment.iter().cloned());
    let read = |paths: &[PathBuf]| -> Result<Vec<_>, CliError> {
        paths.iter().map(|path| read(path, &arguments)).collect()
    };
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
        return Err(refused(&arguments, &error));
    }
    let comparison = compare(&read(&control)?, &read(&treatment)?, &options)
        .map_err(|error| refused(&arguments, &error))?;
    match display.output {
        // Every key is a string and every number finite: this can't fail.
        Output::Json => {
            let document = Document {
                version: VERSION,
                control: &control,
                treatment: &treatment,
                comparison: &comparison,
            };
            print_json(serde_json::to_string_pretty(&document).unwrap_or_default());
        }
        Output::Text => print(format_args!("{}", comparison_table::of(&comparison))),
    }
    Ok(match comparison.status {
        Verdict::Different => FOUND,
        Verdict::Same => NO_DIFFERENCE,
        Verdict::Unknown | Verdict::Nil => UNDECIDED,
    })
}

/// The charts of a file that are asked for, aggregated if that is asked for.
fn read(path: &Path, arguments: &Compare) -> Result<BTreeMap<String, Series>, CliError> {
    let unreadable = |error| CliError::Input(format!("can't read {}: {error}", path.display()));
    if arguments.format == Format::Time {
        return Err(CliError::Input(
            "the format time is what the system measures of a run, and no file has it; name the format of the files".into(),
        ));
    }
    // Without a limit there is always an answer.
    let results = Results::load(path, u64::MAX).map_err(unreadable)?;
    let results = results.unwrap_or_else(|| Results::File(Vec::new()));
    let mut charts =
        arguments
            .format
            .read(results.output())
            .map_err(|source| CliError::Results {
                path: path.to_owned(),
                source: Box::new(source),
            })?;
    if !arguments.chart.is_empty() {
        charts.retain(|name, _| arguments.chart.contains(name));
    }
    if let Some(aggregate) = arguments.aggregate {
        for (name, series) in &mut charts {
            series.values = aggregated(path, name, &series.values, aggregate)?;
        }
    }
    Ok(charts)
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

/// Says what to do about it.
fn refused(arguments: &Compare, error: &CompareResultsError) -> CliError {
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
            )
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
