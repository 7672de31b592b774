//! Lists: exactly the jobs of a filter, page by page.

use pinpoint_backends::store::{
    JobFilter, JobId, JobStore, JobSummary, ListOrder, NameParts, NewJob, PagePosition, StoreError,
    Total,
};
use pinpoint_core::{BuildReport, Commit, JobState, Record, Report};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::common::{Fixture, all, found, new_job};
use crate::list_model::{any_filter, compare, fill, fits, named};
use crate::on_both;

on_both! {
    each_filter_finds_its_jobs,
    any_filter_finds_what_a_look_at_every_job_finds,
    pages_follow_one_another_both_ways,
    going_on_from_a_job_is_the_same_whatever_changed,
    words_are_found_whatever_stands_between_them,
    an_error_is_found_by_its_words_as_long_as_it_stands,
    jobs_are_counted_up_to_ten_thousand,
    nonsense_finds_nothing_and_breaks_nothing,
    a_part_of_a_name_is_found_and_jobs_are_skipped,
    the_last_builds_of_a_bot_come_first,
    a_name_of_a_thousand_letters_of_any_script_is_kept_and_found,
}

async fn each_filter_finds_its_jobs(fixture: Fixture) {
    let store = &fixture.store;
    let one = named("one", "n", "b", "m", "u");
    let others = [
        NewJob {
            name: "x".into(),
            ..one.clone()
        },
        NewJob {
            benchmark: "x".into(),
            ..one.clone()
        },
        NewJob {
            bot: "x".into(),
            ..one.clone()
        },
        NewJob {
            user: "x".into(),
            ..one.clone()
        },
        NewJob {
            kind: "x".into(),
            ..one.clone()
        },
    ];
    let id = store.jobs().create(&one).await.unwrap();
    let x = || Some("x".to_owned());
    let filters = [
        JobFilter {
            name: x(),
            ..JobFilter::default()
        },
        JobFilter {
            benchmark: x(),
            ..JobFilter::default()
        },
        JobFilter {
            bots: vec!["x".into()],
            ..JobFilter::default()
        },
        JobFilter {
            user: x(),
            ..JobFilter::default()
        },
        JobFilter {
            kinds: vec!["x".into()],
            ..JobFilter::default()
        },
    ];
    for (other, filter) in others.iter().zip(filters) {
        assert_eq!(found(store, filter.clone()).await, [], "{filter:?}");
        let other = store.jobs().create(other).await.unwrap();
        let list = found(store, filter.clone()).await;
        assert_eq!(list.len(), 1, "{filter:?}");
        assert_eq!(list[0].id, other);
        // All conditions at once must all be true.
        let filter = JobFilter {
            state: Some(JobState::Failed),
            ..filter
        };
        assert_eq!(found(store, filter).await, []);
    }
    let job = store.jobs().get(&id).await.unwrap();
    assert_eq!(
        [&job.name, &job.benchmark, &job.bot, &job.user],
        ["n", "b", "m", "u"]
    );
    let summary = all(store).await.pop().unwrap();
    assert_eq!(
        [summary.name, summary.benchmark, summary.bot, summary.user],
        ["n", "b", "m", "u"]
    );

    let since = |time| JobFilter {
        since: Some(time),
        ..JobFilter::default()
    };
    let until = |time| JobFilter {
        until: Some(time),
        ..JobFilter::default()
    };
    assert_eq!(found(store, since(job.created)).await.len(), 6);
    assert_eq!(found(store, until(job.created)).await, []);
    assert!(
        !found(store, since(job.created + 1))
            .await
            .iter()
            .any(|job| job.id == id)
    );
    assert!(
        found(store, until(job.created + 1))
            .await
            .iter()
            .any(|job| job.id == id)
    );
    assert_eq!(found(store, since(i64::MAX)).await, []);
    assert_eq!(found(store, until(i64::MIN)).await, []);
    assert_eq!(found(store, until(i64::MAX)).await.len(), 6);
}

