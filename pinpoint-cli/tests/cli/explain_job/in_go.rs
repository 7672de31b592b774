//! Go's profiler, compared with Go's own tool on the same profiles. Ignored by default, since Go is
//! not always installed.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use super::{document, pairwise};
use crate::world::World;

const MODULE: &str = "module example.com/words\n\ngo 1.21\n";

const BENCHMARK: &str = r#"package words

import "testing"

//go:noinline
func hashWord(word uint32) uint32 {
	for round := uint32(0); round < 40; round++ {
		word = word*31 + round
	}
	return word
}

//go:noinline
func parseWord(word uint32) []uint32 {
	words := make([]uint32, 40)
	for round := range words {
		words[round] = word*17 ^ uint32(round)
	}
	return words
}

var sum uint32

func BenchmarkWords(b *testing.B) {
	for i := 0; i < b.N; i++ {
		for word := uint32(0); word < 20000; word++ {
			sum += hashWord(parseWord(word)[3])
		}
	}
}
"#;

/// The functions of Go's collector, which are one in an answer.
const COLLECTOR: &str = r"^gcWriteBarrier$|^runtime\.(\(\*(activeSweep|gcCPU|gcController|gcWork|sweep)|\(\*mheap\)\.reclaim|\(\*mspan\)\.ensureSwept|\(\*pageAlloc\)\.scavenge|bgscavenge|bgsweep|bulkBarrier|deductSweepCredit|gc[A-Z]|gcmarknewobject|greyobject|markroot|scan(Conservative|Object|Span|block|object|stack)|sweepone|typeBitsBulkBarrier|wbBufFlush)";

/// The own cost of a function, and the cost with all callees, in nanoseconds.
type Costs = BTreeMap<String, (f64, f64)>;

/// The functions that `go tool pprof` lists for these files.
fn listed(options: &[&str]) -> Costs {
    let all = ["-nodecount=10000", "-nodefraction=0", "-edgefraction=0"];
    let output = Command::new("go")
        .args(["tool", "pprof", "-top", "-unit=nanoseconds"])
        .args(all)
        .args(options)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let number = |text: &str| text.trim_end_matches("ns").parse::<f64>().ok();
    let mut costs = Costs::new();
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [own, _, _, total, _, name, ..] = words.as_slice()
            && let (Some(own), Some(total)) = (number(own), number(total))
        {
            costs.insert((*name).to_owned(), (own, total));
        }
    }
    let failure = String::from_utf8_lossy(&output.stderr);
    assert!(costs.len() > 3, "{said}{failure}");
    costs
}

