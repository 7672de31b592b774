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

use libm::expm1;
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
    let (before, after) = (level(first..=gap)?, level(gap + 1..=last)?);
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
    let amount = |step: f64| match model.is_logarithmic {
        false => step * model.unit,
        true => before * expm1(step * model.unit),
    };
    let reach = deviation * normal_upper_quantile((1.0 - confidence) / 2.0);
    let [low, estimate, high] = [step - reach, step, step + reach].map(amount);
    Some(Effect {
        of: EffectOf::Values,
        estimate: Some(estimate).filter(|estimate| estimate.is_finite()),
        interval: (low.is_finite() && high.is_finite()).then_some(Interval { low, high }),
        confidence,
        before,
        after,
        before_failure: None,
        after_failure: None,
    })
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
