//! A job in the form of the API that Chromium's Pinpoint replaced: its question, and each
//! commit with its runs. All of it comes from the job and its journal.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_backends::job::{JobError, spec_of, stored_result};
use pinpoint_backends::store::Job;
use pinpoint_core::api::legacy_job_response::state::attempt::Execution;
use pinpoint_core::api::legacy_job_response::state::{Attempt, Change, Comparison};
use pinpoint_core::api::legacy_job_response::{Argument, State};
use pinpoint_core::api::{CombinedCommit, LegacyJobResponse, Timestamp};
use pinpoint_core::job::{BisectionResult, JobResult};
use pinpoint_core::{
    Answered, Answers, BisectionSpec, Charts, CommitOrder, Direction, Event, Machine, Magnitude,
    Position, Range, Report, Task,
};
use serde_json::Value;

use super::state_name;

/// A job and the answers in its journal.
pub(super) fn response(job: &Job, answers: &Answers) -> Result<LegacyJobResponse, JobError> {
    let request = &job.config["request"];
    let text = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
    let spec = spec_of(job)?;
    let spec = spec.bisection();
    let result = stored_result(job)?;
    let result = result.as_ref().and_then(JobResult::bisection);
    let (states, bots) = states(answers, result);
    let direction = spec.map_or(Direction::Unknown, |spec| spec.direction);
    let differences = result.map_or(0, |result| result.culprits.len());
    Ok(LegacyJobResponse {
        job_id: job.id.to_string(),
        configuration: job.bot.clone(),
        improvement_direction: match direction {
            Direction::Up => 0,
            Direction::Down => 1,
            Direction::Unknown => 4,
        },
        arguments: Some(argument(job, spec, request)),
        bug_id: text("bugId"),
        project: text("project"),
        comparison_mode: "performance".into(),
        name: match job.name.is_empty() {
            true => job.title.clone(),
            false => job.name.clone(),
        },
        user: job.user.clone(),
        created: Timestamp::of_milliseconds(job.created),
        updated: Timestamp::of_milliseconds(job.updated),
        difference_count: i32::try_from(differences).unwrap_or(i32::MAX),
        exception: job.error.clone().unwrap_or_default(),
        status: state_name(job.state).into(),
        cancel_reason: (job.cancel.as_ref())
            .map(|cancel| cancel.reason.clone())
            .unwrap_or_default(),
        bots: bots.into_iter().collect(),
        metric: deciding(answers).unwrap_or_default(),
        quests: vec!["Run".into()],
        state: states,
        ..LegacyJobResponse::default()
    })
}

fn argument(job: &Job, spec: Option<&BisectionSpec>, request: &Value) -> Argument {
    let text = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
    let ends = spec.map(|spec| &spec.range);
    let (good, bad) = match ends {
        Some(Range::Between { good, bad }) => (&*good.main.git_hash, &*bad.main.git_hash),
        _ => ("", ""),
    };
    let magnitude = match spec.and_then(|spec| spec.magnitude) {
        Some(Magnitude::Absolute(magnitude)) => magnitude,
        _ => 0.0,
    };
    // A request's tags are a JSON object of texts.
    let tags = serde_json::from_str::<BTreeMap<String, String>>(&text("tags"));
    Argument {
        comparison_mode: "performance".into(),
        target: text("target"),
        start_git_hash: good.into(),
        end_git_hash: bad.into(),
        trace: text("story"),
        tags: tags.unwrap_or_default(),
        initial_attempt_count: text("initialAttemptCount").parse().unwrap_or_default(),
        configuration: job.bot.clone(),
        benchmark: job.benchmark.clone(),
        story: text("story"),
        story_tags: text("storyTags"),
        chart: text("chart"),
        statistic: text("aggregationMethod"),
        comparison_magnitude: magnitude,
        extra_test_args: text("extraArgs"),
        pin: text("pin"),
        project: text("project"),
        bug_id: text("bugId"),
        ..Argument::default()
    }
}

/// The chart that decides; none where all are compared.
fn deciding(answers: &Answers) -> Option<String> {
    match answers.engine.machine().charts() {
        Charts::Deciding(chart) => chart,
        Charts::All => None,
    }
}

