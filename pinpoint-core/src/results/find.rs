//! Finds the metric in the outputs of one run: the output with the values, its format, and doubts
//! about them.
//!
//! Otherwise, an output that is nearly a result would be dropped, and something else compared, with
//! certainty. So an unread text that looks like a value is a [`MetricDoubt`], unless the user named
//! the metric.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Format, Output, ReadError, UnreadValue, unread_values};
use crate::metric::listed;
use crate::{Aggregate, ChartChoice, Metric, MetricSource, NoMetric, Series, metric_of};

/// The user's choice of the metric.
#[derive(Debug, Clone, Copy)]
pub struct RequestedMetric<'a> {
    /// The format; [`Format::Auto`] where it was left open.
    pub format: &'a Format,
    /// The charts.
    pub charts: ChartChoice<'a>,
    /// The aggregate of the values of a run.
    pub aggregate: Option<Aggregate>,
}

/// The outputs of a run that succeeded.
#[derive(Debug, Clone, Copy)]
pub struct RunOutput<'a> {
    /// Its standard output, or its results file.
    pub results: Output<'a>,
    /// The name of the results file, where there is one.
    pub file: Option<&'a str>,
    /// Its standard error.
    pub stderr: &'a [u8],
    /// The measures of the operating system.
    pub measures: &'a BTreeMap<String, Series>,
    /// The measure that decides by default.
    pub usual_measure: &'a str,
}

/// A run gives no metric.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindMetricError {
    /// The output can't be read. Another run's may be.
    #[error(transparent)]
    Output(#[from] ReadError),
    /// The output says that a measurement failed. Another run's may not.
    #[error("the measurement of `{chart}` failed: {reason}")]
    Failed {
        /// Its chart.
        chart: String,
        /// The reason, in words.
        reason: String,
    },
    /// The charts are not those asked for.
    #[error(transparent)]
    Charts(#[from] NoMetric),
    /// The metric is in doubt.
    #[error(transparent)]
    Doubt(#[from] MetricDoubt),
}

impl FindMetricError {
    /// Returns true if another run of the same build may give a metric.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Output(error) => !matches!(error, ReadError::NotFinite { .. }),
            Self::Failed { .. } => true,
            Self::Charts(error) => error.may_pass(),
            Self::Doubt(_) => false,
        }
    }
}

/// The metric is in doubt, and the search would be certain of the wrong one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricDoubt {
    /// Nothing was read, but some lines look like values.
    #[error(
        "no value was recognized in what the benchmark wrote, though {}\nsay how its values are read, or that its wall-clock time is to be compared",
        shown(.unread)
    )]
    NotRead {
        /// The lines that look like values.
        unread: Vec<UnreadLine>,
    },
    /// One chart was read, but other lines look like values.
    #[error(
        "of what the benchmark wrote only `{chart}` was read, though {}\nsay that `{chart}` is to be compared, or how the other values are read",
        shown(.unread)
    )]
    OtherValues {
        /// The chart.
        chart: String,
        /// The other lines that look like values.
        unread: Vec<UnreadLine>,
    },
    /// The chart of one run is missing in the next.
    #[error(
        "the benchmark names its value `{first}` in one run and {} in the next; a name that changes from run to run can't be followed: say how the values are read, with a pattern that leaves the changing part out",
        listed(.then)
    )]
    NameChanges {
        /// The chart of the first run.
        first: String,
        /// The charts of the second run.
        then: Vec<String>,
    },
}

/// An unread line that looks like a value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnreadLine {
    /// The output that holds it.
    pub source: MetricSource,
    /// Its line.
    pub value: UnreadValue,
}

