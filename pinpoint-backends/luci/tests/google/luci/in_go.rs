//! LUCI's own code, in Go, on either side.

use std::future::pending;
use std::time::Duration;

use fake_luci::Faults;
use pinpoint_core::{MemoryJournal, Pairwise, PairwiseSpec, PairwiseStatus, Status, Stop, drive};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::fixture::{CLOCK, Fixture, IN_MAIN, IN_ROLL, NOWHERE};
use crate::programs::{Serving, printed};

/// Each request is read by LUCI's server and written by its client; each answer, the reverse. A
/// field unknown to either is refused.
async fn between(fixture: &Fixture) -> (Serving, pinpoint_backends::luci::LuciExecutor) {
    let address = fixture.serve().await;
    let proxy = Serving::start("luci", &["proxy", &address]);
    let outputs = fixture.outputs_in_cas().await;
    let executor = fixture.executor_at(outputs, &address, &proxy.address);
    (proxy, executor)
}

#[tokio::test]
#[ignore = "needs the programs in Go: the test says how to build them"]
async fn a_search_goes_through_a_server_and_a_client_of_luci() {
    let fixture = Fixture::at_speed(&IN_ROLL, 1, Faults::default(), 60_000);
    let (_proxy, executor) = between(&fixture).await;
    let mut journal = MemoryJournal::new("job");
    let driven = drive(fixture.search(), &executor, &mut journal, &CLOCK, pending())
        .await
        .unwrap();
    let [culprit] = &driven.outcome.culprits[..] else {
        panic!("one culprit: {:?}", driven.outcome);
    };
    let commit = driven.engine.names().commit(culprit.commit).unwrap();
    assert!(fixture.is_culprit(commit), "{commit:?}");
    assert_eq!(fixture.luci.left_over(), Vec::<String>::new());
}

#[tokio::test]
#[ignore = "needs the programs in Go: the test says how to build them"]
async fn pairs_with_a_patch_go_through_a_server_and_a_client_of_luci() {
    let fixture = Fixture::at_speed(&NOWHERE, 1, Faults::default(), 60_000);
    let (_proxy, executor) = between(&fixture).await;
    let spec = PairwiseSpec {
        chart: Some("Score".into()),
        pairs: 12,
        ..PairwiseSpec::new(fixture.commit(20), fixture.patched(20))
    };
    let machine = Pairwise::new(spec).unwrap();
    let mut journal = MemoryJournal::new("job");
    let driven = drive(machine, &executor, &mut journal, &CLOCK, pending());
    let outcome = driven.await.unwrap().outcome;
    assert_eq!(outcome.status, PairwiseStatus::Different, "{outcome:?}");
    assert_eq!(fixture.luci.left_over(), Vec::<String>::new());
}

#[tokio::test]
#[ignore = "needs the programs in Go: the test says how to build them"]
async fn a_job_is_canceled_through_a_server_and_a_client_of_luci() {
    let fixture = Fixture::at_speed(&IN_MAIN, 1, Faults::default(), 2_000);
    let (_proxy, executor) = between(&fixture).await;
    let mut journal = MemoryJournal::new("job");
    let stop = async {
        // Otherwise a busy machine may cancel when the task has ended.
        while !fixture.luci.slow_down_at_a_running_task() {
            sleep(Duration::from_millis(5)).await;
        }
        Stop::Cancel
    };
    let driven = drive(fixture.search(), &executor, &mut journal, &CLOCK, stop);
    let driven = driven.await.unwrap();
    assert_eq!(driven.outcome.status, Status::Canceled);
    let tasks = fixture.luci.all_tasks();
    assert!(
        tasks
            .iter()
            .any(|task| task.state == "KILLED" || task.state == "CANCELED")
    );
    assert_eq!(fixture.luci.left_over(), Vec::<String>::new());
}

/// Otherwise the tests above would prove nothing.
#[tokio::test]
#[ignore = "needs the programs in Go: the test says how to build them"]
async fn a_field_that_luci_does_not_know_is_refused() {
    let fixture = Fixture::at_speed(&IN_MAIN, 1, Faults::default(), 1);
    let address = fixture.serve().await;
    let proxy = Serving::start("luci", &["proxy", &address]);
    let client = crate::calls::client(&proxy.address);
    let builds = pinpoint_backends::google::Prpc::new(client, "buildbucket.v2.Builds");
    let wrong = json!({"id": "1", "patience": 7});
    let asked = builds.call::<serde_json::Value>("GetBuild", &wrong);
    let error = timeout(Duration::from_secs(300), asked).await.unwrap();
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("read strictly") && error.contains("patience"),
        "{error}"
    );
    assert_eq!(fixture.luci.requests(), 0);
}

#[tokio::test]
#[ignore = "needs the programs in Go: the test says how to build them"]
async fn luci_s_client_reads_histories() {
    let fixture = Fixture::new(&IN_ROLL, 1, Faults::default());
    let address = fixture.serve().await;
    let [from, to] = [2, 23].map(|index| fixture.commit(index).main.git_hash);
    let path = "DEPS";
    let read = printed(
        "luci",
        &["gitiles", &address, "chromium/src", &from, &to, path],
    )
    .await;
    let (file, commits) = read.split_last().unwrap();
    let main = &fixture.world().main;
    let expected = main.log(Some(&from), &to, false);
    assert_eq!((commits.len(), expected.len()), (21, 21));
    for (commit, expected) in commits.iter().zip(&expected) {
        assert_eq!(commit["commit"], *expected.hash);
        assert_eq!(commit["tree"], *expected.tree);
        assert_eq!(commit["parents"], json!(expected.parents));
        assert_eq!(commit["message"], *expected.message);
        assert_eq!(commit["author"], "ada@example.org");
    }
    // A minute passes between commits.
    let times: Vec<i64> = commits
        .iter()
        .map(|it| it["time"].as_i64().unwrap())
        .collect();
    assert!(
        times.windows(2).all(|pair| pair[0] - pair[1] == 60),
        "{times:?}"
    );
    let deps = main.text(expected[0], path).unwrap();
    assert_eq!(file["file"], deps);
}
