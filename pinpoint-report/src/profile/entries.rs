//! The comparison of the timelines of all runs, in columns.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use pinpoint_core::profile::{EntryComparison, EntryGroup};
use serde::Serialize;

use super::chart::call_id;
use super::data::{CallerPaths, Differences, FunctionTable};
use crate::foreign::clean;

/// See `scripts/all_runs.js`.
#[derive(Debug, Serialize)]
pub(super) struct Entries {
    /// The number of threads of a run on each track.
    threads: Vec<usize>,
    kinds: EntryKinds,
    own: OfKinds,
    paths: EntryPaths,
    caller_paths: CallerPaths,
    groups: BTreeMap<&'static str, TrackGroups>,
}

/// The common properties of entries on a track.
#[derive(Debug, Default, Serialize)]
struct EntryKinds {
    track: Vec<usize>,
    id: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct OfKinds {
    kind: Vec<usize>,
    #[serde(flatten)]
    differences: Differences,
}

#[derive(Debug, Default, Serialize)]
struct EntryPaths {
    /// The row of the enclosing path; -1 for the outermost.
    within: Vec<i64>,
    kind: Vec<usize>,
    #[serde(flatten)]
    differences: Differences,
}

#[derive(Debug, Default, Serialize)]
struct TrackGroups {
    track: Vec<usize>,
    name: Vec<String>,
    #[serde(flatten)]
    differences: Differences,
    /// The kinds that are in several groups.
    split: Vec<usize>,
    parts: Parts,
}

/// The costs of kinds in a group.
#[derive(Debug, Default, Serialize)]
struct Parts {
    kind: Vec<usize>,
    name: Vec<String>,
    #[serde(flatten)]
    differences: Differences,
}

impl TrackGroups {
    fn push<T>(&mut self, name: &str, group: &EntryGroup<T>) {
        self.track.push(group.track);
        self.name.push(clean(name).into_owned());
        self.differences.push(&group.own, group.adjusted_p);
    }
}

impl Entries {
    pub(super) fn from_comparison(
        compared: &EntryComparison,
        functions: &mut FunctionTable,
    ) -> Self {
        let mut kinds = Kinds {
            places: HashMap::new(),
            listed: EntryKinds::default(),
        };
        let mut own = OfKinds::default();
        for group in &compared.own {
            own.kind.push(kinds.place(group.of, compared, functions));
            own.differences.push(&group.own, group.adjusted_p);
        }
        let mut paths = EntryPaths::default();
        let mut rows: HashMap<usize, i64> = HashMap::from([(0, -1)]);
        for path in &compared.paths {
            let node = &compared.tree.nodes[path.stack];
            // An entry with a negative cost may cost less than its callees.
            let Some(within) = rows.get(&node.parent).copied() else {
                continue;
            };
            rows.insert(path.stack, paths.within.len() as i64);
            paths.within.push(within);
            paths
                .kind
                .push(kinds.place(node.function, compared, functions));
            paths.differences.push(&path.total, path.adjusted_p);
        }
        let place = |kind| kinds.place(kind, compared, functions);
        let caller_paths = CallerPaths::from_changes(&compared.caller_paths, place);
        let mut groups: BTreeMap<&'static str, TrackGroups> = BTreeMap::new();
        for of in &compared.groups {
            let columns = groups.entry(of.grouping.as_str()).or_default();
            for group in &of.groups {
                columns.push(&group.of, group);
            }
            let mut place = |kind| kinds.place(kind, compared, functions);
            columns.split = of.split.iter().map(|kind| place(*kind)).collect();
            for part in &of.parts {
                let (kind, name) = &part.of;
                columns.parts.kind.push(place(*kind));
                columns.parts.name.push(clean(name).into_owned());
                columns.parts.differences.push(&part.own, part.adjusted_p);
            }
        }
        let columns = groups.entry("category").or_default();
        for group in &compared.categories {
            columns.push(group.of.as_str(), group);
        }
        Self {
            threads: compared.tracks.iter().map(|it| it.threads).collect(),
            kinds: kinds.listed,
            own,
            paths,
            caller_paths,
            groups,
        }
    }
}

/// The kinds of entries that are written, each once.
struct Kinds {
    places: HashMap<usize, usize>,
    listed: EntryKinds,
}

impl Kinds {
    fn place(&mut self, kind: usize, of: &EntryComparison, functions: &mut FunctionTable) -> usize {
        let next = self.listed.id.len();
        let place = *self.places.entry(kind).or_insert(next);
        if place == next {
            let kind = &of.kinds[kind];
            self.listed.track.push(kind.track);
            self.listed.id.push(match kind.function {
                Some(function) => call_id(functions.place(function)),
                None => clean(&kind.id).into_owned(),
            });
        }
        place
    }
}
