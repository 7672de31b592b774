//! The findings, and their reports.

use std::collections::BTreeMap;
use std::fs;

use pinpoint_core::{Record, Report};
use serde_json::Value;

use crate::world::{BENCHMARK, Finished, World, git};

/// The culprit of a document, by its number in history.
#[track_caller]
fn culprit(world: &World, finished: &Finished) -> usize {
    let document = finished.document();
    assert_eq!(document["status"], "culprit_found", "{finished}");
    let culprits = document["culprits"].as_array().unwrap();
    assert_eq!(culprits.len(), 1, "{finished}");
    number(world, &culprits[0]["commit"])
}

fn number(world: &World, commit: &Value) -> usize {
    let hash = commit["main"]["git_hash"].as_str().unwrap();
    world.commits.iter().position(|it| it == hash).unwrap()
}

#[test]
fn the_culprit_among_64_commits_and_a_whole_document() {
    let world = World::with_step(64, 41);
    let before = world.snapshot();
    let options = [
        "--format",
        "lines",
        "--strategy",
        "pinpoint",
        "--output",
        "json",
    ];
    let finished = world.bisect(&options, BENCHMARK).ends_with(0);
    assert_eq!(culprit(&world, &finished), 41);
    assert_eq!(world.snapshot(), before);

    let document = finished.document();
    let commit = |commit: &Value, number: usize| {
        let main = &commit["main"];
        assert_eq!(main["repository"], *world.repository.to_str().unwrap());
        assert_eq!(main["git_hash"], *world.commits[number]);
        assert_eq!(main["author"], "Ada Lovelace <ada@example.org>");
        assert_eq!(main["subject"], *format!("Change number {number}"));
        assert!(main["created"].as_str().unwrap().ends_with("+01:00"));
        assert_eq!(commit["modified_deps"], Value::Array(Vec::new()));
        assert!(commit.as_object().unwrap().contains_key("patch"));
    };
    assert_eq!(document["job_id"].as_str().unwrap().len(), 32);
    assert!(document["version"].is_u64());
    assert_eq!(document["chart"], "latency");
    assert_eq!(document["unit"], "ms");
    commit(&document["good"], 0);
    commit(&document["bad"], 63);
    let found = &document["culprits"][0];
    commit(&found["commit"], 41);
    commit(&found["prior"], 40);
    assert!(found["probability"].is_null());
    let effect = &found["effect"];
    assert_eq!(effect["estimate"], 100.0);
    assert_eq!(effect["of"], "values");
    assert_eq!(effect["confidence"], 0.95);
    let (low, high) = (&effect["interval"]["low"], &effect["interval"]["high"]);
    assert!(low.as_f64() <= Some(100.0) && Some(100.0) <= high.as_f64());
    assert_eq!(document["candidates"], Value::Array(Vec::new()));
    assert_eq!(document["skipped"], Value::Array(Vec::new()));
    // The ends and six halvings, ten runs each.
    assert_eq!(document["runs"], 80);
    assert_eq!(document["builds"], 8);
    assert!(document["duration_s"].as_f64().unwrap() > 0.0);
    let comparisons = document["comparisons"].as_array().unwrap();
    assert!(comparisons.len() >= 7, "{finished}");
    for comparison in comparisons {
        for side in ["lower", "higher"] {
            number(&world, &comparison[side]);
            assert!(comparison[format!("{side}_runs")].as_u64() >= Some(10));
        }
        assert!(["same", "different"].contains(&comparison["verdict"].as_str().unwrap()));
        assert!(comparison["functional"].is_object() && comparison["performance"].is_object());
    }
    // It is kept as it was printed.
    let job = document["job_id"].as_str().unwrap();
    let show = world.pinpoint(&["jobs", "show", job, "--output", "json"]);
    let kept = show.ends_with(0).document();
    assert_eq!(
        (&kept["outcome"], &kept["state"]),
        (&document, &"completed".into())
    );
}

