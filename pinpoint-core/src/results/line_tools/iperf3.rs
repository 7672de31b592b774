//! The output of iperf3's client.
//!
//! ```text
//! [  5]   0.00-2.00   sec  3.60 GBytes  15.5 Gbits/sec   28             sender
//! [  5]   0.00-2.00   sec  3.60 GBytes  15.5 Gbits/sec                  receiver
//! ```
//!
//! Two charts, `sender` and `receiver`: of several streams, their sum, which stands below them.
//! The lines of each second are not read, nor is an output
//! without its last line, `iperf Done.`, which may end before the sum. Checked with iperf3 3.12.

use super::description::{Figure, Tool, less, more};

const fn last(figure: Figure) -> Figure {
    Figure {
        is_last: true,
        ..figure
    }
}

pub(super) const TOOL: Tool = Tool {
    name: "iperf3",
    signs: &["Connecting to host {}, port {}\n[{}] local {} port {} connected to {}"],
    figures: &[
        last(more(
            "[{}] {}-{} sec {} {} {value} {unit} {} sender",
            "sender",
            "Mbit/s",
        )),
        last(more(
            "[{}] {}-{} sec {} {} {value} {unit} {} receiver",
            "receiver",
            "Mbit/s",
        )),
        last(less(
            "[{}] {}-{} sec {} {} {} {} {value} ms {}/{} ({}%) receiver",
            "jitter",
            "ms",
        )),
    ],
    title: Some("Connecting to host {name}, port {}"),
    own: &["[{}] {}-{} sec {}", "CPU Utilization: {}"],
    end: Some("iperf Done."),
    units: &[
        ("KBytes/sec", "KiB/s"),
        ("MBytes/sec", "MiB/s"),
        ("GBytes/sec", "GiB/s"),
    ],
    ..Tool::NONE
};
