//! The table of mitata.
//!
//! ```text
//! benchmark                   avg (min … max) p75 / p99    (min … top 1%)
//! ------------------------------------------- -------------------------------
//! sum of 100                    64.83 ns/iter  78.91 ns █
//!                      (51.95 ns … 151.69 ns) 101.60 ns █
//! ```
//!
//! One chart for each benchmark, its average; in a group, `sorting sort 8`. Checked with mitata 0.1
//! and 1.0.

use super::description::{Tool, less};

pub(super) const TOOL: Tool = Tool {
    name: "mitata",
    signs: &[
        "benchmark avg (min … max) {}",
        "benchmark time (avg) (min … max) {}",
    ],
    figures: &[less("{name} {value} {unit}/iter {}", "{name}", "ns")],
    section: Some("• {name}"),
    failures: &["{name}  error: {}", "{name}  error"],
    own: &[
        "clk: {}",
        "cpu: {}",
        "({} … {}",
        "{}x faster than {}",
        "{}x slower than {}",
    ],
    ..Tool::NONE
};
