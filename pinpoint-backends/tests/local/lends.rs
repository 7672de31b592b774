//! Lent work trees: their contents, and the work that waits for them.

use std::fs;
use std::time::Duration;

use pinpoint_core::InProcess;

use crate::world::{World, key, request, run};

#[tokio::test]
async fn a_work_tree_is_lent_with_what_was_built_there() {
    let world = World::new();
    let first = world.commit("file", "1");
    let mut config = world.config(&first, "echo v: $(cat lent) x");
    config.build = Some("cp file built".into());
    let executor = world.open(config, "job");
    let commit = world.combined(&first);
    let lent = executor
        .lend_for_build(&key(1), &commit)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(fs::read_to_string(lent.tree().join("built")).unwrap(), "1");
    assert!(lent.notes().is_dir() && lent.tree() != lent.notes());
    fs::write(lent.tree().join("lent"), "7").unwrap();
    drop(lent);
    // The command finds it there.
    assert_eq!(
        run(&executor, 2, &commit, 0).await.charts["v"].values,
        [7.0]
    );
}

#[tokio::test]
async fn what_does_not_build_is_not_lent() {
    let world = World::new();
    let first = world.commit("file", "1");
    let mut config = world.config(&first, "true");
    config.build = Some("false".into());
    let executor = world.open(config, "job");
    let commit = world.combined(&first);
    assert!(
        executor
            .lend_for_build(&key(1), &commit)
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        executor
            .lend_for_run(&key(2), &commit)
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn who_was_lent_the_machine_for_a_run_has_it_alone() {
    let world = World::new();
    let first = world.commit("file", "1");
    let given_back = world.path("given-back");
    let script = format!(
        "test -e {} && echo v: 1 x || echo v: 0 x",
        given_back.display()
    );
    let executor = world.open(world.config(&first, &script), "job");
    let commit = world.combined(&first);
    let lent = executor
        .lend_for_run(&key(1), &commit)
        .await
        .unwrap()
        .unwrap();
    // A run that did not wait would have started long before.
    let giving_back = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        fs::write(&given_back, "").unwrap();
        drop(lent);
    };
    let request = request(2, &commit, 0);
    let (report, ()) = tokio::join!(executor.run(&request), giving_back);
    assert_eq!(report.unwrap().charts["v"].values, [1.0]);
}
