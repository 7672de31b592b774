//! The tables that need no script: functions, threads, categories, the path of the change,
//! guesses.

use maud::{Markup, html};
use pinpoint_core::profile::{
    Change, Explanation, FunctionChange, PartChange, ProfileUnit, Verdict,
};

use crate::foreign::Foreign;
use crate::quantity::{count, p_value};
use crate::text::name;
use crate::words::explanation as words;

/// At most this many functions are in the table. There are no more with at least 0.1 % of
/// a side by themselves.
const MAX_FUNCTIONS: usize = 2_000;

pub(super) fn section(explanation: &Explanation) -> Markup {
    let functions = explanation
        .functions
        .get(..MAX_FUNCTIONS)
        .unwrap_or(&explanation.functions);
    let differ = (functions.iter().enumerate()).filter(|(_, function)| !is_equal(function));
    let differ: Vec<_> = differ.collect();
    let equal = functions.len() - differ.len();
    html! {
        section #functions {
            h2 { "Functions" }
            @if let Some(sentence) = words::detectable(explanation)
                .filter(|_| explanation.certain().next().is_none())
            {
                p { (sentence) "." }
            }
            (path(explanation))
            p.facts { (how(explanation)) }
            div.bar.tools {}
            div.wide {
                table {
                    thead { (head(explanation)) }
                    tbody { @for (row, function) in differ { (line(row, function, explanation)) } }
                }
            }
            @if equal > 0 {
                p.note { (count(equal as u64, "function")) " without a difference, with or without callees." }
            }
            (rest(explanation))
            @for sentence in words::moved(explanation) { p { "Moved: " (Foreign(&sentence)) "." } }
            @for guess in &explanation.renamed {
                @let [guess, names] = words::renamed(guess);
                p {
                    "Probably renamed: " (Foreign(&guess)) ". "
                    span.note { "If so, explain them as the same function: " code { (Foreign(&names)) } "." }
                }
            }
        }
    }
}

/// At most this many functions stand where the table of all is elsewhere.
const MOST_SUMMED_UP: usize = 20;

/// The functions whose difference is certain.
pub(super) fn certain(explanation: &Explanation) -> Markup {
    let certain: Vec<&FunctionChange> = explanation.certain().collect();
    let shown = certain.get(..MOST_SUMMED_UP).unwrap_or(&certain);
    html! {
        @if !shown.is_empty() {
            div.wide {
                table {
                    thead { (head(explanation)) }
                    tbody { @for (row, function) in shown.iter().enumerate() { (line(row, function, explanation)) } }
                }
            }
        }
        @if certain.len() > shown.len() {
            p.note { (count((certain.len() - shown.len()) as u64, "function")) " more." }
        }
    }
}

/// The difference by thread and by category.
pub(super) fn parts(explanation: &Explanation) -> Markup {
    let tables = [
        ("Thread", &explanation.threads),
        ("Category", &explanation.categories),
    ];
    let tables = tables.map(|(what, parts)| (what, parts.as_slice()));
    html! {
        @if tables.iter().any(|(_, parts)| parts.len() > 1) {
            section #parts {
                h2 { "Threads and categories" }
                @for (what, parts) in tables.into_iter().filter(|(_, parts)| parts.len() > 1) {
                    div.wide { (table_of(what, parts, &explanation.unit)) }
                }
            }
        }
    }
}

fn table_of(what: &str, parts: &[PartChange], unit: &ProfileUnit) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th scope="col" { (what) }
                    @for name in CELLS { th.number scope="col" { (name) } }
                }
            }
            tbody {
                @for part in parts {
                    tr.(if part.is_certain { "certain" } else { "uncertain" }) {
                        th scope="row" { (Foreign(&name(&part.name))) }
                        (cells(&part.own, part.adjusted_p, unit))
                    }
                }
            }
        }
    }
}

fn path(explanation: &Explanation) -> Markup {
    html! {
        @if !explanation.path.is_empty() {
            nav aria-label="The path of the change" {
                ol.path {
                    @for step in &explanation.path {
                        li {
                            (Foreign(&name(&step.name))) " "
                            span.note { (words::signed(step.difference, &explanation.unit)) }
                        }
                    }
                }
            }
            @if let Some(rest) = words::spread(explanation) { p.note { "Of the whole difference, " (rest) "." } }
        }
    }
}

