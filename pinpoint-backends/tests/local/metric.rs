//! The format and the chart, fixed at the good end's first run.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pinpoint_backends::local::LocalConfig;
use pinpoint_core::results::Format;
use pinpoint_core::{Aggregate, Method};

use crate::world::{World, refusal, run};

/// Opens a job whose benchmark is this script.
async fn prepare(script: &str, change: impl FnOnce(&mut LocalConfig)) -> Result<String, String> {
    let world = World::new();
    let first = world.commit("file", "1");
    let mut config = world.config(&first, script);
    change(&mut config);
    let executor = world.open(config, "job");
    let prepared = executor.prepare().await;
    match prepared {
        Ok(metric) => {
            assert_eq!(executor.metric(), Some(metric.clone()));
            let unit = metric.unit.unwrap_or_default();
            let chart = metric.chart.unwrap_or_else(|| "every chart".into());
            Ok(format!("{} {chart} {unit}", metric.format))
        }
        refused => Err(refusal(refused)),
    }
}

#[tokio::test]
async fn auto_takes_lines_where_there_are_any_and_else_the_time() {
    assert_eq!(prepare("echo v: 1 ms", |_| {}).await.unwrap(), "lines v ms");
    assert_eq!(prepare("echo hello", |_| {}).await.unwrap(), "time wall s");
    let memory = |config: &mut LocalConfig| config.chart = Some("peak_memory".into());
    assert_eq!(
        prepare("true", memory).await.unwrap(),
        "time peak_memory bytes"
    );
    let time = |config: &mut LocalConfig| config.format = Format::Time;
    assert_eq!(prepare("echo v: 1 ms", time).await.unwrap(), "time wall s");
}

#[tokio::test]
async fn a_chart_must_be_named_among_several_and_must_exist() {
    let several = "echo load: 1 ms; echo parse: 2 ms";
    let error = prepare(several, |_| {}).await.unwrap_err();
    assert!(error.contains("`load`, `parse`"), "{error}");
    let named = |config: &mut LocalConfig| config.chart = Some("parse".into());
    assert_eq!(prepare(several, named).await.unwrap(), "lines parse ms");
    let wrong = |config: &mut LocalConfig| config.chart = Some("pares".into());
    let error = prepare(several, wrong).await.unwrap_err();
    assert!(
        error.contains("`pares`") && error.contains("`load`, `parse`"),
        "{error}"
    );
    let error = prepare("true", wrong).await.unwrap_err();
    assert!(
        error.contains("`peak_memory`, `system`, `user`, `wall`"),
        "{error}"
    );
}

