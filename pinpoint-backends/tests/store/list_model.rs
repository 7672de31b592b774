//! A model of lists: the documented rules, applied to one job at a time, and jobs and filters to
//! compare them with.

use pinpoint_backends::store::{JobFilter, JobSummary, ListOrder, NameParts, NewJob, SortBy};
use pinpoint_core::{JobState, Record};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::common::{Fixture, append_all, new_job, run_failed};

/// SQL wildcards and other cases are ordinary characters.
const PARTS: &[&str] = &["or", "t-1", "t.d", "'s", "%", "_", "SORT", "é v2"];

const NAMES: &[&str] = &["", "sort", "sort-1", "Sort", "layout.desktop", "it's", "Éa"];
const KINDS: &[&str] = &["bisection", "pairwise"];
const WORDS: &[&str] = &[
    "Sort",
    "layout desktop",
    "lay*",
    "s*",
    "sh",
    "tool v2",
    "é",
    "it's",
];

pub(crate) fn named(title: &str, name: &str, benchmark: &str, bot: &str, user: &str) -> NewJob {
    NewJob {
        name: name.into(),
        benchmark: benchmark.into(),
        bot: bot.into(),
        user: user.into(),
        ..new_job(title)
    }
}

fn any_of(words: &'static [&'static str]) -> impl Strategy<Value = String> + Clone {
    prop::sample::select(words).prop_map(str::to_owned)
}

/// A filter and an order, with a job to continue from: forward, or back.
pub(crate) fn any_filter(
    jobs: &[JobSummary],
) -> impl Strategy<Value = (JobFilter, ListOrder, Option<(JobSummary, bool)>)> {
    let rarely = |strategy| prop::option::weighted(0.3, strategy);
    let times: Vec<i64> = jobs.iter().map(|job| job.created).collect();
    let time = prop::option::weighted(0.2, prop::sample::select(times));
    let job = prop::sample::select(jobs.to_vec());
    let from = prop::option::weighted(0.7, (job, any::<bool>()));
    let order = (prop::sample::select(&SortBy::ALL[..]), any::<bool>());
    let order = order.prop_map(|(by, ascending)| ListOrder { by, ascending });
    (
        (
            rarely(any_of(NAMES)),
            rarely(any_of(NAMES)),
            prop::option::weighted(0.3, prop::collection::vec(any_of(NAMES), 1..=2)),
            rarely(any_of(NAMES)),
            prop::option::weighted(0.3, prop::collection::vec(any_of(KINDS), 1..=2)),
        ),
        prop::option::weighted(0.2, prop::sample::select(&JobState::ALL[..])),
        (time.clone(), time),
        (rarely(any_of(WORDS)), any_parts()),
        order,
        from,
    )
        .prop_map(
            |(
                (name, benchmark, bots, user, kinds),
                state,
                (since, until),
                (text, parts),
                order,
                from,
            )| {
                let filter = JobFilter {
                    name,
                    benchmark,
                    bots: bots.unwrap_or_default(),
                    by_workers: false,
                    user,
                    kinds: kinds.unwrap_or_default(),
                    state,
                    since,
                    until,
                    text,
                    parts,
                };
                (filter, order, from)
            },
        )
}

fn any_parts() -> impl Strategy<Value = NameParts> {
    let part = || prop_oneof![4 => Just(String::new()), 1 => any_of(PARTS)];
    (part(), part(), part(), part()).prop_map(|(name, benchmark, bot, user)| NameParts {
        name,
        benchmark,
        bot,
        user,
    })
}

fn parts_fit(parts: &NameParts, job: &JobSummary) -> bool {
    let shown = match &*job.name {
        "" => &job.title,
        name => name,
    };
    shown.contains(&parts.name)
        && job.benchmark.contains(&parts.benchmark)
        && job.bot.contains(&parts.bot)
        && job.user.contains(&parts.user)
}

/// The documented rules, applied to one job.
pub(crate) fn fits(filter: &JobFilter, job: &JobSummary) -> bool {
    let equal =
        |wanted: &Option<String>, there: &str| wanted.as_ref().is_none_or(|wanted| wanted == there);
    let error = job.error.clone().unwrap_or_default();
    let text = [
        &job.name,
        &job.benchmark,
        &job.bot,
        &job.user,
        &job.title,
        &job.repository,
        &error,
    ]
    .map(|text| text.to_lowercase())
    .join(" ");
    let words: Vec<&str> = text
        .split(|character: char| !character.is_alphanumeric())
        .collect();
    let has = |wanted: &str| {
        let plain = wanted.to_lowercase();
        let mut parts = plain.split(|character: char| !character.is_alphanumeric());
        parts.clone().filter(|part| !part.is_empty()).count() == 0
            || parts.all(|part| match wanted.ends_with('*') {
                true => words.iter().any(|word| word.starts_with(part)),
                false => part.is_empty() || words.contains(&part),
            })
    };
    equal(&filter.name, &job.name)
        && equal(&filter.benchmark, &job.benchmark)
        && (filter.bots.is_empty() || filter.bots.contains(&job.bot))
        && equal(&filter.user, &job.user)
        && (filter.kinds.is_empty() || filter.kinds.contains(&job.kind))
        && parts_fit(&filter.parts, job)
        && filter.state.is_none_or(|state| state == job.state)
        && filter.since.is_none_or(|since| job.created >= since)
        && filter.until.is_none_or(|until| job.created < until)
        && (filter.text.iter().flat_map(|text| text.split_whitespace())).all(has)
}

