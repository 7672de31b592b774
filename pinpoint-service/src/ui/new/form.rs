//! The form itself.

use maud::{Markup, html};
use pinpoint_report::{Foreign, clean};

use super::fields::{Control, Field, GROUPS, key_of};
use super::look_up;
use super::typed::{FieldProblem, Typed};
use crate::api::grpc::v2::messages::Kind;
use crate::state::Service;
use crate::ui::problems::sentence;
use crate::ui::view::{View, key};

/// The kinds of jobs, each with the question that it answers.
const KINDS: [(Kind, &str, &str); 3] = [
    (
        Kind::Bisection,
        "Bisection",
        "Which commit changed a metric?",
    ),
    (Kind::Pairwise, "Try job", "Do two commits differ?"),
    (
        Kind::CulpritFinder,
        "Culprit finder",
        "Is there a change, which commit made it, and is that certain?",
    ),
];

/// The fields that an estimate depends on.
const ESTIMATED: &str = "kind bot benchmark story direction good bad base experiment commits noise \
                         magnitude confidence strategy attempts first_runs build_cost max_runs \
                         max_builds seed early_stopping";

/// The contents of the form apart from what is typed.
pub(super) struct FormContext<'a> {
    /// Problems of fields.
    pub(super) problems: &'a [FieldProblem],
    /// A problem outside of fields.
    pub(super) problem: Option<&'a str>,
    /// The look-ups: the name of each field, and its result.
    pub(super) found: &'a [(&'static str, Markup)],
    pub(super) estimate: Markup,
    pub(super) commands: Markup,
    pub(super) builds: Markup,
}

/// The whole page.
pub(super) fn page(
    service: &Service,
    view: &View,
    typed: &Typed,
    told: &FormContext<'_>,
) -> Markup {
    let kind = KINDS.iter().find(|it| it.0 == typed.kind);
    html! {
        h1 { "New job" }
        nav.bar aria-label="Kind of job" {
            @for (kind, name, _) in KINDS {
                a.chip href=(format!("/new?{}", typed.query(kind))) data-kind=(key_of(kind))
                    aria-current=[(kind == typed.kind).then_some("true")] { (name) }
            }
        }
        @if let Some((_, _, question)) = kind { p { (question) } }
        @if !service.presets.is_empty() {
            p.bar {
                "Start from a preset: "
                @for preset in service.presets.iter() {
                    a.chip href=(format!("/new?{}", preset_query(&preset.name))) { (Foreign(&preset.name)) }
                }
            }
        }
        (errors(typed, told))
        form.job-form #new method="post" action="/new" autocomplete="off" {
            (view.typed_form())
            (key())
            input type="hidden" name="kind" value=(key_of(typed.kind));
            @for group in GROUPS {
                @let fields: Vec<_> = group.fields(typed.kind).collect();
                @if !fields.is_empty() {
                    @if group.is_folded {
                        // Its group stays open if it has input.
                        details open[fields.iter().any(|it| is_told(typed, told, it))] {
                            summary { (group.title) }
                            div.fields { @for field in &fields { (one(typed, told, field)) } }
                        }
                    } @else {
                        fieldset {
                            legend { (group.title) }
                            div.fields { @for field in &fields { (one(typed, told, field)) } }
                        }
                    }
                }
            }
            section aria-labelledby="cost" {
                h2 #cost { "Estimated cost" }
                // Enter presses the first button of the form: it makes no job.
                p { button name="do" value="look" formnovalidate { "Look up and estimate" } }
                div #estimate role="status" data-source="/new/estimate" data-fields=(ESTIMATED) { (told.estimate) }
                p.bar {
                    button.primary name="do" value="make" { "Start " (kind.map_or("", |it| it.1).to_lowercase()) }
                }
            }
            datalist #bots data-source="/new/bots" data-fields="typed=bot" {
                (look_up::bots(service, typed.get("bot")))
            }
            datalist #benchmarks data-source="/new/benchmarks" data-fields="typed=benchmark" {
                (look_up::benchmarks(service, typed.get("benchmark")))
            }
            datalist #stories data-source="/new/stories" data-fields="benchmark" {
                (look_up::stories(service, typed.get("benchmark")))
            }
            datalist #builds data-source="/new/builds" data-fields="bot" { (told.builds) }
        }
        details #commands {
            summary { "As a command" }
            div data-source="/new/commands" { (told.commands) }
        }
    }
}