async fn any_filter_finds_what_a_look_at_every_job_finds(fixture: Fixture) {
    let store = &fixture.store;
    let mut runner = TestRunner::deterministic();
    fill(&fixture, &mut runner, 200).await;
    let jobs = all(store).await;
    let filters = any_filter(&jobs);
    let mut some = 0;
    for _ in 0..600 {
        let (filter, order, from) = filters.new_tree(&mut runner).unwrap().current();
        let mut expected: Vec<JobSummary> = jobs
            .iter()
            .filter(|job| fits(&filter, job))
            .cloned()
            .collect();
        let count = expected.len() as u64;
        expected.sort_by(|one, other| compare(order, one, other));
        if let Some((from, is_back)) = &from {
            let wanted = if *is_back {
                std::cmp::Ordering::Less
            } else {
                std::cmp::Ordering::Greater
            };
            expected.retain(|job| compare(order, job, from) == wanted);
        }
        let place = match &from {
            None => PagePosition::First,
            Some((job, false)) => PagePosition::After(order.key_of(job)),
            Some((job, true)) => PagePosition::Before(order.key_of(job)),
        };
        const LIMIT: usize = 7;
        let more = expected.len() > LIMIT;
        match &place {
            PagePosition::Before(_) => drop(expected.drain(..expected.len().saturating_sub(LIMIT))),
            PagePosition::First | PagePosition::After(_) => expected.truncate(LIMIT),
        }
        let page = (store.jobs().list(&filter, order, &place, LIMIT as u32))
            .await
            .unwrap();
        assert_eq!(page.jobs, expected, "{filter:?} {order:?} {place:?}");
        assert_eq!(page.more, more, "{filter:?} {order:?} {place:?}");
        some += usize::from(!expected.is_empty());

        assert_eq!(
            store.jobs().count(&filter).await.unwrap(),
            Total::Exactly(count),
            "{filter:?}"
        );
    }
    assert!(some > 200, "hardly any filter found anything: {some}");
}

pub(crate) async fn create(store: &JobStore, benchmark: &str) -> JobId {
    store
        .jobs()
        .create(&named("a job", "", benchmark, "", ""))
        .await
        .unwrap()
}

fn of_benchmark(benchmark: &str) -> JobFilter {
    JobFilter {
        benchmark: Some(benchmark.into()),
        ..JobFilter::default()
    }
}

async fn pages_follow_one_another_both_ways(fixture: Fixture) {
    let store = &fixture.store;
    for number in 0..60 {
        create(store, if number % 3 == 0 { "a" } else { "b" }).await;
    }
    for filter in [
        JobFilter::default(),
        of_benchmark("a"),
        of_benchmark("none"),
    ] {
        let whole = found(store, filter.clone()).await;
        for size in [1, 7, 20, 60, 100] {
            let mut forth: Vec<JobSummary> = Vec::new();
            let mut place = PagePosition::First;
            loop {
                let page = store
                    .jobs()
                    .list(&filter, ListOrder::default(), &place, size)
                    .await
                    .unwrap();
                forth.extend(page.jobs);
                match forth.last() {
                    Some(last) if page.more => place = PagePosition::After(last.id.clone().into()),
                    _ => break,
                }
            }
            assert_eq!(forth, whole);

            let Some(last) = whole.last() else { continue };
            let mut back = vec![last.clone()];
            loop {
                let place = PagePosition::Before(back[0].id.clone().into());
                let mut page = store
                    .jobs()
                    .list(&filter, ListOrder::default(), &place, size)
                    .await
                    .unwrap();
                page.jobs.append(&mut back);
                back = page.jobs;
                if !page.more {
                    break;
                }
            }
            assert_eq!(back, whole);
        }
        let nothing = store
            .jobs()
            .list(&filter, ListOrder::default(), &PagePosition::First, 0)
            .await
            .unwrap();
        assert_eq!((nothing.jobs.len(), nothing.more), (0, !whole.is_empty()));
    }
}

async fn going_on_from_a_job_is_the_same_whatever_changed(fixture: Fixture) {
    let store = &fixture.store;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(create(store, "a").await);
    }
    let page = async |place| {
        let page = (store
            .jobs()
            .list(&JobFilter::default(), ListOrder::default(), &place, 2))
        .await
        .unwrap();
        page.jobs.into_iter().map(|job| job.id).collect::<Vec<_>>()
    };
    let of = |numbers: [usize; 2]| numbers.map(|number| ids[number].clone());
    assert_eq!(page(PagePosition::First).await, of([5, 4]));
    // New jobs, a new state, and the removal of the job from which the list continues.
    create(store, "a").await;
    store
        .jobs()
        .set_state(&ids[3], JobState::Running, None, None)
        .await
        .unwrap();
    fixture
        .behind_its_back("DELETE FROM jobs WHERE number = (SELECT max(number) FROM jobs WHERE state = 'pending' AND number < (SELECT max(number) FROM jobs WHERE number < (SELECT max(number) FROM jobs)))")
        .await;
    let error = store.jobs().get(&ids[4]).await.unwrap_err();
    assert!(matches!(error, StoreError::Unknown { .. }), "{error}");
    assert_eq!(
        page(PagePosition::After(ids[4].clone().into())).await,
        of([3, 2])
    );
    assert_eq!(
        page(PagePosition::Before(ids[2].clone().into())).await,
        of([5, 3])
    );
}

