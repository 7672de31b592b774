//! A row of the table of culprits.

use pinpoint_core::EffectOf;
use pinpoint_core::job::{BisectionResult, NamedCulprit};
use serde::{Deserialize, Serialize};

use super::ReportSubject;
use crate::bigquery::Timestamp;
use crate::google::timestamp;
use crate::issue_tracker::places;

/// A culprit, as the table has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CulpritRow {
    pub(super) job: String,
    /// Its index among the culprits of the job, from 0 on.
    pub(super) number: i64,
    /// The time at which the job ended.
    ended: Timestamp,
    bot: String,
    benchmark: String,
    chart: Option<String>,
    unit: Option<String>,
    /// The issue that the job is about.
    issue: Option<i64>,
    /// `REPOSITORY/+/HASH DEPENDENCY/+/HASH …`
    commit: String,
    /// Of the commit to blame.
    repository: String,
    git_hash: String,
    subject: Option<String>,
    probability: Option<f64>,
    /// `values`, or `failures`: then the numbers are rates.
    effect_of: String,
    before: f64,
    after: f64,
    estimate: Option<f64>,
    /// The interval; absent where a side is open.
    low: Option<f64>,
    high: Option<f64>,
    confidence: f64,
}

/// The rows of a result.
pub(super) fn culprit_rows(
    result: &BisectionResult,
    subject: &ReportSubject<'_>,
    issue: Option<u64>,
) -> Vec<CulpritRow> {
    let culprits = (0..).zip(&result.culprits);
    let row = |(number, culprit): (i64, &NamedCulprit)| {
        let effect = &culprit.effect;
        let interval = effect.interval.as_ref();
        let finite = |end: &f64| end.is_finite();
        CulpritRow {
            job: result.job_id.clone(),
            number,
            ended: Timestamp(timestamp(subject.ended)),
            bot: subject.bot.into(),
            benchmark: subject.benchmark.into(),
            chart: result.chart.clone(),
            unit: result.unit.clone(),
            issue: issue.and_then(|issue| issue.try_into().ok()),
            commit: places(&culprit.commit).join(" "),
            repository: culprit.blamed.repository.clone(),
            git_hash: culprit.blamed.git_hash.clone(),
            subject: culprit.blamed.subject.clone(),
            probability: culprit.probability,
            effect_of: match effect.of {
                EffectOf::Failures => "failures".into(),
                _ => "values".into(),
            },
            before: effect.before,
            after: effect.after,
            estimate: effect.estimate,
            low: interval.map(|it| it.low).filter(finite),
            high: interval.map(|it| it.high).filter(finite),
            confidence: effect.confidence,
        }
    };
    culprits.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bigquery::schema;

    #[test]
    fn each_column_has_a_type() {
        let columns = schema::<CulpritRow>().unwrap();
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        assert_eq!(names[..3], ["job", "number", "ended"]);
        assert_eq!(names.len(), 20);
    }
}
