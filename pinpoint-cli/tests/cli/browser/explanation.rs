//! The report on an explanation: its tables, its pictures on canvases, and their reactions to the
//! keyboard and the mouse.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::annotations;
use crate::chromium::Chromium;
use crate::world::World;

/// A name that would like to be more than text.
const HOSTILE: &str = "</script><script>document.title='x'</script><img src=x onerror=alert(1)>";

/// Profiles of six runs in which `parse` calls `next`, whose calls take so long, and a
/// function with that name. Frames have times, so that there are flame charts.
fn runs(world: &World, side: &str, next: u32) -> Vec<String> {
    let frames = ["main", "parse", "Lexer::next", "print", HOSTILE];
    let frames: Vec<Value> = frames
        .iter()
        .map(|name| json!({ "name": name, "file": "/app/src/lexer.rs" }))
        .collect();
    let run = |number: u32| {
        let stacks: [(&[u32], u32); 4] = [
            (&[0, 1], 20),
            (&[0, 1, 2], next + number),
            (&[0, 3], 30 + number * 7 % 5),
            (&[0, 3, 4], 5),
        ];
        let (mut samples, mut weights) = (Vec::new(), Vec::new());
        for round in 0..40 {
            for (stack, weight) in stacks {
                samples.push(json!(stack));
                weights.push(f64::from(weight + (number + round) % 3) / 10.0);
            }
        }
        let profile = json!({
            "type": "sampled", "unit": "milliseconds", "name": "main thread", "startValue": 0,
            "samples": samples, "weights": weights,
        });
        let text = json!({ "shared": { "frames": frames }, "profiles": [profile] }).to_string();
        let file = world.path(&format!("{side}{number}.json"));
        fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    (0..6).map(run).collect()
}

pub(super) fn reported(world: &World) -> PathBuf {
    let file = world.path("why.html");
    let (base, experiment) = (runs(world, "base", 70), runs(world, "experiment", 85));
    let report = file.display().to_string();
    let mut arguments = vec!["explain", "--report", &report, "--base"];
    arguments.extend(base.iter().map(String::as_str));
    arguments.push("--experiment");
    arguments.extend(experiment.iter().map(String::as_str));
    world.pinpoint(&arguments).ends_with(0);
    file
}

pub(super) fn text(browser: &mut Chromium, selector: &str) -> String {
    let expression = format!("document.querySelector({}).textContent", json!(selector));
    browser.evaluate(&expression).as_str().unwrap().to_owned()
}

/// Clicks on the button of a section that says this.
pub(super) fn click(browser: &mut Chromium, section: &str, button: &str) {
    let script = format!(
        "[...document.querySelectorAll({} + ' button')].find(it => it.textContent.includes({})).click()",
        json!(section),
        json!(button)
    );
    browser.evaluate(&script);
}

/// Types into the field of a section.
pub(super) fn type_into(browser: &mut Chromium, selector: &str, text: &str) {
    let field = format!("document.querySelector({})", json!(selector));
    browser.evaluate(&format!(
        "{field}.value = {}; {field}.dispatchEvent(new Event('input'))",
        json!(text)
    ));
}

/// Presses the button of the mouse at one place, and lets it go at another, both as parts of
/// the element's size.
pub(super) fn drag(browser: &mut Chromium, selector: &str, from: (f64, f64), to: (f64, f64)) {
    let element = format!("document.querySelector({})", json!(selector));
    browser.evaluate(&format!("{element}.scrollIntoView({{ block: 'center' }})"));
    let place = browser.evaluate(&format!(
        "(({{ x, y, width, height }}) => [x, y, width, height])({element}.getBoundingClientRect())"
    ));
    let place: Vec<f64> = serde_json::from_value(place).unwrap();
    let at = |(x, y): (f64, f64)| (place[0] + x * place[2], place[1] + y * place[3]);
    let steps = [
        ("mouseMoved", from, 0),
        ("mousePressed", from, 1),
        ("mouseMoved", to, 1),
        ("mouseReleased", to, 0),
    ];
    for (kind, point, buttons) in steps {
        let (x, y) = at(point);
        let button = if kind == "mouseMoved" && buttons == 0 {
            "none"
        } else {
            "left"
        };
        browser.call(
            "Input.dispatchMouseEvent",
            json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1 }),
        );
    }
}

