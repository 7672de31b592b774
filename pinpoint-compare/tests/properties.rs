//! Properties that hold for every input, checked on random ones, and the exact
//! distributions against enumeration.
#![allow(clippy::unwrap_used)]

use pinpoint_compare::*;
use proptest::prelude::*;

/// Values with and without ties, on one scale or on many.
fn sample(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        prop::collection::vec(-1e3..1e3_f64, sizes.clone()),
        prop::collection::vec((-4..4_i32).prop_map(f64::from), sizes.clone()),
        prop::collection::vec((1..40_i32).prop_map(|i| f64::from(i) / 8.0), sizes.clone()),
        prop::collection::vec(
            (-200..200_i32, any::<bool>())
                .prop_map(|(e, s)| { libm::exp2(f64::from(e)) * if s { 1.0 } else { -1.0 } }),
            sizes
        ),
    ]
}

fn shuffled(values: &[f64], seed: u64) -> Vec<f64> {
    let mut v = values.to_vec();
    let mut state = seed;
    for i in (1..v.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        v.swap(i, (state >> 33) as usize % (i + 1));
    }
    v
}

/// A strictly monotone map that keeps ties and creates none.
fn stretch(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| v * 8.0).collect()
}

const METHODS: [Method; 3] = [Method::Auto, Method::Asymptotic, Method::Pinpoint];
const ALTERNATIVES: [Alternative; 3] = [
    Alternative::TwoSided,
    Alternative::Less,
    Alternative::Greater,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rank_tests_ignore_order_and_monotone_maps(x in sample(1..30), y in sample(1..30), seed: u64) {
        let (xs, ys) = (shuffled(&x, seed), shuffled(&y, !seed));
        for method in METHODS {
            let plain = mann_whitney_u(&x, &y, Alternative::TwoSided, method).unwrap();
            prop_assert_eq!(&plain, &mann_whitney_u(&xs, &ys, Alternative::TwoSided, method).unwrap());
            let stretched = mann_whitney_u(&stretch(&x), &stretch(&y), Alternative::TwoSided, method).unwrap();
            prop_assert_eq!((plain.statistic, plain.p_value), (stretched.statistic, stretched.p_value));
            let plain = ks_2samp(&x, &y, method).unwrap();
            prop_assert_eq!(&plain, &ks_2samp(&xs, &ys, method).unwrap());
            prop_assert_eq!(&plain, &ks_2samp(&stretch(&x), &stretch(&y), method).unwrap());
        }
        prop_assert_eq!(
            compare_performance(&x, &y, Some(1.0), Direction::Unknown).unwrap(),
            compare_performance(&xs, &ys, Some(1.0), Direction::Unknown).unwrap()
        );
        prop_assert_eq!(median(&x), median(&xs));
        prop_assert_eq!(
            wilcoxon(&x, None, Alternative::TwoSided, 0.9).unwrap(),
            wilcoxon(&xs, None, Alternative::TwoSided, 0.9).unwrap()
        );
    }

    #[test]
    fn p_is_symmetric_and_a_probability(x in sample(1..30), y in sample(1..30)) {
        for method in METHODS {
            for alternative in ALTERNATIVES {
                if method == Method::Pinpoint && alternative != Alternative::TwoSided {
                    continue;
                }
                let there = mann_whitney_u(&x, &y, alternative, method).unwrap();
                let back = mann_whitney_u(&y, &x, alternative.mirrored(), method).unwrap();
                prop_assert_eq!(there.p_value, back.p_value);
                prop_assert_eq!(there.method, back.method);
                prop_assert!((0.0..=1.0).contains(&there.p_value));
                prop_assert!((-1.0..=1.0).contains(&there.rank_biserial));
                prop_assert_eq!(there.rank_biserial, -back.rank_biserial);
            }
            let there = ks_2samp(&x, &y, method).unwrap();
            prop_assert_eq!(&there, &ks_2samp(&y, &x, method).unwrap());
            prop_assert!((0.0..=1.0).contains(&there.p_value) && (0.0..=1.0).contains(&there.statistic));
        }
    }

    #[test]
    fn shift_is_antisymmetric_and_in_its_interval(x in sample(1..40), y in sample(1..40), level in 0.01..0.999_f64) {
        let there = hodges_lehmann(&x, &y, level).unwrap();
        let back = hodges_lehmann(&y, &x, level).unwrap();
        prop_assert_eq!(there.estimate, -back.estimate);
        prop_assert_eq!(there.interval.is_some(), back.interval.is_some());
        if let (Some(a), Some(b)) = (there.interval, back.interval) {
            prop_assert_eq!((a.low, a.high), (-b.high, -b.low));
            prop_assert!(a.contains(there.estimate));
        }
    }

    #[test]
    fn shift_is_the_median_of_all_differences(x in sample(1..25), y in sample(1..25)) {
        let mut all: Vec<f64> = x.iter().flat_map(|x| y.iter().map(move |y| y - x)).collect();
        all.sort_by(f64::total_cmp);
        let shift = hodges_lehmann(&x, &y, 0.95).unwrap();
        prop_assert_eq!(Some(shift.estimate), median(&all));
        if let Some(interval) = shift.interval {
            // The interval is made of two differences the same number of ranks from the ends.
            let low = all.partition_point(|d| *d < interval.low);
            let high = all.partition_point(|d| *d <= interval.high);
            prop_assert!(all[low] == interval.low && all[high - 1] == interval.high);
        }
    }

    #[test]
    fn signed_rank_mirrors_and_bounds(x in sample(1..80), level in 0.01..0.999_f64) {
        let negated: Vec<f64> = x.iter().map(|v| -v).collect();
        for alternative in ALTERNATIVES {
            let there = wilcoxon(&x, None, alternative, level).unwrap();
            let back = wilcoxon(&negated, None, alternative.mirrored(), level).unwrap();
            prop_assert_eq!(there.p_value, back.p_value);
            prop_assert_eq!(there.estimate, back.estimate.map(|e| 0.0 - e));
            prop_assert!(there.p_value.is_none_or(|p| (0.0..=1.0).contains(&p)));
            prop_assert_eq!(there.interval, back.interval.map(|it| Interval { low: -it.high, high: -it.low }));
            if let (Some(interval), Some(estimate)) = (there.interval, there.estimate) {
                prop_assert!(interval.contains(estimate), "{:?}", there);
                prop_assert!(interval.low < interval.high, "{:?}", there);
            }
        }
    }

    #[test]
    fn pseudomedian_is_the_median_of_walsh_averages(x in prop::collection::vec(-1e3..1e3_f64, 1..40)) {
        let walsh: Vec<f64> = (0..x.len()).flat_map(|i| (i..x.len()).map(move |j| (i, j)))
            .map(|(i, j)| (x[i] + x[j]) / 2.0).collect();
        let got = wilcoxon(&x, None, Alternative::TwoSided, 0.95).unwrap();
        prop_assert_eq!(got.estimate, median(&walsh));
    }

    #[test]
    fn decisions_keep_their_rules(x in sample(1..40), y in sample(1..40), magnitude in prop::option::of(0.0..10.0_f64)) {
        for direction in [Direction::Up, Direction::Down, Direction::Unknown] {
            let got = compare_performance(&x, &y, magnitude, direction).unwrap();
            prop_assert_ne!(got.verdict, Verdict::Nil);
            prop_assert_eq!(got.tested(), !(got.is_too_small || got.is_improvement));
            if let (Some(p), Some(ks), Some(mwu), Some(high)) = (got.p_value, got.p_value_ks, got.p_value_mwu, got.high_threshold) {
                prop_assert_eq!(p, ks.min(mwu));
                let expected = if p <= 0.05 { Verdict::Different } else if p <= high { Verdict::Unknown } else { Verdict::Same };
                prop_assert_eq!(got.verdict, expected);
                prop_assert_eq!(mwu, mann_whitney_u(&x, &y, Alternative::TwoSided, Method::Pinpoint).unwrap().p_value);
                prop_assert_eq!(ks, ks_2samp(&x, &y, Method::Pinpoint).unwrap().p_value);
            } else {
                prop_assert_eq!(got.verdict, Verdict::Same);
            }
        }
    }

    #[test]
    fn functional_counts_agree_with_the_rank_tests(x in prop::collection::vec(any::<bool>(), 1..60), y in prop::collection::vec(any::<bool>(), 1..60)) {
        let values = |v: &[bool]| v.iter().map(|b| f64::from(u8::from(*b))).collect::<Vec<_>>();
        let (x, y) = (values(&x), values(&y));
        let got = compare_functional(&x, &y, 1.0).unwrap();
        if let (Some(ks), Some(mwu)) = (got.p_value_ks, got.p_value_mwu) {
            prop_assert_eq!(mwu, mann_whitney_u(&x, &y, Alternative::TwoSided, Method::Pinpoint).unwrap().p_value);
            prop_assert_eq!(ks, ks_2samp(&x, &y, Method::Pinpoint).unwrap().p_value);
        } else {
            prop_assert!(got.mean_diff < 0.0);
        }
    }

    #[test]
    fn reused_memory_changes_nothing(samples in prop::collection::vec((sample(1..30), sample(1..30)), 1..5)) {
        let mut scratch = Scratch::new();
        for (x, y) in &samples {
            prop_assert_eq!(
                compare_performance_with(x, y, None, Direction::Unknown, &mut scratch),
                compare_performance(x, y, None, Direction::Unknown)
            );
            prop_assert_eq!(
                mann_whitney_u_with(x, y, &MannWhitneyOptions::default(), &mut scratch),
                mann_whitney_u(x, y, Alternative::TwoSided, Method::Auto)
            );
            prop_assert_eq!(ks_2samp_with(x, y, Method::Auto, &mut scratch), ks_2samp(x, y, Method::Auto));
            prop_assert_eq!(ks_2samp_with(x, y, Method::Asymptotic, &mut scratch), ks_2samp(x, y, Method::Asymptotic));
            prop_assert_eq!(hodges_lehmann_with(x, y, 0.9, &mut scratch), hodges_lehmann(x, y, 0.9));
            prop_assert_eq!(
                wilcoxon_with(x, None, Alternative::Less, 0.9, &mut scratch),
                wilcoxon(x, None, Alternative::Less, 0.9)
            );
        }
    }
}

