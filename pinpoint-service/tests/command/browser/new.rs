//! The form of a new job in a real browser, with scripts and without.

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
    let text = "document.querySelector('main').innerText";
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
    // Another kind has what is typed, too.
    browser.wait_for("document.querySelector('[data-kind=try]').href.includes('bot=lab')");
    browser.follow("document.querySelector('[data-kind=try]').click()");
    assert_eq!(browser.evaluate(&value("bot")), "lab");
    assert_eq!(browser.evaluate(&value("attempts")), "30");
    browser.follow("history.back()");
    // Twice in a moment.
    browser.follow(
        "const button = document.querySelector('[value=make]'); button.click(); button.click()",
    );
    let made = browser.evaluate("location.pathname");
    assert!(made.as_str().unwrap().starts_with("/jobs/"), "{made}");
    let (_, counted) = running.get("/api/v2/jobs:count", "none");
    assert_eq!(counted["jobs"], "1");

    // Without: a GET and a POST.
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        json!({ "value": true }),
    );
    browser.visit(&format!("{home}/new?kind=bisection"));
    browser.evaluate(FILL);
    browser.follow("document.querySelector('[value=look]').click()");
    let shown = browser.evaluate(text);
    assert!(
        shown.as_str().unwrap().contains("3 commits between"),
        "{shown}"
    );
    assert_eq!(browser.evaluate(&value("name")), "Since Monday");
    browser.evaluate("document.querySelector('[name=bot]').value = 'unheard'");
    browser.follow("document.querySelector('[value=make]').click()");
    let shown = browser.evaluate("document.querySelector('#e-bot').innerText");
    assert!(shown.as_str().unwrap().contains("unheard"), "{shown}");
    // The browser itself refuses a half-filled form.
    browser.evaluate(
        "document.querySelector('[name=bot]').value = 'lab';
         document.querySelector('[name=good]').value = ''",
    );
    assert_eq!(
        browser.evaluate("document.querySelector('#new').checkValidity()"),
        false
    );
    browser.evaluate("document.querySelector('[name=good]').value = 'a'.repeat(40)");
    browser.follow("document.querySelector('[value=make]').click()");
    let made = browser.evaluate("location.pathname");
    assert!(made.as_str().unwrap().starts_with("/jobs/"), "{made}");
    for url in browser.requests() {
        assert!(url.starts_with(&home), "{url}");
    }
}
