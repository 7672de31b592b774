//! Changes of the entries of timelines over all runs, for the trees of a timeline's page.
//!
//! Threads of one name, and those whose names differ only in numbers, are one track. Tests and
//! lists are those of functions and stacks; a thread's events and calls are tested with those of
//! all others.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use pinpoint_compare::CompareError;

use super::caller_paths::CallerPathChange;
use super::runs::Runs;
use super::stack_paths::PathChange;
use super::statistics::TestedChange;
use super::thread_name::without_numbers;
use super::{Change, ExplainError, ExplainOptions, Grouping, StackComparison};
use super::{caller_paths, groups, stack_paths};
use crate::identity::{Function, Identified};
use crate::stack_tree::StackTree;
use crate::timeline::KindName;
use crate::{
    Category, EntryTree, Names, Profile, ProfileFormat, ProfileUnit, Sample, StackId, Stacks,
    ThreadId,
};

/// The kind of entries that are the same in all runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EntryKind {
    /// The place of the track's name in [`EntryComparison::tracks`].
    pub track: usize,
    /// For calls, the function: its place in [`StackTree::functions`] of the same runs' stacks.
    pub function: Option<usize>,
    /// For all others, its [`Timeline::id_across_runs`](crate::Timeline::id_across_runs).
    pub id: String,
}

/// The change on a track of entries of one kind, or of kinds that belong together.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EntryGroup<T> {
    /// The place of the track's name in [`EntryComparison::tracks`].
    pub track: usize,
    /// The kind, or the common property of the kinds.
    pub of: T,
    /// Their own time, in nanoseconds.
    pub own: Change,
    /// The p-value of its difference, adjusted for all others of its sort. Absent where there are
    /// too few runs, or it was seen in too few of them.
    pub adjusted_p: Option<f64>,
    /// The difference is significant.
    pub is_certain: bool,
}

/// The changes of groups of entries.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EntryGroups {
    /// The property that defines the groups.
    pub grouping: Grouping,
    /// Groups with at least 0.1 % of a side, by their names.
    pub groups: Vec<EntryGroup<String>>,
    /// The kinds that are in several groups, such as FunctionCall, which leads into many scripts:
    /// their places in [`EntryComparison::kinds`].
    pub split: Vec<usize>,
    /// Their time in a group, where it is as much.
    pub parts: Vec<EntryGroup<(usize, String)>>,
}

/// Threads that are one in the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryTrack {
    /// The name of the thread and its process, without the numbers in which those of a pool differ.
    pub name: String,
    /// The most threads that a run has of it.
    pub threads: usize,
}

/// The entries of the timelines of two builds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EntryComparison {
    /// The tracks.
    pub tracks: Vec<EntryTrack>,
    /// The kinds that [`StackNode::function`](crate::StackNode::function),
    /// [`CallerPathChange::caller`] and [`callee`](CallerPathChange::callee) refer to here.
    pub kinds: Vec<EntryKind>,
    /// The paths of all runs, with means, in nanoseconds.
    pub tree: StackTree,
    /// As of [`StackComparison::paths`].
    pub paths: Vec<PathChange>,
    /// As of [`StackComparison::caller_paths`].
    pub caller_paths: Vec<CallerPathChange>,
    /// Kinds with at least 0.1 % of a side.
    pub own: Vec<EntryGroup<usize>>,
    /// The changes of entries grouped by domain, URL and so on.
    pub groups: Vec<EntryGroups>,
    /// Categories with as much.
    pub categories: Vec<EntryGroup<Category>>,
}

impl EntryComparison {
    /// The place of the track to which one of a timeline belongs, by its
    /// [`Timeline::track_name`](crate::Timeline::track_name).
    pub fn track_named(&self, name: &str) -> Option<usize> {
        let name = track_key(name);
        self.tracks.iter().position(|track| track.name == name)
    }
}

