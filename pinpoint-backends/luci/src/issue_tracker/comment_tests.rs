//! The text of comments, word for word.

use pinpoint_core::{ModifiedDependency, Posterior};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

const CHROMIUM: &str = "https://chromium.googlesource.com/chromium/src.git";
const V8: &str = "https://chromium.googlesource.com/v8/v8.git";

const ABOUT: CommentContext<'static> = CommentContext {
    bot: "linux `perf`",
    benchmark: "jetstream2",
    unconfirmed: &[],
    report: None,
};

fn commit(repository: &str, digit: &str) -> Commit {
    Commit {
        subject: Some("Roll *v8* to <next>\n# 1".into()),
        ..Commit::new(repository, digit.repeat(40))
    }
}

fn read<T: DeserializeOwned>(document: Value) -> T {
    serde_json::from_value(document).unwrap()
}

fn culprit(commit: CombinedCommit, effect: Effect) -> NamedCulprit {
    read(json!({
        "commit": commit, "prior": commit, "blamed": commit.main, "probability": 0.985,
        "effect": effect, "undone": false, "other_changes": [],
    }))
}

fn effect(of: EffectOf, low: f64, high: f64) -> Effect {
    read(json!({
        "of": of, "estimate": 12.5, "interval": { "low": low, "high": high },
        "confidence": 0.95, "before": 100.0, "after": 112.25,
    }))
}

fn result(culprits: Vec<NamedCulprit>) -> BisectionResult {
    let end = CombinedCommit::from(commit(CHROMIUM, "0"));
    read(json!({
        "version": 1, "job_id": "j", "status": "culprit_found", "stopped": "decided",
        "good": end, "bad": end, "chart": "Score_[x]", "unit": "ms", "culprits": culprits,
        "candidates": [], "runs": 0, "builds": 0, "comparisons": [], "skipped": [],
        "duration_s": 0.0,
    }))
}

#[test]
fn every_culprit_is_named_with_its_change() {
    let mut rolled = CombinedCommit::from(commit(CHROMIUM, "1"));
    rolled.modified_deps.push(ModifiedDependency {
        commit: commit(V8, "2"),
        named_by: CHROMIUM.into(),
    });
    let values = effect(EffectOf::Values, 10.1, 14.875);
    let mut failures = effect(EffectOf::Failures, 0.5, 0.9);
    (failures.before, failures.after) = (0.05, 0.75);
    let other = CombinedCommit::from(commit(CHROMIUM, "3"));
    let result = result(vec![culprit(rolled, values), culprit(other, failures)]);
    let about = CommentContext {
        report: Some("https://pinpoint.example.org/jobs/j"),
        ..ABOUT
    };
    let text = comment(&result, &about);
    let hash = |digit: &str| digit.repeat(40);
    let expected = format!(
        r#"`jetstream2` on `linux 'perf'`, 0000000000 to 0000000000 (job j)

Found significant differences at 2 commits.

Metric: Score\_\[x\]

Understanding performance regressions: http://g.co/ChromePerformanceRegressions

Culprits:

* {CHROMIUM}/+/{} {V8}/+/{}
  * Roll \*v8\* to \<next\> \# 1
  * Median 100 ms before, 112.2 ms since; estimated change +12.5 ms, +12.5 % (95 % interval +10.1 to +14.88 ms).
  * It is the culprit with a probability of 98.5 %.
* {CHROMIUM}/+/{}
  * Roll \*v8\* to \<next\> \# 1
  * Runs fail: 5 % before, 75 % since (95 % interval of the difference: +50 points to +90 points).
  * It is the culprit with a probability of 98.5 %.

Report: https://pinpoint.example.org/jobs/j

If the wrong commit is blamed, please add this issue to the hotlist "Chromeperf-CulpritDetection-NeedsAttention" and unassign yourself, so that a sheriff can help.
"#,
        hash("1"),
        hash("2"),
        hash("3"),
    );
    assert_eq!(text, expected);
}

/// The comment without its first line and the metric.
fn body(result: &BisectionResult) -> String {
    let text = comment(result, &ABOUT);
    let body = text.split_once("\n\n").unwrap().1;
    body.replace("\nMetric: Score\\_\\[x\\]\n", "")
}

#[test]
fn one_culprit_with_an_open_interval() {
    let open = effect(EffectOf::Values, 3.0, f64::INFINITY);
    let commit = CombinedCommit::from(commit("/home/x`y`", "1"));
    let text = body(&result(vec![culprit(commit, open)]));
    assert!(text.starts_with("Found a significant difference at 1 commit.\n"));
    assert!(text.contains("(95 % sure: at least +3 ms)."), "{text}");
    assert!(text.contains("* /home/x\\`y\\`/+/1"), "{text}");
}

