//! The largest change that the runs of a search do not exclude, where it found none.

use std::f64::consts::FRAC_1_SQRT_2;

use libm::{erfc, expm1, sinh};
use pinpoint_compare::{Direction, normal_upper_quantile};

use super::runs::Runs;
use super::tuning::{MODEL_ERROR, QUARTILES};
use super::values::{Model, Setting, median};
use crate::outcome::LargestChange;

/// The largest change for the worse that may be there although none was found; none where the
/// values are too few, or all equal.
///
/// It is the upper end of the interval of the step in the gap where that is highest, so that
/// it holds wherever the change is. A step for the better is not considered: a search ends the
/// sooner the less a change for the worse shows, and would claim too much of the step then
/// (Read, Journal of Physics G 28, 2002, on limits like this).
pub(crate) fn largest_change(
    runs: &Runs,
    setting: Setting<'_>,
    confidence: f64,
) -> Option<LargestChange> {
    let model = Model::likelier(runs, setting)?;
    let values = &runs.values;
    if values.windows(2).all(|pair| pair[0].value == pair[1].value) {
        return None;
    }
    let with_memory = model.noises_with_memory();
    let fits = model.fits(&model.noises(&with_memory));
    let outside = (1.0 - confidence) * MODEL_ERROR;
    let mut most = 0.0_f64;
    for gap in (0..setting.sites - 1).filter(|gap| setting.prior[*gap] > 0.0) {
        let (mean, deviation) = model.step(&fits, gap)?;
        let bound = |mean: f64, outside: f64| mean + deviation * normal_upper_quantile(outside);
        let above_zero = |mean: f64| outside * 0.5 * erfc(-mean / deviation * FRAC_1_SQRT_2);
        most = most.max(match setting.direction {
            Direction::Unknown => bound(mean.abs(), outside / 2.0),
            Direction::Up => bound(mean, above_zero(mean)),
            Direction::Down => bound(-mean, above_zero(-mean)),
        });
    }
    let mut good: Vec<f64> = (values.iter())
        .filter(|value| value.site == 0)
        .map(|value| value.value)
        .collect();
    let level = (!good.is_empty()).then(|| median(&mut good).abs())?;
    let amount = |size: f64| match (model.is_logarithmic, setting.direction) {
        (false, _) => size * model.unit,
        (true, Direction::Down) => -level * expm1(-size * model.unit),
        (true, _) => level * expm1(size * model.unit),
    };
    let range = model.noise.scale * QUARTILES * model.unit;
    let largest = LargestChange {
        amount: amount(most),
        relative: Some(amount(most) / level).filter(|relative| relative.is_finite()),
        confidence,
        scatter: if model.is_logarithmic {
            2.0 * level * sinh(range / 2.0)
        } else {
            range
        },
    };
    (largest.amount.is_finite() && largest.scatter.is_finite()).then_some(largest)
}
