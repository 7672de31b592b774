//! Jobs in Catapult's database, as its receiver reads them.

use fake_luci::ReceivedJob;
use serde_json::Value;

use super::{FAST, IN_MAIN, Scene};

/// The search for where a score falls, written back.
fn search(scene: &Scene) -> crate::world::Finished {
    scene.luci.invert_values();
    let settings = [
        "--write-back",
        "catapult",
        "--chart",
        "Score",
        "--direction",
        "up",
    ];
    let ends = [scene.main(0), scene.main(23)];
    scene
        .job("bisect", &[&settings[..], &ends].concat())
        .ends_with(0)
}

#[test]
fn what_a_search_found_is_read_back() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let finished = search(&scene);
    let job = finished.document()["job_id"].as_str().unwrap().to_owned();
    let received = scene.luci.received_jobs();
    let [read] = &received[..] else {
        panic!("one job: {received:?}\n{finished}");
    };
    assert_eq!(read.id, job);
    assert_eq!(
        (read.improvement_direction, read.difference_count),
        (0, Some(1))
    );
    for (word, expected) in [
        ("configuration", "linux-perf"),
        ("benchmark", "speedometer3.crossbench"),
        ("chart", "Score"),
        ("start_git_hash", scene.main(0)),
        ("end_git_hash", scene.main(23)),
        ("target", "performance_test_suite"),
    ] {
        assert_eq!(read.arguments[word], expected, "{word}");
    }
    shows_the_culprit(&scene, read);
    // The document for people who ask for it says the same.
    let shown = scene.pinpoint(&["jobs", "show", &job, "--output", "legacy-json"]);
    let shown: Value = serde_json::from_str(&shown.ends_with(0).stdout).unwrap();
    assert_eq!(shown["differenceCount"], 1);
    assert_eq!(shown["state"].as_array().unwrap().len(), read.states.len());
    let commit = &shown["state"][0]["change"]["commits"][0];
    assert_eq!(commit["commitPosition"], 1, "{commit}");
    assert_eq!(commit["author"], "ada@example.org");
}

/// The states are in order, each run is one of a task, and scores fall at the culprit.
fn shows_the_culprit(scene: &Scene, read: &ReceivedJob) {
    let place = |hash: &str| {
        let known = &scene.place.chrome.main_hashes;
        known.iter().position(|known| known == hash).unwrap()
    };
    let places = read.states.iter().map(|state| {
        let [(repository, hash)] = &state.commits[..] else {
            panic!("one commit: {state:?}");
        };
        assert_eq!(repository, "chromium");
        place(hash)
    });
    let places: Vec<usize> = places.collect();
    assert!(
        places.is_sorted() && places.contains(&16) && places.contains(&17),
        "{places:?}"
    );
    let tasks = scene.luci.all_tasks();
    for (state, place) in read.states.iter().zip(places) {
        assert!(!state.attempts.is_empty());
        for attempt in &state.attempts {
            assert!(
                tasks.iter().any(|task| task.id == attempt.task),
                "{attempt:?}"
            );
            assert_eq!(attempt.build.0, fake_luci::INSTANCE);
            assert!(
                attempt.build.1.contains('/') && attempt.output.contains('/'),
                "{attempt:?}"
            );
            assert!(!attempt.bot.is_empty() && attempt.builder == attempt.bot);
            assert!(
                attempt
                    .values
                    .iter()
                    .all(|score| (*score < 190.0) == (place >= 17)),
                "{attempt:?}"
            );
        }
    }
}

#[test]
fn a_job_that_catapult_refuses_keeps_its_result_and_is_written_later() {
    let scene = Scene::new(&IN_MAIN, FAST);
    // A right that is missing is no trouble of the moment: it is not tried again at once.
    scene.luci.refuse_jobs(1);
    let finished = search(&scene);
    finished.tells("the job was not written back");
    assert_eq!(finished.document()["status"], "culprit_found");
    assert_eq!(scene.luci.received_jobs(), []);
    let job = finished.document()["job_id"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let written = scene.pinpoint(&["jobs", "write-back", &job]).ends_with(0);
        written.says(&format!("as {job}"));
        assert_eq!(scene.luci.received_jobs().len(), 1);
    }
    assert_eq!(scene.luci.calls("Catapult"), 2);
}

#[test]
fn only_a_job_that_asks_for_it_is_written_back() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let local = ["bisect", "--write-back", "catapult", "a", "b", "--", "true"];
    scene.pinpoint(&local).ends_with(2).tells("--executor");
    let ends = [scene.main(16), scene.main(17)];
    let words = ["--chart", "Score", "--direction", "down"];
    let finished = scene
        .job("bisect", &[&words[..], &ends].concat())
        .ends_with(0);
    let job = finished.document()["job_id"].as_str().unwrap().to_owned();
    assert_eq!(scene.luci.calls("Catapult"), 0);
    scene
        .pinpoint(&["jobs", "write-back", &job])
        .ends_with(2)
        .tells("without --write-back");
}