/// Compares the entries of the timelines of two builds, one tree for each run. `stacks` is of the
/// profiles of the same runs, in the same order: it identifies the functions.
///
/// # Errors
///
/// [`ExplainError::NoProfiles`], [`ExplainError::NotPairs`].
///
/// # Cost
///
/// Proportional to the paths of all trees, and to the kinds and the tested paths times the runs.
pub fn compare_entries(
    base: &[EntryTree],
    experiment: &[EntryTree],
    stacks: &StackComparison,
    options: &ExplainOptions,
) -> Result<EntryComparison, ExplainError> {
    for (side, trees) in [("base", base), ("experiment", experiment)] {
        if trees.is_empty() {
            return Err(ExplainError::NoProfiles(side));
        }
    }
    if options.paired && base.len() != experiment.len() {
        return Err(ExplainError::NotPairs {
            base: base.len(),
            experiment: experiment.len(),
        });
    }
    let trees: Vec<&EntryTree> = base.iter().chain(experiment).collect();
    let mut known = EntryInterner::default();
    let sorts_of: Vec<Vec<usize>> = (trees.iter().enumerate())
        .map(|(run, tree)| known.sorts_of(tree, stacks, run))
        .collect();
    let profiles: Vec<Profile> = (trees.iter().zip(&sorts_of))
        .map(|(tree, of)| profile(tree, |kind| known.sorts[of[kind as usize]].kind))
        .collect();
    let (before, after) = profiles.split_at(base.len());
    let identified = Identified {
        // Waiting is an entry like others, and part of those around it.
        idle: vec![false; known.kinds.len()],
        functions: known.described,
        of: vec![(0..known.kinds.len() as u32).collect(); trees.len()],
        ..Identified::default()
    };
    let runs = Runs::new(before, after, &identified, options.paired);
    let spent = Spent {
        values: values(&trees, &sorts_of, known.sorts.len()),
        sorts: &known.sorts,
        runs: &runs,
    };

    let tree = StackTree::from_profiles(before, after, &identified);
    let groups = Grouping::ALL.into_iter().map(|it| spent.groups(it));
    Ok(EntryComparison {
        groups: groups.collect::<Result<_, _>>()?,
        own: spent.changes(|sort| Some(sort.kind))?,
        categories: spent.changes(|sort| Some(sort.category))?,
        paths: stack_paths::changes(&tree, &runs, false)?,
        caller_paths: caller_paths::changes(&runs, false)?,
        tracks: known.tracks,
        kinds: known.kinds,
        tree,
    })
}

/// The names of a thread and its process, each without its numbers.
fn track_key(name: &str) -> String {
    let names: Vec<String> = name.split(", ").map(without_numbers).collect();
    names.join(", ")
}

/// The tracks, kinds and sorts of all runs, each once.
#[derive(Default)]
struct EntryInterner {
    tracks: Vec<EntryTrack>,
    of_tracks: HashMap<String, usize>,
    kinds: Vec<EntryKind>,
    of_kinds: HashMap<EntryKind, usize>,
    /// The function that stands for each kind.
    described: Vec<Function>,
    sorts: Vec<Sort>,
    of_sorts: HashMap<(usize, String, Category), usize>,
}

/// Entries of one kind that come from one place: the parts of groups.
struct Sort {
    kind: usize,
    track: usize,
    category: Category,
    function: Function,
}

impl EntryInterner {
    /// The sort of each kind of a run's tree.
    fn sorts_of(&mut self, tree: &EntryTree, stacks: &StackComparison, run: usize) -> Vec<usize> {
        let tracks = self.tracks_of(tree);
        let functions = stacks.functions_of.get(run);
        let mut sorts = Vec::with_capacity(tree.kinds.len());
        for known in &tree.kinds {
            let track = tracks[known.track as usize];
            let (function, id) = match &known.name {
                KindName::Event(id) => (None, id.clone()),
                KindName::Call(frame) => {
                    let place = functions.and_then(|of| of.get(frame.index() as usize));
                    (place.map(|place| *place as usize), String::new())
                }
            };
            let described = function.and_then(|place| stacks.tree.functions.get(place));
            let function_or_event = described
                .cloned()
                .unwrap_or_else(|| Function::of_event(&id, &known.url));
            let kind = EntryKind {
                track,
                function,
                id,
            };
            let kind = self.kind(kind, &function_or_event);
            let next = self.sorts.len();
            let key = (kind, known.url.clone(), known.category);
            let sort = *self.of_sorts.entry(key).or_insert(next);
            if sort == next {
                self.sorts.push(Sort {
                    kind,
                    track,
                    category: known.category,
                    function: function_or_event,
                });
            }
            sorts.push(sort);
        }
        sorts
    }

