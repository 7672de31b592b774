//! The standard normal distribution, to the last digit in both tails.

use libm::{erfc, exp, log};

/// P(Z > z). Keeps its relative precision for any `z`.
pub(crate) fn upper_tail(z: f64) -> f64 {
    0.5 * erfc(z * core::f64::consts::FRAC_1_SQRT_2)
}

/// P(|Z| > |z|).
pub(crate) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() * core::f64::consts::FRAC_1_SQRT_2)
}

/// The z with P(Z > z) = p for a standard normal Z and 0 < p < 1; infinite at the ends.
///
/// Hastings' rational approximation (Abramowitz & Stegun 26.2.23, error below
/// 4.5e-4) is polished with Halley's method, which triples the digits each time.
pub fn upper_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::INFINITY;
    }
    if p >= 1.0 {
        return f64::NEG_INFINITY;
    }
    if p > 0.5 {
        return -upper_quantile(1.0 - p);
    }
    let t = (-2.0 * log(p)).sqrt();
    let mut z = t
        - (2.515_517 + t * (0.802_853 + t * 0.010_328))
            / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    for _ in 0..3 {
        let density = exp(-0.5 * z * z) * 0.398_942_280_401_432_7;
        if density <= 0.0 {
            break;
        }
        let step = (upper_tail(z) - p) / density;
        // Halley: f = tail - p, f' = -density, f''/f' = -z.
        z += step / (1.0 - 0.5 * z * step);
    }
    z
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;

    /// The relative precision of `statrs` in the tail: 5e-11 at 8.
    const TAIL: f64 = 1e-9;

    #[test]
    fn agrees_with_another_implementation() {
        let normal = Normal::standard();
        for step in -80..=360 {
            let z = f64::from(step) / 10.0;
            let expected = normal.sf(z);
            let found = upper_tail(z);
            assert!(
                (found / expected - 1.0).abs() < TAIL,
                "{z}: {found} {expected}"
            );
            let expected = 2.0 * normal.sf(z.abs());
            let found = two_sided(z);
            assert!(
                (found / expected - 1.0).abs() < TAIL,
                "{z}: {found} {expected}"
            );
        }
        for step in 1..1_000 {
            let p = f64::from(step) / 1_000.0;
            let expected = -normal.inverse_cdf(p);
            assert!((upper_quantile(p) - expected).abs() < 1e-11, "p = {p}");
        }
    }

    #[test]
    fn quantile_holds_in_the_far_tail() {
        for p in [0.3, 1e-3, 1e-20, 1e-100, 1e-300] {
            assert!(
                (upper_tail(upper_quantile(p)) / p - 1.0).abs() < 1e-12,
                "p = {p}"
            );
        }
    }

    #[test]
    fn far_tail_keeps_its_digits() {
        // R: pnorm(30, lower.tail = FALSE)
        assert!((upper_tail(30.0) / 4.906_713_927_148_187e-198 - 1.0).abs() < 1e-13);
    }
}
