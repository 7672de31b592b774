//! Estimates, p-values, and detectable differences.

use std::collections::BTreeMap;

use pinpoint_compare::{
    CompareError, Interval, MannWhitneyOptions, Method, Scratch, benjamini_hochberg_discrete,
    mann_whitney_u_with, normal_upper_quantile, pseudomedian, sign_flips,
};
use serde::{Deserialize, Serialize};

use super::explanation::{Change, FunctionChange, PartChange, Verdict};
use super::runs::Runs;
use super::worth::LEAST_SHARE;
use crate::identity::Function;

/// The greatest adjusted p-value of a difference that is certain.
const LEVEL: f64 = 0.05;

/// The chance with which a detectable difference would have been seen.
const POWER: f64 = 0.8;

/// The least part of the whole difference that functions have together when they do more than
/// exchange cost.
const LEAST_TOGETHER: f64 = 0.2;

/// The least change of the number of calls, compared with their cost, to be the cause.
const SAME_COST_PER_CALL: f64 = 0.05;

/// The most runs of two equal sides whose arrangements are all counted: more take too long, and
/// the normal approximation is good. Of unequal sides the product counts: with few runs on one,
/// the approximation is bad, however many there are on the other.
const MOST_COUNTED: usize = 12;

/// A p-value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Test {
    p: f64,
    /// The smallest that it could have been with the values found, however they are arranged.
    least: f64,
}

/// The detectable differences.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Detectable {
    /// The smallest difference that would have been seen in any of the functions tested,
    /// four times of five. Absent where there are too few runs to see one of any size.
    pub smallest: Option<f64>,
    /// The number of runs of each side, or pairs, that would see half of it; or any at all.
    pub runs_needed: usize,
    /// The number of functions tested.
    pub functions: usize,
}

impl Runs<'_> {
    /// The smallest p-value that this many runs can give, if they are compared alone.
    fn smallest_p(&self) -> f64 {
        smallest_p(self.base, self.all.len() - self.base, self.paired)
    }

    /// Returns true if there can be a p-value of at most 0.05.
    pub(super) fn are_enough(&self) -> bool {
        self.smallest_p() <= LEVEL
    }
}

/// In pairs, all differences have one sign: 2 of 2ⁿ cases. In groups, one lies wholly above
/// the other: 2 of all ways to choose it.
fn smallest_p(base: usize, experiment: usize, paired: bool) -> f64 {
    if paired {
        return (0..base).fold(2.0, |p, _| p / 2.0);
    }
    let steps = (1..=base).map(|k| k as f64 / (experiment + k) as f64);
    steps.fold(2.0, |p, step| p * step).min(1.0)
}

/// The change of a value, given for each run.
pub(super) fn change(values: &[f64], runs: &Runs) -> Result<Change, CompareError> {
    Ok(test(values, runs, &mut Scratch::new())?.0)
}

/// The change of a value, and the test of its difference, if there can be one.
fn test(
    values: &[f64],
    runs: &Runs,
    scratch: &mut Scratch,
) -> Result<(Change, Option<Test>), CompareError> {
    let (base, experiment) = values.split_at(runs.base);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut change = Change {
        base: mean(base),
        experiment: mean(experiment),
        difference: mean(experiment) - mean(base),
        estimate: None,
        interval: None,
    };
    if !runs.are_enough() {
        return Ok((change, None));
    }
    let test = if runs.paired {
        let differences: Vec<f64> = base.iter().zip(experiment).map(|(a, b)| b - a).collect();
        let shift = pseudomedian(&differences, 0.95)?;
        (change.estimate, change.interval) = (Some(shift.estimate), shift.interval);
        // Counts of samples have ties.
        let flips = sign_flips(&differences)?;
        Test {
            p: flips.p_value,
            least: flips.least,
        }
    } else {
        let options = MannWhitneyOptions::default();
        let found = mann_whitney_u_with(base, experiment, &options, scratch)?;
        change.estimate = found.shift.map(|shift| shift.estimate);
        change.interval = found.shift.and_then(|shift| shift.interval);
        of_groups(base, experiment, found.p_value, scratch)?
    };
    // All values are equal: a point.
    if change.interval.is_none() && values.iter().all(|value| *value == values[0]) {
        change.interval = Some(Interval {
            low: 0.0,
            high: 0.0,
        });
    }
    Ok((change, Some(test)))
}

