//! The results of Mozilla's test harnesses: lines with `PERFHERDER_DATA` or `TALOSDATA` in a log.
//!
//! ```text
//! 10:42:17 INFO - PERFHERDER_DATA: {"framework": {"name": "talos"}, "suites": [
//!   {"name": "tp5o", "extraOptions": ["e10s"], "value": 152.1, "lowerIsBetter": true, "subtests": [
//!     {"name": "amazon.com", "value": 148.0, "replicates": [181.0, 149.0, 148.0], "unit": "ms"}]}]}
//! ```
//!
//! (one line in reality). A [`Job`] is what one machine measured: suites with a summary, of subtests
//! with replicates. [`Job::read_all`] reads them with all that stands there, and
//! [`Job::to_perfherder`] and [`Job::to_talosdata`] write them. The format `talos` takes only the
//! charts of a log.
//!
//! `TALOSDATA` is the older form of Talos, a list of tests, whose summaries have statistics. In a
//! log with both kinds of line they say the same, and only `PERFHERDER_DATA` is read.
//!
//! Source: mozilla-central, `testing/talos/talos/output.py` (and its history, for
//! TALOSDATA), and `testing/mozharness/external_tools/performance-artifact-schema.json`.

mod charts;
mod check;
mod counters;
mod details;
mod job;
mod lines;
mod measured;
mod pairs;
mod perfherder;
mod settings;
mod suite_rule;
mod talosdata;
#[cfg(test)]
mod tests;
mod values;

pub(super) use charts::{read, read_by_origin};
pub(super) use lines::recognize;

pub use check::{Discrepancy, Statistic};
pub use counters::{Counter, CounterValue};
pub use details::Details;
pub use job::{Job, Statistics, Subtest, Suite, WriteJobError};
pub use measured::Measured;
pub use settings::{AlertChangeType, OutOfBounds, Settings};
pub use suite_rule::{SuiteRule, SuiteRuleError, SuiteSummary};
pub use values::{MissingValue, TalosValues, UnknownTalosValues};
