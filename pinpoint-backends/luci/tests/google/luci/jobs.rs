//! Whole jobs without trouble.

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use fake_luci::{Faults, MAIN};
use pinpoint_core::job::ResultSource as _;
use pinpoint_core::{
    BuildRequest, CombinedCommit, Commit, CulpritFinder, CulpritFinderSpec, Executor,
    ExecutorError, FindMetricRequest, Heartbeat, Key, Located, MemoryJournal, Pairwise,
    PairwiseSpec, PairwiseStatus, Patch, Report, Request, Status, Stop, Variant, drive,
};
use tokio::time::sleep;

use super::fixture::{CLOCK, Fixture, IN_MAIN, IN_ROLL, LuciWorld, NOWHERE};

fn fixture(place: &'static LuciWorld) -> Fixture {
    Fixture::new(place, 1, Faults::default())
}

/// The culprits of a bisection.
async fn culprits(fixture: &Fixture) -> Vec<CombinedCommit> {
    let mut journal = MemoryJournal::new("job");
    let driven = drive(
        fixture.search(),
        &fixture.executor(),
        &mut journal,
        &CLOCK,
        pending(),
    )
    .await;
    let driven = driven.unwrap();
    assert_eq!(fixture.luci.left_over(), Vec::<String>::new());
    let names = driven.engine.names();
    let culprits = driven.outcome.culprits.iter();
    culprits
        .map(|culprit| names.commit(culprit.commit).unwrap().clone())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_commit_of_the_main_repository_is_found() {
    let fixture = fixture(&IN_MAIN);
    let [culprit] = &culprits(&fixture).await[..] else {
        panic!("one culprit");
    };
    assert!(fixture.is_culprit(culprit), "{culprit:?}");
    assert_eq!(culprit.main.subject.as_deref(), Some("Change 17"));
}

#[tokio::test(start_paused = true)]
async fn a_commit_of_a_dependency_that_was_rolled_is_found() {
    let fixture = fixture(&IN_ROLL);
    let [culprit] = &culprits(&fixture).await[..] else {
        panic!("one culprit");
    };
    assert!(fixture.is_culprit(culprit), "{culprit:?}");
}

/// The same bytes cross the network as in LUCI, those of CAS as well; time runs
/// 60,000 times as fast.
#[tokio::test]
async fn a_commit_is_found_over_http() {
    let fixture = Fixture::at_speed(&IN_ROLL, 1, Faults::default(), 60_000);
    let executor = fixture
        .executor_over_http(fixture.outputs_in_cas().await)
        .await;
    let mut journal = MemoryJournal::new("job");
    let driven = drive(fixture.search(), &executor, &mut journal, &CLOCK, pending()).await;
    let driven = driven.unwrap();
    let [culprit] = &driven.outcome.culprits[..] else {
        panic!("one culprit: {:?}", driven.outcome);
    };
    let commit = driven.engine.names().commit(culprit.commit).unwrap();
    assert!(fixture.is_culprit(commit), "{commit:?}");
    let prior = driven.engine.names().commit(culprit.prior).unwrap();
    let blamed = executor.blamed(prior, commit).await.unwrap();
    let blamed = executor.describe_commit(blamed.commit).await.unwrap();
    assert_eq!(blamed.subject.as_deref(), Some("Change v8 4"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_found_where_nothing_is() {
    assert_eq!(culprits(&fixture(&NOWHERE)).await, []);
}

#[tokio::test(start_paused = true)]
async fn a_try_with_a_patch_is_compared_in_pairs() {
    let fixture = fixture(&NOWHERE);
    let spec = PairwiseSpec {
        chart: Some("Score".into()),
        pairs: 12,
        ..PairwiseSpec::new(fixture.commit(20), fixture.patched(20))
    };
    let mut journal = MemoryJournal::new("job");
    let machine = Pairwise::new(spec).unwrap();
    let driven = drive(
        machine,
        &fixture.executor(),
        &mut journal,
        &CLOCK,
        pending(),
    )
    .await
    .unwrap();
    let outcome = driven.outcome;
    assert_eq!(outcome.status, PairwiseStatus::Different, "{outcome:?}");
    assert_eq!(fixture.luci.all_tasks().len(), 24);
}

#[tokio::test(start_paused = true)]
async fn a_culprit_is_verified_before_and_after() {
    let fixture = fixture(&IN_MAIN);
    let spec = CulpritFinderSpec {
        bisection: fixture.spec(),
        pairs: 10,
        ..CulpritFinderSpec::new(fixture.spec().range)
    };
    let mut journal = MemoryJournal::new("job");
    let machine = CulpritFinder::new(spec).unwrap();
    let driven = drive(
        machine,
        &fixture.executor(),
        &mut journal,
        &CLOCK,
        pending(),
    )
    .await
    .unwrap();
    let [culprit] = &driven.outcome.culprits[..] else {
        panic!("one culprit: {:?}", driven.outcome);
    };
    let commit = driven
        .engine
        .names()
        .commit(culprit.culprit.commit)
        .unwrap();
    assert!(fixture.is_culprit(commit), "{commit:?}");
}

#[tokio::test(start_paused = true)]
async fn what_was_built_already_is_built_by_nobody_again() {
    let fixture = fixture(&NOWHERE);
    for job in ["one", "other"] {
        let executor = fixture.executor();
        let request = build(&fixture, job);
        let ticket = executor.start(&request).await.unwrap();
        let report = executor
            .wait(&request, &ticket, &Heartbeat::default())
            .await
            .unwrap();
        let Report::Built(report) = report else {
            panic!("a build");
        };
        assert_eq!(report.cached, job == "other");
        // It belongs to another requester: it is left alone.
        executor.cancel(&ticket).await.unwrap();
    }
    let builds = fixture.luci.all_builds();
    assert_eq!(builds.len(), 1);
    assert!(!builds[0].canceled_by_request);
}

#[tokio::test(start_paused = true)]
async fn a_build_of_others_that_takes_too_long_is_left_alone_and_not_waited_for() {
    let fixture = fixture(&NOWHERE);
    let (executor, heartbeat) = (fixture.executor(), Heartbeat::default());
    let theirs = build(&fixture, "other");
    executor.start(&theirs).await.unwrap();
    fixture.luci.stall_builds();
    let request = build(&fixture, "job");
    let ticket = executor.start(&request).await.unwrap();
    let waited = executor.wait(&request, &ticket, &heartbeat);
    too_long(waited.await);
    let ticket = executor.start(&request).await.unwrap();
    let waited = executor.wait(&request, &ticket, &heartbeat);
    assert!(matches!(waited.await, Ok(Report::Built(report)) if !report.cached));
    let [first, second] = &fixture.luci.all_builds()[..] else {
        panic!("two builds");
    };
    assert!(!first.canceled_by_request && !second.canceled_by_request);
}

#[tokio::test(start_paused = true)]
async fn a_build_for_the_metric_that_takes_too_long_is_ended_and_made_again() {
    let fixture = fixture(&NOWHERE);
    let (executor, heartbeat) = (fixture.executor(), Heartbeat::default());
    let request = find_metric(&fixture, 0);
    let ticket = executor.start(&request).await.unwrap();
    fixture.luci.stall_builds();
    let waited = executor.wait(&request, &ticket, &heartbeat);
    too_long(waited.await);
    assert!(fixture.luci.all_builds()[0].canceled_by_request);
    let ticket = executor.start(&request).await.unwrap();
    let waited = executor.wait(&request, &ticket, &heartbeat);
    assert!(matches!(waited.await, Ok(Report::Metric(_))));
    assert_eq!(fixture.luci.all_builds().len(), 2);
}

#[track_caller]
fn too_long(waited: Result<Report, ExecutorError>) {
    match waited {
        Err(ExecutorError::Unavailable(error)) => {
            assert!(error.to_string().contains("after 4 h"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_build_without_the_target_says_that_its_commit_can_not_be_run() {
    let fixture = fixture(&NOWHERE);
    let request = build(&fixture, "job");
    for _ in 0..2 {
        // The process that began it may have been killed.
        let executor = fixture.executor_of("performance_test_suite_android");
        let ticket = executor.start(&request).await.unwrap();
        let heartbeat = Heartbeat::default();
        let report = executor.wait(&request, &ticket, &heartbeat).await.unwrap();
        let Report::Built(report) = report else {
            panic!("a build");
        };
        let failure = report.failure.unwrap();
        assert!(failure.contains("holds no target"), "{failure}");
    }
    assert_eq!(fixture.luci.all_builds().len(), 1);
}

pub(super) fn build(fixture: &Fixture, job: &str) -> Request {
    Request::Build(BuildRequest {
        key: Key {
            job: job.into(),
            action: 1,
        },
        commit: Located::Commit(fixture.commit(3)),
    })
}

#[tokio::test(start_paused = true)]
async fn cancel_ends_what_was_asked_for_even_without_a_ticket() {
    let fixture = fixture(&IN_MAIN);
    let mut journal = MemoryJournal::new("job");
    let stop = async {
        sleep(Duration::from_secs(4_000)).await;
        Stop::Cancel
    };
    let driven = drive(
        fixture.search(),
        &fixture.executor(),
        &mut journal,
        &CLOCK,
        stop,
    )
    .await
    .unwrap();
    assert_eq!(driven.outcome.status, Status::Canceled);
    assert_eq!(fixture.luci.left_over(), Vec::<String>::new());
    let executor = fixture.executor();
    let request = build(&fixture, "other");
    // Its answer never arrived.
    let lost = executor.start(&request).await.unwrap();
    assert_eq!(fixture.luci.left_over().len(), 1);
    let without = pinpoint_core::Ticket::in_process(lost.key);
    fixture.executor().cancel(&without).await.unwrap();
    assert_eq!(fixture.luci.left_over(), Vec::<String>::new());
}

fn find_metric(fixture: &Fixture, commit: usize) -> Request {
    Request::FindMetric(FindMetricRequest {
        key: Key {
            job: "job".into(),
            action: 0,
        },
        commit: fixture.commit(commit),
        aggregate: None,
    })
}

#[tokio::test(start_paused = true)]
async fn the_metric_is_found_by_one_run_and_by_one_only() {
    let fixture = fixture(&NOWHERE);
    let request = find_metric(&fixture, 0);
    for _ in 0..2 {
        // The process that began it may have been killed.
        let executor = fixture.executor();
        let ticket = executor.start(&request).await.unwrap();
        let report = executor
            .wait(&request, &ticket, &Heartbeat::default())
            .await
            .unwrap();
        let Report::Metric(metric) = report else {
            panic!("a metric");
        };
        assert_eq!(metric.chart.as_deref(), Some("Score"));
    }
    assert_eq!(fixture.luci.all_builds().len(), 1);
    assert_eq!(fixture.luci.all_tasks().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn there_is_no_metric_where_the_good_end_does_not_build() {
    let fixture = fixture(&NOWHERE);
    let request = find_metric(&fixture, 14);
    let executor = fixture.executor();
    let ticket = executor.start(&request).await.unwrap();
    let heartbeat = Heartbeat::default();
    match executor.wait(&request, &ticket, &heartbeat).await {
        Err(ExecutorError::Refused(error)) => {
            assert!(error.to_string().contains("does not build"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn looking_for_the_metric_can_be_ended() {
    let fixture = fixture(&NOWHERE);
    let request = find_metric(&fixture, 0);
    let executor = fixture.executor();
    for is_running in [false, true] {
        let ticket = executor.start(&request).await.unwrap();
        let heartbeat = Heartbeat::default();
        let moment = async {
            sleep(Duration::from_secs(60)).await;
            while is_running && fixture.luci.all_tasks().is_empty() {
                sleep(Duration::from_secs(5)).await;
            }
        };
        tokio::select! {
            _ = executor.wait(&request, &ticket, &heartbeat) => panic!("it takes longer"),
            () = moment => {}
        }
        assert_eq!(fixture.luci.left_over().len(), 1);
        executor.cancel(&ticket).await.unwrap();
        assert_eq!(fixture.luci.left_over(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn what_no_builder_can_make_is_refused() {
    let fixture = fixture(&NOWHERE);
    let mut with_file = fixture.commit(3);
    with_file.patch = Some(Patch::File {
        name: "try.diff".into(),
        sha256: "00".into(),
    });
    let elsewhere = CombinedCommit::from(Commit::new("/home/ada/src", "1f2e3d"));
    for (commit, expected) in [
        (with_file, "Gerrit"),
        (elsewhere, "no repository at Gitiles"),
    ] {
        let request = Request::Build(BuildRequest {
            key: Key {
                job: "job".into(),
                action: 1,
            },
            commit: Located::Commit(commit),
        });
        match fixture.executor().start(&request).await {
            Err(ExecutorError::Refused(error)) => {
                assert!(error.to_string().contains(expected), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_shown_without_being_sent() {
    let fixture = fixture(&NOWHERE);
    let ends = [3, 4].map(|index| Variant {
        arguments: vec![format!("--js-flags=--{index}")],
        ..Variant::from(fixture.commit(index))
    });
    let shown = fixture.executor().rendered(&ends, "job").unwrap();
    let asks_for_work = |request: &&String| request.contains("\"request");
    let ids = { shown.iter() }
        .filter(asks_for_work)
        .filter_map(|request| request.lines().find(|line| line.contains("\"request")));
    let ids: BTreeSet<&str> = ids.collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
    let shown = shown.join("\n");
    for expected in [
        "\"--js-flags=--3\"",
        "\"--js-flags=--4\"",
        "\"job/1\"",
        "pinpoint_key:job/4",
        "POST https://cr-buildbucket.appspot.com/prpc/buildbucket.v2.Builds/ScheduleBuild",
        "POST https://chrome-swarming.example.org/prpc/swarming.v2.Tasks/NewTask",
        "\"git_repo\": \"https://chromium.googlesource.com/chromium/src\"",
        "--benchmark-display-name",
    ] {
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
    assert!(!shown.contains("Bearer") && shown.contains(MAIN));
    assert_eq!(fixture.luci.requests(), 0);
}
