//! A search that is begun in the form and followed to its culprit, while its worker and the
//! service are killed.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::free_port;
use super::job::repository;
use super::visitor::Visitor;
use crate::scene::Scene;

/// Notes when live regions change, for everything that screen readers would read out.
pub(super) const LISTEN: &str = "window.said = [];
    new MutationObserver(changes => {
        const region = changes.map(({ target }) => (target.closest ? target : target.parentElement)
            ?.closest('[role=status]')).find(it => it);
        if (region?.textContent.trim()) said.push([performance.now(), region.textContent]);
    }).observe(document, { childList: true, characterData: true, subtree: true })";

/// Notes how many records the page shows, each time that this changes.
const COUNT: &str = "window.records = [];
    new MutationObserver(() => {
        const shown = Number(document.querySelector('#at')?.max ?? 0);
        if (shown !== records.at(-1)) records.push(shown);
    }).observe(document, { childList: true, attributes: true, subtree: true })";

/// Announcements came at most once in five seconds: a timer of the page is late at most.
pub(super) fn is_quiet(visitor: &mut Visitor) {
    let said = visitor.evaluate("said");
    let said = said.as_array().unwrap();
    for pair in said.windows(2) {
        let [one, two] = [&pair[0][0], &pair[1][0]].map(|time| time.as_f64().unwrap());
        assert!(two - one > 4900.0, "{pair:?}");
    }
}

/// The command of people at a terminal, in the same directory as the service's.
fn pinpoint() -> Command {
    let path = Path::new(env!("CARGO_BIN_EXE_pinpoint-service")).with_file_name("pinpoint");
    assert!(
        path.is_file(),
        "{} is missing: `cargo build --workspace --all-features` makes it",
        path.display()
    );
    Command::new(path)
}

/// A worker in a separate process. It is killed when dropped.
struct Killable(Child);

impl Killable {
    fn start(scene: &Scene, url: &str) -> Self {
        let at = |name: &str| scene.directory.path().join(name);
        let child = pinpoint()
            .args(["worker", "--bot", "lab", "--lease", "2s", "--store"])
            .arg(format!("sqlite:{}", at("state").display()))
            .args(["--allow-repository", url, "--bot-config"])
            .arg(at("bots.toml"))
            .env("XDG_STATE_HOME", at("worker"))
            .env("XDG_RUNTIME_DIR", scene.directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Killable {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The number of records that the page shows.
fn records(visitor: &mut Visitor) -> u64 {
    let records = visitor.evaluate("Number(document.querySelector('#at')?.max ?? 0)");
    records.as_u64().unwrap()
}

fn wait_for_records(visitor: &mut Visitor, least: u64) {
    visitor.wait_for(&format!(
        "Number(document.querySelector('#at')?.max ?? 0) >= {least}"
    ));
}

#[test]
#[ignore = "needs Chromium, and the command `pinpoint` beside the service's"]
fn a_page_follows_a_search_whose_worker_and_service_are_killed() {
    let place = tempfile::tempdir().unwrap();
    let commits = repository(place.path(), 12);
    let url = format!("file://{}", place.path().display());
    let lookups = format!("[commits]\nallow_repositories = ['{url}']");
    let scene = Scene::on(free_port(), &lookups);
    let run = "sleep 0.3; echo time: $(cat time).$(date +%N | cut -c1-3) ms";
    let bots = format!(
        "[bots.lab]\nlocal = true\nrepository = '{url}'\n\
         [benchmarks.parsing]\ncommand = ['sh', '-c', '{run}']\n"
    );
    fs::write(scene.directory.path().join("bots.toml"), bots).unwrap();
    let running = scene.serve();
    let worker = Killable::start(&scene, &url);
    let mut visitor = Visitor::new(&running);
    for lost in ["net::ERR_CONNECTION_REFUSED", "net::ERR_INCOMPLETE_CHUNKED"] {
        visitor.expect(lost);
    }
    visitor.prepare(LISTEN);
    visitor.prepare(COUNT);

    // From the form.
    visitor.go("/new");
    visitor.fill(&[
        ("name", "Slower since Monday"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("good", &commits[0]),
        ("bad", "HEAD"),
    ]);
    visitor.shows("#s-bad", "Commit 11");
    visitor.click("[value=make]");
    let id = visitor.path().replace("/jobs/", "");
    visitor.evaluate("document.isTheSame = true");
    wait_for_records(&mut visitor, 4);

    // The worker dies, and another continues.
    drop(worker);
    let before = records(&mut visitor);
    let worker = Killable::start(&scene, &url);
    wait_for_records(&mut visitor, before + 2);

    // The service dies. The worker continues, and the page says that it is disconnected.
    running.kill();
    let before = records(&mut visitor);
    visitor.shows("#connection", "Not connected");
    drop(running);
    let running = scene.serve();
    visitor.wait_for("document.querySelector('#connection').textContent === ''");
    wait_for_records(&mut visitor, before + 1);

    visitor.shows("#state", "Completed");
    assert_eq!(visitor.evaluate("document.isTheSame"), true);
    visitor.wait_for("!('live' in document.querySelector('#job').dataset)");
    // Each change was sent once: the stream continued where it had stopped.
    let heard: Vec<_> = { visitor.heard("Network.eventSourceMessageReceived") }
        .filter(|event| event["eventName"] == "changes")
        .map(|event| event["data"].as_str().unwrap().to_owned())
        .collect();
    assert!(heard.len() > 4, "{heard:?}");
    assert!(heard.windows(2).all(|two| two[0] != two[1]), "{heard:?}");
    let shown = visitor.evaluate("records");
    let shown: Vec<u64> = serde_json::from_value(shown).unwrap();
    assert!(shown.is_sorted(), "the page went back: {shown:?}");
    is_quiet(&mut visitor);

    // The answer is that of the command.
    let answer = visitor.text("#answer");
    let mut show = pinpoint();
    show.args(["jobs", "show", &id, "--store"]);
    show.arg(format!(
        "sqlite:{}",
        scene.directory.path().join("state").display()
    ));
    let shown = show.output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let culprit = &commits[9];
    assert!(shown.contains(&format!("culprit {culprit}")), "{shown}");
    assert!(answer.contains(&culprit[..10]), "{answer}");
    let effect = shown.lines().find(|line| line.contains(" → ")).unwrap();
    let (from, to) = effect.split_once(" → ").unwrap();
    let from = from.split_whitespace().rev().take(2).collect::<Vec<_>>();
    let from = format!(
        "from {} {} to {}",
        from[1],
        from[0],
        to.split(':').next().unwrap()
    );
    assert!(answer.contains(&from), "{answer}: {from}");
    let cost = shown
        .lines()
        .find(|line| line.contains(&id) && line.contains(" runs, "));
    let cost = cost.unwrap().split(" in ").next().unwrap();
    assert!(visitor.text("#facts").contains(cost), "{cost}");
    let (_, job) = running.get(&format!("/api/v2/jobs/{id}"), "");
    assert_eq!(job["summary"]["state"], Value::from("COMPLETED"));
    // It goes once everything is said.
    drop(visitor);
    drop(worker);
    assert_eq!(running.stop(), Some(0));
}