/// The commits that were run, oldest first, and the machines that ran them.
fn states(answers: &Answers, result: Option<&BisectionResult>) -> (Vec<State>, BTreeSet<String>) {
    let order = CommitOrder::of(answers.answers.iter().map(|answer| &answer.task));
    let mut runs: BTreeMap<Vec<u64>, (Position, Vec<Attempt>)> = BTreeMap::new();
    let mut bots = BTreeSet::new();
    let decides = deciding(answers);
    for answer in &answers.answers {
        for run in self::runs(answer) {
            bots.extend(run.bot.map(str::to_owned));
            let commit = runs.entry(order.key(run.commit));
            let (_, attempts) = commit.or_insert((run.commit, Vec::new()));
            attempts.push(attempt(&run, decides.as_deref()));
        }
    }
    let named: Vec<_> = (runs.into_values())
        .map(|(position, attempts)| (answers.engine.names().commit(position), attempts))
        .collect();
    let verdict = |older: usize| {
        let [lower, higher] = [named.get(older)?.0?, named.get(older + 1)?.0?];
        let compared = result?.comparisons.iter().rev();
        let mut compared =
            compared.filter(|found| found.lower == *lower && found.higher == *higher);
        compared.next().map(|found| found.verdict.to_string())
    };
    let states = named
        .iter()
        .enumerate()
        .map(|(place, (commit, attempts))| State {
            change: commit
                .and_then(|commit| CombinedCommit::try_from(commit).ok())
                .map(|commit| {
                    let commits = commit.main.into_iter().chain(commit.modified_deps);
                    Change {
                        commits: commits.collect(),
                    }
                }),
            attempts: attempts.clone(),
            comparisons: Some(Comparison {
                next: verdict(place).unwrap_or_default(),
                prev: place.checked_sub(1).and_then(verdict).unwrap_or_default(),
            }),
            values: attempts
                .iter()
                .flat_map(|attempt| attempt.result_values.clone())
                .collect(),
        });
    (states.collect(), bots)
}

/// A run in an answer.
pub(super) struct Run<'a> {
    pub(super) commit: Position,
    /// By their chart; absent where it failed.
    pub(super) values: Option<&'a BTreeMap<String, Vec<f64>>>,
    pub(super) failure: Option<&'a str>,
    /// The machine.
    pub(super) bot: Option<&'a str>,
}

/// The runs in an answer.
pub(super) fn runs(answer: &Answered) -> Vec<Run<'_>> {
    match (&answer.task, &answer.report, &answer.event) {
        (Task::Run { commit, .. }, Report::Ran(report), Event::Ran { values, .. }) => vec![Run {
            commit: *commit,
            values: Some(values),
            failure: None,
            bot: report.bot.as_deref(),
        }],
        (Task::Run { commit, .. }, Report::Ran(report), Event::RunFailed { reason, .. }) => {
            vec![Run {
                commit: *commit,
                values: None,
                failure: Some(reason),
                bot: report.bot.as_deref(),
            }]
        }
        (
            Task::RunPair { first, second, .. },
            Report::RanPair(pair),
            Event::RanPair {
                first: one,
                second: other,
                ..
            },
        ) => vec![
            Run {
                commit: *first,
                values: Some(&one.values),
                failure: one.failure.as_deref(),
                bot: pair.first.bot.as_deref(),
            },
            Run {
                commit: *second,
                values: Some(&other.values),
                failure: other.failure.as_deref(),
                bot: pair.second.bot.as_deref(),
            },
        ],
        _ => Vec::new(),
    }
}

/// A run, with its values of the chart that decides.
fn attempt(run: &Run<'_>, decides: Option<&str>) -> Attempt {
    let values = run.values.and_then(|values| values.get(decides?));
    Attempt {
        executions: vec![Execution {
            completed: true,
            exception: run.failure.unwrap_or_default().to_owned(),
            details: Vec::new(),
        }],
        result_values: values.cloned().unwrap_or_default(),
    }
}
