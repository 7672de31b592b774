//! The noise of runs of one commit, as a plan needs it.

use super::Noise;
use crate::{Direction, Magnitude, direction_of};

/// With fewer values, their quartiles are not meaningful.
const LEAST_VALUES: usize = 5;
/// The level of simulated values when only their noise is known, in
/// interquartile ranges: noise of 1 %.
const LEVEL: f64 = 100.0;

/// The scatter and the duration of one commit's runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// As the simulation has it.
    pub(super) noise: Noise,
    /// The value of a commit without noise, as the simulation has it.
    pub(super) level: f64,
    /// The size of 1 in the simulation in [`unit`](Self::unit).
    pub(super) scale: f64,
    /// The interquartile range of the values of one commit.
    pub interquartile_range: f64,
    /// The unit of the interquartile range, and of changes.
    pub unit: ScatterUnit,
    /// The median in the metric's unit, when that is known.
    pub median: Option<f64>,
    /// The direction of improvement.
    pub direction: Direction,
    /// Values that it was learned from; 0 when it was given.
    pub values: usize,
    /// The share of runs that fail.
    pub failure_rate: f64,
    /// Seconds that a run takes, when that is known.
    pub run_time: Option<f64>,
    /// Seconds that a build takes, when that is known.
    pub build_time: Option<f64>,
}

/// The unit of changes.
#[derive(Debug, Clone, PartialEq)]
pub enum ScatterUnit {
    /// Percent of the median.
    Percent,
    /// The metric's own, if it has one.
    Metric(Option<String>),
}

/// The reason why nothing can be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScatterError {
    /// Noise has a size.
    #[error("the interquartile range of runs must be above 0; it is {0}")]
    NotPositive(f64),
    /// Quartiles need values.
    #[error("{0} values are too few to estimate the noise: give at least {LEAST_VALUES}")]
    TooFew(usize),
    /// One is in percent, the other in the metric's unit.
    #[error(
        "noise and magnitude differ in their units: give both in percent, or both in the metric's unit"
    )]
    Units,
    /// A change of 0 can't be found.
    #[error("a change of 0 can't be found; name the smallest one that matters")]
    NoChange,
}

impl Scatter {
    /// Normal noise of this interquartile range.
    ///
    /// # Errors
    ///
    /// When it is not above 0.
    pub fn normal(noise: Magnitude) -> Result<Self, ScatterError> {
        let (size, unit, level) = match noise {
            Magnitude::Absolute(size) => (size, ScatterUnit::Metric(None), LEVEL),
            Magnitude::Percent(percent) => (percent, ScatterUnit::Percent, 100.0 / percent),
        };
        if size.is_nan() || size <= 0.0 {
            return Err(ScatterError::NotPositive(size));
        }
        Ok(Self {
            noise: Noise::Normal,
            level,
            scale: size,
            interquartile_range: size,
            unit,
            median: None,
            direction: Direction::Unknown,
            values: 0,
            failure_rate: 0.0,
            run_time: None,
            build_time: None,
        })
    }

    /// The noise of values that were measured at one commit, in this unit: a simulated run
    /// takes one of them.
    ///
    /// # Errors
    ///
    /// When they are too few.
    pub fn of_values(mut values: Vec<f64>, unit: Option<String>) -> Result<Self, ScatterError> {
        let count = values.len();
        if count < LEAST_VALUES {
            return Err(ScatterError::TooFew(count));
        }
        values.sort_by(f64::total_cmp);
        // The quartiles that the comparisons of this project use.
        let interquartile_range = values[3 * count / 4] - values[count / 4];
        let median = (values[(count - 1) / 2] + values[count / 2]) / 2.0;
        Ok(Self {
            noise: Noise::Measured(values.iter().map(|value| value - median).collect()),
            level: median,
            scale: 1.0,
            interquartile_range,
            direction: direction_of(Direction::Unknown, unit.as_deref()),
            unit: ScatterUnit::Metric(unit),
            median: Some(median),
            values: count,
            failure_rate: 0.0,
            run_time: None,
            build_time: None,
        })
    }

    /// The size of a change in the unit of this noise.
    ///
    /// # Errors
    ///
    /// When it has no size in that unit, or is 0.
    pub fn in_its_unit(&self, magnitude: Magnitude) -> Result<f64, ScatterError> {
        let size = match (magnitude, &self.unit, self.median) {
            (Magnitude::Absolute(size), ScatterUnit::Metric(_), _)
            | (Magnitude::Percent(size), ScatterUnit::Percent, _) => size,
            (Magnitude::Percent(percent), ScatterUnit::Metric(_), Some(median)) => {
                median * percent / 100.0
            }
            _ => return Err(ScatterError::Units),
        };
        if size == 0.0 {
            return Err(ScatterError::NoChange);
        }
        Ok(size.abs())
    }
}