/// All ways to choose which of the pooled values form the first sample, as masks.
fn choices(n: usize, all: usize) -> impl Iterator<Item = u32> {
    (0_u32..1 << all).filter(move |mask| mask.count_ones() as usize == n)
}

fn twice_u(first: &[f64], second: &[f64]) -> u32 {
    first
        .iter()
        .flat_map(|x| {
            second
                .iter()
                .map(move |y| if x > y { 2 } else { u32::from(x == y) })
        })
        .sum()
}

fn split(pooled: &[f64], mask: u32) -> (Vec<f64>, Vec<f64>) {
    let part = |chosen: bool| {
        pooled
            .iter()
            .enumerate()
            .filter(|(i, _)| (mask >> i & 1 == 1) == chosen)
            .map(|(_, v)| *v)
            .collect()
    };
    (part(true), part(false))
}

#[test]
fn exact_mann_whitney_agrees_with_enumeration() {
    // Distinct values for every pair of sizes up to 7 + 7; tied ones up to 5 + 5.
    for (n, m, tied) in (1..=7)
        .flat_map(|n| (1..=7).map(move |m| (n, m, false)))
        .chain((1..=5).flat_map(|n| (1..=5).map(move |m| (n, m, true))))
    {
        let all = n + m;
        let pooled: Vec<f64> = (0..all)
            .map(|i| {
                if tied {
                    f64::from((i * i % 5) as u8)
                } else {
                    i as f64
                }
            })
            .collect();
        let us: Vec<(u32, u32)> = choices(n, all)
            .map(|mask| {
                let (x, y) = split(&pooled, mask);
                (mask, twice_u(&x, &y))
            })
            .collect();
        let total = us.len() as f64;
        let mut seen = std::collections::BTreeSet::new();
        for &(mask, u) in &us {
            if !seen.insert(u) {
                continue;
            }
            let (x, y) = split(&pooled, mask);
            let at_least = us.iter().filter(|(_, v)| *v >= u).count() as f64 / total;
            let at_most = us.iter().filter(|(_, v)| *v <= u).count() as f64 / total;
            for (alternative, p) in [
                (Alternative::Greater, at_least),
                (Alternative::Less, at_most),
                (
                    Alternative::TwoSided,
                    (2.0 * at_least.min(at_most)).min(1.0),
                ),
            ] {
                let got = mann_whitney_u(&x, &y, alternative, Method::Exact).unwrap();
                assert!(
                    (got.p_value - p).abs() < 1e-12,
                    "{x:?} {y:?} {alternative:?}: {} {p}",
                    got.p_value
                );
            }
        }
    }
}

