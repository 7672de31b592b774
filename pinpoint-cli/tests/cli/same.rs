//! Builds that are the same, and commits that need no build.
//!
//! They need `strace` (so called in Debian), `make` and a C compiler.

use std::collections::BTreeMap;

use pinpoint_core::{BuildReport, Record, Report};
use serde_json::Value;

use crate::world::{BENCHMARK, Finished, World};

/// Prints a value made from `WORK`, with a little noise that is the same whenever the
/// same run is made again.
const MAIN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    const char *run = getenv("PINPOINT_RUN");
    printf("latency: %d ms\n", WORK * 100 + (run ? atoi(run) : 0) * 7 % 10);
    return 0;
}
"#;

const MAKEFILE: &str = "bench: main.c *.h\n\tcc -O1 -g -o bench main.c\n";

type Files = BTreeMap<&'static str, String>;

fn main_including(header: &str) -> String {
    format!("#include \"{header}\"\n{MAIN}")
}

fn start() -> Files {
    BTreeMap::from([
        ("Makefile", MAKEFILE.to_owned()),
        ("main.c", main_including("work.h")),
        ("work.h", "#define WORK 1\n".to_owned()),
        ("README", "Begin\n".to_owned()),
    ])
}

/// A project in C, of which most commits change nothing that is built. Number 17 makes it
/// slower.
fn project() -> World {
    let mut commits = vec![start()];
    let mut main = main_including("work.h");
    for number in 1..24 {
        commits.push(match number {
            6 | 20 => {
                main.push_str(&format!("/* Comment {number} */\n"));
                BTreeMap::from([("main.c", main.clone())])
            }
            11 => {
                main.push_str("int unused(void) { return 11; }\n");
                BTreeMap::from([("main.c", main.clone())])
            }
            17 => BTreeMap::from([("work.h", "#define WORK 2\n".to_owned())]),
            _ if number % 2 == 0 => BTreeMap::from([("tests/test.c", number.to_string())]),
            _ => BTreeMap::from([("README", number.to_string())]),
        });
    }
    let mut world = World::new();
    world.add(&commits);
    world
}

fn bisect(world: &World, options: &[&str]) -> Finished {
    let always = ["--format", "lines", "--output", "json"];
    let finished = world
        .pinpoint(&["bisect"])
        .and(&always)
        .and(options)
        .and(&[world.good(), world.bad(), "--", "./bench"])
        .ends_with(0);
    assert_eq!(finished.document()["status"], "culprit_found", "{finished}");
    finished
}

#[track_caller]
fn culprit(world: &World, finished: &Finished) -> usize {
    let culprits = finished.document()["culprits"].clone();
    assert_eq!(culprits.as_array().unwrap().len(), 1, "{finished}");
    number(world, &culprits[0]["commit"])
}

fn number(world: &World, commit: &Value) -> usize {
    let hash = commit["main"]["git_hash"].as_str().unwrap();
    world.commits.iter().position(|it| it == hash).unwrap()
}

/// The reports of a job's builds, in their order.
fn built(world: &World, finished: &Finished) -> Vec<BuildReport> {
    let job = finished.document()["job_id"].as_str().unwrap().to_owned();
    (world.journal(&job).into_iter())
        .filter_map(|record| match record {
            Record::Reported {
                report: Report::Built(report),
                ..
            } => Some(report),
            _ => None,
        })
        .collect()
}

#[test]
fn commits_that_change_nothing_that_is_read_are_not_built() {
    let world = project();
    let plain = bisect(&world, &["--build", "make -s"]);
    let traced = bisect(&world, &["--build", "make -s", "--trace-reads"]);
    assert_eq!(culprit(&world, &plain), 17);
    assert_eq!(culprit(&world, &traced), 17);
    let document = traced.document();
    assert_eq!(document["warnings"], Value::Array(Vec::new()), "{traced}");

    // The same commits are the same before they are built, and by their builds.
    let class = |number: usize| match number {
        0..11 => 0,
        11..17 => 1,
        _ => 2,
    };
    let reports = built(&world, &traced);
    let place = |report: &BuildReport| number(&world, &serde_json::json!(report.commit));
    for report in &reports {
        assert!(report.digest.is_some() && report.unproved.is_none());
        if let Some(same) = &report.same_as {
            let same = number(&world, &serde_json::json!(same));
            assert_eq!(class(same), class(place(report)));
            assert_eq!(report.duration, 0);
        }
        for other in &reports {
            let are_same = class(place(report)) == class(place(other));
            assert_eq!(report.digest == other.digest, are_same);
        }
    }
    let (not_built, made): (Vec<_>, Vec<_>) =
        (reports.iter()).partition(|report| report.same_as.is_some());
    assert!(!not_built.is_empty(), "{traced}");
    assert_eq!(document["builds"], made.len() as u64);
    assert!(made.len() as u64 <= plain.document()["builds"].as_u64().unwrap());

    // The culprit is outside of everything excluded.
    let excluded = document["unchanged"].as_array().unwrap();
    assert!(!excluded.is_empty());
    for span in excluded {
        let (after, last) = (
            number(&world, &span["after"]),
            number(&world, &span["last"]),
        );
        assert_eq!(span["commits"], (last - after) as u64);
        assert_eq!(class(after), class(last));
        assert!(!(after < 17 && 17 <= last));
    }
}

