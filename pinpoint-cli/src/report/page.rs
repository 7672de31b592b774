//! The page: what stands where, and what holds it together.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::foreign::Foreign;
use super::model::Report;
use super::picture;
use super::{about, answer, pairs, runs, search};
use crate::error::CliError;
use crate::job_result::JobResult;
use crate::jobs::date;
use crate::kind::Kind;
use crate::quantity::{count, duration};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");

pub(super) fn page(report: &Report) -> Result<String, CliError> {
    let answer = answer::answer(report);
    let what = match report.kind {
        Kind::Bisection => "Bisection",
        Kind::Pairwise => "Pairwise comparison",
        Kind::CulpritFinder => "Culprit finder",
    };
    // Not even what slipped through every other net could be run or fetched.
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        STANDARD.encode(Sha256::digest(SCRIPT))
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (answer.word) " – " (what) " " (report.job.id) }
                style { (PreEscaped(picture::style())) (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.kind { (what) " " span.tone.(answer.tone) { (answer.word) } }
                    h1 #answer { (answer.sentence) }
                    p.facts { (facts(report)) }
                    @for missing in &report.missing {
                        p.note { "Not everything could be found out: " (Foreign(missing)) }
                    }
                }
                main {
                    (search::section(report)?)
                    (pairs::sections(report)?)
                    (runs::section(report)?)
                    (about::section(report))
                }
                footer {
                    "Made by pinpoint " (env!("CARGO_PKG_VERSION")) " on " (date(report.made)) "."
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(page.into_string())
}

/// What the job took.
fn facts(report: &Report) -> Markup {
    let runs = report.runs.len() as u64;
    let seconds = match &report.result {
        Some(JobResult::Bisection(document)) => Some(document.duration_s),
        Some(JobResult::Pairwise(document)) => Some(document.duration_s),
        Some(JobResult::CulpritFinder(document)) => Some(document.search.duration_s),
        None => None,
    };
    html! {
        (count(runs, "run")) ", " (count(report.builds, "build"))
        @if let Some(seconds) = seconds { " in " (duration(seconds)) }
        " · job " code { (report.job.id) }
        " · " (date(report.job.created))
    }
}
