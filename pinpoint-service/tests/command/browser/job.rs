//! The page of a job in a real browser, while a worker carries the job out. Ignored by default,
//! since not everybody has Chromium.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::accessible::FOUND;
use super::npm_package;
use crate::chromium::Chromium;
use crate::scene::{Running, Scene};

/// A repository in this directory with so many commits, the last but two of which is slow: their
/// hashes.
fn repository(place: &Path, commits: usize) -> Vec<String> {
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

/// Waits, however long a job takes here.
#[track_caller]
fn wait_for(browser: &mut Chromium, expression: &str) {
    for _ in 0..1200 {
        if browser.evaluate(expression) == true {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("never true: {expression}");
}

/// The HTML of a page in which no script runs, once it has this text.
#[track_caller]
fn loaded(browser: &mut Chromium, url: &str, text: &str) -> String {
    browser.call("Page.navigate", json!({ "url": url }));
    for _ in 0..600 {
        let html = browser.evaluate("document.documentElement?.outerHTML ?? ''");
        let html = html.as_str().unwrap_or_default();
        if html.contains(text) {
            return html.to_owned();
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{url} never has {text:?}");
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
    let url = format!("http://{}/jobs/{id}", running.address);
    let mut browser = Chromium::start();
    browser.visit(&url);
    let text = |browser: &mut Chromium, element: &str| {
        let text = browser.evaluate(&format!("document.querySelector('{element}')?.innerText"));
        text.as_str().unwrap_or_default().to_owned()
    };
    // It is the same document until the end, in which what was opened stays open, and what has
    // the focus keeps it.
    browser.evaluate("document.isTheSame = true");
    wait_for(&mut browser, &format!("{RECORDS} > 3"));
    browser.evaluate("document.querySelector('#arguments').open = true");
    browser.evaluate("document.querySelector('[name=with]').focus()");
    let first = browser.evaluate(RECORDS).as_u64().unwrap();
    wait_for(&mut browser, &format!("{RECORDS} > {first}"));
    wait_for(
        &mut browser,
        "document.querySelector('#state').innerText.includes('Completed')",
    );
    assert_eq!(browser.evaluate("document.isTheSame"), true);
    assert_eq!(
        browser.evaluate("document.querySelector('#arguments').open"),
        true
    );
    assert_eq!(browser.evaluate("document.activeElement.name"), "with");
    let answer = text(&mut browser, "#answer");
    let culprit = &commits[9][..10];
    assert!(
        answer.contains(culprit) && answer.contains("Commit 9 <b>"),
        "{answer}"
    );
    assert_eq!(
        browser.evaluate("'live' in document.querySelector('#job').dataset"),
        false
    );
    // Those who listen are told of it.
    wait_for(
        &mut browser,
        "document.querySelector('#news').textContent.includes('Commit 9 <b>')",
    );

    // The slider shows the past, and the address says so.
    browser.evaluate(
        "const at = document.querySelector('#at');
         at.focus();
         at.value = 2;
         at.dispatchEvent(new Event('input', { bubbles: true }))",
    );
    wait_for(
        &mut browser,
        "document.querySelector('#past .note') !== null",
    );
    assert_eq!(browser.evaluate("location.search"), "?at=2");
    assert_eq!(browser.evaluate("document.activeElement.id"), "at");
    assert!(!text(&mut browser, "#answer").contains(culprit));

    let now = browser.evaluate("document.querySelector('#past form > a:last-of-type').click()");
    assert!(now.is_null());
    wait_for(
        &mut browser,
        "document.querySelector('#past .note') === null",
    );
    let axe = fs::read_to_string(npm_package("axe-core").join("axe.min.js")).unwrap();
    browser.evaluate(&format!("{axe}; 0"));
    assert_eq!(browser.evaluate(FOUND), json!([]));

    // Without scripts it is all there, by links and forms.
    let disabled = |is: bool| {
        (
            "Emulation.setScriptExecutionDisabled",
            json!({ "value": is }),
        )
    };
    let (method, value) = disabled(true);
    browser.call(method, value);
    let page = loaded(&mut browser, &url, culprit);
    assert!(
        page.contains("Show</button>") && page.contains("rel=\"prev\""),
        "{page}"
    );
    let shown = "The page shows the job as it was";
    loaded(&mut browser, &format!("{url}?at=2"), shown);
    let (method, value) = disabled(false);
    browser.call(method, value);

    let home = format!("http://{}/", running.address);
    for asked in browser.requests() {
        assert!(
            asked.starts_with(&home) || asked.starts_with("data:"),
            "{asked}"
        );
    }
    let mut said = browser.complaints(Path::new(""));
    said.retain(|event| event["method"] != "Network.requestWillBeSent");
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(running.stop(), Some(0));
}
