//! The metric in a result: its name, its source, and doubts.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeMap;

use futures_util::FutureExt;
use pinpoint_core::job::{DirectionSource, JobResult, MeasuredMetric, ResultSource};
use pinpoint_core::{
    BisectionSpec, ChartChoice, CombinedCommit, Commit, CulpritFinderSpec, Direction, Engine,
    FindMetric, JobKey, JobMachine, JobSpec, Machine, Measure, Metric, MetricSource, NoMetric,
    PairReport, PairwiseSpec, Range, Record, Report, Request, RunReport, Series, Strategy,
    deciding_chart, metric_of,
};
use pinpoint_core::{BuildReport, Listing, Located};

struct Nothing;

impl ResultSource for Nothing {}

fn commit(number: u64) -> CombinedCommit {
    Commit::new("numbers", number.to_string()).into()
}

fn number(located: &Located) -> u64 {
    let number = |commit: &CombinedCommit| commit.main.git_hash.parse::<u64>().unwrap();
    match located {
        Located::Commit(commit) => number(commit),
        Located::Offset { listing, offset } => number(&listing.lower) + offset + 1,
    }
}

fn found(unit: &str) -> Metric {
    let measure = Measure {
        unit: Some(unit.into()),
        direction: Direction::Unknown,
    };
    Metric {
        format: "lines".into(),
        chart: Some("v".into()),
        unit: Some(unit.into()),
        charts: BTreeMap::from([("v".into(), measure)]),
        source: Some(MetricSource::StandardOutput),
        ..Metric::default()
    }
}

/// The result of a job whose runs of each commit have these values, by the number of the
/// run.
fn result(
    spec: impl Into<JobSpec>,
    metric: &Metric,
    values: impl Fn(u64, u32) -> Vec<f64>,
) -> JobResult {
    let find = FindMetric {
        directions: true,
        only_chart: false,
    };
    let machine = JobMachine::finding(spec, find).unwrap();
    let key = JobKey {
        id: "job".into(),
        created: 0,
    };
    let mut engine = Engine::new(key, machine);
    let run = |commit: &CombinedCommit, index| {
        let series = Series {
            values: values(number(&Located::Commit(commit.clone())), index),
            ..Series::default()
        };
        RunReport::new(0).series("v", series)
    };
    for _ in 0..10_000 {
        let Some(action) = engine.outstanding().into_iter().next() else {
            break;
        };
        let report = match engine.request(&action).unwrap().unwrap() {
            Request::FindMetric(_) => Report::Metric(metric.clone()),
            Request::List(request) => {
                let [lower, higher] = [request.lower.clone(), request.higher.clone()]
                    .map(|end| number(&Located::Commit(end)));
                Report::Listed(Listing::new(&request, higher - lower - 1))
            }
            Request::Build(request) => {
                Report::Built(BuildReport::built(commit(number(&request.commit))))
            }
            Request::Run(request) => Report::Ran(run(&request.variant.commit, request.index)),
            Request::RunPair(request) => Report::RanPair(Box::new(PairReport {
                first: run(&request.first.commit, request.index),
                second: run(&request.second.commit, request.index),
            })),
            other => panic!("{other:?}"),
        };
        let record = Record::Reported {
            action: action.number,
            report,
        };
        engine.apply(&record).unwrap();
    }
    let outcome = engine.machine().outcome().unwrap().clone();
    let named = JobResult::new(&engine, outcome, &Nothing, 0);
    named.now_or_never().unwrap().unwrap()
}

fn bisection() -> BisectionSpec {
    BisectionSpec {
        // It asks for as many runs if the values differ as if not.
        strategy: Strategy::Pinpoint,
        ..BisectionSpec::new(Range::Between {
            good: commit(0),
            bad: commit(7),
        })
    }
}

fn noisy(number: u64, index: u32) -> f64 {
    10.0 + 0.01 * f64::from((index * 7 + 3 * u32::try_from(number).unwrap()) % 10)
}

#[test]
fn a_result_names_the_metric_and_where_it_was_read() {
    let metric = Metric {
        remarks: vec!["a doubt".into()],
        ..found("ms")
    };
    let result = result(bisection(), &metric, |number, index| {
        vec![noisy(number, index)]
    });
    let expected = MeasuredMetric {
        chart: Some("v".into()),
        unit: Some("ms".into()),
        format: Some("lines".into()),
        source: Some(MetricSource::StandardOutput),
        direction: Some(Direction::Down),
        direction_source: Some(DirectionSource::Unit),
        aggregate: None,
    };
    assert_eq!(result.metric(), Some(&expected));
    assert_eq!(result.warnings(), ["a doubt"]);
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["metric"]["source"], "standard_output");
    assert_eq!(json["metric"]["direction_source"], "unit");
}

