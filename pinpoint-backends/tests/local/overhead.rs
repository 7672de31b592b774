//! What a run takes beyond the life of its child. Measured on request:
//! `cargo test --release --test local -- --ignored --nocapture overhead`.

use std::time::Instant;

use crate::world::{World, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures; it can only fail on a machine that is busy"]
async fn overhead_of_a_run() {
    const RUNS: u32 = 1000;
    let world = World::new();
    let first = world.commit("file", "1");
    let commit = world.combined(&first);
    let mut config = world.config(&first, "");
    config.command = vec!["/bin/echo".into(), "v: 1 ms".into()];
    let executor = world.open(config, "job");
    executor.prepare().await.unwrap();
    let mut beyond = Vec::new();
    for index in 0..RUNS {
        let began = Instant::now();
        let report = run(&executor, u64::from(index), &commit, index).await;
        let total = began.elapsed().as_secs_f64();
        beyond.push((total - report.usage.unwrap().wall) * 1e6);
    }
    beyond.sort_by(f64::total_cmp);
    let at = |part: f64| beyond[(f64::from(RUNS - 1) * part) as usize];
    println!(
        "microseconds beyond the child's life: median {:.0}, 10th and 90th percentile {:.0} and {:.0}",
        at(0.5),
        at(0.1),
        at(0.9)
    );
    assert!(at(0.5) < 1000.0);
}
