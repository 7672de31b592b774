//! Draws the effect of suspicion from the files that commits touch: the probability of each commit
//! before the first run, and the commits that a search builds with it and without.
//!
//!     cargo run -p pinpoint-core --example prior_picture > docs/priors.svg

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::fmt::Write;

use pinpoint_core::simulation::{Scenario, Simulation};
use pinpoint_core::suspicion::{FileKind, Touched, priors};
use pinpoint_core::{BisectionSpec, Position};

/// A history: `d` a document, `s` configuration of a service, `t` a test, `c` a file of
/// code, `C` six files of code, `l` a lock file.
const HISTORY: &str = "dctdcsddCtcdslcdtddcctdsdCdtcddstcdldctcdsdtCddcdctdscdd";
/// The commit that makes the benchmark slower: one that touches six files of code.
const CULPRIT: usize = 25;
/// In interquartile ranges of the noise.
const CHANGE: f64 = 2.0;
/// Searches that are counted; the first of them is drawn.
const SEARCHES: u64 = 200;

const LEFT: f64 = 20.0;
const BAR: f64 = 11.0;
const BARS_HEIGHT: f64 = 90.0;
const ROW_HEIGHT: f64 = 46.0;
const TOP: f64 = 64.0;
const COLORS: [(FileKind, &str, &str); 4] = [
    (FileKind::Code, "#4477aa", "code"),
    (FileKind::Build, "#aa3377", "lock file"),
    (FileKind::Test, "#ccbb44", "test"),
    (FileKind::Document, "#bbbbbb", "document or service"),
];

/// The searches with one suspicion.
struct Row {
    title: String,
    /// The runs of each commit that was built; the good end is the commit 0.
    measured: Vec<(u64, u32)>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let touched: Vec<Touched> = HISTORY.chars().map(files).collect();
    let rows = [
        row("All alike (--prior none)", None)?,
        row("Suspected by what they touch", priors(&touched))?,
    ];
    println!("{}", draw(&touched, &rows)?);
    Ok(())
}

/// The files that a commit of the history touches.
fn files(letter: char) -> Touched {
    let (path, count) = match letter {
        'd' => ("docs/guide.md", 1),
        's' => (".github/workflows/ci.yml", 1),
        't' => ("tests/parse.rs", 1),
        'l' => ("Cargo.lock", 1),
        'C' => ("src/parse.rs", 6),
        _ => ("src/parse.rs", 1),
    };
    (0..count).map(|_| FileKind::of(path)).collect()
}

fn row(title: &str, priors: Option<Vec<f64>>) -> Result<Row, Box<dyn std::error::Error>> {
    let commits = HISTORY.len();
    let scenario = Scenario {
        changes: vec![CHANGE],
        weights: Some(
            (0..commits)
                .map(|commit| f64::from(u8::from(commit == CULPRIT)))
                .collect(),
        ),
        ..Scenario::new(commits as u64)
    };
    let spec = BisectionSpec {
        priors,
        ..BisectionSpec::new(scenario.range())
    };
    let mut builds = 0;
    for seed in 0..SEARCHES {
        builds += scenario.search(&spec, seed)?.builds;
    }
    let mut simulation = Simulation::new(&scenario, &spec, 0)?;
    while simulation.step() {}
    let progress = simulation.machine().progress();
    Ok(Row {
        title: format!(
            "{title}: {} builds and {} runs; {:.1} builds on average of {SEARCHES} searches",
            progress.builds,
            progress.runs,
            builds as f64 / SEARCHES as f64
        ),
        measured: (progress.measured.iter())
            .map(|commit| (place(commit.commit), commit.runs))
            .collect(),
    })
}

fn place(commit: Position) -> u64 {
    match commit {
        Position::Lower => 0,
        Position::Within { offset, .. } => offset + 1,
        Position::Higher => HISTORY.len() as u64,
    }
}