/// Lines that look like values, as many as help.
fn shown(unread: &[UnreadLine]) -> String {
    const MAX_LINES: usize = 5;
    let mut text = match unread.len() {
        1 => "this looks like one:".to_owned(),
        _ => "these look like values:".to_owned(),
    };
    for UnreadLine { source, value } in unread.iter().take(MAX_LINES) {
        // Writing to a string can't fail.
        let _ = write!(
            text,
            "\n  {source}, line {}: {}",
            value.line,
            value.text.trim()
        );
    }
    if unread.len() > MAX_LINES {
        let _ = write!(text, "\n  … {} more", unread.len() - MAX_LINES);
    }
    text
}

/// The metric of a run that succeeded, and the values of the charts that were asked for.
///
/// With [`Format::Auto`] the results file or standard output is read if its format is
/// recognized, else standard error if it is in the format of a tool or has a line of the chart
/// that was asked for, else the run's measures count; with another format, standard error is read
/// where standard output has no value in it.
///
/// # Errors
///
/// Where there is no metric, and, when neither a format nor a chart was asked for, where it is in
/// doubt: lines look like values but nothing was read, or only one chart.
///
/// # Cost
///
/// A few walks through the outputs.
pub fn find_metric(
    asked: RequestedMetric<'_>,
    run: RunOutput<'_>,
) -> Result<(Metric, BTreeMap<String, Series>), FindMetricError> {
    let source = match run.file {
        Some(file) => MetricSource::ResultsFile(file.to_owned()),
        None => MetricSource::StandardOutput,
    };
    match asked.format {
        Format::Time => measured(asked, run, Vec::new()),
        Format::Auto => recognized(asked, run, source),
        format => match read(asked, format, run.results, source.clone()) {
            Ok(found) if format.is_printed_by_a_tool() => Ok(remarked(
                found,
                &unread_in(run.results, Some(format), &source),
            )),
            Err(FindMetricError::Output(error))
                if run.file.is_none() && !matches!(error, ReadError::NotFinite { .. }) =>
            {
                read(
                    asked,
                    format,
                    run.stderr.into(),
                    MetricSource::StandardError,
                )
                .map_err(|_| error.into())
            }
            found => found,
        },
    }
}

type FindMetricResult = Result<(Metric, BTreeMap<String, Series>), FindMetricError>;

fn recognized(
    asked: RequestedMetric<'_>,
    run: RunOutput<'_>,
    source: MetricSource,
) -> FindMetricResult {
    let is_file = run.file.is_some();
    let of_stderr = || Format::recognize(run.stderr).ok().filter(|_| !is_file);
    let stderr = || unread_in(run.stderr.into(), None, &MetricSource::StandardError);
    match Format::recognize(run.results) {
        Ok(format) => {
            let found = read(asked, &format, run.results, source.clone());
            if let (Err(FindMetricError::Charts(NoMetric::NoSuchChart { .. })), Some(other)) =
                (&found, of_stderr())
                && let Ok(found) = read(
                    asked,
                    &other,
                    run.stderr.into(),
                    MetricSource::StandardError,
                )
            {
                return Ok(found);
            }
            // The chart that was asked for may be the benchmark's own line among a tool's output.
            if let (Err(FindMetricError::Charts(NoMetric::NoSuchChart { .. })), true) =
                (&found, format.is_printed_by_a_tool())
                && let Ok(found) = read(asked, &Format::Lines, run.results, source.clone())
            {
                return Ok(found);
            }
            let (metric, charts) = found?;
            let mut others = unread_in(run.results, Some(&format), &source);
            // A program's logs next to the results of a tool are not results.
            let is_value = |other: &Format| format == Format::Lines || *other != Format::Lines;
            if of_stderr().is_some_and(|other| is_value(&other)) {
                others.extend(stderr());
            }
            undoubted(asked, metric, charts, others)
        }
        // The user named the place of the values.
        Err(error) if is_file => Err(error.into()),
        Err(_) => {
            let mut unread = unread_in(run.results, None, &source);
            let may_count = |format: &Format| unread.is_empty() || *format != Format::Lines;
            if let Some(format) = of_stderr().filter(may_count) {
                let source = MetricSource::StandardError;
                let found = read(asked, &format, run.stderr.into(), source.clone());
                // Programs log times, counts and sizes there, as `connected in: 10 ms`. A line is
                // a result only if its name was asked for.
                let is_named = matches!(asked.charts, ChartChoice::Named(_));
                if format == Format::Lines && !(is_named && found.is_ok()) {
                    return doubtful(asked, run, stderr());
                }
                let (metric, charts) = found?;
                unread.extend(unread_in(run.stderr.into(), Some(&format), &source));
                return undoubted(asked, metric, charts, unread);
            }
            if !is_file {
                unread.extend(stderr());
            }
            doubtful(asked, run, unread)
        }
    }
}

