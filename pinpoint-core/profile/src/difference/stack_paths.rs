//! Changes of each path of the tree of all runs' stacks.

use hashbrown::HashMap;
use pinpoint_compare::CompareError;

use super::explanation::Change;
use super::runs::Runs;
use super::statistics::on_levels;
use super::worth::Worth;
use crate::stack_tree::StackTree;

/// At most this many paths: those with the greatest parts of a side.
const MAX_STACK_PATHS: usize = 5000;

/// The change of a path of the tree of all stacks: of a function where it was called in this way,
/// from the outermost one.
#[derive(Clone, Debug, PartialEq)]
pub struct PathChange {
    /// The stack: its place in [`StackTree::nodes`].
    pub stack: usize,
    /// The cost there with all that was called.
    pub total: Change,
    /// The own cost there.
    pub own: Change,
    /// The p-value of the total's difference, adjusted for all paths that were tested together,
    /// and for those of its depth: the greater one. Absent where there are too few runs, or it was
    /// seen in too few of them, and where values are exact.
    pub adjusted_p: Option<f64>,
    /// The total's difference is significant.
    pub is_certain: bool,
}

/// The paths with at least 0.1 % of a side, in the order of the tree. As of functions, all that
/// have as much over all runs are tested. None where calls are counted, as there are no stacks.
pub(super) fn changes(
    tree: &StackTree,
    runs: &Runs,
    exact: bool,
) -> Result<Vec<PathChange>, CompareError> {
    if runs.all.iter().any(|run| run.calls.is_some()) {
        return Ok(Vec::new());
    }
    let tested = tested(tree, runs);
    let values = Values::from_stacks(tree, runs, tested.iter().map(|(stack, _)| *stack));
    let mut depths = vec![0; tree.nodes.len()];
    for (stack, node) in tree.nodes.iter().enumerate().skip(1) {
        depths[stack] = depths[node.parent] + 1;
    }
    let levels: Vec<usize> = tested.iter().map(|(stack, _)| depths[*stack]).collect();
    let totals = on_levels(&values.total, &levels, runs, exact)?;
    let listed = tested.into_iter().zip(totals).zip(&values.own);
    listed
        .filter(|(((_, is_listed), _), _)| *is_listed)
        .map(|(((stack, _), total), own)| {
            Ok(PathChange {
                stack,
                total: total.change,
                own: super::statistics::change(own, runs)?,
                adjusted_p: total.adjusted_p,
                is_certain: total.is_certain,
            })
        })
        .collect()
}

/// The stacks that are tested together, each with true when it is listed. Where one is tested, so
/// is its caller.
fn tested(tree: &StackTree, runs: &Runs) -> Vec<(usize, bool)> {
    let worth = Worth::from_runs(runs);
    let (base, experiment) = (runs.base as f64, (runs.all.len() - runs.base) as f64);
    let totals = tree.totals().into_iter();
    let sums: Vec<[f64; 2]> = totals
        .map(|[before, after]| [before * base, after * experiment])
        .collect();
    let mut stacks: Vec<usize> = (1..sums.len())
        .filter(|stack| worth.is_tested(sums[*stack]))
        .collect();
    let greatest = |stack: &usize| worth.share(sums[*stack]);
    stacks.sort_by(|a, b| greatest(b).total_cmp(&greatest(a)).then(a.cmp(b)));
    stacks.truncate(MAX_STACK_PATHS);
    stacks.sort_unstable();
    // A caller has as much as its callee at least, and stands before it, unless a profile has
    // negative counts.
    let mut has_callers = vec![false; tree.nodes.len()];
    has_callers[0] = true;
    stacks.retain(|stack| {
        has_callers[*stack] = has_callers[tree.nodes[*stack].parent];
        has_callers[*stack]
    });
    let pairs = stacks.into_iter();
    pairs
        .map(|stack| (stack, worth.is_listed(sums[stack])))
        .collect()
}

/// The cost of each run on each of some paths.
struct Values {
    total: Vec<Vec<f64>>,
    own: Vec<Vec<f64>>,
}