async fn words_are_found_whatever_stands_between_them(fixture: Fixture) {
    let store = &fixture.store;
    let title = "pinpoint bisect v1.2 main -- ./Bench.sh --mode=quick 'crème brûlée'";
    let id = store.jobs().create(&new_job(title)).await.unwrap();
    store
        .jobs()
        .create(&new_job("something else"))
        .await
        .unwrap();
    let with = async |text: &str| {
        let filter = JobFilter {
            text: Some(text.into()),
            ..JobFilter::default()
        };
        found(store, filter)
            .await
            .into_iter()
            .map(|job| job.id)
            .collect::<Vec<_>>()
    };
    for text in [
        "bench",
        "BENCH.SH",
        "./bench.sh",
        "quick bench",
        "--mode=quick",
        "ben*",
        "v1* quick",
        "brûlée",
        "BRÛLÉE",
        "v1.2",
        "1*2 main",
        "\"bench\"",
    ] {
        let expected = if text == "1*2 main" {
            vec![]
        } else {
            vec![id.clone()]
        };
        assert_eq!(with(text).await, expected, "{text}");
    }
    for text in ["ben", "benchmark", "bench slow", "brulee", "1"] {
        assert_eq!(with(text).await, [], "{text}");
    }
    assert_eq!(with("tool").await.len(), 2, "by the repository");
    assert_eq!(with(" -- * ").await.len(), 2, "no word is asked for");
}

async fn an_error_is_found_by_its_words_as_long_as_it_stands(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let found = async || {
        let text = Some("segmentation fault".to_owned());
        store
            .jobs()
            .count(&JobFilter {
                text,
                ..JobFilter::default()
            })
            .await
            .unwrap()
    };
    store
        .jobs()
        .set_state(&id, JobState::Running, None, None)
        .await
        .unwrap();
    assert_eq!(found().await, Total::Exactly(0));
    let error = "the good end: Segmentation fault\0 (core dumped)";
    store
        .jobs()
        .set_state(&id, JobState::Failed, Some(error), None)
        .await
        .unwrap();
    assert_eq!(found().await, Total::Exactly(1));
    let kept = store.jobs().get(&id).await.unwrap().error.unwrap();
    assert_eq!(kept, error.replace('\0', "\u{fffd}"));
    store
        .jobs()
        .set_state(&id, JobState::Running, None, None)
        .await
        .unwrap();
    assert_eq!(found().await, Total::Exactly(0));
}

async fn jobs_are_counted_up_to_ten_thousand(fixture: Fixture) {
    let store = &fixture.store;
    assert_eq!(
        store.jobs().count(&JobFilter::default()).await.unwrap(),
        Total::Exactly(0)
    );
    fixture
        .behind_its_back(
            "INSERT INTO jobs (number, id, kind, state, created, updated, name, benchmark, bot, \
             username, repository, title, journal_version, written_by, words, spec, config) \
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) \
             SELECT i, CAST(i AS TEXT), 'bisection', 'pending', 0, 0, '', 'many', '', '', '', '', \
             1, '', 'word', 'null', 'null' FROM n",
        )
        .await;
    let of_words = JobFilter {
        text: Some("word".into()),
        ..JobFilter::default()
    };
    for filter in [JobFilter::default(), of_benchmark("many"), of_words] {
        assert_eq!(
            store.jobs().count(&filter).await.unwrap(),
            Total::Exactly(10_000)
        );
    }
    fixture.job().await;
    assert_eq!(
        store.jobs().count(&JobFilter::default()).await.unwrap(),
        Total::MoreThan(10_000)
    );
    assert_eq!(
        store.jobs().count(&of_benchmark("many")).await.unwrap(),
        Total::Exactly(10_000)
    );
}

async fn nonsense_finds_nothing_and_breaks_nothing(fixture: Fixture) {
    let store = &fixture.store;
    store
        .jobs()
        .create(&new_job(&"very long ".repeat(50_000)))
        .await
        .unwrap();
    store
        .jobs()
        .create(&new_job(&"x".repeat(500_000)))
        .await
        .unwrap();
    for nonsense in [
        "'; DROP TABLE jobs; --",
        "%",
        "$1",
        "\"",
        "\\",
        "a & b | !c",
        "NEAR(a b)",
        "words:x",
        "\u{0}",
        "\u{202e}",
        "((((",
        "NOT x",
        "AND",
    ] {
        let some = || Some(nonsense.to_owned());
        for filter in [
            JobFilter {
                benchmark: some(),
                ..JobFilter::default()
            },
            JobFilter {
                kinds: some().into_iter().collect(),
                ..JobFilter::default()
            },
        ] {
            assert_eq!(found(store, filter).await, [], "{nonsense:?}");
        }
        let filter = JobFilter {
            text: some(),
            ..JobFilter::default()
        };
        store.jobs().count(&filter).await.unwrap();
    }
    let text = Some("x".repeat(500_000));
    let list = found(
        store,
        JobFilter {
            text,
            ..JobFilter::default()
        },
    )
    .await;
    assert_eq!(list.len(), 1);
}