/// A metric that was read, unless these other values make it doubtful.
fn undoubted(
    asked: RequestedMetric<'_>,
    metric: Metric,
    charts: BTreeMap<String, Series>,
    others: Vec<UnreadLine>,
) -> FindMetricResult {
    let is_said = matches!(asked.charts, ChartChoice::Named(_));
    if is_said || others.is_empty() {
        return Ok((metric, charts));
    }
    match charts.keys().next() {
        Some(chart) if charts.len() == 1 => Err(MetricDoubt::OtherValues {
            chart: chart.clone(),
            unread: others,
        }
        .into()),
        _ => Ok(remarked((metric, charts), &others)),
    }
}

/// A metric with a remark on other values.
fn remarked(
    (mut metric, charts): (Metric, BTreeMap<String, Series>),
    others: &[UnreadLine],
) -> (Metric, BTreeMap<String, Series>) {
    if !others.is_empty() {
        let remark = format!("not all of the output was read: {}", shown(others));
        metric.remarks.push(remark);
    }
    (metric, charts)
}

/// The run's measures, unless other lines look like values.
fn doubtful(
    asked: RequestedMetric<'_>,
    run: RunOutput<'_>,
    unread: Vec<UnreadLine>,
) -> FindMetricResult {
    let is_said =
        matches!(asked.charts, ChartChoice::Named(chart) if run.measures.contains_key(chart));
    if is_said {
        return measured(asked, run, Vec::new());
    }
    if !unread.is_empty() {
        return Err(MetricDoubt::NotRead { unread }.into());
    }
    let is_silent = |output: &[u8]| output.iter().all(u8::is_ascii_whitespace);
    let is_empty = match run.results {
        Output::File(content) => is_silent(content) && is_silent(run.stderr),
        Output::Folder(files) => files.is_empty(),
    };
    let remarks = match is_empty {
        true => Vec::new(),
        false => vec![
            "nothing in what the benchmark wrote was recognized as a value: its wall-clock time \
             was compared"
                .to_owned(),
        ],
    };
    measured(asked, run, remarks)
}

/// The lines of an output that look like values but are not read in this format.
fn unread_in(
    output: Output<'_>,
    format: Option<&Format>,
    source: &MetricSource,
) -> Vec<UnreadLine> {
    let Output::File(content) = output else {
        return Vec::new();
    };
    let unread = unread_values(content, format).into_iter();
    unread
        .map(|value| UnreadLine {
            source: source.clone(),
            value,
        })
        .collect()
}

