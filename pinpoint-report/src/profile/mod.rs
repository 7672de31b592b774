//! The report on an explanation: one HTML file with the answer, a table of the functions, a flame
//! graph of all runs, and the callers and callees.
//!
//! Like [`crate::report`], it is self-contained. Without scripts, or printed, the answer and the
//! tables can be read; the pictures are drawn on a canvas from packed data (`data.rs`) by the
//! scripts in `scripts/`. Those that compute the drawing are pure and are tested in Node.js; those
//! whose names end with `_view` know the page.

mod chart;
mod data;
mod entries;
mod functions;
mod scripts;
mod section;
mod timeline_chart;

use std::path::PathBuf;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pinpoint_core::profile::{
    EntryComparison, EntryTree, ExplainOptions, Explanation, Profile, Timeline, Window,
    compare_entries, compare_stacks,
};

pub use self::section::Section;
use crate::foreign::Foreign;
use crate::page::head;
use crate::quantity::{count, date};
use crate::words::explanation as words;
use crate::{ReportError, pack};

/// The contents of the report.
#[derive(Debug)]
pub struct Report<'a> {
    /// The answer.
    pub explanation: &'a Explanation,
    /// The profiles of the base and of the experiment.
    pub profiles: [&'a [Profile]; 2],
    /// The options of the comparison.
    pub options: &'a ExplainOptions,
    /// The timeline of the drawn run of each side ([`shown_run`]). Without it, the drawing is made
    /// of samples alone.
    pub timelines: [Option<&'a Timeline>; 2],
    /// The costs of the entries of each run, in the order of the profiles, by which rows of trees
    /// are compared. Empty where a run has no timeline.
    pub entry_trees: [&'a [EntryTree]; 2],
    /// The part of the profiles that counts, where that is not all of them.
    pub window: Option<&'a Window>,
    /// The files of both sides.
    pub files: [&'a [PathBuf]; 2],
    /// The job that made the profiles, if one did.
    pub job: Option<Job<'a>>,
    /// Remarks, in sentences without their period.
    pub notes: &'a [String],
    /// The time at which the report is made, in milliseconds since 1970.
    pub made: i64,
}

/// The job that made the profiles.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Its id.
    pub id: &'a str,
    /// The job that it explains.
    pub explains: &'a str,
    /// The profiler of the runs.
    pub profiler: &'a str,
    /// The builds and the benchmark, a line each.
    pub about: &'a [String],
}

/// The run of a side whose flame chart is in the report: the one with the median total cost. `None`
/// where no run has times.
pub fn shown_run(runs: &[Profile]) -> Option<usize> {
    chart::shown_run(runs)
}

/// The report as a page.
///
/// # Errors
///
/// [`ReportError::Explain`], where the profiles are not two sides of a comparison.
///
/// # Cost
///
/// That of [`explain`](pinpoint_core::profile::explain). The page holds at most 2,000
/// functions, 20,000 stacks, 10,000 pairs of caller and callee, and 500,000 entries of the
/// flame chart of a side.
pub fn report(report: &Report) -> Result<String, ReportError> {
    let [base, experiment] = report.profiles;
    let stacks = compare_stacks(base, experiment, report.options)?;
    let [before, after] = report.entry_trees;
    let all_runs = match before.is_empty() || after.is_empty() {
        true => None,
        false => Some(compare_entries(before, after, &stacks, report.options)?),
    };
    let drawn = [0, 1].map(|side| drawn(report, side, all_runs.as_ref()));
    let data = data::Data::from_comparison(
        report.explanation,
        &stacks,
        report.profiles,
        drawn,
        all_runs.as_ref(),
    );
    let packed = pack::pack(&data).map_err(ReportError::Pack)?;
    let (word, tone) = status(report.explanation);
    let answer = answer(report.explanation, report.job);
    let title = match report.job {
        Some(job) => format!("{word} – Explanation {}", job.id),
        None => format!("{word} – Explanation"),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &[include_str!("style.css")], &scripts::SCRIPT))
            body {
                header {
                    p.kind { "Explanation " span.tone.(tone) { (word) } }
                    h1 #answer { (Foreign(&answer)) }
                    (about(report))
                    @for note in report.notes { p.note { (Foreign(note)) "." } }
                }
                main {
                    (functions::section(report.explanation))
                    (functions::parts(report.explanation))
                    (pictures(report, &data))
                    (files(report))
                }
                footer {
                    "Made by pinpoint " (env!("CARGO_PKG_VERSION")) " on " (date(report.made)) "."
                }
                script #profile-data type="text/plain" { (packed) }
                script type="module" { (PreEscaped(&*scripts::SCRIPT)) }
            }
        }
    };
    Ok(page.into_string())
}

