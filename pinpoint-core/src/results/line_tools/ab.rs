//! The output of ApacheBench, `ab`.
//!
//! ```text
//! Requests per second:    1007.60 [#/sec] (mean)
//! Time per request:       3.970 [ms] (mean)
//! Time per request:       0.992 [ms] (mean, across all concurrent requests)
//! ```
//!
//! Its Kbytes are 1024 bytes. Checked with ab 2.3 of Apache 2.4.

use super::description::{Tool, less, more};

pub(super) const TOOL: Tool = Tool {
    name: "ab",
    signs: &["This is ApacheBench, {}"],
    figures: &[
        more(
            "Requests per second: {value} [#/sec] (mean)",
            "Requests per second",
            "requests/s",
        ),
        less(
            "Time per request: {value} [ms] (mean)",
            "Time per request",
            "ms",
        ),
        less(
            "Time per request: {value} [ms] (mean, across all concurrent requests)",
            "Time per request, concurrent",
            "ms",
        ),
        more(
            "Transfer rate: {value} [Kbytes/sec] received",
            "Transfer rate",
            "KiB/s",
        ),
        less("{name}% {value}", "Served within {name}%", "ms"),
    ],
    headlines: &["Requests per second"],
    warnings: &["Failed requests: {value}", "Non-2xx responses: {value}"],
    own: &[
        "Time taken for tests: {}",
        "Document Length: {}",
        "Total transferred: {}",
        "HTML transferred: {}",
        "Total body sent: {}",
        "Connect: {}",
        "Processing: {}",
        "Waiting: {}",
        "Total: {}",
        "100% {} (longest request)",
        "{} [Kbytes/sec] {}",
        "(Connect: {}",
        "Benchmarking {}",
    ],
    ..Tool::NONE
};
