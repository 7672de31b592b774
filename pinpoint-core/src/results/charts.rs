//! The collection of values found by the readers.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::reading::ReadLines;
use super::{OutputPosition, ReadError, Reading};
use crate::{Direction, Series};

/// The charts of one output.
///
/// No addition is refused immediately, so that a reader may continue. A fault of one chart loses
/// that chart. The first fault of the output is kept, and [`Charts::finish`] returns it.
#[derive(Default)]
pub(super) struct Charts {
    series: BTreeMap<String, Series>,
    failed: BTreeMap<String, String>,
    /// The first fault of a chart, which counts if no chart is left.
    lost: Option<ReadError>,
    fault: Option<ReadError>,
    lines: ReadLines,
    remarks: Vec<String>,
    coarse: BTreeMap<String, String>,
    headline: Option<String>,
    first_benchmark: Option<String>,
    has_several_benchmarks: bool,
}

impl Charts {
    /// Adds values to a chart. A chart that gets none does not exist.
    ///
    /// Values in another unit are converted to the chart's. Where they can't be, the chart is lost:
    /// two units in one sample would pass for a change of performance.
    pub(super) fn add(
        &mut self,
        chart: &str,
        values: impl AsRef<[f64]> + Into<Vec<f64>>,
        unit: Option<&str>,
        direction: Direction,
        place: impl FnOnce() -> OutputPosition,
    ) {
        let added = values.as_ref();
        if let Some(index) = added.iter().position(|value| !value.is_finite()) {
            let found = added[index].to_string();
            let fault = ReadError::NotFinite {
                place: place(),
                found,
            };
            return self.lose(chart, fault);
        }
        match self.series.get_mut(chart) {
            _ if added.is_empty() => {}
            None => {
                let series = Series {
                    values: values.into(),
                    unit: unit.map(str::to_owned),
                    direction,
                };
                self.series.insert(chart.to_owned(), series);
            }
            // Without a copy of the values: this is nearly all that is added to a large output.
            Some(series) if series.unit.as_deref() == unit => {
                series.values.extend_from_slice(added);
            }
            Some(series) => {
                let added = Series {
                    values: values.into(),
                    unit: unit.map(str::to_owned),
                    direction,
                };
                match added.in_unit(series.unit.as_deref()) {
                    Some(added) => series.values.extend(added.values),
                    None => {
                        let fault = ReadError::UnitChanged {
                            place: place(),
                            chart: chart.to_owned(),
                            first: unit_in_words(series.unit.as_deref()),
                            found: unit_in_words(unit),
                        };
                        self.lose(chart, fault);
                    }
                }
            }
        }
    }

    /// Adds the values of a chart whose name may occur only once: nothing says which of two is
    /// meant, so the chart is lost at the second one.
    pub(super) fn add_once(
        &mut self,
        chart: &str,
        values: impl AsRef<[f64]> + Into<Vec<f64>>,
        unit: Option<&str>,
        direction: Direction,
        place: impl FnOnce() -> OutputPosition,
    ) {
        if self.series.contains_key(chart) || self.failed.contains_key(chart) {
            let fault = ReadError::DuplicateChart {
                place: place(),
                chart: chart.to_owned(),
            };
            return self.lose(chart, fault);
        }
        self.add(chart, values, unit, direction, place);
    }

    /// Notes that a measurement of this chart failed: all of the chart is left out, even if it has
    /// other measurements. Half of its values would pass for all of them. The first reason is kept.
    pub(super) fn fail(&mut self, chart: &str, reason: impl Into<String>) {
        self.failed
            .entry(chart.to_owned())
            .or_insert_with(|| reason.into());
    }

    /// Leaves out a chart for a fault of its own, as one that failed.
    fn lose(&mut self, chart: &str, fault: ReadError) {
        self.fail(chart, fault.to_string());
        self.lost.get_or_insert(fault);
    }

    /// Notes the failure of all charts whose names satisfy `is_concerned`. Walks through all
    /// charts.
    pub(super) fn fail_all(&mut self, is_concerned: impl Fn(&str) -> bool, reason: &str) {
        let names: Vec<String> = (self.series.keys())
            .filter(|name| is_concerned(name))
            .cloned()
            .collect();
        for name in names {
            self.fail(&name, reason);
        }
    }

    /// Notes the failure of all charts so far whose names begin so. Each is walked through once,
    /// however often this is noted: those that failed are not kept.
    pub(super) fn fail_beginning(&mut self, beginning: &str, reason: &str) {
        let from = (Bound::Included(beginning), Bound::Unbounded);
        let names: Vec<String> = (self.series.range::<str, _>(from))
            .map(|(name, _)| name)
            .take_while(|name| name.starts_with(beginning))
            .cloned()
            .collect();
        for name in names {
            self.fail(&name, reason);
            self.series.remove(&name);
        }
    }

    /// Notes that the line of this index is the tool's own: it was read, or is not a result.
    pub(super) fn knows(&mut self, index: usize) {
        self.lines.known.push(index);
    }

