//! The output of callgrind's and perf's own tools for the profiles that they have just written.
//! Ignored by default: `pinpoint-core/tests/library/profile.rs` tests the same with files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::PROGRAM;
use crate::world::World;

/// The own cost of a function, and the cost with all callees.
type Costs = BTreeMap<String, (f64, f64)>;

/// The standard output of a command in a directory.
fn said(directory: &Path, command: &[&str]) -> String {
    let mut process = Command::new(command[0]);
    let output = process.args(&command[1..]).current_dir(directory).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", command[0]));
    let failure = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {failure}");
    String::from_utf8(output.stdout).unwrap()
}

/// The program, which does its work so many times.
fn built(world: &World, times: u32) {
    let program = PROGRAM.replace("word < 2000", &format!("word < {times}"));
    fs::write(world.repository.join("bench.c"), program).unwrap();
    let options = ["-g", "-O1", "-fno-omit-frame-pointer"];
    let build = [&["cc"][..], &options, &["-o", "bench", "bench.c"]].concat();
    said(&world.repository, &build);
}

/// The functions that we see in a profile, those of one name together, and the whole.
fn ours(world: &World, file: &str) -> (Costs, f64) {
    let files = ["--base", file, "--experiment", file];
    let explain = world.pinpoint(&["explain", "--output", "json"]);
    let explain = explain.and(&files).in_dir(&world.repository);
    let document = explain.start().wait().document();
    let mut costs = Costs::new();
    for function in document["functions"].as_array().unwrap() {
        let name = function["function"]["name"].as_str().unwrap();
        let costs = costs.entry(name.to_owned()).or_default();
        costs.0 += function["own"]["base"].as_f64().unwrap();
        costs.1 += function["total"]["base"].as_f64().unwrap();
    }
    (costs, document["whole"]["base"].as_f64().unwrap())
}

/// The costs that `callgrind_annotate` lists: `1,234 (5.6%)  file:function [object]`.
fn annotated(world: &World, options: &[&str], join: fn(f64, f64) -> f64) -> BTreeMap<String, f64> {
    let command = ["callgrind_annotate", "--threshold=100", "--auto=no"];
    let text = said(
        &world.repository,
        &[&command, options, &["callgrind.out"]].concat(),
    );
    let mut costs: BTreeMap<String, f64> = BTreeMap::new();
    for line in text.lines() {
        let parts = line.split_once(" (").and_then(|(cost, rest)| {
            let (_, place) = rest.split_once(")  ")?;
            let cost: f64 = cost.trim().replace(',', "").parse().ok()?;
            let function = place.split(" [").next()?.rsplit_once(':')?.1;
            Some((function, cost))
        });
        if let Some((function, cost)) = parts {
            // Without symbol versions, levels of a recursion and clones.
            let name = function.split(['@', '\'', '.']).next().unwrap_or_default();
            let listed = costs.entry(name.to_owned()).or_default();
            *listed = join(*listed, cost);
        }
    }
    assert!(costs.len() > 10, "{text}");
    costs
}

#[test]
#[ignore = "needs valgrind"]
fn callgrind_is_as_its_annotation_says() {
    let world = World::new();
    built(&world, 2000);
    let record = ["valgrind", "-q", "--tool=callgrind"];
    let into = ["--callgrind-out-file=callgrind.out", "./bench"];
    said(&world.repository, &[&record[..], &into].concat());
    let (ours, whole) = ours(&world, "callgrind.out");
    let own = annotated(&world, &[], |sum, cost| sum + cost);
    let total = annotated(&world, &["--inclusive=yes"], f64::max);
    for name in ["hash", "parse", "main"] {
        assert_eq!(ours[name], (own[name], total[name]), "{name}");
    }
    for (name, (found, _)) in &ours {
        // A function of this name with less than 0.1 % may be left out.
        if let Some(theirs) = own.get(name) {
            let missing = theirs - found;
            assert!(
                (0.0..=whole / 1000.0).contains(&missing),
                "{name}: {found} {theirs}"
            );
        }
    }
}

#[test]
#[ignore = "needs perf"]
fn perf_is_as_its_report_says() {
    let world = World::new();
    built(&world, 2_000_000);
    let at = &world.repository;
    let record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "997"];
    let into = ["--call-graph", "fp", "-o", "perf.data", "./bench"];
    said(at, &[&record[..], &into].concat());
    let script = said(at, &["perf", "script", "-i", "perf.data"]);
    fs::write(at.join("perf.txt"), script).unwrap();
    let report = ["perf", "report", "-i", "perf.data", "--stdio", "--children"];
    let options = [
        "-g",
        "none",
        "--percent-limit",
        "0",
        "-F",
        "overhead_children,overhead,sym",
    ];
    let report = said(at, &[&report[..], &options].concat());
    let (ours, whole) = ours(&world, "perf.txt");
    let share = |word: &str| word.strip_suffix('%')?.parse::<f64>().ok();
    let mut theirs = Costs::new();
    for line in report.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [total, own, _, name, ..] = words.as_slice()
            && let (Some(total), Some(own)) = (share(total), share(own))
        {
            let costs = theirs.entry((*name).to_owned()).or_default();
            *costs = (costs.0 + own, costs.1 + total);
        }
    }
    assert!(theirs.len() > 3, "{report}");
    // Hundredths of a percent are rounded.
    let close = |found: f64, share: f64| (found / whole * 100.0 - share).abs() < 0.006;
    for (name, (own, total)) in &ours {
        if let Some((their_own, their_total)) = theirs.get(name) {
            let as_listed = close(*own, *their_own) && close(*total, *their_total);
            assert!(as_listed, "{name}: {own} {total} of {whole}\n{report}");
        }
    }
    // `main` itself does too little to be listed.
    for name in ["hash", "parse"] {
        let is_known = ours.contains_key(name) && theirs.contains_key(name);
        assert!(is_known, "{name}: {ours:?} {report}");
    }
}
