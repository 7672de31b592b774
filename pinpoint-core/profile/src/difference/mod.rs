//! The differences between the profiles of two builds, and their certainty.
//!
//! Each run of a side gives one profile. For each function, its own cost is compared over the runs:
//! in pairs by Wilcoxon's signed-rank test, which gives the pseudomedian of the differences and its
//! interval; else by Mann and Whitney's, with the shift of Hodges and Lehmann. Functions with at
//! least 0.1 % of a side are listed. These and all others that cost as much over all runs are
//! tested, and their p-values adjusted for their number (Benjamini and Hochberg): a difference with
//! an adjusted p of at most 0.05 is *certain*, so that of two profiles of the same build a function
//! is named in one comparison of twenty at most. Where too few runs cannot give such a p, none is
//! given. Functions that were seen in a few runs only, as most of a profiler with a hundred samples
//! a second are, cannot have a small p-value and do not count among the many (Tarone; Gilbert).
//!
//! Shares come from means, which add up: the own differences of all functions are the
//! whole difference.
//!
//! Threads, by their names, and categories of costs are compared in the same way (`parts.rs`), and
//! so are, for pictures, the paths of the call tree (`stack_paths.rs`) and the callers of a
//! function (`caller_paths.rs`), and the entries of timelines (`entries.rs`).
//!
//! Go's garbage collector counts as one function (`collector.rs`).
//!
//! Cost that a function gains and its callees lose, or the other way round, is *moved*: that is the
//! effect of inlining, and not a change.

mod caller_paths;
mod calls;
mod entries;
mod error;
mod groups;
mod moved;
mod options;
mod parts;
mod path;
mod renamed;
mod runs;
mod stack_paths;
mod statistics;
mod thread_name;
mod worth;

use pinpoint_compare::Interval;
use serde::{Deserialize, Serialize};

pub use caller_paths::CallerPathChange;
pub use calls::{CallChange, StackComparison, compare_stacks};
pub use entries::{
    EntryComparison, EntryGroup, EntryGroups, EntryKind, EntryTrack, compare_entries,
};
pub use error::ExplainError;
pub use groups::Grouping;
pub use options::ExplainOptions;
pub use renamed::RenameGuess;
pub use stack_paths::PathChange;
pub use statistics::Detectable;

use super::collector::{COLLECTOR, gathered};
use super::identity::{self, Function};
use super::{DiffMatch, PlaceMatch, Profile, ProfileUnit};
use runs::Runs;

/// The design of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Pairs of runs.
    Pairs,
    /// Two groups of runs.
    Groups,
}

/// A value on both sides, and its difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The mean of the base's runs.
    pub base: f64,
    /// The mean of the experiment's runs.
    pub experiment: f64,
    /// The difference of the means, which adds up.
    pub difference: f64,
    /// The pseudomedian of the differences, or the shift.
    pub estimate: Option<f64>,
    /// Its 95 % interval, if there are enough runs for one.
    pub interval: Option<Interval>,
}

/// The verdict on a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Verdict {
    /// It takes more.
    Slower,
    /// It takes less.
    Faster,
    /// It takes more because it is called more often.
    CalledMoreOften,
    /// It takes less because it is called less often.
    CalledLessOften,
    /// Only the experiment has it.
    New,
    /// Only the base has it.
    Gone,
    /// Others lost the cost that it gained, or the other way round.
    Moved {
        /// The index in [`Explanation::functions`] of the other one, or of the one with which all
        /// others exchange. Of that one, the index of the greatest of these.
        with: usize,
    },
    /// Its difference may be chance.
    Uncertain,
}

