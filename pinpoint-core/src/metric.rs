//! The metric of a benchmark: the chart that decides, with the source and format of its values.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Aggregate, Direction, Series};

/// The metric of a job, by which its values are read: fixed once, by a run of the good
/// end that is not counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The format of the benchmark's output, in the executor's words.
    #[serde(default)]
    pub format: String,
    /// The chart that decides; absent when all are compared.
    pub chart: Option<String>,
    /// The unit.
    #[serde(default)]
    pub unit: Option<String>,
    /// The direction of improvement, if the format gives it.
    #[serde(default)]
    pub direction: Direction,
    /// Every chart of that run.
    #[serde(default)]
    pub charts: BTreeMap<String, Measure>,
    /// The place where the values are read; absent where an earlier version found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<MetricSource>,
    /// Remarks on the choice for the answer: a sentence each, without its period.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// The unit and direction of a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// The unit, as the benchmark writes it.
    pub unit: Option<String>,
    /// The direction of improvement, if the format gives it.
    pub direction: Direction,
}

/// The place where the values of a metric are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MetricSource {
    /// The benchmark's standard output.
    StandardOutput,
    /// Its standard error.
    StandardError,
    /// A file or folder that it writes, by its name.
    ResultsFile(String),
    /// The operating system: nothing is read.
    Measured,
    /// A function of the caller returns them.
    Function,
    /// The results of a task on a bot.
    Task,
}

impl fmt::Display for MetricSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandardOutput => formatter.write_str("standard output"),
            Self::StandardError => formatter.write_str("standard error"),
            Self::ResultsFile(name) => write!(formatter, "`{name}`"),
            Self::Measured => formatter.write_str("the operating system"),
            Self::Function => formatter.write_str("the function that runs the benchmark"),
            Self::Task => formatter.write_str("the results of its task"),
        }
    }
}

impl Metric {
    /// The charts of a run in the units of the metric: those of one dimension are converted.
    ///
    /// # Errors
    ///
    /// When the chart that decides, or any where all are compared, is in a unit that can't be
    /// converted: its values do not belong to the same chart.
    pub fn in_units(
        &self,
        mut charts: BTreeMap<String, Series>,
    ) -> Result<BTreeMap<String, Series>, OtherUnit> {
        for (chart, series) in &mut charts {
            let unit = match &self.chart {
                Some(deciding) if chart == deciding => &self.unit,
                Some(_) => continue,
                None => match self.charts.get(chart) {
                    Some(measure) => &measure.unit,
                    None => continue,
                },
            };
            if series.unit != *unit {
                *series = series.in_unit(unit.as_deref()).ok_or_else(|| OtherUnit {
                    chart: chart.clone(),
                    unit: series.unit.clone(),
                    expected: unit.clone(),
                })?;
            }
        }
        Ok(charts)
    }
}

/// The values of a run are in a unit that can't be converted to that of the metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "gave `{chart}` in {} instead of {}",
    unit_in_words(.unit.as_deref()),
    unit_in_words(.expected.as_deref())
)]
#[non_exhaustive]
pub struct OtherUnit {
    /// The chart.
    pub chart: String,
    /// The unit of the run.
    pub unit: Option<String>,
    /// The unit of the metric.
    pub expected: Option<String>,
}

fn unit_in_words(unit: Option<&str>) -> String {
    unit.map_or_else(|| "no unit".into(), |unit| format!("`{unit}`"))
}

/// The charts that a job asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartChoice<'a> {
    /// All of them; no single one decides.
    Every,
    /// The one of this name.
    Named(&'a str),
    /// The only one there is.
    Only,
}

impl<'a> ChartChoice<'a> {
    /// The named one, or the only one there is.
    pub fn named_or_only(name: Option<&'a str>) -> Self {
        name.map_or(Self::Only, Self::Named)
    }
}

/// The charts of a run that succeeded give no metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoMetric {
    /// There are no values.
    #[error("the benchmark gives no values")]
    NoValues,
    /// The chart does not exist.
    #[error("the benchmark gives no chart `{chart}`; it gives {}; choose one of those", listed(.existing))]
    NoSuchChart {
        /// The chart that was named.
        chart: String,
        /// The charts that exist.
        existing: Vec<String>,
    },
    /// There are several charts, and none was named.
    #[error("the benchmark gives {} charts ({}); choose one", .existing.len(), listed(.existing))]
    ManyCharts {
        /// The charts that exist.
        existing: Vec<String>,
    },
    /// The values of a run can't be aggregated.
    #[error("the {count} values of `{chart}` have no {aggregate}")]
    NoAggregate {
        /// The chart.
        chart: String,
        /// The number of its values in a run.
        count: usize,
        /// The requested aggregate.
        aggregate: Aggregate,
    },
}