#[test]
fn the_adaptive_strategy_says_how_certain_it_is() {
    let world = World::with_step(64, 41);
    let finished = world.bisect(&["--output", "json"], BENCHMARK).ends_with(0);
    assert_eq!(culprit(&world, &finished), 41);
    let document = finished.document();
    let probability = document["culprits"][0]["probability"].as_f64().unwrap();
    assert!((0.95..=1.0).contains(&probability), "{finished}");
    assert_eq!(document["comparisons"], Value::Array(Vec::new()));
    assert!(document["runs"].as_u64().unwrap() < 40, "{finished}");
    assert!(document["builds"].as_u64().unwrap() < 16, "{finished}");
    // A culprit's own span has nothing left; the remaining ones add up to 1.
    let posterior = &document["posterior"];
    let spans = posterior["spans"].as_array().unwrap();
    let sum: f64 = (spans.iter())
        .map(|span| span["probability"].as_f64().unwrap())
        .sum();
    let no_change = posterior["no_change"].as_f64().unwrap();
    assert!((sum + no_change - 1.0).abs() < 1e-9, "{posterior}");
    assert!(no_change >= 0.95, "{posterior}");
    let commits: u64 = (spans.iter())
        .map(|span| span["commits"].as_u64().unwrap())
        .sum();
    assert_eq!(commits, 63);
    for neighbors in spans.windows(2) {
        assert_eq!(neighbors[0]["last"], neighbors[1]["after"]);
    }
}

#[test]
fn suspicion_decides_where_to_look_first() {
    let world = World::with_step(64, 41);
    let alike = ["--prior", "none", "--output", "json"];
    let plain = world.bisect(&alike, BENCHMARK).ends_with(0);
    let prior = world.path("suspects");
    let lines = format!("# suspects\n\nmain~22   500\n{} 0\n", world.commits[3]);
    fs::write(&prior, lines).unwrap();
    let options = ["--prior", prior.to_str().unwrap(), "--output", "json"];
    let finished = world.bisect(&options, BENCHMARK).ends_with(0);
    assert_eq!(culprit(&world, &finished), 41, "main~22 is 41");
    let builds = |finished: &Finished| finished.document()["builds"].as_u64().unwrap();
    let (suspicious, plain) = (builds(&finished), builds(&plain));
    assert!(suspicious < 6 && 7 < plain, "{suspicious} and {plain}");
}

/// 64 commits, of which every eighth touches the program and the others a document; with
/// number `at`, the value that is measured becomes higher.
fn mostly_documents(value: &'static str, at: usize) -> World {
    let mut world = World::new();
    let commits: Vec<_> = (0..64)
        .map(|number| {
            let name = match number % 8 {
                0 => "list.c",
                _ => "docs/list.txt",
            };
            let mut files = BTreeMap::from([(name, number.to_string())]);
            if number == 0 || number == at {
                files.insert(value, if number < at { "1\n" } else { "2\n" }.into());
            }
            files
        })
        .collect();
    world.add(&commits);
    world
}

#[test]
fn commits_that_touch_no_code_are_suspected_less() {
    let world = mostly_documents("value", 40);
    let with = |prior: &[&str]| {
        let options = [prior, &["--output", "json"]].concat();
        let finished = world.bisect(&options, BENCHMARK).ends_with(0);
        assert_eq!(culprit(&world, &finished), 40);
        finished
    };
    let priors = |finished: &Finished| {
        let job = finished.document()["job_id"].as_str().unwrap().to_owned();
        let show = world.pinpoint(&["jobs", "show", &job, "--output", "json"]);
        show.ends_with(0).document()["spec"]["priors"].clone()
    };
    let (by_changes, alike) = (with(&[]), with(&["--prior", "none"]));
    by_changes.tells("56 of 63 commits touch no code, or only tests");
    assert!(!alike.stderr.contains("documents"), "{alike}");
    let weights: Vec<f64> = (1..64)
        .map(|number| match number {
            40 => 1.4,
            number if number % 8 == 0 => 1.0,
            _ => 0.1,
        })
        .collect();
    assert_eq!(priors(&by_changes), serde_json::json!(weights));
    assert_eq!(priors(&alike), Value::Null);
    let builds = |finished: &Finished| finished.document()["builds"].as_u64().unwrap();
    assert!(
        builds(&by_changes) + 2 <= builds(&alike),
        "{by_changes} {alike}"
    );

    // A file may have any name.
    fs::write(world.repository.join("none"), "HEAD 2\n").unwrap();
    let from_file = priors(&with(&["--prior", "./none"]));
    assert_eq!(from_file[62], 2.0);
    let quiet = world.bisect(&["--quiet"], BENCHMARK).ends_with(0);
    assert_eq!(quiet.stderr, "");
    // The other strategy suspects all alike.
    let other = with(&["--strategy", "pinpoint"]);
    assert_eq!(priors(&other), Value::Null);
}

