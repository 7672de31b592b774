//! Aggregates: one number out of many.
//!
//! `median` is one, and so is `ignore-first:5,ignore-max,median`: first filters that leave out
//! values, in order, then a method, as Mozilla's Talos does it.

mod filter;
mod v8_subtest;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use filter::{Filter, Filters};
pub use v8_subtest::UnknownSubtest;

/// Reduces the values of one run to one: drops those that filters name, then applies a method.
///
/// Written as text, in `serde` too: `median`, or `ignore-first:5,ignore-max,median`.
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
    /// The filters that leave out values, in order.
    pub filters: Filters,
    /// The method for the others.
    pub method: Method,
}

/// The method by which values become one.
///
/// Those from `TalosGeometricMean` on are those of Mozilla's Talos, after
/// `testing/talos/talos/filter.py` and `output.py` of mozilla-central (and of 2015, for CanvasMark
/// and responsiveness).
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
    /// The standard deviation of a population (divided by n), which the summaries of Talos state.
    PopulationStd,
    /// The variance of a population (divided by n).
    PopulationVariance,
    /// The summary of responsiveness: the sum of the squares, in millions.
    Responsiveness,
    /// The score of a subtest of V8: its reference, divided by Talos' geometric mean. It needs the
    /// subtest's name: [`Aggregate::apply_to`].
    V8Subtest,
}

/// The unit of responsiveness: Talos gives milliseconds, squared, by the million.
const RESPONSIVENESS_UNIT: f64 = 1e6;

/// The size of Dromaeo's groups.
const DROMAEO_GROUP: usize = 5;

impl From<Method> for Aggregate {
    fn from(method: Method) -> Self {
        Self {
            filters: Filters::default(),
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
    /// finite, when the result is too large for 64 bits, and for the score of a subtest of V8, which
    /// depends on a name ([`Self::apply_to`]).
    pub fn apply(self, values: &[f64]) -> Option<f64> {
        self.method.apply(&self.filters.apply(values))
    }

    /// Reduces the values of the subtest of this name, or of its chart `suite/subtest [options]`, to
    /// one finite number.
    ///
    /// ```
    /// use pinpoint_core::Aggregate;
    ///
    /// let aggregate: Aggregate = "ignore-first:1,v8-subtest".parse()?;
    /// assert_eq!(aggregate.apply_to("Richards", &[7.0, 1.0])?.round(), 35302.0);
    /// assert!(aggregate.apply_to("v8_7/Richards [e10s]", &[7.0, 1.0]).is_ok());
    /// assert!(aggregate.apply_to("Crypto", &[7.0, 1.0]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the method needs a name and does not know this one, or if the values have no such
    /// number, as [`Self::apply`] lists them.
    pub fn apply_to(self, name: &str, values: &[f64]) -> Result<f64, AggregateError> {
        let value = match self.method {
            Method::V8Subtest => {
                let reference = v8_subtest::reference(name)?;
                let mean = Method::TalosGeometricMean.apply(&self.filters.apply(values));
                mean.map(|mean| reference / mean)
                    .filter(|score| score.is_finite())
            }
            _ => self.apply(values),
        };
        value.ok_or_else(|| AggregateError::NoNumber {
            name: name.to_owned(),
            count: values.len(),
            aggregate: self,
        })
    }
}

/// The values of a name can't become one number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AggregateError {
    /// The method has no reference for the name.
    #[error(transparent)]
    Subtest(#[from] UnknownSubtest),
    /// The values have no such number.
    #[error("the {count} values of `{name}` have no {aggregate}")]
    NoNumber {
        /// The name of the subtest or chart.
        name: String,
        /// The number of its values.
        count: usize,
        /// The requested aggregate.
        aggregate: Aggregate,
    },
}

impl Method {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 17] = [
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
        Self::PopulationStd,
        Self::PopulationVariance,
        Self::Responsiveness,
        Self::V8Subtest,
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
            Self::PopulationStd => population_variance(values).sqrt(),
            Self::PopulationVariance => population_variance(values),
            Self::Responsiveness => (values.iter())
                .map(|value| value * value / RESPONSIVENESS_UNIT)
                .sum(),
            Self::V8Subtest => return None,
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
            Self::PopulationStd => "population-std",
            Self::PopulationVariance => "population-variance",
            Self::Responsiveness => "responsiveness",
            Self::V8Subtest => "v8-subtest",
        }
    }
}

/// The mean of values of which there is at least one.
pub(crate) fn mean(values: &[f64]) -> f64 {
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
    Some((squares(values) / (values.len() - 1) as f64).sqrt())
}

fn population_variance(values: &[f64]) -> f64 {
    squares(values) / values.len() as f64
}

/// The sum of the squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares = values.iter().map(|value| (value - mean) * (value - mean));
    squares.sum()
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