/// Checks that the canvas has more than one color. A copy of it is examined: Chromium warns of a
/// canvas that is read often, which depends on the waiting time.
pub(super) fn is_drawn(browser: &mut Chromium, selector: &str) {
    browser.wait_for(&format!(
        "(canvas => {{ const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {{ willReadFrequently: true }}); \
         copy.drawImage(canvas, 0, 0); \
         const pixels = new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer); \
         return new Set(pixels).size > 3; }})(document.querySelector({}))",
        json!(selector)
    ));
}

#[test]
#[ignore = "needs Chromium"]
fn an_explanation_is_looked_at_with_mouse_and_keyboard() {
    let world = World::new();
    let file = reported(&world);
    let mut browser = Chromium::start();
    browser.open(&file);
    let answer = text(&mut browser, "#answer");
    assert!(
        answer.contains("6 runs a side: ") && answer.contains("in Lexer::next"),
        "{answer}"
    );
    let first = text(&mut browser, "#functions tbody tr");
    assert!(
        first.contains("Lexer::next") && first.contains("more"),
        "{first}"
    );
    assert!(text(&mut browser, "ol.path").contains("parse"));

    // Sorted and searched.
    click(&mut browser, "#functions", "Function");
    assert!(text(&mut browser, "#functions tbody tr").contains("print"));
    type_into(&mut browser, "#functions input", "lexer NEXT");
    browser.wait_for("document.querySelectorAll('#functions tbody tr:not([hidden])').length === 1");

    // The flame graph: in by the keyboard, out again, and searched.
    is_drawn(&mut browser, "#flame-graph canvas");
    browser.evaluate("document.querySelector('#flame-graph canvas').focus()");
    for key in ["ArrowDown", "ArrowDown", "Enter"] {
        browser.press(key);
    }
    let way = text(&mut browser, "#flame-graph .way");
    assert!(way.ends_with("mainparse"), "{way}");
    let called = text(&mut browser, "#flame-graph .called tbody");
    assert!(called.contains("Lexer::next"), "{called}");
    let said = text(&mut browser, "#flame-graph .readout");
    assert!(
        said.starts_with("parse (src/lexer.rs)") && said.contains(" after, +"),
        "{said}"
    );
    browser.press("Escape");
    assert!(text(&mut browser, "#flame-graph .way").ends_with("main"));
    type_into(&mut browser, "#flame-graph input[type=search]", "next");
    let found = text(&mut browser, "#flame-graph [role=status]:not(.readout)");
    assert!(found.starts_with("1 stacks, "), "{found}");

    // From a function to those that call it.
    click(&mut browser, "#functions", "Lexer::next");
    assert!(text(&mut browser, "#calls .columns tbody").contains("parse"));
    assert_eq!(browser.complaints(&file), [] as [Value; 0]);
}

#[test]
#[ignore = "needs Chromium"]
fn the_flame_charts_of_both_sides_move_together() {
    let world = World::new();
    let file = reported(&world);
    let mut browser = Chromium::start();
    browser.open(&file);
    is_drawn(&mut browser, "#timeline .chart canvas");
    browser.evaluate("document.querySelector('.trees').open = true");
    browser.wait_for("document.querySelectorAll('#timeline .tree tbody tr').length > 0");
    let seen = |browser: &mut Chromium| {
        browser.evaluate(
            "[...document.querySelectorAll('#timeline .chart canvas')].map(it => it.ariaLabel?.split(' are')[0] ?? it.getAttribute('aria-label'))",
        )
    };
    let whole = seen(&mut browser);

    // A window by the mouse; both sides show the same length.
    drag(&mut browser, ".minimap", (0.25, 0.5), (0.5, 0.5));
    browser.wait_for(
        "document.querySelector('#timeline .tools button:nth-of-type(2)').disabled === false",
    );
    click(&mut browser, "#timeline", "Go into this window");
    assert_eq!(
        browser.evaluate("document.querySelectorAll('.crumbs li').length"),
        2
    );
    browser.wait_for(
        "document.querySelector('#timeline .tree tbody th').textContent.includes('main')",
    );
    let inside = seen(&mut browser);
    assert_ne!(inside, whole);
    click(&mut browser, ".crumbs", "all, ");
    assert_eq!(
        browser.evaluate("document.querySelectorAll('.crumbs li').length"),
        1
    );

    // An entry is selected by a click, and its callees by the keyboard.
    drag(
        &mut browser,
        "#timeline .chart canvas",
        (0.02, 0.45),
        (0.02, 0.45),
    );
    browser.press("ArrowDown");
    let said = text(&mut browser, "#timeline .readout");
    assert!(said.starts_with("Before: "), "{said}");

    // Trees of both sides.
    browser.evaluate("document.querySelector('#timeline input[value=bottom-up]').click()");
    browser
        .wait_for("document.querySelector('#timeline .tree').textContent.includes('Lexer::next')");
    browser.evaluate("document.querySelector('#timeline input[value=\"event log\"]').click()");
    browser.wait_for("document.querySelectorAll('#timeline .tree table').length === 2");

    // A track is folded, and hidden.
    browser.evaluate("document.querySelector('.tracks').open = true");
    let height = "document.querySelector('#timeline .chart canvas').clientHeight";
    let before = browser.evaluate(height).as_u64().unwrap();
    browser.evaluate("document.querySelectorAll('.tracks input')[1].click()");
    browser.wait_for(&format!("{height} < {before}"));
    assert_eq!(browser.complaints(&file), [] as [Value; 0]);
}

