//! The metric: found by a run of the good end, and reported with every later run.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pinpoint_backends::local::LocalConfig;
use pinpoint_core::results::Format;
use pinpoint_core::translate::{ReadingSettings, event};
use pinpoint_core::{
    Charts, Event, FindMetricRequest, InProcess, Method, Metric, MetricSource, Record, Report,
};
use serde_json::Value;

use crate::world::{World, find_metric, key, refusal, request, run};

/// Finds the metric of a job whose benchmark is this script.
async fn found(script: &str, change: impl FnOnce(&mut LocalConfig)) -> Result<String, String> {
    let world = World::new();
    let first = world.commit("file", "1");
    let mut config = world.config(&first, script);
    change(&mut config);
    let executor = world.open(config, "job");
    match find_metric(&executor, &world.combined(&first)).await {
        Ok(metric) => {
            let unit = metric.unit.unwrap_or_default();
            let chart = metric.chart.unwrap_or_else(|| "every chart".into());
            Ok(format!("{} {chart} {unit}", metric.format))
        }
        refused => Err(refusal(refused)),
    }
}

#[tokio::test]
async fn auto_takes_lines_where_there_are_any_and_else_the_time() {
    assert_eq!(found("echo v: 1 ms", |_| {}).await.unwrap(), "lines v ms");
    assert_eq!(found("echo hello", |_| {}).await.unwrap(), "time wall s");
    let memory = |config: &mut LocalConfig| config.chart = Some("peak_memory".into());
    assert_eq!(
        found("true", memory).await.unwrap(),
        "time peak_memory bytes"
    );
    let time = |config: &mut LocalConfig| config.format = Format::Time;
    assert_eq!(found("echo v: 1 ms", time).await.unwrap(), "time wall s");
}

#[tokio::test]
async fn a_chart_must_be_named_among_several_and_must_exist() {
    let several = "echo load: 1 ms; echo parse: 2 ms";
    let error = found(several, |_| {}).await.unwrap_err();
    assert!(error.contains("`load`, `parse`"), "{error}");
    let named = |config: &mut LocalConfig| config.chart = Some("parse".into());
    assert_eq!(found(several, named).await.unwrap(), "lines parse ms");
    let wrong = |config: &mut LocalConfig| config.chart = Some("pares".into());
    let error = found(several, wrong).await.unwrap_err();
    assert!(
        error.contains("`pares`") && error.contains("`load`, `parse`"),
        "{error}"
    );
    let error = found("true", wrong).await.unwrap_err();
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
        let error = found(script, lines).await.unwrap_err();
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
        find_metric(&executor, &world.combined(&first))
            .await
            .unwrap()
            .chart
            .as_deref(),
        Some("wall")
    );
}

#[tokio::test]
async fn a_command_that_cannot_be_run_is_named() {
    let program =
        |name: &'static str| move |config: &mut LocalConfig| config.command = vec![name.into()];
    for name in ["./missing", "no-such-program-anywhere", "/no/such/program"] {
        let error = found("", program(name)).await.unwrap_err();
        assert!(error.contains(name.trim_start_matches('.')), "{error}");
        assert!(error.contains("does not exist"), "{error}");
    }
    let error = found("", program("./file")).await.unwrap_err();
    assert!(
        error.contains("/file can't be executed") && error.contains("chmod"),
        "{error}"
    );
    let error = found("", program("./")).await.unwrap_err();
    assert!(error.contains("can't be executed"), "{error}");

    let world = World::new();
    let script = world.repository.join("bench");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let first = world.commit("file", "1");
    let mut config = world.config(&first, "");
    config.command = vec!["./bench".into()];
    let error = refusal(find_metric(&world.open(config, "job"), &world.combined(&first)).await);
    assert!(error.contains("interpreter"), "{error}");
}

#[tokio::test]
async fn nothing_but_the_request_tells_the_metric_of_a_run() {
    let world = World::new();
    let first = world.combined(&world.commit("file", "1"));
    let script = "echo v: 1 ${UNIT-ms}; echo w: 2 x";
    let mut config = world.config(&first.main.git_hash, script);
    config.chart = Some("v".into());
    let executor = world.open(config.clone(), "job");
    let metric = find_metric(&executor, &first).await.unwrap();
    assert_eq!(metric.charts["w"].unit.as_deref(), Some("x"));
    assert!(!world.path("jobs/job/metric.json").exists());
    assert_eq!(executor.metric_of_old_job(), None);
    drop(executor);

    let executor = world.open(config, "job");
    let mut request = request(1, &first, 0);
    request.metric = Some(metric.clone());
    let report = executor.run(&request).await.unwrap();
    assert_eq!(report.chart.as_deref(), Some("v"));
    assert_eq!(report.charts["v"].values, [1.0]);
    // Another unit of time is converted; the chart in any other is another chart.
    request.key.action = 2;
    request.variant.env = [("UNIT".to_owned(), "s".to_owned())].into();
    let report = executor.run(&request).await.unwrap();
    assert_eq!(report.charts["v"].values, [1000.0]);
    assert_eq!(report.charts["v"].unit.as_deref(), Some("ms"));
    request.key.action = 3;
    request.variant.env = [("UNIT".to_owned(), "MB".to_owned())].into();
    let failure = executor.run(&request).await.unwrap().failure;
    assert_eq!(failure.unwrap(), "gave `v` in `MB` instead of `ms`");
    request.key.action = 4;
    request.metric = Some(Metric {
        format: "no-such-format".into(),
        ..metric
    });
    let error = refusal(executor.run(&request).await);
    assert!(error.contains("no-such-format"), "{error}");
}

