//! Small programs with one change each, of the kinds that are easily taken for another.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use pinpoint_core::profile::{ExplainOptions, Explanation, Profile, Verdict, explain};

use crate::explain::Noise;

fn read(text: &str) -> Profile {
    Profile::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Twelve pairs of a program, by its stacks with their cost on each side, and a little more or less
/// in each run.
fn compared(program: &[(&str, u32, u32)]) -> Explanation {
    let mut noise = Noise::from_seed(1);
    let mut run = |side: usize| {
        let mut text = String::new();
        for (stack, before, after) in program {
            let cost = [*before, *after][side];
            if cost > 0 {
                let more = 20.0 * (noise.uniform() - 0.5);
                text += &format!("{stack} {:.0}\n", f64::from(cost) + more);
            }
        }
        read(&text)
    };
    let [base, experiment] =
        [0, 1].map(|side| -> Vec<Profile> { (0..12).map(|_| run(side)).collect() });
    let options = ExplainOptions {
        paired: true,
        ..ExplainOptions::default()
    };
    explain(&base, &experiment, &options).unwrap()
}

#[track_caller]
fn names(program: &[(&str, u32, u32)], expected: &[&str]) -> Explanation {
    let explanation = compared(program);
    let found: Vec<&str> = explanation
        .certain()
        .map(|change| &*change.function.name)
        .collect();
    assert_eq!(found, expected, "{:#?}", explanation.functions);
    explanation
}

fn verdict<'a>(explanation: &'a Explanation, name: &str) -> &'a Verdict {
    let mut functions = explanation.functions.iter();
    &functions
        .find(|change| change.function.name == name)
        .unwrap()
        .verdict
}

#[test]
fn inlined_into_several_callers_is_moved() {
    let explanation = names(
        &[
            ("main;a", 1000, 1400),
            ("main;a;leaf", 400, 0),
            ("main;b", 2000, 2200),
            ("main;b;leaf", 200, 0),
            ("main;c", 3000, 3000),
        ],
        &[],
    );
    for name in ["a", "b"] {
        let Verdict::Moved { with } = verdict(&explanation, name) else {
            panic!("{explanation:#?}");
        };
        assert_eq!(explanation.functions[*with].function.name, "leaf");
    }
    let Verdict::Moved { with } = verdict(&explanation, "leaf") else {
        panic!("{explanation:#?}");
    };
    assert_eq!(explanation.functions[*with].function.name, "a");
}

#[test]
fn several_inlined_into_one_are_moved() {
    names(
        &[
            ("main;a", 1000, 1900),
            ("main;a;b", 600, 0),
            ("main;a;b;c", 300, 0),
            ("main;d", 3000, 3000),
        ],
        &[],
    );
    // No longer inlined.
    names(
        &[
            ("main;a", 1900, 1000),
            ("main;a;b", 0, 600),
            ("main;a;c", 0, 300),
            ("main;d", 3000, 3000),
        ],
        &[],
    );
}

/// Inlined into two callers, and another function is slower.
#[test]
fn inlining_hides_no_other_change() {
    names(
        &[
            ("main;a", 1000, 1400),
            ("main;a;leaf", 400, 0),
            ("main;b", 2000, 2200),
            ("main;b;leaf", 200, 0),
            ("main;c", 3000, 3300),
        ],
        &["c"],
    );
    // The caller is slower by more than it took over.
    names(
        &[
            ("main;a", 1000, 1900),
            ("main;a;leaf", 400, 0),
            ("main;b", 2000, 2000),
        ],
        &["a"],
    );
}

