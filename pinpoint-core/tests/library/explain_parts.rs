//! Changes of threads and categories in made-up profiles.

use pinpoint_core::profile::{ExplainOptions, PartChange, Profile, explain};

use crate::explain::{find, read};

/// A run of two threads of a pool and another one, in `perf script`'s text, with these
/// nanoseconds: of the pool's threads, of the other, of it in the kernel, and in which
/// nothing ran.
fn threads(run: u32, pool: [u32; 2], other: u32, kernel: u32, idle: u32) -> Profile {
    let number = 100 * run;
    let mut text = String::new();
    let mut sample = |thread: String, time: u32, frames: &str| {
        text += &format!("{thread} {run}.5: {time} cpu-clock:\n{frames}\n");
    };
    sample(
        format!("pool-{number} {}", number + 1),
        pool[0],
        "\t1 hash+0x1 (/app/words)\n",
    );
    sample(
        format!("pool-{} {}", number + 2, number + 3),
        pool[1],
        "\t1 hash+0x1 (/app/words)\n",
    );
    sample(
        format!("main {number}"),
        other,
        "\t1 gc_collect_main+0x1 (/usr/bin/python3.11)\n",
    );
    sample(
        format!("main {number}"),
        kernel,
        "\t1 clear_page+0x1 ([kernel.kallsyms])\n\t1 main+0x1 (/app/words)\n",
    );
    sample(
        format!("main {number}"),
        idle,
        "\t1 (idle)+0x1 (/app/words)\n",
    );
    read(&text)
}

fn parts(parts: &[PartChange]) -> Vec<(&str, f64, bool)> {
    let row = |part| {
        let PartChange {
            name,
            own,
            is_certain,
            ..
        }: &PartChange = part;
        (name.as_str(), own.difference, *is_certain)
    };
    parts.iter().map(row).collect()
}

#[test]
fn threads_and_categories_add_up() {
    let side = |pool: u32, first: u32| -> Vec<Profile> {
        (0..8)
            .map(|run| {
                threads(
                    first + run,
                    [pool + run, pool + 2 * run],
                    500 + run % 3,
                    70 + run % 2,
                    900 + 100 * run,
                )
            })
            .collect()
    };
    let (base, experiment) = (side(1_000, 1), side(1_300, 11));
    let explanation = explain(&base, &experiment, &ExplainOptions::default()).unwrap();
    assert_eq!(
        parts(&explanation.threads),
        [("pool", 600.0, true), ("main", 0.0, false)]
    );
    assert_eq!(
        parts(&explanation.categories),
        [
            ("native", 600.0, true),
            ("gc", 0.0, false),
            ("idle", 0.0, false),
            ("kernel", 0.0, false)
        ]
    );
    let whole = explanation.whole.difference;
    let sum: f64 = explanation
        .threads
        .iter()
        .map(|part| part.own.difference)
        .sum();
    assert!((sum - whole).abs() <= 1e-9 * explanation.whole.base);
    let busy = explanation
        .categories
        .iter()
        .filter(|part| part.name != "idle");
    let sum: f64 = busy.map(|part| part.own.difference).sum();
    assert!((sum - whole).abs() <= 1e-9 * explanation.whole.base);
    assert!(
        explanation
            .threads
            .iter()
            .all(|part| part.adjusted_p.is_some())
    );
}

#[test]
fn where_no_thread_has_a_name_none_is_told_apart() {
    let run = || [read("main;parse 30\nmain;print 10\n")];
    let explanation = explain(&run(), &run(), &ExplainOptions::default()).unwrap();
    assert!(explanation.threads.is_empty());
    assert_eq!(parts(&explanation.categories), [("native", 0.0, false)]);
}

