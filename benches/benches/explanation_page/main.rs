//! The page of `pinpoint explain --report` on two Chrome traces of together a million entries, in
//! Chromium: its bytes, the time until it can be used, and how long a picture takes while one
//! drags the charts along, with their limits.
//!
//! The page can be used once its charts are drawn and a click on an entry is answered. Times are
//! those of the browser's own clock; the time between two pictures cannot be shorter than that of
//! its screen, 16.7 ms. Run it on a machine that does nothing else.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "it waits on its own thread")]
#![allow(
    clippy::unwrap_used,
    reason = "what tests share with it fails as tests do"
)]

mod trace;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use pinpoint_core::profile::{EntryTree, ExplainOptions, Profile, Timeline, explain};
use pinpoint_report::profile::{Report, report};
use serde_json::{Value, json};

use chromium::Chromium;
use test_servers::chromium;

/// MB of the file.
const SIZE: f64 = 15.0;
/// Milliseconds until the page can be used, and of a picture.
const USABLE: f64 = 2_000.0;
const PICTURE: f64 = 20.0;
/// Runs of a side, so that differences can be certain.
const RUNS: usize = 6;
/// The number of times that the page is opened.
const TIMES: usize = 5;

/// Runs before the page: notes how long each of its pictures takes, and when it began.
const OBSERVER: &str = "
    window.pictures = [];
    const ask = window.requestAnimationFrame.bind(window);
    window.unobserved = ask;
    window.requestAnimationFrame = (draw) => ask((time) => {
      const begin = performance.now();
      draw(time);
      window.pictures.push({ time, took: performance.now() - begin });
    });
";

/// The element that is clicked and dragged.
const CANVAS: &str = "document.querySelector('#timeline .chart canvas')";

fn main() -> Result<(), Box<dyn Error>> {
    println!("load {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("page.html");
    std::fs::write(&file, page()?)?;
    let size = std::fs::metadata(&file)?.len() as f64 / 1e6;
    figure("size of the file", size, "MB", SIZE);

    let mut browser = Chromium::start();
    let screen = json!({ "width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", screen);
    let script = json!({ "source": OBSERVER });
    browser.call("Page.addScriptToEvaluateOnNewDocument", script);
    let mut opened: Vec<(f64, f64)> = (0..TIMES).map(|_| opened(&mut browser, &file)).collect();
    opened.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
    let (drawn, usable) = opened[TIMES / 2];
    println!("{:<46} {drawn:>9.2} ms", "the charts are drawn, median");
    figure("it can be used, median", usable, "ms", USABLE);
    figure("it can be used, longest", opened[TIMES - 1].1, "ms", USABLE);

    for zoom in [1, 10, 100] {
        browser.evaluate(&format!("{CANVAS}.scrollIntoView({{ block: 'start' }})"));
        dragged(&mut browser, zoom);
    }
    Ok(())
}

/// The page, as the command writes it.
fn page() -> Result<String, Box<dyn Error>> {
    let texts = [0, 30].map(trace::text);
    let timelines = [
        Timeline::read(texts[0].as_bytes())?,
        Timeline::read(texts[1].as_bytes())?,
    ];
    let entries = |timeline: &Timeline| -> usize {
        let tracks = timeline.tracks.iter();
        tracks.map(|track| track.entries.len()).sum()
    };
    let [before, after] = timelines.each_ref().map(entries);
    let bytes = (texts[0].len() + texts[1].len()) as f64 / 1e6;
    println!("{before} and {after} entries, of traces of together {bytes:.0} MB");
    let read = |text: &String| -> Result<Vec<Profile>, Box<dyn Error>> {
        Ok(vec![Profile::read(text.as_bytes())?; RUNS])
    };
    let [base, experiment] = [read(&texts[0])?, read(&texts[1])?];
    let files = vec![PathBuf::from("trace.json"); RUNS];
    let tree = |side: usize, runs: &[Profile]| -> Result<Vec<EntryTree>, Box<dyn Error>> {
        Ok(vec![EntryTree::of(&timelines[side], &runs[0], None)?; RUNS])
    };
    let trees = [tree(0, &base)?, tree(1, &experiment)?];
    let options = ExplainOptions::default();
    let explanation = explain(&base, &experiment, &options)?;
    let began = Instant::now();
    let page = report(&Report {
        explanation: &explanation,
        profiles: [&base, &experiment],
        options: &options,
        timelines: timelines.each_ref().map(Some),
        entry_trees: trees.each_ref().map(Vec::as_slice),
        window: None,
        files: [&files, &files],
        job: None,
        notes: &[],
        made: 0,
    })?;
    println!("{:<46} {:>9.1?}", "the page was made in", began.elapsed());
    Ok(page)
}

/// Opens the page; milliseconds until its charts are drawn, and until a click is answered.
fn opened(browser: &mut Chromium, file: &Path) -> (f64, f64) {
    browser.call("Page.navigate", json!({ "url": "about:blank" }));
    let url = format!("file://{}", file.display());
    browser.call("Page.navigate", json!({ "url": url }));
    let drawn = once(browser, &format!("{CANVAS}?.ariaLabel"));
    browser.evaluate(&format!("{CANVAS}.scrollIntoView({{ block: 'start' }})"));
    mouse(browser, "mousePressed", 0.3);
    mouse(browser, "mouseReleased", 0.3);
    let answer = "document.querySelector('#timeline .readout').textContent.startsWith('Before: ')";
    (drawn, once(browser, answer))
}

/// The time at which an expression became true and was painted, in milliseconds since the
/// navigation.
fn once(browser: &mut Chromium, expression: &str) -> f64 {
    let promise = format!(
        "new Promise((done) => {{
           const painted = () => unobserved(() => setTimeout(() => done(performance.now())));
           const look = () => (({expression}) ? painted() : setTimeout(look, 5));
           look();
         }})"
    );
    browser.evaluate(&promise).as_f64().unwrap()
}