/// The value by which an order sorts a job.
pub(crate) fn value(by: SortBy, job: &JobSummary) -> (String, i64) {
    let text = |text: &str| (text.to_lowercase(), 0);
    let number = |number| (String::new(), number);
    match by {
        SortBy::Created => number(0),
        SortBy::Name if job.name.is_empty() => text(&job.title),
        SortBy::Name => text(&job.name),
        SortBy::Benchmark => text(&job.benchmark),
        SortBy::Bot => text(&job.bot),
        SortBy::Kind => text(&job.kind),
        SortBy::User => text(&job.user),
        SortBy::State => text(job.state.as_str()),
        SortBy::Story => text(&job.story),
        SortBy::Bug => number(job.bug.unwrap_or(-1)),
        SortBy::Result => number(job.answer.as_ref().map_or(0, |answer| {
            let kinds = ["", "canceled", "failed", "no_regression", "inconclusive"];
            let kind = kinds.iter().position(|kind| *kind == answer.status);
            let effect = answer.effect.as_ref().and_then(|effect| effect.estimate);
            let size = effect.map_or(answer.candidates as i64, |change| (change * 1e5) as i64);
            (kind.unwrap_or(kinds.len()) as i64) << 32 | size
        })),
        SortBy::Runs => number(job.runs as i64),
        SortBy::Duration => number(job.duration.unwrap_or(-1)),
        other => unreachable!("{other:?}"),
    }
}

/// Compares as an order does.
pub(crate) fn compare(
    order: ListOrder,
    one: &JobSummary,
    other: &JobSummary,
) -> std::cmp::Ordering {
    let key = |job: &JobSummary| (value(order.by, job), job.id.clone());
    let compared = key(one).cmp(&key(other));
    if order.ascending {
        compared
    } else {
        compared.reverse()
    }
}

/// Results of all kinds, and none.
fn outcomes() -> Vec<Option<Value>> {
    let commit = json!({ "main": { "repository": "/r", "git_hash": "a" } });
    let found = |change: f64| {
        let effect =
            json!({ "of": "values", "before": 10.0, "after": 10.0 + change, "estimate": change });
        let culprit =
            json!({ "blamed": { "repository": "/r", "git_hash": "b" }, "effect": effect });
        json!({ "status": "culprit_found", "culprits": [culprit] })
    };
    let mut outcomes = vec![None, Some(found(1.0)), Some(found(2.5))];
    for status in ["no_regression", "failed", "canceled"] {
        outcomes.push(Some(json!({ "status": status })));
    }
    for candidates in 1..3 {
        let left = json!({ "status": "inconclusive", "candidates": vec![&commit; candidates] });
        outcomes.push(Some(left));
    }
    outcomes
}

/// Jobs of all states, with few values in each column.
pub(crate) async fn fill(fixture: &Fixture, runner: &mut TestRunner, jobs: usize) {
    let store = &fixture.store;
    let fields = (
        (
            any_of(NAMES),
            any_of(NAMES),
            any_of(NAMES),
            any_of(NAMES),
            any_of(KINDS),
        ),
        any_of(&[
            "pinpoint bisect v1 v2 -- ./bench.sh",
            "-- time SORT --n=1",
            "é v2",
        ]),
        any_of(&["/src/tool", "/src/é"]),
        any_of(&["lay out", "exit code 1"]),
        prop::sample::select(&JobState::ALL[..]),
        0..3u64,
        (
            any_of(&["", "small", "Large"]),
            prop::sample::select(&[None, Some(0), Some(7), Some(12)][..]),
            prop::sample::select(outcomes()),
        ),
    );
    for number in 0..jobs {
        let ((name, benchmark, bot, user, kind), title, repository, error, state, runs, more) =
            fields.new_tree(runner).unwrap().current();
        let (story, bug, outcome) = more;
        let bug = bug.map_or_else(String::new, |bug: u32| bug.to_string());
        let job = NewJob {
            kind,
            repository,
            config: json!({ "request": { "story": story, "bugId": bug } }),
            ..named(&title, &name, &benchmark, &bot, &user)
        };
        let id = store.jobs().create(&job).await.unwrap();
        let mut journal = store.journals().open(&id).await.unwrap();
        let records: Vec<Record> = (0..runs).map(run_failed).collect();
        append_all(&mut journal, &records).await;
        let states = match state {
            JobState::Pending => vec![],
            JobState::Running => vec![state],
            _ => vec![JobState::Running, state],
        };
        for state in states {
            let error = (state == JobState::Failed).then_some(&*error);
            let outcome = outcome.as_ref().filter(|_| state == JobState::Completed);
            store
                .jobs()
                .set_state(&id, state, error, outcome)
                .await
                .unwrap();
        }
        if state == JobState::Canceled && number % 2 == 0 {
            // One that continues, and one that has had its turn.
            store.jobs().resume(&id, None, None).await.unwrap();
        }
        // It also counts late ones.
        append_all(&mut journal, &[run_failed(runs)]).await;
    }
    let durations = "UPDATE jobs SET duration = runs * 7 % 3 WHERE duration IS NOT NULL";
    fixture.behind_its_back(durations).await;
}
