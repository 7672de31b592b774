//! Every page in a real browser, checked by axe-core: no known obstacle for people, in light and
//! dark, on a wide screen and at 400 % of one. Foreign text is markup there: it stays text, and
//! keeps its place.

use std::collections::BTreeSet;
use std::fs;

use pinpoint_service::operations;
use reqwest::Client;

use super::npm_package;
use super::prepared::{prepare, with_charts};
use super::visitor::Visitor;
use crate::scene::Scene;

/// The answers to programs, and to scripts, which are not pages.
const OF_PROGRAMS: [&str; 4] = ["/api/", "/pinpoint/", "/json/", "/new/"];

/// A screen at 400 %, and one at 100 %, with the theme that each is tried with.
const SCREENS: [(u32, &str); 2] = [(320, "dark"), (1280, "light")];

/// The findings of axe-core, a line each.
pub(super) const FOUND: &str = "axe.run(document, {
    resultTypes: ['violations'],
    rules: { 'target-size': { enabled: true } },
}).then(found =>
    found.violations.flatMap(rule => rule.nodes.map(node =>
        `${rule.id}: ${node.html}: ${node.failureSummary}`)))";

/// Problems of any page, whatever it shows, a line each.
const WRONG: &str = "(() => {
    const right = it => it.getBoundingClientRect().right;
    const scrolled = it => it.parentElement.closest('.wide, pre, canvas, svg');
    const widest = () => [...document.querySelectorAll('main *')].filter(it => !scrolled(it))
        .reduce((widest, it) => right(it) > right(widest) ? it : widest);
    return [
    'hacked' in window && 'a text of others ran',
    document.querySelector('img, main script, [style]') && 'a text of others is markup',
    document.getAnimations().length && 'something moves',
    document.documentElement.scrollWidth > innerWidth
        && `it is ${document.documentElement.scrollWidth} wide, as ${widest().outerHTML.slice(0, 200)}`,
].filter(wrong => wrong); })()";

/// Looks a page over.
pub(super) fn problems(visitor: &mut Visitor, axe: &str) -> Vec<String> {
    // Folded parts are checked, too.
    visitor.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)");
    visitor.evaluate(&format!("{axe}; 0"));
    let mut problems = Vec::new();
    for expression in [FOUND, WRONG] {
        let found = visitor.evaluate(expression);
        let found = found.as_array().unwrap().iter();
        problems.extend(found.map(|found| found.as_str().unwrap().to_owned()));
    }
    problems
}

pub(super) fn axe() -> String {
    fs::read_to_string(npm_package("axe-core").join("axe.min.js")).unwrap()
}

#[tokio::test]
#[ignore = "needs Chromium, Node.js and axe-core"]
async fn axe_core_finds_nothing_on_any_page() {
    let axe = axe();
    let scene = Scene::new("");
    let running = scene.serve();
    let home = format!("http://{}", running.address);
    let mut paths = pages(&home, &"0".repeat(32)).await;
    let mut visitor = Visitor::new(&running);
    for (status, path) in [
        (404, "/nowhere"),
        (400, "/"),
        (400, "/new"),
        (503, "/workers"),
    ] {
        visitor.expect_status(status, path);
    }
    let mut found = Vec::new();
    let mut look_at = |paths: &BTreeSet<String>| {
        for (width, theme) in SCREENS {
            visitor.look_from(width, theme);
            for path in paths {
                visitor.go(path);
                let problems = problems(&mut visitor, &axe).into_iter();
                found.extend(problems.map(|problem| format!("{path} at {width}: {problem}")));
            }
        }
    };
    for more in ["/nowhere", "/?size=7", "/admin?from=2020-01-01"] {
        paths.insert(more.to_owned());
    }
    look_at(&paths);
    let prepared = prepare(&scene, &running, with_charts::<10_000>).await;
    let mut paths = pages(&home, &prepared.pending).await;
    assert!(paths.len() > 8, "{paths:?}");
    paths.extend(prepared.pages());
    look_at(&paths);
    // The details of a run.
    visitor.go(&format!("/jobs/{}", prepared.comparison));
    visitor.evaluate("document.querySelector('.squares a.failed').click()");
    visitor.shows("#run", "onerror=hacked");
    found.extend(problems(&mut visitor, &axe));
    for (width, theme) in SCREENS {
        visitor.look_from(width, theme);
        let mut look = |visitor: &mut Visitor, what: &str| {
            let problems = problems(visitor, &axe).into_iter();
            found.extend(problems.map(|problem| format!("{what} at {width}: {problem}")));
        };
        a_filled_form(&mut visitor, &mut look);
        visitor.go("/account");
        visitor.fill(&[("name", theme)]);
        visitor.evaluate("document.querySelector('[name=may_see]').checked = true");
        visitor.click("form[action='/account/tokens'] button");
        visitor.shows("main pre", "pinpoint_");
        look(&mut visitor, "a token");
        visitor.go("/admin");
        visitor.click("form[action='/admin/verify'] button");
        visitor.shows("main", "Intact");
        look(&mut visitor, "the log");
    }
    lose_workers(&scene).await;
    visitor.go("/workers");
    visitor.shows("h1", "Temporarily unavailable");
    found.extend(problems(&mut visitor, &axe));
    assert!(found.is_empty(), "{found:#?}");
}

