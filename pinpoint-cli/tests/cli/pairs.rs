//! `pinpoint pairwise` and `pinpoint culprit`, on real repositories.

use std::fs;

use libc::{SIGINT, SIGKILL};
use pinpoint_core::{Record, Report};
use serde_json::{Value, json};

use crate::world::{BENCHMARK, Finished, Pinpoint, World, git, until};

/// Prints the commit's value, with a little noise that depends only on the commit and the run, and
/// its own arguments.
const SCRIPT: &str = "n=$(cat value); r=${PINPOINT_RUN:-0}; s=${EXTRA:-0}; \
                      for a in \"$@\"; do s=$((s + a)); done; \
                      echo \"latency: $((n * 1000 + s + (n * 31 + r * 37) % 41)) ms\"; \
                      echo \"size: $((500 + r * 13 % 17)) KB\"; \
                      if test \"$n\" = 2; then echo 'new: 1 x'; else echo 'old: 1 x'; fi";

pub(crate) fn pairwise(world: &World, options: &[&str], ends: &[&str], script: &str) -> Pinpoint {
    (world.pinpoint(&["pairwise"]).and(options).and(ends)).and(&["--", "sh", "-c", script, "bench"])
}

pub(crate) fn culprit(world: &World, options: &[&str], script: &str) -> Pinpoint {
    (world.pinpoint(&["culprit"]).and(options)).and(&[
        world.good(),
        world.bad(),
        "--",
        "sh",
        "-c",
        script,
    ])
}

fn chart<'a>(document: &'a Value, name: &str) -> &'a Value {
    let charts = document["charts"].as_array().unwrap();
    charts.iter().find(|chart| chart["chart"] == name).unwrap()
}

