//! Results of jobs, for people.

use pinpoint_core::{CombinedCommit, Commit, ModifiedDependency, Verdict};
use serde_json::{Value, json};

use super::{commit, display, styles_shown, without_styles};
use crate::show::text::Text;
use crate::show::{culprit_summary, pairwise_summary, summary};
use pinpoint_core::job::BisectionResult;
use pinpoint_core::job::CulpritFinderResult;
use pinpoint_core::job::PairwiseResult;

/// The runs of a commit.
fn runs(level: f64) -> Vec<f64> {
    (0..10)
        .map(|run| level * (1.0 + 0.001 * f64::from(run)))
        .collect()
}

/// The comparison of two commits by their runs.
fn evidence(lower: &CombinedCommit, higher: &CombinedCommit, levels: [f64; 2]) -> Value {
    let [control, treatment] = levels.map(runs);
    let down = pinpoint_core::Direction::Down;
    let performance =
        pinpoint_compare::compare_performance(&control, &treatment, None, down).unwrap();
    let functional = pinpoint_compare::compare_functional(&[0.0; 10], &[0.0; 10], 0.0).unwrap();
    json!({
        "lower": lower, "higher": higher, "lower_runs": 10, "higher_runs": 10,
        "verdict": performance.verdict, "functional": functional, "performance": performance,
    })
}

/// The same of failures: this many runs of ten failed at each.
fn failures(lower: &CombinedCommit, higher: &CombinedCommit, failed: [usize; 2]) -> Value {
    let errors = |failed: usize| -> Vec<f64> {
        (0..10)
            .map(|run| f64::from(u8::from(run < failed)))
            .collect()
    };
    let [control, treatment] = failed.map(errors);
    let functional = pinpoint_compare::compare_functional(&control, &treatment, 0.5).unwrap();
    json!({
        "lower": lower, "higher": higher, "lower_runs": 10, "higher_runs": 10,
        "verdict": Verdict::Different, "functional": functional, "performance": null,
    })
}

fn effect() -> Value {
    json!({
        "of": "values", "estimate": 0.0025, "interval": { "low": 0.0021, "high": 0.0029 },
        "confidence": 0.95, "before": 0.0125, "after": 0.015,
    })
}

fn culprit(prior: &CombinedCommit, commit: &CombinedCommit) -> Value {
    json!({
        "commit": commit, "prior": prior, "probability": 0.973, "effect": effect(),
        "blamed": commit.main, "undone": false, "other_changes": [],
        "reproduce": "pinpoint bisect 20c0ffee 21c0ffee -- ./bench.sh",
    })
}

/// The base, with other values for some of its members.
fn with(mut base: Value, members: Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        base[name] = value.clone();
    }
    base
}

/// The metric of all of them.
fn metric() -> Value {
    json!({
        "chart": "latency", "unit": "s", "format": "lines", "source": "standard_output",
        "direction": "down", "direction_source": "unit", "aggregate": "median",
    })
}

/// A bisection that found nothing, with these members.
fn bisection(members: Value) -> Value {
    let base = json!({
        "version": 1, "job_id": "0199f3c1a2b37f0e8d1c2b3a49586776", "status": "no_regression",
        "stopped": "decided", "good": commit(0), "bad": commit(32), "chart": "latency",
        "unit": "s", "metric": metric(), "culprits": [], "candidates": [], "runs": 64, "builds": 7,
        "comparisons": [], "skipped": [], "duration_s": 754.2,
    });
    with(base, members)
}

/// Snapshots with and without colors.
#[track_caller]
fn snapshot(name: &str, text: &Text) {
    insta::assert_snapshot!(name, without_styles(text));
    insta::assert_snapshot!(format!("{name}_in_color"), styles_shown(text));
}

#[track_caller]
fn shown(name: &str, members: Value) {
    let document: BisectionResult = serde_json::from_value(bisection(members)).unwrap();
    snapshot(name, &summary::render(&document, &display()));
}