#[test]
fn a_culprit_that_is_not_suspected_is_found_all_the_same() {
    let world = mostly_documents("docs/value", 43);
    let script = BENCHMARK.replace("value", "docs/value");
    let finished = world.bisect(&["--output", "json"], &script).ends_with(0);
    assert_eq!(culprit(&world, &finished), 43);
}

#[test]
fn a_dear_build_is_used_longer() {
    // A step in noise of about its size.
    let world = World::with_step(64, 41);
    let script = "n=$(cat number); r=${PINPOINT_RUN:-0}; \
                  echo \"v: $(($(cat value) * 25 + (n * 31 + r * 37) % 41)) ms\"";
    let cost = |cost: &str| {
        let options = ["--build-cost", cost, "--output", "json", "--warmup", "0"];
        let finished = world.bisect(&options, script).ends_with(0);
        assert_eq!(culprit(&world, &finished), 41);
        let document = finished.document();
        ["builds", "runs"].map(|what| document[what].as_u64().unwrap())
    };
    let (cheap, dear) = (cost("0"), cost("50"));
    assert!(dear[0] < cheap[0], "builds, runs: {cheap:?} {dear:?}");
}

#[test]
fn a_file_gets_no_colors_and_the_command_in_it_works() {
    let world = World::with_step(16, 9);
    let strategy = ["--strategy", "pinpoint"];
    let finished = world.bisect(&strategy, BENCHMARK).ends_with(0);
    finished.says(&format!("culprit {}", world.commits[9]));
    assert!(!finished.stdout.contains('\u{1b}'), "{finished}");
    assert!(!finished.stderr.contains('\u{1b}'), "{finished}");

    let command = finished.command("bisect");
    assert!(command.contains(&world.commits[8]), "{command}");
    world
        .paste(&command)
        .ends_with(0)
        .says(&format!("culprit {}", world.commits[9]));
}

#[test]
fn the_ends_are_found_among_options_that_look_like_them() {
    let world = World::with_step(8, 5);
    // Names of files may be names of branches too.
    git(&world.repository, &["branch", "value", world.good()]);
    let finished = world
        .pinpoint(&["--color", "never", "bisect", "--path", "value"])
        .and(&["--path=number", "value", "--path", "main", "main"])
        .and(&["--", "sh", "-c", BENCHMARK, "value", "main"])
        .ends_with(0);
    let (prior, culprit) = (&world.commits[4], &world.commits[5]);
    let command = finished.command("--color");
    let expected = format!(
        "pinpoint --color never bisect --path value '--path=number' {prior} --path main {culprit} -- sh -c "
    );
    assert!(command.starts_with(&expected), "{command}");
    world
        .paste(&command)
        .ends_with(0)
        .says(&format!("culprit {culprit}"));
}

#[test]
fn nothing_but_the_document_and_no_progress_when_asked() {
    let world = World::with_step(4, 2);
    let options = ["--quiet", "--output", "json"];
    let finished = world.bisect(&options, BENCHMARK).ends_with(0);
    assert_eq!(culprit(&world, &finished), 2);
    assert_eq!(finished.stderr, "");
}

