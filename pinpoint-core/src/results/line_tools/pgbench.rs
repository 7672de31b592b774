//! The output of PostgreSQL's pgbench.
//!
//! ```text
//! latency average = 1.740 ms
//! initial connection time = 5.811 ms
//! tps = 1149.557420 (without initial connection time)
//! ```
//!
//! Checked with pgbench 15; earlier ones say `excluding connections establishing`.

use super::description::{Tool, less, more};

pub(super) const TOOL: Tool = Tool {
    name: "pgbench",
    signs: &["transaction type: {}\nscaling factor: {}"],
    figures: &[
        more(
            "tps = {value} (without initial connection time)",
            "tps",
            "transactions/s",
        ),
        more(
            "tps = {value} (excluding connections establishing)",
            "tps",
            "transactions/s",
        ),
        more(
            "tps = {value} (including reconnection times)",
            "tps",
            "transactions/s",
        ),
        more(
            "tps = {value} (including connections establishing)",
            "tps with connecting",
            "transactions/s",
        ),
        less("latency average = {value} ms", "latency average", "ms"),
        less("latency average: {value} ms", "latency average", "ms"),
    ],
    headlines: &["tps"],
    warnings: &["number of failed transactions: {value} ({}"],
    own: &[
        "progress: {}",
        "latency stddev {}",
        "initial connection time = {}",
        "average connection time = {}",
        "duration: {}",
        "number of {}",
        "rate limit schedule lag: {}",
        "SQL script {}",
        "- {}",
        "{value} {}",
        "{} of {} tuples {}",
        "done in {}",
    ],
    ..Tool::NONE
};