#[test]
fn a_culprit() {
    let (prior, found) = (commit(20), commit(21));
    shown(
        "culprit",
        json!({
            "status": "culprit_found", "culprits": [culprit(&prior, &found)],
            "comparisons": [evidence(&prior, &found, [0.0125, 0.015])],
            "unchanged": [
                { "after": commit(0), "last": commit(8), "commits": 8 },
                { "after": commit(21), "last": commit(22), "commits": 1 },
            ],
            "skipped": [{ "commit": commit(16), "reason": "make: *** Error 2" }],
            "warnings": ["3 of 64 runs left processes behind, which were ended"],
        }),
    );
}

#[test]
fn several_culprits() {
    let culprits = [
        culprit(&commit(4), &commit(5)),
        culprit(&commit(20), &commit(21)),
    ];
    shown(
        "several_culprits",
        json!({ "status": "culprit_found", "culprits": culprits }),
    );
}

#[test]
fn a_culprit_and_a_range_that_is_left_open() {
    let candidates: Vec<CombinedCommit> = (5..9).map(commit).collect();
    for (name, stopped) in [
        ("culprit_and_nothing_to_learn", "nothing_to_learn"),
        ("culprit_and_no_more_runs", "run_budget"),
    ] {
        shown(
            name,
            json!({
                "status": "culprit_found", "culprits": [culprit(&commit(20), &commit(21))],
                "stopped": stopped, "candidates": candidates,
            }),
        );
    }
}

#[test]
fn a_culprit_that_makes_runs_fail() {
    let (prior, found) = (commit(20), commit(21));
    let mut culprit = culprit(&prior, &found);
    culprit["probability"] = Value::Null;
    culprit["effect"] = json!({
        "of": "failures", "estimate": 0.9, "interval": { "low": 0.55, "high": 0.98 },
        "confidence": 0.95, "before": 0.0, "after": 0.9,
        "after_failure": { "reason": "gave no value for `latency`, only for `speed`", "runs": 8, "failed": 9 },
    });
    shown(
        "culprit_of_failures",
        json!({
            "status": "culprit_found", "culprits": [culprit],
            "comparisons": [failures(&prior, &found, [0, 9])],
        }),
    );
}

#[test]
fn a_commit_that_only_the_good_end_has() {
    let (prior, found) = (commit(3), commit(2));
    let mut culprit = culprit(&prior, &found);
    culprit["blamed"] = json!(prior.main);
    culprit["undone"] = json!(true);
    culprit["alternatives"] = json!([commit(4).main, commit(5).main]);
    culprit["reproduce"] = Value::Null;
    shown(
        "only_at_the_good_end",
        json!({
            "status": "culprit_found", "culprits": [culprit], "merge_base": commit(1),
        }),
    );
}

#[test]
fn a_dependency_that_was_set_back() {
    let mut lost = Commit::new("https://example.org/skia.git", "5".repeat(40));
    lost.subject = Some("Draw glyphs faster".into());
    let held = |digit: &str| {
        let commit = Commit::new("https://example.org/skia.git", digit.repeat(40));
        let mut state = super::commit(21);
        state.modified_deps = vec![ModifiedDependency {
            commit,
            named_by: "/src/app".into(),
        }];
        state
    };
    let (prior, found) = (held("5"), held("4"));
    let change = |path: &str, followed: Value| {
        json!({
            "path": path, "repository": format!("https://example.org/{path}"),
            "before": "1".repeat(40), "after": "2".repeat(40), "followed": followed,
        })
    };
    let mut culprit = culprit(&prior, &found);
    culprit["blamed"] = json!(lost);
    culprit["undone"] = json!(true);
    culprit["rolled_by"] = json!(commit(22).main);
    culprit["other_changes"] = json!([
        change(
            "v8",
            json!({ "no": {
            "reason": "the repository https://example.org/v8 is not available locally; name a local clone of it",
            "unavailable": true,
        } })
        ),
        change(
            "icu",
            json!({ "no": { "reason": "its two revisions are on different branches" } })
        ),
    ]);
    shown(
        "undone_dependency",
        json!({ "status": "culprit_found", "culprits": [culprit] }),
    );
}

