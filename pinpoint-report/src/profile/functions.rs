//! The tables that need no script: functions, the path of the change, guesses.

use maud::{Markup, html};
use pinpoint_core::profile::{Change, Explanation, FunctionChange, Verdict};

use crate::foreign::Foreign;
use crate::quantity::{count, p_value};
use crate::text::name;
use crate::words::explanation as words;

/// At most this many functions are in the table. There are no more with at least 0.1 % of
/// a side by themselves.
const MOST: usize = 2_000;

pub(super) fn section(explanation: &Explanation) -> Markup {
    let functions = explanation
        .functions
        .get(..MOST)
        .unwrap_or(&explanation.functions);
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
                    tbody { @for (row, function) in functions.iter().enumerate() { (line(row, function, explanation)) } }
                }
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

/// What the columns are.
fn how(explanation: &Explanation) -> &'static str {
    match (explanation.exact, explanation.tested) {
        (true, _) => {
            "Own cost: without what a function calls. Counted, so that any difference is one of the builds."
        }
        (_, true) => {
            "Own cost: without what a function calls; means of the runs. Certain is what has an adjusted p of at most 0.05."
        }
        _ => {
            "Own cost: without what a function calls; means of the runs. There are too few runs for p-values."
        }
    }
}

fn head(explanation: &Explanation) -> Markup {
    let has_calls = has_calls(explanation);
    let mut names = vec!["Before", "After", "Difference", "95 % interval"];
    names.extend(["Adjusted p", "With callees"]);
    if has_calls {
        names.push("Calls");
    }
    html! {
        tr {
            th scope="col" { "Function" }
            @for name in names { th.number scope="col" { (name) } }
            th scope="col" { "Finding" }
        }
    }
}

fn has_calls(explanation: &Explanation) -> bool {
    (explanation.functions.iter()).any(|function| function.calls.is_some())
}

fn line(row: usize, function: &FunctionChange, explanation: &Explanation) -> Markup {
    let unit = &explanation.unit;
    let Change {
        base, experiment, ..
    } = function.own;
    let shown = words::shown(&function.own);
    let number = |value: f64, text: String| html! { td.number data-value=(value) { (text) } };
    let place = words::place(&function.function);
    html! {
        tr.(if function.is_certain() { "certain" } else { "uncertain" }) data-row=(row) {
            th scope="row" {
                (Foreign(&name(&function.function.name)))
                @if !place.is_empty() { " " span.place { (Foreign(&place)) } }
            }
            (number(base, words::amount(base, unit)))
            (number(experiment, words::amount(experiment, unit)))
            (number(shown, words::signed(shown, unit)))
            td.number { (words::interval(&function.own, unit)) }
            @match function.adjusted_p {
                Some(p) => (number(p, p_value(p))),
                None => td.number { "–" },
            }
            (number(function.total.difference, words::signed(function.total.difference, unit)))
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
    let more = explanation.functions.len().saturating_sub(MOST);
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
