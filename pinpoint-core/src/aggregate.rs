//! Aggregates: one number out of many.
//!
//! `median` is one, and so is `ignore-first:5,median`: first a filter, then a
//! method, as Mozilla's Talos does it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Reduces the values of one run to one: drops the first few, then applies a method.
///
/// Written as text, in `serde` too: `median`, or `ignore-first:5,median`.
///
/// ```
/// use pinpoint_core::Aggregate;
///
/// let aggregate: Aggregate = "ignore-first:2,median".parse()?;
/// assert_eq!(aggregate.apply(&[90.0, 50.0, 11.0, 10.0, 12.0]), Some(11.0));
/// assert_eq!(Aggregate::default(), "median".parse()?);
/// # Ok::<(), pinpoint_core::UnknownAggregate>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Aggregate {
    /// The number of values left out at the beginning: those of a program that is
    /// not yet warm. A run with no more values than that keeps all of them, as in
    /// Talos.
    pub ignore_first: usize,
    /// The method for the others.
    pub method: Method,
}

/// The method by which values become one.
///
/// The last five are those of Mozilla's Talos, after `testing/talos/talos/filter.py`
/// and `output.py` of mozilla-central (and of 2015, for CanvasMark).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Method {
    /// All of them added up.
    Sum,
    /// The arithmetic mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Their number.
    Count,
    /// The standard deviation of a sample (divided by n - 1).
    Std,
    /// The middle one, or the mean of the two in the middle.
    #[default]
    Median,
    /// The n-th root of the product.
    GeometricMean,
    /// Talos' `geometric_mean`: exp(mean of ln(x + 1)) - 1, which exists for 0,
    /// too.
    TalosGeometricMean,
    /// Talos' `dromaeo`: the values in groups of five (the last may be smaller),
    /// and Talos' geometric mean of the means of the groups.
    Dromaeo,
    /// The summary of the suite V8: 100 times Talos' geometric mean.
    V8,
    /// The summary of CanvasMark: the sum.
    Canvasmark,
    /// The summary of JavaScript suites (Kraken): the sum.
    Js,
}

/// The size of Dromaeo's groups.
const DROMAEO_GROUP: usize = 5;

impl From<Method> for Aggregate {
    fn from(method: Method) -> Self {
        Self {
            ignore_first: 0,
            method,
        }
    }
}

impl Aggregate {
    /// Reduces the values to one finite number.
    ///
    /// `None` for no values at all (not even a sum or a count: a run without values is a failure,
    /// and 0 would be its best result), for the standard deviation of one value, for the geometric
    /// mean of a value that is not positive (Talos': that is -1 or less), when a value is not
    /// finite, and when the result is too large for 64 bits.
    pub fn apply(self, values: &[f64]) -> Option<f64> {
        let values = match values.get(self.ignore_first..) {
            None | Some([]) => values,
            Some(rest) => rest,
        };
        self.method.apply(values)
    }
}

impl Method {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 13] = [
        Self::Sum,
        Self::Mean,
        Self::Min,
        Self::Max,
        Self::Count,
        Self::Std,
        Self::Median,
        Self::GeometricMean,
        Self::TalosGeometricMean,
        Self::Dromaeo,
        Self::V8,
        Self::Canvasmark,
        Self::Js,
    ];

    fn apply(self, values: &[f64]) -> Option<f64> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let result = match self {
            Self::Sum | Self::Canvasmark | Self::Js => values.iter().sum(),
            Self::Mean => mean(values),
            Self::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Count => values.len() as f64,
            Self::Std => standard_deviation(values)?,
            Self::Median => median(values),
            Self::GeometricMean => geometric_mean(values)?,
            Self::TalosGeometricMean => talos_geometric_mean(values)?,
            Self::Dromaeo => {
                let means: Vec<f64> = values.chunks(DROMAEO_GROUP).map(mean).collect();
                talos_geometric_mean(&means)?
            }
            Self::V8 => 100.0 * talos_geometric_mean(values)?,
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
            Self::TalosGeometricMean => "talos-geometric-mean",
            Self::Dromaeo => "dromaeo",
            Self::V8 => "v8",
            Self::Canvasmark => "canvasmark",
            Self::Js => "js",
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

/// Computes it in two passes: the textbook's one-pass formula cancels when the values are large and
/// close together, as timestamps and byte counts are.
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

fn talos_geometric_mean(values: &[f64]) -> Option<f64> {
    if values.iter().any(|value| *value <= -1.0) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| libm::log1p(*value)).collect();
    Some(libm::expm1(mean(&logarithms)))
}

/// No aggregate has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no aggregate `{0}`; use sum, mean, min, max, count, std, median, geometric-mean, talos-geometric-mean, dromaeo, v8, canvasmark or js, with ignore-first:N, before it to leave out the first N values"
)]
pub struct UnknownAggregate(String);

impl FromStr for Aggregate {
    type Err = UnknownAggregate;

