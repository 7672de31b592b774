//! Jobs by the hashes of the commits that they are about.

use pinpoint_backends::store::{JobFilter, JobStore, NewJob};
use pinpoint_core::JobState;
use serde_json::json;

use crate::common::{BACK_TO_5, BACK_TO_6, Fixture, found, new_job, open};
use crate::on_both;

on_both! {
    a_job_is_found_by_the_commits_that_it_is_about,
}

async fn titles(store: &JobStore, text: &str) -> Vec<String> {
    let text = Some(text.to_owned());
    let filter = JobFilter {
        text,
        ..JobFilter::default()
    };
    let jobs = found(store, filter).await;
    jobs.into_iter().map(|job| job.title).collect()
}

async fn a_job_is_found_by_the_commits_that_it_is_about(fixture: Fixture) {
    let store = &fixture.store;
    let [good, bad, culprit, candidate] = ["a1", "b2", "c3", "d4"].map(|part| part.repeat(20));
    let end = |hash: &str| json!({ "main": { "repository": "r", "git_hash": hash } });
    let job = NewJob {
        spec: json!({ "range": { "good": end(&good), "bad": end(&bad) } }),
        ..new_job("search")
    };
    let id = store.jobs().create(&job).await.unwrap();
    store.jobs().create(&new_job("other")).await.unwrap();
    assert_eq!(titles(store, &good).await, ["search"]);
    assert_eq!(titles(store, "b2b2b2b*").await, ["search"]);
    assert!(titles(store, &culprit).await.is_empty());
    let set = async |state, outcome| {
        store
            .jobs()
            .set_state(&id, state, None, outcome)
            .await
            .unwrap()
    };
    set(JobState::Running, None).await;
    let outcome = json!({
        "culprits": [{ "blamed": { "git_hash": culprit } }],
        "candidates": [end(&candidate)],
    });
    set(JobState::Completed, Some(&outcome)).await;
    let is_found = async |store: &JobStore| {
        for hash in [&good, &bad, &culprit] {
            assert_eq!(titles(store, hash).await, ["search"], "{hash}");
        }
        assert!(titles(store, &candidate).await.is_empty());
    };
    is_found(store).await;
    let mut exported = Vec::new();
    let all = JobFilter::default();
    store.exchange().export(&all, &mut exported).await.unwrap();
    let other = Fixture::new().await;
    let imported = other
        .store
        .exchange()
        .import(&mut &exported[..], &|_| Ok(()))
        .await;
    imported.unwrap();
    is_found(&other.store).await;
    // A store of version 5 has no hashes among the words of its jobs.
    fixture.behind_its_back("UPDATE jobs SET words = ''").await;
    assert!(titles(store, &good).await.is_empty());
    for sql in BACK_TO_6.into_iter().chain(BACK_TO_5) {
        fixture.behind_its_back(sql).await;
    }
    let mark = match fixture.is_sqlite() {
        true => "PRAGMA user_version = 5",
        false => "UPDATE pinpoint_schema SET version = 5",
    };
    fixture.behind_its_back(mark).await;
    is_found(&open(&fixture.place()).await).await;
}