/// The p-value of two groups, by all their arrangements where these can be counted: with few values
/// the approximation may be below that of any arrangement.
fn of_groups(
    base: &[f64],
    experiment: &[f64],
    approximate: f64,
    scratch: &mut Scratch,
) -> Result<Test, CompareError> {
    if base.len() * experiment.len() > MOST_COUNTED * MOST_COUNTED {
        let least = smallest_p(base.len(), experiment.len(), false);
        let p = approximate.max(least);
        return Ok(Test { p, least });
    }
    let options = MannWhitneyOptions {
        method: Method::Exact,
        confidence: None,
        ..MannWhitneyOptions::default()
    };
    let mut p_of = |base: &[f64], experiment: &[f64]| {
        let test = mann_whitney_u_with(base, experiment, &options, scratch)?;
        Ok(test.p_value)
    };
    // The sides as far apart as these values can be.
    let mut sorted = [base, experiment].concat();
    sorted.sort_unstable_by(f64::total_cmp);
    let (low, high) = sorted.split_at(base.len());
    let mut least = p_of(low, high)?;
    let (low, high) = sorted.split_at(experiment.len());
    least = least.min(p_of(high, low)?);
    let p = p_of(base, experiment)?;
    Ok(Test { p, least })
}

/// The change of each of the functions tested.
pub(super) fn changes(
    runs: &Runs,
    functions: &[Function],
    tested: &[usize],
    exact: bool,
) -> Result<Vec<FunctionChange>, CompareError> {
    let (mut scratch, mut tests) = (Scratch::new(), Vec::new());
    let mut changes = Vec::with_capacity(tested.len());
    for &function in tested {
        let (own, p) = test(&runs.values(|run| run.own[function]), runs, &mut scratch)?;
        let p = p.filter(|_| !exact);
        tests.extend(p);
        let (total, _) = test(&runs.values(|run| run.total[function]), runs, &mut scratch)?;
        let counted = runs.all.iter().all(|run| run.calls.is_some());
        let calls =
            |run: &super::runs::Run| run.calls.as_ref().map_or(0.0, |calls| calls[function]);
        let calls = match counted {
            true => Some(test(&runs.values(calls), runs, &mut scratch)?.0),
            false => None,
        };
        changes.push(FunctionChange {
            index: function,
            function: functions[function].clone(),
            own,
            total,
            calls,
            share: None,
            p: p.map(|test| test.p),
            adjusted_p: None,
            verdict: Verdict::Uncertain,
            called_by: None,
            in_diff: None,
        });
    }
    for (change, p) in changes.iter_mut().zip(adjusted(&tests)?) {
        change.adjusted_p = p;
    }
    let whole = runs.wholes().into_iter().fold(0.0, f64::max);
    for (change, function) in changes.iter_mut().zip(tested) {
        let values = runs.values(|run| run.own[*function]);
        let values = values.split_at(runs.base);
        if is_certain(&change.own, values, change.adjusted_p, exact, whole) {
            change.verdict = verdict(change, values);
        }
    }
    Ok(changes)
}

/// The p-values, adjusted for their number. Functions that were seen in a few runs only could not
/// have a small one, and do not count.
fn adjusted(tests: &[Test]) -> Result<Vec<Option<f64>>, CompareError> {
    let p_values: Vec<f64> = tests.iter().map(|test| test.p).collect();
    let least: Vec<f64> = tests.iter().map(|test| test.least).collect();
    benjamini_hochberg_discrete(&p_values, &least, LEVEL)
}

/// The findings on one of many values.
pub(super) struct TestedChange {
    pub(super) change: Change,
    pub(super) adjusted_p: Option<f64>,
    pub(super) is_certain: bool,
}

