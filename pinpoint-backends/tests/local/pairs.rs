//! Pairs: two runs with nothing between them, each with its side's settings.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use pinpoint_core::{InProcess, PairReport, RunPairRequest, Variant};

use crate::world::{World, find_metric, key, run, until};

fn request(action: u64, first: &Variant, second: &Variant, index: u32) -> RunPairRequest {
    RunPairRequest {
        key: key(action),
        first: first.clone(),
        second: second.clone(),
        index,
        bot: None,
        charts: pinpoint_core::Charts::All,
        metric: None,
    }
}

/// A repository with two commits, whose benchmark prints its arguments.
struct Two {
    world: World,
    base: Variant,
    experiment: Variant,
    script: String,
}

impl Two {
    fn new() -> Self {
        let world = World::new();
        let base = world.commit("file", "1");
        let experiment = world.commit("file", "2");
        let script = format!(
            "echo begin $(cat file) ${{PINPOINT_RUN-warm}} \"$@\" ${{MODE-}} >> {0}; sleep 0.02; \
             echo v: $(cat file) x; echo w: 5 y; echo end $(cat file) >> {0}",
            world.path("log").display()
        );
        Self {
            base: world.combined(&base).into(),
            experiment: world.combined(&experiment).into(),
            world,
            script,
        }
    }

    fn log(&self) -> Vec<String> {
        let log = fs::read_to_string(self.world.path("log")).unwrap();
        log.lines().map(|line| line.trim().to_owned()).collect()
    }
}

fn values(pair: &PairReport, chart: &str) -> [f64; 2] {
    [&pair.first, &pair.second].map(|run| run.charts[chart].values[0])
}

#[tokio::test]
async fn both_sides_run_in_the_order_asked_for_and_with_what_is_their_own() {
    let two = Two::new();
    let hash = &two.base.commit.main.git_hash;
    let mut config = two.world.config(hash, &two.script);
    config.every_chart = true;
    // The name of the script, and then its own argument.
    config.command.extend(["bench".into(), "common".into()]);
    config.good_arguments = vec!["old".into()];
    config.warmup = 1;
    let executor = two.world.open(config, "job");
    let base = Variant {
        arguments: vec!["old".into()],
        ..two.base.clone()
    };
    let experiment = Variant {
        arguments: vec!["new".into(), "--fast".into()],
        env: BTreeMap::from([("MODE".to_owned(), "quick".to_owned())]),
        ..two.experiment.clone()
    };
    let metric = find_metric(&executor, &base.commit).await.unwrap();
    assert_eq!(metric.chart, None);
    assert_eq!(metric.charts["v"].unit.as_deref(), Some("x"));
    let mut request = request(7, &experiment, &base, 4);
    request.metric = Some(metric);
    let pair = executor.run_pair(&request).await.unwrap();
    assert_eq!(values(&pair, "v"), [2.0, 1.0]);
    assert_eq!(values(&pair, "w"), [5.0, 5.0]);
    assert_eq!(pair.first.chart, None);
    let expected = [
        // At the base the metric is found, which warms it up, by a run like those that count; all
        // with their side's arguments.
        "begin 1 0 common old",
        "end 1",
        "begin 2 warm common new --fast quick",
        "end 2",
        "begin 2 4 common new --fast quick",
        "end 2",
        "begin 1 4 common old",
        "end 1",
    ];
    assert_eq!(two.log(), expected);
}

#[tokio::test]
async fn nothing_runs_between_the_two_of_a_pair() {
    let two = Two::new();
    let hash = &two.base.commit.main.git_hash;
    let mut config = two.world.config(hash, &two.script);
    config.chart = Some("v".into());
    // Two jobs in one process, which share only the machine's lock.
    let one = two.world.open(config.clone(), "one");
    let other = two.world.open(config, "other");
    let pairs = async {
        for index in 0..4 {
            let request = request(index.into(), &two.base, &two.experiment, index);
            one.run_pair(&request).await.unwrap();
        }
    };
    let singles = async {
        for index in 0..8 {
            run(&other, index.into(), &two.base.commit, 100 + index).await;
        }
    };
    tokio::join!(pairs, singles);
    let log = two.log();
    let begins: Vec<&str> = (log.iter())
        .filter(|line| line.starts_with("begin"))
        .map(String::as_str)
        .collect();
    for index in 0..4 {
        let first = begins
            .iter()
            .position(|line| *line == format!("begin 1 {index}"));
        let next = begins[first.unwrap() + 1];
        assert_eq!(next, format!("begin 2 {index}"), "{log:#?}");
    }
    // Never two at once.
    assert!(
        log.chunks(2)
            .all(|two| two[0].starts_with("begin") && two[1].starts_with("end"))
    );
}

