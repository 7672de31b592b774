//! The list of jobs while jobs change and others are made.

use serde_json::json;

use super::killed::{LISTEN, is_quiet};
use super::prepared::made;
use super::visitor::Visitor;
use crate::scene::Scene;

/// The focused element: the job of its row, and its text.
const FOCUS: &str =
    "(({ activeElement: it }) => [it.closest('tr')?.dataset.job, it.innerText])(document)";

#[test]
#[ignore = "needs Chromium"]
fn a_row_changes_in_its_place_and_other_jobs_are_announced() {
    let scene = Scene::new("");
    let running = scene.serve();
    let [first, second] = ["First", "Second"].map(|name| made(&running, name));
    let mut visitor = Visitor::new(&running);
    visitor.prepare(LISTEN);
    visitor.go("/?size=25");
    visitor.evaluate("document.isTheSame = true");

    // The link that has the focus keeps it.
    let row = |job: &str| format!("tr[data-job='{job}']");
    visitor.evaluate(&format!(
        "document.querySelector(`{} th a`).focus()",
        row(&first)
    ));
    visitor.evaluate(&format!(
        "document.querySelector(`{}`).isOld = true",
        row(&first)
    ));
    let path = |job: &str, action: &str| format!("/api/v2/jobs/{job}/{action}");
    assert_eq!(running.post(&path(&first, "pause"), "", &json!({})), 200);
    visitor.shows(&row(&first), "Paused");
    let is_old = format!("document.querySelector(`{}`).isOld ?? false", row(&first));
    assert_eq!(visitor.evaluate(&is_old), false);
    assert_eq!(visitor.evaluate(FOCUS), json!([first, "First"]));
    assert!(!visitor.text(&row(&second)).contains("Paused"));
    // A removed one leaves it to the first of its row.
    let cancel = format!("{} a[href$='/cancel']", row(&second));
    visitor.evaluate(&format!("document.querySelector(`{cancel}`).focus()"));
    let reason = json!({ "reason": "fixed in main" });
    assert_eq!(running.post(&path(&second, "cancel"), "", &reason), 200);
    visitor.shows(&row(&second), "Canceled");
    assert_eq!(visitor.evaluate(FOCUS), json!([second, "Second"]));

    // Others do not move the rows: a link leads to them.
    for name in ["Third", "Fourth", "Fifth"] {
        made(&running, name);
    }
    visitor.shows("#news", "3 new jobs");
    assert_eq!(visitor.text("tbody tr:first-child th"), "Second");
    is_quiet(&mut visitor);
    let last = visitor.evaluate("said.at(-1)[1]");
    assert_eq!(last, "3 new jobs");
    assert_eq!(visitor.evaluate("document.isTheSame"), true);
    visitor.click("#news a");
    for (place, name) in ["Fifth", "Fourth", "Third", "Second", "First"]
        .iter()
        .enumerate()
    {
        let shown = visitor.text(&format!("tbody tr:nth-child({}) th", place + 1));
        assert_eq!(shown, *name);
    }
    assert_eq!(visitor.text("#news"), "");
}