/// The text is not an aggregate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownAggregate {
    /// No method has this name.
    #[error(
        "there is no aggregate `{0}`; use {methods}, with {filters} before it, separated by commas, to leave out values",
        methods = method_names(),
        filters = Filter::NAMES
    )]
    Method(String),
    /// No filter has this name.
    #[error(
        "there is no filter `{filter}` for `{aggregate}`; use {filters}, in order, and last one of {methods}",
        methods = method_names(),
        filters = Filter::NAMES
    )]
    Filter {
        /// The filter as given.
        filter: String,
        /// The aggregate as given.
        aggregate: String,
    },
    /// A filter stands there twice.
    #[error(
        "`{aggregate}` has the filter {filter} twice; name each of {filters} once, and last one of {methods}",
        methods = method_names(),
        filters = Filter::NAMES
    )]
    Twice {
        /// The second one as given.
        filter: String,
        /// The aggregate as given.
        aggregate: String,
    },
}

/// The names of all methods, in words.
fn method_names() -> String {
    let names = Method::ALL.map(Method::name);
    let [others @ .., last] = &names;
    format!("{} or {last}", others.join(", "))
}

impl FromStr for Aggregate {
    type Err = UnknownAggregate;

    fn from_str(text: &str) -> Result<Self, UnknownAggregate> {
        let (filters, name) = match text.rsplit_once(',') {
            None => (None, text),
            Some((filters, name)) => (Some(filters), name),
        };
        let mut chain = Filters::default();
        for filter in filters.into_iter().flat_map(|filters| filters.split(',')) {
            let parsed = Filter::parse(filter).ok_or_else(|| UnknownAggregate::Filter {
                filter: filter.to_owned(),
                aggregate: text.to_owned(),
            })?;
            chain = chain.then(parsed).ok_or_else(|| UnknownAggregate::Twice {
                filter: filter.to_owned(),
                aggregate: text.to_owned(),
            })?;
        }
        let method = Method::ALL
            .into_iter()
            .find(|method| method.name() == name)
            .ok_or_else(|| UnknownAggregate::Method(text.to_owned()))?;
        Ok(Self {
            filters: chain,
            method,
        })
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for filter in self.filters {
            write!(formatter, "{filter},")?;
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
        assert_eq!(Method::PopulationStd.apply(&[1.0]), Some(0.0));
        assert_eq!(Method::V8Subtest.apply(&[1.0]), None);
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
            ("ignore-max,sum", 21.5),
            ("ignore-first:1,ignore-max,ignore-min,median", 4.75),
            ("population-variance", 11.051_020_408_163_266),
            ("responsiveness", 0.000_210_25),
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
    fn subtests_of_v8_have_references() {
        let score: Aggregate = "v8-subtest".parse().unwrap();
        for (name, reference) in [
            ("Encrypt", 266_181.0),
            ("Decrypt", 266_181.0),
            ("DeltaBlue", 66_118.0),
            ("Earley", 666_463.0),
            ("Boyer", 666_463.0),
            ("NavierStokes", 1_484_000.0),
            ("RayTrace", 739_989.0),
            ("RegExp", 910_985.0),
            ("Richards", 35_302.0),
            ("Splay", 81_491.0),
        ] {
            for name in [name, &format!("v8_7/{name} [e10s]")] {
                // The mean of 2 and 2 is 2.
                let result = score.apply_to(name, &[2.0, 2.0]).unwrap();
                assert!((result / reference - 0.5).abs() < 1e-12, "{name}: {result}");
            }
        }
        let error = score.apply_to("Crypto", &[1.0]).unwrap_err().to_string();
        for name in ["`Crypto`", "Encrypt", "NavierStokes", "Splay"] {
            assert!(error.contains(name), "{error}");
        }
        // A time of 0 has no score.
        assert!(matches!(
            score.apply_to("Splay", &[0.0]),
            Err(AggregateError::NoNumber { count: 1, .. })
        ));
        assert_eq!(
            Aggregate::from(Method::Sum).apply_to("any", &[1.0, 2.0]),
            Ok(3.0)
        );
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for method in Method::ALL {
            for filters in [
                &[][..],
                &[Filter::IgnoreFirst(1)],
                &[Filter::IgnoreFirst(12), Filter::IgnoreMax],
                &[
                    Filter::IgnoreNegative,
                    Filter::IgnoreMin,
                    Filter::IgnoreFirst(5),
                    Filter::IgnoreMax,
                ],
            ] {
                let filters = Filters::new(filters).unwrap();
                let aggregate = Aggregate { filters, method };
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
            "median,ignore-max",
            "ignore-max",
            "ignore-max,,median",
            "ignore-max:1,median",
            "ignore-most,median",
        ] {
            let error = text.parse::<Aggregate>().unwrap_err().to_string();
            assert!(error.contains("geometric-mean"), "{text}: {error}");
            assert!(error.contains(Filter::NAMES), "{text}: {error}");
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
