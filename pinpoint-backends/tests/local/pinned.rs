//! Runs on chosen processors, and on a quiet machine.

use std::fs;
use std::time::Duration;

use pinpoint_backends::local::{CpuList, LocalError, LocalExecutor, output_tails};

use crate::world::{World, run};

/// Prints the processors that a process may use.
const PROCESSORS: &str = "grep Cpus_allowed_list /proc/self/status";

/// The processors on a line of the kernel's, or of all lines.
fn processors(status: &str) -> Vec<CpuList> {
    let lines = status.lines();
    let lists = lines.filter_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    lists.map(|list| list.trim().parse().unwrap()).collect()
}

#[tokio::test]
async fn runs_are_pinned_and_builds_are_not() {
    let world = World::new();
    let first = world.commit("file", "1");
    let mine = processors(&fs::read_to_string("/proc/self/status").unwrap()).remove(0);
    let last: CpuList = mine.iter().last().unwrap().to_string().parse().unwrap();
    let mut config = world.config(&first, &format!("cat built; {PROCESSORS}; echo v: 1 x"));
    config.build = Some(format!("{PROCESSORS} > built"));
    config.chart = Some("v".into());
    config.cpus = Some(last.clone());
    let executor = world.open(config, "job");
    let report = run(&executor, 1, &world.combined(&first), 0).await;
    assert_eq!(report.failure, None);
    let output = &output_tails(&world.path("jobs/job")).unwrap()["1"].stdout;
    assert_eq!(processors(output), [mine, last]);
}

#[test]
fn a_job_does_not_begin_on_a_processor_that_does_not_exist() {
    let world = World::new();
    let first = world.commit("file", "1");
    let mut config = world.config(&first, "echo v: 1 x");
    config.cpus = Some("0,1023".parse().unwrap());
    let refused = LocalExecutor::open(config, world.location("job"), "job").err();
    assert!(
        matches!(refused, Some(LocalError::NoSuchProcessor { .. })),
        "{refused:?}"
    );
}

/// Quiet or not, a run is made, and its waits are reported.
#[tokio::test]
async fn a_run_is_made_when_its_wait_is_over() {
    let world = World::new();
    let first = world.commit("file", "1");
    let mut config = world.config(&first, "echo v: 1 x");
    config.settle = Some(Duration::from_millis(1));
    drop(world.open(config.clone(), "job"));
    let waits = r#"{"delayed": 2, "disturbed": 0, "waited": {"secs": 3, "nanos": 0}}"#;
    fs::write(world.path("jobs/job/waits.json"), waits).unwrap();
    let executor = world.open(config, "job");
    let report = run(&executor, 1, &world.combined(&first), 0).await;
    assert_eq!(report.charts["v"].values, [1.0]);
    let warnings = executor.warnings().unwrap();
    let is_there = |count| warnings[0].starts_with(&format!("{count} runs or pairs waited"));
    assert!(is_there(2) || is_there(3), "{warnings:?}");
}
