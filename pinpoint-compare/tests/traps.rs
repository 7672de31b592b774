//! Known traps, one test each.
#![allow(clippy::unwrap_used)]

use pinpoint_compare::*;

#[test]
fn balanced_pairs_of_two() {
    // R and SciPy: 1. The formula of Pinpoint's original: 0.6985.
    let (x, y) = ([1.0, 4.0], [2.0, 3.0]);
    let asymptotic = mann_whitney_u(&x, &y, Alternative::TwoSided, Method::Asymptotic).unwrap();
    assert_eq!(asymptotic.p_value, 1.0);
    let exact = mann_whitney_u(&x, &y, Alternative::TwoSided, Method::Exact).unwrap();
    assert_eq!(exact.p_value, 1.0);
    let pinpoint = mann_whitney_u(&x, &y, Alternative::TwoSided, Method::Pinpoint).unwrap();
    assert!((pinpoint.p_value - 0.698_535_358_303_338_7).abs() < 1e-15);
}

#[test]
fn far_tail_keeps_its_digits() {
    let x: Vec<f64> = (0..60).map(f64::from).collect();
    let y: Vec<f64> = (100..160).map(f64::from).collect();
    let got = mann_whitney_u(&x, &y, Alternative::TwoSided, Method::Pinpoint).unwrap();
    assert!(
        (got.p_value / 3.56e-21 - 1.0).abs() < 2e-3,
        "{}",
        got.p_value
    );
    let exact = mann_whitney_u(&x, &y, Alternative::TwoSided, Method::Exact).unwrap();
    // 2 / C(120, 60)
    let choose = (1..=60).fold(1.0, |c, i| c * f64::from(60 + i) / f64::from(i));
    assert!((exact.p_value * choose / 2.0 - 1.0).abs() < 1e-12);
    let ks = ks_2samp(&x, &y, Method::Exact).unwrap();
    assert!((ks.p_value * choose / 2.0 - 1.0).abs() < 1e-12);
}

#[test]
fn exact_p_when_the_first_sample_is_shorter() {
    // By enumeration: 2 of 35 arrangements.
    for (x, y) in [
        (&[1.0, 2.0, 3.0][..], &[4.0, 5.0, 6.0, 7.0][..]),
        (&[4.0, 5.0, 6.0, 7.0], &[1.0, 2.0, 3.0]),
    ] {
        let got = mann_whitney_u(x, y, Alternative::TwoSided, Method::Auto).unwrap();
        assert_eq!(got.method, Method::Exact);
        assert!((got.p_value - 2.0 / 35.0).abs() < 1e-15);
    }
}

#[test]
fn paired_samples_with_nan_or_infinity_are_refused() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let (x, y) = ([1.0, 2.0, 3.0], [1.5, bad, 2.5]);
        let named = |e: CompareError, name| {
            assert!(
                matches!(e, CompareError::NotFinite { argument, index: 1, .. } if argument == name),
                "{e:?}"
            );
        };
        named(
            wilcoxon(&x, Some(&y), Alternative::TwoSided, 0.95).unwrap_err(),
            "y",
        );
        named(
            wilcoxon(&y, Some(&x), Alternative::TwoSided, 0.95).unwrap_err(),
            "x",
        );
        named(
            compare_pairwise(&x, &y, Direction::Unknown).unwrap_err(),
            "treatment",
        );
        named(
            compare_pairwise(&y, &x, Direction::Unknown).unwrap_err(),
            "control",
        );
    }
}

#[test]
fn values_one_bit_apart_with_equal_logarithms() {
    let control = [1e15_f64; 12];
    let treatment = control.map(f64::next_up);
    assert_eq!(libm::log(control[0]), libm::log(treatment[0]));
    let got = compare_pairwise(&control, &treatment, Direction::Unknown).unwrap();
    assert_eq!(
        (got.verdict, got.p_value, got.estimate),
        (Verdict::Same, 1.0, Some(0.0))
    );
    assert_eq!(got.interval, None);
}

#[test]
fn identical_samples_are_the_same() {
    let values = [3.0, 1.0, 2.0, 5.0];
    let got = compare_pairwise(&values, &values, Direction::Unknown).unwrap();
    assert_eq!(
        (got.verdict, got.p_value, got.estimate),
        (Verdict::Same, 1.0, Some(0.0))
    );
    assert_eq!(got.original.p_value, Some(1.0));
    assert_eq!(got.original.interval, None);
}

#[test]
fn an_interval_that_does_not_exist_is_absent() {
    let zeros = wilcoxon(&[0.0; 5], None, Alternative::TwoSided, 0.95).unwrap();
    assert_eq!(
        (zeros.interval, zeros.estimate, zeros.p_value),
        (None, Some(0.0), Some(1.0))
    );
    let tied = wilcoxon(&[2.5; 5], None, Alternative::TwoSided, 0.95).unwrap();
    assert_eq!((tied.interval, tied.estimate), (None, Some(2.5)));
    assert_eq!(tied.p_value, Some(0.0625));
    let one = wilcoxon(&[2.5], None, Alternative::TwoSided, 0.95).unwrap();
    assert_eq!((one.interval, one.achieved_confidence), (None, None));
    let published = wilcoxon_pinpoint(&[0.0; 5], None, Alternative::TwoSided, 0.95).unwrap();
    assert_eq!(
        (published.interval, published.estimate, published.p_value),
        (None, None, None)
    );
    let tiny = hodges_lehmann(&[1.0], &[2.0], 0.95).unwrap();
    assert_eq!((tiny.interval, tiny.estimate), (None, 1.0));
}