#[test]
fn no_regression_and_only_improvements() {
    let end = format!("{CHROMIUM}/+/{}", "0".repeat(40));
    let mut none = result(Vec::new());
    none.status = Status::NoRegression;
    none.runs = 20;
    let expected = format!("No regression was found between {end} and {end}");
    assert_eq!(body(&none), format!("{expected}.\n"));
    let largest_change = |relative| {
        let largest = format!(
            r#"{{"amount": 1.0, "relative": {relative}, "confidence": 0.95, "scatter": 1.0}}"#
        );
        serde_json::from_str(&largest).expect("it is valid")
    };
    for (relative, more) in [(0.04, ""), (0.345, " One of up to 34.5 % is not excluded.")] {
        none.posterior = Some(Posterior {
            no_change: 0.9,
            better: 0.0,
            spans: Vec::new(),
            largest_change: Some(largest_change(relative)),
            other_change: None,
        });
        assert_eq!(body(&none), format!("{expected}.{more}\n"));
    }
    none.posterior = Some(Posterior {
        no_change: 0.2,
        better: 0.7,
        spans: Vec::new(),
        largest_change: None,
        other_change: None,
    });
    assert_eq!(body(&none), format!("{expected}, only improvements.\n"));
}

#[test]
fn a_search_that_did_not_decide_says_why_and_names_its_range() {
    let at = |digit: &str| CombinedCommit::from(commit(CHROMIUM, digit));
    let [end, first, last] =
        ["0", "1", "3"].map(|digit| format!("{CHROMIUM}/+/{}", digit.repeat(40)));
    let mut undecided = result(Vec::new());
    undecided.status = Status::Inconclusive;
    undecided.stopped = Stopped::RunBudget;
    undecided.candidates = ["1", "2", "3"].map(at).into();
    let why = "the budget of runs does not allow the next comparison";
    let head = format!("The search between {end} and {end} was not decided: {why}.");
    let range = format!(" One of these 3 commits may be the culprit: {first} to {last}\n");
    assert_eq!(body(&undecided), format!("{head}{range}"));
    undecided.candidates.truncate(1);
    let range = format!(" This commit may be the culprit: {first}\n");
    assert_eq!(body(&undecided), format!("{head}{range}"));
    undecided.candidates.clear();
    assert_eq!(body(&undecided), format!("{head}\n"));
}

#[test]
fn what_is_left_and_what_was_not_confirmed_is_said() {
    let at = |digit: &str| CombinedCommit::from(commit(CHROMIUM, digit));
    let of = |digit| culprit(at(digit), effect(EffectOf::Values, 1.0, 2.0));
    let mut found = result(vec![of("1")]);
    found.candidates = ["2", "3"].map(at).into();
    assert!(!body(&found).contains("another culprit"));
    found.stopped = Stopped::TimeBudget;
    let expected = "\nThe search ended before it was complete (the time budget is used up); \
                    2 more commits may hold another culprit.\n";
    assert!(body(&found).contains(expected), "{}", body(&found));
    let suspects = [of("4")];
    let about = CommentContext {
        unconfirmed: &suspects,
        ..ABOUT
    };
    let expected = format!(
        "\nA suspect was not confirmed: {CHROMIUM}/+/{} Roll \\*v8\\* to \\<next\\> \\# 1\n",
        "4".repeat(40)
    );
    let text = comment(&found, &about);
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn numbers_have_four_digits() {
    let shown = [
        0.0,
        1.0,
        -1234.56,
        0.00012345,
        99.999,
        1e-9,
        123_456.7,
        2.5e20,
        f64::MAX,
    ];
    assert_eq!(
        shown.map(digits),
        [
            "0",
            "1",
            "-1235",
            "0.0001234",
            "100",
            "1.000e-9",
            "123457",
            "2.500e20",
            "1.798e308"
        ]
    );
}

proptest! {
    #[test]
    fn text_of_others_stays_a_line_without_formats(text: String) {
        let shown = plain(&text);
        let refused = ['\n', '\r', '\u{202e}'];
        prop_assert!(!shown.contains(refused));
        let mut characters = shown.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => prop_assert!(characters.next().is_some()),
                other => {
                    let is_format = "`*_[]<>#!|~&@:".contains(other);
                    prop_assert!(!is_format);
                }
            }
        }
    }
}
