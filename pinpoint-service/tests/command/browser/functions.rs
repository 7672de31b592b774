//! Every function of the pages, once with scripts and once without.

use serde_json::json;

use super::prepared::{Prepared, made, prepare, with_charts};
use super::visitor::Visitor;
use crate::scene::{Running, Scene};

const BISECTION: &str = "\
[[presets]]
name = 'nightly'
kind = 'bisection'
bot = 'lab'
benchmark = 'parsing'
attempts = 20
";

#[tokio::test]
#[ignore = "needs Chromium"]
async fn each_function_works_with_scripts_and_without() {
    let scene = Scene::new(BISECTION);
    let running = scene.serve();
    let prepared = prepare(&scene, &running, with_charts::<200>).await;
    // More than a page of ten.
    for number in 0..4 {
        made(&running, &format!("Of {number}"));
    }
    let mut visitor = Visitor::new(&running);
    // The form with problems.
    visitor.expect_status(400, "/new");
    for scripts in [true, false] {
        visitor.run_scripts(scripts);
        the_list(&mut visitor);
        what_a_row_does(&mut visitor, &running);
        what_a_job_does(&mut visitor, &running);
        a_comparison(&mut visitor, &prepared);
        a_search(&mut visitor, &prepared);
        the_form(&mut visitor);
        the_account(&mut visitor, scripts);
        the_machines(&mut visitor);
        a_commit(&mut visitor, &prepared);
        visitor.go("/admin");
        visitor.click("form[action='/admin/verify'] button");
        visitor.shows("main", "Intact");
    }
}

/// Filters, order, pages and columns.
fn the_list(visitor: &mut Visitor) {
    visitor.go("/?size=25");
    visitor.fill(&[("text", "Many charts"), ("state", "completed")]);
    visitor.click(".filters button");
    assert_eq!(visitor.text("table.jobs tbody th"), "Many charts");
    assert!(visitor.path().contains("text=Many+charts"));
    // A day alone is a filter.
    visitor.go("/?size=25");
    visitor.fill(&[("to", "2020-01-01")]);
    visitor.click(".filters button");
    visitor.shows("main", "No jobs match");
    visitor.click(".filters a");
    visitor.click("thead th a[href*='sort=name']");
    assert!(
        visitor
            .text("thead th[aria-sort=ascending]")
            .starts_with("Name")
    );
    visitor.click("thead th a[href*='sort=-name']");
    assert!(
        visitor
            .text("thead th[aria-sort=descending]")
            .starts_with("Name")
    );
    visitor.evaluate("document.querySelector('.columns').open = true");
    visitor.click(".columns li:first-child a");
    assert!(!visitor.text("thead").contains("Name"));
    visitor.evaluate("document.querySelector('.columns').open = true");
    visitor.click(".columns a[aria-label='move Benchmark to the right']");
    assert!(visitor.text("thead").starts_with("Bot"));
    visitor.click("form[action='/view'] button");
    visitor.go("/");
    assert!(visitor.text("thead").starts_with("Bot"), "it is kept");
    visitor.evaluate("document.querySelector('.columns').open = true");
    visitor.click(".columns .bar a");
    assert!(visitor.text("thead").starts_with("Name"));
    visitor.evaluate("document.querySelector('.columns').open = true");
    visitor.click("form[action='/view'] button");
    visitor.go("/?size=10&sort=name");
    visitor.click("nav [rel=next]");
    visitor.click("nav [rel=prev]");
    let current = "main .chip[aria-current]";
    for (other, has_user) in [("My jobs", true), ("All jobs", false)] {
        assert_ne!(visitor.text(current), other);
        visitor.click("main .chip:not([aria-current])");
        assert_eq!(visitor.text(current), other);
        assert_eq!(visitor.path().contains("user="), has_user);
    }
}

fn what_a_row_does(visitor: &mut Visitor, running: &Running) {
    let id = made(running, "A row");
    let row = format!("tr[data-job='{id}']");
    visitor.go("/?size=25");
    visitor.click(&format!("{row} form[action$='/retry'] button"));
    visitor.shows("#facts", &id);
    visitor.go("/?size=25");
    visitor.click(&format!("{row} a[href*='/new?from']"));
    assert_eq!(visitor.value("name"), "A row");
    visitor.go("/?size=25");
    visitor.click(&format!("{row} a[href$='/cancel']"));
    // The reason is required by the browser, and by the service.
    let is_whole = "document.querySelector('#reason').form.checkValidity()";
    assert_eq!(visitor.evaluate(is_whole), false);
    visitor.click("main a[href^='/jobs/']");
    visitor.shows("h1", "A row");
}

fn what_a_job_does(visitor: &mut Visitor, running: &Running) {
    let id = made(running, "A job");
    visitor.go(&format!("/results/jobid/{id}"));
    assert_eq!(visitor.path(), format!("/jobs/{id}"));
    let action = |name: &str| format!("#actions form[action$='/{name}'] button");
    visitor.click(&action("pause"));
    visitor.shows("#state", "Paused");
    visitor.click(&action("resume"));
    visitor.shows("#state", "Pending");
    visitor.click("#actions a[href$='/cancel']");
    visitor.fill(&[("reason", "fixed in main")]);
    visitor.click("button.danger");
    visitor.shows("#state", "Canceled");
    visitor.shows("#facts", "fixed in main");
    visitor.click(&action("resume"));
    visitor.shows("#state", "Pending");
    visitor.click(&action("retry"));
    visitor.shows("#facts", "Retry of");
    visitor.click("#actions a[href^='/new?from']");
    assert_eq!(visitor.value("name"), "A job");
    visitor.go(&format!("/jobs/{id}"));
    visitor.fill(&[("with", &made(running, "Another"))]);
    visitor.click("form[action='/compare'] button");
    visitor.shows("h1", "Two jobs side by side");
}