#[test]
fn little_noise_does_not_flip_the_pairwise_verdict() {
    // 0.003 % noise and a change of 0.003 %: on the scale of logarithms the ends
    // of the interval are smaller than a root tolerance of 1e-4.
    let mut state = 7_u64;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5) * 6e-5
    };
    for _ in 0..50 {
        let control: Vec<f64> = (0..60).map(|_| 100.0 * (1.0 + noise())).collect();
        let treatment: Vec<f64> = control.iter().map(|c| c * (1.0 + 3e-5 + noise())).collect();
        let got = compare_pairwise(&control, &treatment, Direction::Unknown).unwrap();
        let interval = got.interval.unwrap();
        // p < 0.05 and an interval without 0 are one statement, except for the continuity
        // correction at the very edge.
        assert_eq!(got.p_value < 0.05, !interval.contains(0.0), "{got:?}");
        assert_eq!(got.verdict == Verdict::Different, got.p_value < 0.05);
    }
}

#[test]
fn binomial_quantile_at_its_edge() {
    // On paper P(B <= 0) for 2 trials at 0.9 is exactly 0.01 and the quantile 0
    // (p = 1); the f64 0.9 lies above 0.9, and the quantile is 1.
    assert_eq!(high_threshold_functional(0.9, 2), 0.6171);
    assert_eq!(high_threshold_functional(0.9, 1), 1.0);
    assert_eq!(high_threshold_functional(1.0, 5), 0.004);
    assert_eq!(high_threshold_functional(1.0, 500), 0.004);
}

#[test]
fn negative_zero_is_zero() {
    let plain = mann_whitney_u(
        &[0.0, 0.0, 1.0],
        &[0.0, 2.0],
        Alternative::TwoSided,
        Method::Auto,
    )
    .unwrap();
    let signed = mann_whitney_u(
        &[-0.0, 0.0, 1.0],
        &[-0.0, 2.0],
        Alternative::TwoSided,
        Method::Auto,
    )
    .unwrap();
    assert_eq!(plain, signed);
    let w = wilcoxon(&[-0.0, 1.0, 2.0], None, Alternative::TwoSided, 0.95).unwrap();
    assert_eq!(w.nonzero, 2);
    assert_eq!(median(&[-0.0]).unwrap().to_bits(), 0.0_f64.to_bits());
}

#[test]
fn empty_samples() {
    let some = [1.0];
    let empty: [f64; 0] = [];
    for (a, b) in [(&empty[..], &some[..]), (&some, &empty), (&empty, &empty)] {
        let got = compare_performance(a, b, None, Direction::Up).unwrap();
        assert_eq!(got.verdict, Verdict::Nil);
        assert!(!got.tested());
        assert!(matches!(
            compare_functional(a, b, 1.0),
            Err(CompareError::Empty {
                argument: "control" | "treatment"
            })
        ));
        assert!(mann_whitney_u(a, b, Alternative::TwoSided, Method::Auto).is_err());
        assert!(ks_2samp(a, b, Method::Auto).is_err());
        assert!(hodges_lehmann(a, b, 0.95).is_err());
        assert!(compare_pairwise(a, b, Direction::Up).is_err());
    }
    assert_eq!(median(&empty), None);
}

#[test]
fn levels_outside_0_to_1() {
    for level in [0.0, 1.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            wilcoxon(&[1.0], None, Alternative::TwoSided, level),
            Err(CompareError::NotALevel {
                argument: "confidence",
                ..
            })
        ));
        assert!(matches!(
            hodges_lehmann(&[1.0], &[2.0], level),
            Err(CompareError::NotALevel {
                argument: "confidence",
                ..
            })
        ));
    }
}

#[test]
fn unequal_lengths_name_the_longer() {
    assert!(matches!(
        wilcoxon(&[1.0, 2.0], Some(&[1.0]), Alternative::TwoSided, 0.95),
        Err(CompareError::LengthsDiffer {
            argument: "x",
            index: 1,
            first: 2,
            second: 1
        })
    ));
    assert!(matches!(
        compare_pairwise(&[1.0], &[1.0, 2.0, 3.0], Direction::Unknown),
        Err(CompareError::LengthsDiffer {
            argument: "treatment",
            index: 1,
            first: 1,
            second: 3
        })
    ));
}

#[test]
fn functional_values_are_zero_or_one() {
    assert!(matches!(
        compare_functional(&[0.0, 1.0], &[0.0, 0.5], 1.0),
        Err(CompareError::NotBinary {
            argument: "treatment",
            index: 1,
            ..
        })
    ));
    assert!(compare_functional(&[0.0, 1.0], &[-0.0, 1.0], 1.0).is_ok());
}