#[test]
fn exact_kolmogorov_smirnov_agrees_with_enumeration() {
    for (n, m) in (1..=7).flat_map(|n| (1..=7).map(move |m| (n, m))) {
        let pooled: Vec<f64> = (0..n + m).map(|i| i as f64).collect();
        // The statistic as an integer, n·m·D.
        let distance = |mask: u32| {
            let (mut gap, mut most) = (0_i64, 0_i64);
            for i in 0..n + m {
                gap += if mask >> i & 1 == 1 {
                    m as i64
                } else {
                    -(n as i64)
                };
                most = most.max(gap.abs());
            }
            most
        };
        let all: Vec<(u32, i64)> = choices(n, n + m)
            .map(|mask| (mask, distance(mask)))
            .collect();
        let mut seen = std::collections::BTreeSet::new();
        for &(mask, d) in &all {
            if !seen.insert(d) {
                continue;
            }
            let (x, y) = split(&pooled, mask);
            let p = all.iter().filter(|(_, e)| *e >= d).count() as f64 / all.len() as f64;
            let got = ks_2samp(&x, &y, Method::Exact).unwrap();
            assert!(
                (got.p_value - p).abs() < 1e-12,
                "{x:?} {y:?}: {} {p}",
                got.p_value
            );
            assert!((got.statistic - d as f64 / (n * m) as f64).abs() < 1e-15);
        }
    }
}

