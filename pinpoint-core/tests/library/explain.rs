//! Explanations of made-up profiles, whose answer is known.

use pinpoint_core::profile::{
    Design, ExplainError, ExplainOptions, Explanation, FunctionChange, Profile, Verdict,
    compare_stacks, explain,
};

pub(crate) fn read(text: &str) -> Profile {
    Profile::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Numbers that look random, the same for each seed.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 32)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal, with mean 0 and deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// A run of a program whose functions take these times, with noise: of each function, and
/// of the machine as a whole.
fn run(functions: &[(&str, f64)], noise: &mut Noise) -> Profile {
    let machine = 1.0 + 0.02 * noise.normal();
    let mut text = String::new();
    for (stack, time) in functions {
        let time = time * machine * (1.0 + 0.05 * noise.normal());
        text += &format!("{stack} {:.3}\n", time.max(0.0));
    }
    read(&text)
}

fn runs(count: usize, functions: &[(&str, f64)], noise: &mut Noise) -> Vec<Profile> {
    (0..count).map(|_| run(functions, noise)).collect()
}

fn paired() -> ExplainOptions {
    ExplainOptions {
        paired: true,
        ..ExplainOptions::default()
    }
}

pub(crate) fn find<'a>(explanation: &'a Explanation, name: &str) -> &'a FunctionChange {
    let named = |change: &&FunctionChange| change.function.name == name;
    explanation
        .functions
        .iter()
        .find(named)
        .expect("it is tested")
}

fn certain(explanation: &Explanation) -> Vec<&str> {
    explanation
        .certain()
        .map(|change| change.function.name.as_str())
        .collect()
}

const PROGRAM: [(&str, f64); 5] = [
    ("main", 5.0),
    ("main;parse", 60.0),
    ("main;parse;next", 100.0),
    ("main;print", 80.0),
    ("main;print;write", 40.0),
];

#[test]
fn a_slower_function_is_named_with_its_path() {
    let mut slower = PROGRAM;
    slower[2].1 = 130.0;
    let mut noise = Noise(1);
    let (base, experiment) = (
        runs(10, &PROGRAM, &mut noise),
        runs(10, &slower, &mut noise),
    );
    for options in [ExplainOptions::default(), paired()] {
        let explanation = explain(&base, &experiment, &options).unwrap();
        assert_eq!(certain(&explanation), ["next"]);
        let next = find(&explanation, "next");
        assert_eq!(next.verdict, Verdict::Slower);
        assert_eq!(next.called_by.as_deref(), Some("parse"));
        let interval = next.own.interval.unwrap();
        assert!(interval.low < 30.0 && 30.0 < interval.high && interval.low > 20.0);
        let path: Vec<_> = explanation
            .path
            .iter()
            .map(|step| step.name.as_str())
            .collect();
        assert_eq!(path, ["main", "parse", "next"]);
    }
}

/// The same build twice, with functions of any size: at most one comparison of twenty
/// names one, and one a path.
#[test]
fn the_same_build_twice_names_nothing() {
    let names: Vec<String> = (0..30).map(|f| format!("main;g{};f{f}", f % 4)).collect();
    let functions: Vec<(&str, f64)> = names
        .iter()
        .zip(1..)
        .map(|(name, k)| (name.as_str(), 1000.0 / f64::from(k)))
        .collect();
    let (mut named, mut on_paths) = (0, 0);
    for seed in 0..1000 {
        let mut noise = Noise(seed);
        let count = 6 + (seed % 10) as usize;
        let (base, experiment) = (
            runs(count, &functions, &mut noise),
            runs(count, &functions, &mut noise),
        );
        let options = if seed % 2 == 0 {
            paired()
        } else {
            ExplainOptions::default()
        };
        let explanation = explain(&base, &experiment, &options).unwrap();
        assert!(explanation.path.is_empty() || !certain(&explanation).is_empty());
        named += usize::from(!certain(&explanation).is_empty());
        let paths = compare_stacks(&base, &experiment, &options).unwrap().paths;
        on_paths += usize::from(paths.iter().any(|path| path.is_certain));
    }
    assert!(named <= 50, "{named} of 1,000");
    assert!(on_paths <= 50, "{on_paths} of 1,000");
}