#[tokio::test]
async fn a_pair_that_is_asked_for_again_is_answered_from_the_first_time() {
    let two = Two::new();
    let hash = &two.base.commit.main.git_hash;
    let mut config = two.world.config(hash, &two.script);
    config.every_chart = true;
    let executor = two.world.open(config.clone(), "job");
    let asked = request(3, &two.base, &two.experiment, 0);
    let pair = executor.run_pair(&asked).await.unwrap();
    let log = two.log();
    assert_eq!(executor.run_pair(&asked).await.unwrap(), pair);
    drop(executor);
    let executor = two.world.open(config, "job");
    assert_eq!(executor.run_pair(&asked).await.unwrap(), pair);
    assert_eq!(two.log(), log);
    // The number of an action whose record was lost may be used for another.
    let other = request(3, &two.experiment, &two.base, 0);
    let pair = executor.run_pair(&other).await.unwrap();
    assert_eq!(values(&pair, "v"), [2.0, 1.0]);
}

#[tokio::test]
async fn the_other_side_runs_though_one_fails() {
    let two = Two::new();
    let script = "echo note >&2; echo v: $(cat file) x; test $(cat file) = 1";
    let hash = &two.base.commit.main.git_hash;
    let executor = two.world.open(two.world.config(hash, script), "job");
    for (action, pair) in [
        (5, [&two.base, &two.experiment]),
        (6, [&two.experiment, &two.base]),
    ] {
        let report = executor
            .run_pair(&request(action, pair[0], pair[1], 0))
            .await
            .unwrap();
        for (run, variant) in [report.first, report.second].iter().zip(pair) {
            let fails = *variant == two.experiment;
            assert_eq!(run.failure.is_some(), fails);
            assert_eq!(run.charts.is_empty(), fails);
            if let Some(log) = &run.log {
                assert!(fs::read_to_string(log).unwrap().contains("v: 2 x"));
            }
        }
    }
}

#[tokio::test]
async fn a_chart_in_another_unit_is_another_chart() {
    let two = Two::new();
    let script = "echo time: 1 $(test $(cat file) = 1 && echo ms || echo MB); echo load: 1 x";
    let hash = &two.base.commit.main.git_hash;
    let mut config = two.world.config(hash, script);
    config.every_chart = true;
    let executor = two.world.open(config, "job");
    let mut request = request(1, &two.base, &two.experiment, 0);
    request.metric = Some(find_metric(&executor, &two.base.commit).await.unwrap());
    let pair = executor.run_pair(&request).await.unwrap();
    assert_eq!(pair.first.failure, None);
    let failure = pair.second.failure.unwrap();
    assert_eq!(failure, "gave `time` in `MB` instead of `ms`");
}

#[tokio::test]
async fn a_pair_that_is_canceled_leaves_nothing_running() {
    let two = Two::new();
    let script = format!(
        "case ${{PINPOINT_RUN-warm}}:$(cat file) in 0:2) echo $$ > {}; sleep 1000;; esac; echo v: 1 x",
        two.world.path("second").display()
    );
    let hash = &two.base.commit.main.git_hash;
    let executor = two.world.open(two.world.config(hash, &script), "job");
    let request = request(9, &two.base, &two.experiment, 0);
    let asked = executor.run_pair(&request);
    let ended = async {
        let second = two.world.path("second");
        until("the second run", || {
            second.metadata().is_ok_and(|it| it.len() > 0)
        })
        .await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        executor.ended(&key(9)).await.unwrap();
        assert!(!crate::world::lives(&second));
    };
    let (pair, ()) = tokio::join!(asked, ended);
    assert!(pair.is_err());
}
