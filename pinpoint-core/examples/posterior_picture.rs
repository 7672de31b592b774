//! Draws how a search becomes certain: the probability of each commit, from the
//! first runs to the answer, in a simulated search with a fixed seed.
//!
//!     cargo run -p pinpoint-core --example posterior_picture > docs/posterior.svg

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::fmt::Write;

use pinpoint_core::simulation::{Scenario, Simulation};
use pinpoint_core::{
    BisectionSpec, Culprit, Machine, MeasuredCommit, Position, Posterior, Progress, Span, Strategy,
};

const COMMITS: u64 = 64;
/// In interquartile ranges of the noise.
const CHANGE: f64 = 1.5;
const SEED: u64 = 7;
/// Moments of the search that are drawn.
const ROWS: usize = 7;

/// All in pixels.
const LEFT: f64 = 20.0;
const BAR: f64 = 9.0;
const BARS_HEIGHT: f64 = 56.0;
const ROW_HEIGHT: f64 = 104.0;
const TOP: f64 = 64.0;

/// The knowledge after this many runs.
struct PosteriorSnapshot {
    runs: u64,
    measured: Vec<MeasuredCommit>,
    spans: Vec<Span>,
    title: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scenario = Scenario {
        changes: vec![CHANGE],
        ..Scenario::new(COMMITS)
    };
    let spec = BisectionSpec {
        strategy: Strategy::Adaptive,
        ..BisectionSpec::new(scenario.range())
    };
    let mut simulation = Simulation::new(&scenario, &spec, SEED)?;
    let mut moments: Vec<PosteriorSnapshot> = Vec::new();
    while simulation.step() && simulation.machine().outcome().is_none() {
        let machine = simulation.machine();
        // A build alone changes nothing.
        let is_new = |runs| moments.last().is_none_or(|last| last.runs < runs);
        if let Some(posterior) = machine.posterior()
            && is_new(machine.progress().runs)
        {
            moments.push(PosteriorSnapshot::searching(machine.progress(), posterior));
        }
    }
    let machine = simulation.machine();
    let outcome = machine.outcome().ok_or("the search has no outcome")?;
    let end = PosteriorSnapshot::found(machine.progress(), &outcome.culprits);
    // The first state and the last one before the end, and states evenly
    // between them.
    let steps = ROWS - 2;
    let last = moments.len().checked_sub(1).ok_or("no moments")?;
    let rows: Vec<&PosteriorSnapshot> = (0..=steps)
        .map(|step| &moments[step * last / steps])
        .chain([&end])
        .collect();
    let culprit = simulation.culprits().next().ok_or("no culprit")?;
    println!("{}", draw(&rows, culprit)?);
    Ok(())
}

impl PosteriorSnapshot {
    fn searching(progress: Progress, posterior: Posterior) -> Self {
        let most = posterior.spans.iter().map(each).fold(0.0, f64::max);
        Self {
            runs: progress.runs,
            title: format!(
                "{} runs of {} commits: no change {:.0} %, the likeliest commit {:.0} %",
                progress.runs,
                progress.builds,
                100.0 * posterior.no_change,
                100.0 * most
            ),
            measured: progress.measured,
            spans: posterior.spans,
        }
    }

    fn found(progress: Progress, culprits: &[Culprit]) -> Self {
        let spans: Vec<Span> = culprits
            .iter()
            .map(|culprit| Span {
                after: culprit.prior,
                last: culprit.commit,
                commits: 1,
                probability: culprit.probability.unwrap_or_default(),
            })
            .collect();
        let most = spans.iter().map(each).fold(0.0, f64::max);
        Self {
            runs: progress.runs,
            title: format!(
                "{} runs of {} commits: the culprit is named, with {:.0} %",
                progress.runs,
                progress.builds,
                100.0 * most
            ),
            measured: progress.measured,
            spans,
        }
    }
}

/// The probability of each commit of a span.
fn each(span: &Span) -> f64 {
    span.probability / span.commits as f64
}

fn place(commit: Position) -> u64 {
    match commit {
        Position::Lower => 0,
        Position::Within { offset, .. } => offset + 1,
        Position::Higher => COMMITS,
    }
}

/// The middle of a commit's column; the good end is the commit 0.
fn middle(commit: u64) -> f64 {
    LEFT + (commit as f64 + 0.5) * BAR
}

fn draw(rows: &[&PosteriorSnapshot], culprit: u64) -> Result<String, std::fmt::Error> {
    let width = 2.0 * LEFT + (COMMITS + 1) as f64 * BAR;
    let height = TOP + rows.len() as f64 * ROW_HEIGHT;
    let mut svg = String::new();
    writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="12">
<title>The probability of each of {COMMITS} commits to be the culprit, as runs are made</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{LEFT}" y="22" font-size="14" font-weight="bold">How probable each of {COMMITS} commits is to be the culprit</text>
<text x="{LEFT}" y="42" fill="#555555">Bars: probability, each row to its own scale. Numbers: runs of a commit. Red: the true culprit.</text>"##
    )?;
    // The commit after the culprit's predecessor, counted from the good end.
    let culprit = middle(culprit + 1);
    let bottom = height - 12.0;
    writeln!(
        svg,
        r##"<line x1="{culprit:.1}" x2="{culprit:.1}" y1="{TOP}" y2="{bottom}" stroke="#cc3311" stroke-dasharray="2 3"/>"##
    )?;
    for (row, moment) in rows.iter().enumerate() {
        draw_row(&mut svg, moment, TOP + row as f64 * ROW_HEIGHT)?;
    }
    write!(svg, "</svg>")?;
    Ok(svg)
}

fn draw_row(svg: &mut String, moment: &PosteriorSnapshot, top: f64) -> std::fmt::Result {
    let bottom = top + 20.0 + BARS_HEIGHT;
    let most = moment.spans.iter().map(each).fold(0.0, f64::max);
    let (title, baseline) = (&moment.title, top + 12.0);
    writeln!(svg, r#"<text x="{LEFT}" y="{baseline:.1}">{title}</text>"#)?;
    for span in &moment.spans {
        // The commits of a span are equally probable: one bar as wide as all.
        let first = middle(place(span.after)) + BAR / 2.0;
        let width = span.commits as f64 * BAR;
        let height = BARS_HEIGHT * each(span) / most.max(f64::MIN_POSITIVE);
        writeln!(
            svg,
            r##"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{height:.1}" fill="#4477aa"/>"##,
            first + 0.5,
            bottom - height,
            width - 1.0,
        )?;
    }
    writeln!(
        svg,
        r##"<line x1="{LEFT}" x2="{:.1}" y1="{bottom}" y2="{bottom}" stroke="#999999"/>"##,
        middle(COMMITS) + BAR / 2.0
    )?;
    for commit in moment.measured.iter().filter(|commit| commit.runs > 0) {
        writeln!(
            svg,
            r##"<text x="{:.1}" y="{:.1}" font-size="9" fill="#555555" text-anchor="middle">{}</text>"##,
            middle(place(commit.commit)),
            bottom + 11.0,
            commit.runs
        )?;
    }
    Ok(())
}