#[test]
fn a_file_that_is_read_between_the_ends_alone_is_not_excluded() {
    // At either end nothing reads `middle.h`, and the change is in there.
    let header = |work: u32| format!("#define WORK {work}\n");
    let mut commits = vec![start()];
    for number in 1..16 {
        commits.push(match number {
            4 => BTreeMap::from([
                ("main.c", main_including("middle.h")),
                ("middle.h", header(1)),
            ]),
            8 => BTreeMap::from([("middle.h", header(2))]),
            12 => BTreeMap::from([("main.c", main_including("last.h")), ("last.h", header(2))]),
            _ => BTreeMap::from([("README", number.to_string())]),
        });
    }
    let mut world = World::new();
    world.add(&commits);
    let finished = bisect(&world, &["--build", "make -s", "--trace-reads"]);
    assert_eq!(culprit(&world, &finished), 8);
}

#[test]
fn what_is_not_proved_is_built_and_the_reason_is_named() {
    let world = project();
    // Both names a commit, and reads it.
    let build = "git rev-parse HEAD > version && make -s";
    let finished = bisect(&world, &["--build", build, "--trace-reads"]);
    assert_eq!(culprit(&world, &finished), 17);
    assert!(
        built(&world, &finished)
            .iter()
            .all(|it| it.same_as.is_none())
    );
    let warnings = finished.document()["warnings"].to_string();
    assert!(warnings.contains("the build: it asks git"), "{warnings}");
}

#[test]
fn what_is_read_by_another_name_is_not_excluded() {
    let mut world = World::new();
    let work = |number: usize| if number < 9 { "1" } else { "2" };
    let commits: Vec<Files> = (0..16)
        .map(|number| {
            BTreeMap::from([
                ("src/work", work(number).to_owned()),
                ("README", number.to_string()),
            ])
        })
        .collect();
    world.add(&commits);
    let script = r#"echo "latency: $(($(cat built) * 100 + ${PINPOINT_RUN:-0} * 7 % 10)) ms""#;
    let options = ["--build", "mv src out && cat out/work > built"];
    let finished = world
        .bisect(
            &[&options[..], &["--trace-reads", "--output", "json"]].concat(),
            script,
        )
        .ends_with(0);
    assert_eq!(culprit(&world, &finished), 9);
    let warnings = finished.document()["warnings"].to_string();
    assert!(warnings.contains("another name"), "{warnings}");
}

#[test]
fn commands_that_are_traced_do_not_know_the_commit() {
    let world = project();
    let build = r#"test -z "$PINPOINT_COMMIT" && test -n "$SOURCE_DATE_EPOCH" && make -s"#;
    let finished = bisect(&world, &["--build", build, "--trace-reads"]);
    assert_eq!(culprit(&world, &finished), 17);
}

#[test]
fn a_search_of_a_script_without_a_build_is_traced_as_well() {
    let world = World::with_step(20, 13);
    // Each commit changes the file `number`, which is not read.
    let options = ["--trace-reads", "--output", "json"];
    let finished = world.bisect(&options, BENCHMARK).ends_with(0);
    assert_eq!(culprit(&world, &finished), 13);
    let reports = built(&world, &finished);
    let made = reports.iter().filter(|it| it.same_as.is_none()).count();
    // Two states, and none between them.
    assert_eq!(made, 2, "{finished}");
    let text = world
        .pinpoint(&["bisect", "--trace-reads"])
        .and(&[world.good(), world.bad(), "--", "sh", "-c", BENCHMARK])
        .ends_with(0);
    assert!(text.stdout.contains("18 commits excluded"), "{text}");
}

#[test]
fn pairs_of_builds_that_are_the_same_are_not_run() {
    let world = project();
    let pairwise = |sides: [usize; 2], options: &[&str]| {
        let [base, experiment] = sides.map(|side| &*world.commits[side]);
        world
            .pinpoint(&[
                "pairwise",
                "--trace-reads",
                "--pairs",
                "6",
                "--format",
                "lines",
            ])
            .and(&["--build", "make -s"])
            .and(options)
            .and(&[base, experiment, "--", "./bench"])
    };
    let json = ["--output", "json"];
    // A comment, and code that is built but does nothing.
    for (sides, pairs) in [([0, 10], 0), ([16, 17], 6), ([3, 3], 6)] {
        let code = if sides == [16, 17] { 0 } else { 3 };
        let document = pairwise(sides, &json).ends_with(code).document();
        assert_eq!(document["pairs"], pairs, "{document}");
        assert_eq!(document["warnings"], Value::Array(Vec::new()));
    }
    let finished = pairwise([0, 10], &[]).ends_with(3);
    finished.says("no difference: the benchmark reads the same in both builds");
    for option in ["--base-arg=1", "--experiment-env=A=1"] {
        let refused = pairwise([0, 10], &[option]).ends_with(2);
        refused.tells("cannot be used with");
    }
}

#[test]
fn ends_with_the_same_files_are_not_run() {
    let mut world = World::new();
    world.add(&["1", "2", "3", "1"].map(|value| BTreeMap::from([("value", value.to_owned())])));
    let finished = world.bisect(&["--output", "json"], BENCHMARK).ends_with(3);
    let document = finished.document();
    assert_eq!(document["status"], "no_regression", "{finished}");
    assert_eq!(document["runs"], 0, "{finished}");
    assert_eq!(document["unchanged"][0]["commits"], 3);
    let text = world.bisect(&[], BENCHMARK).ends_with(3);
    assert!(text.stdout.contains("3 commits excluded"), "{text}");
}