/// Sends a mouse event to the outermost row of the first chart.
fn mouse(browser: &mut Chromium, kind: &str, part: f64) {
    let place = browser.evaluate(&format!(
        "(({{ x, y, width }}) => [x + {part} * width, y + 45])({CANVAS}.getBoundingClientRect())"
    ));
    browser.call(
        "Input.dispatchMouseEvent",
        json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "buttons": 1, "clickCount": 1 }),
    );
}

/// Drags the charts along, by some pixels in each picture, and prints how long pictures took.
fn dragged(browser: &mut Chromium, zoom: u32) {
    // As the wheel zooms, with Ctrl; then the mouse is held, and moved once a picture.
    browser.evaluate(&format!(
        "{{ const {{ x, y, width }} = {CANVAS}.getBoundingClientRect();
           const turned = (by) => {CANVAS}.dispatchEvent(new WheelEvent('wheel', {{
             ctrlKey: true, deltaY: by, clientX: x + width / 2, clientY: y + 45, cancelable: true }}));
           turned(1e5); turned(-Math.log({zoom}) / Math.log(1.002)); }}"
    ));
    mouse(browser, "mousePressed", 0.7);
    let pictures = browser.evaluate(&format!(
        "new Promise((done) => {{
           const {{ x, y, width }} = {CANVAS}.getBoundingClientRect();
           let [count, from] = [0, 0];
           const move = () => {{
             if (count === 20) {{ from = pictures.length; }}
             if (count === 200) return done(pictures.slice(from));
             count += 1;
             const clientX = x + width * 0.7 - Math.min(count, 200 - count) * 6;
             {CANVAS}.dispatchEvent(new PointerEvent('pointermove', {{ clientX, clientY: y + 45 }}));
             unobserved(move);
           }};
           move();
         }})"
    ));
    mouse(browser, "mouseReleased", 0.2);
    let pictures = pictures.as_array().unwrap();
    let of = |name: &str| -> Vec<f64> {
        let figures = pictures.iter().map(|it: &Value| it[name].as_f64().unwrap());
        figures.collect()
    };
    let times = of("time");
    let apart = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (what, mut figures) in [("scripts of a picture", of("took")), ("between two", apart)] {
        figures.sort_unstable_by(f64::total_cmp);
        for (name, place) in [("median", 50), ("95 %", 95)] {
            let at = figures[(figures.len() - 1) * place / 100];
            figure(&format!("{zoom} x, {what}, {name}"), at, "ms", PICTURE);
        }
    }
}

/// Prints a figure with its limit.
fn figure(what: &str, figure: f64, unit: &str, limit: f64) {
    let verdict = if figure <= limit { "" } else { "  MISSED" };
    println!("{what:<46} {figure:>9.2} {unit}, limit {limit:.0}{verdict}");
}