#[test]
fn counts_with_a_median_of_zero_are_compared_without_percentages() {
    let control = [0.0; 20];
    let treatment: Vec<f64> = (0..20).map(|i| f64::from(i % 4 + 1)).collect();
    let got = compare_pairwise(&control, &treatment, Direction::Unknown).unwrap();
    assert_eq!(got.verdict, Verdict::Different);
    assert_eq!(
        (got.estimate, got.interval, got.transform),
        (None, None, Transform::Difference)
    );
    assert!(got.original.interval.is_some());
    let got = compare_pairwise(&control, &treatment, Direction::Up).unwrap();
    assert_eq!((got.verdict, got.is_improvement), (Verdict::Same, true));
}

/// Percentages of the magnitude where all values have one sign, and else plain differences.
#[test]
fn negative_values_are_compared() {
    let control: Vec<f64> = (0..20).map(|i| -100.0 - f64::from(i % 5)).collect();
    let worse: Vec<f64> = control.iter().map(|v| v - 10.0).collect();
    let got = compare_pairwise(&control, &worse, Direction::Up).unwrap();
    assert_eq!(
        (got.verdict, got.transform),
        (Verdict::Different, Transform::Normalized)
    );
    assert!(
        (got.estimate.unwrap() + 10.0 / 1.02).abs() < 1e-9,
        "{got:?}"
    );
    let got = compare_pairwise(&control, &worse, Direction::Down).unwrap();
    assert!(got.is_improvement);
    let scores: Vec<f64> = (0..20).map(|i| f64::from(i % 5) - 2.0).collect();
    let higher: Vec<f64> = scores.iter().map(|v| v + 1.5).collect();
    let got = compare_pairwise(&scores, &higher, Direction::Unknown).unwrap();
    assert_eq!(
        (got.verdict, got.transform, got.estimate, got.interval),
        (Verdict::Different, Transform::Difference, None, None)
    );
    assert_eq!(got.original.estimate, Some(1.5));
    assert!(compare_pairwise_pinpoint(&scores, &higher, Direction::Unknown).is_err());
}

#[test]
fn too_few_pairs_are_unknown_unless_none_differs() {
    for pairs in 1..9 {
        let control = vec![20.0; pairs];
        let treatment = vec![21.0; pairs];
        let got = compare_pairwise(&control, &treatment, Direction::Down).unwrap();
        let expected = match pairs {
            ..6 => Verdict::Unknown,
            _ => Verdict::Different,
        };
        assert_eq!(got.verdict, expected, "{pairs}");
        assert_eq!(got.p_value, least_p_value(pairs));
        assert_eq!(got.interval.is_some(), pairs >= 6);
        let got = compare_pairwise(&control, &control, Direction::Down).unwrap();
        assert_eq!(got.verdict, Verdict::Same);
    }
}

#[test]
fn values_at_the_end_of_the_range() {
    let (x, y) = ([f64::MAX, f64::MAX, 1.0], [f64::MIN, f64::MIN, 2.0]);
    assert!(matches!(
        compare_performance(&x, &y, None, Direction::Unknown),
        Err(CompareError::Overflow {
            argument: "treatment",
            index: 0
        })
    ));
    let big = [f64::MAX, f64::MAX / 2.0, f64::MAX / 4.0, 1.0];
    let got = wilcoxon(&big, None, Alternative::TwoSided, 0.8).unwrap();
    assert!(got.estimate.unwrap().is_finite() && got.interval.unwrap().high.is_finite());
}

#[test]
fn logarithms_are_taken_above_one_millionth() {
    let small = [2e-5, 3e-5, 2.5e-5, 4e-5];
    let got = compare_pairwise(&small, &small.map(|v| v * 1.5), Direction::Unknown).unwrap();
    assert_eq!(got.transform, Transform::Log);
    assert!((got.estimate.unwrap() - 50.0).abs() < 1e-9);
    let edge = [1e-6, 3e-5, 2.5e-5, 4e-5];
    let got = compare_pairwise(&edge, &small, Direction::Unknown).unwrap();
    assert_eq!(got.transform, Transform::Normalized);
}

#[test]
fn functional_thresholds_follow_their_definition() {
    // Failure rate 1/2, in integers: the smallest k with Σ C(n, i) >= 2^n / 100.
    for n in 1..=22_u64 {
        let (mut sum, mut term, mut k) = (1_u64, 1_u64, 0_u64);
        while sum * 100 < 1 << n {
            term = term * (n - k) / (k + 1);
            k += 1;
            sum += term;
        }
        let control = vec![0.0; n as usize];
        let mut treatment = control.clone();
        treatment[..k as usize].fill(1.0);
        let p = mann_whitney_u(
            &control,
            &treatment,
            Alternative::TwoSided,
            Method::Pinpoint,
        )
        .unwrap()
        .p_value;
        assert_eq!(
            high_threshold_functional(0.5, n as usize),
            (p * 1e4).ceil() / 1e4,
            "n = {n}"
        );
    }
}