/// Metrics that are searched, sorted and chosen, and the details of a run.
fn a_comparison(visitor: &mut Visitor, prepared: &Prepared) {
    visitor.go(&format!("/jobs/{}", prepared.wide));
    visitor.fill(&[("find", "chart/0017")]);
    visitor.click("form:has([name=find]) button");
    visitor.shows("#metrics", "10 of 200 metrics");
    visitor.click("#metrics thead a[href*='sort=metric']");
    visitor.shows(".metrics tbody th", "chart/00170");
    visitor.go(&format!("/jobs/{}", prepared.wide));
    visitor.click("#metrics [rel=next]");
    visitor.go(&format!("/jobs/{}", prepared.comparison));
    visitor.evaluate("document.querySelector('.squares a.failed').click()");
    visitor.shows("#run", "onerror=hacked");
    assert!(visitor.path().contains("run="));
}

/// A search in its past.
fn a_search(visitor: &mut Visitor, prepared: &Prepared) {
    visitor.go(&format!("/jobs/{}?at=9", prepared.bisection));
    visitor.shows("#past .note", "as it was");
    visitor.evaluate("document.querySelector('#past [rel=prev]').click()");
    visitor.wait_for("location.search === '?at=8'");
    visitor.shows("#past label", "After record 8");
    visitor.go(&format!("/jobs/{}", prepared.finder));
    visitor.shows("main", "Verification");
}

fn the_form(visitor: &mut Visitor) {
    visitor.go("/new");
    visitor.click("main a[href='/new?preset=nightly']");
    assert_eq!(visitor.value("benchmark"), "parsing");
    assert_eq!(visitor.value("attempts"), "20");
    visitor.click("[data-kind=culprit]");
    visitor.shows("#new [value=make]", "Start culprit finder");
    assert_eq!(visitor.text(".chip[aria-current]"), "Culprit finder");
    visitor.click("[data-kind=try]");
    visitor.shows("#new [value=make]", "Start try job");
    // The problems of all fields at once, at their fields.
    visitor.fill(&[
        ("bot", "unheard"),
        ("benchmark", "parsing"),
        ("base", "nonsense!"),
        ("max_time", "soon"),
    ]);
    visitor.click("[value=make]");
    visitor.shows("#e-bot", "unheard");
    visitor.shows("#e-max_time", "Enter a time like");
    let focus = "document.querySelector('.errors a').hash";
    assert_eq!(visitor.evaluate(focus), "#f-bot");
    assert_eq!(visitor.value("base"), "nonsense!");
}

/// Bots and workers, each of which leads to the other and to jobs.
fn the_machines(visitor: &mut Visitor) {
    visitor.go("/");
    visitor.click("nav a[href='/bots']");
    assert_eq!(visitor.text("h1"), "Bots");
    visitor.shows("tbody", "rack-1");
    visitor.click("tbody a[href='/workers']");
    assert_eq!(visitor.text("h1"), "Workers");
    visitor.shows("tbody", "rack-1");
    visitor.click("tbody a[href^='/jobs/']");
    visitor.shows("h1", "Pending");
    visitor.go("/bots");
    visitor.click("tbody a[aria-label$='pending on lab']");
    visitor.shows("table.jobs", "Pending");
}

/// A commit, with the jobs that used it.
fn a_commit(visitor: &mut Visitor, prepared: &Prepared) {
    visitor.go(&format!("/jobs/{}", prepared.finder));
    visitor.click("main a[href^='/commits/']");
    assert!(visitor.text("h1").starts_with("Commit "));
    let link = format!("a[href='/jobs/{}']", prepared.finder);
    let found = visitor.text(&format!("tr:has({link}) td:nth-of-type(3)"));
    assert!(found.starts_with("Culprit"), "{found}");
    visitor.click(&format!("table {link}"));
    visitor.shows("h1", "Verified");
}

/// A theme, and a token that is made and revoked.
fn the_account(visitor: &mut Visitor, scripts: bool) {
    visitor.go("/account");
    for theme in ["dark", "system"] {
        visitor.fill(&[("theme", theme)]);
        visitor.click("form[action='/account/preferences'] button");
        let kept = visitor.evaluate("document.documentElement.dataset.theme ?? 'system'");
        assert_eq!(kept, json!(theme));
    }
    let name = if scripts { "with" } else { "without" };
    visitor.fill(&[("name", name)]);
    visitor.evaluate("document.querySelector('[name=may_see]').checked = true");
    visitor.click("form[action='/account/tokens'] button");
    visitor.shows("main pre", "pinpoint_");
    visitor.click("main a.button");
    visitor.click(&format!("button[aria-label='Revoke {name}']"));
    visitor.shows("main [aria-label=Tokens]", "Revoked");
}
