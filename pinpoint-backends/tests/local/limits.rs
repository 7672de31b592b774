//! Unusable results and outputs: too long, or not files at all. Each is the fault of one commit,
//! and affects no other.

use std::fs::{self, File};

use pinpoint_backends::local::{LocalExecutor, output_tails, run_warnings};

use crate::world::{World, run};

/// A good end that writes proper results, and the runs of a second commit with this `script`.
struct Bad {
    world: World,
    executor: LocalExecutor,
    second: pinpoint_core::CombinedCommit,
}

impl Bad {
    async fn new(results: Option<&str>, good: &str, script: &str) -> Self {
        let world = World::new();
        let root = world.path("");
        let first = world.commit("bench", good);
        let second = world.commit("bench", &script.replace("ROOT", root.to_str().unwrap()));
        let mut config = world.config(&first, ". ./bench");
        config.results = results.map(Into::into);
        let executor = world.open(config, "job");
        let second = world.combined(&second);
        Self {
            world,
            executor,
            second,
        }
    }

    async fn fails(&self, action: u64) -> pinpoint_core::RunReport {
        let report = run(&self.executor, action, &self.second, 0).await;
        assert!(report.failure.is_some(), "{report:?}");
        report
    }
}

#[tokio::test]
async fn results_that_cannot_be_read_are_a_failed_run() {
    for (script, why) in [
        ("mkfifo out/v", "not a regular file"),
        ("ln -s v out/v", "nothing that can be read"),
        ("ln -s ROOT/elsewhere out/v", "leads out of the work tree"),
        ("ln -s missing out/v", "wrote no file"),
        ("true", "wrote no file"),
        ("truncate -s 200M out/v", "more than 128 MiB"),
        ("rm -rf out; ln -s out out", "nothing that can be read"),
        ("rm -rf out; ln -s /dev out; set -- null", "wrote no file"),
        ("rm -rf out; echo > out", "nothing that can be read"),
    ] {
        let script = format!("mkdir -p out; {script}");
        let good = "mkdir -p out; echo v: 1 x > out/v";
        let bad = Bad::new(Some("out/v"), good, &script).await;
        fs::write(bad.world.path("elsewhere"), "v: 7 x").unwrap();
        let failure = bad.fails(1).await.failure.unwrap();
        assert!(failure.contains(why), "{script}: {failure}");
        // The file there now must not be in the way of the next run's results.
        bad.fails(2).await;
    }
}

#[tokio::test]
async fn a_run_that_writes_without_end_is_ended_and_kept_in_part() {
    // Its output has a length, but takes no space.
    let script = "echo begin; truncate -s 2G /dev/stdout; sleep 1000";
    let bad = Bad::new(None, "echo v: 1 x", script).await;
    let report = bad.fails(1).await;
    let failure = report.failure.unwrap();
    assert!(failure.contains("more than 1024 MiB"), "{failure}");
    let kept = fs::read(report.log.unwrap()).unwrap();
    assert!(kept.starts_with(b"begin\n") && kept.len() < 200_000);
    assert!(String::from_utf8_lossy(&kept).contains("bytes are left out here"));
}

#[tokio::test]
async fn output_that_is_too_long_to_be_read_is_a_failed_run() {
    let script = "truncate -s 200M /dev/stdout";
    let bad = Bad::new(None, "echo v: 1 x", script).await;
    let failure = bad.fails(1).await.failure.unwrap();
    assert!(failure.contains("more than 128 MiB"), "{failure}");
}

#[tokio::test]
async fn a_job_keeps_only_so_much_output() {
    let bad = Bad::new(None, "echo v: 1 x", "echo words; exit 3").await;
    assert!(bad.fails(1).await.log.is_some());
    // As if many runs had failed before this process took over the job.
    let job = bad.world.path("jobs/job");
    let other = File::create(job.join("runs/77.out")).unwrap();
    other.set_len(64 << 20).unwrap();
    drop(bad.executor);
    let config = bad.world.config(&bad.second.main.git_hash, ". ./bench");
    let executor = bad.world.open(config, "job");
    let report = run(&executor, 2, &bad.second, 0).await;
    assert_eq!(report.log, None);
    let tails = output_tails(&job).unwrap();
    assert!(tails["2"].not_kept && !tails["1"].not_kept);
    assert_eq!(tails["2"].stdout, "words");
    let warnings = run_warnings(&job).unwrap();
    assert!(
        warnings.iter().any(|it| it.contains("64 MiB")),
        "{warnings:?}"
    );
}
