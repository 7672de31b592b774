//! `pinpoint compare`: two results, chart by chart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pinpoint_backends::local::Results;
use pinpoint_core::results::{
    CompareOptions, CompareResultsError, Format, Output as Content, compare, unread_values,
};
use pinpoint_core::{Aggregate, Series, Verdict};

use crate::arguments::with_talos_values;
use crate::arguments::{Compare, OutputFormat};
use crate::error::CliError;
use crate::exit_code::{FOUND, NO_DIFFERENCE, UNDECIDED};
use crate::show::comparison::{ComparedFiles, FailedChart, annotations, csv, markdown, table};
use crate::show::output::{errln, print, print_bytes, print_json, print_text};
use pinpoint_report::quantity::count;

/// The version of the document.
const VERSION: u32 = 1;

/// The most failed charts of a file that are named.
const MAX_FAILED_NAMES: usize = 5;

/// The most names that a message lists.
const NAMES_IN_A_MESSAGE: usize = 20;

/// The results of the control, or of the treatment.
#[derive(Default)]
struct Side {
    files: Vec<BTreeMap<String, Series>>,
    failed: Vec<FailedChart>,
    warnings: Vec<String>,
    has_unread: bool,
}

impl Side {
    fn has(&self, chart: &str) -> bool {
        let has_failed = || self.failed.iter().any(|failed| failed.chart == chart);
        self.files.iter().any(|charts| charts.contains_key(chart)) || has_failed()
    }

    /// Leaves out the charts that this side lacks because they failed.
    fn without_failed(&self, charts: &mut Vec<String>) {
        let failed: BTreeSet<&str> = self.failed.iter().map(|it| it.chart.as_str()).collect();
        charts.retain(|chart| !failed.contains(chart.as_str()));
    }
}

pub(crate) fn run(mut arguments: Compare) -> Result<u8, CliError> {
    arguments.format =
        with_talos_values(arguments.format, arguments.talos_values).map_err(CliError::Input)?;
    let files = compared(&arguments)?;
    print_comparison(&files, arguments.output);
    Ok(match files.comparison.status {
        Verdict::Different => FOUND,
        Verdict::Same => NO_DIFFERENCE,
        Verdict::Unknown | Verdict::Nil => UNDECIDED,
    })
}

fn compared(arguments: &Compare) -> Result<ComparedFiles, CliError> {
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
        return Err(refused(arguments, &error, &[]));
    }
    let [before, after] = [&control, &treatment].map(|paths| read(paths, arguments));
    let (before, after) = (before?, after?);
    let mut comparison = compare(&before.files, &after.files, &options)
        .map_err(|error| refused(arguments, &error, &[&before, &after]))?;
    let is_asked_in_vain = |name: &&String| !before.has(name) && !after.has(name);
    if let Some(name) = arguments.chart.iter().find(is_asked_in_vain) {
        return Err(CliError::Input(format!(
            "no file has a chart `{name}`; correct --chart, or leave it out"
        )));
    }
    after.without_failed(&mut comparison.only_control);
    before.without_failed(&mut comparison.only_treatment);
    let failed: Vec<FailedChart> = before.failed.into_iter().chain(after.failed).collect();
    // A chart whose measurement failed, or was not read, may have moved.
    let is_incomplete = !failed.is_empty() || before.has_unread || after.has_unread;
    if comparison.status == Verdict::Same && is_incomplete {
        comparison.status = Verdict::Unknown;
    }
    let names = |paths: &[PathBuf]| paths.iter().map(|it| it.display().to_string()).collect();
    Ok(ComparedFiles {
        version: VERSION,
        control: names(&control),
        treatment: names(&treatment),
        comparison,
        failed,
        warnings: [before.warnings, after.warnings].concat(),
    })
}

fn print_comparison(files: &ComparedFiles, output: OutputFormat) {
    match output {
        // Only jobs have the last.
        OutputFormat::Text | OutputFormat::LegacyJson => print_text(&table::render(files)),
        // Every key is a string, and a number that is not finite is null: this can't fail.
        OutputFormat::Json => print_json(serde_json::to_string_pretty(files).unwrap_or_default()),
        OutputFormat::Markdown => print(format_args!("{}", markdown::render(files))),
        OutputFormat::Github => print(format_args!("{}", annotations::render(files))),
        OutputFormat::Csv => {
            print_bytes(csv::render(files).as_bytes());
            for warning in &files.warnings {
                errln!("warning: {warning}");
            }
        }
    }
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
        side.has_unread = true;
    }
    let failed = (reading.failed.into_iter()).map(|(chart, reason)| FailedChart {
        file: path.to_string(),
        chart,
        reason,
    });
    warnings.retain(|warning| !side.warnings.contains(warning));
    side.warnings.extend(warnings);
    side.failed.extend(failed);
    side.files.push(reading.charts);
    Ok(())
}

fn aggregated(
    path: &Path,
    name: &str,
    values: &[f64],
    aggregate: Aggregate,
) -> Result<Vec<f64>, CliError> {
    let value = aggregate.apply_to(name, values).map_err(|error| {
        CliError::Input(format!(
            "{}: {error}; use another --aggregate, or name the charts with --chart",
            path.display(),
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
