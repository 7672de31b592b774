//! The findings of a format in an output.

use std::collections::BTreeMap;

use crate::Series;

/// The charts of an output: those with values, and those whose measurement failed.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// The values of each chart: at least one, and all of them finite.
    pub charts: BTreeMap<String, Series>,
    /// The charts without a value that is certain, each with the reason in words: the output says
    /// that a measurement failed (`its command exited with 139`), or gives a name twice where each
    /// stands once, or two units that can't be converted. None of them is in `charts`, even if the
    /// output gives other values for it: half of its values would pass for all of them.
    pub failed: BTreeMap<String, String>,
    /// Remarks on the charts for the answer: a sentence each, without its period.
    pub remarks: Vec<String>,
    pub(super) lines: ReadLines,
    /// A remark on each chart whose values have few digits. That on the tool's own result is in
    /// `remarks`, too.
    pub(super) coarse: BTreeMap<String, String>,
    /// The chart that is the tool's own result, beside others.
    pub(super) headline: Option<String>,
}

/// The lines of a text that a reader looked at, by their indices from 0, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ReadLines {
    /// Those that are the tool's own.
    pub(super) known: Vec<usize>,
    /// Those that stand in a result's place and do not look like one.
    pub(super) garbled: Vec<usize>,
}
