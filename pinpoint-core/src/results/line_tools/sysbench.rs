//! The output of sysbench.
//!
//! ```text
//! CPU speed:
//!     events per second:  3362.30
//! Latency (ms):
//!          avg:                                    0.30
//! ```
//!
//! Checked with sysbench 1.0.20: cpu, memory, fileio, mutex and a script in Lua; databases are as
//! documented.

use super::description::{Tool, less, more};

pub(super) const TOOL: Tool = Tool {
    name: "sysbench",
    signs: &["sysbench {} (using {}LuaJIT {}"],
    figures: &[
        more(
            "events per second: {value}",
            "events per second",
            "events/s",
        ),
        more("events/s (eps): {value}", "events per second", "events/s"),
        more(
            "transactions: {} ({value} per sec.)",
            "transactions",
            "transactions/s",
        ),
        more("queries: {} ({value} per sec.)", "queries", "queries/s"),
        more("{} transferred ({value} {unit})", "transferred", "MiB/s"),
        more("reads/s: {value}", "reads", "reads/s"),
        more("writes/s: {value}", "writes", "writes/s"),
        more("fsyncs/s: {value}", "fsyncs", "fsyncs/s"),
        more("read, MiB/s: {value}", "read", "MiB/s"),
        more("written, MiB/s: {value}", "written", "MiB/s"),
        less("avg: {value}", "average latency", "ms"),
        less(
            "{name}th percentile: {value}",
            "{name}th percentile of latency",
            "ms",
        ),
    ],
    headlines: &["events per second", "transactions", "transferred"],
    // Of a script of one's own, and of mutex, no rate is printed.
    otherwise: Some("average latency"),
    warnings: &["ignored errors: {value} ({}"],
    own: &[
        "Total operations: {}",
        "total time: {}",
        "time elapsed: {}",
        "total number of events: {}",
        "min: {}",
        "max: {}",
        "sum: {}",
        "block size: {}",
        "total size: {}",
        "Block size {}",
        "{} total file size",
        "{} files, {} each",
        "events (avg/stddev): {}",
        "execution time (avg/stddev): {}",
        "reconnects: {}",
        "[ {} ] thds: {}",
    ],
    ..Tool::NONE
};