/// A function is inlined, and the program a little faster by that; another one is slower.
#[test]
fn what_is_inlined_and_faster_comes_after_what_is_slower() {
    // The rest is a small or a great part of the difference.
    for main in [1490, 1330] {
        names(
            &[
                ("main", 1000, main),
                ("main;hash", 600, 0),
                ("main;parse", 3000, 3000),
                ("main;print", 2000, 2400),
            ],
            &["print", "hash"],
        );
    }
    // Slower by less than another one is.
    names(
        &[
            ("main", 1000, 1800),
            ("main;hash", 600, 0),
            ("main;parse", 3000, 3000),
            ("main;print", 2000, 2400),
        ],
        &["print", "main"],
    );
    // Cost that was taken over counts once.
    names(
        &[
            ("main", 1000, 480),
            ("main;f", 0, 1100),
            ("main;g", 0, 1000),
            ("main;h", 0, 900),
            ("main;io;print", 2000, 2600),
            ("main;parse", 3000, 3000),
        ],
        &["f", "g", "print", "h"],
    );
    // Cost that was taken over by one is not taken over by another.
    names(
        &[
            ("main", 1000, 1550),
            ("main;hash", 560, 0),
            ("main;log", 1000, 0),
            ("main;io;print", 2000, 2600),
            ("main;parse", 3000, 3000),
        ],
        &["log", "print"],
    );
    // Functions that both sides have.
    names(
        &[
            ("main", 1000, 1350),
            ("main;hash", 600, 20),
            ("main;parse", 3000, 3000),
            ("main;print", 2000, 2400),
        ],
        &["hash", "print", "main"],
    );
}

/// Where calls are counted, none is hidden, and a function that is called more often took over
/// nothing.
#[test]
fn counted_calls_are_not_taken_for_inlining() {
    let program = |functions: &[(&str, u32, u32)]| {
        let mut text = "events: Ir\nfn=main\n1 1000\n".to_owned();
        for (name, calls, cost) in functions.iter().filter(|(_, calls, _)| *calls > 0) {
            text += &format!("cfn={name}\ncalls={calls} 2\n1 {cost}\n");
        }
        for (name, _, cost) in functions.iter().filter(|(_, calls, _)| *calls > 0) {
            text += &format!("fn={name}\n2 {cost}\n");
        }
        read(&text)
    };
    let certain = |base: Profile, experiment: Profile| -> Vec<String> {
        let explanation = explain(&[base], &[experiment], &ExplainOptions::default()).unwrap();
        let certain = explanation.certain();
        certain.map(|it| it.function.name.clone()).collect()
    };
    let found = certain(
        program(&[("cache", 100, 3_000_000), ("print", 10, 5_000_000)]),
        program(&[("print", 10, 7_500_000)]),
    );
    assert_eq!(found, ["cache", "print"]);
    let nested = |cache: u32, compute: u32, print: u32| {
        let calls = compute / 10_000;
        let inside = cache + compute + print;
        let mut text = format!(
            "events: Ir\nfn=main\n1 1000\ncfn=compute\ncalls={calls} 2\n1 {}\n\
             cfn=print\ncalls=10 3\n1 {print}\nfn=compute\n2 {compute}\n",
            inside - print
        );
        if cache > 0 {
            text += &format!("cfn=cache\ncalls=100 4\n2 {cache}\nfn=cache\n4 {cache}\n");
        }
        read(&(text + &format!("fn=print\n3 {print}\n")))
    };
    let found = certain(
        nested(3_000_000, 1_000_000, 5_000_000),
        nested(0, 6_000_000, 7_500_000),
    );
    assert_eq!(found, ["compute", "cache", "print"]);
}

/// As `perf script` has it: each line is a stack, the outermost function first, each as
/// `name@module`.
fn perf(stacks: &[(&str, u32)]) -> Profile {
    let mut text = String::new();
    for (at, (stack, cost)) in stacks.iter().enumerate() {
        text += &format!("w 1 1.{at:03}: {cost} cycles:\n");
        for frame in stack.split(';').rev() {
            let (name, module) = frame.split_once('@').unwrap();
            text += &format!("\t1 {name}+0x1 ({module})\n");
        }
        text.push('\n');
    }
    read(&text)
}

fn twelve(run: impl Fn(u32) -> Profile) -> Vec<Profile> {
    (0..12).map(run).collect()
}

