//! Laws of every explanation of any profiles: sums, symmetries, and independence from the order in
//! the files.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_core::profile::{
    Change, ExplainOptions, Explanation, PartChange, PathChange, Profile, StackComparison, Verdict,
    compare_stacks, explain,
};
use proptest::prelude::*;

/// A stack of a program, the outermost function first, on a thread, with its cost in a run of each
/// side.
#[derive(Clone, Debug)]
struct Spent {
    stack: Vec<u8>,
    thread: u8,
    sides: [u32; 2],
}

/// Runs of both sides, as `[side][run][stack]` of a program.
#[derive(Clone, Debug)]
struct Recorded {
    program: Vec<Spent>,
    weights: [Vec<Vec<u32>>; 2],
}

/// Functions of the same name are in two modules.
fn name(function: u8) -> String {
    format!("f{}", function % 4)
}

fn module(function: u8) -> String {
    format!("m{}", function / 4)
}

fn recorded() -> impl Strategy<Value = Recorded> {
    let stack = proptest::collection::vec(0..8_u8, 1..6);
    let spent = (stack, 0..3_u8, 0..9_u32, 0..9_u32, any::<bool>());
    let spent = spent.prop_map(|(stack, thread, before, after, same)| Spent {
        stack,
        thread,
        sides: [before * 100, if same { before * 100 } else { after * 100 }],
    });
    let program = proptest::collection::vec(spent, 1..10);
    (program, 1..9_usize, any::<u64>()).prop_map(|(mut program, runs, seed)| {
        // A module that only one side has may be one of another name on the other side.
        program.push(Spent {
            stack: vec![0, 4],
            thread: 0,
            sides: [100, 100],
        });
        let mut state = seed;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u32 % 40
        };
        let weights = [0, 1].map(|side| {
            let run = |_| {
                let spent = program.iter();
                spent
                    .map(|spent| match spent.sides[side] {
                        0 => 0,
                        weight => weight + noise(),
                    })
                    .collect()
            };
            (0..runs).map(run).collect()
        });
        Recorded { program, weights }
    })
}

impl Recorded {
    /// The profiles of a side; names as `called` has them, and stacks in this order.
    fn profiles(
        &self,
        side: usize,
        scale: u32,
        called: impl Fn(u8) -> String,
        order: impl Fn(usize) -> usize,
    ) -> Vec<Profile> {
        let run = |weights: &Vec<u32>| {
            let mut text = format!("pool 1 0.5: {scale} cpu-clock:\n\t1 start+0x1 (/app/m0)\n\n");
            for at in 0..self.program.len() {
                let at = order(at);
                let (spent, weight) = (&self.program[at], weights[at]);
                if weight == 0 {
                    continue;
                }
                let thread = spent.thread;
                text += &format!(
                    "t{} 1 1.{at}: {} cpu-clock:\n",
                    letter(thread),
                    weight * scale
                );
                for function in spent.stack.iter().rev() {
                    text += &format!(
                        "\t1 {}+0x1 (/app/{})\n",
                        called(*function),
                        module(*function)
                    );
                }
                text.push('\n');
            }
            Profile::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
        };
        self.weights[side].iter().map(run).collect()
    }

    fn plain(&self, side: usize) -> Vec<Profile> {
        self.profiles(side, 1, name, |at| at)
    }

    /// The difference of the means of the costs of samples for which `counts` is true.
    fn difference(&self, counts: impl Fn(&Spent) -> bool) -> f64 {
        let mean = |side: usize| {
            let runs = &self.weights[side];
            let mut sum = 0;
            for run in runs {
                let pairs = self.program.iter().zip(run);
                sum += pairs
                    .filter(|(spent, _)| counts(spent))
                    .map(|(_, w)| w)
                    .sum::<u32>();
            }
            f64::from(sum) / runs.len() as f64
        };
        mean(1) - mean(0)
    }
}

fn letter(thread: u8) -> char {
    char::from(b'a' + thread)
}

fn options(paired: bool) -> ExplainOptions {
    ExplainOptions {
        paired,
        ..ExplainOptions::default()
    }
}

