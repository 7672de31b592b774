//! The data of the page's scripts, in columns.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use pinpoint_core::profile::{
    CallerPathChange, Change, EntryComparison, Explanation, Function, FunctionChange, PartChange,
    PathChange, Profile, StackComparison,
};
use serde::Serialize;

use super::chart::{Chart, Drawn};
use super::entries::Entries;
use crate::foreign::clean;
use crate::text::name;
use crate::words::explanation as words;

/// At most this many stacks.
const MOST_STACKS: usize = 20_000;

/// All drawn data. Columns of one table are equally long.
#[derive(Debug, Serialize)]
pub(super) struct Data {
    unit: String,
    functions: Functions,
    stacks: Stacks,
    paths: Paths,
    caller_paths: CallerPaths,
    calls: Calls,
    groups: BTreeMap<&'static str, Groups>,
    /// The comparison of the timelines of all runs; absent where some run has none.
    entries: Option<Entries>,
    /// The only side whose runs have times.
    #[serde(skip)]
    timed_alone: Option<&'static str>,
    /// Of one run a side; absent where no run of both sides has times.
    charts: Option<[Chart; 2]>,
}

#[derive(Debug, Default, Serialize)]
struct Functions {
    name: Vec<String>,
    place: Vec<String>,
    /// 1 where the difference is certain.
    certain: Vec<u8>,
    /// The row in the table of functions; -1 for those that it lacks.
    row: Vec<i64>,
    difference: Vec<f64>,
    interval: Vec<Option<[f64; 2]>>,
    p: Vec<Option<f64>>,
}

/// Differences over all runs.
#[derive(Debug, Default, Serialize)]
pub(super) struct Differences {
    difference: Vec<f64>,
    interval: Vec<Option<[f64; 2]>>,
    p: Vec<Option<f64>>,
}

impl Differences {
    pub(super) fn push(&mut self, change: &Change, adjusted_p: Option<f64>) {
        self.difference.push(short(words::shown(change)));
        self.interval.push(interval(change));
        self.p.push(adjusted_p.map(short));
    }
}

/// See `scripts/flame_graph.js`.
#[derive(Debug, Default, Serialize)]
struct Stacks {
    parent: Vec<usize>,
    function: Vec<usize>,
    before: Vec<f64>,
    after: Vec<f64>,
}

/// The comparison of the greatest stacks; see `scripts/paths.js`.
#[derive(Debug, Default, Serialize)]
struct Paths {
    stack: Vec<usize>,
    #[serde(flatten)]
    differences: Differences,
    certain: Vec<u8>,
}

impl Paths {
    /// Of the stacks that have a place on the page.
    fn from_changes(paths: &[PathChange], places: &[Option<usize>]) -> Self {
        let mut columns = Self::default();
        for path in paths {
            let Some(stack) = places[path.stack] else {
                continue;
            };
            columns.stack.push(stack);
            columns.differences.push(&path.total, path.adjusted_p);
            columns.certain.push(u8::from(path.is_certain));
        }
        columns
    }
}

/// The comparison of functions, or of entries, by their callers; see `scripts/caller_paths.js`.
#[derive(Debug, Default, Serialize)]
pub(super) struct CallerPaths {
    /// The row of the path within it; -1 where there is one caller.
    within: Vec<i64>,
    caller: Vec<usize>,
    callee: Vec<usize>,
    #[serde(flatten)]
    differences: Differences,
}

impl CallerPaths {
    /// `place` gives the place of a caller or callee on the page.
    pub(super) fn from_changes(
        paths: &[CallerPathChange],
        mut place: impl FnMut(usize) -> usize,
    ) -> Self {
        let mut columns = Self::default();
        for path in paths {
            let within = path.within.map_or(-1, |within| within as i64);
            columns.within.push(within);
            columns.caller.push(place(path.caller));
            columns.callee.push(place(path.callee));
            columns.differences.push(&path.own, path.adjusted_p);
        }
        columns
    }
}

#[derive(Debug, Default, Serialize)]
struct Calls {
    caller: Vec<usize>,
    callee: Vec<usize>,
    before: Vec<f64>,
    after: Vec<f64>,
    #[serde(flatten)]
    differences: Differences,
}

/// Differences of groups of functions, over all runs.
#[derive(Debug, Default, Serialize)]
struct Groups {
    name: Vec<String>,
    #[serde(flatten)]
    differences: Differences,
}

impl Groups {
    fn from_changes(groups: &[PartChange]) -> Self {
        let mut columns = Self::default();
        for group in groups {
            columns.name.push(clean(&group.name).into_owned());
            columns.differences.push(&group.own, group.adjusted_p);
        }
        columns
    }
}