fn explained(base: &[Profile], experiment: &[Profile]) -> Explanation {
    let options = ExplainOptions {
        paired: true,
        ..ExplainOptions::default()
    };
    explain(base, experiment, &options).unwrap()
}

/// Additions of the compiler, the package manager and the bundler are not part of names and paths.
#[test]
fn names_that_builds_make_different_are_the_same() {
    let folded = |stack: &str| read(&format!("main;{stack} 100\nmain 900\n"));
    let pairs = [
        ("parse", "parse.cold"),
        ("parse.part.0", "parse.constprop.3.isra.0"),
        (
            "_ZN5words5lexer4next17h0123456789abcdefE.llvm.123456789",
            "_ZN5words5lexer4next17hfedcba9876543210E",
        ),
        (
            "words::lexer::next::h0123456789abcdef",
            "words::lexer::next::hfedcba9876543210",
        ),
        (
            "_ZN3foo3barEi",
            "foo::bar(int) [clone .isra.0] [clone .cold]",
        ),
        ("memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.33"),
        (
            "next (/r/registry/src/i-1/memchr-2.7.4/src/lib.rs:3)",
            "next (/r/registry/src/i-1/memchr-2.7.5/src/lib.rs:9)",
        ),
        (
            "f (https://example.com/js/app.3f2a9c1b.js?v=1:4)",
            "f (https://example.com/js/app.9b1c2f3a.js?v=2#x:4)",
        ),
        (
            "f (https://a.example/assets/index-DqLmxyzA.js:4)",
            "f (https://b.example/assets/index-C8_xQ-1z.js:4)",
        ),
        (
            "f (/v/lib/python3.11/site-packages/numpy/a.py:3)",
            "f (/w/lib/python3.12/site-packages/numpy/a.py:7)",
        ),
    ];
    for (before, after) in pairs {
        let found = explain(
            &[folded(before)],
            &[folded(after)],
            &ExplainOptions::default(),
        )
        .unwrap();
        assert_eq!(
            found.functions.len(),
            2,
            "{before} {after}: {:#?}",
            found.functions
        );
        assert!(
            found
                .functions
                .iter()
                .all(|change| change.own.difference == 0.0)
        );
    }
}

#[test]
fn functions_of_one_name_are_told_apart() {
    // In two modules, and without symbols: one of each module.
    let run = |more: u32| {
        move |run: u32| {
            perf(&[
                ("main@/app/w;hash@/lib/liba.so.1", 500 + run),
                ("main@/app/w;hash@/lib/libb.so.1", 500 + more + run % 5),
                ("main@/app/w;[unknown]@/lib/libc.so.6", 300 + run % 3),
                ("main@/app/w;[unknown]@/lib/libd-1.2.so", 300 + run % 4),
            ])
        }
    };
    let explanation = explained(&twelve(run(0)), &twelve(run(100)));
    let certain: Vec<_> = explanation
        .certain()
        .map(|change| (&*change.function.name, change.function.module.as_deref()))
        .collect();
    assert_eq!(certain, [("hash", Some("libb.so"))]);
    let nameless = explanation
        .functions
        .iter()
        .filter(|change| change.function.name == "[no symbols]");
    assert_eq!(nameless.count(), 2);
    // In two files of one name.
    let run = |more: u32| {
        move |run: u32| {
            let (a, b) = (500 + run, 500 + more + run % 5);
            read(&format!(
                "main;new (/w/src/a/mod.rs:3) {a}\nmain;new (/w/src/b/mod.rs:3) {b}\n"
            ))
        }
    };
    let explanation = explained(&twelve(run(0)), &twelve(run(100)));
    let certain: Vec<_> = explanation
        .certain()
        .map(|change| change.function.file.as_deref())
        .collect();
    assert_eq!(certain, [Some("/w/src/b/mod.rs")]);
}

