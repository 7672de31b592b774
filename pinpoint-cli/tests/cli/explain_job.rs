//! `pinpoint explain JOB`: real builds under real profilers, as jobs.

mod beside_tools;
mod browser;
mod in_go;
mod kill;
mod options;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::world::{Finished, Pinpoint, World};

/// A program that prints its own time, so that a search needs few runs.
const PROGRAM: &str = r#"#include <stdio.h>

__attribute__((noinline)) unsigned hash(unsigned word) {
    for (int round = 0; round < 40; round++) word = word * 31 + round;
    return word;
}

__attribute__((noinline)) unsigned parse(unsigned word) {
    for (int round = 0; round < 60; round++) word = word * 17 ^ round;
    return hash(word);
}

int main(void) {
    unsigned sum = 0;
    for (unsigned word = 0; word < 2000; word++) sum += parse(word);
    printf("latency: 100 ms\n");
    return sum == 42;
}
"#;

/// The options of a job with this program, built with debug information.
const BUILD: [&str; 2] = ["--build", "cc -g -O1 -o bench bench.c"];

fn slower() -> String {
    PROGRAM
        .replace("round < 40", "round < 55")
        .replace("100 ms", "120 ms")
}

/// A repository whose commits hold one file, with these texts.
fn world(file: &'static str, texts: &[String]) -> World {
    let commits: Vec<_> = (texts.iter().enumerate())
        .map(|(number, text)| {
            BTreeMap::from([(file, text.clone()), ("number", number.to_string())])
        })
        .collect();
    let mut world = World::new();
    world.add(&commits);
    world
}

/// The id of a finished comparison in pairs of the first commit with the last.
fn pairwise(world: &World, options: &[&str], command: &[&str]) -> String {
    let finished = (world.pinpoint(&[
        "pairwise", "--pairs", "6", "--warmup", "0", "--output", "json",
    ]))
    .and(options)
    .and(&[world.good(), world.bad(), "--"])
    .and(command)
    .start()
    .wait();
    finished.document()["job_id"].as_str().unwrap().to_owned()
}

fn explain(world: &World, job: &str, options: &[&str], code: i32) -> Finished {
    world
        .pinpoint(&["explain", job])
        .and(options)
        .ends_with(code)
}

fn document(world: &World, job: &str, options: &[&str]) -> Value {
    let command = world.pinpoint(&["explain", job, "--output", "json"]);
    command.and(options).start().wait().document()
}

/// The functions that are certain, and their changes, the greatest difference first. Profilers that
/// sample the time that passes see other functions wait on a busy machine: it takes the statistics
/// of some pairs to tell these from the effect of a commit.
fn certain(document: &Value) -> Vec<(&str, &str)> {
    let functions = document["functions"].as_array().unwrap().iter();
    functions
        .map(|it| (&it["function"]["name"], &it["verdict"]["kind"]))
        .map(|(name, kind)| (name.as_str().unwrap(), kind.as_str().unwrap()))
        .filter(|(_, kind)| !["uncertain", "moved"].contains(kind))
        .collect()
}

