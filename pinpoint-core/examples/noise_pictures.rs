//! Draws two kinds of noise as they are measured and as the strategy `adaptive` compares them:
//! with a memory (recorded), and in proportion to the level (simulated).
//!
//!     cargo run -p pinpoint-core --example noise_pictures -- memory > docs/memory.svg
//!     cargo run -p pinpoint-core --example noise_pictures -- scale > docs/scale.svg

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;
use std::fmt::Write;

use libm::log;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 20.0;
const PANEL_HEIGHT: f64 = 150.0;
const TOP: f64 = 58.0;
const COLORS: [&str; 3] = ["#4477aa", "#cc3311", "#228833"];

/// Numbers in the order of their runs, with the commit of each.
struct Panel {
    title: String,
    runs: Vec<(usize, f64)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let picture = match std::env::args().nth(1).as_deref() {
        Some("memory") => memory()?,
        Some("scale") => scale()?,
        _ => return Err("one of: memory, scale".into()),
    };
    println!("{picture}");
    Ok(())
}

/// Runs of two commits in turns, the second of which takes longer by this factor.
const FACTOR: f64 = 1.3;
/// A stretch of the recording.
const RUNS: std::ops::Range<usize> = 40..110;
/// One of the decays that the strategy considers.
const DECAY: f64 = 0.9;

fn memory() -> Result<String, Box<dyn Error>> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../benches/recordings/gzip-loaded.csv"
    );
    let text = std::fs::read_to_string(path)?;
    let times = (text.lines().skip(1))
        .map(|line| line.split(',').next().unwrap_or_default().parse::<f64>())
        .collect::<Result<Vec<_>, _>>()?;
    let times = times.get(RUNS).ok_or("the recording is too short")?;
    let values: Vec<(usize, f64)> = (times.iter().enumerate())
        .map(|(run, time)| (run % 2, time * [1.0, FACTOR][run % 2]))
        .collect();
    let logarithms: Vec<f64> = values.iter().map(|(_, value)| log(*value)).collect();
    let level = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    let differences = (logarithms.windows(2))
        .zip(&values[1..])
        .map(|(pair, (commit, _))| (*commit, pair[1] - level - DECAY * (pair[0] - level)))
        .collect();
    let panels = [
        Panel {
            title: "The run times, as they were measured (on a logarithmic scale)".into(),
            runs: (values.iter())
                .map(|(commit, value)| (*commit, log(*value)))
                .collect(),
        },
        Panel {
            title: "The same, each compared with what the run before it predicts".into(),
            runs: differences,
        },
    ];
    Ok(draw(
        "Two commits in turns on a busy machine: red takes 1.3 times as long as blue",
        &panels,
    )?)
}

/// Three commits: the second is slower by 30 %, the third ten times as slow.
const CHANGES: [f64; 2] = [0.3, 9.0];
/// The standard deviation of the noise, as a fraction of the level.
const NOISE: f64 = 0.08;
const RUNS_OF_EACH: usize = 25;

fn scale() -> Result<String, std::fmt::Error> {
    let mut values = Vec::new();
    let mut level = 10.0;
    let mut noise = normal(1);
    for (commit, change) in [0.0].into_iter().chain(CHANGES).enumerate() {
        level *= 1.0 + change;
        values.extend((0..RUNS_OF_EACH).map(|_| (commit, level * (1.0 + NOISE * noise()))));
    }
    let panels = [
        Panel {
            title: "As they were measured: the third commit's scatter hides the other change"
                .into(),
            runs: values.clone(),
        },
        Panel {
            title: "Their logarithms scatter alike, and both changes show".into(),
            runs: (values.into_iter())
                .map(|(commit, value)| (commit, log(value)))
                .collect(),
        },
    ];
    draw(
        "Three commits whose runs scatter by 8 %: +30 %, and ten times as slow",
        &panels,
    )
}

/// Numbers with a normal distribution, nearly: sums of twelve uniform ones.
fn normal(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        let uniform = |_| {
            state = (state.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1);
            (state >> 40) as f64 / (1_u64 << 24) as f64
        };
        (0..12).map(uniform).sum::<f64>() - 6.0
    }
}

fn draw(title: &str, panels: &[Panel]) -> Result<String, std::fmt::Error> {
    let height = TOP + panels.len() as f64 * (PANEL_HEIGHT + 34.0);
    let mut svg = String::new();
    writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">
<title>{title}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{LEFT}" y="22" font-size="14" font-weight="bold">{title}</text>
<text x="{LEFT}" y="42" fill="#555555">A dot for each run, in the order in which they were made. Lines: the median of each commit.</text>"##
    )?;
    for (row, panel) in panels.iter().enumerate() {
        draw_panel(&mut svg, panel, TOP + row as f64 * (PANEL_HEIGHT + 34.0))?;
    }
    write!(svg, "</svg>")?;
    Ok(svg)
}

fn draw_panel(svg: &mut String, panel: &Panel, top: f64) -> std::fmt::Result {
    let numbers = || panel.runs.iter().map(|(_, number)| *number);
    let (low, high) = (
        numbers().fold(f64::INFINITY, f64::min),
        numbers().fold(f64::NEG_INFINITY, f64::max),
    );
    let bottom = top + 20.0 + PANEL_HEIGHT;
    let y = |number: f64| bottom - 6.0 - (PANEL_HEIGHT - 12.0) * (number - low) / (high - low);
    let step = (WIDTH - 2.0 * LEFT) / panel.runs.len() as f64;
    let x = |run: usize| LEFT + (run as f64 + 0.5) * step;
    let (title, baseline) = (&panel.title, top + 12.0);
    writeln!(svg, r#"<text x="{LEFT}" y="{baseline:.1}">{title}</text>"#)?;
    writeln!(
        svg,
        r##"<rect x="{LEFT}" y="{:.1}" width="{:.1}" height="{PANEL_HEIGHT}" fill="none" stroke="#cccccc"/>"##,
        top + 20.0,
        WIDTH - 2.0 * LEFT
    )?;
    for (commit, color) in COLORS.iter().enumerate() {
        let runs: Vec<(usize, f64)> = (panel.runs.iter().enumerate())
            .filter(|(_, (of, _))| *of == commit)
            .map(|(run, (_, number))| (run, *number))
            .collect();
        let (Some((first, _)), Some((last, _))) = (runs.first(), runs.last()) else {
            continue;
        };
        let mut sorted: Vec<f64> = runs.iter().map(|(_, number)| *number).collect();
        sorted.sort_by(f64::total_cmp);
        let median = y(sorted[sorted.len() / 2]);
        writeln!(
            svg,
            r#"<line x1="{:.1}" x2="{:.1}" y1="{median:.1}" y2="{median:.1}" stroke="{color}"/>"#,
            x(*first),
            x(*last)
        )?;
        for (run, number) in runs {
            writeln!(
                svg,
                r#"<circle cx="{:.1}" cy="{:.1}" r="2.6" fill="{color}"/>"#,
                x(run),
                y(number)
            )?;
        }
    }
    Ok(())
}