#[test]
fn the_reason_for_a_direction_is_said() {
    let key = |find| {
        let spec = BisectionSpec {
            direction: Direction::Up,
            ..bisection()
        };
        JobMachine::finding(spec, find).unwrap()
    };
    let open = key(FindMetric {
        directions: true,
        ..FindMetric::default()
    });
    let told = key(FindMetric::default());
    let format = Metric {
        direction: Direction::Down,
        ..found("points")
    };
    for (machine, metric, direction, reason) in [
        (&open, found("ms"), Direction::Down, DirectionSource::Unit),
        (&open, format, Direction::Down, DirectionSource::Format),
        (
            &open,
            found("points"),
            Direction::Unknown,
            DirectionSource::Unknown,
        ),
        (&told, found("ms"), Direction::Up, DirectionSource::Told),
    ] {
        let measured = MeasuredMetric::of(machine, Some(&metric)).unwrap();
        assert_eq!(measured.direction, Some(direction));
        assert_eq!(measured.direction_source, Some(reason));
    }
    // A job that did not look for its metric has that of its spec.
    assert_eq!(MeasuredMetric::of(&told, None), None);
    let spec = BisectionSpec {
        chart: Some("v".into()),
        ..bisection()
    };
    let machine = JobMachine::new(spec).unwrap();
    let measured = MeasuredMetric::of(&machine, None).unwrap();
    assert_eq!(measured.chart.as_deref(), Some("v"));
    assert_eq!(measured.source, None);
}

#[test]
fn a_metric_that_never_changes_is_named() {
    let specs: [JobSpec; 3] = [
        bisection().into(),
        PairwiseSpec::new(commit(0), commit(7)).into(),
        CulpritFinderSpec::new(Range::Between {
            good: commit(0),
            bad: commit(7),
        })
        .into(),
    ];
    for spec in specs {
        let same = result(spec.clone(), &found("ns"), |_, _| vec![20.0]);
        assert_eq!(
            same.warnings(),
            ["every run gave exactly 20 ns for `v`: check that this is the measure you mean"],
            "{spec:?}"
        );
        let several = result(spec.clone(), &found("ns"), |_, _| vec![20.0, 30.0]);
        assert!(
            several.warnings()[0].contains("the same 2 values for `v`"),
            "{:?}",
            several.warnings()
        );
        let alike = result(spec.clone(), &found("ns"), |_, index| vec![noisy(0, index)]);
        assert_eq!(
            alike.warnings(),
            [
                "the runs of both commits gave exactly the same values for `v`, one by one: check \
              that they depend on the commit"
            ]
        );
        let moving = result(spec, &found("ns"), |number, index| {
            vec![noisy(number, index)]
        });
        assert_eq!(moving.warnings(), [""; 0]);
    }
    // Values that never change but with a commit are those of a quiet metric.
    let culprit = result(bisection(), &found("ns"), |number, _| match number {
        0..3 => vec![20.0],
        _ => vec![30.0],
    });
    assert_eq!(culprit.warnings(), [""; 0]);
}

