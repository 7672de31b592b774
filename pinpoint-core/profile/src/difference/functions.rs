//! The comparison of the profiles of two builds, function by function.

use super::error::ExplainError;
use super::explanation::{Design, Explanation, FunctionChange, UnlistedFunctions, Verdict};
use super::options::ExplainOptions;
use super::runs::Runs;
use super::worth::LEAST_SHARE;
use super::{moved, parts, path, renamed, statistics};
use crate::collector::{COLLECTOR, gathered};
use crate::identity;
use crate::{Profile, ProfileUnit};

/// Compares the profiles of two builds, one for each run. Go's garbage collector counts as one
/// function, `(garbage collector)`, with all that it calls except the kernel, as in V8's profiles.
///
/// # Errors
///
/// [`ExplainError`].
///
/// # Cost
///
/// Proportional to the stacks of all profiles, and to the functions times the runs.
///
/// ```
/// use pinpoint_profile::{ExplainOptions, Profile, Verdict, explain};
///
/// let run = |own: u32| Profile::read(format!("main;parse {own}\nmain;print 50\n").as_bytes());
/// let base: Vec<_> = [40, 41, 42, 43, 44].into_iter().map(run).collect::<Result<_, _>>()?;
/// let experiment: Vec<_> = [60, 61, 62, 63, 64].into_iter().map(run).collect::<Result<_, _>>()?;
/// let explanation = explain(&base, &experiment, &ExplainOptions::default())?;
/// let parse = &explanation.functions[0];
/// assert_eq!((parse.function.name.as_str(), &parse.verdict), ("parse", &Verdict::Slower));
/// assert_eq!((parse.own.difference, parse.share), (20.0, Some(1.0)));
/// assert_eq!(explanation.path.last().map(|step| step.name.as_str()), Some("parse"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explain(
    base: &[Profile],
    experiment: &[Profile],
    options: &ExplainOptions,
) -> Result<Explanation, ExplainError> {
    let unit = check(base, experiment, options)?;
    let (base, experiment) = (&*gathered(base), &*gathered(experiment));
    let mut identified = identity::identify(base, experiment, &options.map);
    identified.rename(&options.same)?;
    let exact = base
        .iter()
        .chain(experiment)
        .all(|profile| profile.format.is_exact());
    let runs = Runs::new(base, experiment, &identified, options.paired);

    let count = identified.functions.len();
    let worth = |shares: Vec<f64>| -> Vec<usize> {
        (0..count)
            .filter(|function| shares[*function] >= LEAST_SHARE)
            .collect()
    };
    let listed = worth(runs.shares(|run| run.own.clone()));
    let tested = runs.tested(&listed, LEAST_SHARE);
    let mut changes = statistics::changes(&runs, &identified.functions, &tested, exact)?;
    let adjusted = changes.iter().filter(|change| change.adjusted_p.is_some());
    let counted: Vec<usize> = adjusted.map(|change| change.index).collect();
    changes.retain(|change| listed.binary_search(&change.index).is_ok());
    // A function that only calls others may be renamed, too.
    let either = |(own, total): (&f64, &f64)| own.max(*total);
    let chosen = worth(runs.shares(|run| run.own.iter().zip(&run.total).map(either).collect()));
    let neighbors = renamed::Neighbors::from_runs(&runs, &chosen);
    for change in &mut changes {
        let caller = neighbors.caller(change.index);
        change.called_by = caller.map(|caller| identified.functions[caller].name.clone());
    }
    let neighbors = neighbors.without(|function| identified.functions[function].is_nameless());
    // Nothing else becomes the collector, nor is inlined into it.
    let mut named = chosen;
    named.retain(|function| identified.functions[*function].name != COLLECTOR);
    let renamed = renamed::guesses(&runs, &named, &neighbors, exact)?;
    let whole = statistics::change(&runs.wholes(), &runs)?;
    moved::find(&mut changes, &renamed, &neighbors, |functions| {
        statistics::differ_together(functions, &runs, exact, whole.difference)
    })?;
    for change in &mut changes {
        let share = change.own.difference / whole.difference;
        change.share = share.is_finite().then_some(share);
    }
    let left = moved::left(&mut changes, &renamed, &neighbors);
    let differences: f64 = changes.iter().map(|change| change.own.difference).sum();
    let path = if changes.iter().any(FunctionChange::is_certain) {
        path::of_change(&runs, &identified.functions, &renamed, &whole)?
    } else {
        Vec::new()
    };
    let counted = if counted.is_empty() {
        &listed
    } else {
        &counted
    };
    let matched = { identified.matched.iter() }.map(|it| (&*it.base, &*it.experiment));
    let mapped = options.map.iter().map(|(old, new)| (&**old, &**new));
    let other_names: Vec<(&str, &str)> = matched.chain(mapped).collect();
    let detectable = (!exact).then(|| statistics::detectable(&runs, counted));
    let mut explanation = Explanation {
        unit,
        design: if options.paired {
            Design::Pairs
        } else {
            Design::Groups
        },
        base_runs: base.len(),
        experiment_runs: experiment.len(),
        exact,
        tested: exact || runs.are_enough(),
        whole,
        functions: changes,
        rest: UnlistedFunctions {
            functions: runs.seen() - listed.len(),
            difference: whole.difference - differences,
        },
        threads: parts::of_threads(&runs, &other_names, exact)?,
        categories: parts::of_categories(&runs, &identified.functions, exact)?,
        own_code: parts::of_own_code(&runs, &identified.functions, exact)?,
        path,
        renamed: (renamed.iter())
            .map(|guess| guess.named(&identified))
            .collect(),
        matched: identified.matched.clone(),
        detectable,
    };
    sort(&mut explanation, left, &renamed);
    Ok(explanation)
}

