//! Results in words, the same on a page and on a terminal.

mod changes;
mod commits;
pub mod explanation;
mod metric;
mod pairs;
mod search;

use pinpoint_backends::local::doctor::LoopTimes;

pub use changes::{begins_among, expected_alarms, is_worse, what_changed};
pub use commits::{line, repository_name, short};
pub use metric::{metric, metric_facts};
pub use pairs::{described, failures, line_of, row, undecided};
pub use search::{
    alternatives, because, dependency_change, detour, effect, further, how_lost, only_failures,
    other_change, percent, reason, rolled_by, size, why,
};

/// The smallest change that 20 runs can find, in a sentence without its period.
pub fn smallest_change(times: &LoopTimes) -> String {
    format!(
        "20 runs of such work, 10 of each commit, find a change of {:.2} % in 4 of 5 cases",
        100.0 * times.smallest_change
    )
}
