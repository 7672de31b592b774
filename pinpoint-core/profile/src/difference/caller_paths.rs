//! Changes of functions by their paths of callers, from the inside out: the rows of a bottom-up
//! tree.

use hashbrown::HashMap;
use pinpoint_compare::CompareError;

use super::explanation::Change;
use super::runs::Runs;
use super::statistics::on_levels;
use super::worth::Worth;

/// At most this many paths: those with the greatest parts of a side.
const MAX_CALLER_PATHS: usize = 5000;

/// At most this many callers of one function. Longer paths are those of recursions.
const MOST_CALLERS: usize = 32;

/// The change of a function where it was called by another, which was called by another, and so on
/// outward.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallerPathChange {
    /// The path without its outermost caller: its place among all paths. Absent where the
    /// function has one caller.
    pub within: Option<usize>,
    /// The outermost caller: its place in [`StackTree::functions`](crate::StackTree::functions).
    pub caller: usize,
    /// The function that it calls: on a path of one caller, the function itself.
    pub callee: usize,
    /// The function's own cost on this path.
    pub own: Change,
    /// The p-value of its difference, adjusted for all paths that were tested together, and
    /// for those of as many callers: the greater one. Absent where there are too few runs, or it
    /// was seen in too few of them, and where values are exact.
    pub adjusted_p: Option<f64>,
    /// The difference is significant.
    pub is_certain: bool,
}

/// A path, with its cost over all runs of each side.
struct Path {
    within: Option<usize>,
    caller: usize,
    callee: usize,
    sums: [f64; 2],
}

/// The cost of one stack in one run.
struct Spent {
    run: usize,
    weight: f64,
    /// The stack of the outermost caller that is followed so far.
    stack: usize,
    /// The path so far; `None` for the function alone.
    path: Option<usize>,
}

/// The paths with at least 0.1 % of a side, each after the one within it. None where calls are
/// counted, as there are no stacks.
pub(super) fn changes(runs: &Runs, exact: bool) -> Result<Vec<CallerPathChange>, CompareError> {
    if runs.all.iter().any(|run| run.calls.is_some()) {
        return Ok(Vec::new());
    }
    let worth = Worth::from_runs(runs);
    let (paths, values) = greatest(paths(runs, &worth), &worth);
    let mut levels = Vec::with_capacity(paths.len());
    for path in &paths {
        levels.push(path.within.map_or(0, |within| levels[within] + 1));
    }
    let found = on_levels(&values, &levels, runs, exact)?;
    // Leaves out those that are only tested, which moves the places of the others.
    let mut places = vec![None; paths.len()];
    let mut listed = Vec::new();
    for (place, (path, found)) in paths.iter().zip(found).enumerate() {
        let within = path.within.map(|within| places[within]);
        if !worth.is_listed(path.sums) || within == Some(None) {
            continue;
        }
        places[place] = Some(listed.len());
        listed.push(CallerPathChange {
            within: within.flatten(),
            caller: path.caller,
            callee: path.callee,
            own: found.change,
            adjusted_p: found.adjusted_p,
            is_certain: found.is_certain,
        });
    }
    Ok(listed)
}

/// Finds all paths that are tested, each with its cost in every run.
fn paths(runs: &Runs, worth: &Worth) -> Vec<(Path, Vec<f64>)> {
    let mut paths: Vec<(Path, Vec<f64>)> = Vec::new();
    let mut open = leaves(runs);
    for _ in 0..MOST_CALLERS {
        // One more caller for all remaining paths.
        let mut ids: HashMap<(Option<usize>, usize, usize), usize> = HashMap::new();
        let mut next: Vec<Path> = Vec::new();
        let mut called: Vec<(Spent, usize)> = Vec::new();
        for mut spent in open {
            let run = &runs.all[spent.run];
            let inner = spent.stack;
            spent.stack = run.parent(inner);
            let Some((caller, callee)) = run.function(spent.stack).zip(run.function(inner)) else {
                continue;
            };
            let id = *ids.entry((spent.path, caller, callee)).or_insert_with(|| {
                next.push(Path {
                    within: spent.path,
                    caller,
                    callee,
                    sums: [0.0; 2],
                });
                next.len() - 1
            });
            next[id].sums[usize::from(spent.run >= runs.base)] += spent.weight;
            called.push((spent, id));
        }
        // A small path has small paths around it.
        let mut places = vec![None; next.len()];
        for (id, path) in next.into_iter().enumerate() {
            if worth.is_tested(path.sums) {
                places[id] = Some(paths.len());
                paths.push((path, vec![0.0; runs.all.len()]));
            }
        }
        open = Vec::new();
        for (mut spent, id) in called {
            if let Some(place) = places[id] {
                paths[place].1[spent.run] += spent.weight;
                spent.path = Some(place);
                open.push(spent);
            }
        }
        if open.is_empty() {
            break;
        }
    }
    paths
}

/// The cost of each stack of each run.
fn leaves(runs: &Runs) -> Vec<Spent> {
    let mut leaves = Vec::new();
    for (place, run) in runs.all.iter().enumerate() {
        let mut own = vec![0.0; run.below.len()];
        for sample in run.busy_samples() {
            own[sample.stack.0 as usize] += sample.weight;
        }
        let spent = own.into_iter().enumerate().skip(1);
        let spent = spent.filter(|(_, weight)| *weight != 0.0);
        leaves.extend(spent.map(|(stack, weight)| Spent {
            run: place,
            weight,
            stack,
            path: None,
        }));
    }
    leaves
}

