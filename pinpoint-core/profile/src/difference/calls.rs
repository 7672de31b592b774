//! Changes of calls, by caller and callee.

use hashbrown::HashMap;

use super::runs::{Run, Runs};
use super::statistics::{TestedChange, together};
use super::worth::Worth;
use super::{
    CallerPathChange, Change, ExplainError, ExplainOptions, Grouping, PartChange, PathChange,
};
use super::{caller_paths, groups, stack_paths};
use crate::collector::gathered;
use crate::costs::outermost;
use crate::stack_tree::StackTree;
use crate::{Profile, identity};

/// At most this many pairs of caller and callee: those with the greatest parts of a side.
const MAX_CALLS: usize = 10_000;

/// The change of a function, with all that it called, when it was called by another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallChange {
    /// The function that calls: its place in [`StackTree::functions`].
    pub caller: usize,
    /// The function that is called.
    pub callee: usize,
    /// The cost there. Of nested calls, the outermost counts.
    pub total: Change,
    /// The p-value of its difference, adjusted for all pairs of caller and callee. Absent
    /// where there are too few runs, and where values are exact.
    pub adjusted_p: Option<f64>,
}

/// The stacks of two builds, and their changes from caller to callee.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StackComparison {
    /// The stacks of all runs, with means, without those in which nothing ran.
    pub tree: StackTree,
    /// For each profile, first the base's and then the experiment's, the function of each of
    /// its frames: a place in [`StackTree::functions`].
    pub functions_of: Vec<Vec<u32>>,
    /// Pairs of caller and callee with at least 0.1 % of a side, the greatest first.
    pub calls: Vec<CallChange>,
    /// Paths of the tree with at least 0.1 % of a side, but not more than 5,000, those with the
    /// greatest parts; in the order of the tree. A profile that counts calls has no stacks, and
    /// so no paths.
    pub paths: Vec<PathChange>,
    /// The same from the inside out: the own costs of functions on each path of callers, up to 32
    /// callers outward. Paths with at least 0.1 % of a side, but not more than 5,000, those with
    /// the greatest parts; each after the one within it.
    pub caller_paths: Vec<CallerPathChange>,
    /// The changes of groups of functions, for each grouping.
    pub groups: Vec<(Grouping, Vec<PartChange>)>,
}

/// Compares the stacks of two builds, as [`explain`](super::explain) compares functions, by the
/// places from which they are called.
///
/// # Errors
///
/// Those of [`explain`](super::explain).
///
/// # Cost
///
/// Proportional to the stacks of all profiles, and to the pairs of functions and the paths times
/// the runs.
pub fn compare_stacks(
    base: &[Profile],
    experiment: &[Profile],
    options: &ExplainOptions,
) -> Result<StackComparison, ExplainError> {
    super::functions::check(base, experiment, options)?;
    let (base, experiment) = (&*gathered(base), &*gathered(experiment));
    let mut identified = identity::identify(base, experiment, &options.map);
    identified.rename(&options.same)?;
    let mut all = base.iter().chain(experiment);
    let exact = all.all(|profile| profile.format.is_exact());
    let runs = Runs::new(base, experiment, &identified, options.paired);
    let calls = changes(&runs, exact)?;
    let group = |grouping| {
        let found = groups::of_functions(&runs, &identified.functions, grouping, exact);
        found.map(|groups| (grouping, groups))
    };
    let groups = Grouping::ALL
        .into_iter()
        .map(group)
        .collect::<Result<_, _>>()?;
    let tree = StackTree::from_profiles(base, experiment, &identified).without(&identified.idle);
    let paths = stack_paths::changes(&tree, &runs, exact)?;
    let caller_paths = caller_paths::changes(&runs, exact)?;
    Ok(StackComparison {
        tree,
        functions_of: identified.of,
        calls,
        paths,
        caller_paths,
        groups,
    })
}

/// A pair of caller and callee: the cost over the runs of each side, the pair, and the cost of each
/// run.
type CallCosts<'a> = ([f64; 2], (usize, usize), &'a Vec<f64>);

fn changes(runs: &Runs, exact: bool) -> Result<Vec<CallChange>, ExplainError> {
    let mut ids: HashMap<(usize, usize), usize> = HashMap::new();
    let mut values: Vec<Vec<f64>> = Vec::new();
    for (place, run) in runs.all.iter().enumerate() {
        let mut add = |edge: usize, weight: f64| {
            if values.len() <= edge {
                values.resize_with(edge + 1, || vec![0.0; runs.all.len()]);
            }
            values[edge][place] += weight;
        };
        weigh(run, &mut ids, &mut add);
    }
    let worth = Worth::from_runs(runs);
    let seen = ids.into_iter().filter_map(|(pair, edge)| {
        let values = values.get(edge)?;
        Some((worth.sums(values), pair, values))
    });
    let mut tested: Vec<_> = seen.filter(|(sums, ..)| worth.is_tested(*sums)).collect();
    let share = |(sums, ..): &CallCosts| worth.share(*sums);
    tested.sort_by(|a, b| share(b).total_cmp(&share(a)).then(a.1.cmp(&b.1)));
    tested.truncate(MAX_CALLS);

    let found = together(
        tested.iter().map(|(.., values)| values.as_slice()),
        runs,
        exact,
    )?;
    let change = |((_, (caller, callee), _), found): (CallCosts, TestedChange)| CallChange {
        caller,
        callee,
        total: found.change,
        adjusted_p: found.adjusted_p,
    };
    let listed = tested.into_iter().zip(found);
    let listed = listed.filter(|((sums, ..), _)| worth.is_listed(*sums));
    Ok(listed.map(change).collect())
}