/// `parse` calls `next`, which alone takes longer: both paths do, and that of `print` does not.
#[test]
#[ignore = "needs Chromium"]
fn a_path_says_how_sure_its_difference_is() {
    let world = World::new();
    let file = reported(&world);
    let mut browser = Chromium::start();
    browser.open(&file);
    is_drawn(&mut browser, "#flame-graph canvas");
    browser.evaluate("document.querySelector('#flame-graph canvas').focus()");
    for key in ["ArrowDown", "ArrowDown", "Enter"] {
        browser.press(key);
    }
    // Of six runs on each side, whose 40 rounds have 1.5 ms more: of the total, not of `parse` itself.
    let said = text(&mut browser, "#flame-graph .readout");
    let (_, sure) = said.split_once("; estimate +60.00 ms [+").expect(&said);
    let (interval, sure) = sure.split_once("], adjusted p 0.00").expect(&said);
    let (low, high) = interval.split_once(" ms, +").expect(&said);
    let [low, high] = [low, high.trim_end_matches(" ms")].map(|end| end.parse::<f64>().unwrap());
    assert!(low < 60.0 && 60.0 < high, "{said}");
    assert!(sure.contains(", certain; by itself +0 ns"), "{said}");
    let label = browser.evaluate("document.querySelector('#flame-graph canvas').ariaLabel ?? document.querySelector('#flame-graph canvas').getAttribute('aria-label')");
    assert!(label.as_str().unwrap().ends_with(&said), "{label}");
    // The table says the same, of the callees.
    let called = text(&mut browser, "#flame-graph .called tbody");
    assert!(called.contains(&format!("[+{interval}]")), "{called}");
    // Uncertain rows disappear: `print`, next to `parse`.
    browser.evaluate("document.querySelector('#flame-graph input[value=after]').click()");
    browser.press("Escape");
    let called = text(&mut browser, "#flame-graph .called tbody");
    assert!(
        called.contains("parse") && called.contains("print"),
        "{called}"
    );
    browser.evaluate("document.querySelector('#flame-graph input[type=checkbox]').click()");
    let called = text(&mut browser, "#flame-graph .called tbody");
    assert!(
        called.contains("parse") && !called.contains("print"),
        "{called}"
    );

    // In the call tree, rows are opened by the keyboard, and have the data of their path.
    browser.evaluate("document.querySelector('.trees').open = true");
    for name in ["main", "parse"] {
        browser.wait_for(&format!(
            "[...document.querySelectorAll('#timeline .tree tbody button')].some(it => it.textContent.endsWith('{name}'))"
        ));
        browser.evaluate(&format!(
            "[...document.querySelectorAll('#timeline .tree tbody button')].find(it => it.textContent.endsWith('{name}')).focus()"
        ));
        browser.press("Enter");
    }
    let row = |browser: &mut Chromium, name: &str| {
        let row = browser.evaluate(&format!(
            "[...document.querySelectorAll('#timeline .tree tbody tr')].find(it => it.cells[0].textContent.endsWith('{name}')).cells[7].textContent"
        ));
        row.as_str().unwrap().to_owned()
    };
    let total = format!("total +60.00 ms [+{interval}]");
    assert_eq!(row(&mut browser, "parse"), total);
    assert_eq!(row(&mut browser, "Lexer::next"), total);
    // Where short calls are passed over, a row may be another path.
    type_into(&mut browser, "#timeline input[type=number]", "0.001");
    browser
        .wait_for("!document.querySelector('#timeline .tree tbody').textContent.includes('total')");
    assert_eq!(row(&mut browser, "Lexer::next"), "–");

    // From the bottom up, a caller has the function's own cost in calls from it.
    type_into(&mut browser, "#timeline input[type=number]", "0");
    browser.evaluate("document.querySelector('#timeline input[value=bottom-up]').click()");
    let find = |name: &str, callers: usize| {
        format!(
            "[...document.querySelectorAll('#timeline .tree tbody tr')].find(it => it.cells[0].textContent.endsWith('{name}')
               && it.querySelector('[data-key]').dataset.key.split('\\n').length === {callers} + 1)"
        )
    };
    for (callers, name) in ["Lexer::next", "parse"].into_iter().enumerate() {
        let row = find(name, callers);
        browser.wait_for(&format!("{row} !== undefined"));
        browser.evaluate(&format!("{row}.querySelector('button').click()"));
    }
    for (name, callers) in [("parse", 1), ("main", 2)] {
        let row = find(name, callers);
        browser.wait_for(&format!("{row} !== undefined"));
        let cells = browser.evaluate(&format!("[7, 8].map(at => {row}.cells[at].textContent)"));
        let known = cells[0].as_str().unwrap();
        assert!(known.starts_with("self +60.00 ms ["), "{name}: {cells}");
        assert_ne!(cells[1], "–");
    }
    assert_eq!(browser.complaints(&file), [] as [Value; 0]);
}