#[test]
fn a_culprit_in_a_merged_branch() {
    let mut found = commit(20);
    found.main.merged = vec!["7".repeat(40)];
    let mut culprit = culprit(&commit(20), &found);
    culprit["blamed"]["git_hash"] = json!("7".repeat(40));
    culprit["blamed"]["merged"] = json!([]);
    shown(
        "merged_branch",
        json!({ "status": "culprit_found", "culprits": [culprit] }),
    );
}

#[test]
fn no_regression() {
    let (good, bad) = (commit(0), commit(32));
    shown(
        "no_regression",
        json!({ "comparisons": [evidence(&good, &bad, [0.0125, 0.0125])] }),
    );
    let posterior = |amount: f64, scatter: f64| {
        json!({
            "no_change": 0.973, "better": 0.0, "spans": [],
            "largest_change": {
                "amount": amount, "relative": amount / 0.0125, "confidence": 0.95,
                "scatter": scatter,
            },
        })
    };
    shown(
        "no_regression_in_noise",
        json!({ "posterior": posterior(0.0021, 0.0018) }),
    );
    shown(
        "no_regression_in_quiet",
        json!({ "posterior": posterior(0.0001, 0.00005) }),
    );
    shown(
        "no_regression_but_better",
        json!({
            "comparisons": [evidence(&good, &bad, [0.0125, 0.0115])],
            "posterior": { "no_change": 0.99, "better": 0.98, "spans": [] },
        }),
    );
    shown(
        "no_regression_among_failures",
        json!({
            "unmeasured": [
                { "commit": good, "runs": 10, "reason": "exit code 3" },
                { "commit": bad, "runs": 10, "reason": null },
            ],
        }),
    );
}

#[test]
fn not_decided() {
    let candidates: Vec<CombinedCommit> = (9..33).map(commit).collect();
    let span = |after: u64, last: u64, probability: f64| {
        json!({
            "after": commit(after), "last": commit(last), "commits": last - after,
            "probability": probability,
        })
    };
    let posterior = json!({
        "no_change": 0.05, "better": 0.0,
        "spans": [span(8, 16, 0.2), span(16, 17, 0.7), span(17, 32, 0.0499), span(32, 33, 0.0001)],
    });
    shown(
        "not_decided",
        json!({
            "status": "inconclusive", "stopped": "run_budget", "candidates": candidates,
            "posterior": posterior,
        }),
    );
    for (name, stopped) in [
        ("not_decided_builds", json!("build_budget")),
        ("not_decided_time", json!("time_budget")),
        ("not_decided_nothing_to_learn", json!("nothing_to_learn")),
        (
            "not_decided_unlisted",
            json!({ "unlisted": { "reason": "DEPS can't be read" } }),
        ),
    ] {
        shown(
            name,
            json!({ "status": "inconclusive", "stopped": stopped }),
        );
    }
    shown(
        "not_decided_too_noisy",
        json!({
            "status": "inconclusive", "stopped": "too_noisy",
            "posterior": {
                "no_change": 0.96, "better": 0.0, "spans": [],
                "largest_change": {
                    "amount": 0.01, "relative": 0.8, "confidence": 0.95, "scatter": 0.015,
                },
            },
        }),
    );
}

#[test]
fn failed_and_canceled() {
    let stopped = |commit: &str| json!({ "failed": { "commit": commit, "reason": "all 3 runs failed: exit code 3" } });
    shown(
        "failed",
        json!({ "status": "failed", "stopped": stopped("higher") }),
    );
    shown(
        "canceled",
        json!({ "status": "canceled", "stopped": "canceled" }),
    );
}

