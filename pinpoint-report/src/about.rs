//! The request for the job, and the machine that it ran on.

use bytesize::ByteSize;
use maud::{Markup, html};
use pinpoint_backends::local::Host;
use pinpoint_backends::local::doctor::{Diagnosis, Severity};
use serde_json::Value;

use super::foreign::Foreign;
use super::model::Report;
use crate::command_line::{quoted, without_values};
use crate::quantity::{date, quantity};
use crate::words::smallest_change;

pub(super) fn section(report: &Report) -> Markup {
    html! {
        section {
            h2 { "Setup" }
            @if let Some(command) = &report.config.command_line {
                h3 { "To run it again" }
                pre.command { code { (Foreign(&quoted(&without_values(command.words.clone())))) } }
                // Existing builds are named from anywhere.
                @if report.config.local.as_ref().is_some_and(|local| !local.made) {
                    p { "in " code { (Foreign(&report.job.repository)) } }
                }
            }
            h3 { "Arguments" }
            (table(&arguments(report)))
            h3 { "Machine" }
            (machines(report))
            h3 { "Versions" }
            (table(&versions(report)))
        }
    }
}

fn table(rows: &[(String, String)]) -> Markup {
    html! {
        div.wide { table.facts {
            @for (name, value) in rows {
                tr { th scope="row" { (Foreign(name)) } td { (Foreign(value)) } }
            }
        } }
    }
}

/// The settings of the machine and the executor, under the store's names.
fn arguments(report: &Report) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    collect(&report.job.spec, &mut rows);
    for place in ["local", "luci"] {
        if let Some(settings) = report.job.config.get(place) {
            collect(settings, &mut rows);
        }
    }
    if !report.config.inherited_env.is_empty() {
        let names = report.config.inherited_env.join(", ");
        rows.push(("inherited env".to_owned(), names));
    }
    rows.dedup_by(|later, earlier| later.0 == earlier.0);
    rows
}

/// Names that mean nothing to a person, or are shown elsewhere.
const ELSEWHERE: [&str; 9] = [
    "version",
    "range",
    "sides",
    "priors",
    "retry",
    "good",
    "measure_choice",
    "repository",
    "directions",
];

fn collect(value: &Value, rows: &mut Vec<(String, String)>) {
    let Value::Object(fields) = value else {
        return;
    };
    let shown = fields
        .iter()
        .filter(|(name, _)| !ELSEWHERE.contains(&name.as_str()));
    for (name, value) in shown {
        let is_known = rows
            .iter()
            .any(|(known, _)| *known == name.replace('_', " "));
        // Values of variables may be secrets.
        let names = value.as_object().filter(|_| name == "env").map(|env| {
            let names: Vec<&str> = env.keys().map(String::as_str).collect();
            Value::from(names)
        });
        let value = names.as_ref().unwrap_or(value);
        if name == "bisection" {
            collect(value, rows);
        } else if let (false, Some(text)) = (is_known, words(value)) {
            // The only number that counts bytes.
            let bytes = value.as_u64().filter(|_| name == "cache_size");
            let text = bytes.map_or(text, |bytes| ByteSize(bytes).display().iec().to_string());
            rows.push((name.replace('_', " "), text));
        }
    }
}

/// A value as a person writes it; absent when it is empty.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) => Some("yes".into()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => {
            let texts: Option<Vec<String>> = (items.iter())
                .map(|item| item.as_str().map(str::to_owned))
                .collect();
            Some(texts.map_or_else(|| value.to_string(), |texts| quoted(&texts)))
        }
        Value::Object(fields) if fields.is_empty() => None,
        Value::Object(fields) => {
            let parts: Vec<String> = (fields.iter())
                .filter_map(|(name, value)| Some(format!("{name} {}", words(value)?)))
                .collect();
            Some(parts.join(", "))
        }
    }
}