/// The greatest paths, where there are too many: without a path, none around it.
fn greatest(paths: Vec<(Path, Vec<f64>)>, worth: &Worth) -> (Vec<Path>, Vec<Vec<f64>>) {
    let share = |place: &usize| worth.share(paths[*place].0.sums);
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by(|a, b| share(b).total_cmp(&share(a)).then(a.cmp(b)));
    let mut is_kept = vec![false; paths.len()];
    for place in order.into_iter().take(MAX_CALLER_PATHS) {
        is_kept[place] = true;
    }
    let mut places: Vec<Option<usize>> = Vec::with_capacity(paths.len());
    let (mut kept, mut kept_values) = (Vec::new(), Vec::new());
    for (place, (mut path, values)) in paths.into_iter().enumerate() {
        let within = path.within.map(|within| places[within]);
        if !is_kept[place] || within == Some(None) {
            places.push(None);
            continue;
        }
        path.within = within.flatten();
        places.push(Some(kept.len()));
        kept.push(path);
        kept_values.push(values);
    }
    (kept, kept_values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExplainOptions, Profile, compare_stacks};

    /// Each path, from the function outward, with its change.
    fn found(base: &[String], experiment: &[String]) -> Vec<(String, CallerPathChange)> {
        let [base, experiment] = [base, experiment].map(|texts| -> Vec<Profile> {
            let read = |text: &String| Profile::read(text.as_bytes()).unwrap();
            texts.iter().map(read).collect()
        });
        let compared = compare_stacks(&base, &experiment, &ExplainOptions::default()).unwrap();
        let name = |function: usize| compared.tree.functions[function].name.as_str();
        let mut found: Vec<(String, CallerPathChange)> = Vec::new();
        for path in compared.caller_paths {
            let inner = match path.within {
                Some(within) => found[within].0.clone(),
                None => name(path.callee).to_owned(),
            };
            found.push((format!("{inner} < {}", name(path.caller)), path));
        }
        found
    }

    #[test]
    fn a_function_is_certain_on_the_way_that_changed_and_not_on_others() {
        let run = |slow: u32, number: u32| {
            let (noise, other) = (number * 7 % 5, number * 3 % 4);
            format!(
                "main;slow;hash {}\nmain;calm;hash {}\nmain;slow {}\n",
                slow + number,
                50 + noise,
                20 + other
            )
        };
        let side = |slow: u32| -> Vec<String> { (0..8).map(|number| run(slow, number)).collect() };
        let found = found(&side(100), &side(130));
        let known: Vec<(&str, f64, bool)> = (found.iter())
            .map(|(path, it)| (path.as_str(), it.own.difference, it.is_certain))
            .collect();
        let expected = [
            ("slow < main", 0.0, false),
            ("hash < slow", 30.0, true),
            ("hash < calm", 0.0, false),
            ("hash < slow < main", 30.0, true),
            ("hash < calm < main", 0.0, false),
        ];
        assert_eq!(known, expected);
        let interval = found[1].1.own.interval.unwrap();
        assert!(interval.low > 20.0 && interval.high < 40.0, "{interval:?}");
        assert!(found[1].1.adjusted_p.unwrap() < 0.01 && found[2].1.adjusted_p.unwrap() > 0.5);
    }

    #[test]
    fn a_change_below_many_callers_makes_no_other_path_certain() {
        let p_of_others = |depth: usize| -> Vec<f64> {
            let run = |slow: u32, number: u32| -> String {
                let others = (0..20).map(|f| {
                    let noise = (number * 7 + slow / 100 * f) % 11;
                    format!("main;n{f} {}\n", 100 + noise)
                });
                let hot = format!("main{};hot {}\n", ";walk".repeat(depth), slow + number);
                others.chain([hot]).collect()
            };
            let side = |slow: u32| -> Vec<String> { (0..8).map(|it| run(slow, it)).collect() };
            let found = found(&side(500), &side(900));
            let others = found.iter().filter(|(path, _)| path.starts_with('n'));
            others.filter_map(|(_, it)| it.adjusted_p).collect()
        };
        let (alone, beside) = (p_of_others(0), p_of_others(30));
        assert_eq!((alone.len(), beside.len()), (20, 20));
        let pairs = alone.iter().zip(&beside);
        assert!(
            pairs.clone().all(|(alone, beside)| beside >= alone),
            "{alone:?} {beside:?}"
        );
    }

    #[test]
    fn each_call_of_a_recursion_is_a_caller_until_there_are_too_many() {
        let run = [format!("main{} 9\n", ";walk".repeat(40))];
        let found = found(&run, &run);
        assert_eq!(found.len(), MOST_CALLERS);
        assert_eq!(found[1].0, "walk < walk < walk");
        assert!(found.iter().all(|(_, it)| it.own.base == 9.0));
    }

    #[test]
    fn what_is_idle_or_small_is_on_no_path() {
        let run = ["main;(idle) 900\nmain;work 9995\nmain;small 5\n".to_owned()];
        let names: Vec<String> = found(&run, &run).into_iter().map(|it| it.0).collect();
        assert_eq!(names, ["work < main"]);
    }

    #[test]
    fn the_number_of_paths_is_bounded() {
        // 900 functions, each with 7 callers.
        let run = (0..900)
            .map(|f| format!("m;a{f};b{f};c{f};d{f};e{f};f{f};g{f} 7\n"))
            .collect();
        let run = [run];
        let found = found(&run, &run);
        assert_eq!(found.len(), MAX_CALLER_PATHS);
        assert!(
            found
                .iter()
                .enumerate()
                .all(|(at, it)| it.1.within.is_none_or(|within| within < at))
        );
    }
}
