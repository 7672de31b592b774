//! The measures of runs whose output is not read.

use std::fs;

use pinpoint_backends::local::{InstructionCounter, LocalError, MeasureChoice, RunMeasure};
use pinpoint_core::results::Format;
use pinpoint_core::{Charts, InProcess};

use crate::world::{World, find_metric, refusal, request, run};

/// Counts down from a number, in the shell itself.
fn count_down(from: u32) -> String {
    format!("i={from}; while [ $i != 0 ]; do i=$((i - 1)); done")
}

/// The instructions of each of these scripts, as counted by callgrind.
async fn instructions_of<const N: usize>(scripts: [String; N]) -> [f64; N] {
    let world = World::new();
    let first = world.commit("file", "1");
    let mut counts = [0.0; N];
    for (number, script) in scripts.into_iter().enumerate() {
        let mut config = world.config(&first, &script);
        config.format = Format::Time;
        config.instructions = Some(InstructionCounter::Callgrind);
        // Valgrind gives this character a meaning.
        let executor = world.open(config, &format!("job %p {number}"));
        let mut request = request(1, &world.combined(&first), 0);
        request.charts = Charts::All;
        let report = executor.run(&request).await.unwrap();
        assert_eq!(report.failure, None, "{script} (is valgrind installed?)");
        // Times and memory would be valgrind's.
        assert_eq!(report.charts.keys().collect::<Vec<_>>(), ["instructions"]);
        counts[number] = report.charts["instructions"].values[0];
        let counted = report.usage.unwrap().instructions;
        assert_eq!(counted, Some(counts[number] as u64));
        let left = fs::read_dir(world.path(&format!("jobs/job %p {number}/runs"))).unwrap();
        assert!(left.flatten().all(|entry| entry.path().is_file()));
    }
    counts
}

#[tokio::test]
async fn callgrind_counts_the_instructions_of_all_processes_once() {
    let (short, long) = (count_down(1000), count_down(5000));
    let [one, again, five, forked, started, background] = instructions_of([
        short.clone(),
        short.clone(),
        long.clone(),
        // Each new process inherits the count of the old one, unless told otherwise.
        format!("{long}; (true); (true); (true)"),
        format!("sh -c '{long}'"),
        format!("({long}) & wait"),
    ])
    .await;
    assert!((one / again - 1.0).abs() < 0.001, "{one}, {again}");
    let work = five - one;
    assert!(work > one, "{five}, {one}");
    for other in [forked, started, background] {
        // The work of the shell itself differs a little each time.
        let all = 0.98 * five..five + work;
        assert!(all.contains(&other), "{other}, {five}");
    }
}

#[tokio::test]
async fn a_measure_is_not_read_from_the_output() {
    let world = World::new();
    let first = world.commit("file", "1");
    for (measure, chart, unit) in [
        (RunMeasure::Wall, "wall", Some("s")),
        (RunMeasure::User, "user", Some("s")),
        (RunMeasure::Memory, "peak_memory", Some("bytes")),
        (RunMeasure::Instructions, "instructions", None),
    ] {
        let mut config = world.config(&first, "echo v: 1 ms");
        config.measure_by(measure).unwrap();
        let executor = world.open(config, measure.as_str());
        let metric = find_metric(&executor, &world.combined(&first))
            .await
            .unwrap();
        assert_eq!(metric.chart.as_deref(), Some(chart));
        assert_eq!(metric.unit.as_deref(), unit);
        assert_eq!(metric.direction, pinpoint_core::Direction::Down);
        let report = run(&executor, 1, &world.combined(&first), 0).await;
        assert!(report.charts[chart].values[0] > 0.0 || measure == RunMeasure::User);
    }
    let mut config = world.config(&first, "");
    config.format = Format::Lines;
    let mut with_file = world.config(&first, "");
    with_file.results = Some("out.txt".into());
    for mut config in [config, with_file] {
        let refused = config.measure_by(RunMeasure::Memory);
        assert!(matches!(refused, Err(LocalError::MeasureOfOutput)));
    }
}