fn machines(report: &Report) -> Markup {
    html! {
        @if report.config.luci.is_some() {
            p { "Built by Buildbucket, and run by Swarming on bots of " (Foreign(&report.job.bot)) "." }
        } @else if report.sessions.is_empty() {
            p.note { "The machine is unknown: the job did not record it." }
        }
        @for (number, session) in report.sessions.iter().enumerate() {
            @let before = number.checked_sub(1).map(|before| &report.sessions[before].host);
            p {
                @if number == 0 { "Started " } @else { "Resumed " }
                (date(session.began))
                @if let Some([one, five, fifteen]) = session.host.load {
                    ", at a load of " (format!("{one:.2}, {five:.2}, {fifteen:.2}"))
                }
                @if before.is_some_and(|before| is_alike(before, &session.host)) {
                    ", on the same machine"
                }
                "."
            }
            @if !before.is_some_and(|before| is_alike(before, &session.host)) {
                (table(&host(&session.host)))
            }
            @if let Some(diagnosis) = &session.diagnosis {
                (disturbances(diagnosis))
            }
        }
    }
}

/// The disturbances of measurements when a process began to work on the job.
fn disturbances(diagnosis: &Diagnosis) -> Markup {
    let rows: Vec<_> = (diagnosis.findings.iter())
        .map(|finding| {
            let noise = match finding.severity {
                Severity::High => "much noise",
                Severity::Medium => "noise",
                _ => "little noise",
            };
            (noise.to_owned(), finding.seen.clone())
        })
        .collect();
    html! {
        @if let Some(times) = &diagnosis.times {
            p { "In a loop of " (quantity(times.median, Some("s"))) ": " (smallest_change(times)) "." }
        }
        @if rows.is_empty() {
            p { "Nothing that disturbs measurements was found." }
        } @else {
            (table(&rows))
        }
    }
}

fn is_alike(one: &Host, other: &Host) -> bool {
    let without_load = |host: &Host| Host {
        load: None,
        ..host.clone()
    };
    without_load(one) == without_load(other)
}

fn host(host: &Host) -> Vec<(String, String)> {
    let processors = (host.processor.clone())
        .into_iter()
        .chain(host.processors.map(|count| format!("{count} of them")));
    let governors: Vec<&str> = host.governors.iter().map(String::as_str).collect();
    let governor = match &governors[..] {
        [] => "not reported by the system".to_owned(),
        governors => governors.join(", "),
    };
    let rows = [
        ("name", host.name.clone()),
        ("processor", Some(processors.collect::<Vec<_>>().join(", "))),
        (
            "memory",
            host.memory
                .map(|bytes| ByteSize(bytes).display().iec().to_string()),
        ),
        ("system", host.system.clone()),
        ("kernel", host.kernel.clone()),
        ("governor", Some(governor)),
    ];
    rows.into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.filter(|it| !it.is_empty())?)))
        .collect()
}

fn versions(report: &Report) -> Vec<(String, String)> {
    let mut rows = vec![
        (
            "job created by pinpoint".to_owned(),
            report.job.written_by.clone(),
        ),
        (
            "journal".to_owned(),
            format!("version {}", report.job.journal_version),
        ),
    ];
    let mut versions: Vec<&str> = (report.sessions.iter())
        .map(|session| session.pinpoint.as_str())
        .collect();
    versions.dedup();
    if !versions.is_empty() {
        rows.push(("run by pinpoint".to_owned(), versions.join(", then ")));
    }
    let mut versions: Vec<&str> = (report.sessions.iter())
        .filter_map(|session| session.git.as_deref())
        .collect();
    versions.dedup();
    if !versions.is_empty() {
        rows.push(("git".to_owned(), versions.join(", then ")));
    }
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_written_as_one_would_say_them() {
        let spec = json!({
            "version": 1,
            "pairs": 30,
            "bisection": { "confidence": 0.95, "magnitude": { "percent": 5.0 }, "max_runs": null },
        });
        let mut rows = Vec::new();
        collect(&spec, &mut rows);
        collect(
            &json!({ "command": ["sh", "-c", "a b"], "env": { "X": "1" }, "skip": [], "chart": "" , "pairs": 9}),
            &mut rows,
        );
        rows.sort();
        let expected = [
            ("command", "sh -c 'a b'"),
            ("confidence", "0.95"),
            ("env", "X"),
            ("magnitude", "percent 5.0"),
            ("pairs", "30"),
        ];
        assert_eq!(
            rows,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}
