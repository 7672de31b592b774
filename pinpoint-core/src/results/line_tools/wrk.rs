//! The output of wrk, and of wrk2, which is alike.
//!
//! ```text
//!   Thread Stats   Avg      Stdev     Max   +/- Stdev
//!     Latency     4.02ms    1.87ms  16.03ms   74.85%
//! Requests/sec:    977.26
//! Transfer/sec:    181.33KB
//! ```
//!
//! Its KB are 1024 bytes. wrk2 is told how many requests to send in a second, so that they are not
//! its result. Checked with wrk 4.1; wrk2 is as documented.

use super::description::{Figure, Tool, less, more};

const FIGURES: &[Figure] = &[
    more("Requests/sec: {value}", "Requests/sec", "requests/s"),
    more("Transfer/sec: {value}{unit}", "Transfer/sec", "KiB/s"),
    less("Latency {time} {time} {}%", "Latency", "ms"),
    less("{name}% {time}", "Latency {name}%", "ms"),
];

pub(super) const TOOL: Tool = Tool {
    name: "wrk",
    signs: &["Thread Stats Avg Stdev Max +/- Stdev"],
    figures: FIGURES,
    headlines: &["Requests/sec"],
    warnings: &[
        "Non-2xx or 3xx responses: {value}",
        "Socket errors: connect {value}, {}",
        "Socket errors: connect {}, read {value}, {}",
        "Socket errors: connect {}, write {value}, {}",
        "Socket errors: connect {}, timeout {value}",
    ],
    own: &[
        "Running {} test @ {}",
        "Req/Sec {}",
        "{} requests in {}, {} read",
    ],
    units: &[
        ("B", "B/s"),
        ("KB", "KiB/s"),
        ("MB", "MiB/s"),
        ("GB", "GiB/s"),
        ("TB", "TiB/s"),
    ],
    ..Tool::NONE
};

pub(super) const WRK2: Tool = Tool {
    name: "wrk2",
    signs: &["Thread calibration: {}"],
    headlines: &[],
    own: &[
        "Running {} test @ {}",
        "Req/Sec {}",
        "{} requests in {}, {} read",
        "Thread calibration: {}",
        "{value} {value} {value} {value}",
        "#[{}",
    ],
    ..TOOL
};