#[test]
fn a_culprit_is_explained_at_once_and_later() {
    let world = world("bench.c", &[PROGRAM.into(), PROGRAM.into(), slower()]);
    let reports = tempfile::tempdir().unwrap();
    let report = reports.path().join("why.html");
    let found = (world.pinpoint(&["bisect", "--explain", "--profiler", "callgrind"]))
        .and(&BUILD)
        .and(&[
            "--report",
            report.to_str().unwrap(),
            "--output",
            "json",
            world.good(),
            world.bad(),
            "--",
            "./bench",
        ])
        .ends_with(0)
        .document();
    assert_eq!(found["culprits"][0]["blamed"]["git_hash"], world.commits[2]);
    let answer = &found["explanation"];
    assert_eq!(certain(answer), [("hash", "slower")], "{answer:#}");
    let hash = &answer["functions"][0];
    assert_eq!(hash["in_diff"]["kind"], "lines");
    assert_eq!(hash["in_diff"]["file"], "bench.c");
    let job = &answer["job"];
    assert_eq!(job["explains"], found["job_id"]);
    assert_eq!(
        (&job["profiler"], &job["shown"]),
        (&"callgrind".into(), &true.into())
    );
    assert!(
        (job["measured"].as_f64().unwrap() - 0.2).abs() < 0.01,
        "{job}"
    );

    // The search's report has the answer, and links to the other one.
    let report = fs::read_to_string(report).unwrap();
    let (_, section) = report.split_once("<section id=\"explanation\">").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    for part in [
        "of it in hash",
        "in the diff",
        "./why.explanation.html",
        "counted: instructions",
    ] {
        assert!(section.contains(part), "{part}: {section}");
    }
    assert!(reports.path().join("why.explanation.html").is_file());

    // It is a normal job.
    let id = job["job_id"].as_str().unwrap();
    let shown = world.pinpoint(&["jobs", "show", id]).ends_with(0);
    shown.says("of it in hash").says("in the diff");
    // Its profiles are read again, with other options.
    let again = document(&world, id, &["--same", "parse=parse"]);
    assert_eq!(again["functions"], answer["functions"]);
    let folded = explain(&world, id, &["--export", "folded", "--side", "base"], 0);
    folded.says("hash ");
    let options = ["--export", "speedscope", "--side", "base"];
    let exported = explain(&world, id, &options, 0).document();
    let frames = exported["shared"]["frames"].as_array().unwrap().iter();
    let hash = frames.into_iter().find(|frame| frame["name"] == "hash");
    assert_eq!(hash.unwrap()["file"], "bench.c");
    // A report that is made later has the answer, too.
    let later = reports.path().join("later.html");
    let has_answer = |of: &str, note: Option<&str>| {
        let make = ["jobs", "report", of, later.to_str().unwrap()];
        world.pinpoint(&make).ends_with(0);
        let report = fs::read_to_string(&later).unwrap();
        let (_, section) = report.split_once("<section id=\"explanation\">").unwrap();
        for part in ["of it in hash", "in the diff"].into_iter().chain(note) {
            assert!(section.contains(part), "{part}: {section}");
        }
    };
    let search = found["job_id"].as_str().unwrap();
    has_answer(search, None);
    has_answer(id, None);
    // Without its profiles, the kept answer is shown, with a note.
    world.pinpoint(&["clean"]).ends_with(0);
    has_answer(search, Some("this is the answer as it was made"));
    let shown = world.pinpoint(&["jobs", "show", id]).ends_with(0);
    shown.tells("this is the answer as it was made");
    for command in [["jobs", "show"], ["jobs", "wait"], ["jobs", "resume"]] {
        let shown = world.pinpoint(&[&command[..], &[id]].concat()).ends_with(0);
        shown.says("of it in hash").says("in the diff");
    }
    assert_eq!(document(&world, id, &[])["functions"], answer["functions"]);
    let both = world.pinpoint(&["jobs", "wait", id, id, "--output", "json"]);
    let both = both.ends_with(0).document();
    assert_eq!(both["jobs"][1]["functions"], answer["functions"]);
    for options in [["--export", "folded"], ["--same", "parse=parse"]] {
        let gone = explain(&world, id, &options, 1);
        assert!(
            gone.stderr.contains("`pinpoint clean` removed them"),
            "{gone}"
        );
        assert!(gone.stderr.contains("pinpoint explain "), "{gone}");
    }
}

#[test]
fn what_is_new_and_what_has_another_name_is_found_in_pairs() {
    let calls = "__attribute__((noinline)) unsigned check(unsigned word) {
    for (int round = 0; round < 30; round++) word = word * 13 + round;
    return word;
}

int main";
    let renamed = PROGRAM.replace("hash(", "digest(");
    let new = renamed
        .replace("int main", calls)
        .replace("+= parse(word)", "+= check(parse(word))");
    let world = world("bench.c", &[PROGRAM.into(), new]);
    let job = pairwise(&world, &BUILD, &["./bench"]);
    let answer = document(&world, &job, &["--profiler", "callgrind"]);
    let found = certain(&answer);
    assert!(found.contains(&("check", "new")), "{found:?}");
    let guess = &answer["renamed"][0];
    assert_eq!(
        (&guess["base"], &guess["experiment"]),
        (&"hash".into(), &"digest".into())
    );
    let id = answer["job"]["job_id"].as_str().unwrap();
    let settled = document(&world, id, &["--same", "hash=digest"]);
    assert_eq!(certain(&settled)[0], ("check", "new"), "{settled:#}");
    assert!(
        certain(&settled).iter().all(|it| it.0 != "digest"),
        "{settled:#}"
    );
}

