//! Faults outside of the service: lost connections, wrong clocks, scripts that do not run, pages
//! older than the service.

use serde_json::json;

use super::killed::{LISTEN, is_quiet};
use super::prepared::made;
use super::visitor::Visitor;
use crate::scene::Scene;

/// Time that passes fifty times as fast, and dice that always show the same. Notes the time that
/// each timer is given.
const FAST: &str = "const later = setTimeout;
    window.delays = [];
    window.setTimeout = (done, delay = 0, ...rest) => {
        delays.push(delay);
        return later(done, delay / 50, ...rest);
    };
    Math.random = () => 0.5;";

#[test]
#[ignore = "needs Chromium"]
fn a_lost_connection_is_tried_less_and_less_often_and_differently_on_each_page() {
    let scene = Scene::new("");
    let running = scene.serve();
    let id = made(&running, "Since Monday");
    let mut visitor = Visitor::new(&running);
    visitor.expect("net::ERR_BLOCKED_BY_CLIENT");
    visitor.expect("ERR_INCOMPLETE_CHUNKED_ENCODING");
    visitor.prepare(FAST);
    for path in ["/?size=25", &format!("/jobs/{id}")] {
        let lost = json!({ "urls": ["*/events?*", "*/events"] });
        visitor.call("Network.setBlockedURLs", lost);
        visitor.go(path);
        // Half of each pause depends on the dice.
        visitor.wait_for("delays.filter(delay => delay === 45000).length > 1");
        for pause in [750, 1500, 3000, 6000, 12_000, 24_000] {
            let is_there = visitor.evaluate(&format!("delays.includes({pause})"));
            assert_eq!(is_there, true, "{path}: {pause}");
        }
        visitor.shows("#connection", "Not connected");
        visitor.call("Network.setBlockedURLs", json!({ "urls": [] }));
        visitor.wait_for("document.querySelector('#connection').textContent === ''");
    }
    // Changes during the loss are there.
    let pause = format!("/api/v2/jobs/{id}/pause");
    assert_eq!(running.post(&pause, "", &json!({})), 200);
    visitor.shows("#state", "Paused");
}

#[test]
#[ignore = "needs Chromium"]
fn a_page_that_is_older_than_the_service_offers_a_reload() {
    let scene = Scene::new("");
    let running = scene.serve();
    let id = made(&running, "Since Monday");
    let mut visitor = Visitor::new(&running);
    visitor.prepare(
        "const Real = EventSource;
         window.EventSource = class extends Real {
             constructor(url) { super(url.replace(/version=[^&]*/, 'version=older')); }
         }",
    );
    visitor.go("/?size=25");
    visitor.shows(
        "#connection",
        "The service has a newer version of this page. Reload",
    );
    visitor.go(&format!("/jobs/{id}"));
    visitor.evaluate("document.querySelector('#job').dataset.version = 'older'");
    let pause = format!("/api/v2/jobs/{id}/pause");
    assert_eq!(running.post(&pause, "", &json!({})), 200);
    visitor.shows(
        "#connection",
        "The service has a newer version of this page. Reload",
    );
    visitor.click("#connection a");
    visitor.shows("#state", "Paused");
}

#[test]
#[ignore = "needs Chromium"]
fn ages_are_those_of_the_service_whatever_the_clock_of_the_browser_says() {
    let scene = Scene::new("");
    let running = scene.serve();
    let id = made(&running, "Since Monday");
    let mut visitor = Visitor::new(&running);
    visitor.prepare(
        "const Real = Date;
         window.Date = class extends Real {
             constructor(...given) { given.length ? super(...given) : super(Real.now() + 5 * 3600e3); }
             static now() { return Real.now() + 5 * 3600e3; }
         }",
    );
    let zone = json!({ "timezoneId": "Pacific/Kiritimati" });
    visitor.call("Emulation.setTimezoneOverride", zone);
    visitor.go("/?size=25");
    assert!(visitor.text("table.jobs time").contains("just now"));
    visitor.go(&format!("/jobs/{id}"));
    let pause = format!("/api/v2/jobs/{id}/pause");
    assert_eq!(running.post(&pause, "", &json!({})), 200);
    visitor.shows("#state", "Paused");
    let facts = visitor.text("#facts");
    assert!(facts.contains(" UTC, just now"), "{facts}");
}