/// The timeline of a side with its file.
fn drawn<'a>(
    report: &Report<'a>,
    side: usize,
    all_runs: Option<&'a EntryComparison>,
) -> Option<chart::Drawn<'a>> {
    let timeline = report.timelines[side]?;
    let run = shown_run(report.profiles[side])?;
    let (profile, file) = (
        report.profiles[side].get(run)?,
        report.files[side].get(run)?,
    );
    let spans = report.window.and_then(|window| profile.spans(window).ok());
    let span = spans.and_then(|spans| Some((spans.first()?.0, spans.last()?.1)));
    let file = file.file_name().and_then(|name| name.to_str());
    Some(chart::Drawn {
        timeline,
        file: file.unwrap_or_default(),
        all_runs,
        window: span.map(|(from, to)| [from, to].map(|time| (profile.begin + time) / 1e3)),
    })
}

/// The answer, as shown on a terminal.
fn answer(explanation: &Explanation, job: Option<Job>) -> String {
    let (whole, runs) = (words::whole(explanation), words::runs(explanation));
    let profiler = job.map_or_else(String::new, |job| format!(", {}", job.profiler));
    let finding = words::finding(explanation);
    format!("{whole}, {runs}{profiler}: {finding}")
}

/// The status in words, and its color class.
fn status(explanation: &Explanation) -> (&'static str, &'static str) {
    let sees_nothing = explanation
        .detectable
        .is_some_and(|it| it.smallest.is_none());
    if explanation.certain().next().is_some() {
        ("certain", "found")
    } else if sees_nothing {
        ("too few runs", "open")
    } else {
        ("not certain", "open")
    }
}

fn about(report: &Report) -> Markup {
    let explanation = report.explanation;
    let whole = &explanation.whole;
    html! {
        p.facts {
            (words::amount(whole.base, &explanation.unit)) " before, "
            (words::amount(whole.experiment, &explanation.unit)) " after"
            @let interval = words::interval(whole, &explanation.unit);
            @if !interval.is_empty() { ", 95 % interval of the difference " (interval) }
            @if let Some(job) = report.job {
                " · job " code { (job.id) } ", explains " code { (job.explains) }
            }
        }
        @for line in report.job.map_or(&[][..], |job| job.about) {
            p.facts { (Foreign(line)) }
        }
    }
}

/// The places for the drawings of scripts.
fn pictures(report: &Report, data: &data::Data) -> Markup {
    html! {
        noscript { p.note { "The flame graph and the lists of callers need scripts. The tables on this page are whole without them." } }
        section #flame-graph hidden {
            h2 { "Flame graph of all runs" }
            @if data.has_stacks() {
                div.bar.tools {}
                div.canvas { canvas role="application" tabindex="0" {} }
                p.readout role="status" {}
                div.legend {}
                details { summary { "The same as a table" } div.wide.called {} }
            } @else if !data.has_calls() {
                p.note { "These profiles have no stacks, so there is no flame graph." }
            } @else {
                p.note { "This profiler counts calls and keeps no stacks, so there is no flame graph. Callers and callees are below." }
            }
        }
        section #calls hidden {
            h2 { "Callers and callees" }
            div.bar.tools {}
            div.columns {}
        }
        @if data.has_charts() { (timeline(report)) }
        @if let Some(side) = data.timed_alone() {
            p.note { "There are no flame charts: only the runs " (side) " have times." }
        }
    }
}

/// The flame charts of one run a side, and the trees of a track.
fn timeline(report: &Report) -> Markup {
    let is_whole = report.timelines.iter().any(Option::is_some);
    let window = report.window.filter(|_| is_whole);
    html! {
        section #timeline hidden {
            h2 { "Timeline of one run a side" }
            p.note { "These are the runs in the middle of their sides. How long a single call took is an estimate from samples: only what the tables above say of all runs is certain." }
            @if let Some(window) = window {
                p.note { "Everything above counts only the window " (Foreign(&window.to_string())) ". Below is the whole run, opened at that window." }
            }
            div.bar.tools {}
            p.legend {
                span.key data-tone="-3" {} " costs less, " span.key data-tone="3" {} " costs more, for certain in all runs; "
                span.key data-tone="many" {} " several calls that are too short to be drawn singly."
            }
            nav.crumbs aria-label="Windows that were gone into" {}
            div.canvas { canvas.minimap role="application" tabindex="0" {} }
            @for side in ["Before", "After"] {
                h3 { (side) " " span.note.run {} }
                div.canvas.chart { canvas role="application" tabindex="0" {} }
            }
            p.readout role="status" {}
            details.annotate { summary { "Annotations" } }
            details.tracks { summary { "Tracks" } div.wide {} }
            details.trees {
                summary { "Trees of the track in this window" }
                div.bar.tree-tools {}
                div.wide.tree {}
            }
        }
    }
}

fn files(report: &Report) -> Markup {
    let sides = ["Before", "After"].into_iter().zip(report.files);
    html! {
        section #files {
            h2 { "Profiles" }
            p.facts {
                (count(report.files[0].len() as u64, "file")) " before, "
                (report.files[1].len()) " after, in "
                (report.explanation.unit.to_string())
            }
            @for (side, files) in sides {
                details {
                    summary { (side) }
                    ul { @for file in files { li { code { (Foreign(&file.display().to_string())) } } } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
