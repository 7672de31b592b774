//! Benchmarks whose output is not read, and the measures used instead.

use serde_json::Value;

use crate::world::World;

/// Counts down in the shell, from ten for each unit of the commit's value, and starts no other
/// program: callgrind takes a second for each. Its output looks like a value, but is not.
const WORK: &str =
    "read -r i <value; i=${i}0; while [ $i != 0 ]; do i=$((i - 1)); done; echo v: 1 ms";

/// Bisects by a measure. Returns the result, of which the culprit must be the commit with
/// this number.
#[track_caller]
fn bisected(world: &World, measure: &str, script: &str, culprit: usize) -> Value {
    let options = [
        "--measure",
        measure,
        "--magnitude",
        "50%",
        "--output",
        "json",
    ];
    let finished = world.bisect(&options, script).ends_with(0);
    let document = finished.document();
    let culprits = document["culprits"].as_array().unwrap();
    assert_eq!(culprits.len(), 1, "{finished}");
    let hash = &culprits[0]["commit"]["main"]["git_hash"];
    assert_eq!(hash, &*world.commits[culprit], "{finished}");
    document
}

#[test]
fn instructions_find_a_culprit_in_few_runs() {
    // No two commits do the same, but most nearly.
    let world = World::with_values((0..12).map(|n| n % 3 + if n < 7 { 100 } else { 200 }));
    let document = bisected(&world, "instructions", WORK, 7);
    assert_eq!(document["chart"], "instructions");
    // Three of each end, two of each commit that halves the range, and more for a second change
    // where small differences look like one.
    assert!(document["runs"].as_u64().unwrap() <= 60, "{document}");
    let job = world.only_job()["id"].clone();
    let shown = world.pinpoint(&["jobs", "show", job.as_str().unwrap(), "--output", "json"]);
    let config = &shown.ends_with(0).document()["config"]["local"];
    assert_eq!(config["format"], "time");
    let counter = config["instructions"].as_str().unwrap();
    assert!(["processor", "callgrind"].contains(&counter), "{counter}");
}

#[test]
fn user_time_finds_a_culprit() {
    let world = World::with_values([1, 1, 1, 1, 20_000, 20_000]);
    let document = bisected(&world, "user", WORK, 4);
    assert_eq!(
        (&document["chart"], &document["unit"]),
        (&"user".into(), &"s".into())
    );
}

#[test]
fn memory_finds_a_culprit() {
    let world = World::with_values([1, 1, 1, 200, 200]);
    let script = "dd bs=$(cat value)000000 count=1 if=/dev/zero of=/dev/null status=none";
    let document = bisected(&world, "memory", script, 3);
    assert_eq!(document["chart"], "peak_memory");
}

#[test]
fn a_measure_is_chosen_before_the_search() {
    let world = World::with_values([1, 1, 500]);
    let options = ["--measure", "auto", "--max-runs", "30", "--output", "json"];
    let finished = world.bisect(&options, WORK).start().wait();
    // On a busy machine, so few runs may not be enough.
    assert!(
        matches!(finished.status.code(), Some(0 | 3 | 4)),
        "{finished}"
    );
    let chart = finished.document()["chart"].clone();
    let known = ["wall", "user", "instructions", "peak_memory"];
    assert!(known.contains(&chart.as_str().unwrap()), "{finished}");
}

#[test]
fn one_measure_is_compared_where_one_is_named() {
    let world = World::with_values([1, 1]);
    let command = [
        "pairwise",
        "--measure",
        "memory",
        "--pairs",
        "6",
        "--output",
        "json",
    ];
    let finished = world
        .pinpoint(&command)
        .and(&[world.good(), world.bad(), "--", "sh", "-c", WORK])
        .start()
        .wait();
    // Both need as much, apart from a little that may look like a difference.
    assert!(matches!(finished.status.code(), Some(0 | 3)), "{finished}");
    let charts = finished.document()["charts"].as_array().unwrap().clone();
    assert_eq!(charts.len(), 1, "{finished}");
    assert_eq!(charts[0]["chart"], "peak_memory");
}

#[test]
fn a_measure_is_chosen_for_pairs_and_for_a_verified_search() {
    let world = World::with_values([1, 500]);
    for command in ["pairwise", "culprit"] {
        let finished = world
            .pinpoint(&[command, "--measure", "auto", "--pairs", "6"])
            .and(&["--output", "json", world.good(), world.bad()])
            .and(&["--", "sh", "-c", WORK])
            .start()
            .wait();
        // On a busy machine, so few pairs may not be enough.
        assert!(matches!(finished.status.code(), Some(0 | 3)), "{finished}");
        let document = finished.document();
        let chart = match command {
            "pairwise" => {
                assert_eq!(
                    document["charts"].as_array().unwrap().len(),
                    1,
                    "{finished}"
                );
                &document["charts"][0]["chart"]
            }
            _ => &document["chart"],
        };
        let known = ["wall", "user", "instructions", "peak_memory"];
        assert!(known.contains(&chart.as_str().unwrap()), "{finished}");
    }
}

#[test]
fn a_measure_that_hardly_scatters_is_good_news_for_a_plan() {
    let world = World::with_values([1, 1]);
    world
        .pinpoint(&["plan", "--measure", "instructions", "--runs", "5"])
        .and(&[world.good(), world.bad(), "--", "true"])
        .ends_with(2)
        .tells("instructions hardly scatters here");
}

#[test]
fn a_plan_compares_the_measures() {
    let world = World::with_values([1, 1]);
    let command = ["plan", "--runs", "5", "--magnitude", "50%"];
    let plan = |options: &[&str]| {
        world
            .pinpoint(&command)
            .and(options)
            .and(&[world.good(), world.bad(), "--", "sh", "-c", WORK])
            .ends_with(0)
    };
    let finished = plan(&["--format", "time", "--output", "json"]);
    let measures = finished.document()["measures"].as_array().unwrap().clone();
    let names: Vec<&str> = (measures.iter())
        .map(|measure| measure["measure"].as_str().unwrap())
        .filter(|name| *name != "instructions")
        .collect();
    assert_eq!(names, ["wall", "user", "memory"]);
    for measure in &measures {
        assert!(measure["median"].as_f64() >= Some(0.0), "{finished}");
        assert!(measure["noise"].as_f64() >= Some(0.0), "{finished}");
    }
    plan(&["--measure", "memory"]).says("--measure");
    // Read from the output, the value is the only one.
    let finished = plan(&["--output", "json"]);
    assert_eq!(finished.document()["measures"], Value::Array(Vec::new()));
}

#[test]
fn a_measure_and_values_exclude_each_other() {
    let world = World::with_values([1, 1]);
    let refused = |options: &[&str], says: &str| {
        let finished = world.bisect(options, WORK).ends_with(2);
        finished.tells(says);
    };
    refused(&["--measure", "user", "--format", "lines"], "but not both");
    refused(
        &["--measure", "user", "--chart", "v"],
        "cannot be used with",
    );
    refused(
        &["--measure", "user", "--results", "out"],
        "cannot be used with",
    );
    let command = [
        "plan",
        "--measure",
        "auto",
        world.good(),
        world.bad(),
        "--",
        "true",
    ];
    world
        .pinpoint(&command)
        .ends_with(2)
        .tells("only one is run");
    assert!(world.jobs().is_empty());
}