#[test]
fn new_and_gone_functions_and_what_may_be_renamed() {
    let mut noise = Noise(2);
    let base = runs(
        8,
        &[("main", 10.0), ("main;old", 50.0), ("main;old;leaf", 9.0)],
        &mut noise,
    );
    let now = [
        ("main", 10.0),
        ("main;fresh", 51.0),
        ("main;fresh;leaf", 9.0),
        ("main;extra", 200.0),
    ];
    let experiment = runs(8, &now, &mut noise);
    let explanation = explain(&base, &experiment, &paired()).unwrap();
    assert_eq!(find(&explanation, "extra").verdict, Verdict::New);
    assert_eq!(find(&explanation, "old").verdict, Verdict::Gone);
    assert_eq!(explanation.renamed.len(), 1);
    let guess = &explanation.renamed[0];
    assert_eq!(
        (guess.base.as_str(), guess.experiment.as_str()),
        ("old", "fresh")
    );

    let same = ExplainOptions {
        same: vec![("old".into(), "fresh".into())],
        ..paired()
    };
    let explanation = explain(&base, &experiment, &same).unwrap();
    assert_eq!(certain(&explanation), ["extra"]);
    assert!(explanation.renamed.is_empty());
    let wrong = ExplainOptions {
        same: vec![("fresh".into(), "old".into())],
        ..paired()
    };
    let error = explain(&base, &experiment, &wrong).expect_err("the base has no such function");
    assert!(
        error
            .to_string()
            .contains("no function of the base is called \"fresh\""),
        "{error}"
    );
}

#[test]
fn inlining_is_moved_and_no_change() {
    let mut noise = Noise(3);
    let base = runs(
        10,
        &[("main", 50.0), ("main;a", 100.0), ("main;a;b", 60.0)],
        &mut noise,
    );
    let experiment = runs(10, &[("main", 50.0), ("main;a", 160.0)], &mut noise);
    let explanation = explain(&base, &experiment, &ExplainOptions::default()).unwrap();
    assert_eq!(certain(&explanation), [""; 0]);
    let Verdict::Moved { with } = find(&explanation, "a").verdict else {
        panic!("{explanation:?}");
    };
    assert_eq!(explanation.functions[with].function.name, "b");
}

/// A profiler with a hundred samples a second: costs are multiples of 10 ms, and each run shows
/// some of many functions of the runtime, once.
#[test]
fn functions_that_few_runs_show_hide_no_other() {
    let mut noise = Noise(7);
    let mut side = |hash: f64| -> Vec<Profile> {
        let mut run = || {
            let mut text = String::new();
            for (name, count) in [("parse", 60.0), ("hash", hash), ("print", 30.0)] {
                let count = (count + 2.0 * noise.normal()).round();
                text += &format!("main;{name} {}\n", 10.0 * count);
            }
            for _ in 0..15 {
                text += &format!("main;runtime_{} 10\n", (40.0 * noise.uniform()) as u32);
            }
            read(&text)
        };
        (0..10).map(|_| run()).collect()
    };
    let (base, experiment) = (side(40.0), side(55.0));
    let explanation = explain(&base, &experiment, &paired()).unwrap();
    assert!(explanation.functions.len() > 30);
    assert_eq!(certain(&explanation), ["hash"]);
    let runtime = (explanation.functions.iter())
        .filter(|change| change.function.name.starts_with("runtime_"));
    let left_out = runtime.filter(|change| change.p.is_some() && change.adjusted_p.is_none());
    assert!(left_out.count() > 20);
    let detectable = explanation.detectable.unwrap();
    assert_eq!(detectable.functions, 3);
    assert!(detectable.smallest.unwrap() < 150.0, "{detectable:?}");
    assert_eq!(certain(&explain(&base, &base, &paired()).unwrap()), [""; 0]);
}

/// A function under another name, and one next to it that got slower by the first one's cost.
#[test]
fn a_renamed_function_is_no_callee_that_was_inlined() {
    let mut noise = Noise(9);
    let base = [
        ("main;parse", 1000.0),
        ("main;hash", 300.0),
        ("main;print", 500.0),
    ];
    let experiment = [
        ("main;parse", 1290.0),
        ("main;digest", 302.0),
        ("main;print", 500.0),
    ];
    let (base, experiment) = (
        runs(10, &base, &mut noise),
        runs(10, &experiment, &mut noise),
    );
    let explanation = explain(&base, &experiment, &paired()).unwrap();
    assert_eq!(certain(&explanation), ["parse", "digest", "hash"]);
    assert_eq!(find(&explanation, "parse").verdict, Verdict::Slower);
    let steps: Vec<_> = explanation.path.iter().map(|step| &*step.name).collect();
    assert_eq!(steps, ["main", "parse"]);
}

