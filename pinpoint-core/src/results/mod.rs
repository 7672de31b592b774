//! The results of benchmarks: reading them, and comparing two.
//!
//! A [`Format`] turns bytes into values by chart, or into a [`ReadError`] that
//! names the place. There is nothing in between: an output that is damaged
//! anywhere gives no values at all, because half a result looks like a whole
//! one to every statistic. An [`Aggregate`](crate::Aggregate) makes one number of many.
//!
//! Everything here is pure. Each format has a file of its own with one
//! function, `read`; [`Format`] is the list of them.

mod catch2;
mod charts;
mod chromium;
mod chromium_by_name;
mod compare;
mod criterion;
pub(crate) mod document;
mod error;
mod format;
mod go_benchmark;
mod google_benchmark;
mod hyperfine;
mod jmh;
mod json;
mod lines;
mod number;
mod pattern;
mod pytest_benchmark;
mod recognise;
mod talos;
#[cfg(test)]
mod tests;

pub use compare::{
    Change, CompareOptions, CompareResultsError, ComparedChart, ResultsComparison, SampleSummary,
    compare,
};
pub use criterion::is_criterion_result;
pub use error::{FormatError, Place, ReadError};
pub use format::{Format, Output};
pub use json::JsonPointer;
pub use pattern::LinePattern;

/// The name of a value when neither the format nor the output gives one.
const UNNAMED: &str = "value";