/// The changes of several values, each given for each run, that are tested together.
pub(super) fn together<'a>(
    all: impl Iterator<Item = &'a [f64]> + Clone,
    runs: &Runs,
    exact: bool,
) -> Result<Vec<TestedChange>, CompareError> {
    let (mut scratch, mut tests, mut found) = (Scratch::new(), Vec::new(), Vec::new());
    for values in all.clone() {
        let (change, p) = test(values, runs, &mut scratch)?;
        tests.extend(p.filter(|_| !exact));
        found.push(TestedChange {
            change,
            adjusted_p: None,
            is_certain: false,
        });
    }
    for (found, p) in found.iter_mut().zip(adjusted(&tests)?) {
        found.adjusted_p = p;
    }
    let whole = runs.wholes().into_iter().fold(0.0, f64::max);
    for (found, values) in found.iter_mut().zip(all) {
        let values = values.split_at(runs.base);
        found.is_certain = is_certain(&found.change, values, found.adjusted_p, exact, whole);
    }
    Ok(found)
}

/// Like [`together`], for paths in a tree, each with its level. A change shows on each level above
/// and below: as so many discoveries, it would make others certain. So a p-value is the greater one
/// of two: adjusted for all, and for those of its level alone.
pub(super) fn on_levels(
    all: &[Vec<f64>],
    levels: &[usize],
    runs: &Runs,
    exact: bool,
) -> Result<Vec<TestedChange>, CompareError> {
    let mut all_found = together(all.iter().map(Vec::as_slice), runs, exact)?;
    let mut of_levels: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, level) in levels.iter().enumerate() {
        of_levels.entry(*level).or_default().push(place);
    }
    for places in of_levels.values() {
        let values = places.iter().map(|place| all[*place].as_slice());
        for (place, of_level) in places.iter().zip(together(values, runs, exact)?) {
            let found = &mut all_found[*place];
            let p_values = found.adjusted_p.zip(of_level.adjusted_p);
            found.adjusted_p = p_values.map(|(of_all, of_level)| of_all.max(of_level));
            found.is_certain &= of_level.is_certain;
        }
    }
    Ok(all_found)
}

/// The change of each part of the whole, given its value for each run, certain ones first.
pub(super) fn part_changes(
    parts: Vec<(String, Vec<f64>)>,
    runs: &Runs,
    exact: bool,
) -> Result<Vec<PartChange>, CompareError> {
    let values = parts.iter().map(|(_, values)| values.as_slice());
    let found = together(values, runs, exact)?;
    let parts = parts.into_iter().zip(found);
    let mut changes: Vec<PartChange> = parts
        .map(|((name, _), found)| PartChange::new(name, found))
        .collect();
    sort(&mut changes);
    Ok(changes)
}

impl PartChange {
    pub(super) fn new(name: String, found: TestedChange) -> Self {
        Self {
            name,
            own: found.change,
            adjusted_p: found.adjusted_p,
            is_certain: found.is_certain,
        }
    }
}

/// Certain ones first, then by the size of the change; equal ones by name.
pub(super) fn sort(changes: &mut [PartChange]) {
    changes.sort_by(|a, b| {
        (b.is_certain.cmp(&a.is_certain))
            .then(b.own.difference.abs().total_cmp(&a.own.difference.abs()))
            .then_with(|| a.name.cmp(&b.name))
    });
}

/// Returns true if a difference is significant: by its p-value, or where values are counted by the
/// values, which differ by a part of the whole that is worth reporting.
fn is_certain(
    own: &Change,
    values: (&[f64], &[f64]),
    adjusted_p: Option<f64>,
    exact: bool,
    whole: f64,
) -> bool {
    if exact {
        lie_apart(values) && own.difference.abs() >= LEAST_SHARE * whole
    } else {
        // Single outliers may turn a mean against most runs.
        let is_one_way = own
            .estimate
            .is_none_or(|shift| shift * own.difference >= 0.0);
        is_one_way && adjusted_p.is_some_and(|p| p <= LEVEL)
    }
}