#[test]
fn the_path_goes_through_a_renamed_function_that_only_calls() {
    let mut noise = Noise(10);
    let program = |run: &str, parse: f64| {
        let stack = |leaf: &str| format!("main;{run};{leaf}");
        [
            (stack("parse"), parse),
            (stack("print"), 2500.0),
            (stack("write"), 2500.0),
        ]
    };
    let mut side = |run: &str, parse: f64| {
        let program = program(run, parse);
        let program: Vec<_> = program
            .iter()
            .map(|(stack, time)| (&**stack, *time))
            .collect();
        runs(12, &program, &mut noise)
    };
    let (base, experiment) = (side("run_a", 1000.0), side("run_b", 2300.0));
    let explanation = explain(&base, &experiment, &paired()).unwrap();
    assert_eq!(certain(&explanation), ["parse"]);
    let [guess] = &explanation.renamed[..] else {
        panic!("{:?}", explanation.renamed);
    };
    assert_eq!((&*guess.base, &*guess.experiment), ("run_a", "run_b"));
    let steps: Vec<_> = explanation.path.iter().map(|step| &*step.name).collect();
    assert_eq!(steps, ["main", "run_b", "parse"]);
    let whole = explanation.whole.difference;
    assert!(
        explanation
            .path
            .iter()
            .all(|step| step.difference < 1.5 * whole)
    );
}

/// With few values and ties the normal approximation gives less than any arrangement can.
#[test]
fn ties_make_no_p_value_that_there_cannot_be() {
    let side = |parse: [u32; 4], collector: [u32; 4]| -> Vec<Profile> {
        let run = |(parse, collector)| read(&format!("main;parse {parse}\nmain;gc {collector}\n"));
        parse.into_iter().zip(collector).map(run).collect()
    };
    let base = side([1000, 1003, 1001, 1007], [200, 202, 200, 200]);
    let experiment = side([1303, 1311, 1300, 1305], [232, 232, 233, 233]);
    let explanation = explain(&base, &experiment, &ExplainOptions::default()).unwrap();
    assert_eq!(certain(&explanation), ["parse", "gc"]);
    for change in explanation.certain() {
        assert!((change.p.unwrap() - 2.0 / 70.0).abs() < 1e-12, "{change:?}");
    }
    // The arrangements of equal values say nothing, and they do not count.
    let equal = side([1303, 1311, 1300, 1305], [200, 202, 200, 200]);
    let explanation = explain(&base, &equal, &ExplainOptions::default()).unwrap();
    assert_eq!(certain(&explanation), ["parse"]);
}

/// Few runs against many, all alike: the normal approximation is far off there.
#[test]
fn few_runs_against_many_name_nothing_in_equal_builds() {
    let mut noise = Noise(11);
    let mut side = |runs: usize| -> Vec<Profile> {
        let run = |_| {
            let mut text = "main 1000\n".to_owned();
            for function in 0..60 {
                // About one sample, as many as a listed function has.
                let count = (noise.uniform() * 1.3 * (1.0 + noise.uniform())) as u32;
                text += &format!("main;f{function} {count}\n");
            }
            read(&text)
        };
        (0..runs).map(run).collect()
    };
    let named = (0..100).filter(|_| {
        let (base, experiment) = (side(13), side(3));
        let explanation = explain(&base, &experiment, &ExplainOptions::default()).unwrap();
        explanation.certain().next().is_some()
    });
    let named = named.count();
    assert!(named <= 8, "{named}");

    // The smallest of p-values: one arrangement in 560, on each side.
    let run = |own: u32| read(&format!("main 1000\nmain;new {own}\n"));
    let base = vec![run(0); 13];
    let experiment: Vec<_> = [30, 40, 50].map(run).into();
    let explanation = explain(&base, &experiment, &ExplainOptions::default()).unwrap();
    let p = find(&explanation, "new").p.unwrap();
    assert!(p >= 1.0 / 560.0, "{p}");
}

