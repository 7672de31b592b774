//! Reports of the result of a job to an issue and a table.

use std::fs;
use std::net::TcpListener;

use libc::SIGINT;
use serde_json::Value;

use super::{FAST, IN_MAIN, Scene, culprit};
use crate::world::until;

#[test]
fn the_issue_and_the_table_hear_of_the_result_once() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let file = scene.settings(
        "[reports]\n\
         page = \"https://pinpoint.example.org/jobs/{job}\"\n\
         hotlists = [5]\n\
         culprits = \"p.d.culprits\"\n",
    );
    let named = ["--bug", "7", "--luci-config", &file];
    let ends = [scene.main(0), scene.main(23)];
    // There is no such issue yet.
    let finished = scene.job("bisect", &[&named, &ends[..]].concat());
    let finished = finished.ends_with(5);
    culprit(&finished);
    finished.tells("can't comment on issue 7: the issue tracker");
    finished.tells("to make the missing report:  pinpoint jobs resume");
    finished.tells("1 culprit is in p.d.culprits");
    let job = scene.world.only_job();
    let resume = ["jobs", "resume", job["id"].as_str().unwrap()];
    scene.pinpoint(&resume).ends_with(5);
    scene.luci.add_issue(7);
    let resumed = scene.pinpoint(&resume).ends_with(0);
    resumed.tells("commented on issue 7");
    let issue = scene.luci.issue(7).unwrap();
    let [comment] = &issue.comments[..] else {
        panic!("one comment: {issue:?}");
    };
    for expected in [
        scene.main(17),
        "https://pinpoint.example.org/jobs/",
        "95 % interval",
    ] {
        assert!(comment.contains(expected), "{comment}");
    }
    assert_eq!(issue.hotlists, ["5"]);
    let rows = scene.luci.rows("p.d.culprits");
    assert_eq!((rows.len(), &rows[0]["issue"]), (1, &Value::from(7)));
    // It is noted.
    let requests = scene.luci.requests();
    scene.pinpoint(&resume).ends_with(0);
    assert_eq!(scene.luci.requests(), requests);
}

#[test]
fn a_result_is_there_before_others_are_told_of_it() {
    let scene = Scene::new(&IN_MAIN, FAST);
    // The system accepts connections to it, but no server answers.
    let tracker = TcpListener::bind("127.0.0.1:0").unwrap();
    tracker.set_nonblocking(true).unwrap();
    let silent = format!("http://{}", tracker.local_addr().unwrap());
    let of_tracker = |address: &str| format!("issue_tracker = \"{address}\"");
    let file = scene.world.path("luci.toml");
    let settings = fs::read_to_string(&file).unwrap();
    let settings = settings.replace(&of_tracker(&scene.address), &of_tracker(&silent));
    fs::write(&file, settings).unwrap();
    let ends = ["--bug", "7", scene.main(0), scene.main(23)];
    let running = scene.job("bisect", &ends).start();
    let mut connection = None;
    until("a request to the tracker", || {
        connection = tracker.accept().ok();
        connection.is_some()
    });
    let printed: Value = serde_json::from_str(&running.stdout()).unwrap();
    let job = running.job();
    let shown = scene.pinpoint(&["jobs", "show", &job, "--output", "json"]);
    assert_eq!(shown.ends_with(0).document()["state"], "completed");
    running.signal(SIGINT);
    let stopped = running.ends_with(130);
    culprit(&stopped);
    assert_eq!(stopped.document(), printed);
    stopped.tells("to make the missing report:  pinpoint jobs resume");
}