#[test]
fn a_benchmark_that_fails_from_a_commit_on() {
    let world = World::with_step(16, 6);
    let script = format!("[ $(cat value) = 1 ] || exit 7; {BENCHMARK}");
    let finished = world.bisect(&["--output", "json"], &script).ends_with(0);
    assert_eq!(culprit(&world, &finished), 6);
    let effect = finished.document()["culprits"][0]["effect"].clone();
    assert_eq!(effect["of"], "failures");
    assert_eq!(
        (&effect["before"], &effect["after"]),
        (&0.0.into(), &1.0.into())
    );
    finished.tells("run failed: failed with exit code 7");
    let job = finished.document()["job_id"].as_str().unwrap().to_owned();
    world
        .pinpoint(&["jobs", "show", &job])
        .ends_with(0)
        .says("failing runs 0 % → 100 %");
}

#[test]
fn a_benchmark_that_hangs_from_a_commit_on() {
    let world = World::with_step(3, 2);
    let script = format!("[ $(cat value) = 1 ] || exec sleep 600; {BENCHMARK}");
    let options = ["--timeout", "2s", "--warmup", "0", "--output", "json"];
    let finished = world.bisect(&options, &script).ends_with(0);
    assert_eq!(culprit(&world, &finished), 2);
    let document = finished.document();
    assert_eq!(document["culprits"][0]["effect"]["of"], "failures");
    finished.tells("run failed: timed out after 2s");
}

#[test]
fn a_change_for_the_better_is_no_regression() {
    let world = World::with_step(8, 3);
    for (direction, code) in [("up", 3), ("down", 0), ("unknown", 0)] {
        let options = ["--direction", direction, "--output", "json"];
        let finished = world.bisect(&options, BENCHMARK).ends_with(code);
        if code == 0 {
            assert_eq!(culprit(&world, &finished), 3);
        } else {
            assert_eq!(finished.document()["status"], "no_regression");
        }
    }
    // Less time is better by default.
    let faster = World::with_values([2, 2, 1, 1]);
    let finished = faster.bisect(&[], BENCHMARK).ends_with(3);
    finished.says("changed for the better only");
}

#[test]
fn no_change_at_all() {
    let world = World::with_values([1; 8]);
    let finished = world.bisect(&["--output", "json"], BENCHMARK).ends_with(3);
    let document = finished.document();
    assert_eq!(document["status"], "no_regression");
    assert_eq!(document["culprits"], Value::Array(Vec::new()));
    assert_eq!(document["candidates"], Value::Array(Vec::new()));
    assert!(document["posterior"]["no_change"].as_f64().unwrap() >= 0.95);
    let strategy = ["--strategy", "pinpoint", "--output", "json"];
    let reference = world.bisect(&strategy, BENCHMARK).ends_with(3).document();
    assert_eq!(reference["runs"], 20);
    assert!(reference["posterior"].is_null());
}

