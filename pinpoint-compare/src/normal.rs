//! The standard normal distribution, to the last digit in both tails.

use libm::{erfc, exp, log};

/// P(Z > z). Keeps its relative precision however far out `z` is.
pub(crate) fn upper_tail(z: f64) -> f64 {
    0.5 * erfc(z * core::f64::consts::FRAC_1_SQRT_2)
}

/// P(|Z| > |z|).
pub(crate) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() * core::f64::consts::FRAC_1_SQRT_2)
}

/// The z with P(Z > z) = p, for 0 < p < 1; infinite at the ends.
///
/// Hastings' rational approximation (Abramowitz & Stegun 26.2.23, error below
/// 4.5e-4) is polished with Halley's method, which triples the digits each time.
pub(crate) fn upper_quantile(p: f64) -> f64 {
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
    use super::*;

    #[test]
    fn quantile_inverts_the_tail() {
        // R: qnorm(c(0.5, 0.05, 0.025, 0.005, 1e-10, 1e-300), lower.tail = FALSE)
        let known = [
            (0.5, 0.0),
            (0.05, 1.644_853_626_951_472_7),
            (0.025, 1.959_963_984_540_054),
            (0.005, 2.575_829_303_548_901),
            (1e-10, 6.361_340_902_404_056),
        ];
        for (p, z) in known {
            assert!(
                (upper_quantile(p) - z).abs() <= 4e-15 * (1.0 + z),
                "p = {p}: {}",
                upper_quantile(p)
            );
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