/// Returns whether there is no difference, with callees or without.
fn is_equal(function: &FunctionChange) -> bool {
    let is_zero = |change: &Change| {
        let interval = change.interval;
        words::shown(change) == 0.0 && interval.is_none_or(|it| it.low == 0.0 && it.high == 0.0)
    };
    matches!(function.verdict, Verdict::Uncertain)
        && is_zero(&function.own)
        && is_zero(&function.total)
}

/// A description of the columns.
fn how(explanation: &Explanation) -> &'static str {
    match (explanation.exact, explanation.tested) {
        (true, _) => {
            "Own cost: without what a function calls. Counted, so that any difference is one of the builds."
        }
        (_, true) => {
            "Own cost: without what a function calls. Before and after are means of the runs; the difference is their median shift (Hodges and Lehmann), which single outliers hardly move. Certain is what has an adjusted p of at most 0.05."
        }
        _ => {
            "Own cost: without what a function calls; means of the runs. There are too few runs for p-values and intervals."
        }
    }
}

fn head(explanation: &Explanation) -> Markup {
    let calls = has_calls(explanation).then_some("Calls");
    html! {
        tr {
            th scope="col" { "Function" }
            @for name in CELLS.into_iter().chain(["With callees"]).chain(calls) {
                th.number scope="col" { (name) }
            }
            th scope="col" { "Finding" }
        }
    }
}

/// The columns of `cells`. The difference is also on narrow screens, which show the first columns.
const CELLS: [&str; 5] = [
    "Difference",
    "95 % interval",
    "Before",
    "After",
    "Adjusted p",
];

fn cells(change: &Change, adjusted_p: Option<f64>, unit: &ProfileUnit) -> Markup {
    let [difference, interval] = words::difference(change, unit);
    html! {
        (number(words::shown(change), difference))
        td.number { (interval) }
        (number(change.base, words::amount(change.base, unit)))
        (number(change.experiment, words::amount(change.experiment, unit)))
        @match adjusted_p {
            Some(p) => (number(p, p_value(p))),
            None => td.number { "–" },
        }
    }
}

fn number(value: f64, text: String) -> Markup {
    html! { td.number data-value=(value) { (text) } }
}

fn has_calls(explanation: &Explanation) -> bool {
    (explanation.functions.iter()).any(|function| function.calls.is_some())
}

fn line(row: usize, function: &FunctionChange, explanation: &Explanation) -> Markup {
    let unit = &explanation.unit;
    let total = words::shown(&function.total);
    let place = words::place(&function.function);
    html! {
        tr.(if function.is_certain() { "certain" } else { "uncertain" }) data-row=(row) {
            th scope="row" {
                (Foreign(&name(&function.function.name)))
                @if !place.is_empty() { " " span.place { (Foreign(&place)) } }
            }
            (cells(&function.own, function.adjusted_p, unit))
            (number(total, words::signed(total, unit)))
            @if has_calls(explanation) {
                @match &function.calls {
                    Some(calls) => td.number data-value=(calls.difference) {
                        (format!("{:.0} → {:.0}", calls.base, calls.experiment))
                    },
                    None => td.number { "–" },
                }
            }
            td { (finding(function)) }
        }
    }
}

fn finding(function: &FunctionChange) -> Markup {
    html! {
        @match (words::verdict(&function.verdict), &function.verdict) {
            (Some(verdict), _) => { strong { (verdict) } (Foreign(&words::caller(function))) }
            (None, Verdict::Moved { .. }) => "moved",
            _ => span.note { "may be chance" },
        }
        @if let Some(share) = function.share.filter(|share| function.is_certain() && share.abs() <= 1.5) {
            ", " (words::part(share)) " of it"
        }
        @if let Some(found) = &function.in_diff { " " span.in-diff { (words::in_diff(found.kind)) } }
    }
}

fn rest(explanation: &Explanation) -> Markup {
    let rest = explanation.rest;
    let more = explanation.functions.len().saturating_sub(MAX_FUNCTIONS);
    html! {
        @if rest.functions > 0 {
            p.note {
                (count(rest.functions as u64, "function")) " with less than 0.1 % of both sides: "
                (words::signed(rest.difference, &explanation.unit)) " together."
            }
        }
        @if more > 0 {
            p.note { (count(more as u64, "function")) " more are left out here; the answer as JSON has them." }
        }
    }
}