#[test]
fn all_threads_count_however_many_there_are() {
    // `a b c` and so on: names without numbers, which would not count.
    let name = |thread: usize| -> String {
        let digits = format!("{thread:03}");
        digits
            .bytes()
            .map(|digit| char::from(digit - b'0' + b'a'))
            .collect()
    };
    let run = |more: usize| {
        let thread = |thread: usize| {
            format!(
                "{} 1 1.0: {} cpu-clock:\n\t1 f+0x1 (/w)\n\n",
                name(thread),
                10 + thread + more
            )
        };
        read(&(0..250).map(thread).collect::<String>())
    };
    let explanation = explain(&[run(0)], &[run(2)], &ExplainOptions::default()).unwrap();
    assert_eq!(explanation.threads.len(), 101);
    let others = explanation
        .threads
        .iter()
        .find(|part| part.name == "(other threads)");
    assert_eq!(others.unwrap().own.difference, 300.0);
    let sum: f64 = explanation
        .threads
        .iter()
        .map(|part| part.own.difference)
        .sum();
    assert_eq!((sum, explanation.whole.difference), (500.0, 500.0));
}

/// A page whose script asks for a layout, with a script of another site, while a sample is
/// taken every 10 ms.
fn page(third_party: u32) -> Profile {
    let node = |id: u32, name: &str, url: &str| {
        format!(
            r#"{{"id": {id}, "parent": 1, "callFrame": {{"functionName": "{name}", "scriptId": 1, "url": "{url}"}}}}"#
        )
    };
    let nodes = [
        r#"{"id": 1, "callFrame": {"functionName": "(root)", "scriptId": 0}}"#.to_owned(),
        node(2, "(program)", ""),
        node(3, "own", "https://www.example.com/a.js"),
        node(4, "tracker", "https://example.org/t.js"),
    ];
    let samples: Vec<u32> = [2, 3, 3]
        .into_iter()
        .chain((0..third_party).map(|_| 4))
        .collect();
    let deltas = vec![10_000; samples.len()];
    read(&format!(
        r#"{{"traceEvents": [
        {{"name": "TracingStartedInBrowser", "ph": "I", "cat": "x", "pid": 1, "tid": 1, "ts": 0, "args": {{"data": {{"frames": [
            {{"frame": "F", "url": "https://example.com/"}}, {{"frame": "G", "parent": "F", "url": "https://example.org/"}}]}}}}}},
        {{"name": "thread_name", "ph": "M", "cat": "x", "pid": 7, "tid": 7, "args": {{"name": "CrRendererMain"}}}},
        {{"name": "Paint", "ph": "X", "cat": "x", "pid": 7, "tid": 7, "ts": 5000, "dur": 10000}},
        {{"name": "FunctionCall", "ph": "X", "cat": "x", "pid": 7, "tid": 7, "ts": 16000, "dur": 90000}},
        {{"name": "Layout", "ph": "X", "cat": "x", "pid": 7, "tid": 7, "ts": 29000, "dur": 5000}},
        {{"name": "Layout", "ph": "X", "cat": "x", "pid": 7, "tid": 8, "ts": 0, "dur": 500000}},
        {{"name": "Profile", "ph": "P", "cat": "x", "pid": 7, "tid": 7, "id": "1", "ts": 0, "args": {{"data": {{"startTime": 0}}}}}},
        {{"name": "ProfileChunk", "ph": "P", "cat": "x", "pid": 7, "tid": 9, "id": "1", "ts": 1, "args": {{"data": {{
            "cpuProfile": {{"nodes": [{}], "samples": {samples:?}}}, "timeDeltas": {deltas:?}}}}}}}]}}"#,
        nodes.join(",")
    ))
}

#[test]
fn a_pages_time_is_what_the_browser_did() {
    let explanation = explain(&[page(2)], &[page(5)], &ExplainOptions::default()).unwrap();
    assert_eq!(
        parts(&explanation.categories),
        [
            ("third party", 30e6, false),
            ("rendering", 0.0, false),
            ("script", 0.0, false)
        ]
    );
    let before = |name: &str| {
        let part = explanation.categories.iter().find(|part| part.name == name);
        part.map(|part| part.own.base)
    };
    // One sample in a paint, one in a layout that a script asked for.
    assert_eq!(
        (before("rendering"), before("script")),
        (Some(20e6), Some(10e6))
    );
    assert_eq!(
        parts(&explanation.threads),
        [("CrRendererMain", 30e6, false)]
    );
    let owner = |name: &str| find(&explanation, name).function.owner.clone();
    assert_eq!(
        owner("tracker").map(|owner| owner.to_string()).as_deref(),
        Some("example.org")
    );
}
