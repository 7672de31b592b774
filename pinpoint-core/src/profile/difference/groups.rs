//! What moved in functions that belong together.

use std::collections::BTreeMap;

use pinpoint_compare::CompareError;

use super::runs::Runs;
use super::statistics::part_changes;
use super::{LEAST_SHARE, PartChange};
use crate::profile::Function;

/// What functions are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grouping {
    /// The host of the script's URL.
    Domain,
    /// The script's URL.
    Url,
    /// The source file.
    File,
    /// The module.
    Module,
    /// Whose code it is.
    Owner,
}

impl Grouping {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Domain,
        Self::Url,
        Self::File,
        Self::Module,
        Self::Owner,
    ];

    /// The group of a function; empty where it has none.
    pub fn of(self, function: &Function) -> String {
        let file = function.file.as_deref().unwrap_or_default();
        let url = if file.contains("://") { file } else { "" };
        match self {
            Self::Domain => host(url).to_owned(),
            Self::Url => url.to_owned(),
            Self::File => file.to_owned(),
            Self::Module => function.module.clone().unwrap_or_default(),
            Self::Owner => function
                .owner
                .as_ref()
                .map_or_else(String::new, ToString::to_string),
        }
    }

    /// A short name: `domain`, `url`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Url => "url",
            Self::File => "file",
            Self::Module => "module",
            Self::Owner => "owner",
        }
    }
}

/// The host of a URL; empty where there is none.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// What moved in each group with at least 0.1 % of a side, by what functions cost by themselves.
pub(super) fn of_functions(
    runs: &Runs,
    functions: &[Function],
    grouping: Grouping,
    exact: bool,
) -> Result<Vec<PartChange>, CompareError> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let groups: Vec<usize> = functions
        .iter()
        .map(|function| {
            let next = places.len();
            *places.entry(grouping.of(function)).or_insert(next)
        })
        .collect();
    let mut values = vec![vec![0.0; runs.all.len()]; places.len()];
    for (place, run) in runs.all.iter().enumerate() {
        for (own, group) in run.own.iter().zip(&groups) {
            values[*group][place] += own;
        }
    }
    let wholes = runs.wholes();
    let is_small = |values: &[f64]| {
        let sides = [0..runs.base, runs.base..values.len()];
        sides.into_iter().all(|side| {
            let sum = |of: &[f64]| of.iter().sum::<f64>();
            sum(&values[side.clone()]) < LEAST_SHARE * sum(&wholes[side])
        })
    };
    let parts = places.into_iter();
    let parts = parts.map(|(name, place)| (name, std::mem::take(&mut values[place])));
    let parts = parts.filter(|(_, values)| !is_small(values));
    part_changes(parts.collect(), runs, exact)
}