impl NoMetric {
    /// Returns true if another run of the same build may give a metric: this one gave no values.
    /// Other charts, and an aggregate that does not apply, stay as they are from run to run.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::NoValues)
    }
}

/// The chart that decides among these: the one that the job names, or else the one that its
/// executor chose, or else the only one there is.
pub fn deciding_chart<'a>(
    requested: Option<&'a str>,
    chosen: Option<&'a str>,
    charts: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    requested.or(chosen).or_else(|| {
        let mut charts = charts.into_iter();
        charts.next().filter(|_| charts.next().is_none())
    })
}

/// The metric of a run with these charts. A chart decides only if it was named or is the only one.
///
/// Format and source are left to the caller.
///
/// # Errors
///
/// When no chart has values, the named one does not exist, several do and none was named,
/// or the aggregate does not exist for the values of the chart that decides. Where all
/// charts are compared, those without it are named in a remark, and it is an error when
/// no chart has it.
pub fn metric_of(
    choice: ChartChoice<'_>,
    charts: &BTreeMap<String, Series>,
    aggregate: Option<Aggregate>,
) -> Result<Metric, NoMetric> {
    let with_values = charts
        .iter()
        .filter(|(_, series)| !series.values.is_empty());
    let charts: BTreeMap<&String, &Series> = with_values.collect();
    let existing = || charts.keys().map(|&chart| chart.clone()).collect();
    let deciding = match choice {
        ChartChoice::Named(name) => match charts.iter().find(|(chart, _)| chart.as_str() == name) {
            None if charts.is_empty() => return Err(NoMetric::NoValues),
            None => {
                return Err(NoMetric::NoSuchChart {
                    chart: name.into(),
                    existing: existing(),
                });
            }
            named => named,
        },
        _ if charts.is_empty() => return Err(NoMetric::NoValues),
        ChartChoice::Only if charts.len() > 1 => {
            return Err(NoMetric::ManyCharts {
                existing: existing(),
            });
        }
        ChartChoice::Only => charts.first_key_value(),
        ChartChoice::Every => None,
    };
    let mut remarks = Vec::new();
    if let Some(aggregate) = aggregate {
        let compared = deciding.map_or_else(
            || charts.iter().collect(),
            |deciding| Vec::from_iter([deciding]),
        );
        let without: Vec<_> = (compared.iter())
            .filter(|(chart, series)| aggregate.apply_to(chart, &series.values).is_err())
            .collect();
        match without.first() {
            Some((chart, series)) if without.len() == compared.len() => {
                return Err(NoMetric::NoAggregate {
                    chart: chart.to_string(),
                    count: series.values.len(),
                    aggregate,
                });
            }
            Some(_) => {
                let names: Vec<String> = without.iter().map(|(it, _)| it.to_string()).collect();
                remarks.push(format!(
                    "{} not compared: the values of a run have no {aggregate}",
                    match &names[..] {
                        [only] => format!("`{only}` was"),
                        several => format!("{} were", listed(several)),
                    }
                ));
            }
            None => {}
        }
    }
    let measure = |series: &Series| Measure {
        unit: series.unit.clone(),
        direction: series.direction,
    };
    Ok(Metric {
        chart: deciding.map(|(chart, _)| chart.to_string()),
        unit: deciding.and_then(|(_, series)| series.unit.clone()),
        direction: deciding.map_or(Direction::Unknown, |(_, series)| series.direction),
        charts: (charts.iter())
            .map(|(chart, series)| (chart.to_string(), measure(series)))
            .collect(),
        remarks,
        ..Metric::default()
    })
}

/// Names for a message, in backquotes: not all of thousands.
pub(crate) fn listed(names: &[String]) -> String {
    const MAX_NAMES: usize = 20;
    let quoted = names.iter().take(MAX_NAMES).map(|name| format!("`{name}`"));
    let mut text = quoted.collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMES {
        text += &format!(" and {} more", names.len() - MAX_NAMES);
    }
    text
}