/// The outcome of a comparison in pairs, of charts with these changes.
fn compared(charts: &[(&str, f64)]) -> Value {
    let charts: Vec<Value> = charts
        .iter()
        .map(|(name, factor)| {
            let [base, experiment] = [runs(0.0125), runs(0.0125 * factor)];
            let down = pinpoint_core::Direction::Down;
            let comparison = pinpoint_compare::compare_pairwise(&base, &experiment, down).unwrap();
            json!({
                "chart": name, "unit": "s", "direction": "down",
                "adjusted_p_value": comparison.p_value, "comparison": comparison,
                "anytime_p_value": null, "failed_pairs": 0, "surplus_pairs": 0, "error": null,
            })
        })
        .collect();
    json!({
        "version": 1, "status": "different", "stopped": "decided", "functional": null,
        "charts": charts, "only_base": [], "only_experiment": [], "pairs_planned": 30,
        "pairs": 30, "stopped_early": false, "runs": 60, "builds": 2,
    })
}

#[track_caller]
fn pairs_shown(name: &str, charts: &[(&str, f64)], members: Value) {
    let variant =
        |commit| json!({ "commit": commit, "arguments": ["--fast"], "env": { "A": "1" } });
    let base = with(
        compared(charts),
        json!({
            "job_id": "0199f3c1a2b37f0e8d1c2b3a49586776", "base": { "commit": commit(0) },
            "experiment": variant(commit(32)), "moved": 0, "improved": 0, "duration_s": 75.0,
            "metric": with(metric(), json!({
                "chart": null, "unit": null, "direction": null, "direction_source": null,
                "source": { "results_file": "out.txt" },
            })),
        }),
    );
    let document: PairwiseResult = serde_json::from_value(with(base, members)).unwrap();
    snapshot(name, &pairwise_summary::render(&document, &display()));
}

#[test]
fn pairs() {
    let mut charts = vec![("latency", 1.2), ("startup", 0.9), ("memory", 1.0)];
    pairs_shown(
        "pairs_different",
        &charts,
        json!({
            "moved": 1, "improved": 1, "only_base": ["old"], "only_experiment": ["new", "newer"],
            "pairs": 12, "stopped_early": true,
            "warnings": ["the machine was busy during 4 of 60 runs"],
        }),
    );
    charts.truncate(1);
    pairs_shown(
        "pairs_same",
        &[("latency", 1.0)],
        json!({ "status": "same" }),
    );
    pairs_shown(
        "pairs_better",
        &[("latency", 0.9)],
        json!({ "status": "same", "improved": 1 }),
    );
    pairs_shown(
        "pairs_not_decided",
        &[],
        json!({ "status": "unknown", "stopped": "time_budget" }),
    );
    let failed = json!({ "failed": { "commit": "lower", "reason": "it does not build" } });
    pairs_shown(
        "pairs_failed",
        &[],
        json!({ "status": "failed", "stopped": failed }),
    );
    pairs_shown(
        "pairs_canceled",
        &[],
        json!({ "status": "canceled", "stopped": "canceled" }),
    );
}

#[test]
fn a_culprit_finder() {
    let (prior, found) = (commit(20), commit(21));
    let mut confirmed = culprit(&prior, &found);
    confirmed["confirmation"] =
        json!({ "comparison": compared(&[("latency", 1.2)]), "reused": false });
    let mut unconfirmed = culprit(&commit(4), &commit(5));
    unconfirmed["confirmation"] = json!({ "comparison": null, "reused": false });
    let document = json!({
        "status": "culprit_found", "stopped": "run_budget", "culprits": [confirmed], "unconfirmed": [unconfirmed],
        "verification": compared(&[("latency", 1.2)]), "reused_runs": 60,
    });
    let document: CulpritFinderResult = serde_json::from_value(bisection(document)).unwrap();
    snapshot(
        "culprit_finder",
        &culprit_summary::render(&document, &display()),
    );
    let document = json!({
        "verification": with(compared(&[("latency", 1.0)]), json!({ "status": "same" })),
        "unconfirmed": [], "reused_runs": 0,
    });
    let document: CulpritFinderResult = serde_json::from_value(bisection(document)).unwrap();
    snapshot(
        "culprit_finder_without_regression",
        &culprit_summary::render(&document, &display()),
    );
}