#[test]
fn commits_that_do_not_build_next_to_the_culprit() {
    let world = World::with_values([1, 1, 1, 1, -1, -1, 2, 2, 2, 2]);
    let build = "[ $(cat value) -gt 0 ] || { echo no value here; exit 3; }";
    let options = ["--build", build, "--output", "json"];
    let finished = world.bisect(&options, BENCHMARK).ends_with(4);
    let document = finished.document();
    assert_eq!(document["status"], "inconclusive");
    assert_eq!(document["culprits"], Value::Array(Vec::new()));
    let numbers = |key: &str| -> Vec<usize> {
        let commits = document[key].as_array().unwrap();
        commits
            .iter()
            .map(|commit| number(&world, commit))
            .collect()
    };
    assert_eq!(numbers("candidates"), [4, 5, 6], "oldest first");
    let skipped = document["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 2, "{finished}");
    for (skip, expected) in skipped.iter().zip([4, 5]) {
        assert_eq!(number(&world, &skip["commit"]), expected);
        let reason = skip["reason"].as_str().unwrap();
        assert!(
            reason.contains("failed with exit code 3: no value here"),
            "{reason}"
        );
    }
    let job = document["job_id"].as_str().unwrap();
    world
        .pinpoint(&["jobs", "show", job])
        .ends_with(0)
        .says("not decided")
        .says("3 commits that may hold a culprit")
        .says("no value here");
}

#[test]
fn a_commit_in_between_that_does_not_build_is_skipped_and_named() {
    // The first in the middle of nine is the fifth.
    let world = World::with_values([1, 1, 1, 1, -1, 1, 1, 2, 2]);
    let build = "[ $(cat value) -gt 0 ]";
    let finished = world.bisect(&["--build", build], BENCHMARK).ends_with(0);
    finished
        .says(&format!("culprit {}", world.commits[7]))
        .says("skipped")
        .says(&format!("{} Change number 4", &world.commits[4][..10]))
        .says("the build command failed with exit code 1");
}

#[test]
fn a_commit_is_skipped_on_request() {
    let world = World::with_step(9, 6);
    let options = ["--skip", &world.commits[4], "--output", "json"];
    let finished = world.bisect(&options, BENCHMARK).ends_with(0);
    assert_eq!(culprit(&world, &finished), 6);
    let document = finished.document();
    let skipped = document["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 1, "{finished}");
    assert_eq!(number(&world, &skipped[0]["commit"]), 4);
    assert_eq!(skipped[0]["reason"], "skipped on request");
}

#[test]
fn only_commits_that_touch_a_path() {
    let file = |name, value: &str| BTreeMap::from([(name, value.to_owned())]);
    let mut world = World::with_values([1]);
    world.add(&[
        file("notes", "a"),
        file("src/lib", "a"),
        file("notes", "b"),
        BTreeMap::from([("value", "2".into()), ("src/lib", "b".into())]),
        file("notes", "c"),
        file("src/lib", "c"),
        file("notes", "d"),
    ]);
    let options = ["--path", "src", "--output", "json"];
    let finished = world.bisect(&options, BENCHMARK).ends_with(0);
    assert_eq!(culprit(&world, &finished), 4);
    finished.tells("3 commits between the two");
}

#[test]
fn a_budget_of_runs_leaves_a_range() {
    let world = World::with_step(16, 9);
    for (strategy, runs) in [("pinpoint", "35"), ("adaptive", "10")] {
        a_budget_leaves_a_range(&world, strategy, runs);
    }
    let finished = world.bisect(&["--max-builds", "3"], BENCHMARK).ends_with(4);
    finished.says("the budget of builds does not allow the next commit");
}

fn a_budget_leaves_a_range(world: &World, strategy: &str, runs: &str) {
    let options = ["--strategy", strategy, "--max-runs", runs];
    let options = [&options[..], &["--output", "json"]].concat();
    let finished = world.bisect(&options, BENCHMARK).ends_with(4);
    let document = finished.document();
    assert_eq!(document["stopped"], "run_budget");
    assert!(document["runs"].as_u64().unwrap() <= runs.parse().unwrap());
    let candidates = document["candidates"].as_array().unwrap();
    let numbers: Vec<usize> = candidates.iter().map(|it| number(world, it)).collect();
    assert!(numbers.contains(&9) && numbers.len() < 15, "{numbers:?}");
    assert!(numbers.is_sorted());
}

#[test]
fn a_patch_is_laid_on_every_commit() {
    let mut world = World::new();
    let script = "#!/bin/sh\necho unusable\n";
    let commit = |value: &str| {
        BTreeMap::from([("value", value.to_owned()), ("bench.sh", script.to_owned())])
    };
    world.add(&["1", "1 ", "1  ", "2", "2 "].map(commit));
    let patch = world.path("fix.patch");
    let text = "--- a/bench.sh\n+++ b/bench.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo unusable\n+echo \"v: $(cat value) ms\"\n";
    fs::write(&patch, text).unwrap();
    let patch = patch.to_str().unwrap();
    let finished = world
        .pinpoint(&["bisect", "--patch", patch, "--format", "lines"])
        .and(&[
            "--output",
            "json",
            world.good(),
            world.bad(),
            "--",
            "./bench.sh",
        ])
        .ends_with(0);
    assert_eq!(culprit(&world, &finished), 3);
    let named = finished.document()["culprits"][0]["commit"]["patch"].clone();
    assert_eq!(named["file"]["name"], patch, "{named}");

    fs::write(
        patch,
        "--- a/bench.sh\n+++ b/bench.sh\n@@ -1,1 +1,1 @@\n-nothing like it\n+x\n",
    )
    .unwrap();
    world
        .bisect(&["--patch", patch], BENCHMARK)
        .ends_with(1)
        .tells("does not apply");
}

#[test]
fn builds_and_runs_see_the_variables_that_are_promised() {
    let world = World::with_step(4, 2);
    let log = world.path("log");
    let script = format!(
        "echo \"$PINPOINT_JOB $PINPOINT_COMMIT $(git rev-parse HEAD) ${{PINPOINT_RUN-none}} \
         ${{PINPOINT_WARMUP-none}} $LEVEL\" >> {0}; {BENCHMARK}",
        log.display()
    );
    let build = format!(
        "echo \"$PINPOINT_JOB $PINPOINT_COMMIT $(git rev-parse HEAD) build none $LEVEL\" >> {}",
        log.display()
    );
    // Its ten runs of each commit are promised, too.
    let options = ["--build", &build, "--env", "LEVEL=a=b c", "--warmup", "2"];
    let strategy = ["--strategy", "pinpoint"];
    let finished = world
        .bisect(&[&options[..], &strategy[..]].concat(), &script)
        .env("PINPOINT_RUN", "99")
        .env("PINPOINT_WARMUP", "1")
        .ends_with(0);
    finished.says(&format!("culprit {}", world.commits[2]));
    let job = world.only_job()["id"].as_str().unwrap().to_owned();
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in fs::read_to_string(log).unwrap().lines() {
        let words: Vec<&str> = line.splitn(6, ' ').collect();
        assert_eq!(words[0], job);
        assert_eq!(words[1], words[2], "the work tree is the commit's");
        assert_eq!(words[5], "a=b c");
        seen.entry(words[1].to_owned())
            .or_default()
            .push(words[3..5].join(" "));
    }
    assert_eq!(seen.len(), 4);
    for (commit, runs) in &seen {
        let mut expected = vec!["build none".to_owned()];
        // The run that finds the metric warms its build up, and is like those that count.
        let first = if *commit == world.commits[0] {
            "0 none"
        } else {
            "none 1"
        };
        expected.extend([first.to_owned(), "none 1".to_owned()]);
        expected.extend((0..10).map(|run| format!("{run} none")));
        assert_eq!(*runs, expected);
    }
}

#[test]
fn values_come_in_every_form() {
    let world = World::with_step(4, 2);
    let value = "$(($(cat value) * 100 + ${PINPOINT_RUN:-0} * 7 % 10))";
    let cases: [(&[&str], String, &str, Value); 7] = [
        (
            &["--format", "json:/results/0/mean"],
            format!("echo '{{\"results\": [{{\"mean\": '{value}'}}]}}'"),
            "",
            Value::Null,
        ),
        (
            &["--format", r"regex:took (?<value>[0-9.]+) (?<unit>\w+)"],
            format!("echo prose; echo took {value} ms"),
            "",
            "ms".into(),
        ),
        (
            &[
                "--format",
                r"regex:(?<name>\w+)=(?<value>\d+)",
                "--chart",
                "b",
            ],
            format!("echo a=1; echo b={value}"),
            "b",
            Value::Null,
        ),
        (
            &["--results", "out/values.txt"],
            format!("mkdir -p out; echo b: 3 ms; echo c: {value} us > out/values.txt"),
            "c",
            "us".into(),
        ),
        (
            &["--chart", "two words", "--aggregate", "max"],
            format!("echo one: 1 ms; echo two words: {value}; echo two words: 0"),
            "two words",
            Value::Null,
        ),
        (
            &["--aggregate", "sum", "--attempts", "12"],
            format!("echo a: {value} ms; echo a: 5 ms"),
            "a",
            "ms".into(),
        ),
        (
            &[
                "--format",
                "time",
                "--chart",
                "peak_memory",
                "--magnitude",
                "20%",
            ],
            "exec awk -v n=$(cat value) 'BEGIN { for (i = 0; i < n * 300000; i++) a[i] = i }'"
                .into(),
            "peak_memory",
            "bytes".into(),
        ),
    ];
    for (options, script, chart, unit) in cases {
        let finished = world.bisect(options, &script).ends_with(0);
        finished.says(&format!("culprit {}", world.commits[2]));
        let job = world.jobs()[0]["id"].as_str().unwrap().to_owned();
        let show = world.pinpoint(&["jobs", "show", &job, "--output", "json"]);
        let outcome = show.ends_with(0).document()["outcome"].clone();
        assert_eq!(outcome["unit"], unit, "{options:?}");
        if !chart.is_empty() {
            assert_eq!(outcome["chart"], chart, "{options:?}");
        }
        // Every value of a run is kept, whatever the aggregate.
        let (_, records) = world.stored(&job);
        let run = records.iter().find_map(|record| match record {
            Record::Reported {
                report: Report::Ran(run),
                ..
            } => run.charts.values().next(),
            _ => None,
        });
        let several = options.contains(&"--aggregate");
        assert_eq!(
            run.unwrap().values.len(),
            1 + usize::from(several),
            "{options:?}"
        );
    }
}

#[test]
fn the_users_configuration_of_git_does_not_stand_in_the_way() {
    // Each of these keeps git from making a work tree: a filter that is not
    // installed here, and mistrust of bare repositories found by the way.
    let configuration = "\
        [filter \"lfs\"]\n process = no-such-filter\n smudge = no-such-filter\n required = true\n\
        [safe]\n bareRepository = explicit\n";
    let mut world = World::new();
    let commits: Vec<_> = [1, 1, 2, 2]
        .into_iter()
        .enumerate()
        .map(|(number, value)| {
            BTreeMap::from([
                (".gitattributes", "large filter=lfs\n".into()),
                ("large", format!("pointer {number}\n")),
                ("value", format!("{value}\n")),
            ])
        })
        .collect();
    world.add(&commits);
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/.gitconfig"), configuration).unwrap();
    let script = format!("grep -q pointer large && {BENCHMARK}");
    let finished = world.bisect(&["--output", "json"], &script).ends_with(0);
    assert_eq!(culprit(&world, &finished), 2);
    world.pinpoint(&["clean"]).ends_with(0);
}

#[test]
fn a_culprit_in_a_dependency_whose_clone_is_named() {
    let library = World::with_step(8, 5);
    let url = "https://host.example/library.git";
    let mut world = World::new();
    let commits: Vec<_> = [0, 0, 7, 7]
        .into_iter()
        .enumerate()
        .map(|(number, rolled)| {
            let revision = &library.commits[rolled];
            BTreeMap::from([
                (
                    "DEPS",
                    format!("deps = {{'src/lib': '{url}@{revision}'}}\n"),
                ),
                ("number", number.to_string()),
            ])
        })
        .collect();
    world.add(&commits);
    let clone = format!("{url}={}", library.repository.display());
    let options = ["--repository", &clone, "--output", "json"];
    let script = BENCHMARK.replace("cat value", "cat lib/value");
    let finished = world.bisect(&options, &script).ends_with(0);
    let document = finished.document();
    let held = &document["culprits"][0]["commit"]["modified_deps"][0];
    assert_eq!(
        held["commit"]["git_hash"], *library.commits[5],
        "{finished}"
    );
}