/// The explanation's change of each function, by its name as `back` has it.
fn said(
    explanation: &Explanation,
    back: impl Fn(&str) -> String,
) -> BTreeMap<(String, String), String> {
    let full = |at: usize| {
        let function = &explanation.functions[at].function;
        (
            function.module.clone().unwrap_or_default(),
            back(&function.name),
        )
    };
    let row = |at: usize| {
        let change = &explanation.functions[at];
        let verdict = match change.verdict {
            Verdict::Moved { with } => format!("moved with {:?}", full(with)),
            ref verdict => format!("{verdict:?}"),
        };
        let called_by = change.called_by.as_deref().map(&back);
        let p = change.adjusted_p.map(rounded);
        let text = format!(
            "{verdict} {:?} {:?} {p:?} {called_by:?}",
            change.own, change.total
        );
        (full(at), text)
    };
    (0..explanation.functions.len()).map(row).collect()
}

fn path(explanation: &Explanation, back: impl Fn(&str) -> String) -> Vec<(String, f64)> {
    let steps = explanation.path.iter();
    // Sums in another order differ in their last digits.
    let rounded = |difference: f64| (difference * 1e6).round();
    steps
        .map(|step| (back(&step.name), rounded(step.difference)))
        .collect()
}

fn same(name: &str) -> String {
    name.to_owned()
}

fn negated(change: &Change) -> Change {
    Change {
        base: change.experiment,
        experiment: change.base,
        difference: 0.0 - change.difference,
        estimate: change.estimate.map(|estimate| 0.0 - estimate),
        interval: change.interval.map(|interval| pinpoint_compare::Interval {
            low: 0.0 - interval.high,
            high: 0.0 - interval.low,
        }),
    }
}

fn mirrored(verdict: &Verdict) -> Verdict {
    match verdict {
        Verdict::Slower => Verdict::Faster,
        Verdict::Faster => Verdict::Slower,
        Verdict::CalledMoreOften => Verdict::CalledLessOften,
        Verdict::CalledLessOften => Verdict::CalledMoreOften,
        Verdict::New => Verdict::Gone,
        Verdict::Gone => Verdict::New,
        Verdict::Moved { with } => Verdict::Moved { with: *with },
        other => other.clone(),
    }
}

/// A path, from the outermost function inward, each with its module.
type Way = Vec<(String, String)>;

/// The path to each stack of the tree.
fn ways(compared: &StackComparison, back: impl Fn(&str) -> String) -> Vec<Way> {
    let mut ways: Vec<Way> = vec![Vec::new()];
    for node in compared.tree.nodes.iter().skip(1) {
        let function = &compared.tree.functions[node.function];
        let module = function.module.clone().unwrap_or_default();
        let mut way = ways[node.parent].clone();
        way.push((back(&function.name), module));
        ways.push(way);
    }
    ways
}

fn paths(
    compared: &StackComparison,
    back: impl Fn(&str) -> String,
) -> BTreeMap<Way, (PathChange, Option<f64>)> {
    let ways = ways(compared, back);
    let paths = compared.paths.iter().map(|path| {
        // Their places and the last digits of p depend on the order of all.
        let p = path.adjusted_p.map(rounded);
        let said = PathChange {
            stack: 0,
            adjusted_p: None,
            ..path.clone()
        };
        (ways[path.stack].clone(), (said, p))
    });
    paths.collect()
}

/// The callers of each function, from the function outward: its own change, its p-value, and true
/// when it is certain.
fn caller_paths(compared: &StackComparison) -> BTreeMap<Way, (Change, Option<f64>, bool)> {
    let named = |function: usize| {
        let function = &compared.tree.functions[function];
        let module = function.module.clone().unwrap_or_default();
        (function.name.clone(), module)
    };
    let mut ways: Vec<Way> = Vec::new();
    for path in &compared.caller_paths {
        let mut way = match path.within {
            Some(within) => ways[within].clone(),
            None => vec![named(path.callee)],
        };
        way.push(named(path.caller));
        ways.push(way);
    }
    let said = compared.caller_paths.iter();
    let said = said.map(|it| (it.own, it.adjusted_p.map(rounded), it.is_certain));
    ways.into_iter().zip(said).collect()
}

