//! No input panics or hangs: every public function on arbitrary bit patterns, for
//! a bounded number of cases (`PROPTEST_CASES` raises it).

use pinpoint_compare::*;
use proptest::prelude::*;

/// Any `f64`: all bit patterns, or the awkward ones more often.
fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<u64>().prop_map(f64::from_bits),
        2 => prop::sample::select(vec![
            0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, f64::MIN_POSITIVE, f64::MAX, f64::MIN, f64::MAX / 2.0,
            1e-6, f64::EPSILON, f64::INFINITY, f64::NEG_INFINITY, f64::NAN,
        ]),
        2 => -10.0..10.0_f64,
    ]
}

fn values(finite: bool) -> impl Strategy<Value = Vec<f64>> {
    let value = any_value()
        .prop_map(move |v| if finite && !v.is_finite() { 0.0 } else { v })
        .boxed();
    prop_oneof![
        prop::collection::vec(value.clone(), 0..40),
        // Big enough to be narrowed down rather than listed.
        prop::collection::vec(value, 80..140),
        prop::collection::vec((0..3_u8).prop_map(f64::from), 0..140),
        prop::collection::vec(
            (0..3_u8).prop_map(|i| [f64::MAX, f64::MIN, 5e-324][usize::from(i)]),
            0..90
        ),
    ]
}

fn call_all(x: &[f64], y: &[f64], number: f64, seed: u64) {
    let same_length = &y[..y.len().min(x.len())];
    let partner = &x[..same_length.len()];
    for direction in [Direction::Up, Direction::Down, Direction::Unknown] {
        let _ = compare_performance(x, y, Some(number), direction);
        let _ = compare_performance(x, y, None, direction);
        let _ = compare_pairwise(partner, same_length, direction);
        let _ = compare_pairwise(x, y, direction);
        let magnitudes = |v: &[f64]| v.iter().map(|v| v.abs()).collect::<Vec<_>>();
        let _ = compare_pairwise(&magnitudes(partner), &magnitudes(same_length), direction);
    }
    let _ = compare_functional(x, y, number);
    for method in [
        Method::Auto,
        Method::Exact,
        Method::Asymptotic,
        Method::Pinpoint,
    ] {
        for alternative in [
            Alternative::TwoSided,
            Alternative::Less,
            Alternative::Greater,
        ] {
            // The exact distribution with ties is slow on purpose; small samples will do.
            let most = if method == Method::Exact {
                12
            } else {
                usize::MAX
            };
            let part = |v: &'_ [f64]| v[..v.len().min(most)].to_vec();
            if let Ok(result) = mann_whitney_u(&part(x), &part(y), alternative, method) {
                assert!((0.0..=1.0).contains(&result.p_value), "{result:?}");
                assert_ne!(result.method, Method::Auto);
            }
        }
        if let Ok(result) = ks_2samp(x, y, method) {
            assert!((0.0..=1.0).contains(&result.p_value), "{result:?}");
        }
    }
    for level in [0.95, 0.5, 1e-9, 1.0 - 1e-12, number] {
        let _ = hodges_lehmann(x, y, level);
        for alternative in [
            Alternative::TwoSided,
            Alternative::Less,
            Alternative::Greater,
        ] {
            if let Ok(result) = wilcoxon(x, None, alternative, level) {
                assert!(
                    result.p_value.is_none_or(|p| (0.0..=1.0).contains(&p)),
                    "{result:?}"
                );
                assert!(result.estimate.is_none_or(f64::is_finite), "{result:?}");
            }
            let _ = wilcoxon(x, Some(y), alternative, level);
            let _ = wilcoxon(partner, Some(same_length), alternative, level);
        }
    }
    let _ = median(x);
    for size in [0, 1, x.len(), usize::MAX] {
        for threshold in [
            high_threshold_performance(number, size),
            high_threshold_functional(number, size),
        ] {
            assert!((0.0..=1.0).contains(&threshold));
        }
        assert!(high_threshold_standard_error(number, size) >= 0.0);
    }
    if let Ok(mut comparison) = SequentialComparison::new(0.05, seed) {
        for v in x {
            let _ = comparison.push_control(*v);
        }
        for v in y {
            let _ = comparison.push_treatment(*v);
        }
        assert!((0.0..=1.0).contains(&comparison.p_value()));
        assert!(comparison.log_e_value().is_finite());
        assert!(
            comparison
                .superiority()
                .is_none_or(|p| (0.0..=1.0).contains(&p))
        );
    }
    let _ = SequentialComparison::new(number, seed);
    for failures in [0, x.len() as u64, seed] {
        let sides = ((failures, x.len() as u64), (y.len() as u64, seed));
        if let Ok(change) = difference_of_rates(sides.0, sides.1, number) {
            assert!(change.interval.contains(change.estimate), "{change:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_on_any_bits(x in values(false), y in values(false), number in any_value(), seed: u64) {
        call_all(&x, &y, number, seed);
    }

    #[test]
    fn nothing_panics_on_finite_values(x in values(true), y in values(true), number in any_value(), seed: u64) {
        let (before_x, before_y) = (x.clone(), y.clone());
        call_all(&x, &y, number, seed);
        let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&x), bits(&before_x));
        prop_assert_eq!(bits(&y), bits(&before_y));
    }
}