/// The change of one function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionChange {
    /// Its place in the [`StackTree::functions`](super::StackTree::functions) of the same
    /// profiles and options. It is not a part of the document.
    #[serde(skip)]
    pub index: usize,
    /// The function.
    pub function: Function,
    /// Its own cost.
    pub own: Change,
    /// Its cost with all that it called.
    pub total: Change,
    /// The number of calls, where they are counted.
    pub calls: Option<Change>,
    /// Its own difference as a part of the whole difference. Absent without one.
    pub share: Option<f64>,
    /// The p-value of its own difference. Absent where there are too few runs for one, and where
    /// values are exact.
    pub p: Option<f64>,
    /// The same, adjusted for all functions that were tested together. Absent, too, where the
    /// function can have no small p-value, and is not one of these: where it was seen in too few
    /// runs, or too many of its values are ties. Where all are ties, [`p`](Self::p) is 1. Between
    /// unpaired runs, ties count only while the product of both numbers of runs is at most 144.
    pub adjusted_p: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The function that most often calls it: in the experiment, or in the base if it is
    /// gone.
    pub called_by: Option<String>,
    /// The place where the commit that is explained changes it; see
    /// [`SourceDiff::mark`](super::SourceDiff::mark). Absent where it does not, and where no commit
    /// is known.
    pub in_diff: Option<DiffMatch>,
}

impl FunctionChange {
    /// Its difference is certain, and is not only moved.
    pub fn is_certain(&self) -> bool {
        !matches!(self.verdict, Verdict::Uncertain | Verdict::Moved { .. })
    }
}

/// All functions that are too small to be listed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// Their number.
    pub functions: usize,
    /// Their own differences, added up.
    pub difference: f64,
}

/// The change of a part of the whole: of the threads with one name, or of a
/// [category](super::CostCategory).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartChange {
    /// The name of the thread, or of the category. Threads whose names differ in
    /// numbers alone, such as those of a pool, are one, without the numbers.
    pub name: String,
    /// The own costs of the functions there.
    pub own: Change,
    /// The p-value of its difference, adjusted for all threads or categories. Absent where
    /// there are too few runs, or it was seen in too few of them, and where values are exact.
    pub adjusted_p: Option<f64>,
    /// The difference is significant.
    pub is_certain: bool,
}

/// A function on the path of the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathStep {
    /// Its name.
    pub name: String,
    /// The difference of its cost on this path, with all that it called.
    pub difference: f64,
    /// The 95 % interval of that, if there are enough runs for one. Absent, too, where calls are
    /// counted, since there are no paths then.
    #[serde(default)]
    pub interval: Option<Interval>,
}

/// The differences between the profiles of two builds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The unit of all values.
    pub unit: ProfileUnit,
    /// The design of the comparison.
    pub design: Design,
    /// Runs of the base.
    pub base_runs: usize,
    /// Runs of the experiment.
    pub experiment_runs: usize,
    /// The values are counted, so that any difference is one of the builds.
    pub exact: bool,
    /// There are enough runs for p-values.
    pub tested: bool,
    /// The whole cost, without idle time.
    pub whole: Change,
    /// All functions with at least 0.1 % of a side: certain ones first, and then those with the
    /// greatest differences. Cost that a new function took over from its callers and callees, or
    /// one that is gone left to them, does not count; for a probably renamed function, the
    /// difference of the two names counts.
    pub functions: Vec<FunctionChange>,
    /// The others.
    pub rest: Rest,
    /// All threads, certain ones first: their differences add up to the whole. Empty where the
    /// profiles do not name them.
    #[serde(default)]
    pub threads: Vec<PartChange>,
    /// The categories of costs, by the names of [`CostCategory`](super::CostCategory). Idle time is
    /// one, too, and all others add up to the whole.
    #[serde(default)]
    pub categories: Vec<PartChange>,
    /// The program's own functions whose cost, with all that they call of libraries, the runtime
    /// and the kernel, moved for certain. Empty where calls are counted.
    #[serde(default)]
    pub own_code: Vec<PartChange>,
    /// From the outermost function into the one that has most of the whole difference, as
    /// long as one has 60 % of it. Empty when no function is certain.
    pub path: Vec<PathStep>,
    /// Functions of one side that may be the same under another name.
    pub renamed: Vec<RenameGuess>,
    /// Programs, libraries and source files of the base that are taken for others of the
    /// experiment, since they have the same functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<PlaceMatch>,
    /// The detectable differences. Absent where values are exact.
    pub detectable: Option<Detectable>,
}

impl Explanation {
    /// The functions whose difference is certain.
    pub fn certain(&self) -> impl Iterator<Item = &FunctionChange> {
        self.functions
            .iter()
            .filter(|function| function.is_certain())
    }
}

/// The least part of a side that a function has to have to be tested.
const LEAST_SHARE: f64 = 0.001;

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
        rest: Rest {
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

fn check(
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
