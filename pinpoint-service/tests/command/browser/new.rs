//! The form of a new job in a real browser, with scripts and without.

use serde_json::json;

use super::visitor::Visitor;
use crate::scene::Scene;

/// Fills the form in.
fn fill(browser: &mut Visitor) {
    browser.fill(&[
        ("name", "Since Monday"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("max_runs", "40"),
        ("commits", "3"),
        ("magnitude", "20%"),
        ("good", &"a".repeat(40)),
        ("bad", &"b".repeat(40)),
    ]);
}

/// All input has its answer. On a busy machine, the estimate says that it takes too long.
const IS_ESTIMATED: &str = "document.querySelector('[aria-busy]') === null
    && /3 commits between the ends|takes too long/
        .test(document.querySelector('#estimate').innerText)";

/// Keys that follow each other are answered once.
fn asks_once(browser: &mut Visitor) {
    let asked = |browser: &Visitor| {
        let requests = browser.requests();
        requests.filter(|url| url.contains("/new/estimate")).count()
    };
    browser.wait_for(IS_ESTIMATED);
    let before = asked(browser);
    browser.evaluate(
        "{ const field = document.querySelector('[name=max_runs]');
           for (const value of ['41', '42', '43']) {
               field.value = value;
               field.dispatchEvent(new Event('input', { bubbles: true }));
           } }",
    );
    browser.wait_for("location.search.includes('max_runs=43')");
    browser.wait_for(
        "performance.getEntriesByType('resource')
             .some(it => it.name.includes('/new/estimate') && it.name.includes('max_runs=43'))",
    );
    browser.wait_for(IS_ESTIMATED);
    assert_eq!(asked(browser) - before, 1);
}

/// The commands are copied as they are.
fn copies(browser: &mut Visitor) {
    let origin = browser.home.clone();
    let granted = json!({ "permissions": ["clipboardReadWrite"], "origin": origin });
    browser.call("Browser.grantPermissions", granted);
    let focused = json!({ "enabled": true });
    browser.call("Emulation.setFocusEmulationEnabled", focused);
    browser.evaluate("document.querySelector('#commands').closest('details').open = true");
    browser.evaluate("document.querySelector('#commands [data-copy]').click()");
    browser.shows("#commands [data-copy]", "Copied");
    let copied = browser.evaluate("navigator.clipboard.readText()");
    let copied = copied.as_str().unwrap();
    assert!(copied.starts_with("pinpoint bisect "), "{copied}");
    assert_eq!(copied, browser.text("#commands pre"));
}

#[test]
#[ignore = "needs Chromium"]
fn a_job_is_made_with_scripts_and_without() {
    let scene = Scene::new("");
    let running = scene.serve();
    let mut browser = Visitor::new(&running);
    // Fields that are wrong.
    browser.expect("the server responded with a status of 400");

    // With scripts: the input is estimated, and in the address.
    browser.go("/new");
    fill(&mut browser);
    browser.wait_for("document.querySelector('#estimate').innerText.includes('3 commits between')");
    browser.wait_for("document.querySelector('#commands').textContent.includes('pinpoint bisect')");
    // The cost of an earlier form is not shown next to another.
    browser.evaluate(
        "window.answers = fetch; window.fetch = () => Promise.resolve(new Response('', { status: 503 }))",
    );
    browser.fill(&[("commits", "4")]);
    browser.wait_for("document.querySelector('#estimate').innerText.includes('Not available')");
    browser.evaluate("window.fetch = answers");
    browser.fill(&[("commits", "3")]);
    browser.wait_for("document.querySelector('#estimate').innerText.includes('3 commits between')");
    browser.wait_for("location.search.includes('name=Since+Monday')");
    browser.follow("location.reload()");
    assert_eq!(browser.value("name"), "Since Monday");
    assert_eq!(browser.value("bad"), "b".repeat(40));
    asks_once(&mut browser);
    copies(&mut browser);
    let typed = browser.path();
    // Another kind has the same input.
    browser.wait_for("document.querySelector('[data-kind=try]').href.includes('bot=lab')");
    browser.follow("document.querySelector('[data-kind=try]').click()");
    assert_eq!(browser.value("bot"), "lab");
    assert_eq!(browser.value("attempts"), "30");
    browser.go(&typed);
    // Twice in a moment.
    browser.follow(
        "const button = document.querySelector('[value=make]'); button.click(); button.click()",
    );
    let made = browser.path();
    assert!(made.starts_with("/jobs/"), "{made}");
    let (_, counted) = running.get("/api/v2/jobs/count", "none");
    assert_eq!(counted["jobs"], "1");

    // Without: the input is sent, and comes back.
    browser.run_scripts(false);
    browser.go("/new?kind=bisection");
    fill(&mut browser);
    browser.click("[value=look]");
    browser.wait_for(IS_ESTIMATED);
    assert_eq!(browser.value("name"), "Since Monday");
    // The browser itself refuses a half-filled form.
    browser.fill(&[("good", "")]);
    let is_whole = "document.querySelector('#new').checkValidity()";
    assert_eq!(browser.evaluate(is_whole), false);
    browser.fill(&[("good", &"a".repeat(40)), ("bot", "unheard")]);
    browser.click("[value=make]");
    browser.shows("#e-bot", "unheard");
    assert_eq!(browser.value("name"), "Since Monday");
    browser.fill(&[("bot", "lab")]);
    browser.click("[value=make]");
    let made = browser.path();
    assert!(made.starts_with("/jobs/"), "{made}");
}
