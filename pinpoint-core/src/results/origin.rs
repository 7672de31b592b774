//! The build and the machine that results name beside their values.

use std::collections::BTreeMap;

use super::charts::{Charts, no_value};
use super::{ReadError, Reading};

/// The build and the machine of a measurement, as far as the results name them.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Origin {
    /// The commit that was measured, as the results name it.
    pub revision: Option<String>,
    /// The time of the measurement, in seconds since 1970; of several, that of the last.
    pub date: Option<i64>,
    /// The suite, the machine, the branch, options: all else that tells two measurements apart.
    pub parameters: BTreeMap<String, String>,
}

/// The charts of one origin.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct OriginReading {
    /// The origin.
    pub origin: Origin,
    /// The charts. All of them may have failed.
    pub reading: Reading,
}

/// The charts of several origins while they are read.
#[derive(Default)]
pub(super) struct ChartsByOrigin {
    all: Vec<(Origin, Charts)>,
    /// Of each origin without its time.
    places: BTreeMap<Origin, usize>,
    current: usize,
}

impl ChartsByOrigin {
    /// Takes the charts that follow for those of this origin. Of two that differ in their time alone
    /// the later time counts for both.
    pub(super) fn begin(&mut self, origin: Origin) {
        let without_date = Origin {
            date: None,
            ..origin.clone()
        };
        let date = origin.date;
        self.current = *self.places.entry(without_date).or_insert_with(|| {
            self.all.push((origin, Charts::default()));
            self.all.len() - 1
        });
        let known = &mut self.all[self.current].0.date;
        *known = (*known).max(date);
    }

    /// The charts of the origin that was begun last.
    pub(super) fn current(&mut self) -> &mut Charts {
        if self.all.is_empty() {
            self.begin(Origin::default());
        }
        &mut self.all[self.current].1
    }

    /// The readings, one of which has a chart at least.
    pub(super) fn finish(self, wanted: &str) -> Result<Vec<OriginReading>, ReadError> {
        let mut readings = Vec::new();
        let mut first_lost = None;
        for (origin, charts) in self.all {
            let (reading, lost) = charts.finish_without_values()?;
            first_lost = first_lost.or(lost);
            readings.push(OriginReading { origin, reading });
        }
        let readings_alone = || readings.iter().map(|it| &it.reading);
        if readings_alone().all(|reading| reading.charts.is_empty()) {
            return Err(no_value(wanted, first_lost, readings_alone()));
        }
        Ok(readings)
    }
}