/// The cache of Go's builds: the home of the tests is empty.
fn cache() -> String {
    let output = Command::new("go")
        .args(["env", "GOCACHE"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The functions of the document, by a part of their changes.
fn found(document: &Value, part: &str) -> Costs {
    let functions = document["functions"].as_array().unwrap().iter();
    let cost = |change: &Value| change[part].as_f64().unwrap();
    functions
        .map(|it| {
            let name = it["function"]["name"].as_str().unwrap();
            (name.to_owned(), (cost(&it["own"]), cost(&it["total"])))
        })
        .collect()
}

/// All of ours are among theirs; of theirs, only those below 0.1 % are missing in ours. `files` are
/// Go's options.
fn assert_equal(ours: &Costs, files: &[&str]) {
    let [focus, ignore] = ["focus", "ignore"].map(|kind| format!("-{kind}={COLLECTOR}"));
    let with = |option: &str| listed(&[&[option][..], files].concat());
    let (all, collected, others) = (listed(files), with(&focus), with(&ignore));
    let is_equal = |name: &str, ours: f64, theirs: f64| {
        assert!((ours - theirs).abs() < 1.0, "{name}: {ours} {theirs}");
    };
    for (name, (own, total)) in ours {
        if name == "(garbage collector)" {
            let theirs = collected.values().map(|(own, _)| own).sum();
            is_equal(name, *own, theirs);
            is_equal(name, *total, theirs);
            continue;
        }
        is_equal(name, *own, others.get(name).copied().unwrap_or_default().0);
        // Others share callees of the collector: but it calls none of these.
        if name.starts_with("example.com/") || name.starts_with("testing.") {
            is_equal(name, *total, all.get(name).copied().unwrap_or_default().1);
        }
    }
}

#[test]
#[ignore = "needs Go"]
fn profiles_and_their_difference_are_as_gos_tool_says() {
    let slower = BENCHMARK.replace("round < 40", "round < 120");
    let files = |benchmark: &str, number: u32| {
        BTreeMap::from([
            ("go.mod", MODULE.to_owned()),
            ("words_test.go", benchmark.to_owned()),
            ("number", number.to_string()),
        ])
    };
    let mut world = World::new();
    world.add(&[files(BENCHMARK, 0), files(&slower, 1)]);
    let build = format!("GOCACHE={} GOPROXY=off go test -c -o words.test .", cache());
    let build = ["--build", &build];
    let options = ["-test.bench", ".", "-test.run", "NONE", "-test.benchtime"];
    let command = [&["./words.test"][..], &options, &["200x"]].concat();
    let job = pairwise(&world, &build, &command);
    // It is found without being asked for.
    let answer = document(&world, &job, &["--pairs", "1"]);
    assert_eq!(answer["job"]["profiler"], "go");
    assert_eq!(
        answer["functions"][0]["function"]["name"], "example.com/words.hashWord",
        "{answer:#}"
    );
    assert_eq!(answer["functions"][0]["in_diff"]["kind"], "lines");
    let [base, experiment] = ["base", "experiment"].map(|side| answer[side][0].as_str().unwrap());
    for (side, file) in [("base", base), ("experiment", experiment)] {
        let costs = found(&answer, side);
        assert!(costs.contains_key("(garbage collector)"), "{answer:#}");
        assert_equal(&costs, &[file]);
    }
    let against = format!("-diff_base={base}");
    let difference = [&against, experiment];
    assert_equal(&found(&answer, "difference"), &difference);
    // Go's tool finds the same functions in the export as in the files.
    let id = answer["job"]["job_id"].as_str().unwrap();
    for (side, files) in [
        ("base", &[base][..]),
        ("experiment", &[experiment]),
        ("difference", &difference),
    ] {
        let exported = world.path(&format!("{side}.pprof"));
        let file = std::fs::File::create(&exported).unwrap();
        let export = ["explain", id, "--export", "pprof", "--side", side];
        world.pinpoint(&export).start_into(file).wait();
        let exported = listed(&[exported.to_str().unwrap()]);
        assert_eq!(exported, listed(files), "{side}");
    }
}

/// Go refuses `-cpuprofile` for several packages, and its tests have no symbols for perf.
#[test]
#[ignore = "needs Go"]
fn several_packages_are_profiled_from_a_script() {
    let package =
        |name: &str, text: &str| text.replace("package words", &format!("package {name}"));
    let slower = BENCHMARK.replace("round < 40", "round < 400");
    let script = format!(
        "#!/bin/sh\ncd . && GOCACHE={} GOPROXY=off go test -run NONE -bench . -benchtime 100x ./...\n",
        cache()
    );
    let files = |second: &str, number: u32| {
        BTreeMap::from([
            ("go.mod", MODULE.to_owned()),
            ("first/words_test.go", package("first", BENCHMARK)),
            ("second/words_test.go", package("second", second)),
            ("bench.sh", script.clone()),
            ("number", number.to_string()),
        ])
    };
    let mut world = World::new();
    world.add(&[files(BENCHMARK, 0), files(&slower, 1)]);
    // In the checkout, too, where the script is looked into.
    std::fs::write(world.repository.join("bench.sh"), &script).unwrap();
    let job = pairwise(&world, &["--format", "time"], &["sh", "bench.sh"]);
    let answer = document(&world, &job, &["--pairs", "1"]);
    assert_eq!(answer["job"]["profiler"], "go");
    assert_eq!(
        answer["functions"][0]["function"]["name"], "example.com/words/second.hashWord",
        "{answer:#}"
    );
    let first = "example.com/words/first.hashWord";
    assert!(found(&answer, "base").contains_key(first), "{answer:#}");
    assert_eq!(answer["base"].as_array().unwrap().len(), 2);
}
