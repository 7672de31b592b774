//! What a run measured, as the search sees it.

use std::collections::BTreeMap;

use pinpoint_core::results::{Format, Output, ReadError};
use pinpoint_core::{Aggregate, Direction, Measure, Series, Usage};
use serde::{Deserialize, Serialize};

use super::LocalError;

/// The chart of [`Format::Time`] that decides when none is named.
const WALL: &str = "wall";

/// How a job's values are read: fixed once, at the good end's first run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The format; never [`Format::Auto`].
    pub format: Format,
    /// The chart that decides; absent when all are compared.
    pub chart: Option<String>,
    /// What it counts.
    #[serde(default)]
    pub unit: Option<String>,
    /// Where better lies, if the format says so.
    #[serde(default)]
    pub direction: Direction,
    /// Every chart of that run.
    #[serde(default)]
    pub charts: BTreeMap<String, Measure>,
}

impl From<&Metric> for pinpoint_core::Metric {
    fn from(metric: &Metric) -> Self {
        Self {
            format: metric.format.to_string(),
            chart: metric.chart.clone(),
            unit: metric.unit.clone(),
            direction: metric.direction,
            charts: metric.charts.clone(),
        }
    }
}

impl TryFrom<&pinpoint_core::Metric> for Metric {
    type Error = LocalError;

    fn try_from(metric: &pinpoint_core::Metric) -> Result<Self, LocalError> {
        Ok(Self {
            format: (metric.format.parse()).map_err(|source| LocalError::Format { source })?,
            chart: metric.chart.clone(),
            unit: metric.unit.clone(),
            direction: metric.direction,
            charts: metric.charts.clone(),
        })
    }
}

/// The charts that a job is about.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// The one of this name, or the only one there is.
    One(Option<&'a str>),
    Every,
}

impl Metric {
    /// Fixes the metric by a run that succeeded.
    pub(super) fn fix(
        format: &Format,
        wanted: Wanted<'_>,
        output: Output<'_>,
        usage: &Usage,
    ) -> Result<Self, Unfit> {
        let format = match format {
            Format::Auto => match Format::recognise(output) {
                Ok(format) => format,
                Err(ReadError::NothingRecognised) => Format::Time,
                Err(error) => return Err(Unfit::Output(error)),
            },
            format => format.clone(),
        };
        let charts = charts(&format, output, usage).map_err(Unfit::Output)?;
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
        Ok(Self {
            chart: deciding.map(|(chart, _)| chart.clone()),
            unit: deciding.and_then(|(_, series)| series.unit.clone()),
            direction: deciding.map_or(Direction::Unknown, |(_, series)| series.direction),
            charts: (charts.iter())
                .map(|(chart, series)| {
                    let measure = Measure {
                        unit: series.unit.clone(),
                        direction: series.direction,
                    };
                    (chart.clone(), measure)
                })
                .collect(),
            format,
        })
    }

    /// One value for each chart of a run that succeeded; or why it did not, in
    /// a line.
    pub(super) fn read(
        &self,
        aggregate: Aggregate,
        output: Output<'_>,
        usage: &Usage,
    ) -> Result<BTreeMap<String, Series>, String> {
        let charts = charts(&self.format, output, usage).map_err(|error| error.to_string())?;
        if let Some(chart) = &self.chart {
            let Some(series) = charts.get(chart) else {
                return Err(format!("gave no value for `{chart}`"));
            };
            check_unit(chart, series, &self.unit)?;
        } else {
            for (chart, series) in &charts {
                if let Some(measure) = self.charts.get(chart) {
                    check_unit(chart, series, &measure.unit)?;
                }
            }
        }
        let mut aggregated = BTreeMap::new();
        for (chart, series) in charts {
            match aggregate.apply(&series.values) {
                Some(value) => {
                    let values = vec![value];
                    aggregated.insert(chart, Series { values, ..series });
                }
                None if self
                    .chart
                    .as_ref()
                    .is_none_or(|deciding| *deciding == chart) =>
                {
                    return Err(format!(
                        "the {} values of `{chart}` can't be aggregated as asked",
                        series.values.len()
                    ));
                }
                // Others are shown where they can be; they decide nothing.
                None => {}
            }
        }
        Ok(aggregated)
    }
}

/// Values in another unit are no values of the same chart.
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

/// Why a run at the good end fixes no metric.
pub(super) enum Unfit {
    /// What it printed gives no values.
    Output(ReadError),
    /// The charts are not those that were asked for.
    Chart(LocalError),
}

fn charts(
    format: &Format,
    output: Output<'_>,
    usage: &Usage,
) -> Result<BTreeMap<String, Series>, ReadError> {
    if *format != Format::Time {
        return format.read(output);
    }
    let series = |value, unit: &str| Series {
        values: vec![value],
        unit: Some(unit.into()),
        direction: Direction::Down,
    };
    Ok(BTreeMap::from([
        (WALL.into(), series(usage.wall, "s")),
        ("user".into(), series(usage.user, "s")),
        ("system".into(), series(usage.system, "s")),
        (
            "peak_memory".into(),
            series(usage.peak_memory as f64, "bytes"),
        ),
    ]))
}

fn in_words(unit: Option<&str>) -> String {
    unit.map_or_else(|| "no unit".into(), |unit| format!("`{unit}`"))
}
