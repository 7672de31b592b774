//! A try beside the history.

use pinpoint_report::quantity::{count, digits};
use pinpoint_traces::{Try, TryReport};

use super::text::{BOLD, DIM, ERROR, GOOD, Text, text};

pub(crate) fn render(tried: &Try, report: &TryReport, worst: usize) -> Text {
    let traces = count(report.traces.len() as u64, "trace");
    let mut shown = text!(
        "{BOLD}try {}/{}{BOLD:#}: {traces}, the worst first\n",
        tried.issue,
        tried.patchset
    );
    if !report.traces.is_empty() {
        shown = text!(
            "{shown}\n{DIM}{:>10}  {:>12}  trace{DIM:#}\n",
            "deviations",
            "value"
        );
    }
    for it in report.traces.iter().take(worst) {
        let deviation = signed(it.deviation);
        let (value, trace) = (digits(it.value), &it.trace);
        shown = match it.badness() {
            bad if bad >= 3.0 => {
                text!("{shown}{ERROR}{deviation:>10}{ERROR:#}  {value:>12}  {trace}\n")
            }
            good if good <= -3.0 => {
                text!("{shown}{GOOD}{deviation:>10}{GOOD:#}  {value:>12}  {trace}\n")
            }
            _ => text!("{shown}{deviation:>10}  {value:>12}  {trace}\n"),
        };
    }
    shown = and_more(shown, report.traces.len(), worst, "trace");
    if !report.params.is_empty() {
        shown = text!(
            "{shown}\n{DIM}{:>10}  {:>8}  key=value{DIM:#}\n",
            "mean",
            "traces"
        );
    }
    for it in report.params.iter().take(worst) {
        let mean = signed(it.deviation);
        shown = text!(
            "{shown}{mean:>10}  {:>8}  {}={}\n",
            it.traces,
            it.key,
            it.value
        );
    }
    shown = and_more(shown, report.params.len(), worst, "key=value");
    if let Some(first) = report.left_out.first() {
        let left_out = count(report.left_out.len() as u64, "trace");
        shown = text!(
            "{shown}\n{left_out} with fewer than 4 earlier values left out, such as {first}\n"
        );
    }
    shown
}

fn signed(deviation: f64) -> String {
    format!("{deviation:+.2}")
}

fn and_more(shown: Text, all: usize, worst: usize, one: &str) -> Text {
    match all.saturating_sub(worst) {
        0 => shown,
        more => text!(
            "{shown}  and {} (--worst N)\n",
            count(more as u64, &format!("more {one}"))
        ),
    }
}