/// The middle of a commit's column; the good end is the commit 0.
fn middle(commit: u64) -> f64 {
    LEFT + (commit as f64 + 0.5) * BAR
}

fn draw(touched: &[Touched], rows: &[Row]) -> Result<String, std::fmt::Error> {
    let width = 2.0 * LEFT + (touched.len() + 1) as f64 * BAR;
    let bottom = TOP + 24.0 + BARS_HEIGHT;
    let height = bottom + 18.0 + rows.len() as f64 * ROW_HEIGHT;
    let title = format!(
        "What {} commits touch, and which of them are built",
        touched.len()
    );
    let mut svg = String::new();
    writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="12">
<title>{title}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{LEFT}" y="22" font-size="14" font-weight="bold">{title}</text>
<text x="{LEFT}" y="42" fill="#555555">Bars: probability before the first run. Numbers: runs of a commit that was built. Red: the culprit.</text>"##
    )?;
    draw_legend(&mut svg, TOP)?;
    let culprit = middle(CULPRIT as u64 + 1);
    writeln!(
        svg,
        r##"<line x1="{culprit:.1}" x2="{culprit:.1}" y1="{:.1}" y2="{:.1}" stroke="#cc3311" stroke-dasharray="2 3"/>"##,
        TOP + 18.0,
        height - 8.0
    )?;
    let most = touched.iter().map(Touched::weight).fold(0.0, f64::max);
    for (commit, touched) in touched.iter().enumerate() {
        let height = BARS_HEIGHT * touched.weight() / most;
        let x = middle(commit as u64 + 1) - BAR / 2.0 + 1.0;
        writeln!(
            svg,
            r#"<rect x="{x:.1}" y="{:.1}" width="{:.1}" height="{height:.1}" fill="{}"/>"#,
            bottom - height,
            BAR - 2.0,
            color(touched)
        )?;
    }
    draw_axis(&mut svg, bottom)?;
    for (index, row) in rows.iter().enumerate() {
        draw_row(&mut svg, row, bottom + 18.0 + index as f64 * ROW_HEIGHT)?;
    }
    write!(svg, "</svg>")?;
    Ok(svg)
}

fn color(touched: &Touched) -> &'static str {
    (COLORS.iter())
        .find(|(kind, ..)| touched.kind() == Some(*kind))
        .map_or(COLORS[COLORS.len() - 1].1, |(_, color, _)| color)
}

fn draw_legend(svg: &mut String, baseline: f64) -> std::fmt::Result {
    for (index, (_, color, name)) in COLORS.iter().enumerate() {
        let x = LEFT + 100.0 * index as f64;
        writeln!(
            svg,
            r#"<rect x="{x}" y="{:.1}" width="10" height="10" fill="{color}"/><text x="{:.1}" y="{baseline}">{name}</text>"#,
            baseline - 9.0,
            x + 15.0
        )?;
    }
    Ok(())
}

fn draw_axis(svg: &mut String, y: f64) -> std::fmt::Result {
    writeln!(
        svg,
        r##"<line x1="{LEFT}" x2="{:.1}" y1="{y:.1}" y2="{y:.1}" stroke="#999999"/>"##,
        middle(HISTORY.len() as u64) + BAR / 2.0
    )
}

fn draw_row(svg: &mut String, row: &Row, top: f64) -> std::fmt::Result {
    let (title, baseline) = (&row.title, top + 12.0);
    writeln!(svg, r#"<text x="{LEFT}" y="{baseline:.1}">{title}</text>"#)?;
    draw_axis(svg, top + 20.0)?;
    for (commit, runs) in row.measured.iter().filter(|(_, runs)| *runs > 0) {
        writeln!(
            svg,
            r##"<text x="{:.1}" y="{:.1}" font-size="9" fill="#555555" text-anchor="middle">{runs}</text>"##,
            middle(*commit),
            top + 31.0
        )?;
    }
    Ok(())
}
