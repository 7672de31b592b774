//! Builds, patch sets and commits as people name them.

use fake_luci::Faults;
use pinpoint_backends::gerrit::{Gerrit, GerritError};
use pinpoint_backends::google::TokenSource;
use pinpoint_backends::luci::given_build;
use pinpoint_backends::swarming::CasReference;
use pinpoint_core::{
    Executor, ExecutorError, FindMetricRequest, Heartbeat, Key, MemoryJournal, Pairwise,
    PairwiseSpec, PairwiseStatus, Patch, Report, Request, Variant, drive,
};

use super::fixture::{CLOCK, Fixture, IN_MAIN, NOWHERE};

/// The build of a commit of the continuous build.
fn made(fixture: &Fixture, index: usize) -> CasReference {
    let hash = &fixture.world().main_hashes[index];
    fixture.luci.made_by_waterfall("linux-builder-perf", hash);
    let builds = fixture.luci.all_builds();
    let digest = builds.last().unwrap().digest().unwrap();
    format!("{}/{digest}", fake_luci::INSTANCE).parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn two_given_builds_are_compared_without_a_commit() {
    let fixture = Fixture::new(&IN_MAIN, 1, Faults::default());
    let [base, experiment] = [3, 20].map(|index| given_build(&made(&fixture, index)));
    let spec = PairwiseSpec {
        chart: Some("Score".into()),
        pairs: 10,
        ..PairwiseSpec::new(base.clone(), experiment)
    };
    let machine = Pairwise::new(spec).unwrap();
    let mut journal = MemoryJournal::new("job");
    let executor = fixture.executor();
    let driven = drive(
        machine,
        &executor,
        &mut journal,
        &CLOCK,
        std::future::pending(),
    );
    let outcome = driven.await.unwrap().outcome;
    assert_eq!(outcome.status, PairwiseStatus::Different, "{outcome:?}");
    // Nothing was built.
    assert_eq!(fixture.luci.calls("ScheduleBuild"), 0);
    let request = Request::FindMetric(FindMetricRequest {
        key: Key {
            job: "other".into(),
            action: 0,
        },
        commit: base.clone(),
        aggregate: None,
    });
    let ticket = executor.start(&request).await.unwrap();
    let heartbeat = Heartbeat::default();
    let waited = executor.wait(&request, &ticket, &heartbeat);
    assert!(matches!(waited.await, Ok(Report::Metric(_))));
    let shown = executor.rendered(&[Variant::from(base)], "job").unwrap();
    let shown = shown.join("\n");
    assert!(
        !shown.contains("Builds/") && !shown.contains("--results-label"),
        "{shown}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_given_build_that_is_gone_is_not_built_again() {
    let fixture = Fixture::new(&NOWHERE, 1, Faults::default());
    let gone = format!("{}/{}/7", fake_luci::INSTANCE, "0f".repeat(32));
    let gone = given_build(&gone.parse().unwrap());
    let spec = PairwiseSpec {
        chart: Some("Score".into()),
        ..PairwiseSpec::new(gone.clone(), gone)
    };
    let machine = Pairwise::new(spec).unwrap();
    let mut journal = MemoryJournal::new("job");
    let executor = fixture.executor();
    let driven = drive(
        machine,
        &executor,
        &mut journal,
        &CLOCK,
        std::future::pending(),
    );
    let error = driven.await.unwrap_err();
    let mut words = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        words.push_str(&error.to_string());
        source = error.source();
    }
    assert!(words.contains("CAS no longer has"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn the_recent_commit_is_that_of_the_newest_build() {
    let fixture = Fixture::new(&NOWHERE, 1, Faults::default());
    let executor = fixture.executor();
    let repository = fake_luci::MAIN.parse().unwrap();
    let error = executor.recent(&repository).await.unwrap_err();
    assert!(matches!(
        ExecutorError::from(error),
        ExecutorError::Refused(_)
    ));
    made(&fixture, 7);
    made(&fixture, 9);
    // This one does not build.
    let broken = &fixture.world().main_hashes[14];
    fixture.luci.made_by_waterfall("linux-builder-perf", broken);
    let recent = executor.recent(&repository).await.unwrap();
    assert_eq!(recent, fixture.world().main_hashes[9]);
}

#[tokio::test]
async fn a_patch_set_is_looked_up_where_its_name_leaves_it_open() {
    let fixture = Fixture::new(&NOWHERE, 1, Faults::default());
    fixture.luci.add_change(7, "chromium/src", 3);
    let source = TokenSource::Metadata("http://metadata".into());
    let host = "chromium-review.googlesource.com";
    let address = "https://gerrit.example.org/gerrit/{host}";
    let gerrit = Gerrit::new(address, host, &source, fixture.transport()).unwrap();
    for (name, newest) in [
        ("crrev.com/c/7", 3),
        ("7/2", 2),
        (
            "https://chromium-review.googlesource.com/c/chromium/src/+/7",
            3,
        ),
    ] {
        let found = gerrit.patch(&name.parse().unwrap()).await.unwrap();
        let expected = Patch::Gerrit {
            host: host.into(),
            project: "chromium/src".into(),
            change: 7,
            patchset: newest,
            hash: None,
        };
        assert_eq!(found, expected, "{name}");
    }
    let missing = gerrit.patch(&"7/4".parse().unwrap()).await.unwrap_err();
    assert!(
        matches!(missing, GerritError::NoPatchSet { newest: 3, .. }),
        "{missing}"
    );
    for name in ["8", "https://chromium-review.googlesource.com/c/v8/v8/+/7"] {
        let missing = gerrit.patch(&name.parse().unwrap()).await.unwrap_err();
        assert!(matches!(missing, GerritError::NoChange(_)), "{missing}");
    }
}
