//! Adjusted p-values against the definition, and against R.

use pinpoint_compare::{CompareError, adjusted_p_values};
use proptest::prelude::*;

/// The definition, without any care for cost: of all thresholds at which this one
/// would be found, the smallest rate of false discoveries.
fn by_definition(p_values: &[f64]) -> Vec<f64> {
    let m = p_values.len() as f64;
    let rate_at = |threshold: f64| {
        let found = p_values.iter().filter(|p| **p <= threshold).count() as f64;
        m * threshold / found
    };
    (p_values.iter())
        .map(|p| {
            (p_values.iter())
                .filter(|threshold| *threshold >= p)
                .map(|threshold| rate_at(*threshold))
                .fold(1.0, f64::min)
        })
        .collect()
}

#[test]
fn as_r_adjusts_them() {
    // p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH") and
    // p.adjust(c(0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205), "BH").
    let even = adjusted_p_values(&[0.05, 0.01, 0.03, 0.04, 0.02]).unwrap();
    assert!(even.iter().all(|p| (p - 0.05).abs() < 1e-15), "{even:?}");
    let p_values = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205];
    let expected = [
        0.008,
        0.032,
        0.0672,
        0.0672,
        0.0672,
        0.08,
        0.592 / 7.0,
        0.205,
    ];
    for (got, expected) in adjusted_p_values(&p_values).unwrap().iter().zip(expected) {
        assert!((got - expected).abs() < 1e-15, "{got} {expected}");
    }
    assert_eq!(adjusted_p_values(&[0.3]), Ok(vec![0.3]));
    assert_eq!(adjusted_p_values(&[]), Ok(Vec::new()));
}

#[test]
fn what_is_no_probability_is_refused_with_its_place() {
    for value in [-0.1, 1.1, f64::INFINITY] {
        let error = adjusted_p_values(&[0.5, value]).unwrap_err();
        let expected = CompareError::NotAProbability {
            argument: "p_values",
            index: 1,
            value,
        };
        assert_eq!(error, expected);
    }
    assert!(adjusted_p_values(&[f64::NAN]).is_err());
}

proptest! {
    #[test]
    fn the_definition_holds_in_any_order(
        p_values in prop::collection::vec(prop_oneof![0.0..=1.0, Just(0.01), Just(0.0), Just(1.0)], 0..40),
    ) {
        let adjusted = adjusted_p_values(&p_values).unwrap();
        for ((adjusted, expected), p) in adjusted.iter().zip(by_definition(&p_values)).zip(&p_values) {
            prop_assert!((adjusted - expected).abs() < 1e-12, "{adjusted} {expected}");
            prop_assert!(adjusted >= p && *adjusted <= 1.0);
        }
    }
}
