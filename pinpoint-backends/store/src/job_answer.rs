//! The answer of a job, small enough for a line of a list.

use serde::{Deserialize, Deserializer, Serialize};

/// The answer of a job in short.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobAnswer {
    /// The answer in a word: `culprit_found`, `no_regression`, `inconclusive`, `different`,
    /// `same`, `unknown`, `failed` or `canceled`.
    pub status: String,
    /// The hash of the commit to blame: of the oldest, where several were found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The number of commits that were found.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub culprits: u64,
    /// The effect of that commit; in a comparison of one chart, that of the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<AnswerEffect>,
    /// The hashes of the oldest and the newest of the commits that may have changed the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(String, String)>,
    /// The number of these commits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub candidates: u64,
    /// The number of charts of a comparison.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub charts: u64,
    /// The number of charts that moved for the worse, or in an unknown direction.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub moved: u64,
    /// The number of charts that moved for the better.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub improved: u64,
}

/// The effect of a change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerEffect {
    /// The median before it, or the level where medians hold what the machine added; or the rate of
    /// failures.
    pub before: Option<f64>,
    /// The same after it.
    pub after: Option<f64>,
    /// The change: of a culprit in the unit of the values, in a comparison in percent of the median
    /// before it. Absent where it is too large for a number.
    pub estimate: Option<f64>,
    /// The unit of the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// It changed how often runs fail, and not the metric.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_failures: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The parts of a [`JobResult`](pinpoint_core::job::JobResult) of any kind that make its answer.
#[derive(Deserialize)]
struct Outcome {
    status: String,
    unit: Option<String>,
    #[serde(default)]
    culprits: Vec<Culprit>,
    #[serde(default)]
    candidates: Vec<Candidate>,
    #[serde(default)]
    charts: Vec<Chart>,
    #[serde(default)]
    moved: u64,
    #[serde(default)]
    improved: u64,
}

#[derive(Deserialize)]
struct Culprit {
    blamed: Hash,
    effect: Effect,
}

#[derive(Deserialize)]
struct Candidate {
    main: Hash,
}

#[derive(Deserialize)]
struct Hash {
    git_hash: String,
}

#[derive(Deserialize)]
struct Effect {
    of: pinpoint_core::EffectOf,
    before: Option<f64>,
    after: Option<f64>,
    estimate: Option<f64>,
}

#[derive(Deserialize)]
struct Chart {
    unit: Option<String>,
    comparison: Option<Comparison>,
}

#[derive(Deserialize)]
struct Comparison {
    control_median: Option<f64>,
    treatment_median: Option<f64>,
    estimate: Option<f64>,
}

impl JobAnswer {
    /// The answer of an outcome in the store; `None` where it is not the result of a job that this
    /// version knows.
    pub(super) fn from_outcome<'a>(outcome: impl Deserializer<'a>) -> Option<Self> {
        let outcome = Outcome::deserialize(outcome).ok()?;
        let unit = outcome.unit;
        let of_culprit = outcome.culprits.first().map(|culprit| AnswerEffect {
            before: culprit.effect.before,
            after: culprit.effect.after,
            estimate: culprit.effect.estimate,
            unit: unit.clone(),
            of_failures: culprit.effect.of == pinpoint_core::EffectOf::Failures,
        });
        let of_chart = match &outcome.charts[..] {
            [only] => only.comparison.as_ref().map(|comparison| AnswerEffect {
                before: comparison.control_median,
                after: comparison.treatment_median,
                estimate: comparison.estimate,
                unit: only.unit.clone(),
                of_failures: false,
            }),
            _ => None,
        };
        let first = outcome.candidates.first().zip(outcome.candidates.last());
        Some(Self {
            status: outcome.status,
            commit: (outcome.culprits.first()).map(|culprit| culprit.blamed.git_hash.clone()),
            culprits: outcome.culprits.len() as u64,
            effect: of_culprit.or(of_chart),
            range: first
                .map(|(first, last)| (first.main.git_hash.clone(), last.main.git_hash.clone())),
            candidates: outcome.candidates.len() as u64,
            charts: outcome.charts.len() as u64,
            moved: outcome.moved,
            improved: outcome.improved,
        })
    }

    /// The columns of an outcome, from its JSON: the answer as JSON, and its sort key in lists.
    pub(super) fn columns(outcome: Option<&str>) -> (Option<String>, i64) {
        let of = |outcome| Self::from_outcome(&mut serde_json::Deserializer::from_str(outcome));
        let answer = outcome.and_then(of);
        let written = answer.as_ref().map(serde_json::to_string);
        (
            written.and_then(Result::ok),
            answer.map_or(0, |answer| answer.sort_key()),
        )
    }

    /// The place of the answer in a list that is sorted by results; 0 for no answer. The kind of
    /// the answer comes first, those that need attention last, and then its size: the number of
    /// remaining commits; the change in millionths of the level before it, or of the rate of
    /// failures; where one number is not enough, the number of charts that changed.
    pub(super) fn sort_key(&self) -> i64 {
        let size = match &self.effect {
            Some(effect) => effect.size(),
            None => self.moved.saturating_add(self.improved),
        };
        let (kind, size) = match &*self.status {
            "canceled" => (1, 0),
            "failed" => (2, 0),
            "no_regression" | "same" => (3, 0),
            "inconclusive" | "unknown" => (4, self.candidates),
            "culprit_found" | "different" => (5, size),
            _ => (0, 0),
        };
        kind * SIZES + i64::try_from(size).map_or(SIZES - 1, |size| size.min(SIZES - 1))
    }
}