#[tokio::test]
async fn a_job_of_an_earlier_version_keeps_its_metric() {
    let world = World::new();
    let first = world.combined(&world.commit("file", "1"));
    let path = world.path("jobs/job/metric.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let stored = r#"{"format":"lines","chart":"v","unit":"ms","direction":"unknown","charts":{"v":{"unit":"ms","direction":"unknown"}}}"#;
    fs::write(&path, stored).unwrap();
    let config = world.config(&first.main.git_hash, "echo v: 1 ms; echo w: 2 x");
    let executor = world.open(config, "job");
    let metric = executor.metric_of_old_job().unwrap();
    assert_eq!(
        (&*metric.format, metric.chart.as_deref()),
        ("lines", Some("v"))
    );
    let report = run(&executor, 1, &first, 0).await;
    assert_eq!(report.chart.as_deref(), Some("v"));
    assert_eq!(report.charts["v"].values, [1.0]);
    assert_eq!(fs::read_to_string(&path).unwrap(), stored);
}

/// Three values each of two charts.
const SEVERAL: &str = "for n in 1 2 6; do echo v: $n ms; echo w: $n$n ms; done";

#[tokio::test]
async fn every_value_is_reported_and_aggregated_when_it_is_read() {
    let world = World::new();
    let first = world.combined(&world.commit("file", "1"));
    let mut config = world.config(&first.main.git_hash, SEVERAL);
    config.chart = Some("v".into());
    let executor = world.open(config, "job");
    let report = run(&executor, 1, &first, 0).await;
    assert_eq!(report.charts["v"].values, [1.0, 2.0, 6.0]);
    assert_eq!(report.charts["v"].unit.as_deref(), Some("ms"));
    assert_eq!(report.charts.len(), 1, "the other chart is not wanted");

    let record = Record::Reported {
        action: 1,
        report: Report::Ran(report),
    };
    // The journal stays unchanged, regardless of its use.
    let record: Record = serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
    for (aggregate, expected) in [
        (None, vec![1.0, 2.0, 6.0]),
        (Some(Method::Median.into()), vec![2.0]),
        (Some(Method::Mean.into()), vec![3.0]),
    ] {
        let reading = ReadingSettings {
            charts: Charts::Deciding(None),
            aggregate,
            created: 0,
        };
        let Some(Event::Ran { values, .. }) = event(&record, None, &reading) else {
            panic!("it ran");
        };
        assert_eq!(values["v"], expected);
    }

    let mut request = request(2, &first, 1);
    request.charts = Charts::All;
    let report = executor.run(&request).await.unwrap();
    assert_eq!(report.charts["w"].values, [11.0, 22.0, 66.0]);
    assert_eq!(report.charts["v"].values, [1.0, 2.0, 6.0]);
}

#[tokio::test]
async fn a_job_of_an_earlier_version_goes_on_with_one_value_a_run() {
    let world = World::new();
    let first = world.combined(&world.commit("file", "1"));
    for (stored, kept, value) in [(Value::Null, "median", 2.0), ("mean".into(), "mean", 3.0)] {
        let mut config = world.config(&first.main.git_hash, SEVERAL);
        config.chart = Some("v".into());
        let mut config = serde_json::to_value(config).unwrap();
        assert_eq!(config.get("aggregate"), None);
        config["aggregate"] = stored;
        let config: LocalConfig = serde_json::from_value(config).unwrap();
        assert_eq!(serde_json::to_value(&config).unwrap()["aggregate"], kept);
        let executor = world.open(config, kept);
        let report = run(&executor, 1, &first, 0).await;
        assert_eq!(report.charts["v"].values, [value]);
    }
}

#[tokio::test]
async fn values_that_cannot_be_aggregated_are_refused_at_the_good_end() {
    let world = World::new();
    let first = world.combined(&world.commit("file", "1"));
    let script = "echo v: 1 ms; echo v: -1 ms";
    let executor = world.open(world.config(&first.main.git_hash, script), "job");
    let mut request = FindMetricRequest {
        key: key(1),
        commit: first.clone(),
        aggregate: Some(Method::GeometricMean.into()),
    };
    let error = refusal(executor.find_metric(&request).await);
    assert!(error.contains(&first.main.git_hash), "{error}");
    let reason = "the 2 values of `v` have no geometric-mean";
    assert!(error.contains(reason), "{error}");
    request.aggregate = Some(Method::Min.into());
    assert!(executor.find_metric(&request).await.is_ok());
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
        let mut request = request(1, &world.combined(&first), 0);
        request.charts = Charts::All;
        let report = executor.run(&request).await.unwrap();
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
    assert_eq!(report.charts["took"].values, [1.0, 2.0, 6.0]);
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
        let metric = find_metric(&executor, &world.combined(&first))
            .await
            .unwrap();
        assert_eq!(metric.direction, direction, "{script}");
    }
}

