//! The output of fio, 3.0 or later.
//!
//! ```text
//! rw: (groupid=0, jobs=1): err= 0: pid=3238: Sat Nov 28 09:54:37 2026
//!   read: IOPS=8066, BW=31.5MiB/s (33.0MB/s)(968KiB/30msec)
//!      lat (usec): min=75, max=271, avg=109.74, stdev=24.05
//! ```
//!
//! Three charts for each direction of a job, `read IOPS`, `read bandwidth` and `read latency`; of
//! several jobs, `rw read IOPS`. Checked with fio 3.33.

use super::description::{Tool, less, more};

pub(super) const TOOL: Tool = Tool {
    name: "fio",
    signs: &["fio-{}", "{}: (groupid={}, jobs={}): err={}: pid={}"],
    figures: &[
        more("{}: IOPS={value}{unit?}, BW={}", "IOPS", "ops/s"),
        more("{}: IOPS={}, BW={value}{unit} {}", "bandwidth", "MiB/s"),
        less(
            "lat ({unit}): min={}, max={}, avg={value}, stdev={}",
            "latency",
            "us",
        ),
    ],
    title: Some("{name}: (groupid={}, jobs={}): err={}: {}"),
    section: Some("{name}: IOPS={}, BW={}"),
    warnings: &[
        "{}: (groupid={}, jobs={}): err={value}: {}",
        "{}: (groupid={}, jobs={}): err= {value}: {}",
    ],
    own: &[
        "{}: (g={}): rw={}",
        "{}: Laying out IO file {}",
        "Jobs: {}",
        "clat ({}): {}",
        "slat ({}): {}",
        "sync ({}): {}",
        "clat percentiles {}",
        "lat percentiles {}",
        "| {}",
        "lat ({}) : {}",
        "cpu : {}",
        "bw ({}): {}",
        "iops : {}",
        "IO depths : {}",
        "submit : {}",
        "complete : {}",
        "issued rwts: {}",
        "latency : {}",
        "READ: bw={}",
        "WRITE: bw={}",
        "TRIM: bw={}",
        "{}: ios={}",
    ],
    units: &[("", "ops/s"), ("k", "Kops/s"), ("M", "Mops/s")],
    ..Tool::NONE
};