pub(super) fn check(
    base: &[Profile],
    experiment: &[Profile],
    options: &ExplainOptions,
) -> Result<ProfileUnit, ExplainError> {
    let first = base.first().ok_or(ExplainError::NoProfiles("base"))?;
    if experiment.is_empty() {
        return Err(ExplainError::NoProfiles("experiment"));
    }
    for (side, profiles) in [("base", base), ("experiment", experiment)] {
        if let Some(at) = profiles
            .iter()
            .position(|profile| profile.unit != first.unit)
        {
            return Err(ExplainError::UnitsDiffer {
                side,
                number: at + 1,
                found: profiles[at].unit.clone(),
                first: first.unit.clone(),
            });
        }
    }
    if options.paired && base.len() != experiment.len() {
        return Err(ExplainError::NotPairs {
            base: base.len(),
            experiment: experiment.len(),
        });
    }
    Ok(first.unit.clone())
}

/// Certain ones first, then by the part `left` of their changes; equal ones by name. A probably
/// renamed function moved by the difference of the two names.
fn sort(explanation: &mut Explanation, mut left: Vec<f64>, renamed: &[renamed::Guess]) {
    let mut order: Vec<usize> = (0..explanation.functions.len()).collect();
    let functions = &explanation.functions;
    let place = |function: usize| functions.iter().position(|it| it.index == function);
    for guess in renamed {
        let both = [guess.base, guess.experiment].map(place);
        let both = both.into_iter().flatten();
        let together: f64 = both.clone().map(|at| functions[at].own.difference).sum();
        both.for_each(|at| left[at] = together);
    }
    order.sort_by(|&a, &b| {
        let is_certain = |at: usize| functions[at].is_certain();
        (is_certain(b).cmp(&is_certain(a)))
            .then(left[b].abs().total_cmp(&left[a].abs()))
            .then_with(|| functions[a].function.name.cmp(&functions[b].function.name))
    });
    let mut place = vec![0; order.len()];
    for (to, from) in order.iter().enumerate() {
        place[*from] = to;
    }
    explanation.functions = order.iter().map(|at| functions[*at].clone()).collect();
    for function in &mut explanation.functions {
        if let Verdict::Moved { with } = &mut function.verdict {
            *with = place[*with];
        }
    }
}