#[tokio::test]
async fn a_counter_that_is_gone_is_named() {
    let world = World::new();
    let first = world.combined(&world.commit("file", "1"));
    let counting = |counter, path: &str| {
        let mut config = world.config(&first.main.git_hash, "true");
        config.format = Format::Time;
        config.command = vec!["/bin/true".into()];
        config.env = [("PATH".to_owned(), path.to_owned())].into();
        config.instructions = Some(counter);
        config
    };
    let config = counting(InstructionCounter::Callgrind, "/nowhere");
    let error = refusal(
        world
            .open(config, "callgrind")
            .run(&request(1, &first, 0))
            .await,
    );
    assert!(error.contains("can't start valgrind"), "{error}");
    // The remains of a killed process.
    let left = world.path("jobs/missing/runs/callgrind-left");
    fs::create_dir_all(left.join("of a run")).unwrap();
    let mut config = counting(InstructionCounter::Callgrind, "/nowhere");
    config.command = vec!["./missing".into()];
    let executor = world.open(config, "missing");
    assert!(!left.exists());
    let failure = run(&executor, 1, &first, 0).await.failure.unwrap();
    assert!(
        failure.contains("missing") && !failure.contains("valgrind"),
        "{failure}"
    );
    if matches!(
        InstructionCounter::available(),
        Ok(InstructionCounter::Processor)
    ) {
        println!("skipped: the processor counts instructions here");
        return;
    }
    let mut config = counting(InstructionCounter::Processor, "/bin");
    // Where they do not decide, they are left out.
    let mut every = request(1, &first, 0);
    every.charts = Charts::All;
    let report = world.open(config.clone(), "others").run(&every).await;
    let charts = report.unwrap().charts;
    assert!(charts.contains_key("wall") && !charts.contains_key("instructions"));
    config.chart = Some("instructions".into());
    let error = refusal(
        world
            .open(config, "processor")
            .run(&request(1, &first, 0))
            .await,
    );
    assert!(error.contains("were not counted: "), "{error}");
}

/// The choice of a measure in which this commit is worse.
fn worse(world: &World, commit: &str) -> MeasureChoice {
    MeasureChoice {
        other: world.combined(commit).into(),
        either_way: false,
    }
}

#[tokio::test]
async fn a_measure_is_chosen_by_runs_of_both_ends_in_turns() {
    let world = World::new();
    let (good, bad) = (world.commit("value", "1"), world.commit("value", "2"));
    let log = world.path("log");
    let script = format!(
        "echo $(cat value) ${{PINPOINT_RUN-$PINPOINT_WARMUP}} >> {}; test $(cat value) = 1 || {}",
        log.display(),
        count_down(100_000),
    );
    let mut config = world.config(&good, &script);
    config.choose_measure(worse(&world, &bad)).unwrap();
    let executor = world.open(config.clone(), "job");
    let metric = find_metric(&executor, &world.combined(&good))
        .await
        .unwrap();
    let chosen = metric.chart.unwrap();
    assert!(metric.charts.contains_key(&chosen), "{chosen}");
    assert_eq!(metric.unit, metric.charts[&chosen].unit);
    // One warm-up run of the bad end, as the good one was run; none is counted.
    let expected = ["1 0\n2 1\n", &"1 0\n2 0\n".repeat(5)].concat();
    assert_eq!(fs::read_to_string(&log).unwrap(), expected);

    // If the bad end can't be run, the search will find out.
    let mut config = world.config(&good, &script);
    config.build = Some("test $(cat value) = 1".into());
    config.choose_measure(worse(&world, &bad)).unwrap();
    let executor = world.open(config, "unbuildable");
    let metric = find_metric(&executor, &world.combined(&good))
        .await
        .unwrap();
    assert_eq!(metric.chart.as_deref(), Some("wall"));
}