/// One bad run turns the mean, and most runs say the opposite: no verdict fits both.
#[test]
fn an_outlier_does_not_turn_a_verdict() {
    let run = |own: u32| read(&format!("main;f {own}\nmain;g 1000\n"));
    let base: Vec<_> = [10, 11, 12, 13, 14, 15, 16, 400].map(run).into();
    let experiment: Vec<_> = [30, 31, 32, 33, 34, 35, 36, 37].map(run).into();
    let explanation = explain(&base, &experiment, &ExplainOptions::default()).unwrap();
    let f = find(&explanation, "f");
    assert!(f.own.difference < 0.0 && f.own.estimate.unwrap() > 0.0);
    assert_eq!(f.verdict, Verdict::Uncertain, "{f:#?}");
}

/// Inlined into its caller, and slower there: the rest is the whole regression.
#[test]
fn what_is_inlined_and_slower_is_a_change() {
    for options in [ExplainOptions::default(), paired()] {
        let run = |lex: u32, parse: u32| {
            read(&format!(
                "main;parse;lex {lex}\nmain;parse {parse}\nmain 10\n"
            ))
        };
        let base: Vec<_> = (0..8).map(|i| run(1000 + i, 100 + i)).collect();
        let experiment: Vec<_> = (0..8).map(|i| run(0, 1290 + 2 * i)).collect();
        let explanation = explain(&base, &experiment, &options).unwrap();
        assert_eq!(find(&explanation, "parse").verdict, Verdict::Slower);
        let Verdict::Moved { with } = find(&explanation, "lex").verdict else {
            panic!("{explanation:?}");
        };
        assert_eq!(explanation.functions[with].function.name, "parse");
        // Without more work, it is moved.
        let experiment: Vec<_> = (0..8).map(|i| run(0, 1100 + 2 * i)).collect();
        let explanation = explain(&base, &experiment, &options).unwrap();
        assert_eq!(certain(&explanation), [""; 0]);
    }
}

#[test]
fn names_that_were_swapped_are_settled_together() {
    let run = |a: u32, b: u32| read(&format!("main;a {a}\nmain;b {b}\nmain;k 50\n"));
    let base: Vec<_> = (0..6).map(|i| run(100 + i, 200 + i)).collect();
    let experiment: Vec<_> = (0..6).map(|i| run(200 + i, 100 + i)).collect();
    let name = |old: &str, new: &str| (old.to_owned(), new.to_owned());
    let same = vec![name("a", "b"), name("b", "a")];
    let options = ExplainOptions {
        same,
        ..ExplainOptions::default()
    };
    let explanation = explain(&base, &experiment, &options).unwrap();
    assert_eq!(certain(&explanation), [""; 0]);
    assert_eq!(explanation.whole.difference, 0.0);
    assert_eq!(find(&explanation, "a").own.difference, 0.0);
}

/// Two functions may have become one, but not one two.
#[test]
fn a_function_has_one_new_name() {
    let base: Vec<_> = (0..6)
        .map(|i| read(&format!("main;a {}\nmain;b 200\nmain;k 50\n", 100 + i)))
        .collect();
    let experiment: Vec<_> = (0..6)
        .map(|i| read(&format!("main;c {}\nmain;k 50\n", 300 + i)))
        .collect();
    let explained = |same: &[(&str, &str)]| {
        let name = |(old, new): &(&str, &str)| ((*old).to_owned(), (*new).to_owned());
        let same = same.iter().map(name).collect();
        let options = ExplainOptions {
            same,
            ..ExplainOptions::default()
        };
        explain(&base, &experiment, &options)
    };
    let merged = explained(&[("a", "c"), ("b", "c"), ("a", "c")]).unwrap();
    assert_eq!(certain(&merged), [""; 0]);
    assert_eq!(find(&merged, "c").own.difference, 0.0);
    let error = explained(&[("a", "c"), ("a", "k")]).expect_err("two names");
    assert_eq!(
        error.to_string(),
        "function \"a\" of the base cannot be both \"c\" and \"k\" of the experiment; give it one new name"
    );
}