#[test]
fn exact_signed_rank_agrees_with_enumeration() {
    for n in 1..=12_u32 {
        let sums: Vec<u32> = (0_u32..1 << n)
            .map(|mask| (1..=n).filter(|r| mask >> (r - 1) & 1 == 1).sum())
            .collect();
        let mut seen = std::collections::BTreeSet::new();
        for (mask, &v) in sums.iter().enumerate() {
            if !seen.insert(v) {
                continue;
            }
            let x: Vec<f64> = (1..=n)
                .map(|r| f64::from(r) * if mask >> (r - 1) & 1 == 1 { 1.0 } else { -1.0 })
                .collect();
            let at_least = sums.iter().filter(|w| **w >= v).count() as f64 / sums.len() as f64;
            let at_most = sums.iter().filter(|w| **w <= v).count() as f64 / sums.len() as f64;
            for (alternative, p) in [
                (Alternative::Greater, at_least),
                (Alternative::Less, at_most),
                (
                    Alternative::TwoSided,
                    (2.0 * at_least.min(at_most)).min(1.0),
                ),
            ] {
                let got = wilcoxon(&x, None, alternative, 0.95).unwrap();
                assert_eq!(got.method, Method::Exact);
                assert!(
                    (got.p_value.unwrap() - p).abs() < 1e-12,
                    "{x:?} {alternative:?}"
                );
            }
        }
    }
}

/// The interval's nominal coverage, by enumeration: the true shift 0 is inside for at least the
/// requested level of all equally likely arrangements.
#[test]
fn shift_interval_covers() {
    for (n, m) in [(4, 5), (6, 6), (3, 7)] {
        // Irregular gaps, so that differences are distinct.
        let pooled: Vec<f64> = (0..n + m)
            .map(|i| (i * i) as f64 + 0.1 * i as f64)
            .collect();
        let (mut inside, mut all) = (0, 0);
        for mask in choices(n, n + m) {
            let (x, y) = split(&pooled, mask);
            all += 1;
            inside += u32::from(
                hodges_lehmann(&x, &y, 0.9)
                    .unwrap()
                    .interval
                    .is_none_or(|i| i.contains(0.0)),
            );
        }
        assert!(
            f64::from(inside) >= 0.9 * f64::from(all),
            "{n} {m}: {inside} of {all}"
        );
    }
}