#[test]
#[ignore = "needs Chromium"]
fn a_page_whose_script_fails_works_as_one_without() {
    let scene = Scene::new("");
    let running = scene.serve();
    let id = made(&running, "Since Monday");
    let mut visitor = Visitor::new(&running);
    visitor.expect("net::ERR_BLOCKED_BY_CLIENT");
    let lost = json!({ "urls": ["*/assets/page.*"] });
    visitor.call("Network.setBlockedURLs", lost);
    let action = |name: &str| format!("#actions form[action$='/{name}'] button");
    visitor.go(&format!("/jobs/{id}"));
    visitor.click(&action("pause"));
    visitor.shows("#state", "Paused");
    visitor.go(&format!("/new?from={id}"));
    visitor.fill(&[
        ("name", "Without a script"),
        ("commits", "3"),
        ("magnitude", "20%"),
    ]);
    visitor.click("[value=look]");
    // On a busy machine, it says that it takes too long.
    visitor.wait_for(
        "/3 commits between the ends|takes too long/.test(document.querySelector('#estimate').innerText)",
    );
    visitor.click("[value=make]");
    visitor.shows("h1", "Without a script");

    // Half-way: it begins, and then there is no network for it.
    visitor.call("Network.setBlockedURLs", json!({ "urls": [] }));
    visitor.prepare(
        "window.fetch = () => Promise.reject(new TypeError('no network'));
         delete window.EventSource;",
    );
    visitor.expect("EventSource is not defined");
    visitor.go(&format!("/jobs/{id}"));
    visitor.click(&action("resume"));
    visitor.shows("#state", "Pending");
    visitor.go(&format!("/new?from={id}"));
    visitor.fill(&[("name", "Half a script")]);
    visitor.click("[value=make]");
    visitor.shows("h1", "Half a script");
    visitor.go("/?size=25&user=");
    visitor.click("thead th a[href*='sort=name']");
    assert_eq!(visitor.text("tbody th"), "Half a script");
}

#[test]
#[ignore = "needs Chromium"]
fn a_form_is_sent_once_and_again_after_it_was_stopped() {
    let scene = Scene::new("");
    let running = scene.serve();
    let id = made(&running, "Since Monday");
    let mut visitor = Visitor::new(&running);
    visitor.prepare(FAST);
    visitor.go(&format!("/jobs/{id}"));
    let retry = "document.querySelector(`#actions form[action$='/retry']`)";
    visitor.evaluate(&format!("{retry}.requestSubmit(); window.stop()"));
    visitor.wait_for(&format!("!('sent' in {retry}.dataset)"));
    let press = format!("{retry}.requestSubmit()");
    visitor.follow(&format!("{press}; {press}"));
    visitor.shows("#facts", "Retry of");
    let (_, counted) = running.get("/api/v2/jobs/count", "");
    assert_eq!(counted["jobs"], "2");
}

#[test]
#[ignore = "needs Chromium"]
fn the_end_of_a_job_is_notified_to_those_who_ask_for_it() {
    let scene = Scene::new("");
    let running = scene.serve();
    let id = made(&running, "Since Monday");
    let mut visitor = Visitor::new(&running);
    let origin = visitor.home.clone();
    let granted = json!({ "permissions": ["notifications"], "origin": origin });
    visitor.call("Browser.grantPermissions", granted);
    visitor.prepare(
        "window.asked = 0;
         window.notified = [];
         const Real = Notification;
         window.Notification = class extends Real {
             constructor(title, options) { super(title, options); notified.push([title, options.body]); }
             static requestPermission() { asked += 1; return Real.requestPermission(); }
         }",
    );
    visitor.prepare(LISTEN);
    visitor.go(&format!("/jobs/{id}"));
    let subscribe = "#tools button[aria-pressed]";
    assert_eq!(visitor.evaluate("asked"), 0);
    visitor.evaluate(&format!("document.querySelector('{subscribe}').click()"));
    visitor.wait_for(&format!(
        "document.querySelector('{subscribe}').getAttribute('aria-pressed') === 'true'"
    ));
    assert_eq!(visitor.evaluate("asked"), 1);
    visitor.shows("#done", "You will be notified");
    // While the page shows its past, too.
    visitor.evaluate("history.pushState(null, '', '?at=0'); dispatchEvent(new Event('popstate'))");
    visitor.wait_for("!('live' in document.querySelector('#job').dataset)");
    let reason = json!({ "reason": "fixed in main" });
    let cancel = format!("/api/v2/jobs/{id}/cancel");
    assert_eq!(running.post(&cancel, "", &reason), 200);
    visitor.wait_for("notified.length > 0");
    let told = visitor.evaluate("notified");
    assert_eq!(told[0][0], "Since Monday");
    assert!(told[0][1].as_str().unwrap().contains("Canceled"), "{told}");
    assert_eq!(told.as_array().unwrap().len(), 1);
    visitor.wait_for("said.length > 1");
    is_quiet(&mut visitor);
    let hidden = visitor.evaluate(&format!("document.querySelector('{subscribe}').hidden"));
    assert_eq!(hidden, true);
}
