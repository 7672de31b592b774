//! Changes of groups of functions.

use std::collections::BTreeMap;

use pinpoint_compare::CompareError;

use super::explanation::PartChange;
use super::runs::Runs;
use super::statistics::{TestedChange, sort, together};
use super::worth::Worth;
use crate::Function;

/// A property by which functions are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Grouping {
    /// The host of the script's URL.
    Domain,
    /// The script's URL.
    Url,
    /// The source file.
    File,
    /// The module.
    Module,
    /// The owner of the code.
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
        let url = if is_url(file) { file } else { "" };
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

/// Returns true if a text begins with a URL's scheme. `about:blank` and `node:fs` have no more than
/// that and a path; a single letter is a drive of Windows, and `a.rs:7` a line.
fn is_url(text: &str) -> bool {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "+-".contains(letter);
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(is_fit)
    })
}

/// The host of a URL; empty where there is none.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The change of each group with at least 0.1 % of a side, by the own costs of its functions.
pub(super) fn of_functions(
    runs: &Runs,
    functions: &[Function],
    grouping: Grouping,
    exact: bool,
) -> Result<Vec<PartChange>, CompareError> {
    let names: Vec<String> = functions.iter().map(|it| grouping.of(it)).collect();
    let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (function, name) in names.iter().enumerate() {
        let values = groups.entry(name);
        let values = values.or_insert_with(|| vec![0.0; runs.all.len()]);
        for (value, run) in values.iter_mut().zip(&runs.all) {
            *value += run.own[function];
        }
    }
    let found = changes(groups, runs, exact)?.into_iter();
    let mut changes: Vec<PartChange> = found
        .map(|(name, found)| PartChange::new(name.to_owned(), found))
        .collect();
    sort(&mut changes);
    Ok(changes)
}

/// The change of each group with at least 0.1 % of a side, given its value for each run, in the
/// order of the groups. All that have as much over all runs are tested.
pub(super) fn changes<T>(
    groups: BTreeMap<T, Vec<f64>>,
    runs: &Runs,
    exact: bool,
) -> Result<Vec<(T, TestedChange)>, CompareError> {
    let worth = Worth::from_runs(runs);
    let (of, tested): (Vec<T>, Vec<Vec<f64>>) = (groups.into_iter())
        .filter(|(_, values)| worth.is_tested(worth.sums(values)))
        .unzip();
    let found = together(tested.iter().map(Vec::as_slice), runs, exact)?;
    let listed = of.into_iter().zip(found).zip(&tested);
    let listed = listed.filter(|(_, values)| worth.is_listed(worth.sums(values)));
    Ok(listed.map(|(found, _)| found).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_a_scheme_are_urls() {
        for (file, url, host) in [
            ("https://a.test/b.js?c", "https://a.test/b.js?c", "a.test"),
            ("about:blank", "about:blank", ""),
            ("node:fs", "node:fs", ""),
            ("C:\\src\\a.c", "", ""),
            ("a.rs:7", "", ""),
            ("src/a:7", "", ""),
            ("<frozen os>", "", ""),
            ("1a:b", "", ""),
            ("", "", ""),
        ] {
            let function = Function::of_event("f", file);
            let by = |grouping: Grouping| grouping.of(&function);
            assert_eq!(by(Grouping::Url), url);
            assert_eq!(by(Grouping::Domain), host);
            assert_eq!(by(Grouping::File), file);
        }
    }
}
