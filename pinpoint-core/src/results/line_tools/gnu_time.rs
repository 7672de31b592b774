//! The output of GNU's `/usr/bin/time`, with `-v` and without.
//!
//! ```text
//!         Command being timed: "./program"
//!         User time (seconds): 0.08
//!         Elapsed (wall clock) time (h:mm:ss or m:ss): 0:01.04
//!         Maximum resident set size (kbytes): 956
//! ```
//!
//! Its kbytes are 1024 bytes. Checked with GNU time 1.9.

use super::description::{Tool, less};

pub(super) const TOOL: Tool = Tool {
    name: "gnu-time",
    signs: &[
        "Command being timed: {}",
        "{value}user {value}system {time}elapsed {}%CPU {}",
    ],
    figures: &[
        less(
            "Elapsed (wall clock) time (h:mm:ss or m:ss): {time}",
            "elapsed",
            "s",
        ),
        less("User time (seconds): {value}", "user", "s"),
        less("System time (seconds): {value}", "system", "s"),
        less(
            "Maximum resident set size (kbytes): {value}",
            "max resident set size",
            "KiB",
        ),
        less("{}user {}system {time}elapsed {}%CPU {}", "elapsed", "s"),
        less("{value}user {}system {}elapsed {}%CPU {}", "user", "s"),
        less("{}user {value}system {}elapsed {}%CPU {}", "system", "s"),
        less(
            "{}elapsed {}%CPU ({}avgdata {value}maxresident)k",
            "max resident set size",
            "KiB",
        ),
    ],
    headlines: &["elapsed"],
    title: Some("Command being timed: \"{name}\""),
    warnings: &[
        "Command exited with non-zero status {value}",
        "Command terminated by signal {value}",
    ],
    own: &[
        "Percent of CPU this job got: {}",
        "{}inputs+{}outputs ({}pagefaults {}swaps",
        "{} (kbytes): {}",
    ],
    ..Tool::NONE
};