impl Values {
    /// The costs of these stacks of the tree, callers before those that they call.
    fn from_stacks(tree: &StackTree, runs: &Runs, stacks: impl Iterator<Item = usize>) -> Self {
        // Paths are counted from 1: 0 is the empty one.
        let mut paths: HashMap<usize, u32> = HashMap::from([(0, 0)]);
        let mut called: HashMap<(u32, usize), u32> = HashMap::new();
        for stack in stacks {
            let node = &tree.nodes[stack];
            if let Some(caller) = paths.get(&node.parent).copied() {
                let path = paths.len() as u32;
                paths.insert(stack, path);
                called.insert((caller, node.function), path);
            }
        }
        let mut values = Self {
            total: vec![vec![0.0; runs.all.len()]; paths.len() - 1],
            own: vec![vec![0.0; runs.all.len()]; paths.len() - 1],
        };
        for (place, run) in runs.all.iter().enumerate() {
            let mut of_stacks = vec![None; run.below.len()];
            of_stacks[0] = Some(0);
            for stack in 1..of_stacks.len() {
                let caller = of_stacks[run.parent(stack)].zip(run.function(stack));
                let Some(path) = caller.and_then(|it| called.get(&it).copied()) else {
                    continue;
                };
                of_stacks[stack] = Some(path);
                values.total[path as usize - 1][place] += run.below[stack];
            }
            for sample in run.busy_samples() {
                if let Some(path @ 1..) = of_stacks[sample.stack.0 as usize] {
                    values.own[path as usize - 1][place] += sample.weight;
                }
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExplainOptions, Profile, compare_stacks};

    fn paths(base: &[String], experiment: &[String]) -> Vec<(String, PathChange)> {
        let [base, experiment] = [base, experiment].map(|texts| -> Vec<Profile> {
            let read = |text: &String| Profile::read(text.as_bytes()).unwrap();
            texts.iter().map(read).collect()
        });
        let compared = compare_stacks(&base, &experiment, &ExplainOptions::default()).unwrap();
        let function = |path: &PathChange| compared.tree.nodes[path.stack].function;
        let name = |path: &PathChange| compared.tree.functions[function(path)].name.clone();
        let paths = compared.paths.iter();
        paths.map(|path| (name(path), path.clone())).collect()
    }

    #[test]
    fn a_function_is_certain_where_it_is_called_so_and_not_elsewhere() {
        let run = |slow: u32, number: u32| {
            let noise = number * 7 % 5;
            format!(
                "main;slow;hash {}\nmain;calm;hash {}\n",
                slow + number,
                50 + noise
            )
        };
        let side = |slow: u32| -> Vec<String> { (0..8).map(|number| run(slow, number)).collect() };
        let found = paths(&side(100), &side(130));
        let certain: Vec<(&str, bool)> = (found.iter())
            .map(|(name, path)| (name.as_str(), path.is_certain))
            .collect();
        let expected = [
            ("main", true),
            ("slow", true),
            ("hash", true),
            ("calm", false),
            ("hash", false),
        ];
        assert_eq!(certain, expected);
        let hash = &found[2].1;
        assert_eq!((hash.total.difference, hash.own.difference), (30.0, 30.0));
        let interval = hash.total.interval.unwrap();
        assert!(interval.low > 20.0 && interval.high < 40.0, "{interval:?}");
        assert_eq!(found[1].1.own.difference, 0.0);
        assert!(hash.adjusted_p.unwrap() < 0.01 && found[4].1.adjusted_p.unwrap() > 0.5);
    }

    #[test]
    fn what_is_idle_or_small_is_on_no_path() {
        let run = ["main;(idle) 900\nmain;work 9995\nmain;small 5\n".to_owned()];
        let found = paths(&run, &run);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["main", "work"]);
        assert_eq!(found[0].1.total.base, 10_000.0);
        assert_eq!(found[0].1.adjusted_p, None);
    }

    #[test]
    fn counted_calls_are_no_paths() {
        let text = "events: Ir\nfl=a.c\nfn=main\n1 10\ncfn=hash\ncalls=2 5\n1 30\nfn=hash\n5 30\ntotals: 40\n";
        assert_eq!(paths(&[text.to_owned()], &[text.to_owned()]), []);
    }

    #[test]
    fn the_number_of_paths_is_bounded() {
        let deep: Vec<String> = (0..2 * MAX_STACK_PATHS).map(|f| format!("f{f}")).collect();
        let run = [format!("{} 7\n", deep.join(";"))];
        let found = paths(&run, &run);
        assert_eq!(found.len(), MAX_STACK_PATHS);
        assert_eq!(
            (found[0].0.as_str(), found[MAX_STACK_PATHS - 1].0.as_str()),
            ("f0", "f4999")
        );
    }
}