#[tokio::test]
async fn criterions_folder_is_read_and_only_its_results_are_removed() {
    let world = World::new();
    let first = world.commit("file", "1");
    // Each run finds the previous one's own files, but no results.
    let script = r#"
        mkdir -p out/a/new && cd out/a
        test ! -e new/sample.json || exit 1
        echo x >> new/kept.json
        echo '{"full_id": "a"}' > new/benchmark.json
        echo "{\"iters\": [1, 2], \"times\": [$(wc -l < new/kept.json), 8]}" > new/sample.json
    "#;
    let mut config = world.config(&first, script);
    config.results = Some("out".into());
    let executor = world.open(config, "job");
    let metric = find_metric(&executor, &world.combined(&first))
        .await
        .unwrap();
    assert_eq!(
        (&*metric.format, metric.chart.as_deref()),
        ("criterion", Some("a"))
    );
    let report = run(&executor, 1, &world.combined(&first), 0).await;
    assert_eq!(report.failure, None);
    assert_eq!(report.charts["a"].values, [2.0, 4.0]);
}

#[tokio::test]
async fn the_run_that_finds_the_metric_is_like_those_that_are_counted() {
    // A benchmark may be silent in warm-up runs.
    let script = "test \"$PINPOINT_WARMUP\" = 1 || echo v: $((PINPOINT_RUN + 1)) ms";
    for warmup in [0, 1] {
        let metric = found(script, |config| config.warmup = warmup).await;
        assert_eq!(metric.unwrap(), "lines v ms");
    }
}

#[tokio::test]
async fn a_metric_in_doubt_stops_the_job_with_the_lines() {
    let error = found("echo latency 12.5 ms", |_| {}).await.unwrap_err();
    assert!(
        error.contains("standard output, line 1: latency 12.5 ms"),
        "{error}"
    );
    // Nothing else of the output can be meant.
    let metric = found("echo sorted in 12.5 ms", |_| {}).await;
    assert_eq!(metric.unwrap(), "lines sorted ms");
    let error = found("echo score: 20; echo sorted in 12.5 ms", |_| {}).await;
    assert!(error.unwrap_err().contains("only `score` was read"));
    let error = found("echo sorted in 12.5 ms >&2", |_| {}).await;
    assert!(error.unwrap_err().contains("standard error, line 1"));
}

#[tokio::test]
async fn values_on_standard_error_are_read_there_in_every_run() {
    let world = World::new();
    let first = world.combined(&world.commit("file", "1"));
    let script = "echo done; echo v: $((PINPOINT_RUN + 1)) ms >&2";
    // A line there may be from a log: it is a metric only if declared.
    let error = found(script, |_| {}).await.unwrap_err();
    assert!(error.contains("standard error, line 1: v: "), "{error}");
    let mut config = world.config(&first.main.git_hash, script);
    config.format = Format::Lines;
    let executor = world.open(config, "job");
    let metric = find_metric(&executor, &first).await.unwrap();
    assert_eq!(metric.source, Some(MetricSource::StandardError));
    let mut request = request(1, &first, 4);
    request.metric = Some(metric);
    let report = executor.run(&request).await.unwrap();
    assert_eq!(report.charts["v"].values, [5.0]);
}

#[tokio::test]
async fn a_name_that_changes_from_run_to_run_is_found_out_before_the_search() {
    let world = World::new();
    let counter = world.path("counter");
    let script = format!(
        "echo >> {0}; echo run$(($(wc -l < {0}))) time: 3 ms",
        counter.display()
    );
    for every_chart in [false, true] {
        let error = found(&script, |config| config.every_chart = every_chart).await;
        let error = error.unwrap_err();
        assert!(error.contains("time` in one run and `run"), "{error}");
    }
    // The user knows the names.
    let runs = fs::read_to_string(&counter).unwrap().lines().count();
    let next = format!("run{} time", runs + 1);
    let named = found(&script, |config| config.chart = Some(next)).await;
    assert!(named.unwrap().starts_with("lines run"));
    // A name that stays is followed.
    assert_eq!(
        found("echo sort/1024: 3 ms", |_| {}).await.unwrap(),
        "lines sort/1024 ms"
    );
}

#[tokio::test]
async fn a_run_without_the_metric_names_what_it_gives_instead() {
    let world = World::new();
    let first = world.combined(&world.commit("file", "1"));
    let executor = world.open(
        world.config(&first.main.git_hash, "echo ${NAME-v}: 1 ms"),
        "job",
    );
    let metric = find_metric(&executor, &first).await.unwrap();
    let mut request = request(1, &first, 0);
    request.metric = Some(metric);
    request.variant.env = [("NAME".to_owned(), "w".to_owned())].into();
    let failure = executor.run(&request).await.unwrap().failure;
    assert_eq!(failure.unwrap(), "gave no value for `v`, only for `w`");
}
