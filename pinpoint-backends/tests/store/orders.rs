//! Lists in any order, page by page, along its index.

use std::collections::BTreeMap;
use std::time::Duration;

use pinpoint_backends::store::{
    JobFilter, JobId, JobStore, JobSummary, ListOrder, NewJob, PagePosition, SortBy,
};
use pinpoint_core::JobState;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::common::{
    BACK_TO_5, BACK_TO_6, Backend, Fixture, all, append_all, new_job, open, run_failed,
};
use crate::list_model::{compare, fill, fits, named, value};
use crate::lists::create;
use crate::on_both;

on_both! {
    pages_of_any_order_miss_no_job_while_others_change,
    many_jobs_are_sorted_along_an_index,
    letters_of_either_case_and_of_any_script_are_sorted_alike,
    jobs_of_versions_5_and_6_have_all_that_a_list_shows,
}

/// All pages of a list, from one end or the other. Ends in spite of concurrent changes.
async fn pages(
    store: &JobStore,
    filter: &JobFilter,
    order: ListOrder,
    is_back: bool,
) -> Vec<JobSummary> {
    let order = ListOrder {
        ascending: order.ascending != is_back,
        ..order
    };
    let mut jobs: Vec<JobSummary> = Vec::new();
    let mut place = PagePosition::First;
    if is_back {
        // The same list, from its end on.
        let page = store
            .jobs()
            .list(filter, order, &PagePosition::First, 1)
            .await
            .unwrap();
        jobs.extend(page.jobs);
        place = PagePosition::Before(order.key_of(jobs.first().unwrap()));
    }
    let order = ListOrder {
        ascending: order.ascending != is_back,
        ..order
    };
    loop {
        let page = store.jobs().list(filter, order, &place, 3).await.unwrap();
        let last = match is_back {
            true => page.jobs.first().cloned(),
            false => page.jobs.last().cloned(),
        };
        match is_back {
            true => jobs.extend(page.jobs.into_iter().rev()),
            false => jobs.extend(page.jobs),
        }
        match last {
            Some(last) if page.more && is_back => place = PagePosition::Before(order.key_of(&last)),
            Some(last) if page.more => place = PagePosition::After(order.key_of(&last)),
            _ => break,
        }
    }
    if is_back {
        jobs.reverse();
    }
    jobs
}

