//! The output of pyperf.
//!
//! ```text
//! sort: Mean +- std dev: 423 ns +- 6 ns
//! ```
//!
//! One chart for each benchmark, named by it, or `Mean`. Checked with pyperf 2.9.

use super::description::{Tool, less};

pub(super) const TOOL: Tool = Tool {
    name: "pyperf",
    signs: &[
        "{name}: Mean +- std dev: {value} {unit} +- {}",
        "Mean +- std dev: {value} {unit} +- {}",
    ],
    figures: &[
        less(
            "{name}: Mean +- std dev: {value} {unit} +- {} {}",
            "{name}",
            "us",
        ),
        less("Mean +- std dev: {value} {unit} +- {} {}", "Mean", "us"),
    ],
    own: &["* the {}", "* Not enough samples {}", "Benchmark run by {}"],
    ..Tool::NONE
};