#[test]
fn a_chart_decides_if_it_is_named_or_the_only_one() {
    let series = |values: &[f64], unit: &str| Series {
        values: values.to_vec(),
        unit: Some(unit.into()),
        direction: Direction::Up,
    };
    let both = BTreeMap::from([
        ("a".to_owned(), series(&[1.0], "x")),
        ("b".to_owned(), series(&[-1.0, 2.0], "y")),
        ("empty".to_owned(), series(&[], "z")),
    ]);
    let named = |name| metric_of(ChartChoice::Named(name), &both, None);
    let metric = named("b").unwrap();
    assert_eq!(metric.chart.as_deref(), Some("b"));
    assert_eq!(metric.unit.as_deref(), Some("y"));
    assert_eq!(metric.direction, Direction::Up);
    assert_eq!(metric.charts.len(), 2);
    let existing = || vec!["a".to_owned(), "b".to_owned()];
    for missing in ["c", "empty"] {
        assert_eq!(
            named(missing).unwrap_err(),
            NoMetric::NoSuchChart {
                chart: missing.into(),
                existing: existing(),
            }
        );
    }
    assert_eq!(
        metric_of(ChartChoice::Only, &both, None).unwrap_err(),
        NoMetric::ManyCharts {
            existing: existing()
        }
    );
    let every = metric_of(ChartChoice::Every, &both, None).unwrap();
    assert_eq!((every.chart, every.charts.len()), (None, 2));
    assert_eq!(
        metric_of(ChartChoice::Every, &BTreeMap::new(), None).unwrap_err(),
        NoMetric::NoValues
    );

    let geometric = "geometric-mean".parse().ok();
    let error = metric_of(ChartChoice::Named("b"), &both, geometric).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the 2 values of `b` have no geometric-mean"
    );
    let every = metric_of(ChartChoice::Every, &both, geometric).unwrap();
    assert_eq!(
        every.remarks,
        ["`b` was not compared: the values of a run have no geometric-mean"]
    );
}

#[test]
fn the_chart_of_the_job_is_before_that_of_the_run_and_the_only_one() {
    assert_eq!(deciding_chart(Some("a"), Some("b"), ["c"]), Some("a"));
    assert_eq!(deciding_chart(None, Some("b"), ["c"]), Some("b"));
    assert_eq!(deciding_chart(None, None, ["c"]), Some("c"));
    assert_eq!(deciding_chart(None, None, ["c", "d"]), None);
    assert_eq!(deciding_chart(None, None, []), None);
}

#[test]
fn only_a_run_without_values_may_give_a_metric_another_time() {
    let charts = RunReport::new(0).value("a", 1.0).value("b", 2.0).charts;
    let may_pass = |choice, charts: &BTreeMap<_, _>, aggregate: &str| {
        let error = metric_of(choice, charts, aggregate.parse().ok()).unwrap_err();
        error.may_pass()
    };
    assert!(may_pass(ChartChoice::Only, &BTreeMap::new(), "mean"));
    assert!(may_pass(ChartChoice::Named("a"), &BTreeMap::new(), "mean"));
    assert!(!may_pass(ChartChoice::Named("c"), &charts, "mean"));
    assert!(!may_pass(ChartChoice::Only, &charts, "mean"));
    assert!(!may_pass(ChartChoice::Named("a"), &charts, "std"));
}

#[test]
fn a_spec_says_which_charts_it_chooses_among() {
    let range = || Range::Counted { between: 3 };
    let bisection = JobSpec::from(BisectionSpec::new(range()));
    assert_eq!(bisection.chart_choice(), ChartChoice::Only);
    let named = JobSpec::from(BisectionSpec {
        chart: Some("time".into()),
        ..BisectionSpec::new(range())
    });
    assert_eq!(named.chart_choice(), ChartChoice::Named("time"));
    let pairs = JobSpec::from(PairwiseSpec::new(commit(0), commit(1)));
    assert_eq!(pairs.chart_choice(), ChartChoice::Every);
}

#[test]
fn values_are_converted_to_the_unit_of_the_metric() {
    let series = |value: f64, unit: Option<&str>| Series {
        values: vec![value],
        unit: unit.map(str::to_owned),
        ..Series::default()
    };
    let run = |v, w| BTreeMap::from([("v".to_owned(), v), ("w".to_owned(), w)]);
    let metric = found("ms");
    let charts = metric.in_units(run(series(0.1, Some("s")), series(1.0, Some("x"))));
    let charts = charts.unwrap();
    assert_eq!(charts["v"], series(100.0, Some("ms")));
    assert_eq!(charts["w"], series(1.0, Some("x")));
    for (unit, expected) in [(Some("MB"), "`MB`"), (None, "no unit")] {
        let error = metric.in_units(run(series(1.0, unit), series(1.0, None)));
        assert_eq!(
            error.unwrap_err().to_string(),
            format!("gave `v` in {expected} instead of `ms`")
        );
    }
    let every = Metric {
        chart: None,
        ..metric
    };
    let charts = every.in_units(run(series(2.0, Some("s")), series(1.0, Some("x"))));
    assert_eq!(charts.unwrap()["v"].values, [2000.0]);
    assert!(
        every
            .in_units(run(series(2.0, Some("MB")), series(1.0, None)))
            .is_err()
    );
}