    /// Notes that the line of this index stands in a result's place and does not look like one.
    pub(super) fn doubts(&mut self, index: usize) {
        self.lines.garbled.push(index);
    }

    /// Adds a remark on the charts for the answer.
    pub(super) fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }

    /// Notes that the values of a chart have few digits, in words. The first remark is kept.
    pub(super) fn coarse(&mut self, chart: &str, remark: String) {
        self.coarse.entry(chart.to_owned()).or_insert(remark);
    }

    /// Notes the chart that is the tool's own result.
    pub(super) fn headline(&mut self, chart: &str) {
        self.headline = Some(chart.to_owned());
    }

    /// Notes a benchmark, whose own chart bears its name, and whose further ones add to it: the
    /// chart of an only benchmark is the tool's own result.
    pub(super) fn benchmark(&mut self, name: &str) {
        match &self.first_benchmark {
            None => self.first_benchmark = Some(name.to_owned()),
            Some(first) => self.has_several_benchmarks |= first != name,
        }
    }

    /// Returns true if the chart has values and did not fail.
    pub(super) fn has(&self, chart: &str) -> bool {
        self.series.contains_key(chart) && !self.failed.contains_key(chart)
    }

    /// Returns true if more is better of any chart.
    pub(super) fn has_rate(&self) -> bool {
        (self.series.values()).any(|series| series.direction == Direction::Up)
    }

    /// Returns true if any chart has values and did not fail.
    pub(super) fn has_any(&self) -> bool {
        let mut names = self.series.keys();
        names.any(|name| !self.failed.contains_key(name))
    }

    /// Keeps the first fault.
    pub(super) fn refuse(&mut self, fault: ReadError) {
        self.fault.get_or_insert(fault);
    }

    /// All charts; `wanted` describes in words the values looked for.
    pub(super) fn finish(self, wanted: &str) -> Result<Reading, ReadError> {
        let (reading, lost) = self.finish_without_values()?;
        match reading.charts.is_empty() {
            true => Err(no_value(wanted, lost, [&reading])),
            false => Ok(reading),
        }
    }

    /// The charts, even if all of them failed, and the first fault of one.
    pub(super) fn finish_without_values(
        mut self,
    ) -> Result<(Reading, Option<ReadError>), ReadError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        for chart in self.failed.keys() {
            self.series.remove(chart);
        }
        if self.headline.is_none() && !self.has_several_benchmarks {
            let only = self.first_benchmark.take();
            self.headline = only.filter(|chart| self.series.contains_key(chart));
        }
        let headline = self.headline.as_ref();
        let coarse = headline.and_then(|chart| self.coarse.get(chart));
        self.remarks.extend(coarse.cloned());
        // A reader may look at a line again when it knows the later ones.
        self.lines.known.sort_unstable();
        self.lines.garbled.sort_unstable();
        let reading = Reading {
            charts: self.series,
            failed: self.failed,
            remarks: self.remarks,
            headline: self.headline,
            coarse: self.coarse,
            lines: self.lines,
        };
        Ok((reading, self.lost))
    }
}

/// The error for an output without any chart that has values.
pub(super) fn no_value<'a>(
    wanted: &str,
    lost: Option<ReadError>,
    readings: impl IntoIterator<Item = &'a Reading>,
) -> ReadError {
    let failed = readings.into_iter().flat_map(|reading| &reading.failed);
    lost.unwrap_or_else(|| ReadError::NoValue {
        wanted: wanted.into(),
        present: (failed.take(NAMES_IN_A_MESSAGE))
            .map(|(chart, reason)| format!("`{chart}`, which failed: {reason}"))
            .collect(),
    })
}

/// The most bytes of a name that many benchmarks share, as that of their package. Each of them holds
/// it, so that a longer one takes as much as the square of the output.
pub(super) const MOST_OF_A_SHARED_NAME: usize = 4096;

/// The most failed charts that a message lists.
const NAMES_IN_A_MESSAGE: usize = 20;

fn unit_in_words(unit: Option<&str>) -> String {
    unit.map_or_else(|| "no unit".into(), |unit| format!("`{unit}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_that_failed_together_are_not_walked_through_again() {
        let mut charts = Charts::default();
        let add = |charts: &mut Charts, name: &str| {
            let place = || OutputPosition::Text { line: 1, column: 1 };
            charts.add(name, [1.0], Some("ns"), Direction::Down, place);
        };
        for name in ["a.x", "a.y", "b.x"] {
            add(&mut charts, name);
        }
        charts.fail_beginning("a.", "it failed");
        assert_eq!(charts.series.keys().collect::<Vec<_>>(), ["b.x"]);
        add(&mut charts, "a.x");
        add(&mut charts, "a.z");
        let reading = charts.finish("").unwrap();
        // One that failed stays so, and a later one of the same beginning is sound.
        assert_eq!(reading.charts.keys().collect::<Vec<_>>(), ["a.z", "b.x"]);
        assert_eq!(reading.failed.keys().collect::<Vec<_>>(), ["a.x", "a.y"]);
        assert_eq!(reading.failed["a.y"], "it failed");
    }
}
