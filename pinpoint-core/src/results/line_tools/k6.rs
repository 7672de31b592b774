//! The summary of k6.
//!
//! ```text
//! http_req_duration..............: avg=1.17ms   min=264.58µs med=798.87µs max=48.17ms p(90)=2.08ms   p(95)=3.06ms
//!   { expected_response:true }...: avg=1.17ms   min=264.58µs med=798.87µs max=48.17ms p(90)=2.08ms   p(95)=3.06ms
//! http_reqs......................: 48450   2421.506268/s
//! ```
//!
//! One chart for each statistic of a metric, `http_req_duration p(95)`, and the rates of
//! requests and iterations. Those of
//! a part, in braces, are not read. As in the outputs of k6 0.3x to 1.x in public projects; k6 was
//! not run.

use super::description::{Tool, less, more};

pub(super) const TOOL: Tool = Tool {
    name: "k6",
    signs: &["{mark}{name}{dots}: avg={} min={} med={} max={} {}"],
    figures: &[
        less("{mark}{name}{dots}: avg={time} {}", "{name} avg", "ms"),
        less("{mark}{name}{dots}: {} med={time} {}", "{name} med", "ms"),
        less(
            "{mark}{name}{dots}: {} p(90)={time} {}",
            "{name} p(90)",
            "ms",
        ),
        less(
            "{mark}{name}{dots}: {} p(95)={time} {}",
            "{name} p(95)",
            "ms",
        ),
        less(
            "{mark}{name}{dots}: {} p(99)={time} {}",
            "{name} p(99)",
            "ms",
        ),
        more("{mark}http_reqs{dots}: {} {value}/s", "http_reqs", "1/s"),
        more("{mark}iterations{dots}: {} {value}/s", "iterations", "1/s"),
    ],
    warnings: &[
        "{mark}checks{dots}: {}% ✓ {} ✗ {value}",
        "{mark}http_req_failed{dots}: {}% ✓ {value} ✗ {}",
        "{mark}checks_failed{dots}: {}% {value} out of {}",
        "{mark}http_req_failed{dots}: {}% {value} out of {}",
    ],
    own: &[
        "{}{dots}: {}",
        "running ({}",
        "default {}",
        "{} [{}] {} VUs {}",
        "scenarios: {}",
        "* {}: {} for {}",
        "↳ {}",
        "{} ↳ {}",
        "{} '{}' {}",
    ],
    ..Tool::NONE
};