#[test]
#[ignore = "needs Chromium"]
fn an_explanation_fits_a_phone_and_does_without_scripts() {
    let world = World::new();
    let file = reported(&world);
    let mut browser = Chromium::start();
    look_from(&mut browser, 320, "dark");
    browser.open(&file);
    browser.wait_for("!document.querySelector('#timeline').hidden");
    let width = browser.evaluate("document.documentElement.scrollWidth");
    assert!(width.as_u64().unwrap() <= 320, "{width}");
    let printed = browser.call("Page.printToPDF", json!({}));
    assert!(printed["data"].as_str().unwrap().starts_with("JVBERi0"));
    browser.run_scripts(false);
    browser.open(&file);
    assert!(text(&mut browser, "noscript").contains("whole without them"));
    let rows = browser.evaluate("document.querySelectorAll('#functions tbody tr').length");
    // All except `main`, which does nothing itself.
    assert_eq!(rows, 4);
    let hidden = browser.evaluate("document.querySelector('#flame-graph').hidden");
    assert_eq!(hidden, true);
}

/// The findings of axe-core, a line each.
const FOUND: &str = "axe.run(document, { resultTypes: ['violations'] }).then(found =>
    found.violations.flatMap(rule => rule.nodes.map(node =>
        `${rule.id}: ${node.html}: ${node.failureSummary}`)))";

#[test]
#[ignore = "needs Chromium and axe-core"]
fn axe_core_finds_nothing_in_an_explanation() {
    let directory = std::env::var("PINPOINT_TEST_OIDC_PROVIDER").expect(
        "`npm install --prefix DIRECTORY axe-core@4`, and PINPOINT_TEST_OIDC_PROVIDER=DIRECTORY",
    );
    let axe = Path::new(&directory).join("node_modules/axe-core/axe.min.js");
    let axe = fs::read_to_string(axe).unwrap();
    let world = World::new();
    let pages = [reported(&world), annotations::noted(&world)];
    let mut browser = Chromium::start();
    let looks = [(320, "dark"), (1280, "light")];
    for (page, (width, theme)) in pages.iter().flat_map(|page| looks.map(|look| (page, look))) {
        look_from(&mut browser, width, theme);
        browser.open(page);
        browser.wait_for("!document.querySelector('#timeline').hidden");
        browser.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)");
        browser.wait_for("document.querySelector('#timeline .tree tbody') !== null");
        browser.evaluate(&format!("{axe}; 0"));
        assert_eq!(browser.evaluate(FOUND), json!([]), "{theme}");
    }
}

pub(super) fn look_from(browser: &mut Chromium, width: u32, theme: &str) {
    let screen = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", screen);
    let features = json!([{ "name": "prefers-color-scheme", "value": theme }]);
    browser.call(
        "Emulation.setEmulatedMedia",
        json!({ "features": features }),
    );
}
