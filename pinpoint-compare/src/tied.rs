//! Detects ties among values that are rounded.

use std::fmt::{self, Write};

use crate::sorted::{key, value};

/// Makes magnitudes that are no farther apart than `tolerance` one, across two sorted lists of
/// keys, and drops those that are no farther from 0.
///
/// 20.3 - 20.1 and 20.5 - 20.3 are 0.2 on paper, and two different floats.
pub(crate) fn tie_magnitudes(one: &mut Vec<u64>, other: &mut Vec<u64>, tolerance: f64) {
    if tolerance == 0.0 {
        return;
    }
    let (mut i, mut j) = (0, 0);
    let (mut last, mut group) = (0.0, 0.0);
    loop {
        let next = match (one.get_mut(i), other.get_mut(j)) {
            (Some(a), Some(b)) if *a <= *b => {
                i += 1;
                a
            }
            (Some(a), None) => {
                i += 1;
                a
            }
            (_, Some(b)) => {
                j += 1;
                b
            }
            (None, None) => break,
        };
        let magnitude = value(*next);
        if magnitude - last > tolerance {
            group = magnitude;
        }
        last = magnitude;
        *next = key(group);
    }
    for list in [one, other] {
        let zeros = list.partition_point(|it| *it == key(0.0));
        list.drain(..zeros);
    }
}

/// One unit in the last decimal place that any of the values has when it is written with the fewest
/// digits that distinguish it from other floats: 1 for whole numbers, 0.01 for 20.3 and 20.25.
pub(crate) fn last_place(samples: &[&[f64]]) -> f64 {
    let places = |value: &f64| {
        let mut decimals = Decimals::default();
        // Counting never fails.
        let _ = write!(decimals, "{value}");
        decimals.count
    };
    let values = samples.iter().flat_map(|sample| sample.iter());
    let most = values.map(places).max().unwrap_or_default();
    libm::exp10(-f64::from(most))
}

/// Counts the digits after the point.
#[derive(Default)]
struct Decimals {
    behind_point: bool,
    count: u16,
}

impl Write for Decimals {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.bytes() {
            self.count += u16::from(self.behind_point);
            self.behind_point |= letter == b'.';
        }
        Ok(())
    }
}

/// The largest error, with this confidence, of the difference of two values that are rounded to a
/// multiple of `unit`: the sum of two errors, each evenly spread over half a unit to either side,
/// has the triangular distribution on -unit to unit.
pub(crate) fn rounding_half_width(unit: f64, confidence: f64) -> f64 {
    unit * (1.0 - (1.0 - confidence).max(0.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_place_is_that_of_the_longest_value() {
        for (values, expected) in [
            (&[100.0, 101.0][..], 1.0),
            (&[20.3, 20.25], 0.01),
            (&[1e300], 1.0),
            (&[-0.5, 7.0], 0.1),
            (&[], 1.0),
        ] {
            assert_eq!(last_place(&[values]), expected, "{values:?}");
        }
        assert!(last_place(&[&[5e-324]]) < 1e-300);
    }

    #[test]
    fn floats_that_are_equal_on_paper_tie() {
        let magnitude = |a: f64, b: f64| key((a - b).abs());
        let mut one = vec![magnitude(0.3, 0.1 + 0.2), magnitude(20.3, 20.1)];
        let mut other = vec![magnitude(20.3, 20.5), magnitude(21.0, 20.0)];
        one.sort_unstable();
        other.sort_unstable();
        tie_magnitudes(&mut one, &mut other, 8.0 * f64::EPSILON * 21.0);
        assert_eq!((one.len(), other.len()), (1, 2));
        assert_eq!(one[0], other[0]);
        assert_eq!(value(other[1]), 1.0);
    }
}