/// Half of the jobs stay unchanged: each is on one page, in order. Of the others some change their
/// states, some are run, some are removed, and new ones are created.
async fn pages_of_any_order_miss_no_job_while_others_change(fixture: Fixture) {
    let store = &fixture.store;
    let mut runner = TestRunner::deterministic();
    fill(&fixture, &mut runner, 40).await;
    let jobs = all(store).await;
    let (stay, change): (Vec<_>, Vec<_>) = jobs
        .into_iter()
        .enumerate()
        .partition(|(number, _)| number % 2 == 0);
    let stay: BTreeMap<JobId, JobSummary> = stay
        .into_iter()
        .map(|(_, job)| (job.id.clone(), job))
        .collect();
    let changing = async {
        let mut number = 0;
        loop {
            for (_, job) in &change {
                number += 1;
                match number % 4 {
                    0 => drop(
                        store
                            .jobs()
                            .set_state(&job.id, JobState::Running, None, None)
                            .await,
                    ),
                    1 => drop(
                        store
                            .jobs()
                            .set_state(&job.id, JobState::Failed, None, None)
                            .await,
                    ),
                    2 => {
                        let mut journal = store.journals().open(&job.id).await.unwrap();
                        append_all(&mut journal, &[run_failed(number)]).await;
                    }
                    _ => drop(create(store, "sort").await),
                }
                // So that a list ends in spite of new jobs.
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    };
    let paging = async {
        for by in SortBy::ALL {
            for (ascending, is_back) in [(true, false), (false, false), (true, true), (false, true)]
            {
                let order = ListOrder { by, ascending };
                let seen = pages(store, &JobFilter::default(), order, is_back).await;
                let seen: Vec<&JobSummary> = seen
                    .iter()
                    .filter(|job| stay.contains_key(&job.id))
                    .collect();
                let mut expected: Vec<&JobSummary> = stay.values().collect();
                expected.sort_by(|one, other| compare(order, one, other));
                assert_eq!(seen, expected, "{order:?} {is_back}");
            }
        }
    };
    tokio::select! {
        () = changing => {}
        () = paging => {}
    }
}

/// Jobs with few values in each column, a tenth of them of one user.
async fn many(fixture: &Fixture, count: u64) {
    let sql = format!(
        "INSERT INTO jobs (number, id, kind, state, created, updated, duration, name, \
         benchmark, bot, username, repository, title, runs, journal_version, written_by, \
         words, spec, config, name_key, benchmark_key, bot_key, user_key, runs_key, story, \
         story_key, bug, answer, answer_key) \
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}), \
         named AS (SELECT i, 'name' || CAST(i % 9 AS TEXT) AS name, \
         'benchmark' || CAST(i % 8 AS TEXT) AS benchmark, 'bot' || CAST(i % 11 AS TEXT) AS bot, \
         CASE WHEN i % 10 = 0 THEN 'ada' ELSE 'bob' END AS username FROM n) \
         SELECT i, '0000000000007000800000' || CAST(1000000000 + i AS TEXT), \
         CASE WHEN i % 3 = 0 THEN 'pairwise' ELSE 'bisection' END, \
         CASE WHEN i % 500 = 0 THEN 'running' ELSE 'completed' END, 0, 0, i % 7, name, benchmark, \
         bot, username, '', '', i % 13, 1, '', 'word user＝' || username, 'null', 'null', name, \
         benchmark, bot, username, CASE WHEN i % 500 = 0 THEN -1 ELSE i % 13 END, \
         'story' || CAST(i % 6 AS TEXT), 'story' || CAST(i % 6 AS TEXT), nullif(i % 5, 0), \
         CASE WHEN i % 4 > 0 THEN '{{\"status\":\"inconclusive\",\"candidates\":' \
         || CAST(i % 4 AS TEXT) || '}}' END, CASE WHEN i % 4 > 0 THEN 4000000000000000 + i % 4 \
         ELSE 0 END FROM named"
    );
    fixture.behind_its_back(&sql).await;
    if !fixture.is_sqlite() {
        fixture.behind_its_back("ANALYZE jobs").await;
    }
}

/// Too many to be collected first, under any condition.
async fn many_jobs_are_sorted_along_an_index(fixture: Fixture) {
    let store = &fixture.store;
    many(&fixture, 12_000).await;
    let jobs = store
        .jobs()
        .list_skipping(&JobFilter::default(), 0, 12_000)
        .await
        .unwrap();
    let filters = [
        JobFilter {
            user: Some("bob".into()),
            ..JobFilter::default()
        },
        JobFilter {
            text: Some("word".into()),
            user: Some("bob".into()),
            ..JobFilter::default()
        },
        JobFilter {
            state: Some(JobState::Completed),
            ..JobFilter::default()
        },
    ];
    let fitting = filters.each_ref().map(|filter| {
        let fits = jobs.iter().map(|job| fits_name(filter, job));
        fits.collect::<Vec<bool>>()
    });
    for by in SortBy::ALL {
        let mut sorted: Vec<usize> = (0..jobs.len()).collect();
        sorted.sort_by_cached_key(|&place| (value(by, &jobs[place]), jobs[place].id.clone()));
        for (filter, fitting) in filters.iter().zip(&fitting) {
            for ascending in [true, false] {
                let order = ListOrder { by, ascending };
                let places = sorted.iter().filter(|&&place| fitting[place]);
                let mut expected: Vec<_> = places.map(|&place| &jobs[place]).collect();
                if !ascending {
                    expected.reverse();
                }
                let middle = expected.len() / 2;
                let key = order.key_of(expected[middle]);
                for (place, expected) in [
                    (PagePosition::First, &expected[..5]),
                    (
                        PagePosition::After(key.clone()),
                        &expected[middle + 1..middle + 6],
                    ),
                    (PagePosition::Before(key), &expected[middle - 5..middle]),
                ] {
                    let page = store.jobs().list(filter, order, &place, 5).await.unwrap();
                    let page: Vec<_> = page.jobs.iter().collect();
                    assert_eq!(page, expected, "{filter:?} {order:?} {place:?}");
                }
            }
        }
    }
}

/// As [`fits`], for jobs that have the word.
fn fits_name(filter: &JobFilter, job: &JobSummary) -> bool {
    let filter = JobFilter {
        text: None,
        ..filter.clone()
    };
    fits(&filter, job)
}

async fn letters_of_either_case_and_of_any_script_are_sorted_alike(fixture: Fixture) {
    let store = &fixture.store;
    let long = "x".repeat(200);
    let names = [
        "b",
        "A",
        "a",
        "B",
        "10",
        "9",
        "",
        "É",
        "é",
        "Z",
        "ß",
        "日本",
        "Ж",
        "ж",
        "_",
        "-a",
        "a b",
        "A_B",
        "a\u{0}",
        "\u{1f600}",
        &long,
        &format!("{long}a"),
        &format!("{}b", long.to_uppercase()),
    ];
    for name in names {
        store
            .jobs()
            .create(&named("", name, "", "", ""))
            .await
            .unwrap();
    }
    for ascending in [true, false] {
        let order = ListOrder {
            by: SortBy::Name,
            ascending,
        };
        let page = store
            .jobs()
            .list(&JobFilter::default(), order, &PagePosition::First, 100)
            .await
            .unwrap();
        let mut sorted: Vec<(String, &JobSummary)> = (page.jobs.iter())
            .map(|job| (job.name.to_lowercase().chars().take(100).collect(), job))
            .collect();
        if !ascending {
            sorted.reverse();
        }
        assert!(
            sorted.is_sorted_by_key(|(name, job)| (name, &job.id)),
            "{sorted:?}"
        );
        assert_eq!(sorted.len(), names.len());
        assert_eq!(sorted[0].1.name, "");
        for is_back in [false, true] {
            let paged = pages(store, &JobFilter::default(), order, is_back).await;
            assert_eq!(paged, page.jobs);
        }
    }
}

/// Many enough for several steps of the upgrade.
async fn jobs_of_versions_5_and_6_have_all_that_a_list_shows(fixture: Fixture) {
    let store = &fixture.store;
    fill(&fixture, &mut TestRunner::deterministic(), 50).await;
    let asked = NewJob {
        config: json!({ "request": { "story": "large", "bugId": "123456" }, "text": "\u{0}" }),
        ..new_job("asked for")
    };
    let id = store.jobs().create(&asked).await.unwrap();
    let outcome = json!({ "status": "no_regression", "reason": "\u{0}", "culprits": [] });
    for (state, outcome) in [
        (JobState::Running, None),
        (JobState::Completed, Some(&outcome)),
    ] {
        store
            .jobs()
            .set_state(&id, state, None, outcome)
            .await
            .unwrap();
    }
    let lists = async |store: &JobStore| {
        let mut lists = Vec::new();
        for by in SortBy::ALL {
            let order = ListOrder {
                by,
                ascending: true,
            };
            let page = (store
                .jobs()
                .list(&JobFilter::default(), order, &PagePosition::First, 100))
            .await
            .unwrap();
            lists.push(page.jobs);
        }
        lists
    };
    let before = lists(store).await;
    let newest = before[0].last().unwrap();
    assert_eq!((&*newest.story, newest.bug), ("large", Some(123_456)));
    let answer = newest.answer.as_ref().unwrap();
    assert_eq!(answer.status, "no_regression");
    assert_eq!(
        JobSummary::from(&store.jobs().get(&id).await.unwrap()),
        *newest
    );

    let back: [(u32, &[&str]); 2] = [(6, &[]), (5, &BACK_TO_5)];
    for (version, back) in back {
        for sql in BACK_TO_6.iter().chain(back) {
            fixture.behind_its_back(sql).await;
        }
        let mark = match fixture.is_sqlite() {
            true => format!("PRAGMA user_version = {version}"),
            false => format!(
                "DELETE FROM pinpoint_schema; INSERT INTO pinpoint_schema VALUES ({version})"
            ),
        };
        fixture.behind_its_back(&mark).await;
        let store = open(&fixture.place()).await;
        assert_eq!(lists(&store).await, before, "{version}");
    }
    let store = open(&fixture.place()).await;
    store.jobs().create(&asked).await.unwrap();
}

/// Infers the plans of PostgreSQL: from too many jobs to sort, and the counts of its uses of each
/// index.
#[tokio::test]
async fn postgres_walks_along_the_index_of_an_order() {
    let fixture = Fixture::with_backend(Backend::Postgres).await;
    many(&fixture, 30_000).await;
    let store = fixture.store.clone();
    let user = JobFilter {
        user: Some("ada".into()),
        ..JobFilter::default()
    };
    for filter in [JobFilter::default(), user] {
        for by in SortBy::ALL {
            for ascending in [true, false] {
                let order = ListOrder { by, ascending };
                let page = store
                    .jobs()
                    .list(&filter, order, &PagePosition::First, 50)
                    .await
                    .unwrap();
                let after = PagePosition::After(order.key_of(page.jobs.last().unwrap()));
                store.jobs().list(&filter, order, &after, 50).await.unwrap();
            }
        }
    }
    // Connections report their counts when they end.
    store.close().await;
    let used = "SELECT CAST(indexrelname AS TEXT), CAST(idx_scan AS TEXT) \
                FROM pg_stat_user_indexes WHERE idx_scan >= 4 AND (indexrelname ~ '^jobs_sorted_' \
                OR indexrelname ~ '^jobs_of_user_' OR indexrelname IN ('jobs_by_kind', 'jobs_by_state'))";
    let mut indices = Vec::new();
    for _ in 0..1000 {
        indices = fixture.seen_behind_its_back(used).await;
        if indices.len() == 21 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{indices:?}");
}
