//! What a run measured, as the search sees it.

use std::collections::BTreeMap;

use pinpoint_core::results::{Aggregate, Format, Output, ReadError};
use pinpoint_core::{Direction, Series, Usage};
use serde::{Deserialize, Serialize};

use super::LocalError;

/// The chart of [`Format::Time`] that decides when none is named.
const WALL: &str = "wall";

/// How a job's values are read: fixed once, at the good end's first run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The format; never [`Format::Auto`].
    pub format: Format,
    /// The chart that decides.
    pub chart: String,
    /// What it counts.
    #[serde(default)]
    pub unit: Option<String>,
    /// Where better lies, if the format says so.
    #[serde(default)]
    pub direction: Direction,
}

impl Metric {
    /// Fixes the metric by a run that succeeded.
    pub(super) fn fix(
        format: &Format,
        chart: Option<&str>,
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
        let (chart, series) = match chart {
            Some(name) => charts.get_key_value(name).ok_or_else(|| {
                Unfit::Chart(LocalError::NoSuchChart {
                    chart: name.into(),
                    existing: existing(),
                })
            })?,
            None => match (charts.get_key_value(WALL), charts.iter().next()) {
                (Some(wall), _) if format == Format::Time => wall,
                (_, Some(only)) if charts.len() == 1 => only,
                _ => {
                    return Err(Unfit::Chart(LocalError::ManyCharts {
                        existing: existing(),
                    }));
                }
            },
        };
        Ok(Self {
            chart: chart.clone(),
            unit: series.unit.clone(),
            direction: series.direction,
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
        let Some(decisive) = charts.get(&self.chart) else {
            return Err(format!("gave no value for `{}`", self.chart));
        };
        if decisive.unit != self.unit {
            return Err(format!(
                "gave `{}` in {} instead of {}",
                self.chart,
                in_words(decisive.unit.as_deref()),
                in_words(self.unit.as_deref()),
            ));
        }
        let mut aggregated = BTreeMap::new();
        for (chart, series) in charts {
            match aggregate.apply(&series.values) {
                Some(value) => {
                    let values = vec![value];
                    aggregated.insert(chart, Series { values, ..series });
                }
                None if chart == self.chart => {
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
