//! Finite samples as sorted integers.
//!
//! A finite `f64` maps to a `u64` in the same order (negative numbers with all
//! bits flipped, the others with the sign bit flipped), so that sorting needs no
//! comparison of floats. -0.0 becomes 0.0 on the way: the two are equal, and a
//! tie between them is a tie.

use crate::error::CompareError;

const SIGN: u64 = 1 << 63;

/// The integer that represents `value` in sorting order.
#[inline(always)]
pub(crate) fn key(value: f64) -> u64 {
    // Adding 0.0 turns -0.0 into 0.0 and changes nothing else.
    let bits = (value + 0.0).to_bits();
    bits ^ ((((bits as i64) >> 63) as u64) | SIGN)
}

/// The value of a key.
#[inline(always)]
pub(crate) fn value(key: u64) -> f64 {
    let bits = key ^ (((!(key as i64) >> 63) as u64) | SIGN);
    f64::from_bits(bits)
}

/// Rejects NaN and infinities, naming the first.
pub(crate) fn check_finite(argument: &'static str, values: &[f64]) -> Result<(), CompareError> {
    // One pass without branches; the index is looked for only when it is needed.
    if values.iter().fold(true, |ok, v| ok & v.is_finite()) {
        return Ok(());
    }
    match values.iter().enumerate().find(|(_, v)| !v.is_finite()) {
        Some((index, &value)) => Err(CompareError::NotFinite {
            argument,
            index,
            value,
        }),
        None => Ok(()),
    }
}

/// Rejects empty samples.
pub(crate) fn check_not_empty(argument: &'static str, values: &[f64]) -> Result<(), CompareError> {
    if values.is_empty() {
        Err(CompareError::Empty { argument })
    } else {
        Ok(())
    }
}

pub(crate) fn check_level(argument: &'static str, value: f64) -> Result<(), CompareError> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(CompareError::NotALevel { argument, value })
    }
}

/// Fills `keys` with the sorted keys of finite `values`.
pub(crate) fn sort_into(keys: &mut Vec<u64>, values: &[f64]) {
    keys.clear();
    keys.extend(values.iter().map(|&v| key(v)));
    keys.sort_unstable();
}

/// The arithmetic mean of sorted keys, which must not be empty.
///
/// Summed in sorted order, so that it does not depend on the order of the
/// input, and with compensation, so that it is right to the last digit or two.
/// The mean of finite values is always finite.
pub(crate) fn mean(keys: &[u64]) -> f64 {
    let n = keys.len() as f64;
    let sum = compensated_sum(keys.iter().map(|&k| value(k)));
    if sum.is_finite() {
        return sum / n;
    }
    // Beyond the range: rounding must not carry the mean there, too.
    let mean = compensated_sum(keys.iter().map(|&k| value(k) / n));
    mean.clamp(value(keys[0]), value(keys[keys.len() - 1]))
}

fn compensated_sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut sum = 0.0_f64;
    let mut lost = 0.0_f64;
    for v in values {
        // Knuth's two-sum needs no comparison of magnitudes.
        let next = sum + v;
        let part = next - sum;
        lost += (sum - (next - part)) + (v - part);
        sum = next;
    }
    if lost.is_finite() { sum + lost } else { sum }
}

/// The median of sorted keys, which must not be empty: of an even number the
/// mean of the middle two.
pub(crate) fn median_of_keys(keys: &[u64]) -> f64 {
    let middle = keys.len() / 2;
    if keys.len() % 2 == 1 {
        value(keys[middle])
    } else {
        midpoint(value(keys[middle - 1]), value(keys[middle]))
    }
}

/// (a + b) / 2 without overflow and without losing denormal digits.
pub(crate) fn midpoint(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if sum.is_finite() {
        sum / 2.0
    } else {
        a / 2.0 + b / 2.0
    }
}

/// The `index`-th smallest (from 0) of the union of two sorted lists;
/// `index` must be below the sum of their lengths.
pub(crate) fn nth_of_union(a: &[u64], b: &[u64], index: usize) -> u64 {
    // The number of values among the `index` smallest that come from `a`: the smallest i
    // with a[i] >= b[index - i - 1].
    let (mut low, mut high) = (index.saturating_sub(b.len()), index.min(a.len()));
    while low < high {
        let i = low.midpoint(high);
        // i < high <= a.len() and index - i >= 1, index - i - 1 < b.len().
        if a[i] < b[index - i - 1] {
            low = i + 1
        } else {
            high = i
        }
    }
    let from_b = index - low;
    match (a.get(low), b.get(from_b)) {
        (Some(&x), Some(&y)) => x.min(y),
        (Some(&x), None) => x,
        (None, Some(&y)) => y,
        (None, None) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_order_and_come_back() {
        let ladder = [f64::MIN, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::MAX];
        for pair in ladder.windows(2) {
            assert!(key(pair[0]) < key(pair[1]));
        }
        for v in ladder {
            assert_eq!(value(key(v)).to_bits(), v.to_bits());
        }
        assert_eq!(key(-0.0), key(0.0));
    }

    #[test]
    fn nth_of_union_agrees_with_sorting() {
        let lists: [&[u64]; 6] = [
            &[],
            &[3],
            &[1, 1, 4, 9],
            &[2, 3, 3, 10, 11],
            &[0, 0, 0],
            &[20, 21],
        ];
        for a in lists {
            for b in lists {
                let mut all = [a, b].concat();
                all.sort_unstable();
                for (i, &expected) in all.iter().enumerate() {
                    assert_eq!(nth_of_union(a, b, i), expected, "{a:?} {b:?} {i}");
                }
            }
        }
    }

    #[test]
    fn mean_does_not_overflow() {
        let mut keys: Vec<u64> = [f64::MAX, f64::MAX, f64::MAX].map(key).to_vec();
        keys.sort_unstable();
        assert!(mean(&keys).is_finite());
    }
}