/// Without a difference there is no small p-value, and nothing to adjust, except in large groups,
/// whose arrangements are not counted.
#[test]
fn ties_are_not_among_the_many() {
    let runs = |count: u32, more: u32| -> Vec<Profile> {
        let run = |i| read(&format!("main;f 100\nmain;g {}\n", 100 + more + i));
        (0..count).map(run).collect()
    };
    let p_values = |count: u32, options: &ExplainOptions| {
        let explanation = explain(&runs(count, 0), &runs(count, 50), options).unwrap();
        let found = find(&explanation, "f");
        assert!(find(&explanation, "g").adjusted_p.is_some());
        (found.p, found.adjusted_p)
    };
    let groups = ExplainOptions::default();
    assert_eq!(p_values(8, &paired()), (Some(1.0), None));
    assert_eq!(p_values(40, &paired()), (Some(1.0), None));
    assert_eq!(p_values(12, &groups), (Some(1.0), None));
    assert_eq!(p_values(13, &groups), (Some(1.0), Some(1.0)));
}

/// One function gains what another loses, and nothing is above both.
#[test]
fn no_path_leads_to_no_difference() {
    let run = |a: u32, b: u32| read(&format!("a {a}\nb {b}\n"));
    let base: Vec<_> = (0..6).map(|i| run(100 + i, 300 + i)).collect();
    let experiment: Vec<_> = (0..6).map(|i| run(200 + i, 200 + i)).collect();
    let explanation = explain(&base, &experiment, &ExplainOptions::default()).unwrap();
    assert_eq!(certain(&explanation).len(), 2);
    assert_eq!(explanation.path, []);
}

/// Each function that only one side has is compared with each of the other, among those that cost
/// most.
#[test]
fn deep_stacks_of_other_names_are_compared_in_time() {
    let run = |side: &str| {
        let stack: Vec<_> = (0..50_000).map(|frame| format!("{side}{frame}")).collect();
        read(&format!("{} 100\n", stack.join(";")))
    };
    let explanation = explain(&[run("a")], &[run("b")], &ExplainOptions::default()).unwrap();
    assert_eq!(explanation.functions.len(), 2);
}

#[test]
fn ties_leave_an_interval() {
    let side = |values: [u32; 8]| -> Vec<Profile> {
        values
            .iter()
            .map(|value| read(&format!("main;parse {value}\n")))
            .collect()
    };
    let base = side([1000; 8]);
    let experiment = side([1295, 1301, 1295, 1310, 1295, 1304, 1306, 1299]);
    let explanation = explain(&base, &experiment, &paired()).unwrap();
    let own = find(&explanation, "parse").own;
    let interval = own.interval.unwrap();
    assert_eq!(
        (own.estimate, interval.low, interval.high),
        (Some(300.5), 295.0, 306.0)
    );
}

#[test]
fn interrupts_below_a_function_do_not_hide_that_it_was_renamed() {
    let mut noise = Noise(8);
    let base = [("main", 10.0), ("main;old", 50.0), ("main;old;irq", 0.4)];
    let experiment = [("main", 10.0), ("main;fresh", 70.0), ("main;irq", 0.4)];
    let explanation = explain(
        &runs(8, &base, &mut noise),
        &runs(8, &experiment, &mut noise),
        &paired(),
    )
    .unwrap();
    let [guess] = &explanation.renamed[..] else {
        panic!("{:?}", explanation.renamed);
    };
    assert_eq!((&*guess.base, &*guess.experiment), ("old", "fresh"));
    assert!(guess.alike > 0.95, "{guess:?}");
}

/// Stacks by frame pointers leave out the caller of a function that calls nothing.
#[test]
fn what_is_inlined_into_a_caller_that_was_not_seen_is_moved() {
    let mut noise = Noise(4);
    let base = [
        ("start;main", 20.0),
        ("start;hash", 60.0),
        ("start;print", 50.0),
    ];
    let experiment = [("start;main", 80.0), ("start;print", 90.0)];
    let (base, experiment) = (
        runs(10, &base, &mut noise),
        runs(10, &experiment, &mut noise),
    );
    let explanation = explain(&base, &experiment, &ExplainOptions::default()).unwrap();
    assert_eq!(certain(&explanation), ["print"]);
    // Functions of both sides may be faster and slower by as much.
    let faster = [("start;main", 80.0), ("start;print", 20.0)];
    let slower = [("start;main", 20.0), ("start;print", 80.0)];
    let (base, experiment) = (runs(10, &faster, &mut noise), runs(10, &slower, &mut noise));
    let explanation = explain(&base, &experiment, &ExplainOptions::default()).unwrap();
    assert_eq!(certain(&explanation).len(), 2);
}

