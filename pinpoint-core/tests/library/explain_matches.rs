//! Functions that two builds have under other names, in other programs, files and folders.

use pinpoint_core::profile::{
    CallersMissing, ExplainError, ExplainOptions, Explanation, FunctionChange, Profile,
    UnmatchedParts, Verdict, explain,
};

use crate::explain::{find, read};

fn runs(run: impl Fn(u32) -> String) -> Vec<Profile> {
    (0..8).map(|index| read(&run(index))).collect()
}

/// As `perf script` has it: each line is a stack, the outermost function first.
fn perf(module: &str, stacks: &[(&str, u32)]) -> String {
    let mut text = String::new();
    for (at, (stack, cost)) in stacks.iter().enumerate() {
        let program = module.rsplit('/').next().expect("rsplit gives one part");
        text += &format!("{program} 1 1.{at:03}: {cost} cycles:\n");
        for name in stack.split(';').rev() {
            text += &format!("\t1 {name}+0x{cost:x} ({module})\n");
        }
        text.push('\n');
    }
    text
}

fn with(
    sides: [&[Profile]; 2],
    same: &[(&str, &str)],
    map: &[(&str, &str)],
) -> Result<Explanation, ExplainError> {
    let owned = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        pairs.map(|(a, b)| ((*a).into(), (*b).into())).collect()
    };
    let options = ExplainOptions {
        paired: true,
        same: owned(same),
        map: owned(map),
    };
    explain(sides[0], sides[1], &options)
}

fn certain(explanation: &Explanation) -> Vec<&str> {
    let certain = explanation.certain();
    certain.map(|it| it.function.name.as_str()).collect()
}

/// Two functions of one name, of which one got another.
fn parsers() -> [Vec<Profile>; 2] {
    let run = |name: &'static str, more: u32| {
        runs(move |run| {
            format!(
                "main (/w/app.py:1);{name} (/w/app.py:5) {}\n\
                 main (/w/app.py:1);parse (/l/yaml/parser.py:7) {}\n\
                 main (/w/app.py:1);parse (/l/json/parser.py:7) 700\n\
                 main (/w/app.py:1);rest (/w/app.py:9) 1000\n",
                500 + more + run,
                800 + run % 3,
            )
        })
    };
    [run("parse", 0), run("parse_line", 100)]
}

/// A name that is in many files does not identify any of them.
#[test]
fn a_name_in_many_files_is_not_compared_with_each_other_one() {
    let run = |file: &str| {
        let mut text = String::new();
        for folder in 0..10_000 {
            text += &format!("parse (/r/{folder}/{file}{folder}.py:3) 1\n");
        }
        for name in ["tokens", "lines", "words"] {
            text += &format!("{name} (/r/7/{file}7.py:3) 500\n");
        }
        vec![Profile::read(text.as_bytes()).unwrap()]
    };
    let explanation = explain(&run("old"), &run("new"), &ExplainOptions::default()).unwrap();
    let matched: Vec<_> = explanation.matched.iter().map(|it| it.common).collect();
    assert_eq!(matched, [3]);
    assert_eq!(find(&explanation, "tokens").own.difference, 0.0);
}

/// Pairs that are found one by one are not looked for in all others.
#[test]
fn many_functions_in_another_folder_are_the_same() {
    let run = |folder: &str| {
        let mut text = String::new();
        for function in 0..20_000 {
            for part in ["a", "b"] {
                text += &format!("f{function} (/r/{part}/{folder}/m.py:3) 1\n");
            }
        }
        vec![Profile::read(text.as_bytes()).unwrap()]
    };
    let explanation = explain(&run("old"), &run("new"), &ExplainOptions::default()).unwrap();
    assert_eq!(explanation.rest.functions, 40_000);
}

#[test]
fn a_function_is_named_with_its_file() {
    let [base, experiment] = parsers();
    let sides = [&*base, &*experiment];
    let Err(ExplainError::Ambiguous { candidates, .. }) =
        with(sides, &[("parse", "parse_line")], &[])
    else {
        panic!("three functions are called parse");
    };
    assert_eq!(
        candidates,
        [
            "json/parser.py:parse",
            "yaml/parser.py:parse",
            "app.py:parse"
        ]
    );
    for place in ["app.py", "w/app.py", "/w/app.py"] {
        let old = format!("{place}:parse");
        let found = with(sides, &[(&old, "parse_line")], &[]).unwrap();
        assert_eq!(certain(&found), ["parse_line"], "{place}");
        assert_eq!(find(&found, "parse_line").own.difference, 100.0);
        // Those of other files are unchanged.
        let parses = found
            .functions
            .iter()
            .filter(|it| it.function.name == "parse");
        assert!(parses.clone().all(|it| it.own.difference == 0.0));
        assert_eq!(parses.count(), 2);
    }
    for place in ["pp.py", "other.py", "", "app.py:6"] {
        let old = format!("{place}:parse");
        let found = with(sides, &[(&old, "parse_line")], &[]);
        assert!(
            matches!(found, Err(ExplainError::NoFunction { .. })),
            "{place}"
        );
    }
}

