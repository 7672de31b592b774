//! The size of a change of values, from the runs next to it.
//!
//! Runs far away from a change may be on another level, by changes too small or too few runs
//! to be found. So the step is that between the levels of the *nearest* runs on both sides,
//! as many as it takes for its interval to mean something:
//!
//! ```text
//! level of others |        level before | level after      | level of others
//! ·  · · ·    · · | ·  · · · · ·  · · · | · ·· ·   · ·   · | · · ·  · ·
//!                               enough runs on each side
//! ```
//!
//! Memory, drift, bots and the scale on which values scatter alike are those of the search itself
//! (see `values`): an interval of runs taken one by one would be too wide or too narrow for values
//! that depend on their neighbors in time, and contradict the probability of the change.

use std::ops::RangeInclusive;

use libm::{exp, expm1};
use pinpoint_compare::{Interval, median, normal_upper_quantile};

use super::runs::Runs;
use super::tuning::{EFFECT_PRECISION, EFFECT_RUNS, LIMIT_VARIANCE};
use super::values::{Model, Setting};
use crate::outcome::{Effect, EffectOf};

/// The effect of the change in a gap; none where there are too few values to show it. `setting` has
/// the other changes.
///
/// Cost: that of two analyses.
pub(crate) fn of_values(
    runs: &Runs,
    setting: Setting<'_>,
    gap: usize,
    confidence: f64,
) -> Option<Effect> {
    let sides = setting.sides(gap);
    let enough = enough(runs, setting, gap, confidence)?;
    let [first, last] = nearest(runs, &sides, enough);
    let level = |sites| median(&runs.of(&sites));
    let medians = [level(first..=gap)?, level(gap + 1..=last)?];
    // Those further away may be on other levels.
    let mut changes = setting.changes.to_vec();
    changes.extend((first > *sides[0].start()).then(|| first - 1));
    changes.extend((last < *sides[1].end()).then_some(last));
    changes.sort_unstable();
    let setting = Setting {
        changes: &changes,
        ..setting
    };
    let (model, step, deviation) = step(runs, setting, gap)?;
    let reach = deviation * normal_upper_quantile((1.0 - confidence) / 2.0);
    let steps = [step - reach, step, step + reach].map(|step| step * model.unit);
    let (levels, [low, estimate, high]) = levels(medians, steps, model.is_logarithmic);
    Some(Effect {
        of: EffectOf::Values,
        estimate: Some(estimate).filter(|estimate| estimate.is_finite()),
        interval: (low.is_finite() && high.is_finite()).then_some(Interval { low, high }),
        confidence,
        before: levels[0],
        after: levels[1],
        adjusted: levels != medians,
        before_failure: None,
        after_failure: None,
    })
}

/// The levels on both sides, and the amounts of these steps from the older one: the low end, the
/// estimate and the high end.
///
/// The levels are the medians, if their difference is in the interval. Else most runs of the two
/// sides met different states of the machine, which the steps leave out, and so must the levels: they
/// lie as far apart as the estimate, around the middle of the medians.
fn levels(
    [before, after]: [f64; 2],
    steps: [f64; 3],
    is_logarithmic: bool,
) -> ([f64; 2], [f64; 3]) {
    let amounts = |before: f64| {
        steps.map(|step| match is_logarithmic {
            false => step,
            true => before * expm1(step),
        })
    };
    let of_medians = amounts(before);
    let [low, step, high] = of_medians;
    if !step.is_finite() || (low..=high).contains(&(after - before)) {
        return ([before, after], of_medians);
    }
    let before = match is_logarithmic {
        false => f64::midpoint(before, after) - step / 2.0,
        // The middle on the scale of the logarithms: values there are positive.
        true => before.sqrt() * after.sqrt() * exp(-steps[1] / 2.0),
    };
    let amounts = amounts(before);
    ([before, before + amounts[1]], amounts)
}

/// The step in a gap and its standard deviation, in units of the model.
fn step<'a>(runs: &'a Runs, setting: Setting<'a>, gap: usize) -> Option<(Model<'a>, f64, f64)> {
    let model = Model::likelier(runs, setting)?;
    let with_memory = model.noises_with_memory();
    let fits = model.fits(&model.noises(&with_memory));
    let (step, deviation) = model.step(&fits, gap)?;
    Some((model, step, deviation))
}

/// The values on each side whose interval is narrow compared to the step that all runs show.
fn enough(runs: &Runs, setting: Setting<'_>, gap: usize, confidence: f64) -> Option<usize> {
    let (model, step, _) = step(runs, setting, gap)?;
    let reach = normal_upper_quantile((1.0 - confidence) / 2.0) / EFFECT_PRECISION;
    let ratio = reach * model.noise.scale / step;
    let enough = 2.0 * LIMIT_VARIANCE * ratio * ratio;
    Some(EFFECT_RUNS.max(enough.min(runs.values.len() as f64) as usize))
}

/// The first and the last site such that both sides of a gap have at least this many values,
/// or all of theirs.
fn nearest(runs: &Runs, [before, after]: &[RangeInclusive<usize>; 2], enough: usize) -> [usize; 2] {
    let has_enough = |sites: RangeInclusive<usize>| runs.of(&sites).len() >= enough;
    let first = (before.clone().rev()).find(|first| has_enough(*first..=*before.end()));
    let last = (after.clone()).find(|last| has_enough(*after.start()..=*last));
    [
        first.unwrap_or(*before.start()),
        last.unwrap_or(*after.end()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_that_agree_with_the_step_are_the_levels() {
        let (levels, amounts) = levels([10.0, 12.1], [1.5, 2.0, 2.5], false);
        assert_eq!((levels, amounts), ([10.0, 12.1], [1.5, 2.0, 2.5]));
    }

    #[test]
    fn levels_leave_out_what_the_machine_added_to_the_medians() {
        // Most newer runs met a machine that was faster by a tenth.
        let (found, amounts) = levels([1.268, 1.265], [0.11, 0.136, 0.16], false);
        assert_eq!(amounts, [0.11, 0.136, 0.16]);
        assert!((found[0] - 1.1985).abs() < 1e-12 && (found[1] - 1.3345).abs() < 1e-12);

        let (found, [low, estimate, high]) = levels([8.0, 8.0], [0.05, 0.1, 0.15], true);
        assert!((found[1] / found[0] - exp(0.1)).abs() < 1e-12, "{found:?}");
        assert!((found[0] * found[1] - 64.0).abs() < 1e-9, "{found:?}");
        assert!((found[1] - found[0] - estimate).abs() < 1e-12);
        assert!(low < estimate && estimate < high);
    }

    #[test]
    fn a_step_beyond_all_numbers_leaves_the_medians() {
        let (found, _) = levels([1e308, 1.0], [800.0, 900.0, 1_000.0], true);
        assert_eq!(found, [1e308, 1.0]);
    }
}