/// Adds the cost of one run for each pair of caller and callee.
fn weigh(run: &Run, ids: &mut HashMap<(usize, usize), usize>, add: &mut impl FnMut(usize, f64)) {
    let mut id = |pair| {
        let next = ids.len();
        *ids.entry(pair).or_insert(next)
    };
    if run.calls.is_some() {
        for edge in run.counted_calls() {
            if edge.caller != edge.callee {
                add(id((edge.caller, edge.callee)), edge.weight);
            }
        }
        return;
    }
    let edges: Vec<Option<usize>> = (0..run.below.len())
        .map(|stack| {
            let (caller, callee) = (run.function(run.parent(stack))?, run.function(stack)?);
            (caller != callee).then(|| id((caller, callee)))
        })
        .collect();
    let edge = |stack: usize| edges.get(stack).copied().flatten();
    outermost(run.profile, edge, |stack, edge| add(edge, run.below[stack]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(text: [&str; 2]) -> Vec<(String, f64, f64)> {
        let [base, experiment] = text.map(|text| vec![Profile::read(text.as_bytes()).unwrap(); 6]);
        let compared = compare_stacks(&base, &experiment, &ExplainOptions::default()).unwrap();
        let name = |function: usize| compared.tree.functions[function].name.as_str();
        let row = |call: &CallChange| {
            let pair = format!("{} {}", name(call.caller), name(call.callee));
            (pair, call.total.base, call.total.experiment)
        };
        compared.calls.iter().map(row).collect()
    }

    #[test]
    fn functions_of_one_module_or_file_are_a_group() {
        let run = |own: u32| {
            let frames = |file: &str| format!(r#"{{"name": "{file}", "file": "{file}"}}"#);
            let text = format!(
                r#"{{"shared": {{"frames": [{}, {}, {}]}}, "profiles": [{{"type": "sampled",
                "unit": "none", "startValue": 0, "samples": [[0], [1], [2]],
                "weights": [{own}, 5, 1]}}]}}"#,
                frames("https://a.example/one.js"),
                frames("https://a.example/two.js"),
                frames("/src/local.c"),
            );
            vec![Profile::read(text.as_bytes()).unwrap(); 6]
        };
        let compared = compare_stacks(&run(3), &run(7), &ExplainOptions::default()).unwrap();
        let groups = |wanted: Grouping| -> Vec<(String, f64, bool)> {
            let found = compared.groups.iter().find(|(it, _)| *it == wanted);
            let rows = found.unwrap().1.iter();
            rows.map(|it| (it.name.clone(), it.own.difference, it.is_certain))
                .collect()
        };
        let row = |name: &str, difference, is_certain| (name.to_owned(), difference, is_certain);
        assert_eq!(
            groups(Grouping::Domain),
            [row("a.example", 4.0, true), row("", 0.0, false)]
        );
        assert_eq!(groups(Grouping::File).len(), 3);
        assert_eq!(groups(Grouping::Url)[0].0, "https://a.example/one.js");
        let sum = |wanted| groups(wanted).iter().map(|it| it.1).sum::<f64>();
        for grouping in Grouping::ALL {
            assert!((sum(grouping) - 4.0).abs() < 1e-9, "{grouping:?}");
        }
    }

    #[test]
    fn each_sample_counts_once_for_a_pair_of_functions() {
        let found = compared(["m;f;g;f;g 3\nm;g 2\n", "m;f;g;f;g 4\nm;g 2\n"]);
        let expected = [
            ("f g", 3.0, 4.0),
            ("g f", 3.0, 4.0),
            ("m f", 3.0, 4.0),
            ("m g", 2.0, 2.0),
        ];
        let mut found_sorted = found.clone();
        found_sorted.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = expected.map(|(pair, base, experiment)| (pair.to_owned(), base, experiment));
        assert_eq!(found_sorted, expected);
        assert_eq!(found.last().map(|row| row.0.as_str()), Some("m g"));
    }

    #[test]
    fn counted_calls_are_taken_as_they_are() {
        let counted = |inside: u32| {
            format!(
                "events: Ir\nfl=a.c\nfn=main\n1 10\ncfn=hash\ncalls=2 5\n1 {inside}\nfn=hash\n5 {inside}\ntotals: {}\n",
                10 + inside
            )
        };
        let found = compared([&counted(100), &counted(120)]);
        assert_eq!(found, [("main hash".to_owned(), 100.0, 120.0)]);
    }
}
