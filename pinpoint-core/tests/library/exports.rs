//! Profiles that are written for other tools, and read again.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeMap;

use pinpoint_core::profile::{
    ExplainOptions, ExportError, ExportFormat, Exported, Profile, explain, export,
};

use crate::explain::{Noise, read as text};

fn read(content: &[u8]) -> Profile {
    Profile::read(content).unwrap_or_else(|error| panic!("{error}"))
}

fn again(side: &[Profile], format: ExportFormat) -> Profile {
    let written = export(side, side, Exported::Base, format);
    read(&written.unwrap_or_else(|error| panic!("{error}")))
}

/// The mean own and total cost of each function with its line, as both are compared.
fn costs(side: &[Profile]) -> BTreeMap<(String, Option<u32>), (f64, f64)> {
    let compared = explain(side, side, &ExplainOptions::default()).unwrap();
    let functions = compared.functions.iter();
    let row = |change: &pinpoint_core::profile::FunctionChange| {
        let function = &change.function;
        (
            (function.name.clone(), function.line),
            (change.own.base, change.total.base),
        )
    };
    functions.map(row).collect()
}

/// Most stacks of a sampler are in one run of many.
fn sampled(runs: u64) -> Vec<Profile> {
    let run = |seed| {
        let mut noise = Noise::from_seed(seed);
        let mut text = "main 10\n".to_owned();
        for _ in 0..60 {
            text += &format!(
                "main;g{};f{} 1\n",
                (noise.uniform() * 9.0) as u32,
                (noise.uniform() * 90.0) as u32
            );
        }
        read(text.as_bytes())
    };
    (0..runs).map(run).collect()
}

#[test]
fn means_of_less_than_one_are_not_lost() {
    let side = sampled(14);
    let expected = costs(&side);
    for format in [ExportFormat::Folded, ExportFormat::Speedscope] {
        let found = costs(&[again(&side, format)]);
        assert_eq!(found.len(), expected.len(), "{format:?}");
        for (name, (own, total)) in &expected {
            let found = found[name];
            assert!(
                (found.0 - own).abs() < 1e-9 && (found.1 - total).abs() < 1e-9,
                "{format:?} {name:?} {found:?} {own} {total}"
            );
        }
    }
    // Whole numbers that add up.
    assert_eq!(again(&side, ExportFormat::Pprof).total(), 70.0);
    let written = export(
        &side,
        &side[..7],
        Exported::Difference,
        ExportFormat::Folded,
    )
    .unwrap();
    let sums = String::from_utf8(written)
        .unwrap()
        .lines()
        .fold([0.0, 0.0], |sums, line| {
            let mut counts = line
                .rsplitn(3, ' ')
                .map(|count| count.parse::<f64>().unwrap_or_default());
            let (after, before) = (counts.next().unwrap(), counts.next().unwrap());
            [sums[0] + before, sums[1] + after]
        });
    assert!(sums.iter().all(|sum| (sum - 70.0).abs() < 1e-9), "{sums:?}");
}

#[test]
fn anonymous_functions_stay_apart() {
    let node = |id: u32, name: &str, line: u32| {
        format!(
            r#"{{"id": {id}, "parent": 1, "callFrame": {{"functionName": "{name}", "scriptId": "1", "url": "file:///w/a.js", "lineNumber": {line}, "columnNumber": 4}}}}"#
        )
    };
    let profile = read(
        format!(
            r#"{{"nodes": [{{"id": 1, "callFrame": {{"functionName": "(root)", "scriptId": "0", "url": ""}}}}, {}, {}, {}],
            "startTime": 0, "endTime": 90, "samples": [2, 3, 4, 1], "timeDeltas": [0, 10, 20, 30]}}"#,
            node(2, "", 7),
            node(3, "", 9),
            node(4, "f", 11)
        )
        .as_bytes(),
    );
    let side = [profile];
    let expected = costs(&side);
    assert_eq!(expected.len(), 3, "{expected:?}");
    assert_eq!(costs(&[again(&side, ExportFormat::CpuProfile)]), expected);
    assert_eq!(costs(&[again(&side, ExportFormat::Pprof)]), expected);
}