fn preset_query(name: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("preset", name).finish()
}

/// All problems, each leading to its field.
fn errors(typed: &Typed, told: &FormContext<'_>) -> Markup {
    let fields = || GROUPS.iter().flat_map(|group| group.fields(typed.kind));
    // In the order of the form.
    let place = |name: &str| fields().position(|field| field.name == name);
    let mut problems: Vec<_> = told.problems.iter().collect();
    problems.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
    html! {
        @if !told.problems.is_empty() || told.problem.is_some() {
            div.errors role="status" {
                @if let Some(problem) = told.problem { p { (Foreign(&sentence(problem))) } }
                @if !told.problems.is_empty() {
                    p { "The job was not created. Please correct these fields:" }
                    ul {
                        @for (name, problem) in problems {
                            li {
                                @match fields().find(|field| field.name == name) {
                                    Some(field) => {
                                        a href=(format!("#f-{name}")) { (field.label) } ": "
                                    }
                                    None => { (Foreign(name)) ": " }
                                }
                                (Foreign(&sentence(problem)))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn problem_of<'a>(told: &FormContext<'a>, field: &Field) -> Option<&'a str> {
    let mut problems = told.problems.iter();
    problems
        .find(|(name, _)| name == field.name)
        .map(|it| &*it.1)
}

fn is_told(typed: &Typed, told: &FormContext<'_>, field: &Field) -> bool {
    let is_default = field.name == "strategy" || typed.get(field.name).is_empty();
    !is_default || problem_of(told, field).is_some()
}

fn one(typed: &Typed, told: &FormContext<'_>, field: &Field) -> Markup {
    let Field {
        name, label, hint, ..
    } = field;
    let value = typed.get(name);
    let problem = problem_of(told, field);
    let found = told.found.iter().find(|it| it.0 == *name).map(|it| &it.1);
    let is_looked_up = matches!(field.control, Control::Commit | Control::Patch);
    let described: Vec<_> = [
        (!hint.is_empty()).then(|| format!("h-{name}")),
        problem.map(|_| format!("e-{name}")),
        is_looked_up.then(|| format!("s-{name}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let described = (!described.is_empty()).then(|| described.join(" "));
    let invalid = problem.map(|_| "true");
    let id = format!("f-{name}");
    let input = |kind: &str, list: Option<&str>, most: u32| {
        html! {
            input id=(id) name=(name) type=(kind) value=(clean(value)) list=[list] maxlength=(most)
                required[field.is_required] aria-describedby=[&described] aria-invalid=[invalid];
        }
    };
    html! {
        div.field {
            label for=(id) {
                (label)
                @if field.is_required { span.soft { " (required)" } }
            }
            @match &field.control {
                // A browser counts the halves of characters that UTF-16 has two of.
                Control::Text(list) => (input("text", *list, if *name == "name" { 2_000 } else { 8_000 })),
                Control::Commit => (input("text", Some("builds"), 200)),
                Control::Patch => (input("text", None, 2_000)),
                Control::Number(least, most) => {
                    input id=(id) name=(name) type="number" step="1" min=(least)
                        max=[(*most <= 10_000).then_some(most)] value=(clean(value))
                        required[field.is_required] aria-describedby=[&described] aria-invalid=[invalid];
                }
                Control::Choice(values) => {
                    select id=(id) name=(name) aria-describedby=[&described] aria-invalid=[invalid] {
                        @for (key, label) in *values {
                            option value=(key) selected[*key == value] { (label) }
                        }
                    }
                }
                Control::Tick => {
                    input id=(id) name=(name) type="checkbox" value="yes" checked[!value.is_empty()]
                        aria-describedby=[&described] aria-invalid=[invalid];
                }
            }
            @if !hint.is_empty() { p.soft id=(format!("h-{name}")) { (hint) } }
            @if let Some(problem) = problem { p.error id=(format!("e-{name}")) { (Foreign(&sentence(problem))) } }
            @if is_looked_up {
                @let (source, fields) = match field.control {
                    Control::Patch => ("/new/patch", format!("name={name}")),
                    _ => ("/new/commit", format!("bot name={name}")),
                };
                div id=(format!("s-{name}")) data-source=(source) data-fields=(fields) {
                    @if let Some(found) = found { (found) }
                }
            }
        }
    }
}
