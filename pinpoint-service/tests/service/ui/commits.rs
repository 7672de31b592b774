//! The page of a commit.

use pinpoint_backends::store::JobId;
use pinpoint_core::JobState;
use serde_json::json;

use super::get;
use super::jobs::{HOSTILE, made};
use crate::world::World;

#[tokio::test]
async fn a_commit_leads_to_the_jobs_that_it_has_to_do_with() {
    let world = World::new("ada").await;
    let (end, culprit) = ("a".repeat(40), "c".repeat(40));
    let nothing = get(&world, &format!("/commits/{end}")).await.ok();
    assert!(
        nothing.contains("No job has used this commit."),
        "{nothing}"
    );
    let id = made(&world, HOSTILE).await;
    let link = format!(r#"href="/jobs/{id}""#);
    for hash in [&*end, "aaaaaaa", "AAAAAAAAAA"] {
        let page = get(&world, &format!("/commits/{hash}")).await.ok();
        assert!(
            page.contains(&link) && !page.contains("<img"),
            "{hash}: {page}"
        );
    }
    let path = format!("/commits/{culprit}");
    assert!(!get(&world, &path).await.ok().contains(&link));
    let job = JobId::parse(&id).unwrap();
    let set = async |state, outcome| {
        let set = world
            .store
            .jobs()
            .set_state(&job, state, None, outcome)
            .await;
        set.unwrap();
    };
    set(JobState::Running, None).await;
    let effect = json!({ "of": "values", "before": 1.0, "after": 2.0, "estimate": 1.0 });
    let culprits = json!([{ "blamed": { "git_hash": culprit }, "effect": effect }]);
    let outcome = json!({ "status": "culprit_found", "culprits": culprits });
    set(JobState::Completed, Some(&outcome)).await;
    let page = get(&world, &path).await.ok();
    assert!(page.contains(&link) && page.contains(">Culprit<"), "{page}");
    let at_end = get(&world, &format!("/commits/{end}")).await.ok();
    assert!(
        at_end.contains(&format!("found <a href=\"{path}\">")),
        "{at_end}"
    );
}

#[tokio::test]
async fn what_is_no_hash_is_refused() {
    let world = World::new("ada").await;
    let long = "a".repeat(65);
    for bad in [
        "aaaaaa",
        "HEAD",
        "1234",
        "xyzxyzxyz",
        "%3Cimg%20src=x%3E",
        &*long,
    ] {
        let refused = get(&world, &format!("/commits/{bad}")).await;
        assert_eq!(refused.status, 400, "{bad}");
        assert!(refused.text.contains("at least 7"), "{}", refused.text);
    }
}

#[tokio::test]
async fn the_jobs_of_a_commit_are_paged() {
    let world = World::new("ada").await;
    for number in 0..30 {
        made(&world, &format!("Job {number:02}")).await;
    }
    let first = get(&world, "/commits/aaaaaaaaaa").await.ok();
    assert!(
        first.contains("Job 29") && !first.contains("Job 04"),
        "{first}"
    );
    let next = first.split(r#"rel="next" href=""#).nth(1).unwrap();
    let second = get(&world, next.split('"').next().unwrap()).await.ok();
    assert!(
        second.contains("Job 04") && second.contains(r#"rel="prev""#),
        "{second}"
    );
}