/// The answer's advice works as meant.
#[test]
fn a_guess_says_which_function_it_means() {
    let [base, experiment] = parsers();
    let found = with([&base, &experiment], &[], &[]).unwrap();
    let [guess] = &found.renamed[..] else {
        panic!("{:?}", found.renamed);
    };
    let (old, new) = guess.same.clone().unwrap();
    assert_eq!((&*old, &*new), ("app.py:parse", "parse_line"));
    let settled = with([&base, &experiment], &[(&old, &new)], &[]).unwrap();
    assert_eq!(certain(&settled), ["parse_line"]);
}

/// Each side has functions with a few samples that the other one lacks by chance.
#[test]
fn functions_with_a_few_samples_are_no_guess() {
    let side = |begin: u32| {
        runs(move |run| {
            format!(
                "main;work {}\nmain;runtime_{} 10\nmain;runtime_{} 10\n",
                1000 + run % 3,
                begin + run,
                begin + run + 40
            )
        })
    };
    let found = with([&side(0), &side(100)], &[], &[]).unwrap();
    assert_eq!(found.renamed, []);
    // Nor is one that a single run shows.
    let run = |name: &str| vec![read(&format!("main;work 90\nmain;{name} 40\n"))];
    let found = with([&run("a"), &run("b")], &[], &[]).unwrap();
    assert_eq!(found.renamed, []);
}

fn work(module: &str, step: u32) -> Vec<Profile> {
    runs(|run| {
        perf(
            module,
            &[
                ("main;sweep", 500 + run),
                ("main;sweep;step", step + run % 5),
                ("main;print", 300 + run % 3),
            ],
        )
    })
}

#[test]
fn a_program_may_be_called_differently() {
    let (base, slower) = (work("/w/bench-good", 400), work("/w/bench-culprit", 500));
    let found = with([&base, &slower], &[], &[]).unwrap();
    assert_eq!(certain(&found), ["step"]);
    let step = &find(&found, "step").function;
    assert_eq!(step.module.as_deref(), Some("bench-culprit"));
    let [matched] = &found.matched[..] else {
        panic!("{:?}", found.matched);
    };
    assert_eq!(
        (&*matched.base, &*matched.experiment, matched.common),
        ("bench-good", "bench-culprit", 3)
    );
    assert_eq!(found.threads.len(), 1, "{:?}", found.threads);
    let equal = work("/w/bench-culprit", 400);
    assert_eq!(certain(&with([&base, &equal], &[], &[]).unwrap()), [""; 0]);
    let said = with([&base, &slower], &[], &[("bench-good", "bench-culprit")]).unwrap();
    assert_eq!((certain(&said), &*said.matched), (vec!["step"], &[][..]));
    for map in [("bench", "bench-culprit"), ("bench-good", "bench")] {
        let found = with([&base, &slower], &[], &[map]);
        assert!(
            matches!(found, Err(ExplainError::NoPlace { .. })),
            "{map:?}"
        );
    }
}

/// Programs with other functions are other programs.
#[test]
fn another_program_is_not_the_same() {
    let sed = runs(|run| perf("/bin/sed", &[("main;match", 500 + run), ("main", 20)]));
    let awk = runs(|run| perf("/bin/awk", &[("main;split", 700 + run), ("main", 20)]));
    let found = with([&sed, &awk], &[], &[]).unwrap();
    assert_eq!(found.matched, []);
    assert_eq!(find(&found, "split").verdict, Verdict::New);
}

#[test]
fn sources_may_lie_elsewhere() {
    let run = |file: &'static str, place: &'static str| {
        runs(move |run| {
            format!(
                "main (/r/{place}/{file}:1);new (/r/{place}/x/mod.py:1) {}\n\
                 main (/r/{place}/{file}:1);new (/r/{place}/mod.py:1) {}\n\
                 main (/r/{place}/{file}:1);read (/r/{place}/{file}:9) {}\n\
                 main (/r/{place}/{file}:1);new (/l/mod.py:1) 200\n",
                500 + run,
                400 + run % 5,
                300 + run % 3,
            )
        })
    };
    // In another folder; and the program's file has another name, too.
    for file in ["bench.py", "bench_new.py"] {
        let found = with([&run("bench.py", "a"), &run(file, "b")], &[], &[]).unwrap();
        assert_eq!(certain(&found), [""; 0], "{file}: {found:#?}");
        assert!(found.functions.iter().all(|it| it.own.difference == 0.0));
        assert_eq!(found.matched.len(), usize::from(file != "bench.py"));
    }
    // As the user specifies.
    let go = |package: &'static str| {
        runs(move |run| format!("main;{package}/bench.record {}\nmain 100\n", 400 + run))
    };
    let sides = [go("example.com/one"), go("example.com/two")];
    let sides = [&*sides[0], &*sides[1]];
    assert_eq!(certain(&with(sides, &[], &[]).unwrap()).len(), 2);
    let map = [("example.com/one", "example.com/two")];
    assert_eq!(certain(&with(sides, &[], &map).unwrap()), [""; 0]);
}