/// More than the sizes of answers of one kind.
const SIZES: i64 = 1_000_000_000_000_000;

impl AnswerEffect {
    /// The size of the change in millionths; one from 0, which has no percentage, is larger than any
    /// other.
    fn size(&self) -> u64 {
        let (Some(before), Some(after)) = (self.before, self.after) else {
            return 0;
        };
        let change = (after - before).abs();
        let of = if self.of_failures { 1.0 } else { before.abs() };
        match change {
            0.0 => 0,
            // Beyond the numbers, the largest of them.
            change => (1e6 * (change / of)) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_answer_of_a_search_is_its_first_culprit_or_the_range_that_is_left() {
        let culprit = |hash: &str, of: &str| {
            json!({
                "commit": { "main": { "repository": "/r", "git_hash": "roll" } },
                "effect": { "of": of, "estimate": 2.5, "before": 10.0, "after": 12.5,
                            "interval": null, "confidence": 0.95 },
                "blamed": { "repository": "/r", "git_hash": hash },
            })
        };
        let found = json!({
            "version": 1, "status": "culprit_found", "stopped": "decided", "unit": "ms",
            "culprits": [culprit("a", "values"), culprit("b", "failures")], "candidates": [],
        });
        let answer = JobAnswer {
            status: "culprit_found".into(),
            commit: Some("a".into()),
            culprits: 2,
            effect: Some(AnswerEffect {
                before: Some(10.0),
                after: Some(12.5),
                estimate: Some(2.5),
                unit: Some("ms".into()),
                of_failures: false,
            }),
            ..JobAnswer::default()
        };
        assert_eq!(JobAnswer::from_outcome(&found), Some(answer.clone()));
        let (written, key) = JobAnswer::columns(Some(&found.to_string()));
        let read: JobAnswer = serde_json::from_str(&written.unwrap()).unwrap();
        assert_eq!((read.sort_key(), read), (key, answer));

        let commit = |hash: &str| json!({ "main": { "repository": "/r", "git_hash": hash } });
        let left = json!({
            "status": "inconclusive", "unit": null, "culprits": [],
            "candidates": [commit("a"), commit("b"), commit("c")],
        });
        let answer = JobAnswer {
            status: "inconclusive".into(),
            range: Some(("a".into(), "c".into())),
            candidates: 3,
            ..JobAnswer::default()
        };
        assert_eq!(JobAnswer::from_outcome(&left), Some(answer));
    }

    #[test]
    fn the_answer_of_a_comparison_counts_charts_and_has_the_effect_of_the_only_one() {
        let chart = json!({
            "unit": "ms", "chart": "t",
            "comparison": { "control_median": 10.0, "treatment_median": 9.0, "estimate": -1.0 },
        });
        let compared = |charts: Vec<serde_json::Value>| {
            JobAnswer::from_outcome(json!({
                "status": "same", "charts": charts, "moved": 0, "improved": 1,
            }))
            .unwrap()
        };
        let one = compared(vec![chart.clone()]);
        assert_eq!((&*one.status, one.charts, one.improved), ("same", 1, 1));
        assert_eq!(one.effect.unwrap().estimate, Some(-1.0));
        let two = compared(vec![chart, json!({ "unit": null, "comparison": null })]);
        assert_eq!((two.charts, two.effect), (2, None));
    }

    #[test]
    fn what_is_no_result_has_no_answer() {
        for other in [json!(null), json!([]), json!({}), json!({ "status": 5 })] {
            assert_eq!(JobAnswer::from_outcome(&other), None, "{other}");
        }
        for outcome in [None, Some("{")] {
            assert_eq!(JobAnswer::columns(outcome), (None, 0));
        }
    }

    #[test]
    fn answers_are_sorted_by_their_kinds_and_then_by_their_sizes() {
        let of = |status: &str, answer: JobAnswer| {
            let status = status.into();
            JobAnswer { status, ..answer }.sort_key()
        };
        let plain = |status: &str| of(status, JobAnswer::default());
        let effect = |before, after, of_failures| {
            let effect = AnswerEffect {
                before: Some(before),
                after: Some(after),
                of_failures,
                ..AnswerEffect::default()
            };
            of(
                "culprit_found",
                JobAnswer {
                    effect: Some(effect),
                    ..JobAnswer::default()
                },
            )
        };
        let left = |candidates| {
            let left = JobAnswer {
                candidates,
                ..JobAnswer::default()
            };
            of("inconclusive", left)
        };
        let moved = |moved| {
            let charts = JobAnswer {
                moved,
                improved: 1,
                ..JobAnswer::default()
            };
            of("different", charts)
        };
        let sorted = [
            plain("canceled"),
            plain("failed"),
            plain("no_regression"),
            plain("unknown"),
            left(2),
            left(u64::MAX),
            plain("different"),
            moved(1),
            moved(2),
            effect(100.0, 101.0, false),
            effect(10.0, 9.0, false),
            // Negative values have changes, too.
            effect(-10.0, -12.0, false),
            effect(0.0, 0.5, true),
            effect(1e-300, 1e300, false),
        ];
        assert!(sorted.is_sorted_by(|one, other| one < other), "{sorted:?}");
        assert_eq!(effect(0.0, 1.0, false), effect(1e-300, 1e300, false));
        assert_eq!(plain("same"), plain("no_regression"));
        // Of a newer version.
        assert_eq!(plain("guessed"), 0);
    }
}