#[tokio::test]
async fn a_good_end_that_gives_no_measurement_is_refused() {
    let lines = |config: &mut LocalConfig| config.format = Format::Lines;
    for (script, why) in [
        ("echo v: nan x", "finite"),
        ("echo v: inf x", "finite"),
        (
            "echo reason >&2; echo last words >&2; exit 9",
            "exit code 9",
        ),
        ("echo nothing", "name: 12.5 ms"),
    ] {
        let error = prepare(script, lines).await.unwrap_err();
        assert!(error.contains(why), "{script}: {error}");
        assert!(error.contains("the good end"), "{error}");
        if script.contains("exit") {
            assert!(error.contains("reason\nlast words"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_good_end_may_fail_twice() {
    let world = World::new();
    let first = world.commit("file", "1");
    let counter = world.path("counter");
    let script = format!("echo >> {0}; test $(wc -l < {0}) -ge 3", counter.display());
    let executor = world.open(world.config(&first, &script), "job");
    assert_eq!(
        executor.prepare().await.unwrap().chart.as_deref(),
        Some("wall")
    );
}

#[tokio::test]
async fn a_command_that_cannot_be_run_is_named() {
    let program =
        |name: &'static str| move |config: &mut LocalConfig| config.command = vec![name.into()];
    for name in ["./missing", "no-such-program-anywhere", "/no/such/program"] {
        let error = prepare("", program(name)).await.unwrap_err();
        assert!(error.contains(name.trim_start_matches('.')), "{error}");
        assert!(error.contains("does not exist"), "{error}");
    }
    let error = prepare("", program("./file")).await.unwrap_err();
    assert!(
        error.contains("/file can't be executed") && error.contains("chmod"),
        "{error}"
    );
    let error = prepare("", program("./")).await.unwrap_err();
    assert!(error.contains("can't be executed"), "{error}");

    let world = World::new();
    let script = world.repository.join("bench");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let first = world.commit("file", "1");
    let mut config = world.config(&first, "");
    config.command = vec!["./bench".into()];
    let error = refusal(world.open(config, "job").prepare().await);
    assert!(error.contains("interpreter"), "{error}");
}

#[tokio::test]
async fn a_resumed_job_keeps_its_metric() {
    let world = World::new();
    let first = world.commit("file", "1");
    let counter = world.path("counter");
    let script = format!("echo >> {0}; echo v: $(wc -l < {0}) ms", counter.display());
    let config = world.config(&first, &script);
    let executor = world.open(config.clone(), "job");
    let metric = executor.prepare().await.unwrap();
    drop(executor);
    let resumed = world.open(config, "job");
    assert_eq!(resumed.metric(), Some(metric.clone()));
    assert_eq!(resumed.prepare().await.unwrap(), metric);
    let report = run(&resumed, 1, &world.combined(&first), 0).await;
    assert_eq!(report.charts["v"].values, [2.0], "no other run was needed");
}

#[tokio::test]
async fn several_values_of_a_chart_become_one() {
    let world = World::new();
    let first = world.commit("file", "1");
    let script = "for n in 1 2 6; do echo v: $n ms; echo w: $n$n ms; done";
    for (aggregate, v, w) in [
        (None, 2.0, 22.0),
        (Some(Aggregate::from(Method::Mean)), 3.0, 33.0),
    ] {
        let mut config = world.config(&first, script);
        config.aggregate = aggregate;
        config.chart = Some("v".into());
        let executor = world.open(config, &format!("{aggregate:?}"));
        let report = run(&executor, 1, &world.combined(&first), 0).await;
        assert_eq!(report.charts["v"].values, [v]);
        assert_eq!(report.charts["w"].values, [w]);
        assert_eq!(report.charts["v"].unit.as_deref(), Some("ms"));
    }
}

#[tokio::test]
async fn the_time_is_a_chart_only_where_it_is_the_format() {
    let world = World::new();
    let first = world.commit("file", "1");
    for (script, charts) in [
        ("echo v: 1 ms", vec!["v"]),
        ("true", vec!["peak_memory", "system", "user", "wall"]),
    ] {
        let executor = world.open(world.config(&first, script), script);
        let report = run(&executor, 1, &world.combined(&first), 0).await;
        assert_eq!(report.charts.keys().collect::<Vec<_>>(), charts);
        assert!(report.usage.is_some());
    }
}

#[tokio::test]
async fn results_are_read_from_a_file_of_this_run_only() {
    let world = World::new();
    let first = world.commit("file", "1");
    let script = "test \"$PINPOINT_RUN\" = 1 || echo '{\"took\": [1, 2, 6]}' > out.json";
    let mut config = world.config(&first, script);
    config.format = "json:/took".parse().unwrap();
    config.results = Some("out.json".into());
    let executor = world.open(config, "job");
    let report = run(&executor, 1, &world.combined(&first), 0).await;
    assert_eq!(report.charts["took"].values, [2.0]);
    let report = run(&executor, 2, &world.combined(&first), 1).await;
    let failure = report.failure.unwrap();
    assert!(
        failure.contains("wrote no file") && failure.contains("out.json"),
        "{failure}"
    );
}

#[tokio::test]
async fn a_formats_direction_is_the_metrics() {
    use pinpoint_core::Direction;

    let go = |unit: &str| format!("echo BenchmarkA 100 3 {unit}");
    for (script, direction) in [
        (go("MB/s"), Direction::Up),
        (go("ns/op"), Direction::Down),
        (go("points"), Direction::Unknown),
        ("echo v: 1 ms".into(), Direction::Unknown),
        ("true".into(), Direction::Down),
    ] {
        let world = World::new();
        let first = world.commit("file", "1");
        let executor = world.open(world.config(&first, &script), "job");
        let metric = executor.prepare().await.unwrap();
        assert_eq!(metric.direction, direction, "{script}");
    }
}

#[tokio::test]
async fn criterions_folder_is_read_and_only_its_results_are_removed() {
    let world = World::new();
    let first = world.commit("file", "1");
    // Each run finds what the one before left of its own, and nothing to read.
    let script = r#"
        mkdir -p out/a/new && cd out/a
        test ! -e new/sample.json || exit 1
        echo x >> new/kept.json
        echo '{"full_id": "a"}' > new/benchmark.json
        echo "{\"iters\": [1, 2], \"times\": [$(wc -l < new/kept.json), 8]}" > new/sample.json
    "#;
    let mut config = world.config(&first, script);
    config.results = Some("out".into());
    config.aggregate = Some(Aggregate::from(Method::Min));
    let executor = world.open(config, "job");
    let metric = executor.prepare().await.unwrap();
    assert_eq!(
        (metric.format, metric.chart.as_deref()),
        (Format::Criterion, Some("a"))
    );
    let report = run(&executor, 1, &world.combined(&first), 0).await;
    assert_eq!(report.failure, None);
    assert_eq!(report.charts["a"].values, [2.0]);
}