/// Callgrind has the file of the first line, which may be one that is inlined.
#[test]
fn a_function_may_be_seen_in_another_file() {
    let run = |file: &str, cost: u32| {
        vec![read(&format!(
            "events: Ir\nob=/w/bench\nfl={file}\nfn=record(int)\n1 {cost}\nfl=a.c\nfn=main\n1 500\n"
        ))]
    };
    let base = run("bench.cpp", 1000);
    let found = with([&base, &run("bits/stl_vector.h", 1000)], &[], &[]).unwrap();
    assert_eq!(certain(&found), [""; 0]);
    let found = with([&base, &run("bits/stl_vector.h", 1500)], &[], &[]).unwrap();
    let record: &FunctionChange = find(&found, "record(int)");
    assert_eq!(record.verdict, Verdict::Slower);
}

/// A program without frame pointers leaves stacks of one function.
#[test]
fn stacks_without_callers_do_not_tell_inlining_from_a_change() {
    let base = runs(|run| {
        perf(
            "/w/p",
            &[("step", 860 + run), ("sweep", 20), ("other", 500)],
        )
    });
    let inlined = runs(|run| perf("/w/p", &[("sweep", 880 + run % 5), ("other", 500)]));
    let found = with([&base, &inlined], &[], &[]).unwrap();
    assert_eq!(certain(&found), [""; 0]);
    assert!(matches!(
        find(&found, "step").verdict,
        Verdict::Moved { .. }
    ));
    // The caller was not seen at all.
    let base = runs(|run| perf("/w/p", &[("step", 880 + run), ("other", 500)]));
    let found = with([&base, &inlined], &[], &[]).unwrap();
    assert_eq!(certain(&found), [""; 0]);
    assert_eq!(found.renamed, []);
}

#[test]
fn lost_callers_are_noticed() {
    let of = |stacks: &[(&str, u32)]| CallersMissing::of(&[read(&perf("/w/p", stacks))]);
    let lost = of(&[("step", 600), ("main;other", 400)]).unwrap();
    assert!((lost.part - 0.6).abs() < 1e-9);
    // A stack that ends in garbage is lost, too.
    assert!(of(&[("[unknown];step", 600), ("main;other", 400)]).is_some());
    // A program of one function has no callers; and most stacks are whole here.
    assert_eq!(of(&[("[unknown];main", 600)]), None);
    assert_eq!(of(&[("step", 400), ("main;other", 600)]), None);
    // Other profilers know their callers.
    assert_eq!(CallersMissing::of(&[read("step 600\n")]), None);
}

#[test]
fn it_is_noticed_that_little_is_compared() {
    let base = runs(|run| format!("main;a::x {}\nmain;a::y 300\nmain 10\n", 500 + run));
    let other = runs(|run| format!("main;b::x {}\nmain;b::y 300\nmain 10\n", 500 + run));
    let found = with([&base, &other], &[], &[]).unwrap();
    let parts = UnmatchedParts::of(&found).unwrap().parts;
    assert!(
        parts.iter().all(|part| (0.95..1.0).contains(part)),
        "{parts:?}"
    );
    assert_eq!(
        UnmatchedParts::of(&with([&base, &base], &[], &[]).unwrap()),
        None
    );
    // One new function is no reason to doubt.
    let more = runs(|run| format!("main;a::x {}\nmain;a::y 300\nmain;new 9000\n", 500 + run));
    assert_eq!(
        UnmatchedParts::of(&with([&base, &more], &[], &[]).unwrap()),
        None
    );
}

/// A program whose time goes into a runtime: the change is reported for its own functions, too.
#[test]
fn own_code_has_what_it_calls_of_others() {
    let run = |more: u32| {
        runs(move |run| {
            format!(
                "main.main (/w/m.go:1);bench.record (/w/b.go:3) {}\n\
                 main.main (/w/m.go:1);bench.record (/w/b.go:3);runtime.mallocgc (/usr/local/go/src/runtime/malloc.go:9) {}\n\
                 main.main (/w/m.go:1);bench.print (/w/b.go:9);runtime.mallocgc (/usr/local/go/src/runtime/malloc.go:9) 700\n",
                100 + more / 10 + run % 3,
                900 + more + run,
            )
        })
    };
    let found = with([&run(0), &run(200)], &[], &[]).unwrap();
    let [record] = &found.own_code[..] else {
        panic!("{:#?}", found.own_code);
    };
    assert_eq!(
        (&*record.name, record.own.difference),
        ("bench.record", 220.0)
    );
    assert_eq!(with([&run(0), &run(0)], &[], &[]).unwrap().own_code, []);
}
