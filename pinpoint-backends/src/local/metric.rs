//! Reading the output of a run.

use std::collections::BTreeMap;

use pinpoint_core::results::{Format, Output, ReadError};
use pinpoint_core::{Aggregate, Charts, Direction, Measure, Metric, Series};

use super::config::LocalConfig;
use super::error::LocalError;
use super::measures::WALL;

/// The values of one run by their charts.
pub(super) type Values = BTreeMap<String, Series>;

/// The charts that a job is about.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// The one of this name, or the only one there is.
    One(Option<&'a str>),
    Every,
}

/// The metric of a run that succeeded, and the requested values; `measures` are its
/// values where none are read from its output.
pub(super) fn find(
    format: &Format,
    wanted: Wanted<'_>,
    output: Output<'_>,
    measures: &Values,
) -> Result<(Metric, Values), Unfit> {
    let format = match format {
        Format::Auto => match Format::recognise(output) {
            Ok(format) => format,
            Err(ReadError::NothingRecognised) => Format::Time,
            Err(error) => return Err(Unfit::Output(error)),
        },
        format => format.clone(),
    };
    let mut charts = read_all(&format, output, measures).map_err(Unfit::Output)?;
    let existing = || charts.keys().cloned().collect();
    let deciding = match wanted {
        Wanted::Every => None,
        Wanted::One(Some(name)) => Some(charts.get_key_value(name).ok_or_else(|| {
            Unfit::Chart(LocalError::NoSuchChart {
                chart: name.into(),
                existing: existing(),
            })
        })?),
        Wanted::One(None) => match (charts.get_key_value(WALL), charts.iter().next()) {
            (Some(wall), _) if format == Format::Time => Some(wall),
            (_, Some(only)) if charts.len() == 1 => Some(only),
            _ => {
                return Err(Unfit::Chart(LocalError::ManyCharts {
                    existing: existing(),
                }));
            }
        },
    };
    let measures = charts.iter().map(|(chart, series)| {
        let measure = Measure {
            unit: series.unit.clone(),
            direction: series.direction,
        };
        (chart.clone(), measure)
    });
    let metric = Metric {
        format: format.to_string(),
        chart: deciding.map(|(chart, _)| chart.clone()),
        unit: deciding.and_then(|(_, series)| series.unit.clone()),
        direction: deciding.map_or(Direction::Unknown, |(_, series)| series.direction),
        charts: measures.collect(),
    };
    if let Some(deciding) = &metric.chart {
        charts.retain(|chart, _| chart == deciding);
    }
    Ok((metric, charts))
}

/// Reads the values of a run.
pub(super) struct Reader<'a> {
    /// Absent where each run is read by itself.
    metric: Option<&'a Metric>,
    format: Format,
    wanted: Wanted<'a>,
    aggregate: Option<Aggregate>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        config: &'a LocalConfig,
        metric: Option<&'a Metric>,
        charts: &'a Charts,
    ) -> Result<Self, LocalError> {
        let format = match metric {
            Some(metric) => {
                (metric.format.parse()).map_err(|source| LocalError::Format { source })?
            }
            None => config.format.clone(),
        };
        Ok(Self {
            metric,
            format,
            wanted: match charts {
                Charts::All => Wanted::Every,
                Charts::Deciding(chart) => {
                    Wanted::One(chart.as_deref().or(config.chart.as_deref()))
                }
            },
            aggregate: config.run_aggregate,
        })
    }

    pub(super) fn format(&self) -> &Format {
        &self.format
    }

    /// The chart that decides, if known before a run.
    pub(super) fn chart(&self) -> Option<String> {
        self.metric?.chart.clone()
    }

    /// Is it known before a run that this chart decides?
    pub(super) fn is_decided_by(&self, chart: &str) -> bool {
        let deciding = match (self.metric, self.wanted) {
            (Some(metric), _) => metric.chart.as_deref(),
            (None, Wanted::One(name)) => name,
            (None, Wanted::Every) => None,
        };
        deciding == Some(chart)
    }

    /// The chart that decides and the values of a run that succeeded; or the reason for
    /// its failure, in one line.
    pub(super) fn read(
        &self,
        output: Output<'_>,
        measures: &Values,
    ) -> Result<(Option<String>, Values), String> {
        let (chart, values) = match self.metric {
            Some(metric) => {
                let values = read_all(&self.format, output, measures);
                let mut values = values.map_err(|error| error.to_string())?;
                check_units(metric, &values)?;
                if let (Wanted::One(_), Some(chart)) = (self.wanted, &metric.chart) {
                    values.retain(|name, _| name == chart);
                }
                (metric.chart.clone(), values)
            }
            None => {
                let found = find(&self.format, self.wanted, output, measures);
                let (metric, values) = found.map_err(|unfit| unfit.to_string())?;
                (metric.chart, values)
            }
        };
        match self.aggregate {
            Some(aggregate) => Ok((chart, aggregated(values, aggregate)?)),
            None => Ok((chart, values)),
        }
    }
}

/// One value for each chart.
pub(super) fn aggregated(values: Values, aggregate: Aggregate) -> Result<Values, String> {
    let one = |(chart, series): (String, Series)| {
        let count = series.values.len();
        let value = aggregate.apply(&series.values);
        let value =
            value.ok_or_else(|| format!("the {count} values of {chart:?} have no {aggregate}"))?;
        let values = vec![value];
        Ok((chart, Series { values, ..series }))
    };
    values.into_iter().map(one).collect()
}

/// Does the deciding chart exist, and are the values in the units of the metric?
fn check_units(metric: &Metric, values: &Values) -> Result<(), String> {
    let Some(chart) = &metric.chart else {
        return (values.iter())
            .filter_map(|(chart, series)| Some((chart, series, metric.charts.get(chart)?)))
            .try_for_each(|(chart, series, measure)| check_unit(chart, series, &measure.unit));
    };
    match values.get(chart) {
        Some(series) => check_unit(chart, series, &metric.unit),
        None => Err(format!("gave no value for `{chart}`")),
    }
}

/// Values in another unit do not belong to the same chart.
fn check_unit(chart: &str, series: &Series, unit: &Option<String>) -> Result<(), String> {
    if series.unit == *unit {
        return Ok(());
    }
    Err(format!(
        "gave `{chart}` in {} instead of {}",
        in_words(series.unit.as_deref()),
        in_words(unit.as_deref()),
    ))
}

/// The reason why a run gives no metric.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    /// Its output gives no values.
    #[error(transparent)]
    Output(ReadError),
    /// The charts are not those asked for.
    #[error(transparent)]
    Chart(LocalError),
}

fn read_all(format: &Format, output: Output<'_>, measures: &Values) -> Result<Values, ReadError> {
    match format {
        Format::Time => Ok(measures.clone()),
        format => format.read(output),
    }
}

fn in_words(unit: Option<&str>) -> String {
    unit.map_or_else(|| "no unit".into(), |unit| format!("`{unit}`"))
}