    /// The track of each of a run's tree.
    fn tracks_of(&mut self, tree: &EntryTree) -> Vec<usize> {
        let mut threads: HashMap<usize, usize> = HashMap::new();
        let mut places = Vec::with_capacity(tree.tracks.len());
        for track in &tree.tracks {
            let next = self.tracks.len();
            let place = self.of_tracks.entry(track_key(&track.name));
            let place = *place.or_insert_with_key(|name| {
                self.tracks.push(EntryTrack {
                    name: name.clone(),
                    threads: 0,
                });
                next
            });
            *threads.entry(place).or_default() += track.threads;
            places.push(place);
        }
        for (place, threads) in threads {
            let most = &mut self.tracks[place].threads;
            *most = threads.max(*most);
        }
        places
    }

    fn kind(&mut self, kind: EntryKind, described: &Function) -> usize {
        let next = self.kinds.len();
        *self.of_kinds.entry(kind).or_insert_with_key(|kind| {
            self.kinds.push(kind.clone());
            self.described.push(described.clone());
            next
        })
    }
}

/// A run's tree as stacks of kinds.
fn profile(tree: &EntryTree, kind: impl Fn(u32) -> usize) -> Profile {
    let mut stacks = Stacks::new();
    let nodes = || tree.nodes.iter().skip(1);
    stacks.parents.extend(nodes().map(|node| node.parent));
    stacks
        .frames
        .extend(nodes().map(|node| kind(node.kind) as u32));
    let samples = nodes().zip(1..).map(|(node, stack)| Sample {
        stack: StackId(stack),
        thread: ThreadId::default(),
        weight: node.own,
        event: None,
    });
    Profile {
        format: ProfileFormat::ChromeTrace,
        unit: ProfileUnit::Nanoseconds,
        names: Names::default(),
        frames: Vec::new(),
        source_mapped: Vec::new(),
        stacks,
        samples: samples.collect(),
        begin: 0.0,
        times: Vec::new(),
        threads: Vec::new(),
        marks: Vec::new(),
        pages: Vec::new(),
        calls: Vec::new(),
        warnings: Vec::new(),
    }
}

/// The time of each run in each sort.
fn values(trees: &[&EntryTree], sorts_of: &[Vec<usize>], sorts: usize) -> Vec<Vec<f64>> {
    let mut values = vec![vec![0.0; trees.len()]; sorts];
    for (run, (tree, of)) in trees.iter().zip(sorts_of).enumerate() {
        for node in tree.nodes.iter().skip(1) {
            values[of[node.kind as usize]][run] += node.own;
        }
    }
    values
}

struct Spent<'a> {
    /// The time of each sort in each run.
    values: Vec<Vec<f64>>,
    sorts: &'a [Sort],
    runs: &'a Runs<'a>,
}