/// Takes a table from the store, so that pages fail.
async fn lose_workers(scene: &Scene) {
    let file = scene.directory.path().join("state").join("pinpoint.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    let lost = sqlx::query("ALTER TABLE workers RENAME TO lost");
    lost.execute(&mut connection).await.unwrap();
}

/// The form of a new job with look-ups, with its estimate, and with problems.
fn a_filled_form(visitor: &mut Visitor, look: &mut impl FnMut(&mut Visitor, &str)) {
    visitor.go("/new");
    visitor.fill(&[
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("good", &"a".repeat(40)),
        ("bad", "nonsense!"),
        ("magnitude", "20%"),
        ("max_runs", "40"),
        ("commits", "3"),
    ]);
    visitor.shows("#s-bad", "does not name a commit");
    // On a busy machine, it says that it takes too long.
    visitor.wait_for(
        "/3 commits between the ends|takes too long/.test(document.querySelector('#estimate').innerText)",
    );
    look(visitor, "a form with an estimate");
    visitor.click("[value=make]");
    visitor.shows(".errors", "Bad commit");
    look(visitor, "a form with problems");
}

#[test]
#[ignore = "needs Chromium, Node.js and axe-core"]
fn axe_core_finds_nothing_on_the_page_of_one_request_too_many() {
    let scene = Scene::new("[limits]\nrequests_a_minute = 1");
    let running = scene.serve();
    let mut visitor = Visitor::new(&running);
    visitor.expect("the server responded with a status of 429");
    for (width, theme) in SCREENS {
        visitor.look_from(width, theme);
        visitor.go("/bots");
        visitor.go("/bots");
        visitor.shows("h1", "Too many requests");
        assert_eq!(problems(&mut visitor, &axe()), [] as [String; 0]);
    }
}

/// The secret of a token that a page shows is in no log, however much is written there.
#[tokio::test]
#[ignore = "needs Chromium"]
async fn the_secret_of_a_token_is_in_no_log() {
    let scene = Scene::new("");
    let running = scene.serve();
    let mut visitor = Visitor::new(&running);
    visitor.go("/account");
    visitor.fill(&[("name", "nightly")]);
    visitor.evaluate("document.querySelector('[name=may_see]').checked = true");
    visitor.click("form[action='/account/tokens'] button");
    let secret = visitor.text("main pre");
    let secret = secret.trim();
    assert!(secret.starts_with("pinpoint_"), "{secret}");
    drop(visitor);
    let log = running.log();
    assert!(
        log.contains("/account/tokens") && !log.contains(secret),
        "{log}"
    );
}

/// The paths of the table that lead to pages, with the id of this job. Errors are left out.
pub(super) async fn pages(home: &str, id: &str) -> BTreeSet<String> {
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
        let is_page = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        if is_page && answer.status().is_success() {
            pages.insert(path);
        }
    }
    pages
}