async fn a_part_of_a_name_is_found_and_jobs_are_skipped(fixture: Fixture) {
    let store = &fixture.store;
    for (title, name, bot) in [
        ("Try job", "", "lab-1"),
        ("t", "My try", "lab-2"),
        ("try", "other", "lab-1"),
        ("t", "100% of a_b", "desk"),
    ] {
        let job = named(title, name, "b", bot, "u");
        store.jobs().create(&job).await.unwrap();
    }
    let with = |name: &str, bot: &str| JobFilter {
        parts: NameParts {
            name: name.into(),
            bot: bot.into(),
            ..NameParts::default()
        },
        ..JobFilter::default()
    };
    let names = async |filter: &JobFilter, skipped, limit| {
        let jobs = store
            .jobs()
            .list_skipping(filter, skipped, limit)
            .await
            .unwrap();
        let shown = jobs.into_iter().map(|job| match &*job.name {
            "" => job.title,
            _ => job.name,
        });
        shown.collect::<Vec<_>>()
    };
    // The title of a job that has a name does not show.
    assert_eq!(names(&with("ry", ""), 0, 9).await, ["My try", "Try job"]);
    assert_eq!(names(&with("", "lab"), 0, 2).await, ["other", "My try"]);
    assert_eq!(names(&with("", "lab"), 2, 2).await, ["Try job"]);
    assert_eq!(names(&with("", "lab"), 3, 2).await, [""; 0]);
    assert_eq!(names(&with("", "lab"), u64::MAX, 2).await, [""; 0]);
    for wildcard in ["%", "_"] {
        assert_eq!(names(&with(wildcard, ""), 0, 9).await, ["100% of a_b"]);
    }
    assert_eq!(names(&with("RY", ""), 0, 9).await, [""; 0]);
}

async fn the_last_builds_of_a_bot_come_first(fixture: Fixture) {
    let store = &fixture.store;
    let built = |hash: &str, failure: Option<&str>| {
        let mut report = BuildReport::built(Commit::new("r", hash).into());
        report.failure = failure.map(str::to_owned);
        Record::Reported {
            action: 1,
            report: Report::Built(report),
        }
    };
    for (bot, by_workers, records) in [
        ("lab", true, vec![built("a", None), built("x", Some("no"))]),
        ("desk", true, vec![built("y", None)]),
        ("lab", false, vec![built("z", None)]),
        ("lab", true, vec![built("b", None), built("c", None)]),
    ] {
        let job = NewJob {
            bot: bot.into(),
            config: serde_json::json!({ "by_workers": by_workers }),
            ..new_job("a job")
        };
        let id = store.jobs().create(&job).await.unwrap();
        let mut journal = store.journals().open(&id).await.unwrap();
        journal.append_all(&records).await.unwrap();
    }
    let hashes = async |limit| {
        let builds = store.jobs().recent_builds("lab", limit).await.unwrap();
        let hashes = builds.into_iter().map(|build| build.commit.main.git_hash);
        hashes.collect::<Vec<_>>()
    };
    assert_eq!(hashes(9).await, ["c", "b", "a"]);
    assert_eq!(hashes(2).await, ["c", "b"]);
    assert!(
        store
            .jobs()
            .recent_builds("none", 9)
            .await
            .unwrap()
            .is_empty()
    );
}

/// A name that no database can shorten.
async fn a_name_of_a_thousand_letters_of_any_script_is_kept_and_found(fixture: Fixture) {
    let store = &fixture.store;
    for (first, letters) in [
        ('a', 26),
        ('а', 32),
        ('א', 27),
        ('一', 20_000),
        ('𠀀', 40_000),
    ] {
        let letter = |place: u32| char::from_u32(u32::from(first) + place * 7919 % letters);
        let name: String = (0..1000).filter_map(letter).collect();
        assert_eq!(name.chars().count(), 1000);
        let id = store
            .jobs()
            .create(&named("", &name, "b", "", ""))
            .await
            .unwrap();
        let filter = JobFilter {
            name: Some(name.clone()),
            benchmark: Some("b".into()),
            ..JobFilter::default()
        };
        let list = found(store, filter).await;
        assert_eq!((list.len(), &list[0].id), (1, &id));
        assert_eq!(list[0].name, name);
        // One with the same beginning is different.
        let filter = JobFilter {
            name: Some(name.chars().take(500).collect()),
            ..JobFilter::default()
        };
        assert_eq!(found(store, filter).await, []);
    }
}