#[test]
fn recursion_counts_once() {
    // Of itself, and of two functions.
    let explanation = names(
        &[
            ("main;walk", 1000, 1300),
            ("main;walk;walk", 1000, 1300),
            ("main;walk;walk;walk", 1000, 1300),
            ("main;even;odd;even", 500, 500),
            ("main;even;odd", 500, 500),
        ],
        &["walk"],
    );
    let total = |name: &str| {
        let mut functions = explanation.functions.iter();
        functions
            .find(|change| change.function.name == name)
            .unwrap()
            .total
    };
    assert!(
        (total("walk").difference - 900.0).abs() < 20.0,
        "{:?}",
        total("walk")
    );
    assert!(
        (total("even").base - 1000.0).abs() < 20.0,
        "{:?}",
        total("even")
    );
    let path: Vec<_> = explanation.path.iter().map(|step| &*step.name).collect();
    assert_eq!(path, ["main", "walk", "walk"]);
    // One of two that call each other.
    names(
        &[
            ("main;even;odd;even", 500, 500),
            ("main;even;odd", 500, 700),
            ("main", 2000, 2000),
        ],
        &["odd"],
    );
}

/// The function that moved most is first, even if others are new, gone or renamed.
#[test]
fn the_right_function_is_first() {
    // Renamed, and another one is slower.
    let explanation = names(
        &[
            ("main;old", 2000, 0),
            ("main;fresh", 0, 2000),
            ("main;slow", 1000, 1300),
            ("main;k", 900, 900),
        ],
        &["slow", "fresh", "old"],
    );
    assert_eq!(explanation.renamed.len(), 1);
    // Renamed and slower.
    let explanation = names(
        &[
            ("main;old", 2000, 0),
            ("main;fresh", 0, 2600),
            ("main;k", 900, 900),
        ],
        &["fresh", "old"],
    );
    assert_eq!(explanation.renamed.len(), 1);
    // New, and called by a function that did not change.
    let explanation = names(
        &[
            ("main;k", 900, 900),
            ("main;k;extra", 0, 400),
            ("main", 500, 500),
        ],
        &["extra"],
    );
    assert_eq!(
        (
            verdict(&explanation, "extra"),
            explanation.functions[0].called_by.as_deref()
        ),
        (&Verdict::New, Some("k"))
    );
    let explanation = names(
        &[
            ("main;k", 900, 900),
            ("main;k;extra", 400, 0),
            ("main", 500, 500),
        ],
        &["extra"],
    );
    assert_eq!(verdict(&explanation, "extra"), &Verdict::Gone);
    // Nothing in common.
    let explanation = names(&[("a;b", 900, 0), ("c;d", 0, 200)], &["b", "d"]);
    assert!(explanation.renamed.is_empty());
}

#[test]
fn values_without_scatter_and_outliers() {
    let same = |cost: u32| twelve(move |_| read(&format!("main;f {cost}\nmain;g 500\n")));
    let explanation = explained(&same(100), &same(150));
    let f = &explanation.functions[0];
    assert_eq!(
        (&*f.function.name, &f.verdict, f.own.estimate),
        ("f", &Verdict::Slower, Some(50.0))
    );
    assert_eq!(
        f.own.interval.map(|interval| (interval.low, interval.high)),
        Some((50.0, 50.0))
    );
    assert_eq!(explained(&same(100), &same(100)).certain().count(), 0);
    // One run of twelve is ten times as long on one side.
    let base = twelve(|run| {
        read(&format!(
            "main;f {}\nmain;g 500\n",
            if run == 3 { 3000 } else { 100 + run }
        ))
    });
    let experiment = twelve(|run| read(&format!("main;f {}\nmain;g 500\n", 101 + 7 * run % 12)));
    assert_eq!(explained(&base, &experiment).certain().count(), 0);
    // One run on a side gives no p-value, but still an order.
    let one = explain(&same(100)[..1], &same(150), &ExplainOptions::default()).unwrap();
    assert!(!one.tested && one.functions[0].function.name == "f" && one.certain().count() == 0);
}