fn callgrind(own: u32, calls: u32) -> Profile {
    let inside = own * calls;
    read(&format!(
        "events: Ir\nfn=main\n1 1000\ncfn=work\ncalls={calls} 5\n1 {inside}\nfn=work\n5 {inside}\ntotals: {}\n",
        1000 + inside
    ))
}

#[test]
fn counted_calls_tell_more_often_from_slower() {
    let base = [callgrind(10, 100)];
    let often = explain(&base, &[callgrind(10, 150)], &ExplainOptions::default()).unwrap();
    assert!(often.exact && often.detectable.is_none());
    let work = find(&often, "work");
    assert_eq!(work.verdict, Verdict::CalledMoreOften);
    assert_eq!(work.calls.unwrap().difference, 50.0);
    assert_eq!(work.total.difference, 500.0);
    let path: Vec<_> = often.path.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(path, ["main", "work"]);
    let slower = explain(&base, &[callgrind(15, 100)], &ExplainOptions::default()).unwrap();
    assert_eq!(find(&slower, "work").verdict, Verdict::Slower);
    let equal = explain(&base, &[callgrind(10, 100)], &ExplainOptions::default()).unwrap();
    assert_eq!(certain(&equal), [""; 0]);
}

#[test]
fn too_few_runs_give_no_p_and_say_how_many_would() {
    let mut noise = Noise(4);
    let (base, experiment) = (runs(3, &PROGRAM, &mut noise), runs(3, &PROGRAM, &mut noise));
    let explanation = explain(&base, &experiment, &paired()).unwrap();
    assert!(!explanation.tested && explanation.design == Design::Pairs);
    assert!(
        explanation
            .functions
            .iter()
            .all(|change| change.p.is_none())
    );
    let detectable = explanation.detectable.unwrap();
    // 2 of 2⁷ cases, times 5 functions, is less than 0.05; 2 of 2⁶ is more.
    assert_eq!((detectable.smallest, detectable.runs_needed), (None, 8));
    let (base, experiment) = (
        runs(12, &PROGRAM, &mut noise),
        runs(12, &PROGRAM, &mut noise),
    );
    let explanation = explain(&base, &experiment, &paired()).unwrap();
    let detectable = explanation.detectable.unwrap();
    assert_eq!(detectable.runs_needed, 48);
    // The noisiest takes 100 with 5 %, twice: s = √2·5/√12.
    assert!(
        (4.0..15.0).contains(&detectable.smallest.unwrap()),
        "{detectable:?}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let (samples, counted) = ([read("a 1\n")], [callgrind(1, 1)]);
    let options = ExplainOptions::default();
    let refused = explain(&samples, &counted, &options).expect_err("two units");
    assert!(matches!(
        refused,
        ExplainError::UnitsDiffer {
            side: "experiment",
            number: 1,
            ..
        }
    ));
    assert!(matches!(
        explain(&[], &counted, &options),
        Err(ExplainError::NoProfiles("base"))
    ));
    let two = [read("a 1\n"), read("a 1\n")];
    assert!(matches!(
        explain(&samples, &two, &paired()),
        Err(ExplainError::NotPairs { .. })
    ));
}

#[test]
fn idle_time_is_not_compared() {
    let idle = |idle: f64| {
        let frame = |name: &str| format!("{{\"functionName\": \"{name}\", \"url\": \"\"}}");
        read(&format!(
            "{{\"nodes\": [{{\"id\": 1, \"callFrame\": {}, \"children\": [2, 3]}}, {{\"id\": 2, \"callFrame\": {}}}, {{\"id\": 3, \"callFrame\": {}}}], \"startTime\": 0, \"samples\": [2, 3, 1], \"timeDeltas\": [0, 50, {idle}]}}",
            frame("(root)"),
            frame("f"),
            frame("(idle)")
        ))
    };
    let explanation = explain(&[idle(10.0)], &[idle(900.0)], &ExplainOptions::default()).unwrap();
    assert_eq!(
        (explanation.whole.base, explanation.whole.difference),
        (50e3, 0.0)
    );
}
