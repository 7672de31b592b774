//! The form of a new job in a real browser, with scripts and without.

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

#[test]
#[ignore = "needs Chromium"]
fn a_job_is_made_with_scripts_and_without() {
    let scene = Scene::new("");
    let running = scene.serve();
    let mut browser = Visitor::of(&running);
    // Fields that are wrong.
    browser.expect("the server responded with a status of 400");

    // With scripts: what is typed is estimated, and in the address.
    browser.go("/new");
    fill(&mut browser);
    browser.wait_for("document.querySelector('#estimate').innerText.includes('3 commits between')");
    browser.wait_for("document.querySelector('#commands').textContent.includes('pinpoint bisect')");
    browser.wait_for("location.search.includes('name=Since+Monday')");
    browser.follow("location.reload()");
    assert_eq!(browser.value("name"), "Since Monday");
    assert_eq!(browser.value("bad"), "b".repeat(40));
    let typed = browser.path();
    // Another kind has what is typed, too.
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

    // Without: what is typed is sent, and comes back.
    browser.run_scripts(false);
    browser.go("/new?kind=bisection");
    fill(&mut browser);
    browser.click("[value=look]");
    // On a busy machine, it says that it takes too long.
    browser.wait_for("!document.querySelector('#estimate').innerText.includes('Fill in')");
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
