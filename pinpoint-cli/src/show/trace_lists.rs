//! Lists of datasets, and of keys and values.

use std::collections::BTreeMap;

use pinpoint_report::quantity::count;
use serde::Serialize;

use super::text::{BOLD, DIM, Text, text};

/// The most values of a key that the text shows.
const MOST_VALUES: usize = 30;

/// A dataset of the store.
#[derive(Debug, Serialize)]
pub(crate) struct KnownDataset {
    pub(crate) dataset: String,
    pub(crate) traces: u64,
    /// Tiles of 128 commits with values.
    pub(crate) tiles: usize,
    /// The number of the newest commit that is known.
    pub(crate) newest_commit: Option<u32>,
    /// The number of the last commit with a value.
    pub(crate) last_value: Option<u32>,
    pub(crate) tries: usize,
    /// Files that wait for their commit.
    pub(crate) waiting: usize,
}

pub(crate) fn datasets(known: &[KnownDataset]) -> Text {
    let wide = known
        .iter()
        .map(|it| it.dataset.len())
        .max()
        .unwrap_or(0)
        .max(7);
    let mut shown = text!(
        "{DIM}{:<wide$}  {:>8}  {:>6}  {:>13}  {:>10}  {:>6}  {:>7}{DIM:#}\n",
        "dataset",
        "traces",
        "tiles",
        "newest commit",
        "last value",
        "tries",
        "waiting"
    );
    let number = |it: Option<u32>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
    for it in known {
        shown = text!(
            "{shown}{BOLD}{:<wide$}{BOLD:#}  {:>8}  {:>6}  {:>13}  {:>10}  {:>6}  {:>7}\n",
            it.dataset,
            it.traces,
            it.tiles,
            number(it.newest_commit),
            number(it.last_value),
            it.tries,
            it.waiting
        );
    }
    shown
}

pub(crate) fn params(traces: u64, counts: &BTreeMap<String, BTreeMap<String, u64>>) -> Text {
    let mut shown = text!("{BOLD}{}{BOLD:#}\n", count(traces, "trace"));
    for (key, values) in counts {
        shown = text!(
            "{shown}\n{BOLD}{key}{BOLD:#}  {DIM}{}{DIM:#}\n",
            count(values.len() as u64, "value")
        );
        let wide = values
            .keys()
            .take(MOST_VALUES)
            .map(String::len)
            .max()
            .unwrap_or(0);
        for (value, traces) in values.iter().take(MOST_VALUES) {
            shown = text!("{shown}  {value:<wide$}  {traces:>8}\n");
        }
        if let more @ 1.. = values.len().saturating_sub(MOST_VALUES) {
            shown = text!(
                "{shown}  and {} (--output json lists all)\n",
                count(more as u64, "more value")
            );
        }
    }
    shown
}
