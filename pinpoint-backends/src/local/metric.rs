//! How the output of a run is read.

use std::collections::BTreeMap;

use pinpoint_core::results::{Format, Output, ReadError};
use pinpoint_core::{Aggregate, Direction, Measure, Metric, Series, Usage};

use super::error::LocalError;

/// The chart of [`Format::Time`] that decides when none is named.
const WALL: &str = "wall";

/// The values of one run by their charts.
pub(super) type Charts = BTreeMap<String, Series>;

/// The charts that a job is about.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// The one of this name, or the only one there is.
    One(Option<&'a str>),
    Every,
}

/// The metric that a run which succeeded gives, and its values.
pub(super) fn find(
    format: &Format,
    wanted: Wanted<'_>,
    output: Output<'_>,
    usage: &Usage,
) -> Result<(Metric, Charts), Unfit> {
    let format = match format {
        Format::Auto => match Format::recognise(output) {
            Ok(format) => format,
            Err(ReadError::NothingRecognised) => Format::Time,
            Err(error) => return Err(Unfit::Output(error)),
        },
        format => format.clone(),
    };
    let charts = read_all(&format, output, usage).map_err(Unfit::Output)?;
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
    Ok((metric, charts))
}

/// The values of a run that succeeded; or why it did not, in a line.
pub(super) fn read(
    metric: &Metric,
    format: &Format,
    output: Output<'_>,
    usage: &Usage,
) -> Result<Charts, String> {
    let charts = read_all(format, output, usage).map_err(|error| error.to_string())?;
    if let Some(chart) = &metric.chart {
        let Some(series) = charts.get(chart) else {
            return Err(format!("gave no value for `{chart}`"));
        };
        check_unit(chart, series, &metric.unit)?;
    } else {
        for (chart, series) in &charts {
            if let Some(measure) = metric.charts.get(chart) {
                check_unit(chart, series, &measure.unit)?;
            }
        }
    }
    Ok(charts)
}

/// One value for each chart.
pub(super) fn aggregated(
    charts: Charts,
    deciding: Option<&str>,
    aggregate: Aggregate,
) -> Result<Charts, String> {
    let mut aggregated = BTreeMap::new();
    for (chart, series) in charts {
        match aggregate.apply(&series.values) {
            Some(value) => {
                let values = vec![value];
                aggregated.insert(chart, Series { values, ..series });
            }
            None if deciding.is_none_or(|deciding| deciding == chart) => {
                return Err(format!(
                    "the {} values of {chart:?} have no {aggregate}",
                    series.values.len()
                ));
            }
            // It decides nothing.
            None => {}
        }
    }
    Ok(aggregated)
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

/// Why a run gives no metric.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    /// What it printed gives no values.
    #[error(transparent)]
    Output(ReadError),
    /// The charts are not those that were asked for.
    #[error(transparent)]
    Chart(LocalError),
}

fn read_all(format: &Format, output: Output<'_>, usage: &Usage) -> Result<Charts, ReadError> {
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