    fn from_str(text: &str) -> Result<Self, UnknownAggregate> {
        let unknown = || UnknownAggregate(text.into());
        let (ignore_first, name) = match text.strip_prefix("ignore-first:") {
            None => (0, text),
            Some(rest) => {
                let (count, name) = rest.split_once(',').ok_or_else(unknown)?;
                (count.parse().map_err(|_| unknown())?, name)
            }
        };
        let method = Method::ALL
            .into_iter()
            .find(|method| method.name() == name)
            .ok_or_else(unknown)?;
        Ok(Self {
            ignore_first,
            method,
        })
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ignore_first > 0 {
            write!(formatter, "ignore-first:{},", self.ignore_first)?;
        }
        formatter.write_str(self.method.name())
    }
}

impl TryFrom<String> for Aggregate {
    type Error = UnknownAggregate;

    fn try_from(text: String) -> Result<Self, UnknownAggregate> {
        text.parse()
    }
}

impl From<Aggregate> for String {
    fn from(aggregate: Aggregate) -> Self {
        aggregate.to_string()
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
            (Method::Sum, 18.0),
            (Method::Mean, 4.5),
            (Method::Min, 2.0),
            (Method::Max, 8.0),
            (Method::Count, 4.0),
            (Method::Std, (19.0_f64 / 3.0).sqrt()),
            (Method::Median, 4.0),
            (Method::GeometricMean, 4.0),
        ] {
            let result = aggregate.apply(&values).unwrap();
            assert!((result - expected).abs() < 1e-12, "{aggregate:?}: {result}");
        }
        assert_eq!(Method::Median.apply(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(Method::Median.apply(&[4.0, 1.0]), Some(2.5));
    }

    #[test]
    fn what_has_no_answer_gives_none() {
        for aggregate in Method::ALL {
            assert_eq!(aggregate.apply(&[]), None);
            assert_eq!(aggregate.apply(&[1.0, f64::NAN]), None);
            assert_eq!(aggregate.apply(&[f64::INFINITY, 1.0]), None);
        }
        assert_eq!(Method::Std.apply(&[1.0]), None);
        assert_eq!(Method::GeometricMean.apply(&[1.0, 0.0]), None);
        assert_eq!(Method::GeometricMean.apply(&[-1.0, -1.0]), None);
        assert_eq!(Method::Sum.apply(&[f64::MAX, f64::MAX]), None);
        assert_eq!(Method::Mean.apply(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(Method::Median.apply(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    }

    #[test]
    fn a_small_spread_far_from_zero_is_kept() {
        let values = [1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0];
        assert_eq!(Method::Std.apply(&values), Some(1.0));
    }

    /// Computed with the functions of `filter.py` in Python.
    #[test]
    fn those_of_talos() {
        let values = [3.0, 0.0, 8.0, 1.0, 2.5, 7.0, 9.0];
        for (text, expected) in [
            ("talos-geometric-mean", 3.120284630411354),
            ("ignore-first:1,talos-geometric-mean", 3.1406808334652885),
            ("dromaeo", 4.924525297439451),
            ("v8", 312.0284630411354),
            ("canvasmark", 30.5),
            ("js", 30.5),
            ("ignore-first:5,median", 8.0),
            ("ignore-first:1,mean", 27.5 / 6.0),
            // A short series is left as it is.
            ("ignore-first:7,sum", 30.5),
            ("ignore-first:100,max", 9.0),
            ("ignore-first:6,max", 9.0),
        ] {
            let result = text.parse::<Aggregate>().unwrap().apply(&values).unwrap();
            assert!((result - expected).abs() < 1e-12, "{text}: {result}");
        }
        for text in ["talos-geometric-mean", "dromaeo", "v8"] {
            let aggregate: Aggregate = text.parse().unwrap();
            assert_eq!(aggregate.apply(&[0.0]), Some(0.0), "{text}");
            assert_eq!(aggregate.apply(&[-1.0]), None, "{text}");
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for method in Method::ALL {
            for ignore_first in [0, 1, 12] {
                let aggregate = Aggregate {
                    ignore_first,
                    method,
                };
                assert_eq!(aggregate.to_string().parse(), Ok(aggregate));
                let json = serde_json::to_string(&aggregate).unwrap();
                assert_eq!(json, format!("\"{aggregate}\""));
                assert_eq!(serde_json::from_str::<Aggregate>(&json).unwrap(), aggregate);
            }
        }
        for text in [
            "average",
            "",
            "Median",
            "ignore-first",
            "ignore-first:2",
            "ignore-first:2,",
            "ignore-first:-1,median",
            "ignore-first:x,median",
            "ignore-first:1,ignore-first:1,median",
        ] {
            let error = text.parse::<Aggregate>().unwrap_err();
            assert!(error.to_string().contains("geometric-mean"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn is_finite_and_within_the_values(
            values in proptest::collection::vec(proptest::num::f64::ANY, 0..20)
        ) {
            for aggregate in Method::ALL {
                if let Some(result) = aggregate.apply(&values) {
                    prop_assert!(result.is_finite());
                }
            }
            if let (Some(low), Some(middle), Some(high)) = (
                Method::Min.apply(&values),
                Method::Median.apply(&values),
                Method::Max.apply(&values),
            ) {
                prop_assert!(low <= middle && middle <= high);
            }
        }
    }
}
