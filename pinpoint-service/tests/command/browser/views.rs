//! Pages that leave the browser: as a link that is copied, and on paper.

use serde_json::json;

use super::prepared::{prepare, with_charts};
use super::visitor::Visitor;
use crate::scene::Scene;

#[tokio::test]
#[ignore = "needs Chromium"]
async fn a_copied_link_leads_to_the_same_view() {
    let scene = Scene::new("");
    let running = scene.serve();
    let prepared = prepare(&scene, &running, with_charts::<200>).await;
    let mut browser = Visitor::new(&running);
    let origin = browser.home.clone();
    let granted = json!({ "permissions": ["clipboardReadWrite"], "origin": origin });
    browser.call("Browser.grantPermissions", granted);
    let focused = json!({ "enabled": true });
    browser.call("Emulation.setFocusEmulationEnabled", focused);
    browser.go(&format!("/jobs/{}", prepared.wide));
    browser.fill(&[("find", "chart/0017")]);
    browser.click("form:has([name=find]) button");
    browser.click("#metrics thead a[href*='sort=metric']");
    browser.shows("#metrics", "10 of 200 metrics");
    // Changes by a script are in the link, too.
    browser.evaluate(
        "const at = document.querySelector('#at');
         at.value = 7;
         at.dispatchEvent(new Event('input', { bubbles: true }))",
    );
    browser.wait_for("location.search.includes('at=7')");
    browser.wait_for("document.querySelector('#past .note') !== null");
    browser.evaluate("document.querySelector('#tools button').click()");
    browser.shows("#done", "Link copied.");
    let view = "document.querySelector('#job').innerText";
    let seen = browser.evaluate(view);
    let copied = browser.evaluate("navigator.clipboard.readText()");
    let copied = copied.as_str().unwrap().to_owned();
    browser.go("/");
    browser.visit(&copied);
    assert_eq!(browser.evaluate(view), seen);
    assert_eq!(browser.evaluate("location.href"), copied);
}

/// Visible parts that are useless on paper.
const SEEN_CONTROLS: &str = "[...document.querySelectorAll(
        'header.frame, nav, button, input, select, textarea, .skip, .filters, .columns')]
    .filter(it => it.getClientRects().length > 0).map(it => it.outerHTML.slice(0, 200))";

/// Tables and charts of which a part is cut off, or outside the paper. Chromium prints a page that
/// is too wide smaller, down to a half (`printing_maximum_shrink_factor`).
const CUT_OFF: &str = "[...document.querySelectorAll('main table, main svg')]
    .filter(it => it.getClientRects().length > 0)
    .filter(it => {
        const { left, right } = it.getBoundingClientRect();
        const hidden = [];
        for (let part = it.parentElement; part; part = part.parentElement)
            if (getComputedStyle(part).overflowX !== 'visible' && part !== document.body
                && part.scrollWidth > part.clientWidth) hidden.push(part);
        return hidden.length || left < 0 || right > 2 * document.documentElement.clientWidth;
    }).map(it => [it.scrollWidth, it.parentElement.className, it.outerHTML.slice(0, 100)])";

#[tokio::test]
#[ignore = "needs Chromium"]
async fn paper_shows_the_content_whole_and_nothing_to_press() {
    let scene = Scene::new("");
    let running = scene.serve();
    let prepared = prepare(&scene, &running, with_charts::<200>).await;
    let mut browser = Visitor::new(&running);
    // A4 between margins of 1 cm, in pixels of CSS.
    browser.look_from(718, "dark");
    let mut problems = Vec::new();
    for path in prepared.pages() {
        // Forms alone.
        if ["/new", "/cancel", "/account", "/admin"]
            .iter()
            .any(|it| path.contains(it))
        {
            continue;
        }
        browser.go(&path);
        let charts = browser.evaluate("document.querySelectorAll('main svg').length");
        browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
        let seen = "[...document.querySelectorAll('main svg')]
            .filter(it => it.getBoundingClientRect().height > 0 || it.closest('details')).length";
        let scheme = "getComputedStyle(document.documentElement).colorScheme";
        let none = json!([]);
        for (asked, expected) in [
            (SEEN_CONTROLS, &none),
            (CUT_OFF, &none),
            (seen, &charts),
            // Black on white, whatever the theme.
            (scheme, &json!("light")),
        ] {
            let found = browser.evaluate(asked);
            if found != *expected {
                problems.push(format!("{path}: {found}, not {expected}"));
            }
        }
        browser.call("Emulation.setEmulatedMedia", json!({ "media": "" }));
    }
    assert!(problems.is_empty(), "{problems:#?}");
    browser.go(&format!("/jobs/{}", prepared.bisection));
    let printed = browser.call("Page.printToPDF", json!({}));
    let printed = base64::Engine::decode(
        &base64::engine::general_purpose::STANDARD,
        printed["data"].as_str().unwrap(),
    );
    assert!(printed.unwrap().starts_with(b"%PDF-"));
}