impl Spent<'_> {
    fn groups(&self, grouping: Grouping) -> Result<EntryGroups, CompareError> {
        let of = |sort: &Sort| grouping.of(&sort.function);
        let mut groups_of: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for sort in self.sorts {
            groups_of.entry(sort.kind).or_default().insert(of(sort));
        }
        groups_of.retain(|_, groups| groups.len() > 1);
        Ok(EntryGroups {
            grouping,
            groups: self.changes(|sort| Some(of(sort)))?,
            parts: self.changes(|sort| {
                let is_split = groups_of.contains_key(&sort.kind);
                is_split.then(|| (sort.kind, of(sort)))
            })?,
            split: groups_of.into_keys().collect(),
        })
    }

    /// The changes of the sorts of a track with a common property, for all that have 0.1 % of a
    /// side. Those without the property are left out.
    fn changes<T: Ord>(
        &self,
        in_common: impl Fn(&Sort) -> Option<T>,
    ) -> Result<Vec<EntryGroup<T>>, CompareError> {
        let mut groups: BTreeMap<(usize, T), Vec<f64>> = BTreeMap::new();
        for (sort, values) in self.sorts.iter().zip(&self.values) {
            let Some(of) = in_common(sort) else {
                continue;
            };
            let sums = groups.entry((sort.track, of));
            let sums = sums.or_insert_with(|| vec![0.0; values.len()]);
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value;
            }
        }
        let changes = groups::changes(groups, self.runs, false)?.into_iter();
        let change = |((track, of), found): ((usize, T), TestedChange)| EntryGroup {
            track,
            of,
            own: found.change,
            adjusted_p: found.adjusted_p,
            is_certain: found.is_certain,
        };
        Ok(changes.map(change).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Timeline, Window, compare_stacks};

    /// A run in which a layout takes so many microseconds from a timer, and 500 or so from a
    /// frame, on the main thread; and as long on two others.
    fn run(layout: u32, number: u32) -> String {
        let other = 500 + number * 7 % 5;
        let event = |thread: u32, name: &str, start: u32, duration: u32| {
            format!(
                r#"{{"name": "{name}", "ph": "X", "cat": "toplevel", "pid": 7, "tid": {thread}, "ts": {start}, "dur": {duration}}},"#
            )
        };
        let thread = |thread: u32, name: &str| {
            format!(
                r#"{{"name": "thread_name", "ph": "M", "pid": 7, "tid": {thread}, "args": {{"name": "{name}"}}}},"#
            )
        };
        let events = [
            thread(1, "Main"),
            thread(2, "Pool 1"),
            thread(3, "Pool 2"),
            event(1, "RunTask", 1_000, 10_000),
            event(1, "TimerFire", 2_000, layout + number),
            event(1, "Layout", 2_000, layout + number),
            event(1, "FireAnimationFrame", 8_000, other),
            event(1, "Layout", 8_000, other),
            event(2, "RunTask", 1_000, 100),
            event(3, "RunTask", 1_000, 50 + number),
        ];
        let sampled = r#"{"name": "Profile", "ph": "P", "id": "0x1", "pid": 7, "tid": 1, "ts": 1000, "args": {"data": {"startTime": 1000}}},
            {"name": "ProfileChunk", "ph": "P", "id": "0x1", "pid": 7, "tid": 1, "ts": 1001, "args": {"data": {"cpuProfile": {"nodes": [
              {"id": 1, "callFrame": {"functionName": "(root)", "scriptId": 0, "url": "", "lineNumber": -1, "columnNumber": -1}},
              {"id": 2, "parent": 1, "callFrame": {"functionName": "parse", "scriptId": 5, "url": "a.js", "lineNumber": 3, "columnNumber": 1}}],
              "samples": [2, 2]}, "timeDeltas": [1000, 1000]}}}"#;
        format!("[{}{sampled}]", events.concat())
    }

    fn compared(layouts: [u32; 2], window: Option<&Window>) -> EntryComparison {
        let texts = layouts.map(|layout| (0..8).map(move |number| run(layout, number)));
        compared_texts(&texts.map(Iterator::collect), window)
    }

    fn compared_texts(texts: &[Vec<String>; 2], window: Option<&Window>) -> EntryComparison {
        let read = |text: &String| Profile::read(text.as_bytes()).unwrap();
        let profiles = texts
            .each_ref()
            .map(|side| side.iter().map(read).collect::<Vec<_>>());
        let options = ExplainOptions::default();
        let stacks = compare_stacks(&profiles[0], &profiles[1], &options).unwrap();
        let tree = |(text, profile): (&String, &Profile)| {
            let timeline = Timeline::read(text.as_bytes()).unwrap();
            EntryTree::of(&timeline, profile, window).unwrap()
        };
        let trees = [0, 1].map(|side| {
            let runs = texts[side].iter().zip(&profiles[side]);
            runs.map(tree).collect::<Vec<_>>()
        });
        compare_entries(&trees[0], &trees[1], &stacks, &options).unwrap()
    }

    /// Each path with its total's difference, and true when that is certain.
    fn paths(compared: &EntryComparison) -> Vec<(String, f64, bool)> {
        let mut names: HashMap<usize, String> = HashMap::from([(0, String::new())]);
        let mut found = Vec::new();
        for path in &compared.paths {
            let node = &compared.tree.nodes[path.stack];
            let kind = &compared.kinds[node.function];
            let name = match kind.function {
                Some(_) => "call",
                None => &kind.id,
            };
            let way = match names[&node.parent].as_str() {
                "" => format!("{}: {name}", compared.tracks[kind.track].name),
                outer => format!("{outer} {name}"),
            };
            names.insert(path.stack, way.clone());
            found.push((way, path.total.difference, path.is_certain));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    #[test]
    fn an_event_is_certain_where_it_moved_and_not_where_another_calls_it() {
        let compared = compared([2_000, 3_000], None);
        let found = paths(&compared);
        let expected = [
            ("Main: RunTask", 0.0, false),
            ("Main: RunTask FireAnimationFrame", 0.0, false),
            ("Main: RunTask FireAnimationFrame Layout", 0.0, false),
            ("Main: RunTask call TimerFire", 1e6, true),
            ("Main: RunTask call TimerFire Layout", 1e6, true),
            ("Pool: RunTask", 0.0, false),
        ];
        // The call was sampled last before the timer fires, and lasts until the frame.
        let found: Vec<_> = (found.iter())
            .filter(|(way, ..)| !way.ends_with("call"))
            .map(|(way, difference, is_certain)| (way.as_str(), *difference, *is_certain))
            .collect();
        assert_eq!(found, expected);

        let own = |id: &str| {
            let is = |own: &&EntryGroup<usize>| compared.kinds[own.of].id == id;
            compared.own.iter().find(is).unwrap()
        };
        let layout = own("Layout");
        assert_eq!((layout.own.difference, layout.is_certain), (1e6, true));
        assert!(layout.adjusted_p.unwrap() < 0.01 && layout.own.interval.unwrap().low > 9e5);
        let rendering = (compared.categories.iter()).find(|it| it.of == Category::Rendering);
        assert_eq!(rendering.unwrap().own.difference, 1e6);
        let named = ["Main", "Pool 7", "Other", "Main, Pool"];
        let named = named.map(|name| compared.track_named(name));
        assert_eq!(named, [Some(0), Some(1), None, None]);
        let threads: Vec<usize> = compared.tracks.iter().map(|it| it.threads).collect();
        assert_eq!(threads, [1, 2]);
        assert_eq!(track_key("Worker1, Renderer 7"), "Worker, Renderer");
        let certain = compared.caller_paths.iter().filter(|it| it.is_certain);
        // The layout by the timer; by that and the call; by these and the task.
        assert_eq!(certain.count(), 3);
    }

    #[test]
    fn what_is_in_several_groups_is_compared_in_each() {
        // Calls into a script of each URL, of which one gets slower.
        let called = |slow: u32| {
            let call = |start: u32, duration: u32, url: &str| {
                format!(
                    r#"{{"name": "FunctionCall", "ph": "X", "cat": "devtools.timeline", "pid": 7, "tid": 2, "ts": {start}, "dur": {duration}, "args": {{"data": {{"url": "{url}"}}}}}},"#
                )
            };
            let calls = [
                call(1_000, slow, "https://a.test/a.js"),
                call(9_000, 700, "https://b.test/b.js"),
                call(9_800, 900, "about:blank"),
            ];
            run(2_000, 0).replacen('[', &format!("[{}", calls.concat()), 1)
        };
        let texts = [500, 900].map(|slow| (0..6).map(|number| called(slow + number)).collect());
        let compared = compared_texts(&texts, None);
        let function_call = (compared.kinds.iter())
            .position(|kind| kind.id == "FunctionCall")
            .unwrap();
        let by = |grouping| compared.groups.iter().find(|it| it.grouping == grouping);
        let url = by(Grouping::Url).unwrap();
        assert_eq!(url.split, [function_call]);
        let parts: Vec<_> = (url.parts.iter())
            .map(|part| (part.of.1.as_str(), part.own.difference, part.is_certain))
            .collect();
        assert_eq!(
            parts,
            [
                ("about:blank", 0.0, false),
                ("https://a.test/a.js", 4e5, true),
                ("https://b.test/b.js", 0.0, false)
            ]
        );
        assert!(by(Grouping::Module).unwrap().split.is_empty());
        let own = compared.own.iter().find(|own| own.of == function_call);
        assert_eq!(own.unwrap().own.difference, 4e5);
    }

    #[test]
    fn only_what_lies_in_the_window_counts() {
        // From 3 ms to 4 ms of the clock: the profile begins with its first sample, at 2 ms.
        let window: Window = "1..2".parse().unwrap();
        let compared = compared([2_000, 3_000], Some(&window));
        let found = paths(&compared);
        let layout = |way: &str| {
            found
                .iter()
                .find(|(it, ..)| it.ends_with(way))
                .map(|it| it.1)
        };
        assert_eq!(layout("TimerFire Layout"), Some(0.0));
        assert_eq!(layout("FireAnimationFrame Layout"), None);
        let whole: f64 = compared.tree.nodes.iter().map(|node| node.base).sum();
        // Of the main thread alone: the tasks of the others lie before.
        assert_eq!(whole, 1e6);
    }

    #[test]
    fn entries_that_last_for_ever_can_be_compared() {
        let text =
            run(2_000, 0).replace(r#""ts": 8000, "dur": 500"#, r#""ts": 8e300, "dur": 1e308"#);
        assert!(text.contains("1e308"));
        let profile = Profile::read(text.as_bytes()).unwrap();
        let timeline = Timeline::read(text.as_bytes()).unwrap();
        let tree = EntryTree::of(&timeline, &profile, None).unwrap();
        let (runs, trees) = (vec![profile; 6], vec![tree; 6]);
        let options = ExplainOptions::default();
        let stacks = compare_stacks(&runs, &runs, &options).unwrap();
        let compared = compare_entries(&trees, &trees, &stacks, &options).unwrap();
        assert!(
            compared
                .own
                .iter()
                .all(|it| it.own.base.is_finite() && it.own.difference == 0.0)
        );
    }

    #[test]
    fn events_that_touch_are_not_in_each_other() {
        // As sums of floats, many of them end a little after the next one begins.
        let tenths = (0..60).map(|place| {
            let start = 1_000_000 + 11 * place;
            format!(
                r#"{{"name": "Short", "ph": "X", "cat": "cc", "pid": 7, "tid": 2, "ts": {}.{}, "dur": 1.1}},"#,
                start / 10,
                start % 10
            )
        });
        let events: String = tenths.collect();
        let text = run(2_000, 0).replacen('[', &format!("[{events}"), 1);
        let profile = Profile::read(text.as_bytes()).unwrap();
        let timeline = Timeline::read(text.as_bytes()).unwrap();
        let tree = EntryTree::of(&timeline, &profile, None).unwrap();
        let short: Vec<f64> = (tree.nodes.iter().skip(1))
            .filter(|node| {
                let name = &tree.kinds[node.kind as usize].name;
                *name == KindName::Event("Short".to_owned())
            })
            .map(|node| node.own)
            .collect();
        assert_eq!(short, [60.0 * 1_100.0]);
    }
}
