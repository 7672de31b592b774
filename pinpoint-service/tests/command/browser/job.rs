//! The page of a job in a real browser, while a worker carries the job out. Ignored by default,
//! since Chromium is not always installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::accessible::{axe, problems};
pub(super) use super::prepared::HOSTILE;
use super::visitor::Visitor;
use crate::scene::{Running, Scene};

/// A repository in this directory with so many commits, the last but two of which is slow: their
/// hashes.
pub(super) fn repository(place: &Path, commits: usize) -> Vec<String> {
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]);
        let done = git.args(words).current_dir(place).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet"]);
    let commit = |number: usize| {
        let milliseconds = if number + 3 < commits { 100 } else { 150 };
        fs::write(place.join("time"), milliseconds.to_string()).unwrap();
        fs::write(place.join("number"), number.to_string()).unwrap();
        git(&["add", "."]);
        let message = format!("Commit {number} <b>");
        git(&["commit", "--quiet", "--message", &message]);
        git(&["rev-parse", "HEAD"])
    };
    (0..commits).map(commit).collect()
}

/// A service with a worker, whose runs take a moment and scatter.
fn scene(place: &Path) -> Scene {
    let url = format!("file://{}", place.display());
    let worker = format!("[worker]\nbots = ['lab']\nallow_repositories = ['{url}']");
    let scene = Scene::new(&worker);
    let run = "sleep 0.2; echo time: $(cat time).$(date +%N | cut -c1-3) ms";
    let bots = format!(
        "[bots.lab]\nlocal = true\nrepository = '{url}'\n\
         [benchmarks.parsing]\ncommand = ['sh', '-c', '{run}']\n"
    );
    fs::write(scene.directory.path().join("bots.toml"), bots).unwrap();
    scene
}

fn created(running: &Running, question: Value) -> String {
    let mut job = json!({ "bot": "lab", "benchmark": "parsing", "name": "Slower since Monday" });
    job.as_object_mut()
        .unwrap()
        .extend(question.as_object().unwrap().clone());
    assert_eq!(running.post("/api/v2/jobs", "", &job), 200);
    let (_, listed) = running.get("/api/v2/jobs", "");
    listed["jobs"][0]["jobId"].as_str().unwrap().to_owned()
}

const RECORDS: &str = "Number(document.querySelector('#at')?.max ?? 0)";

#[test]
#[ignore = "needs Chromium, Node.js and axe-core"]
fn a_search_narrows_as_one_looks_and_each_moment_of_it_can_be_seen_again() {
    let place = tempfile::tempdir().unwrap();
    let commits = repository(place.path(), 12);
    let scene = scene(place.path());
    let running = scene.serve();
    let ends = json!({ "good": commits[0], "bad": commits[11] });
    let id = created(&running, json!({ "bisection": ends }));
    let path = format!("/jobs/{id}");
    let mut browser = Visitor::new(&running);
    browser.go(&path);
    // It is the same document until the end: opened parts stay open, and the focus stays.
    browser.evaluate("document.isTheSame = true");
    browser.wait_for(&format!("{RECORDS} > 3"));
    browser.evaluate("document.querySelector('#arguments').open = true");
    browser.evaluate("document.querySelector('[name=with]').focus()");
    let first = browser.evaluate(RECORDS).as_u64().unwrap();
    browser.wait_for(&format!("{RECORDS} > {first}"));
    browser.wait_for("document.querySelector('#state').innerText.includes('Completed')");
    assert_eq!(browser.evaluate("document.isTheSame"), true);
    assert_eq!(
        browser.evaluate("document.querySelector('#arguments').open"),
        true
    );
    assert_eq!(browser.evaluate("document.activeElement.name"), "with");
    let answer = browser.text("#answer");
    let culprit = &commits[9][..10];
    assert!(
        answer.contains(culprit) && answer.contains("Commit 9 <b>"),
        "{answer}"
    );
    assert_eq!(
        browser.evaluate("'live' in document.querySelector('#job').dataset"),
        false
    );
    // Live regions announce it.
    browser.wait_for("document.querySelector('#news').textContent.includes('Commit 9 <b>')");

    // The slider shows the past, and the address says so.
    browser.evaluate(
        "const at = document.querySelector('#at');
         at.focus();
         at.value = 2;
         at.dispatchEvent(new Event('input', { bubbles: true }))",
    );
    browser.wait_for("document.querySelector('#past .note') !== null");
    assert_eq!(browser.evaluate("location.search"), "?at=2");
    assert_eq!(browser.evaluate("document.activeElement.id"), "at");
    assert!(!browser.text("#answer").contains(culprit));

    let now = browser.evaluate("document.querySelector('#past form > a:last-of-type').click()");
    assert!(now.is_null());
    browser.wait_for("document.querySelector('#past .note') === null");
    browser.wait_for("document.querySelector('#at').value === document.querySelector('#at').max");

    // The details of a run are above the page, until Escape or its button closes them.
    let is_open = "document.querySelector('#run:modal') !== null";
    for close in ["Escape", "Enter"] {
        browser.evaluate("document.querySelector('.squares a').focus()");
        browser.press("Enter");
        browser.wait_for(is_open);
        assert!(browser.path().contains("run="));
        browser.evaluate("document.querySelector('#run [data-close]').focus()");
        browser.press(close);
        browser.wait_for("document.querySelector('#run') === null");
        assert_eq!(browser.path(), path);
        let focused = "document.activeElement.matches('.squares a')";
        assert_eq!(browser.evaluate(focused), true, "{close}");
    }
    assert_eq!(problems(&mut browser, &axe()), [] as [String; 0]);

    // Without scripts, links and forms offer all of it.
    browser.run_scripts(false);
    browser.go(&path);
    assert!(browser.text("#answer").contains(culprit));
    browser.click("#past button");
    browser.click("#past [rel=prev]");
    browser.shows("#past .note", "The page shows the job as it was");
    drop(browser);
    assert_eq!(running.stop(), Some(0));
}