/// Returns true if the sum of functions has a significant difference, which is a part of the whole
/// one that is worth reporting.
pub(super) fn differ_together(
    functions: &[usize],
    runs: &Runs,
    exact: bool,
    whole: f64,
) -> Result<bool, CompareError> {
    let values = runs.values(|run| functions.iter().map(|function| run.own[*function]).sum());
    let (change, test) = test(&values, runs, &mut Scratch::new())?;
    let sides = values.split_at(runs.base);
    let most = runs.wholes().into_iter().fold(0.0, f64::max);
    Ok(change.difference.abs() > LEAST_TOGETHER * whole.abs()
        && is_certain(&change, sides, test.map(|test| test.p), exact, most))
}

fn lie_apart((base, experiment): (&[f64], &[f64])) -> bool {
    let range = |values: &[f64]| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        (
            low,
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        )
    };
    let (base, experiment) = (range(base), range(experiment));
    base.1 < experiment.0 || experiment.1 < base.0
}

fn verdict(change: &FunctionChange, (base, experiment): (&[f64], &[f64])) -> Verdict {
    let is_absent = |values: &[f64]| values.iter().all(|value| *value == 0.0);
    if is_absent(base) {
        return Verdict::New;
    }
    if is_absent(experiment) {
        return Verdict::Gone;
    }
    let more = change.own.difference > 0.0;
    if let Some(calls) = change.calls
        && calls.base > 0.0
        && calls.experiment > 0.0
    {
        let cost = (change.own.experiment / calls.experiment) / (change.own.base / calls.base);
        let often = calls.experiment / calls.base;
        // Of logarithms, so that the sides may be swapped.
        let [more_cost, more_often] = [cost, often].map(|ratio| libm::log(ratio).abs());
        let as_before = more_cost <= SAME_COST_PER_CALL * more_often.min(1.0);
        if as_before && (often > 1.0) == more && often != 1.0 {
            return if more {
                Verdict::CalledMoreOften
            } else {
                Verdict::CalledLessOften
            };
        }
    }
    if more {
        Verdict::Slower
    } else {
        Verdict::Faster
    }
}

/// The smallest difference that would have been seen in every function tested.
///
/// # Formula
///
/// z·s, where s is the standard error of the function's difference of means, enlarged by
/// √(π/3) for the efficiency of rank tests (Hodges & Lehmann 1956), and z = z(1 - α/2m) +
/// z(0.8) for one function that moves among m. Half of that takes four times the runs.
pub(super) fn detectable(runs: &Runs, tested: &[usize]) -> Detectable {
    let functions = tested.len();
    let level = LEVEL / functions.max(1) as f64;
    let (base, experiment) = (runs.base, runs.all.len() - runs.base);
    // Enough for one function among all to be certain.
    let enough = (2..).find(|runs_| smallest_p(*runs_, *runs_, runs.paired) <= level);
    let enough = enough.unwrap_or(usize::MAX);
    if runs.smallest_p() > level {
        return Detectable {
            smallest: None,
            runs_needed: enough,
            functions,
        };
    }
    let error = |function: &usize| {
        let values = runs.values(|run| run.own[*function]);
        let (a, b) = values.split_at(base);
        if runs.paired {
            let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
            (variance(&differences) / base as f64).sqrt()
        } else {
            (variance(a) / base as f64 + variance(b) / experiment as f64).sqrt()
        }
    };
    let largest = tested.iter().map(error).fold(0.0, f64::max);
    let z = normal_upper_quantile(level / 2.0) + normal_upper_quantile(1.0 - POWER);
    Detectable {
        smallest: Some(z * largest * (std::f64::consts::PI / 3.0).sqrt()),
        runs_needed: (4 * base.max(experiment)).max(enough),
        functions,
    }
}

fn variance(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    squares / (count - 1.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_p_is_that_of_the_extreme_case() {
        assert_eq!(smallest_p(6, 6, true), 2.0 / 64.0);
        assert_eq!(smallest_p(5, 5, true), 2.0 / 32.0);
        assert!((smallest_p(4, 4, false) - 2.0 / 70.0).abs() < 1e-15);
        assert!((smallest_p(3, 3, false) - 0.1).abs() < 1e-15);
        assert!((smallest_p(2, 7, false) - 2.0 / 36.0).abs() < 1e-15);
        assert_eq!(smallest_p(1, 1, false), 1.0);
    }
}