#[test]
fn a_job_that_can_not_be_explained_says_what_to_do() {
    let world = world("bench.c", &[PROGRAM.into(), PROGRAM.into()]);
    let job = pairwise(&world, &BUILD, &["./bench"]);
    let error = |job: &str, options: &[&str], code| explain(&world, job, options, code).stderr;
    let text = error(&job, &["--profiler", "gprof"], 2);
    assert!(
        text.contains("choose perf, perf-dwarf, callgrind"),
        "{text}"
    );
    let text = error(&job, &["--profiler", "go"], 2);
    assert!(
        text.contains("command:'PROGRAM -cpuprofile {profile}'"),
        "{text}"
    );
    let text = error(&job, &["--profiler", "files:*.folded", "--pairs", "1"], 1);
    assert!(
        text.contains("files:*.folded wrote no profile; check"),
        "{text}"
    );
    assert!(
        text.contains("try another profiler:  pinpoint explain"),
        "{text}"
    );
    let text = error(
        &job,
        &[
            "--profiler",
            "command:{command}; echo main 3 >{profile}",
            "--pairs",
            "2",
            "--keep-profiles",
            "10B",
        ],
        1,
    );
    for advice in [
        "the job's profiles have no more room; raise --keep-profiles (10 B):  pinpoint explain",
        "--keep-profiles SIZE",
    ] {
        assert!(text.contains(advice), "{text}");
    }
    let found = world.bisect(&["--max-runs", "20", "--output", "json"], "echo v: 3 ms");
    let none = found.start().wait().document()["job_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let text = error(&none, &[], 2);
    assert!(text.contains("found no culprit"), "{text}");
}

#[test]
fn perf_finds_the_function_or_says_why_it_may_not() {
    let longer = PROGRAM.replace("word < 2000", "word < 600000");
    let slower = longer.replace("round < 40", "round < 140");
    let world = world("bench.c", &[longer, slower]);
    let job = pairwise(&world, &BUILD, &["./bench"]);
    for profiler in ["perf", "perf-dwarf"] {
        let command = world.pinpoint(&["explain", &job, "--profiler", profiler]);
        let options = ["--pairs", "1", "--output", "json"];
        let finished = command.and(&options).start().wait();
        // It has to be installed, and its user may still lack the permission.
        if finished
            .stderr
            .contains("sysctl kernel.perf_event_paranoid")
        {
            assert_eq!(finished.status.code(), Some(2), "{finished}");
            continue;
        }
        let answer = finished.document();
        let first = &answer["functions"][0];
        assert_eq!(first["function"]["name"], "hash", "{profiler}: {answer:#}");
        // perf knows no files.
        assert_eq!(first["in_diff"]["kind"], "name");
        // Compilers leave frame pointers out.
        if profiler == "perf-dwarf" {
            assert_eq!(first["called_by"], "parse", "{answer:#}");
        }
    }
}

/// As compilers build by default, without frame pointers.
#[test]
fn perf_goes_on_with_dwarf_where_callers_are_missing() {
    let longer = PROGRAM.replace("word < 2000", "word < 600000");
    let slower = longer.replace("round < 40", "round < 140");
    let world = world("bench.c", &[longer, slower]);
    let job = pairwise(&world, &BUILD, &["./bench"]);
    let command = world.pinpoint(&["explain", &job, "--pairs", "1", "--output", "json"]);
    let answer = command.start().wait().document();
    // Where perf may not be used, it is not chosen.
    if answer["job"]["profiler"] == "perf" {
        let warnings = answer["warnings"].to_string();
        assert!(warnings.contains("recorded with perf-dwarf"), "{warnings}");
        let first = &answer["functions"][0];
        assert_eq!(first["function"]["name"], "hash", "{answer:#}");
        assert_eq!(first["called_by"], "parse", "{answer:#}");
    }
}

/// In no package of Debian, Python or Node.js; it takes minutes to compile.
#[test]
#[ignore = "needs samply (cargo install --locked samply), and kernel.perf_event_paranoid of at most 1"]
fn samply_itself_finds_the_function() {
    let longer = PROGRAM.replace("word < 2000", "word < 600000");
    let slower = longer.replace("round < 40", "round < 140");
    let world = world("bench.c", &[longer, slower]);
    let job = pairwise(&world, &BUILD, &["./bench"]);
    let explain = world.pinpoint(&["explain", "--profiler", "samply"]);
    let answer = explained(explain, &job, "1");
    let first = &answer["functions"][0];
    assert_eq!(first["function"]["name"], "hash", "{answer:#}");
    assert_eq!(first["function"]["module"], "bench");
}

/// As samply 0.13 writes them: a profile with addresses, and the names beside it.
const SAMPLY: &str = r#"#!/bin/sh
while [ "$1" != -o ]; do shift; done
profile=$2; shift 3; "$@" || exit
cat >"$profile" <<end
{"meta": {"interval": 1}, "libs": [{"name": "bench", "debugName": "bench",
  "breakpadId": "00000000000000000000000000000A1B0"}],
 "threads": [{"name": "bench", "stringArray": ["0x160", "0x200"],
  "funcTable": {"name": [0, 1], "resource": [0, 0]}, "resourceTable": {"lib": [0]},
  "frameTable": {"func": [0, 1]}, "stackTable": {"prefix": [null, 0], "frame": [0, 1]},
  "samples": {"stack": [0, 1], "weight": [50, $(cat samples)]}}]}
end
cat >"${profile%.json}.syms.json" <<end
{"string_table": ["UNKNOWN", "parse", "hash"], "data": [{"debug_name": "bench",
  "debug_id": "00000000-0000-0000-0000-000000000a1b", "code_id": "",
  "symbol_table": [{"rva": 340, "symbol": 1}, {"rva": 500, "symbol": 2}],
  "known_addresses": [[352, 0], [512, 1]]}]}
end
"#;

#[test]
fn samply_names_the_functions_in_a_file_of_their_own() {
    let world = world("samples", &["40".into(), "60".into()]);
    let job = of_script(&world, &["true"]);
    let absent = world.pinpoint(&["explain", &job, "--profiler", "samply"]);
    let absent = absent.env("PATH", "/usr/bin:/bin").ends_with(2);
    assert!(
        absent.stderr.contains("cargo install --locked samply"),
        "{absent}"
    );
    let programs = world.path("programs");
    fs::create_dir(&programs).unwrap();
    let samply = programs.join("samply");
    fs::write(&samply, SAMPLY).unwrap();
    fs::set_permissions(&samply, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(programs).chain(std::env::split_paths(&path));
    let explain = world.pinpoint(&["explain", "--profiler", "samply"]);
    let explain = explain.env("PATH", std::env::join_paths(path).unwrap());
    let answer = explained(explain, &job, "1");
    let hash = &answer["functions"][0];
    assert_eq!(hash["function"]["name"], "hash", "{answer:#}");
    assert_eq!(hash["function"]["module"], "bench");
    assert_eq!(hash["called_by"], "parse");
    assert_eq!(hash["own"]["difference"], 20e6);
}

/// A program of which py-spy sees two functions.
const PYTHON: &str = "
import os, sys, time

def hash_words(count):
    total = 0
    for word in range(count):
        total = (total * 31 + word) % 1000003
    return total

def parse_words(count):
    total = 0
    for word in range(count):
        total = (total * 17 + word) % 1000003
    return total

# A profiler takes time to find the program, and more on a busy machine.
is_profiled = os.path.exists(sys.argv[1])
if is_profiled:
    time.sleep(2)
count = 1000000 if is_profiled else 300
parse_words(count)
hash_words(count)
";

const JAVASCRIPT: &str = "
function hashWords(count) {
  let total = 0;
  for (let word = 0; word < count; word++) total = (total * 31 + word) % 1000003;
  return total;
}
function parseWords(count) {
  let total = 0;
  for (let word = 0; word < count; word++) total = (total * 17 + word) % 1000003;
  return total;
}
parseWords(4e6);
hashWords(4e6);
";

/// A comparison of two commits with a script, in the second of which `hash` does eight times as
/// much.
fn of_script(world: &World, command: &[&str]) -> String {
    // Its measured values are not tested here.
    let measured = ["--format", "lines", "--chart", "v"];
    let script = format!("echo v: 1 ms; {}", command.join(" "));
    pairwise(world, &measured, &["sh", "-c", &script])
}

fn explained(explain: Pinpoint, job: &str, pairs: &str) -> Value {
    explain
        .and(&[job, "--pairs", pairs, "--output", "json"])
        .start()
        .wait()
        .document()
}

/// The answer in which these functions, in any order, are the first that are certain. Profilers
/// here sample the time that passes, which says less on a busy machine: then more pairs are asked
/// for, as its `runs_needed` tells a user to.
fn explained_until_certain(
    explain: impl Fn() -> Pinpoint,
    job: &str,
    expected: &[(&str, &str)],
) -> Value {
    let ask = |pairs| {
        let answer = explained(explain(), job, pairs);
        let mut first: Vec<_> = certain(&answer).into_iter().take(expected.len()).collect();
        first.sort_unstable();
        let is_expected = first == expected;
        (answer, is_expected)
    };
    let (answer, is_expected) = ask("12");
    if is_expected {
        return answer;
    }
    let (answer, is_expected) = ask("40");
    assert!(is_expected, "{answer:#}");
    answer
}

#[test]
fn node_is_profiled_however_it_is_started() {
    let longer = JAVASCRIPT.replace("hashWords(4e6)", "hashWords(32e6)");
    let world = world("bench.js", &[JAVASCRIPT.into(), longer]);
    let explain = || world.pinpoint(&["explain", "--profiler", "node"]);
    let job = of_script(&world, &["node", "bench.js"]);
    let answer = explained_until_certain(explain, &job, &[("hashWords", "slower")]);
    assert_eq!(answer["functions"][0]["in_diff"]["file"], "bench.js");
}

#[test]
fn garbage_is_the_collectors_or_that_of_the_function_that_makes_it() {
    let more = JAVASCRIPT
        .replace("function hashWords", "const kept = [];\nfunction hashWords")
        .replace("hashWords(4e6)", "hashWords(16e6)")
        .replace(
            "total = (total * 31 + word) % 1000003;",
            "kept[word % 9999] = { total: [total = (total * 31 + word) % 1000003] };",
        );
    let world = world("bench.js", &[JAVASCRIPT.into(), more]);
    let explain = || world.pinpoint(&["explain", "--profiler", "node"]);
    let job = of_script(&world, &["node", "bench.js"]);
    let both = [("(garbage collector)", "new"), ("hashWords", "slower")];
    explained_until_certain(explain, &job, &both);
}

/// A program with a local crate, whose function is slower than before, while another function is
/// inlined.
#[test]
fn a_rust_dependency_is_found_beside_what_is_inlined() {
    let words = "use std::hint::black_box;
#[inline(never)]
pub fn hash_word(mut word: u32) -> u32 {
    for round in 0..40 { word = word.wrapping_mul(31) ^ black_box(round); }
    word
}
";
    let bench = "use std::hint::black_box;
#[inline(never)]
fn parse_word(mut word: u32) -> u32 {
    for round in 0..30 { word = word.wrapping_mul(17) ^ black_box(round); }
    word
}
fn main() {
    for word in 0..2000 { black_box(words::hash_word(parse_word(word))); }
}
";
    let files = |words: &str, bench: &str| {
        BTreeMap::from([
            ("words.rs", words.to_owned()),
            ("bench.rs", bench.to_owned()),
        ])
    };
    let mut world = World::new();
    let inlined = bench.replace("inline(never)", "inline(always)");
    world.add(&[
        files(words, bench),
        files(&words.replace("0..40", "0..60"), &inlined),
    ]);
    // The compiler itself: rustup looks for it in the home, which is empty in tests.
    let root = Command::new("rustc").args(["--print", "sysroot"]).output();
    let root = String::from_utf8(root.unwrap().stdout).unwrap();
    let rustc = format!("{}/bin/rustc -g -C opt-level=1 --edition 2021", root.trim());
    let build = format!(
        "{rustc} --crate-type rlib words.rs && {rustc} --extern words=libwords.rlib bench.rs"
    );
    let job = pairwise(&world, &["--build", &build], &["./bench"]);
    let answer = document(&world, &job, &["--profiler", "callgrind"]);
    assert_eq!(certain(&answer)[0], ("words::hash_word", "slower"));
    assert_eq!(answer["functions"][0]["in_diff"]["file"], "words.rs");
    let moved = |name: &str| {
        let named = |it: &&Value| it["function"]["name"] == name;
        let function = answer["functions"].as_array().unwrap().iter().find(named);
        function.is_some_and(|it| it["verdict"]["kind"] == "moved")
    };
    assert!(
        moved("bench::parse_word") && moved("bench::main"),
        "{answer:#}"
    );
}

#[test]
fn python_is_profiled_by_py_spy() {
    // The interpreter itself: a script that looks for it may take too long.
    let python = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let python = String::from_utf8(python.unwrap().stdout).unwrap();
    let longer = PYTHON.replace("\nhash_words(count)", "\nhash_words(8 * count)");
    let world = world("bench.py", &[PYTHON.into(), longer]);
    let is_profiled = world.path("is-profiled");
    let explain =
        || (world.pinpoint(&["explain", "--profiler", "python"])).env("PATH", with_py_spy());
    let command = [python.trim(), "bench.py", is_profiled.to_str().unwrap()];
    let job = of_script(&world, &command);
    fs::write(&is_profiled, "").unwrap();
    // On a busy machine py-spy misses a run now and then.
    explained_until_certain(explain, &job, &[("hash_words", "slower")]);
}

/// Where programs are, py-spy among them.
fn with_py_spy() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::var_os("PINPOINT_TEST_PY_SPY").map(PathBuf::from);
    let places: Vec<PathBuf> = named
        .into_iter()
        .chain(std::env::split_paths(&path))
        .collect();
    assert!(
        places.iter().any(|place| place.join("py-spy").exists()),
        "py-spy is missing: pip install py-spy, or name its directory in PINPOINT_TEST_PY_SPY"
    );
    std::env::join_paths(places).unwrap()
}
