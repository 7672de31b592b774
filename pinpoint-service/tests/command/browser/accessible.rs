//! Every page in a real browser, looked over by axe-core: nothing that it knows to keep people
//! from using a page, in light and dark, on a wide screen and on a phone.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use pinpoint_backends::store::{Announcement, JobStore, NewToken};
use pinpoint_service::operations;
use reqwest::Client;
use serde_json::{Value, json};

use super::npm_package;
use crate::chromium::Chromium;
use crate::scene::{Running, Scene};

/// The answers to programs, and to scripts, which are no pages.
const OF_PROGRAMS: [&str; 4] = ["/api/", "/pinpoint/", "/json/", "/new/"];

/// The widths of a phone, and of a screen, with the theme that each is tried with.
const SCREENS: [(u32, &str); 2] = [(320, "dark"), (1200, "light")];

/// What axe-core finds, a line each.
pub(super) const FOUND: &str = "axe.run(document, { resultTypes: ['violations'] }).then(found =>
    found.violations.flatMap(rule => rule.nodes.map(node =>
        `${rule.id}: ${node.html}: ${node.failureSummary}`)))";

#[tokio::test]
#[ignore = "needs Chromium, Node.js and axe-core"]
async fn axe_core_finds_nothing_on_any_page() {
    let axe = fs::read_to_string(npm_package("axe-core").join("axe.min.js")).unwrap();
    let scene = Scene::new("");
    let running = scene.serve();
    let home = format!("http://{}", running.address);
    let empty = pages(&home, &"0".repeat(32)).await;
    let id = filled(&scene, &running).await;
    let mut paths = pages(&home, &id).await;
    for more in [
        "/?text=nothing&size=25",
        "/?size=7",
        "/nowhere",
        "/admin?from=",
    ] {
        paths.insert(more.to_owned());
    }
    // Those of a job that is not there are errors.
    paths.extend(empty);
    assert!(paths.len() > 10, "{paths:?}");
    let mut browser = Chromium::start();
    let mut problems = Vec::new();
    for (width, theme) in SCREENS {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        browser.call("Emulation.setDeviceMetricsOverride", size);
        let theme = json!([{ "name": "prefers-color-scheme", "value": theme }]);
        browser.call("Emulation.setEmulatedMedia", json!({ "features": theme }));
        for path in &paths {
            browser.visit(&format!("{home}{path}"));
            browser.evaluate(&format!("{axe}; 0"));
            let found = browser.evaluate(FOUND);
            let found = found.as_array().unwrap().iter();
            problems.extend(found.map(|found| format!("{path} at {width}: {found}")));
            let wide = browser.evaluate("document.documentElement.scrollWidth");
            if wide.as_u64().unwrap() > width.into() {
                problems.push(format!("{path} at {width} is {wide} wide"));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    for url in browser.requests() {
        assert!(url.starts_with(&home) || url.starts_with("data:"), "{url}");
    }
}

/// The secret of a token that a page shows is in no log, however much is written there.
#[tokio::test]
#[ignore = "needs Chromium"]
async fn the_secret_of_a_token_is_in_no_log() {
    let scene = Scene::new("");
    let running = scene.serve();
    let mut browser = Chromium::start();
    browser.visit(&format!("http://{}/account", running.address));
    browser.follow(
        "document.querySelector('#name').value = 'nightly';
         document.querySelector('[name=may_see]').checked = true;
         document.querySelector('form[action=\"/account/tokens\"] button').click()",
    );
    let secret = browser.evaluate("document.querySelector('main pre').innerText");
    let secret = secret.as_str().unwrap().trim();
    assert!(secret.starts_with("pinpoint_"), "{secret}");
    let log = running.log();
    assert!(
        log.contains("/account/tokens") && !log.contains(secret),
        "{log}"
    );
}

/// The paths of the table that lead to pages, with the id of this job.
async fn pages(home: &str, id: &str) -> BTreeSet<String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().no_proxy().build().unwrap();
    let mut pages = BTreeSet::new();
    for (method, path, _) in operations() {
        if method != "GET" || OF_PROGRAMS.iter().any(|of| path.starts_with(of)) {
            continue;
        }
        let path = path.replace("{id}", id).replace("{hash}", &"a".repeat(40));
        let asked = client
            .get(format!("{home}{path}"))
            .header("accept", "text/html");
        let answer = asked.send().await.unwrap();
        let kind = answer.headers().get("content-type");
        if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")) {
            pages.insert(path);
        }
    }
    pages
}

/// Fills the store: jobs, a worker and a token. Gives the id of a job.
async fn filled(scene: &Scene, running: &Running) -> String {
    for name in ["Why is it slower?", &"long".repeat(200)] {
        let ends = json!({ "good": "a".repeat(40), "bad": "b".repeat(40) });
        let job = json!({ "bot": "lab", "benchmark": "parsing", "name": name, "bisection": ends });
        assert_eq!(running.post("/api/v2/jobs", "none", &job), 200);
    }
    let (_, listed) = running.get("/api/v2/jobs", "none");
    let id = |listed: &Value| listed["jobs"][0]["jobId"].as_str().unwrap().to_owned();
    let state_dir = scene.directory.path().join("state");
    let store = JobStore::open(&state_dir).await.unwrap();
    let worker = Announcement {
        id: "rack-1".into(),
        name: "rack-1".into(),
        machine: "rack-1.example.org".into(),
        bots: vec!["lab".into()],
        trusted: None,
        host: json!({}),
        started: 1_700_000_000_000,
        job: None,
        activity: "waits for a job".into(),
    };
    let hour = Duration::from_secs(3600);
    store.announce(&worker, hour).await.unwrap();
    let token = NewToken {
        name: "nightly".into(),
        user: "ci@example.org".into(),
        rights: vec!["see".into()],
        expires: None,
    };
    store.create_token(&token, None).await.unwrap();
    id(&listed)
}
