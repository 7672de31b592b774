//! The page: its layout and its parts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::foreign::{Foreign, clean};
use super::model::Report;
use super::picture;
use super::{about, answer, builds, pairs, runs, search};
use crate::quantity::{count, date, duration};
use crate::{ReportError, profile, words};
use pinpoint_core::JobKind;
use pinpoint_core::job::JobResult;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");

/// The content security policy of every report, which it also contains. It blocks any script or
/// request that slipped through everything else.
pub fn content_security_policy() -> String {
    policy_for(SCRIPT)
}

/// The head of a page with this title, these styles beside that of all reports, and this script alone.
pub(super) fn head(title: &str, styles: &[&str], script: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy_for(script));
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            link rel="icon" href="data:,";
            title { (clean(title)) }
            style {
                (PreEscaped(STYLE))
                @for style in styles { (PreEscaped(style)) }
            }
        }
    }
}

/// The policy of a page that has this script alone.
fn policy_for(script: &str) -> String {
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        STANDARD.encode(Sha256::digest(script))
    )
}

pub(super) fn page(
    report: &Report,
    explanation: Option<&profile::Section>,
) -> Result<String, ReportError> {
    let answer = answer::answer(report);
    let what = match report.kind {
        JobKind::Bisection => "Bisection",
        JobKind::Pairwise => "Pairwise comparison",
        _ => "Culprit finder",
    };
    let title = format!("{} – {what} {}", answer.word, report.job.id);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &[&picture::style()], SCRIPT))
            body {
                header {
                    p.kind { (what) " " span.tone.(answer.tone) { (answer.word) } }
                    h1 #answer { (answer.sentence) }
                    @if let Some(metric) = report.result.as_ref().and_then(JobResult::metric) {
                        p.facts #metric { "Metric: " (Foreign(&words::metric(metric))) "." }
                    }
                    p.facts { (facts(report)) }
                    @for warning in &report.warnings {
                        p.note { "Warning: " (Foreign(warning)) "." }
                    }
                    @for missing in &report.missing {
                        p.note { "This report is not complete: " (Foreign(missing)) }
                    }
                }
                main {
                    @if let Some(explanation) = explanation { (explanation.markup()) }
                    (search::section(report)?)
                    (pairs::sections(report)?)
                    (runs::section(report)?)
                    (builds::section(report))
                    (about::section(report))
                }
                footer {
                    "Created with Pinpoint " (env!("CARGO_PKG_VERSION")) " on " (date(report.made)) "."
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(page.into_string())
}

/// The resources that the job took.
fn facts(report: &Report) -> Markup {
    let runs = report.measured.runs.len() as u64;
    let seconds = report.result.as_ref().map(JobResult::duration_s);
    html! {
        (count(runs, "run")) ", " (count(report.builds, "build"))
        @if let Some(seconds) = seconds { " in " (duration(seconds)) }
        " · job " code { (report.job.id) }
        " · " (date(report.job.created))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pinpoint_backends::local::{FileChange, Host, Session};
    use pinpoint_core::profile::{ExplainOptions, Profile, explain};
    use pinpoint_core::{CombinedCommit, Commit, ModifiedDependency, Position, RunReport, Series};
    use serde_json::json;

    use super::super::measurements::{MeasuredCommit, Measurements, Run};
    use super::super::model::{FailedBuild, Source};
    use super::*;

    /// Text that would be a script, end one, leave an attribute, hide, or change its surroundings.
    const HOSTILE: &str = "</script></title></style><img src=x onerror=alert(1)>\" autofocus onfocus='alert(2)' &lt;\u{202e}\u{0}\u{1b}]0;x\u{7}";

    fn hostile_commit(hash: &str) -> Commit {
        Commit {
            author: Some(HOSTILE.into()),
            created: Some(HOSTILE.into()),
            subject: Some(HOSTILE.into()),
            ..Commit::new(HOSTILE, hash)
        }
    }

    fn hostile_run(position: Position, failure: Option<&str>) -> Run {
        let series = Series {
            values: vec![1.0],
            unit: Some(HOSTILE.into()),
            ..Series::default()
        };
        let mut report = RunReport::new(0).series(HOSTILE, series).bot(HOSTILE);
        report.chart = Some(HOSTILE.into());
        report.log = Some(HOSTILE.into());
        Run {
            name: HOSTILE.into(),
            position,
            report,
            charts: Box::default(),
            failure: failure.map(str::to_owned),
            output: Some(HOSTILE.into()),
        }
    }

    /// A job with hostile foreign text in every field.
    fn hostile_report() -> Report {
        let [good, bad] = ["ab", "cd"].map(|hash| CombinedCommit {
            modified_deps: vec![ModifiedDependency {
                commit: hostile_commit(hash),
                named_by: HOSTILE.into(),
            }],
            ..hostile_commit(hash).into()
        });
        let effect = json!({
            "of": "values", "estimate": 1.0, "interval": null, "confidence": 0.95,
            "before": 1.0, "after": 2.0,
        });
        let change = json!({
            "path": HOSTILE, "repository": HOSTILE, "before": HOSTILE, "after": HOSTILE,
            "followed": { "no": { "reason": HOSTILE } },
        });
        let culprit = json!({
            "commit": bad, "prior": good, "probability": 0.9, "effect": effect,
            "blamed": bad.main, "undone": false, "other_changes": [change], "reproduce": HOSTILE,
        });
        let document = json!({
            "version": 1, "job_id": "0199", "status": "culprit_found", "stopped": "decided",
            "good": good, "bad": bad, "chart": HOSTILE, "unit": HOSTILE, "culprits": [culprit],
            "candidates": [good], "runs": 2, "builds": 2, "comparisons": [],
            "skipped": [{ "commit": good, "reason": HOSTILE }], "duration_s": 1.0,
        });
        let words = vec![HOSTILE.to_owned(); 2];
        let config = json!({
            "local": {
                "repository": HOSTILE, "good": good, "build": HOSTILE, "command": words,
                "env": { HOSTILE: HOSTILE }, "format": "auto", "cache_size": 0,
            },
            "command_line": { "words": words, "ends": null },
        });
        let job = json!({
            "id": "0199", "kind": "bisection", "state": "completed", "created": 0, "updated": 0,
            "name": HOSTILE, "benchmark": HOSTILE, "bot": HOSTILE, "user": HOSTILE,
            "repository": HOSTILE, "title": HOSTILE, "spec": { HOSTILE: HOSTILE },
            "config": config, "outcome": null, "error": HOSTILE, "runs": 2, "builds": 2, "journal_version": 1,
            "written_by": HOSTILE,
        });
        let host = Host {
            name: Some(HOSTILE.into()),
            processor: Some(HOSTILE.into()),
            processors: None,
            memory: None,
            system: Some(HOSTILE.into()),
            kernel: Some(HOSTILE.into()),
            governors: BTreeSet::from([HOSTILE.to_owned()]),
            load: None,
        };
        let file = FileChange {
            path: HOSTILE.into(),
            lines: None,
        };
        let place = |position, commit: &CombinedCommit| MeasuredCommit {
            position,
            commit: commit.clone(),
        };
        Report {
            job: serde_json::from_value(job).unwrap(),
            kind: JobKind::Bisection,
            config: serde_json::from_value(config).unwrap(),
            result: Some(JobResult::Bisection(
                serde_json::from_value(document).unwrap(),
            )),
            missing: vec![HOSTILE.into()],
            warnings: vec![HOSTILE.into()],
            posterior: None,
            measured: Measurements::of_runs(
                vec![place(Position::Lower, &good), place(Position::Higher, &bad)],
                vec![
                    hostile_run(Position::Lower, Some(HOSTILE)),
                    hostile_run(Position::Higher, None),
                ],
            ),
            builds: 2,
            failed_builds: vec![FailedBuild {
                commit: good.clone(),
                reason: HOSTILE.into(),
                output: Some(HOSTILE.into()),
            }],
            remote: Some(HOSTILE.into()),
            sources: vec![Source {
                commit: bad.main.clone(),
                files: Some(vec![file]),
                page: None,
            }],
            sessions: vec![Session {
                began: 0,
                pinpoint: HOSTILE.into(),
                git: Some(HOSTILE.into()),
                host,
                diagnosis: Some(
                    serde_json::from_value(json!({
                        "findings": [{
                            "cause": "load",
                            "severity": "high",
                            "seen": HOSTILE,
                            "remedy": HOSTILE,
                        }],
                    }))
                    .unwrap(),
                ),
            }],
            job_dir: Some(HOSTILE.into()),
            made: 0,
        }
    }

    #[test]
    fn an_explanation_is_a_part_of_the_report() {
        let runs = |own: u32| {
            let text = format!("main;{HOSTILE} {own}\nmain;calm 50\n");
            vec![Profile::read(text.as_bytes()).unwrap(); 6]
        };
        let explanation = explain(&runs(40), &runs(60), &ExplainOptions::default()).unwrap();
        let lines = [HOSTILE.to_owned()];
        let section = profile::Section {
            explanation: &explanation,
            job: profile::Job {
                id: "01a1",
                explains: "0199",
                profiler: "perf",
                about: &lines,
            },
            notes: &lines,
            page: Some("a #1?.explanation.html"),
        };
        let page = page(&hostile_report(), Some(&section)).unwrap();
        let (_, part) = page.split_once("<section id=\"explanation\">").unwrap();
        let (part, _) = part.split_once("</section>").unwrap();
        assert!(
            part.contains("+20.00 samples (+22.2 %), 6 runs a side, perf"),
            "{part}"
        );
        assert!(
            part.contains("href=\"./a %231%3F.explanation.html\""),
            "{part}"
        );
        assert_eq!(part.matches("<tr class=\"certain\"").count(), 1);
        assert_eq!(
            part.matches("&lt;img src=x onerror=alert(1)&gt;").count(),
            2
        );
        for unsafe_text in ["<img", "\" autofocus", "\u{202e}", "\u{1b}"] {
            assert!(!page.contains(unsafe_text), "{unsafe_text:?}");
        }
    }

    #[test]
    fn nothing_of_others_is_more_than_text() {
        let page = page(&hostile_report(), None).unwrap();
        let shown = page.matches("&lt;img src=x onerror=alert(1)&gt;").count();
        assert!(shown > 30, "{shown}");
        for unsafe_text in ["<img", "\" autofocus", "\u{202e}", "\0", "\u{1b}", "\u{7}"] {
            assert!(!page.contains(unsafe_text), "{unsafe_text:?}");
        }
        // Only the page's own elements are present.
        for (element, count) in [("</script>", 3), ("</title>", 1), ("</style>", 1)] {
            assert_eq!(page.matches(element).count(), count, "{element}");
        }
    }
}