/// Folded stacks have names alone, and more of these where several functions have one.
#[test]
fn functions_of_one_name_stay_apart_in_folded_stacks() {
    let perf = |frame: &str| format!("w 1 1.0: 5 cycles:\n\t1 {frame}\n\n");
    let frames = [
        "f+0x1 (/w/m1)",
        "f+0x1 (/w/m2)",
        "f+0x1 ([kernel.kallsyms])",
        "g+0x1 (/w/m1)",
        "[unknown] (/w/m1)",
        "[unknown] (/w/m2)",
    ];
    let modules = frames.map(perf).concat();
    let function = |id: u32, name: &str, line: u32, column: u32| {
        format!(
            r#", {{"id": {id}, "parent": 1, "callFrame": {{"functionName": "{name}", "scriptId": "1", "url": "a.js", "lineNumber": {line}, "columnNumber": {column}}}}}"#
        )
    };
    let anonymous = |column: u32| {
        format!(
            r#"{{"nodes": [{{"id": 1, "callFrame": {{"functionName": "(root)", "scriptId": "0", "url": ""}}}}{}{}{}],
            "startTime": 0, "endTime": 90, "samples": [2, 3, 4, 1], "timeDeltas": [0, 10, 20, 30]}}"#,
            function(2, "", 6, 4),
            function(3, "", 8, 4),
            function(4, "", 8, column),
        )
    };
    for (content, expected) in [
        (
            modules.as_str(),
            [
                "[no symbols] (m1)",
                "[no symbols] (m2)",
                "f (m1)",
                "f (m2)",
                "f_[k]",
                "g",
            ]
            .as_slice(),
        ),
        (
            "f (/a/x.py:7) 1\nf (/a/y.py:9) 2\nf (/b/y.py:9) 3\ng (/a/x.py:1) 4\n",
            &["f (/a/x.py:0)", "f (/a/y.py:0)", "f (/b/y.py:0)", "g"],
        ),
        (
            &anonymous(4),
            &["(anonymous) (a.js 7)", "(anonymous) (a.js 9)"],
        ),
        (
            &anonymous(9),
            &[
                "(anonymous) (a.js 7 #1)",
                "(anonymous) (a.js 9 #2)",
                "(anonymous) (a.js 9 #3)",
            ],
        ),
    ] {
        let side = [text(content)];
        let written = export(&side, &side, Exported::Base, ExportFormat::Folded).unwrap();
        let written = String::from_utf8(written).unwrap();
        let mut names: Vec<&str> = written
            .lines()
            .map(|line| line.rsplit_once(' ').unwrap().0)
            .collect();
        names.sort_unstable();
        assert_eq!(names, expected);
        let own = |side: &[Profile]| {
            let compared = explain(side, side, &ExplainOptions::default()).unwrap();
            let functions = compared.functions.into_iter();
            let mut own: Vec<f64> = functions.map(|change| change.own.base).collect();
            own.sort_by(f64::total_cmp);
            own
        };
        assert_eq!(own(&[text(&written)]), own(&side), "{written}");
    }
}

#[test]
fn a_difference_is_exported_where_it_can_be() {
    let (base, experiment) = ([text("a;b 10\n")], [text("a;b 4\na;c 3\n")]);
    let written = |format| export(&base, &experiment, Exported::Difference, format);
    let folded = String::from_utf8(written(ExportFormat::Folded).unwrap()).unwrap();
    assert_eq!(folded, "a;b 10 4\na;c 0 3\n");
    assert!(matches!(
        written(ExportFormat::Speedscope),
        Err(ExportError::Negative(_))
    ));
    assert!(matches!(
        export(&base, &experiment, Exported::Base, ExportFormat::CpuProfile),
        Err(ExportError::NoTime(_))
    ));
    // Advice that is followed does not fail in another way.
    let error = |format| written(format).unwrap_err().to_string();
    assert!(error(ExportFormat::Speedscope).contains("export one side"));
    assert!(error(ExportFormat::CpuProfile).ends_with("as speedscope"));
}

#[test]
fn a_cpuprofile_is_exported_with_its_times() {
    let speedscope = "{\"shared\": {\"frames\": [{\"name\": \"f\"}, {\"name\": \"g\"}]}, \"profiles\": [{\"type\": \"sampled\", \"unit\": \"milliseconds\", \"samples\": [[0], [0, 1]], \"weights\": [3, 4]}]}";
    let profile = [text(speedscope)];
    let written = export(
        &profile,
        &profile,
        Exported::Experiment,
        ExportFormat::CpuProfile,
    )
    .unwrap();
    let again = read(&written);
    assert_eq!(again.total(), 7e6);
    let costs = again.costs();
    let total: Vec<f64> = again
        .frame_ids()
        .map(|frame| costs.total_of(frame))
        .collect();
    assert_eq!(total, [7e6, 4e6]);
}
