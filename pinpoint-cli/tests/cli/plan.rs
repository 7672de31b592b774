//! The cost of a bisection.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::world::{BENCHMARK, Finished, World, git, until};

/// Ends simulated searches early, where it does not matter what they find.
const FEW_RUNS: [&str; 2] = ["--max-runs", "12"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// The rows of a plan, the last of which is that nothing changed.
#[track_caller]
fn rows(finished: &Finished) -> Vec<Value> {
    let rows = finished.document()["changes"].as_array().unwrap().clone();
    for row in &rows {
        let ways = ["right", "range", "wrong", "nothing_found"];
        let all: f64 = ways
            .map(|way| row[way].as_f64().unwrap_or(0.0))
            .iter()
            .sum();
        assert!((all - 1.0).abs() < 1e-9, "{row}");
        assert!(number(&row["runs"]["mean"]) > 0.0);
        assert!(row["builds"]["percentile_95"].is_u64());
    }
    assert!(rows.last().unwrap()["change"].is_null());
    rows
}

#[test]
fn numbers_alone_are_enough() {
    let world = World::new();
    let plan = [
        "plan",
        "--commits",
        "128",
        "--noise",
        "1.2",
        "--magnitude",
        "2.4",
    ];
    let json = world.pinpoint(&plan).and(&["--output", "json"]);
    let finished = json.ends_with(0);
    let document = finished.document();
    assert_eq!(document["version"], 1);
    assert_eq!(document["commits"], 128);
    assert_eq!(document["noise"], 1.2);
    assert_eq!(document["magnitude"], 2.4);
    let rows = rows(&finished);
    assert_eq!(rows.len(), 2);
    // As published: two interquartile ranges among 128 commits.
    assert_eq!(rows[0]["change"], 2.4);
    assert_eq!(rows[0]["change_in_noise"], 2.0);
    assert!(number(&rows[0]["right"]) > 0.8, "{finished}");
    assert!(rows[0]["duration_s"].is_null());

    assert!(!world.state_dir().exists());
}

#[test]
fn several_sizes_when_none_is_named_and_the_time_they_take() {
    let world = World::new();
    let finished = world
        .pinpoint(&[
            "plan",
            "--commits",
            "16",
            "--noise",
            "3%",
            "--output",
            "json",
        ])
        .and(&["--run-time", "2m", "--build-time", "1h"])
        .and(&FEW_RUNS)
        .ends_with(0);
    assert_eq!(finished.document()["unit"], "%");
    let rows = rows(&finished);
    let changes: Vec<&Value> = rows.iter().map(|row| &row["change"]).collect();
    assert_eq!(changes[..4], [1.5, 3.0, 6.0, 12.0]);
    for row in &rows {
        let (runs, builds) = (number(&row["runs"]["mean"]), number(&row["builds"]["mean"]));
        let expected = 120.0 * runs + 3600.0 * builds;
        assert!((number(&row["duration_s"]) / expected - 1.0).abs() < 1e-12);
    }
}

#[test]
fn the_values_of_a_file_between_two_commits() {
    let world = World::with_step(21, 10);
    let file = world.path("values.txt");
    fs::write(&file, "10.5\n\n10.1\n  9.9\n10.3\n10.0\n9.7\n10.2\n").unwrap();
    let values = ["--values", file.to_str().unwrap(), "--output", "json"];
    let finished = world
        .pinpoint(&["plan", world.good(), world.bad(), "--magnitude", "20%"])
        .and(&values)
        .ends_with(0);
    let document = finished.document();
    assert_eq!(document["commits"], 20);
    assert_eq!(document["values"], 7);
    // Sorted: 9.7 9.9 10.0 10.1 10.2 10.3 10.5
    assert!((number(&document["noise"]) - 0.4).abs() < 1e-12);
    assert!((number(&document["magnitude"]) - 2.02).abs() < 1e-12);
    assert!(number(&rows(&finished)[0]["right"]) > 0.8, "{finished}");

    let touched = world
        .pinpoint(&["plan", "--path", "value", world.good(), world.bad()])
        .and(&values)
        .and(&FEW_RUNS)
        .ends_with(0);
    assert_eq!(touched.document()["commits"], 1 + 1, "{touched}");
}

#[test]
fn a_change_for_the_worse_is_looked_for_where_better_is_known() {
    let world = World::new();
    let plan = [
        "plan",
        "--commits",
        "16",
        "--noise",
        "1",
        "--magnitude",
        "4",
    ];
    for (direction, change) in [("up", -4.0), ("down", 4.0), ("unknown", 4.0)] {
        let options = ["--direction", direction, "--output", "json"];
        let finished = world.pinpoint(&plan).and(&options).ends_with(0);
        let rows = rows(&finished);
        assert_eq!(rows[0]["change"], change);
        assert!(number(&rows[0]["right"]) > 0.8, "{finished}");
    }
    let up = world.pinpoint(&plan).and(&FEW_RUNS);
    let up = up.and(&["--direction", "up"]);
    up.ends_with(0).says("-4.000 (4.0 ×)");
}

#[test]
fn suspicions_make_a_plan_cheaper() {
    let world = World::with_step(41, 20);
    let prior = world.path("prior");
    fs::write(&prior, "HEAD~7 1000\n").unwrap();
    let ends = [world.good(), world.bad()];
    let options = ["--noise", "1", "--magnitude", "2", "--output", "json"];
    let plan = || world.pinpoint(&["plan"]).and(&ends).and(&options);
    let without = rows(&plan().ends_with(0));
    let suspected = plan().and(&["--prior", prior.to_str().unwrap()]);
    let with = rows(&suspected.ends_with(0));
    let runs = |rows: &[Value]| number(&rows[0]["runs"]["mean"]);
    assert!(runs(&with) < 0.8 * runs(&without), "{with:?} {without:?}");
    assert!(number(&with[0]["right"]) > 0.8);
    let options = ["plan", "--commits", "9", "--noise", "1", "--prior", "x"];
    world.pinpoint(&options).ends_with(2).tells("<GOOD>");
}

#[test]
fn a_plan_says_what_the_commits_touch() {
    let mut world = World::new();
    let file = |name: &'static str| BTreeMap::from([(name, name.to_string())]);
    world.add(
        &[
            "a.c",
            "b.c",
            "README",
            "go.mod",
            ".travis.yml",
            "test_list.py",
        ]
        .map(file),
    );
    let options = ["--noise", "1", "--magnitude", "4"];
    let plan = || {
        let ends = ["plan", world.good(), world.bad()];
        world.pinpoint(&ends).and(&options).and(&FEW_RUNS)
    };
    let finished = plan().ends_with(0);
    finished.says("1 commit, weight 2: manifests, lock files or the build\n");
    finished.says("2 commits, weight 0.1: only documents or CI\n");
    let document = plan().and(&["--output", "json"]).ends_with(0).document();
    assert_eq!(
        document["prior"][1],
        serde_json::json!({ "touches": "code", "commits": 1, "weights": [1.0, 1.0] })
    );
    let alike = plan().and(&["--prior", "none"]).ends_with(0);
    assert!(!alike.stdout.contains("weight"), "{alike}");

    // A clone without the directories of the commits.
    let clone = world.path("clone");
    let from = format!("file://{}", world.repository.display());
    git(
        &world.repository,
        &["config", "uploadpack.allowFilter", "true"],
    );
    let partial = ["clone", "-q", "--no-checkout", "--filter=tree:0", &from];
    git(
        &world.repository,
        &[&partial[..], &[clone.to_str().unwrap()]].concat(),
    );
    let unknown = plan().and(&["-C", clone.to_str().unwrap()]).ends_with(0);
    unknown.says("all commits are equally suspected: `git log");
}

#[test]
fn the_noise_of_the_good_end_is_measured() {
    let world = World::with_step(9, 4);
    let before = world.snapshot();
    let finished = world
        .pinpoint(&[
            "plan",
            "--runs",
            "7",
            "--build",
            "sleep 0.1",
            "--output",
            "json",
        ])
        .and(&["--magnitude", "100", world.good(), world.bad(), "--"])
        .and(&["sh", "-c", BENCHMARK])
        .ends_with(0);
    assert_eq!(world.snapshot(), before);
    let document = finished.document();
    assert_eq!(document["commits"], 8);
    assert_eq!(document["unit"], "ms");
    assert_eq!(document["values"], 7);
    // The benchmark's noise at its first seven runs: 0 7 4 1 8 5 2.
    assert_eq!(document["noise"], 6.0);
    assert!(number(&document["run_time_s"]) > 0.0);
    assert!(number(&document["build_time_s"]) >= 0.1);
    assert!(rows(&finished)[0]["duration_s"].is_number());
    // No job came of it, but the build is there for the bisection to come.
    assert!(world.state_dir().join("builds").exists());
    assert!(world.jobs().is_empty());
}

#[test]
fn runs_that_fail_are_part_of_the_plan() {
    let world = World::with_step(3, 1);
    let flaky = format!("test $((${{PINPOINT_RUN:-0}} % 4)) != 3 && {BENCHMARK}");
    let finished = world
        .pinpoint(&[
            "plan",
            "--runs",
            "8",
            "--magnitude",
            "100",
            "--output",
            "json",
        ])
        .and(&[world.good(), world.bad(), "--", "sh", "-c", &flaky])
        .ends_with(0);
    assert_eq!(finished.document()["failure_rate"], 0.25, "{finished}");
}

#[test]
fn a_comparison_is_planned_without_commits() {
    let world = World::with_step(2, 1);
    let plan = ["plan", "--kind", "pairwise", "--noise", "1%", "--magnitude"];
    let pairs = |pairs: &str, more: &[&str]| {
        let plan = world.pinpoint(&plan).and(&["1%", "--pairs", pairs]);
        plan.and(more).ends_with(0)
    };
    let finished = pairs("30", &["--output", "json"]);
    let document = finished.document();
    assert_eq!(
        (&document["kind"], &document["pairs"], &document["strategy"]),
        (&"pairwise".into(), &30.into(), &Value::Null)
    );
    let all = rows(&finished);
    assert!(number(&all[0]["right"]) > 0.9, "{finished}");
    // Where nothing changed, the test finds something in at most one of twenty.
    assert!(number(&all[1]["wrong"]) < 0.07, "{finished}");
    assert_eq!(all[0]["runs"]["percentile_95"], 60);
    let fewer = rows(&pairs("6", &["--output", "json"]));
    assert!(number(&fewer[0]["right"]) < 0.5, "{fewer:?}");
    pairs("30", &[])
        .says("30 pairs of runs of two commits")
        .says("simulated comparisons");
    // A culprit finder makes comparisons, too.
    let finder = ["plan", "--kind", "culprit_finder", "--commits", "4"];
    let finished = world
        .pinpoint(&finder)
        .and(&["--pairs", "6", "--noise", "1%", "--magnitude", "9%"])
        .ends_with(0);
    finished.says("simulated culprit finders");
}

#[test]
fn what_can_not_be_planned_is_refused_with_what_to_do() {
    let world = World::with_step(4, 2);
    let few = world.path("few");
    fs::write(&few, "1\n2\n3\n4\n").unwrap();
    let words = world.path("words");
    fs::write(&words, "1\ntwo\n").unwrap();
    let same = world.path("same");
    fs::write(&same, "5\n5\n5\n5\n5\n").unwrap();
    let (few, words, same) = (
        few.to_str().unwrap(),
        words.to_str().unwrap(),
        same.to_str().unwrap(),
    );
    let cases: [(&[&str], &str); 16] = [
        (&["--noise", "1"], "give --commits, or name both ends"),
        (&["--commits", "8"], "--noise"),
        (&["--commits", "0", "--noise", "1"], "at least one commit"),
        (
            &["--commits", "100001", "--noise", "1"],
            "too many to simulate",
        ),
        (&["--commits", "8", "--noise", "0"], "must be above 0"),
        (&["--commits", "8", "--noise", "nan"], "a number is needed"),
        (
            &["--commits", "8", "--noise", "1", "--magnitude", "0"],
            "a change has a size",
        ),
        (
            &["--commits", "8", "--noise", "1", "--magnitude", "5%"],
            "both in percent",
        ),
        (
            &["--commits", "8", "--noise", "1", "--confidence", "1"],
            "between 0 and 1",
        ),
        (
            &["--kind", "pairwise", "--noise", "1", "--pairs", "7"],
            "must be even",
        ),
        (
            &["--kind", "pairwise", "--noise", "1", "--pairs", "1000"],
            "--pairs: 1000 pairs",
        ),
        (&["--commits", "8", "--values", few], "at least 5"),
        (&["--commits", "8", "--values", words], "line 2"),
        (
            &["--commits", "8", "--values", "missing"],
            "can't read missing",
        ),
        (&["--commits", "8", "--values", same], "no size of a change"),
        (&["main", "HEAD~1", "--noise", "1"], "older commit first"),
    ];
    for (arguments, reason) in cases {
        let finished = world.pinpoint(&["plan"]).and(arguments).ends_with(2);
        finished.says_nothing().tells(reason);
    }
    // With a size to look for, values without noise are not a problem.
    let certain = [
        "plan",
        "--commits",
        "8",
        "--values",
        same,
        "--magnitude",
        "1",
    ];
    let certain = world.pinpoint(&certain).and(&FEW_RUNS);
    certain.ends_with(0).says("+1.000");
    // Like a bisection that finds no value at its good end.
    let failing = world
        .pinpoint(&["plan", world.good(), world.bad(), "--"])
        .and(&["sh", "-c", "exit 3"])
        .ends_with(1);
    failing.says_nothing().tells("exit code 3");
    assert!(world.jobs().is_empty());
}

#[test]
fn a_measurement_can_be_interrupted() {
    let world = World::with_step(3, 1);
    let script = format!("touch $HOME/running; sleep 600; {BENCHMARK}");
    fs::create_dir(world.path("home")).unwrap();
    let running = world
        .pinpoint(&["plan", world.good(), world.bad(), "--", "sh", "-c", &script])
        .start();
    until("a run", || world.path("home/running").exists());
    running.signal(libc::SIGINT);
    running.ends_with(130).says_nothing().tells("interrupted");
}
