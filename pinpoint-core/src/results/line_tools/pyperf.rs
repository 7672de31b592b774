//! The output of pyperf.
//!
//! ```text
//! sort: Mean +- std dev: 423 ns +- 6 ns
//! ```
//!
//! One chart for each benchmark, named by it, or `mean` where pyperf prints no name. Checked with
//! pyperf 2.11.

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
        less("Mean +- std dev: {value} {unit} +- {} {}", "mean", "us"),
    ],
    own: &["* the {}", "* Not enough samples {}", "Benchmark run by {}"],
    ..Tool::NONE
};