#[test]
fn every_metric_of_two_commits_is_compared() {
    let world = World::with_step(4, 2);
    let ends = [world.good(), world.bad()];
    let finished = pairwise(&world, &["--output", "json"], &ends, SCRIPT).ends_with(0);
    let document = finished.document();
    assert_eq!(document["status"], "different", "{finished}");
    assert_eq!(
        (&document["pairs"], &document["runs"]),
        (&json!(30), &json!(60))
    );
    assert_eq!(
        (&document["moved"], &document["improved"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(document["only_base"], json!(["old"]));
    assert_eq!(document["only_experiment"], json!(["new"]));
    assert_eq!(document["base"]["commit"]["main"]["git_hash"], world.good());
    assert_eq!(
        document["experiment"]["commit"]["main"]["subject"],
        "Change number 3"
    );
    let latency = chart(&document, "latency");
    assert_eq!(
        (&latency["unit"], &latency["direction"]),
        (&json!("ms"), &json!("down"))
    );
    assert_eq!(latency["comparison"]["verdict"], "different");
    let size = chart(&document, "size");
    assert_eq!(
        (&size["unit"], &size["comparison"]["verdict"]),
        (&json!("KB"), &json!("same"))
    );

    assert_eq!(world.only_job()["runs"], 60);
    assert_eq!(world.only_job()["kind"], "pairwise");
}

#[test]
fn a_verdict_of_none_or_better_or_of_one_metric_alone() {
    let world = World::with_step(4, 2);
    let same = [world.good(), &world.commits[1]];
    let finished = pairwise(&world, &[], &same, SCRIPT).ends_with(3);
    finished.says("no difference: none of 3 metrics moved");

    // The other way round it becomes faster.
    let faster = [world.bad(), world.good()];
    pairwise(&world, &[], &faster, SCRIPT)
        .ends_with(3)
        .says("no regression: 1 of 2 metrics improved");
    pairwise(&world, &["--direction", "unknown"], &faster, SCRIPT)
        .ends_with(0)
        .says("different");

    let slower = [world.good(), world.bad()];
    let only = pairwise(&world, &["--chart", "size"], &slower, SCRIPT).ends_with(3);
    assert!(!only.stdout.contains("latency"), "{only}");
    pairwise(&world, &["--chart", "sise"], &slower, SCRIPT)
        .ends_with(2)
        .tells("`latency`, `old`, `size`");
}

#[test]
fn a_patch_on_top_of_the_base_is_tried() {
    let world = World::with_step(3, 9);
    fs::write(world.repository.join("value"), "3\n").unwrap();
    let patch = git(&world.repository, &["diff"]);
    fs::write(world.path("slow.diff"), patch + "\n").unwrap();
    git(&world.repository, &["checkout", "-q", "."]);
    let path = world.path("slow.diff");
    let options = ["--patch", path.to_str().unwrap(), "--output", "json"];
    let finished = pairwise(&world, &options, &["main"], SCRIPT).ends_with(0);
    let document = finished.document();
    assert_eq!(document["base"]["commit"]["patch"], Value::Null);
    assert!(document["experiment"]["commit"]["patch"]["file"]["sha256"].is_string());
    assert_eq!(document["moved"], 1, "{finished}");

    // A patch that does not apply is the experiment's failure.
    fs::write(&path, "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n").unwrap();
    pairwise(&world, &options[..2], &["main"], SCRIPT)
        .ends_with(1)
        .says("the experiment can't be measured")
        .says("does not apply");
}

#[test]
fn each_side_may_have_arguments_and_variables_of_its_own() {
    let world = World::with_step(2, 9);
    for options in [
        &["--experiment-arg=300", "--experiment-arg", "400"][..],
        &["--experiment-env", "EXTRA=500"],
        &[
            "--base-env",
            "EXTRA=-500",
            "--direction",
            "up",
            "--base-arg=1000",
        ],
    ] {
        pairwise(&world, options, &["main"], SCRIPT)
            .ends_with(0)
            .says("different: 1 of 3 metrics moved");
    }
    // The same increase on both sides is not a difference.
    let both = ["--experiment-arg=300", "--base-env", "EXTRA=300"];
    pairwise(&world, &both, &["main"], SCRIPT).ends_with(3);
    // Nothing to compare, and the same commit on purpose.
    pairwise(&world, &[], &["main"], SCRIPT)
        .ends_with(2)
        .tells("name an EXPERIMENT, or give --patch");
    pairwise(&world, &[], &["main", "main"], SCRIPT).ends_with(3);
}

/// Two builds outside of any repository; the benchmark is part of them.
fn builds(world: &World) -> [String; 2] {
    ["old build", "new"].map(|name| {
        let place = world.path(name);
        fs::create_dir(&place).unwrap();
        let value = if name == "new" { "2\n" } else { "1\n" };
        fs::write(place.join("value"), value).unwrap();
        fs::write(place.join("bench.sh"), SCRIPT).unwrap();
        place.to_str().unwrap().to_owned()
    })
}

fn of_builds(world: &World, options: &[&str], base: &str, experiment: &str) -> Pinpoint {
    let sides = ["--base-build", base, "--experiment-build", experiment];
    (world.pinpoint(&["pairwise"]).and(&sides).and(options)).and(&["--", "sh", "bench.sh"])
}

#[test]
fn builds_made_already_are_compared_without_a_repository() {
    let world = World::new();
    let [old, new] = builds(&world);
    let nowhere = world.path("nowhere");
    fs::create_dir(&nowhere).unwrap();
    let report = world.path("report.html");
    let options = ["--output", "json", "--report", report.to_str().unwrap()];
    let command = of_builds(&world, &options, "../old build", "../new").in_dir(&nowhere);
    let document = command.ends_with(0).document();
    assert_eq!(document["status"], "different", "{document}");
    assert_eq!(document["pairs"], 30);
    for (side, place) in [("base", &old), ("experiment", &new)] {
        let main = &document[side]["commit"]["main"];
        assert_eq!(
            (&main["repository"], &main["git_hash"]),
            (&json!(place), &json!(""))
        );
    }
    assert_eq!(
        chart(&document, "latency")["comparison"]["verdict"],
        "different"
    );
    assert_eq!(document["only_experiment"], json!(["new"]));

    // For people, from the store, and in the report.
    let job = document["job_id"].as_str().unwrap();
    let shown = world.pinpoint(&["jobs", "show", job]).ends_with(0);
    shown
        .says(&format!("base        {old}"))
        .says(&format!("experiment  {new}"));
    let page = fs::read_to_string(&report).unwrap();
    assert!(page.contains(&old) && page.contains(&new));
    assert!(page.contains("The difference of each pair"));
    assert!(!page.contains("Not everything could be found out"));

    // The builds are as they were, and nothing was added to them.
    for place in [&old, &new] {
        assert_eq!(fs::read_dir(place).unwrap().count(), 2);
    }
    // One build against itself, with a variable or without.
    of_builds(&world, &[], &old, &old).ends_with(3);
    of_builds(&world, &["--experiment-env", "EXTRA=500"], &old, &old)
        .ends_with(0)
        .says("EXTRA=500");
}

#[test]
fn builds_made_already_know_their_run_and_no_commit() {
    let world = World::new();
    let [old, new] = builds(&world);
    let script = "echo \"v: ${#PINPOINT_COMMIT} x\"; echo \"w: ${PINPOINT_RUN:-0} x\"; \
                  echo \"j: ${#PINPOINT_JOB} x\"; echo \"p: $(pwd | wc -c) x\"";
    let sides = ["--base-build", &old, "--experiment-build", &new];
    let options = ["--pairs", "6", "--output", "json"];
    let command =
        (world.pinpoint(&["pairwise"]).and(&sides).and(&options)).and(&["--", "sh", "-c", script]);
    // Their outputs differ by two characters or not at all: no verdict here.
    let document = command.start().wait().document();
    let medians = |name: &str| {
        let comparison = &chart(&document, name)["comparison"];
        ["control_median", "treatment_median"].map(|side| comparison[side].as_f64().unwrap())
    };
    assert_eq!(medians("v"), [0.0, 0.0]);
    assert_eq!(medians("w"), [2.5, 2.5]);
    assert_eq!(medians("j"), [32.0, 32.0]);
    let lengths = [old, new].map(|place| place.len() as f64 + 1.0);
    assert_eq!(medians("p"), lengths);
}

#[test]
fn builds_that_can_not_be_compared_are_refused_before_there_is_a_job() {
    let world = World::with_step(2, 1);
    let [old, new] = builds(&world);
    of_builds(&world, &[], &old, "nowhere")
        .ends_with(2)
        .tells("--experiment-build: nowhere (No such file")
        .tells("name the directory");
    let file = format!("{old}/value");
    of_builds(&world, &[], &file, &new)
        .ends_with(2)
        .tells("is not a directory");
    for more in [
        &["main"][..],
        &["--build", "make"],
        &["--patch", "x"],
        &["-C", "."],
    ] {
        of_builds(&world, more, &old, &new)
            .ends_with(2)
            .tells("cannot be used with");
    }
    let one = ["pairwise", "--base-build", &old, "--", "true"];
    world
        .pinpoint(&one)
        .ends_with(2)
        .tells("--experiment-build");
    let other = ["pairwise", "--experiment-build", &old, "--", "true"];
    world.pinpoint(&other).ends_with(2).tells("--base-build");
    let none = ["pairwise", "--", "true"];
    world.pinpoint(&none).ends_with(2).tells("<BASE>");
    assert_eq!(world.jobs(), [] as [Value; 0]);

    // An error of the benchmark names the build.
    fs::write(world.path("new/bench.sh"), "exit 7").unwrap();
    of_builds(&world, &["--pairs", "6"], &new, &old)
        .ends_with(1)
        .tells(&format!("fails at the good end {new}"));
}

#[test]
fn a_build_that_is_gone_stops_the_job_until_it_is_back() {
    let world = World::new();
    let [old, new] = builds(&world);
    let slow = format!("{SCRIPT}; sleep 0.05");
    fs::write(world.path("new/bench.sh"), &slow).unwrap();
    let running = of_builds(&world, &[], &old, &new).start();
    let job = running.job();
    until("a pair", || runs_of(&world.journal(&job)) > 0);
    running.signal(SIGINT);
    running.ends_with(130);
    fs::rename(&new, world.path("away")).unwrap();
    let resume = ["jobs", "resume", &job];
    world
        .pinpoint(&resume)
        .ends_with(1)
        .tells(&format!("the build in {new} is gone; put it back"));
    fs::rename(world.path("away"), &new).unwrap();
    world.pinpoint(&resume).ends_with(0).says("different");
}

#[test]
fn it_ends_early_when_told_to_and_certain() {
    let world = World::with_step(2, 1);
    let ends = [world.good(), world.bad()];
    let options = ["--early-stop", "--chart", "latency", "--output", "json"];
    let document = pairwise(&world, &options, &ends, SCRIPT)
        .ends_with(0)
        .document();
    assert_eq!(document["stopped_early"], true);
    assert!(document["pairs"].as_u64().unwrap() < 20, "{document}");
    assert_eq!(document["pairs_planned"], 30);
}

#[test]
fn failures_decide_first() {
    let world = World::with_step(2, 1);
    let ends = [world.good(), world.bad()];
    let script = "echo v: 1 x; test $(cat value) = 1";
    let finished = pairwise(&world, &["--pairs", "10"], &ends, script).ends_with(0);
    finished.says("failing runs 0 % → 100 %");
    assert!(
        finished
            .stderr
            .contains("run failed: failed with exit code 1"),
        "{finished}"
    );
}

#[test]
fn what_can_not_be_carried_out_is_refused_before_there_is_a_job() {
    let world = World::with_step(2, 1);
    let ends = [world.good(), world.bad()];
    for pairs in ["5", "4", "31"] {
        pairwise(&world, &["--pairs", pairs], &ends, SCRIPT)
            .ends_with(2)
            .tells("the number of pairs must be even");
    }
    culprit(&world, &["--pairs", "7"], SCRIPT)
        .ends_with(2)
        .tells("the number of pairs must be even");
    culprit(&world, &["--max-runs", "100"], SCRIPT)
        .ends_with(2)
        .tells("needs 126 runs");
    culprit(
        &world,
        &["--strategy", "pinpoint", "--max-runs", "100"],
        SCRIPT,
    )
    .ends_with(2)
    .tells("needs 160 runs");
    pairwise(&world, &[], &["main", "nowhere"], SCRIPT).ends_with(2);
    assert_eq!(world.jobs(), [] as [Value; 0]);
}

#[test]
fn a_culprit_is_verified_found_and_verified() {
    let world = World::with_step(12, 7);
    let options = ["--chart", "latency", "--output", "json"];
    let finished = culprit(&world, &options, SCRIPT).ends_with(0);
    let document = finished.document();
    assert_eq!(document["status"], "culprit_found", "{finished}");
    let culprits = document["culprits"].as_array().unwrap();
    assert_eq!(culprits.len(), 1);
    assert_eq!(culprits[0]["commit"]["main"]["git_hash"], world.commits[7]);
    assert_eq!(
        culprits[0]["confirmation"]["comparison"]["status"],
        "different"
    );
    assert_eq!(document["verification"]["status"], "different");
    assert_eq!(document["reused_runs"], 60);
    assert_eq!(document["unconfirmed"], json!([]));
    finished.tells("verified by 30 pairs: ");

    let job = document["job_id"].as_str().unwrap();
    let runs = document["runs"].as_u64().unwrap();
    assert_eq!(world.only_job()["runs"], runs);
    assert_eq!(runs_of(&world.journal(job)) as u64, runs);

    // The command that compares the two again can be pasted.
    let again = culprits[0]["reproduce"].as_str().unwrap();
    assert!(again.contains("culprit"), "{again}");
    let again = world.paste(again).ends_with(0).document();
    assert_eq!(again["culprits"][0]["confirmation"]["reused"], true);
    assert_eq!(again["runs"], 60);
}

#[test]
fn without_a_regression_nothing_is_searched_for() {
    let world = World::with_step(5, 9);
    let finished = culprit(&world, &["--pairs", "6"], BENCHMARK).ends_with(3);
    finished
        .says("no regression")
        .says("not verified by 6 pairs");
    assert_eq!(world.only_job()["runs"], 12);
}

/// A document without its variable parts.
fn comparable(finished: &Finished) -> Value {
    let mut document = finished.document();
    let fields = document.as_object_mut().unwrap();
    assert!(fields.remove("job_id").is_some() && fields.remove("duration_s").is_some());
    document
}

fn runs_of(records: &[Record]) -> usize {
    (records.iter())
        .map(|record| match record {
            Record::Reported {
                report: Report::Ran(_),
                ..
            } => 1,
            Record::Reported {
                report: Report::RanPair(_),
                ..
            } => 2,
            _ => 0,
        })
        .sum()
}

/// Kills a job again and again once it has made some more runs, and compares its
/// end with that of a job that was left alone.
fn survives_kills(world: &World, command: impl Fn(&str) -> Pinpoint) {
    let log = world.path("log");
    let lines = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    let script = format!(
        "{SCRIPT}; echo $PINPOINT_RUN >> {}; sleep 0.005",
        log.display()
    );
    let reference = command(&script).start().wait();
    let expected = comparable(&reference);
    world.pinpoint(&["clean"]).ends_with(0);
    let first = lines();

    let mut running = command(&script).start();
    let job = running.job();
    let mut kills = 0;
    let finished = loop {
        let before = lines();
        let enough = before + 3 + 7 * (kills % 5);
        let mut ended = false;
        until("some more runs", || {
            ended = running.has_ended();
            ended || lines() >= enough
        });
        if ended {
            break running.wait();
        }
        running.signal(SIGKILL);
        assert!(running.wait().was_killed());
        kills += 1;
        world.recorded_runs(&job);
        running = world
            .pinpoint(&["jobs", "resume", &job, "--output", "json"])
            .start();
    };
    assert!(kills > 2, "{kills}");
    assert_eq!(comparable(&finished), expected, "{kills} kills\n{finished}");
    world.recorded_runs(&job);
    let records = world.journal(&job);
    // Work under way at a kill is done again, and each process warms its
    // builds up: three runs at most that do not count.
    let made = lines() - first;
    assert!(
        made <= runs_of(&records) + 5 * (kills + 1) + 10,
        "{made} runs, {kills} kills"
    );
}

#[test]
fn a_pairwise_job_that_is_killed_ends_as_if_it_had_not_been() {
    let world = World::with_step(2, 1);
    let ends = [world.good(), world.bad()];
    survives_kills(&world, |script| {
        pairwise(&world, &["--output", "json"], &ends, script)
    });
}

#[test]
fn a_comparison_of_builds_that_is_killed_ends_as_if_it_had_not_been() {
    let world = World::new();
    let [old, new] = builds(&world);
    survives_kills(&world, |script| {
        for place in [&old, &new] {
            fs::write(format!("{place}/bench.sh"), script).unwrap();
        }
        of_builds(&world, &["--output", "json"], &old, &new)
    });
}

#[test]
fn a_culprit_finder_that_is_killed_ends_as_if_it_had_not_been() {
    let world = World::with_step(8, 5);
    survives_kills(&world, |script| {
        culprit(&world, &["--output", "json", "--chart", "latency"], script)
    });
}

#[test]
fn both_are_interrupted_canceled_and_resumed() {
    let world = World::with_step(4, 2);
    let slow = format!("{SCRIPT}; sleep 0.05");
    let ends = [world.good(), world.bad()];
    let commands = [
        pairwise(&world, &["--output", "json"], &ends, &slow),
        culprit(&world, &["--output", "json", "--chart", "latency"], &slow),
    ];
    for command in commands {
        let running = command.start();
        let job = running.job();
        let recorded = |world: &World| runs_of(&world.journal(&job));
        until("a pair", || recorded(&world) > 0);
        running.signal(SIGINT);
        let interrupted = running.ends_with(130);
        assert_eq!(interrupted.document()["status"], "interrupted");
        assert_eq!(interrupted.document()["runs"], recorded(&world));

        world.pinpoint(&["jobs", "cancel", &job]).ends_with(0);
        let shown = world.pinpoint(&["jobs", "show", &job]).ends_with(0);
        shown.says("canceled");
        let resume = world.paste(&shown.command("jobs resume"));
        let finished = resume.and(&["--output", "json"]).ends_with(0);
        let status = finished.document()["status"].clone();
        assert!(
            status == "different" || status == "culprit_found",
            "{finished}"
        );
        // A finished job shows its result again.
        let again = world.pinpoint(&["jobs", "resume", &job, "--output", "json"]);
        assert_eq!(again.ends_with(0).document(), finished.document());
    }
}

#[test]
fn a_job_of_a_kind_that_is_not_known_is_refused_with_a_reason() {
    let world = World::with_step(2, 1);
    let ends = [world.good(), world.bad()];
    let report = world.path("report.html");
    let options = ["--pairs", "6", "--report", report.to_str().unwrap()];
    pairwise(&world, &options, &ends, BENCHMARK).start().wait();
    let known = world.only_job()["id"].as_str().unwrap().to_owned();
    let job = world.store_as(&known, "seance", false);
    for command in ["resume", "cancel"] {
        let refused = world.pinpoint(&["jobs", command, &job]).ends_with(2);
        refused.tells("\"seance\" is not a kind of job that this version of pinpoint knows");
        // Without a result there is nothing to report.
        assert!(!refused.stderr.contains("report"), "{refused}");
    }
}

#[test]
fn a_job_with_functions_of_a_python_program_is_resumed_there() {
    let world = World::with_step(2, 1);
    let ends = [world.good(), world.bad()];
    pairwise(&world, &["--pairs", "6"], &ends, BENCHMARK)
        .start()
        .wait();
    let known = world.only_job()["id"].as_str().unwrap().to_owned();
    // The second is a kind of an early version.
    for kind in ["pairwise", "python_pairwise"] {
        let job = world.store_as(&known, kind, true);
        let hint = format!("pinpoint.pairwise(resume={job:?}, …)");
        world
            .pinpoint(&["jobs", "resume", &job])
            .ends_with(2)
            .tells("functions of a Python program")
            .tells(&hint);
        let shown = world.pinpoint(&["jobs", "show", &job]).ends_with(0);
        shown.says(&hint);
        assert!(!shown.stdout.contains("jobs resume"), "{shown}");
        world.pinpoint(&["jobs", "cancel", &job]).ends_with(0);
        let list = world.pinpoint(&["jobs", "list", "--kind", kind]);
        list.ends_with(0).says(&job[..8]);

        let job = world.store_as(&known, kind, false);
        let resume = ["jobs", "resume", &job, "--output", "json"];
        let document = world.pinpoint(&resume).ends_with(0).document();
        assert_eq!(document["status"], "different");
    }
}
