//! The form of a new job in a real browser, with scripts and without.

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::chromium::Chromium;
use crate::scene::Scene;

const FILL: &str = "for (const [name, value] of Object.entries({
        name: 'Since Monday', bot: 'lab', benchmark: 'parsing', max_runs: '40', commits: '3',
        magnitude: '20%', good: 'a'.repeat(40), bad: 'b'.repeat(40) })) {
    const field = document.querySelector(`[name=${name}]`);
    field.value = value;
    field.dispatchEvent(new Event('input', { bubbles: true }));
}";

#[test]
#[ignore = "needs Chromium"]
fn a_job_is_made_with_scripts_and_without() {
    let scene = Scene::new("");
    let running = scene.serve();
    let home = format!("http://{}", running.address);
    let mut browser = Chromium::start();
    let value = |name: &str| format!("document.querySelector('[name={name}]').value");

    // With scripts: what is typed is estimated, and in the address.
    browser.visit(&format!("{home}/new"));
    browser.evaluate(FILL);
    browser.wait_for("document.querySelector('#estimate').innerText.includes('3 commits between')");
    browser.wait_for("document.querySelector('#commands').textContent.includes('pinpoint bisect')");
    browser.wait_for("location.search.includes('name=Since+Monday')");
    browser.follow("location.reload()");
    assert_eq!(browser.evaluate(&value("name")), "Since Monday");
    assert_eq!(browser.evaluate(&value("bad")), "b".repeat(40));
    let typed = browser.evaluate("location.href");
    // Another kind has what is typed, too.
    browser.wait_for("document.querySelector('[data-kind=try]').href.includes('bot=lab')");
    browser.follow("document.querySelector('[data-kind=try]').click()");
    assert_eq!(browser.evaluate(&value("bot")), "lab");
    assert_eq!(browser.evaluate(&value("attempts")), "30");
    browser.visit(typed.as_str().unwrap());
    // Twice in a moment.
    browser.follow(
        "const button = document.querySelector('[value=make]'); button.click(); button.click()",
    );
    let made = browser.evaluate("location.pathname");
    assert!(made.as_str().unwrap().starts_with("/jobs/"), "{made}");
    let (_, counted) = running.get("/api/v2/jobs/count", "none");
    assert_eq!(counted["jobs"], "1");

    // Without: what is typed is sent, and comes back.
    let disabled = json!({ "value": true });
    browser.call("Emulation.setScriptExecutionDisabled", disabled);
    let url = format!("{home}/new?kind=bisection");
    browser.call("Page.navigate", json!({ "url": url }));
    until(
        &mut browser,
        "document.readyState === 'complete' && location.pathname === '/new'",
    );
    browser.evaluate(FILL);
    browser.evaluate("document.querySelector('[value=look]').click()");
    let estimate = "document.querySelector('#estimate')?.innerText.includes('3 commits between')";
    until(&mut browser, estimate);
    assert_eq!(browser.evaluate(&value("name")), "Since Monday");
    // The browser itself refuses a half-filled form.
    browser.evaluate("document.querySelector('[name=good]').value = ''");
    let is_whole = "document.querySelector('#new').checkValidity()";
    assert_eq!(browser.evaluate(is_whole), false);
    browser.evaluate(
        "document.querySelector('[name=good]').value = 'a'.repeat(40);
         document.querySelector('[name=bot]').value = 'unheard';
         document.querySelector('[value=make]').click()",
    );
    until(
        &mut browser,
        "document.querySelector('#e-bot')?.innerText.includes('unheard')",
    );
    assert_eq!(browser.evaluate(&value("name")), "Since Monday");
    browser.evaluate(
        "document.querySelector('[name=bot]').value = 'lab';
         document.querySelector('[value=make]').click()",
    );
    until(&mut browser, "location.pathname.startsWith('/jobs/')");
    for url in browser.requests() {
        assert!(url.starts_with(&home), "{url}");
    }
}

/// Waits until an expression is true, in a page in which nothing else runs.
#[track_caller]
fn until(browser: &mut Chromium, expression: &str) {
    for _ in 0..1200 {
        if browser.evaluate(expression) == true {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("never true: {expression}");
}
