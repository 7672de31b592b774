//! The collection of values found by the readers.

use std::collections::{BTreeMap, BTreeSet};

use super::{Place, ReadError};
use crate::{Direction, Series};

/// The charts of one output.
///
/// No addition can be refused immediately, so that a reader may walk on: the first fault
/// is kept, and [`Charts::finish`] returns it.
#[derive(Default)]
pub(super) struct Charts {
    series: BTreeMap<String, Series>,
    failed: BTreeSet<String>,
    fault: Option<ReadError>,
}

impl Charts {
    /// Adds values to a chart. A chart that gets none does not exist.
    ///
    /// Another unit than the chart's is a fault: milliseconds and seconds in one
    /// sample would pass for a change of performance.
    pub(super) fn add(
        &mut self,
        chart: &str,
        values: Vec<f64>,
        unit: Option<&str>,
        direction: Direction,
        place: impl FnOnce() -> Place,
    ) {
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            let found = values[index].to_string();
            return self.refuse(ReadError::NotFinite {
                place: place(),
                found,
            });
        }
        match self.series.get_mut(chart) {
            _ if values.is_empty() => {}
            None => {
                let series = Series {
                    values,
                    unit: unit.map(str::to_owned),
                    direction,
                };
                self.series.insert(chart.to_owned(), series);
            }
            Some(series) if series.unit.as_deref() != unit => {
                let fault = ReadError::UnitChanged {
                    place: place(),
                    chart: chart.to_owned(),
                    first: unit_in_words(series.unit.as_deref()),
                    found: unit_in_words(unit),
                };
                self.refuse(fault);
            }
            Some(series) => series.values.extend(values),
        }
    }

    /// Adds the values of a chart whose name may occur only once.
    pub(super) fn add_once(
        &mut self,
        chart: &str,
        values: Vec<f64>,
        unit: Option<&str>,
        direction: Direction,
        place: impl FnOnce() -> Place,
    ) {
        if self.series.contains_key(chart) || self.failed.contains(chart) {
            return self.refuse(ReadError::DuplicateChart {
                place: place(),
                chart: chart.to_owned(),
            });
        }
        self.add(chart, values, unit, direction, place);
    }

    /// The benchmark says that a measurement of this chart failed: all of the
    /// chart is left out, whatever other measurements it has. Half of its values would
    /// pass for all of them.
    pub(super) fn fail(&mut self, chart: &str) {
        self.failed.insert(chart.to_owned());
    }

    /// Keeps the first fault.
    pub(super) fn refuse(&mut self, fault: ReadError) {
        self.fault.get_or_insert(fault);
    }

    /// All charts; `wanted` describes in words the values looked for.
    pub(super) fn finish(mut self, wanted: &str) -> Result<BTreeMap<String, Series>, ReadError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        for chart in &self.failed {
            self.series.remove(chart);
        }
        if self.series.is_empty() {
            let failed = self.failed.iter().take(NAMES_IN_A_MESSAGE);
            return Err(ReadError::NoValue {
                wanted: wanted.into(),
                present: failed
                    .map(|chart| format!("`{chart}`, which failed"))
                    .collect(),
            });
        }
        Ok(self.series)
    }
}

/// The most failed charts that a message lists.
const NAMES_IN_A_MESSAGE: usize = 20;

fn unit_in_words(unit: Option<&str>) -> String {
    unit.map_or_else(|| "no unit".into(), |unit| format!("`{unit}`"))
}