fn read(
    asked: RequestedMetric<'_>,
    format: &Format,
    output: Output<'_>,
    source: MetricSource,
) -> FindMetricResult {
    let reading = format.read_with_failures(output)?;
    let failure = match asked.charts {
        ChartChoice::Named(chart) => reading.failed.get_key_value(chart),
        // Of several that have values, one has to be named first.
        ChartChoice::Only if reading.charts.len() < 2 && reading.headline.is_none() => {
            reading.failed.first_key_value()
        }
        ChartChoice::Only => None,
        ChartChoice::Every => None,
    };
    if let Some((chart, reason)) = failure {
        return Err(FindMetricError::Failed {
            chart: chart.clone(),
            reason: reason.clone(),
        });
    }
    let mut remarks: Vec<String> = { reading.failed.iter() }
        .map(|(chart, reason)| format!("the measurement of `{chart}` failed: {reason}"))
        .collect();
    let of_chart = |chart: Option<&str>| chart.and_then(|chart| reading.coarse.get(chart));
    let deciding = match asked.charts {
        ChartChoice::Named(chart) => Some(chart),
        ChartChoice::Only => reading.only_measure(format),
        ChartChoice::Every => reading.headline.as_deref(),
    };
    // The reading remarks that the headline is coarse; another chart may decide.
    let of_another = of_chart(reading.headline.as_deref());
    let others = (reading.remarks.iter()).filter(|remark| Some(*remark) != of_another);
    remarks.extend(others.chain(of_chart(deciding)).cloned());
    if matches!(format, Format::Regex(_)) {
        let several = reading.charts.iter().filter(|(_, it)| it.values.len() > 1);
        remarks.extend(several.map(|(chart, series)| {
            format!(
                "the pattern matches {} times in the output of a run: check that all of these are \
                 values of `{chart}`",
                series.values.len()
            )
        }));
    }
    let charts = match (asked.charts, reading.only_measure(format)) {
        (ChartChoice::Only, Some(chart)) => {
            let others = reading.charts.keys().filter(|it| *it != chart);
            let others: Vec<String> = others.cloned().collect();
            if !others.is_empty() {
                remarks.push(format!(
                    "`{chart}` was compared, and {} not: {}",
                    listed(&others),
                    match (&reading.headline, others.len()) {
                        (Some(_), _) => "it is the result by which the tool is known",
                        (None, 1) => "it was taken for a count or a setting",
                        (None, _) => "they were taken for a count or a setting",
                    }
                ));
            }
            ChartChoice::Named(chart)
        }
        (charts, _) => charts,
    };
    let asked = RequestedMetric { charts, ..asked };
    chosen(asked, format, reading.charts.clone(), source, remarks)
}

fn measured(
    asked: RequestedMetric<'_>,
    run: RunOutput<'_>,
    remarks: Vec<String>,
) -> FindMetricResult {
    let usual = run.measures.contains_key(run.usual_measure);
    let charts = match asked.charts {
        ChartChoice::Only if usual => ChartChoice::Named(run.usual_measure),
        charts => charts,
    };
    let asked = RequestedMetric { charts, ..asked };
    let (measures, source) = (run.measures.clone(), MetricSource::Measured);
    chosen(asked, &Format::Time, measures, source, remarks)
}

fn chosen(
    asked: RequestedMetric<'_>,
    format: &Format,
    mut charts: BTreeMap<String, Series>,
    source: MetricSource,
    remarks: Vec<String>,
) -> FindMetricResult {
    let mut metric = metric_of(asked.charts, &charts, asked.aggregate)?;
    metric.format = format.to_string();
    metric.source = Some(source);
    metric.remarks.extend(remarks);
    if let Some(deciding) = &metric.chart {
        charts.retain(|chart, _| chart == deciding);
    }
    Ok((metric, charts))
}

impl MetricDoubt {
    /// The doubt about a name that is missing in a second run with these charts.
    ///
    /// Where all charts are compared, only if the second run has none of them.
    pub fn of_name(metric: &Metric, second: Vec<String>) -> Option<Self> {
        let first = match &metric.chart {
            Some(chart) => Some(chart),
            None => metric.charts.keys().next(),
        };
        let is_there = match &metric.chart {
            Some(chart) => second.contains(chart),
            None => metric.charts.keys().any(|chart| second.contains(chart)),
        };
        (!is_there && !second.is_empty()).then_some(Self::NameChanges {
            first: first?.clone(),
            then: second,
        })
    }
}

/// Returns true if the name of a chart may differ between runs. Only one with a digit may: time
/// stamps, process numbers and addresses have one.
pub fn may_change(chart: &str) -> bool {
    chart.contains(|letter: char| letter.is_ascii_digit())
}
