//! One number out of many.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the values of one run become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregate {
    /// All of them added up.
    Sum,
    /// The arithmetic mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// How many there are.
    Count,
    /// The standard deviation of a sample (divided by n - 1).
    Std,
    /// The middle one, or the mean of the two in the middle.
    Median,
    /// The n-th root of the product.
    GeometricMean,
}

impl Aggregate {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::Sum,
        Self::Mean,
        Self::Min,
        Self::Max,
        Self::Count,
        Self::Std,
        Self::Median,
        Self::GeometricMean,
    ];

    /// The one number, which is finite.
    ///
    /// There is none for no values at all (not even a sum or a count: a run
    /// without values is a failure, and 0 would be its best result), for the
    /// standard deviation of one value, for the geometric mean of a value that
    /// is not positive, when a value is not finite, and when the result is too
    /// large for 64 bits.
    pub fn apply(self, values: &[f64]) -> Option<f64> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let result = match self {
            Self::Sum => values.iter().sum(),
            Self::Mean => mean(values),
            Self::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Count => values.len() as f64,
            Self::Std => standard_deviation(values)?,
            Self::Median => median(values),
            Self::GeometricMean => geometric_mean(values)?,
        };
        result.is_finite().then_some(result)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
            Self::Count => "count",
            Self::Std => "std",
            Self::Median => "median",
            Self::GeometricMean => "geometric-mean",
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let sum: f64 = values.iter().sum();
    if sum.is_finite() {
        sum / count
    } else {
        // The mean of finite values is finite even where their sum is not.
        values.iter().map(|value| value / count).sum()
    }
}

/// In two passes: the textbook's one-pass formula cancels when the values are
/// large and close together, as timestamps and byte counts are.
fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        sorted[middle - 1].midpoint(sorted[middle])
    }
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| libm::log(*value)).collect();
    Some(libm::exp(mean(&logarithms)))
}

/// No aggregate has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no aggregate `{0}`; use sum, mean, min, max, count, std, median or geometric-mean"
)]
pub struct UnknownAggregate(String);

impl FromStr for Aggregate {
    type Err = UnknownAggregate;

    fn from_str(text: &str) -> Result<Self, UnknownAggregate> {
        Self::ALL
            .into_iter()
            .find(|aggregate| aggregate.name() == text)
            .ok_or_else(|| UnknownAggregate(text.into()))
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computed by hand.
    #[test]
    fn each_of_them() {
        let values = [2.0, 8.0, 4.0, 4.0];
        for (aggregate, expected) in [
            (Aggregate::Sum, 18.0),
            (Aggregate::Mean, 4.5),
            (Aggregate::Min, 2.0),
            (Aggregate::Max, 8.0),
            (Aggregate::Count, 4.0),
            (Aggregate::Std, (19.0_f64 / 3.0).sqrt()),
            (Aggregate::Median, 4.0),
            (Aggregate::GeometricMean, 4.0),
        ] {
            let result = aggregate.apply(&values).unwrap();
            assert!((result - expected).abs() < 1e-12, "{aggregate}: {result}");
        }
        assert_eq!(Aggregate::Median.apply(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(Aggregate::Median.apply(&[4.0, 1.0]), Some(2.5));
    }

    #[test]
    fn what_has_no_answer_gives_none() {
        for aggregate in Aggregate::ALL {
            assert_eq!(aggregate.apply(&[]), None);
            assert_eq!(aggregate.apply(&[1.0, f64::NAN]), None);
            assert_eq!(aggregate.apply(&[f64::INFINITY, 1.0]), None);
        }
        assert_eq!(Aggregate::Std.apply(&[1.0]), None);
        assert_eq!(Aggregate::GeometricMean.apply(&[1.0, 0.0]), None);
        assert_eq!(Aggregate::GeometricMean.apply(&[-1.0, -1.0]), None);
        assert_eq!(Aggregate::Sum.apply(&[f64::MAX, f64::MAX]), None);
        assert_eq!(Aggregate::Mean.apply(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(
            Aggregate::Median.apply(&[f64::MAX, f64::MAX]),
            Some(f64::MAX)
        );
    }

    #[test]
    fn a_small_spread_far_from_zero_is_kept() {
        let values = [1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0];
        assert_eq!(Aggregate::Std.apply(&values), Some(1.0));
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for aggregate in Aggregate::ALL {
            assert_eq!(aggregate.to_string().parse(), Ok(aggregate));
            let json = serde_json::to_string(&aggregate).unwrap();
            assert_eq!(json, format!("\"{aggregate}\""));
        }
        let error = "average".parse::<Aggregate>().unwrap_err();
        assert!(error.to_string().contains("geometric-mean"));
    }

    proptest! {
        #[test]
        fn is_finite_and_within_the_values(
            values in proptest::collection::vec(proptest::num::f64::ANY, 0..20)
        ) {
            for aggregate in Aggregate::ALL {
                if let Some(result) = aggregate.apply(&values) {
                    prop_assert!(result.is_finite());
                }
            }
            if let (Some(low), Some(middle), Some(high)) = (
                Aggregate::Min.apply(&values),
                Aggregate::Median.apply(&values),
                Aggregate::Max.apply(&values),
            ) {
                prop_assert!(low <= middle && middle <= high);
            }
        }
    }
}
