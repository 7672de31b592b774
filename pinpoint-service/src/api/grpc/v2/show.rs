//! Jobs and their results as messages.

use std::collections::BTreeSet;

use pinpoint_backends::job::{JobError, WaitingReason, stored_result, waiting};
use pinpoint_backends::store::{AnswerEffect, Job, JobAnswer, JobStore, JobSummary};
use pinpoint_core::api::Timestamp;
use pinpoint_core::job::{BisectionResult, JobResult, NamedCulprit, PairwiseResult};
use pinpoint_core::{
    ChartComparison, CombinedCommit, EffectOf, JobState, PairwiseOutcome, Posterior, Stopped,
};
use serde::Serialize;

use super::arguments::arguments;
use super::messages;

/// A job with all its details.
pub(crate) async fn job(store: &JobStore, job: &Job) -> Result<messages::Job, JobError> {
    Ok(messages::Job {
        result: stored_result(job)?.as_ref().map(result),
        ..without_result(store, &JobSummary::from(job), job).await?
    })
}

/// A job with all its details except its result, which may be long.
pub(crate) async fn without_result(
    store: &JobStore,
    known: &JobSummary,
    job: &Job,
) -> Result<messages::Job, JobError> {
    let waits = waiting(store, job).await?;
    Ok(messages::Job {
        summary: Some(summary(known)),
        arguments: arguments(job)?,
        cancellation: job.cancel.as_ref().map(|cancel| messages::Cancellation {
            reason: cancel.reason.clone(),
            by: cancel.by.clone(),
        }),
        retry_of: job.config["retry_of"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        waits_for: waits.map(in_words).unwrap_or_default(),
        result: None,
    })
}

/// A job in a list.
pub(crate) fn summary(job: &JobSummary) -> messages::JobSummary {
    messages::JobSummary {
        job_id: job.id.to_string(),
        // Jobs made in Python had their own kinds.
        kind: match job.kind.strip_prefix("python_").unwrap_or(&job.kind) {
            "bisection" => messages::Kind::Bisection,
            "pairwise" => messages::Kind::Pairwise,
            "culprit_finder" => messages::Kind::CulpritFinder,
            _ => messages::Kind::Unspecified,
        } as i32,
        state: match job.state {
            JobState::Pending => messages::State::Pending,
            JobState::Running => messages::State::Running,
            JobState::Completed => messages::State::Completed,
            JobState::Failed => messages::State::Failed,
            JobState::Canceled => messages::State::Canceled,
            _ => messages::State::Unspecified,
        } as i32,
        name: job.name.clone(),
        title: job.title.clone(),
        benchmark: job.benchmark.clone(),
        bot: job.bot.clone(),
        user: job.user.clone(),
        repository: job.repository.clone(),
        created: Timestamp::of_milliseconds(job.created),
        updated: Timestamp::of_milliseconds(job.updated),
        running_s: job.duration.map(|duration| duration as f64 / 1000.0),
        runs: job.runs,
        builds: job.builds,
        error: job.error.clone().unwrap_or_default(),
        paused: job.paused,
        story: job.story.clone(),
        bug_id: job.bug,
        answer: job.answer.as_ref().map(answer),
        retriable: job.retriable,
    }
}

fn answer(answer: &JobAnswer) -> messages::JobAnswer {
    let (first_candidate, last_candidate) = answer.range.clone().unwrap_or_default();
    messages::JobAnswer {
        status: answer.status.clone(),
        git_hash: answer.commit.clone().unwrap_or_default(),
        culprits: answer.culprits,
        effect: (answer.effect.as_ref()).map(|it| effect(it, answer.culprits == 0)),
        first_candidate,
        last_candidate,
        candidates: answer.candidates,
        charts: answer.charts,
        moved: answer.moved,
        improved: answer.improved,
    }
}

/// An effect, of a comparison or of a culprit: the first is estimated in percent, the second in the
/// unit of the values.
fn effect(effect: &AnswerEffect, is_compared: bool) -> messages::JobEffect {
    let before = effect.before.map(f64::abs);
    let of_before = |convert: fn(f64, f64) -> f64| {
        let (estimate, before) = effect.estimate.zip(before)?;
        Some(convert(estimate, before)).filter(|it| it.is_finite())
    };
    let (estimate, percent) = match (is_compared, effect.of_failures) {
        (true, _) => (
            of_before(|percent, before| before * (percent / 100.0)),
            effect.estimate,
        ),
        (false, true) => (effect.estimate, None),
        (false, false) => (
            effect.estimate,
            of_before(|change, before| 100.0 * (change / before)),
        ),
    };
    messages::JobEffect {
        before: effect.before,
        after: effect.after,
        estimate,
        unit: effect.unit.clone().unwrap_or_default(),
        of_failures: effect.of_failures,
        percent,
    }
}

fn in_words(waiting: WaitingReason) -> String {
    match waiting {
        WaitingReason::Paused => "it is paused".into(),
        WaitingReason::Untrusted => "it was imported, and its commands are not allowed yet".into(),
        WaitingReason::NoWorker { bot, .. } => format!("no worker serves bot `{bot}`"),
        WaitingReason::NotTrusted { bot, .. } => {
            format!(
                "the workers of bot `{bot}` take jobs only that are signed with a key they trust"
            )
        }
        WaitingReason::Queued { workers, place } => {
            format!(
                "all workers of its bot ({workers}) are busy, and it is number {place} in the queue"
            )
        }
        WaitingReason::Stuck { reason } => reason,
        WaitingReason::AboutToBegin => "a worker is about to take it".into(),
        WaitingReason::Silent {
            worker, seconds, ..
        } => format!(
            "worker {worker} has it and gives no sign of life; in {seconds} s another may take it"
        ),
    }
}

/// A commit.
pub(crate) fn commit(commit: &CombinedCommit) -> messages::Commit {
    let dependencies = commit.modified_deps.iter().map(|it| messages::Dependency {
        repository: it.commit.repository.clone(),
        git_hash: it.commit.git_hash.clone(),
    });
    messages::Commit {
        repository: commit.main.repository.clone(),
        git_hash: commit.main.git_hash.clone(),
        dependencies: dependencies.collect(),
    }
}

/// A posterior whose commits have these names, as far as they are known.
pub(crate) fn posterior<C>(
    posterior: &Posterior<C>,
    name: impl Fn(&C) -> Option<messages::Commit>,
) -> messages::Posterior {
    let spans = posterior.spans.iter().map(|span| messages::Span {
        after: name(&span.after),
        last: name(&span.last),
        commits: span.commits,
        probability: span.probability,
    });
    messages::Posterior {
        no_change: posterior.no_change,
        spans: spans.collect(),
    }
}

/// The name of a variant, as serde writes it.
fn word(of: &impl Serialize) -> String {
    match serde_json::to_value(of) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(serde_json::Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

fn result(result: &JobResult) -> messages::Result {
    match result {
        JobResult::Bisection(result) => searched(result),
        JobResult::Pairwise(result) => compared(result),
        JobResult::CulpritFinder(result) => messages::Result {
            charts: charts(&result.verification),
            pairs: result.verification.pairs,
            ..searched(&result.search)
        },
        result => {
            let (stopped, reason) = stopped(result.stopped());
            messages::Result {
                status: result.state().to_string(),
                stopped,
                reason,
                ..messages::Result::default()
            }
        }
    }
}

fn stopped(stopped: &Stopped) -> (String, String) {
    let reason = match stopped {
        Stopped::Failed { reason, .. } | Stopped::Unlisted { reason } => reason.clone(),
        _ => String::new(),
    };
    (word(stopped), reason)
}

fn searched(result: &BisectionResult) -> messages::Result {
    let (stopped, reason) = stopped(&result.stopped);
    let posterior = result.posterior.as_ref();
    messages::Result {
        status: word(&result.status),
        stopped,
        reason,
        chart: result.chart.clone().unwrap_or_default(),
        unit: result.unit.clone().unwrap_or_default(),
        culprits: result.culprits.iter().map(culprit).collect(),
        candidates: result.candidates.iter().map(commit).collect(),
        posterior: posterior.map(|it| self::posterior(it, |place| Some(commit(place)))),
        charts: Vec::new(),
        pairs: 0,
        runs: result.runs,
        builds: result.builds,
        warnings: result.warnings.clone(),
    }
}

fn culprit(culprit: &NamedCulprit) -> messages::Culprit {
    let effect = &culprit.effect;
    messages::Culprit {
        commit: Some(commit(&culprit.commit)),
        prior: Some(commit(&culprit.prior)),
        blamed: Some(messages::Commit {
            repository: culprit.blamed.repository.clone(),
            git_hash: culprit.blamed.git_hash.clone(),
            dependencies: Vec::new(),
        }),
        probability: culprit.probability,
        before: effect.before,
        after: effect.after,
        estimate: effect.estimate,
        interval: effect.interval.as_ref().map(|interval| messages::Interval {
            low: interval.low,
            high: interval.high,
        }),
        of_failures: effect.of == EffectOf::Failures,
    }
}

fn compared(result: &PairwiseResult) -> messages::Result {
    let (stopped, reason) = stopped(&result.stopped);
    let only = match &result.charts[..] {
        [only] => Some(only),
        _ => None,
    };
    let charts = result.charts.iter().map(|named| messages::ChartComparison {
        unit: named.unit.clone().unwrap_or_default(),
        ..chart(&named.comparison)
    });
    messages::Result {
        status: word(&result.status),
        stopped,
        reason,
        chart: only.map_or_else(String::new, |it| it.comparison.chart.clone()),
        unit: only.and_then(|it| it.unit.clone()).unwrap_or_default(),
        charts: charts.collect(),
        pairs: result.pairs,
        runs: result.runs,
        builds: result.builds,
        warnings: result.warnings.clone(),
        ..messages::Result::default()
    }
}

fn charts(outcome: &PairwiseOutcome) -> Vec<messages::ChartComparison> {
    outcome.charts.iter().map(chart).collect()
}

fn chart(compared: &ChartComparison) -> messages::ChartComparison {
    let medians = compared.comparison.as_ref();
    messages::ChartComparison {
        chart: compared.chart.clone(),
        unit: String::new(),
        verdict: word(&compared.verdict()),
        p_value: compared.adjusted_p_value,
        base: medians.map(|it| it.control_median),
        experiment: medians.map(|it| it.treatment_median),
        moved: compared.moved(),
        improved: compared.improved(),
        error: compared.error.clone().unwrap_or_default(),
    }
}

/// Two jobs side by side.
pub(crate) fn side_by_side(
    job: messages::Job,
    other: messages::Job,
) -> messages::CompareJobsResponse {
    let charts = |job: &messages::Job| {
        let result = job.result.as_ref();
        result.map(|it| it.charts.clone()).unwrap_or_default()
    };
    let culprits = |job: &messages::Job| -> Vec<messages::Commit> {
        let found = job.result.iter().flat_map(|result| &result.culprits);
        found.filter_map(|it| it.blamed.clone()).collect()
    };
    let (of_job, of_other) = (charts(&job), charts(&other));
    let names = of_job.iter().chain(&of_other).map(|it| &it.chart);
    let find = |charts: &[messages::ChartComparison], name: &str| {
        charts.iter().find(|it| it.chart == name).cloned()
    };
    let charts = names.collect::<BTreeSet<_>>();
    let charts = charts.into_iter().map(|name| messages::ComparedChart {
        chart: name.clone(),
        job: find(&of_job, name),
        other: find(&of_other, name),
    });
    let charts = charts.collect();
    let (of_job, of_other) = (culprits(&job), culprits(&other));
    let without = |these: &[messages::Commit], those: &[messages::Commit]| {
        let rest = these.iter().filter(|commit| !those.contains(commit));
        rest.cloned().collect()
    };
    let both = of_job.iter().filter(|commit| of_other.contains(commit));
    messages::CompareJobsResponse {
        charts,
        both: both.cloned().collect(),
        only_job: without(&of_job, &of_other),
        only_other: without(&of_other, &of_job),
        job: Some(job),
        other: Some(other),
    }
}
