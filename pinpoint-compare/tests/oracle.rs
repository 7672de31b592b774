//! The approximations against distributions of another library, `statrs`, and against
//! statistics counted straight from their definitions.
#![allow(clippy::unwrap_used)]

use pinpoint_compare::*;
use proptest::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};

/// The digits on which two implementations of the normal tail agree.
const RELATIVE: f64 = 1e-9;

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= RELATIVE * expected + f64::MIN_POSITIVE,
        "{found} is not {expected}"
    );
}

fn upper_tail(z: f64) -> f64 {
    Normal::standard().sf(z)
}

/// The sum of t³ - t over groups of t equal values.
fn ties(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    (sorted.chunk_by(|a, b| a == b))
        .map(|group| group.len() as f64)
        .map(|t| t * t * t - t)
        .sum()
}

/// Small integers: with ties.
fn sample(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((-12..12_i32).prop_map(f64::from), sizes)
}

proptest! {
    #[test]
    fn mann_whitney_is_the_normal_approximation(x in sample(2..60), y in sample(2..60)) {
        let above = |x: &f64, y: &f64| match x.total_cmp(y) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        };
        let u: f64 = x.iter().flat_map(|x| y.iter().map(move |y| above(x, y))).sum();
        let (n, m) = (x.len() as f64, y.len() as f64);
        let all = n + m;
        let correction = ties(x.iter().chain(&y).copied()) / (all * (all - 1.0));
        let deviation = (n * m / 12.0 * (all + 1.0 - correction)).sqrt();
        prop_assume!(deviation > 0.0);
        let p = |u: f64| upper_tail((u - n * m / 2.0 - 0.5) / deviation);
        for (alternative, expected) in [
            (Alternative::Greater, p(u)),
            (Alternative::Less, p(n * m - u)),
            (Alternative::TwoSided, (2.0 * p(u.max(n * m - u))).min(1.0)),
        ] {
            let found = mann_whitney_u(&x, &y, alternative, Method::Asymptotic).unwrap();
            prop_assert_eq!(found.statistic, u);
            assert_close(found.p_value, expected);
        }
    }

    #[test]
    fn wilcoxon_is_the_normal_approximation_for_large_samples(x in sample(60..120)) {
        let mut sizes: Vec<f64> = x.iter().map(|x| x.abs()).filter(|x| *x > 0.0).collect();
        sizes.sort_by(f64::total_cmp);
        // The mean rank of all values of this size.
        let rank = |size: f64| {
            let below = sizes.partition_point(|it| *it < size);
            let upto = sizes.partition_point(|it| *it <= size);
            (below + upto + 1) as f64 / 2.0
        };
        let n = sizes.len() as f64;
        let w: f64 = x.iter().filter(|x| **x > 0.0).map(|x| rank(*x)).sum();
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties(sizes.iter().copied()) / 48.0;
        prop_assume!(variance > 0.0);
        let (off, deviation) = (w - n * (n + 1.0) / 4.0, variance.sqrt());
        for (alternative, expected) in [
            (Alternative::Greater, upper_tail((off - 0.5) / deviation)),
            (Alternative::Less, upper_tail((-off - 0.5) / deviation)),
            (Alternative::TwoSided, {
                let corrected = if off == 0.0 { 0.0 } else { off.abs() - 0.5 };
                2.0 * upper_tail(corrected / deviation)
            }),
        ] {
            let found = wilcoxon(&x, None, alternative, 0.95).unwrap();
            prop_assert_eq!(found.statistic, w);
            assert_close(found.p_value.unwrap(), expected);
        }
    }
}