impl Data {
    pub(super) fn from_comparison(
        explanation: &Explanation,
        compared: &StackComparison,
        [base, experiment]: [&[Profile]; 2],
        drawn: [Option<Drawn>; 2],
        all_runs: Option<&EntryComparison>,
    ) -> Self {
        let (tree, places) = compared.tree.visible(MOST_STACKS);
        let rows = explanation.functions.iter().enumerate();
        let mut functions = FunctionTable {
            all: &tree.functions,
            rows: rows
                .map(|(row, function)| (function.index, (row, function)))
                .collect(),
            places: HashMap::new(),
            listed: Functions::default(),
        };
        // Those of the table first: they may be on no remaining stack.
        for function in &explanation.functions {
            functions.place(function.index);
        }
        let mut stacks = Stacks::default();
        for (place, node) in tree.nodes.iter().enumerate() {
            stacks.parent.push(node.parent);
            stacks.function.push(match place {
                0 => 0,
                _ => functions.place(node.function),
            });
            stacks.before.push(short(node.base));
            stacks.after.push(short(node.experiment));
        }
        let mut calls = Calls::default();
        for call in &compared.calls {
            calls.caller.push(functions.place(call.caller));
            calls.callee.push(functions.place(call.callee));
            calls.before.push(short(call.total.base));
            calls.after.push(short(call.total.experiment));
            calls.differences.push(&call.total, call.adjusted_p);
        }
        let caller_paths =
            CallerPaths::from_changes(&compared.caller_paths, |function| functions.place(function));
        let (of_base, of_experiment) = compared.functions_of.split_at(base.len());
        let entries = all_runs.map(|compared| Entries::from_comparison(compared, &mut functions));
        let before = Chart::from_runs(base, of_base, drawn[0], &mut functions);
        let after = Chart::from_runs(experiment, of_experiment, drawn[1], &mut functions);
        let timed_alone = match (&before, &after) {
            (Some(_), None) => Some("before"),
            (None, Some(_)) => Some("after"),
            _ => None,
        };
        let groups = compared.groups.iter();
        Self {
            groups: groups
                .map(|(grouping, groups)| (grouping.as_str(), Groups::from_changes(groups)))
                .collect(),
            timed_alone,
            charts: before.zip(after).map(|(before, after)| [before, after]),
            unit: clean(&explanation.unit.to_string()).into_owned(),
            functions: functions.listed,
            stacks,
            paths: Paths::from_changes(&compared.paths, &places),
            caller_paths,
            calls,
            entries,
        }
    }

    pub(super) fn has_charts(&self) -> bool {
        self.charts.is_some()
    }

    pub(super) fn timed_alone(&self) -> Option<&'static str> {
        self.timed_alone
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.calls.caller.is_empty()
    }

    /// Returns whether some stack has more than one function.
    pub(super) fn has_stacks(&self) -> bool {
        self.stacks.parent.iter().any(|parent| *parent != 0)
    }
}

fn interval(change: &Change) -> Option<[f64; 2]> {
    let interval = change.interval?;
    Some([interval.low, interval.high].map(short))
}

/// Rounds to six digits: more than a picture shows, and a third of the text.
fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The functions that are written, each once.
pub(super) struct FunctionTable<'a> {
    all: &'a [Function],
    /// By the function's index: its row, and its change.
    rows: HashMap<usize, (usize, &'a FunctionChange)>,
    places: HashMap<usize, usize>,
    listed: Functions,
}

impl FunctionTable<'_> {
    pub(super) fn described(&self, function: usize) -> Option<&Function> {
        self.all.get(function)
    }

    /// The place of a function among those of the page.
    pub(super) fn place(&mut self, function: usize) -> usize {
        if let Some(place) = self.places.get(&function) {
            return *place;
        }
        let next = self.listed.name.len();
        self.places.insert(function, next);
        let described = self.all.get(function);
        let text = |text: String| clean(&text).into_owned();
        let row = self.rows.get(&function);
        self.listed.name.push(text(
            described.map_or_else(String::new, |it| name(&it.name)),
        ));
        self.listed
            .place
            .push(text(described.map_or_else(String::new, words::place)));
        let change = row.map(|(_, change)| *change);
        let certain = change.is_some_and(FunctionChange::is_certain);
        self.listed.certain.push(u8::from(certain));
        self.listed.row.push(row.map_or(-1, |(row, _)| *row as i64));
        let own = change.map(|change| change.own);
        self.listed
            .difference
            .push(own.map_or(0.0, |own| short(words::shown(&own))));
        let interval = own.and_then(|own| own.interval);
        self.listed
            .interval
            .push(interval.map(|it| [it.low, it.high].map(short)));
        self.listed
            .p
            .push(change.and_then(|change| change.adjusted_p).map(short));
        next
    }
}