/// A p-value without its last digits. They are multiples of a number that is not a fraction, so
/// that none lies halfway between two.
fn rounded(p: f64) -> f64 {
    (p * 1e6 * std::f64::consts::PI).round()
}

/// The path of a stack of the program.
fn way(spent: &Spent) -> Way {
    let stack = spent.stack.iter();
    stack.map(|f| (name(*f), module(*f))).collect()
}

proptest! {
    /// Paths, straight from the samples: the total is the cost of stacks that begin with it. All
    /// with 0.1 % of a side are there, and their own differences are the whole one.
    #[test]
    fn paths_are_those_of_the_samples(recorded in recorded(), paired: bool) {
        let sides = [recorded.plain(0), recorded.plain(1)];
        let compared = compare_stacks(&sides[0], &sides[1], &options(paired)).unwrap();
        let totals = compared.tree.totals()[0];
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (totals[0] + totals[1]);
        let found = paths(&compared, same);
        prop_assert_eq!(found.len(), compared.paths.len());
        for (path, (change, _)) in &found {
            if path[0].0 == "start" {
                continue;
            }
            let total = recorded.difference(|spent| way(spent).starts_with(path));
            let own = recorded.difference(|spent| way(spent) == *path);
            prop_assert!(close(change.total.difference, total), "{path:?} {change:?} {total}");
            prop_assert!(close(change.own.difference, own), "{path:?} {change:?} {own}");
            prop_assert!(!change.is_certain || change.total.difference != 0.0);
        }
        let mut all: BTreeMap<Way, [f64; 2]> = BTreeMap::new();
        for side in [0, 1] {
            for (spent, at) in recorded.program.iter().zip(0..) {
                let runs = &recorded.weights[side];
                let mean = runs.iter().map(|run| f64::from(run[at])).sum::<f64>() / runs.len() as f64;
                for length in 1..=spent.stack.len() {
                    all.entry(way(spent)[..length].to_vec()).or_default()[side] += mean;
                }
            }
        }
        for (path, means) in all {
            let share = (means[0] / totals[0]).max(means[1] / totals[1]);
            if (share - 0.001).abs() > 1e-9 {
                prop_assert_eq!(found.contains_key(&path), share >= 0.001, "{:?} {}", path, share);
            }
        }
        let own: f64 = found.values().map(|(change, _)| change.own.difference).sum();
        let is_listed = |stack: usize| compared.paths.iter().any(|path| path.stack == stack);
        let rest = compared.tree.nodes.iter().enumerate().filter(|(stack, _)| !is_listed(*stack));
        let rest: f64 = rest.map(|(_, node)| node.experiment - node.base).sum();
        prop_assert!(close(own + rest, recorded.difference(|_| true)));
    }

    /// Functions by their callers, straight from the samples: the cost of stacks that end so. All
    /// with 0.1 % of a side are there, after those within them; the other way round they are the
    /// opposite.
    #[test]
    fn caller_paths_are_those_of_the_samples(recorded in recorded(), paired: bool) {
        let sides = [recorded.plain(0), recorded.plain(1)];
        let compared = compare_stacks(&sides[0], &sides[1], &options(paired)).unwrap();
        let found = caller_paths(&compared);
        prop_assert_eq!(found.len(), compared.caller_paths.len());
        let totals = compared.tree.totals()[0];
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (totals[0] + totals[1]);
        let mut all: BTreeMap<Way, [f64; 2]> = BTreeMap::new();
        for side in [0, 1] {
            for (spent, at) in recorded.program.iter().zip(0..) {
                let runs = &recorded.weights[side];
                let mean = runs.iter().map(|run| f64::from(run[at])).sum::<f64>() / runs.len() as f64;
                for outermost in 0..spent.stack.len() - 1 {
                    let mut way = way(spent).split_off(outermost);
                    way.reverse();
                    all.entry(way).or_default()[side] += mean;
                }
            }
        }
        for (way, means) in &all {
            let share = (means[0] / totals[0]).max(means[1] / totals[1]);
            if (share - 0.001).abs() > 1e-9 {
                prop_assert_eq!(found.contains_key(way), share >= 0.001, "{:?} {}", way, share);
            }
        }
        for (way, (own, ..)) in &found {
            let means = all[way];
            prop_assert!(close(own.base, means[0]) && close(own.experiment, means[1]), "{way:?} {own:?}");
        }
        let back = compare_stacks(&sides[1], &sides[0], &options(paired)).unwrap();
        let mut opposite = caller_paths(&back);
        for (own, ..) in opposite.values_mut() {
            *own = negated(own);
        }
        prop_assert_eq!(&found, &opposite);
    }

    /// The other way round paths are the opposite; for renamed functions that are declared the
    /// same, the same.
    #[test]
    fn paths_of_swapped_and_of_renamed_sides(recorded in recorded(), paired: bool) {
        let (base, experiment) = (recorded.plain(0), recorded.plain(1));
        let forth = compare_stacks(&base, &experiment, &options(paired)).unwrap();
        let back = compare_stacks(&experiment, &base, &options(paired)).unwrap();
        let (found, mut opposite) = (paths(&forth, same), paths(&back, same));
        for (change, _) in opposite.values_mut() {
            change.total = negated(&change.total);
            change.own = negated(&change.own);
        }
        prop_assert_eq!(&found, &opposite);

        let called = |function: u8| format!("other::{}_g", name(function));
        let renamed = recorded.profiles(1, 1, called, |at| at);
        let names = |side: usize| -> BTreeSet<u8> {
            let program = recorded.program.iter().enumerate();
            let program = program.filter(|(at, _)| recorded.weights[side].iter().any(|run| run[*at] > 0));
            program.flat_map(|(_, spent)| &spent.stack).copied().collect()
        };
        // Where each module has the function on both sides.
        if names(0) == names(1) {
            let mut options = options(paired);
            let placed = |f: u8, name: String| format!("{}:{name}", module(f));
            let pair = |f: u8| (placed(f, name(f)), placed(f, called(f)));
            options.same = names(0).into_iter().map(pair).collect();
            let compared = compare_stacks(&base, &renamed, &options).unwrap();
            let back = |name: &str| name.trim_start_matches("other::").trim_end_matches("_g").to_owned();
            prop_assert_eq!(&found, &paths(&compared, back));
        }
    }

    /// Own and total differences, threads, categories and the path, straight from the samples.
    #[test]
    fn differences_are_those_of_the_samples(recorded in recorded(), paired: bool) {
        let explanation = explain(&recorded.plain(0), &recorded.plain(1), &options(paired)).unwrap();
        let scale = explanation.whole.base + explanation.whole.experiment;
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * scale;
        prop_assert!(close(explanation.whole.difference, recorded.difference(|_| true)));
        for change in &explanation.functions {
            let (name_, module_) = (&change.function.name, change.function.module.as_deref());
            if name_ == "start" {
                continue;
            }
            let is = |function: u8| *name_ == name(function) && module_ == Some(&module(function));
            let own = recorded.difference(|spent| spent.stack.last().is_some_and(|f| is(*f)));
            let total = recorded.difference(|spent| spent.stack.iter().any(|f| is(*f)));
            prop_assert!(close(change.own.difference, own), "{change:?} {own}");
            prop_assert!(close(change.total.difference, total), "{change:?} {total}");
        }
        let own: f64 = explanation.functions.iter().map(|change| change.own.difference).sum();
        prop_assert!(close(own + explanation.rest.difference, explanation.whole.difference));
        let sum = |parts: &[PartChange]| parts.iter().map(|part| part.own.difference).sum::<f64>();
        prop_assert!(close(sum(&explanation.threads), explanation.whole.difference));
        prop_assert!(close(sum(&explanation.categories), explanation.whole.difference));
        for part in &explanation.threads {
            if part.name != "pool" {
                let expected = recorded.difference(|spent| part.name.starts_with(&format!("t{}", letter(spent.thread))));
                prop_assert!(close(part.own.difference, expected), "{part:?} {expected}");
            }
        }
        let mut prefix: Vec<String> = Vec::new();
        for step in &explanation.path {
            prefix.push(step.name.clone());
            // Either of the functions of a name, one in each module.
            let most = recorded.difference(|spent| {
                let names: Vec<_> = spent.stack.iter().map(|f| name(*f)).collect();
                names.starts_with(&prefix)
            });
            prop_assert!(step.difference.is_finite() && most.is_finite());
            prop_assert!(step.difference / explanation.whole.difference >= 0.6);
        }
    }

    /// The other way round everything is the opposite.
    #[test]
    fn swapped_sides_give_the_opposite(recorded in recorded(), paired: bool) {
        let (base, experiment) = (recorded.plain(0), recorded.plain(1));
        let forth = explain(&base, &experiment, &options(paired)).unwrap();
        let back = explain(&experiment, &base, &options(paired)).unwrap();
        prop_assert_eq!(&negated(&forth.whole), &back.whole);
        prop_assert_eq!(forth.functions.len(), back.functions.len());
        for (forth_, back_) in forth.functions.iter().zip(&back.functions) {
            prop_assert_eq!(&forth_.function.name, &back_.function.name);
            prop_assert_eq!(&forth_.function.module, &back_.function.module);
            prop_assert_eq!(&negated(&forth_.own), &back_.own);
            prop_assert_eq!(&negated(&forth_.total), &back_.total);
            let p = |p: Option<f64>| p.map(rounded);
            prop_assert_eq!(p(forth_.adjusted_p), p(back_.adjusted_p));
            prop_assert_eq!(&mirrored(&forth_.verdict), &back_.verdict);
        }
        let names = |explanation: &Explanation, back: bool| -> BTreeSet<(String, String)> {
            let guesses = explanation.renamed.iter();
            guesses.map(|guess| {
                let pair = (guess.base.clone(), guess.experiment.clone());
                if back { (pair.1, pair.0) } else { pair }
            }).collect()
        };
        prop_assert_eq!(names(&forth, false), names(&back, true));
    }

    /// The order of files, stacks and functions does not matter, nor do their names.
    #[test]
    fn order_and_names_change_nothing(recorded in recorded(), paired: bool) {
        let (base, experiment) = (recorded.plain(0), recorded.plain(1));
        let first = explain(&base, &experiment, &options(paired)).unwrap();
        let last = recorded.program.len() - 1;
        let turned = [0, 1].map(|side| {
            let mut runs = recorded.profiles(side, 1, name, |at| last - at);
            runs.reverse();
            runs
        });
        let second = explain(&turned[0], &turned[1], &options(paired)).unwrap();
        prop_assert_eq!(said(&first, same), said(&second, same));
        prop_assert_eq!(path(&first, same), path(&second, same));
        prop_assert_eq!(&first.renamed, &second.renamed);
        prop_assert_eq!(&first.threads, &second.threads);
        prop_assert_eq!(&first.categories, &second.categories);
        // The order of names stays, which decides between equals.
        let called = |function: u8| format!("other::{}_g", name(function));
        let renamed = [0, 1].map(|side| recorded.profiles(side, 1, called, |at| at));
        let second = explain(&renamed[0], &renamed[1], &options(paired)).unwrap();
        let back = |name: &str| name.trim_start_matches("other::").trim_end_matches("_g").to_owned();
        prop_assert_eq!(said(&first, same), said(&second, back));
        prop_assert_eq!(path(&first, same), path(&second, back));
    }

    /// In other units it is the same.
    #[test]
    fn scaled_costs_give_scaled_differences(recorded in recorded(), paired: bool) {
        let scaled = |scale| {
            let [base, experiment] = [0, 1].map(|side| recorded.profiles(side, scale, name, |at| at));
            explain(&base, &experiment, &options(paired)).unwrap()
        };
        let (one, many) = (scaled(1), scaled(1024));
        prop_assert_eq!(one.functions.len(), many.functions.len());
        for (one, many) in one.functions.iter().zip(&many.functions) {
            prop_assert_eq!(&one.function.name, &many.function.name);
            prop_assert_eq!(&one.verdict, &many.verdict);
            prop_assert_eq!(one.adjusted_p, many.adjusted_p);
            if one.function.name != "start" {
                prop_assert_eq!(one.own.difference * 1024.0, many.own.difference);
            }
        }
    }
}
