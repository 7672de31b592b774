//! `pinpoint detect`: the changes in a history of values.

mod source;
mod stored;

use std::io::Read;
use std::path::Path;

use pinpoint_core::Magnitude;
use pinpoint_report::{ChangedSeries, DetectedChanges, ReportError, changes_page};
use pinpoint_traces::{ChangeOptions, SeriesTable, TableSeries, read_table, series_changes};

use self::source::Source;
use crate::arguments::{Detect, Display, Output};
use crate::error::CliError;
use crate::exit_code::{FOUND, NO_DIFFERENCE, UNDECIDED};
use crate::job::report;
use crate::show::changes::render;
use crate::show::output::{errln, print_result_json, print_text};

/// The version of the document.
const VERSION: u32 = 1;

pub(crate) async fn run(arguments: &Detect, display: &Display) -> Result<u8, CliError> {
    let page = (arguments.report.as_deref())
        .map(report::destination)
        .transpose()?;
    let detected = match Source::of(arguments, Path::exists)? {
        Source::Table(file) => {
            let text = read(&file)?;
            let table = read_table(&text, arguments.labels.as_deref())
                .map_err(|error| CliError::Input(format!("{}: {error}", file.display())))?;
            detect(arguments, &file, table)?
        }
        Source::History(query) => stored::detect(arguments, &query, display).await?,
    };
    if let Some(page) = page {
        let text = changes_page(&detected).map_err(ReportError::from)?;
        report::write_text(&text, &page)?;
        errln!("report: {}", page.display());
    }
    match display.output {
        Output::Text => print_text(&render(&detected)),
        Output::Json => print_result_json(&detected),
    }
    Ok(if detected.changes().next().is_some() {
        FOUND
    } else if detected.series.iter().any(|it| it.found.is_too_short) {
        UNDECIDED
    } else {
        NO_DIFFERENCE
    })
}

fn read(file: &Path) -> Result<String, CliError> {
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    let bytes = bytes
        .map_err(|error| CliError::Input(format!("can't read {}: {error}", file.display())))?;
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        CliError::Input(format!(
            "{}: byte {place} is not UTF-8; convert the table first",
            file.display()
        ))
    })
}

fn detect(
    arguments: &Detect,
    file: &Path,
    table: SeriesTable,
) -> Result<DetectedChanges, CliError> {
    for name in &arguments.series {
        if !table.series.iter().any(|series| series.name == *name) {
            let names: Vec<&str> = table.series.iter().map(|it| it.name.as_str()).collect();
            return Err(CliError::Input(format!(
                "the table has no series `{name}`; its series are {}",
                names.join(", ")
            )));
        }
    }
    let mut options = options(arguments);
    let direction = arguments.direction.map(Into::into).unwrap_or_default();
    let is_asked =
        |it: &TableSeries| arguments.series.is_empty() || arguments.series.contains(&it.name);
    let mut series = Vec::new();
    for (seed, column) in table.series.into_iter().enumerate() {
        if !is_asked(&column) {
            continue;
        }
        // Equal values are ordered by the seed, which is not to be the same for all series.
        options.seed = seed as u64;
        let found = series_changes(&column.values, options)
            .map_err(|error| CliError::Input(format!("series `{}`: {error}", column.name)))?;
        series.push(ChangedSeries {
            name: column.name,
            direction,
            history: column.values,
            found,
        });
    }
    let values = series.iter().map(|it| it.found.values).sum::<usize>();
    Ok(DetectedChanges {
        version: VERSION,
        file: file.display().to_string(),
        rate: arguments.rate,
        values,
        expected_false_alarms: arguments.rate * values as f64,
        direction,
        label_column: table.label_column,
        labels: table.labels,
        series,
        unread_columns: table.unread_columns,
    })
}

/// The options of the search in one series.
fn options(arguments: &Detect) -> ChangeOptions {
    let mut options = ChangeOptions {
        rate: arguments.rate,
        ..ChangeOptions::default()
    };
    match arguments.smallest_change {
        Some(Magnitude::Percent(percent)) => options.least_share = percent / 100.0,
        Some(Magnitude::Absolute(amount)) => options.least_amount = amount,
        _ => {}
    }
    options
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::arguments::{DetectHistory, DirectionArgument};
    use crate::show::screen_tests::without_styles;

    /// A step of `sort` at row 61, a spike of `load` in rows 81 to 92, a drift of nothing, and a
    /// series that begins late.
    fn table() -> SeriesTable {
        let mut text = String::from("commit,sort (ms),load,late,author\n");
        for i in 0..140_u32 {
            let noise = f64::from((i * i * 37 + i * 11) % 101) / 101.0;
            let sort = if i < 60 { 10.0 } else { 13.0 } + noise;
            let load = if (80..92).contains(&i) { 25.0 } else { 20.0 } + noise;
            let late = if i < 130 {
                String::new()
            } else {
                noise.to_string()
            };
            let _ = writeln!(text, "c{i},{sort},{load},{late},someone");
        }
        read_table(&text, None).unwrap()
    }

    pub(super) fn arguments() -> Detect {
        Detect {
            series: Vec::new(),
            labels: None,
            rate: 1e-4,
            smallest_change: None,
            direction: None,
            report: None,
            input: Some("history.csv".into()),
            query: None,
            history: DetectHistory::default(),
        }
    }

    #[test]
    fn changes_are_told_with_their_place() {
        let detected = detect(&arguments(), Path::new("history.csv"), table()).unwrap();
        insta::assert_snapshot!(without_styles(&render(&detected)));
        let regressions = Detect {
            direction: Some(DirectionArgument::Down),
            series: vec!["sort (ms)".into()],
            ..arguments()
        };
        let detected = detect(&regressions, Path::new("history.csv"), table()).unwrap();
        insta::assert_snapshot!(without_styles(&render(&detected)));
        let small = Detect {
            smallest_change: Some(Magnitude::Percent(60.0)),
            ..arguments()
        };
        let detected = detect(&small, Path::new("history.csv"), table()).unwrap();
        insta::assert_snapshot!(without_styles(&render(&detected)));
    }

    #[test]
    fn the_document_names_rows_and_labels() {
        let detected = detect(&arguments(), Path::new("history.csv"), table()).unwrap();
        let document = serde_json::to_value(&detected).unwrap();
        let change = &document["series"][0]["changes"][0];
        assert_eq!(change["row"], 60);
        assert_eq!(change["shape"], "step");
        assert_eq!(document["labels"][60], "c60");
        assert_eq!(document["series"][2]["is_too_short"], true);
        assert_eq!(document["unread_columns"][0], "author");
    }

    #[test]
    fn a_series_that_is_not_there_is_refused() {
        let unknown = Detect {
            series: vec!["sort".into()],
            ..arguments()
        };
        let error = detect(&unknown, Path::new("history.csv"), table())
            .unwrap_err()
            .to_string();
        assert!(error.contains("sort (ms), load, late"), "{error}");
        let rate = Detect {
            rate: 0.5,
            ..arguments()
        };
        assert!(detect(&rate, Path::new("history.csv"), table()).is_err());
    }
}
