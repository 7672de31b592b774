//! Filters, which leave out values of a run before a method sees them.
//!
//! After `testing/talos/talos/filter.py` of mozilla-central, and of its history for negative values.

use std::borrow::Cow;
use std::fmt;

/// A rule that leaves out some of the values, and keeps the order of the others.
///
/// None of them changes a single value, as in Talos.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Filter {
    /// `ignore-first:N`: the first N, those of a program that is not yet warm. A run with no more
    /// values than that keeps all of them.
    IgnoreFirst(usize),
    /// `ignore-max`: the first occurrence of the largest.
    IgnoreMax,
    /// `ignore-min`: the first occurrence of the smallest.
    IgnoreMin,
    /// `ignore-negative`: all below 0. Of several values none may be left.
    IgnoreNegative,
}

/// The kinds of filters, each of which a chain has once.
const KINDS: usize = 4;

/// A chain of filters, applied in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Filters([Option<Filter>; KINDS]);

impl Filter {
    /// The filters as they are written, in words.
    pub(super) const NAMES: &str = "ignore-first:N, ignore-max, ignore-min or ignore-negative";

    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "ignore-max" => Self::IgnoreMax,
            "ignore-min" => Self::IgnoreMin,
            "ignore-negative" => Self::IgnoreNegative,
            _ => Self::IgnoreFirst(text.strip_prefix("ignore-first:")?.parse().ok()?),
        })
    }

    fn apply(self, values: &[f64]) -> Cow<'_, [f64]> {
        if values.len() <= 1 {
            return values.into();
        }
        match self {
            Self::IgnoreFirst(count) => match values.get(count..) {
                None | Some([]) => values.into(),
                Some(rest) => rest.into(),
            },
            Self::IgnoreMax => without_first(values, |value, extreme| value > extreme),
            Self::IgnoreMin => without_first(values, |value, extreme| value < extreme),
            // A value that is not a number stays, so that the method finds it.
            Self::IgnoreNegative => (values.iter().copied())
                .filter(|value| !value.is_finite() || *value >= 0.0)
                .collect(),
        }
    }
}

/// The values without the first of those that no other surpasses. All of them, if one is not finite:
/// no filter hides that from the method.
fn without_first(values: &[f64], surpasses: fn(f64, f64) -> bool) -> Cow<'_, [f64]> {
    if values.iter().any(|value| !value.is_finite()) {
        return values.into();
    }
    let mut extreme = 0;
    for (index, value) in values.iter().enumerate() {
        if surpasses(*value, values[extreme]) {
            extreme = index;
        }
    }
    [&values[..extreme], &values[extreme + 1..]].concat().into()
}

impl Filters {
    /// The chain of these filters; `None` if a kind of filter is in it twice.
    pub fn new(filters: &[Filter]) -> Option<Self> {
        (filters.iter()).try_fold(Self::default(), |chain, filter| chain.then(*filter))
    }

    /// The chain with one more filter at its end; `None` if it has that kind already.
    pub(super) fn then(mut self, filter: Filter) -> Option<Self> {
        for place in &mut self.0 {
            match place {
                None => {
                    *place = Some(filter);
                    return Some(self);
                }
                Some(other) if std::mem::discriminant(other) == std::mem::discriminant(&filter) => {
                    return None;
                }
                Some(_) => {}
            }
        }
        None
    }

    /// The values that are left.
    pub fn apply(self, values: &[f64]) -> Cow<'_, [f64]> {
        let mut left = Cow::Borrowed(values);
        for filter in self {
            left = match left {
                Cow::Borrowed(values) => filter.apply(values),
                Cow::Owned(values) => filter.apply(&values).into_owned().into(),
            };
        }
        left
    }
}

impl From<Filter> for Filters {
    fn from(filter: Filter) -> Self {
        let mut chain = Self::default();
        chain.0[0] = Some(filter);
        chain
    }
}

impl IntoIterator for Filters {
    type Item = Filter;
    type IntoIter = std::iter::Flatten<std::array::IntoIter<Option<Filter>, KINDS>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().flatten()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IgnoreFirst(count) => write!(formatter, "ignore-first:{count}"),
            Self::IgnoreMax => formatter.write_str("ignore-max"),
            Self::IgnoreMin => formatter.write_str("ignore-min"),
            Self::IgnoreNegative => formatter.write_str("ignore-negative"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leaves_out_its_own() {
        let values = [2.0, 9.0, -1.0, 9.0, -1.0];
        for (filters, left) in [
            (&[][..], &values[..]),
            (&[Filter::IgnoreFirst(0)], &values),
            (&[Filter::IgnoreFirst(3)], &[9.0, -1.0]),
            (&[Filter::IgnoreFirst(5)], &values),
            (&[Filter::IgnoreMax], &[2.0, -1.0, 9.0, -1.0]),
            (&[Filter::IgnoreMin], &[2.0, 9.0, 9.0, -1.0]),
            (&[Filter::IgnoreNegative], &[2.0, 9.0, 9.0]),
            // The order counts.
            (&[Filter::IgnoreMax, Filter::IgnoreFirst(2)], &[9.0, -1.0]),
            (&[Filter::IgnoreFirst(2), Filter::IgnoreMax], &[-1.0, -1.0]),
        ] {
            let chain = Filters::new(filters).unwrap();
            assert_eq!(&*chain.apply(&values), left, "{filters:?}");
        }
    }

    #[test]
    fn one_value_stays() {
        for filter in [
            Filter::IgnoreFirst(1),
            Filter::IgnoreMax,
            Filter::IgnoreMin,
            Filter::IgnoreNegative,
        ] {
            let chain = Filters::new(&[filter]).unwrap();
            assert_eq!(*chain.apply(&[-3.0]), [-3.0]);
            assert!(chain.apply(&[]).is_empty());
            assert_eq!(Filters::new(&[filter, filter]), None);
        }
        let negative = Filters::new(&[Filter::IgnoreNegative]).unwrap();
        assert!(negative.apply(&[-3.0, -2.0]).is_empty());
    }

    #[test]
    fn what_is_no_number_is_not_hidden() {
        for filter in [Filter::IgnoreMax, Filter::IgnoreMin, Filter::IgnoreNegative] {
            let chain = Filters::new(&[filter]).unwrap();
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let values = [1.0, value];
                let left = chain.apply(&values);
                assert!(left.iter().any(|value| !value.is_finite()), "{filter}");
            }
        }
    }
}
