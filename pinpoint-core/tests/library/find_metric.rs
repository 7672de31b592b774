//! The metric in the outputs of a run: never certain about the wrong one.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeMap;

use pinpoint_core::results::{
    FindMetricError, Format, MetricDoubt, Output, ReadError, RequestedMetric, RunOutput,
    find_metric,
};
use pinpoint_core::{ChartChoice, Direction, Metric, MetricSource, NoMetric, Series};

fn measures() -> BTreeMap<String, Series> {
    let series = |value: f64, unit: &str| Series {
        values: vec![value],
        unit: Some(unit.into()),
        direction: Direction::Down,
    };
    BTreeMap::from([
        ("wall".to_owned(), series(0.1, "s")),
        ("peak_memory".to_owned(), series(1e6, "bytes")),
    ])
}

struct Run {
    format: Format,
    charts: ChartChoice<'static>,
    stdout: &'static str,
    stderr: &'static str,
    file: Option<&'static str>,
}

fn run_printing(stdout: &'static str) -> Run {
    Run {
        format: Format::Auto,
        charts: ChartChoice::Only,
        stdout,
        stderr: "",
        file: None,
    }
}

impl Run {
    fn find(&self) -> Result<Metric, FindMetricError> {
        let asked = RequestedMetric {
            format: &self.format,
            charts: self.charts,
            aggregate: None,
        };
        let measures = measures();
        let run = RunOutput {
            results: Output::File(self.stdout.as_bytes()),
            file: self.file,
            stderr: self.stderr.as_bytes(),
            measures: &measures,
            usual_measure: "wall",
        };
        find_metric(asked, run).map(|(metric, _)| metric)
    }

    /// Chart, format and source of the metric.
    #[track_caller]
    fn is(&self, chart: &str, format: &str, source: MetricSource) -> Metric {
        let metric = self.find().unwrap();
        let found = (metric.chart.as_deref(), &*metric.format);
        assert_eq!(found, (Some(chart), format), "{}", self.stdout);
        assert_eq!(metric.source, Some(source));
        metric
    }

    #[track_caller]
    fn doubt(&self) -> MetricDoubt {
        match self.find() {
            Err(FindMetricError::Doubt(doubt)) => doubt,
            other => panic!("{}: {other:?}", self.stdout),
        }
    }
}

/// A line that looks like a value and that no format reads.
const UNREAD: &str = "the elapsed time was about 12.5 ms more or less\n";

#[test]
fn what_looks_like_a_value_and_is_not_read_is_no_reason_to_take_the_time() {
    for run in [
        run_printing(UNREAD),
        Run {
            stderr: UNREAD,
            ..run_printing("")
        },
        Run {
            stderr: UNREAD,
            ..run_printing("done\n")
        },
        // Values on one stream do not hide those of the other.
        Run {
            stderr: "took: 3 ms\n",
            ..run_printing(UNREAD)
        },
        Run {
            charts: ChartChoice::Every,
            ..run_printing(UNREAD)
        },
    ] {
        let MetricDoubt::NotRead { unread } = run.doubt() else {
            panic!("{}", run.stdout);
        };
        assert_eq!(unread[0].value.text.trim(), UNREAD.trim());
        let error = run.find().unwrap_err().to_string();
        assert!(error.contains(", line 1: the elapsed time"), "{error}");
    }
    // The user named the metric.
    for charts in [
        ChartChoice::Named("wall"),
        ChartChoice::Named("peak_memory"),
    ] {
        let run = Run {
            charts,
            ..run_printing(UNREAD)
        };
        assert_eq!(run.find().unwrap().remarks, [""; 0]);
    }
    let time = Run {
        format: Format::Time,
        ..run_printing(UNREAD)
    };
    time.is("wall", "time", MetricSource::Measured);
}

#[test]
fn other_values_beside_the_only_one_that_is_read_are_a_doubt() {
    const BESIDE: &str = "score: 30\nthe elapsed time was about 12.5 ms more or less\n";
    let MetricDoubt::OtherValues { chart, unread } = run_printing(BESIDE).doubt() else {
        panic!("there are others");
    };
    assert_eq!((&*chart, unread.len()), ("score", 1));
    for run in [
        Run {
            charts: ChartChoice::Named("score"),
            ..run_printing(BESIDE)
        },
        Run {
            format: Format::Lines,
            ..run_printing(BESIDE)
        },
    ] {
        run.is("score", "lines", MetricSource::StandardOutput);
    }
    // The one on standard error may be the better one.
    let both = Run {
        stderr: "took: 3 ms\n",
        ..run_printing("score: 30\n")
    };
    assert!(matches!(both.doubt(), MetricDoubt::OtherValues { .. }));
    // Other words on it are not.
    Run {
        stderr: "Compiling\nFinished\n",
        ..run_printing("score: 30\n")
    }
    .is("score", "lines", MetricSource::StandardOutput);
    // Where all charts are compared, and not one alone, it is a remark.
    let every = Run {
        charts: ChartChoice::Every,
        ..run_printing("a: 1 ms\nb: 2 ms\nthe elapsed time was about 12.5 ms more or less\n")
    };
    let remarks = every.find().unwrap().remarks;
    assert!(
        remarks[0].contains("not all of the output was read"),
        "{remarks:?}"
    );
}

#[test]
fn output_without_values_leaves_the_time_to_decide_and_that_is_said() {
    for run in [
        run_printing("hello\n"),
        Run {
            stderr: "hello\n",
            ..run_printing("")
        },
    ] {
        let metric = run.is("wall", "time", MetricSource::Measured);
        assert!(metric.remarks[0].contains("its wall-clock time was compared"));
    }
    let silent = run_printing(" \n").is("wall", "time", MetricSource::Measured);
    assert_eq!(silent.remarks, [""; 0]);
}

#[test]
fn standard_error_is_read_where_standard_output_has_no_value() {
    let tool = Run {
        stderr: "test a ... bench: 1,234 ns/iter (+/- 3)\n",
        ..run_printing("done\n")
    };
    tool.is("a", "libtest", MetricSource::StandardError);
    // With the format named, too.
    let told = Run {
        format: "regex:took (?<value>[0-9.]+)".parse().unwrap(),
        stderr: "took 3 ms\n",
        ..run_printing("done\n")
    };
    told.is(
        "value",
        &told.format.to_string(),
        MetricSource::StandardError,
    );
    let named = Run {
        charts: ChartChoice::Named("took"),
        stderr: "took: 3 ms\n",
        ..run_printing("score: 30\n")
    };
    named.is("took", "lines", MetricSource::StandardError);
    let lines = Run {
        format: Format::Lines,
        stderr: "took: 3 ms\n",
        ..run_printing("done\n")
    };
    lines.is("took", "lines", MetricSource::StandardError);
}

/// A program logs anything there.
#[test]
fn a_line_on_standard_error_is_a_doubt_and_no_metric() {
    for stderr in [
        "loaded: 1000\n",
        "took: 3 ms\n",
        "connected in: 10 ms\n",
        "\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:00.05\n\tMaximum resident set size (kbytes): 1234\n",
    ] {
        for stdout in ["", "done\n"] {
            let log = Run {
                stderr,
                ..run_printing(stdout)
            };
            assert!(
                matches!(log.doubt(), MetricDoubt::NotRead { .. }),
                "{stderr}"
            );
            let every = Run {
                charts: ChartChoice::Every,
                ..log
            };
            assert!(matches!(every.doubt(), MetricDoubt::NotRead { .. }));
        }
    }
    let said = Run {
        stderr: "connected in: 10 ms\n",
        charts: ChartChoice::Named("connected in"),
        ..run_printing("")
    };
    said.is("connected in", "lines", MetricSource::StandardError);
    let wall = Run {
        charts: ChartChoice::Named("wall"),
        ..said
    };
    wall.is("wall", "time", MetricSource::Measured);
    // A build's text about itself is neither.
    let build = Run {
        stderr: "   Compiling a v0.1.0\n    Finished `release` profile [optimized] target(s) in 0.05s\n     Running `target/release/a`\n",
        ..run_printing("")
    };
    build.is("wall", "time", MetricSource::Measured);
    // Nor is a log a doubt about a tool's measurement.
    let tool = Run {
        stderr: "connected in: 10 ms\n",
        ..run_printing("test a ... bench: 1,234 ns/iter (+/- 3)\n")
    };
    tool.is("a", "libtest", MetricSource::StandardOutput);
}

#[test]
fn what_stands_beside_the_results_of_a_tool_is_a_doubt_or_a_remark() {
    const CRITERION: &str =
        "sort   time:   [1.5 ms 2.5 ms 3.5 ms]\ntest x ... bench:   1,23N ns/iter\n";
    let MetricDoubt::OtherValues { chart, unread } = run_printing(CRITERION).doubt() else {
        panic!("there are others");
    };
    assert_eq!((&*chart, unread.len()), ("sort", 1));
    let named = Run {
        charts: ChartChoice::Named("sort"),
        ..run_printing(CRITERION)
    };
    let metric = named.is("sort", "criterion-console", MetricSource::StandardOutput);
    assert_eq!(metric.remarks, [""; 0]);
    let told = Run {
        format: Format::CriterionConsole,
        ..run_printing(CRITERION)
    };
    let metric = told.is("sort", "criterion-console", MetricSource::StandardOutput);
    assert!(
        metric.remarks[0].contains("line 2: test x"),
        "{:?}",
        metric.remarks
    );
    let other_tool = Run {
        stderr: "Performance counter stats for 'a':\n\n  1.5 msec task-clock\n",
        ..run_printing("sort   time:   [1.5 ms 2.5 ms 3.5 ms]\n")
    };
    assert!(matches!(
        other_tool.doubt(),
        MetricDoubt::OtherValues { .. }
    ));
}

#[test]
fn a_list_of_the_slowest_tests_is_remarked() {
    let slowest = run_printing(
        "=== slowest 1 durations ===\n0.51s call     a.py::b\n=== 3 passed in 0.9s ===\n",
    );
    let metric = slowest.is(
        "a.py::b call",
        "pytest-durations",
        MetricSource::StandardOutput,
    );
    assert!(metric.remarks[0].contains("slowest tests only"));
}

#[test]
fn a_results_file_that_is_not_recognized_is_an_error() {
    let file = Run {
        file: Some("out.txt"),
        ..run_printing("nothing\n")
    };
    let error = file.find().unwrap_err();
    assert!(
        matches!(error, FindMetricError::Output(ReadError::NothingRecognized)),
        "{error}"
    );
    let file = Run {
        file: Some("out.txt"),
        ..run_printing("v: 1 ms\n")
    };
    file.is("v", "lines", MetricSource::ResultsFile("out.txt".into()));
}

#[test]
fn several_charts_are_to_be_chosen_from() {
    let error = run_printing("parse: 30 ms\nsort: 9 ms\n")
        .find()
        .unwrap_err();
    assert!(
        matches!(error, FindMetricError::Charts(NoMetric::ManyCharts { .. })),
        "{error}"
    );
    // One measure among counts is meant, with a remark.
    let metric = run_printing("iterations: 30\nlat: 9,012.3 ms\n").is(
        "lat",
        "lines",
        MetricSource::StandardOutput,
    );
    assert_eq!(
        metric.remarks,
        ["`lat` was compared, and `iterations` not: it was taken for a count or a setting"]
    );
}

#[test]
fn a_measurement_that_failed_is_no_metric() {
    const FAILED: &str = r#"{"results": [
        {"command": "a", "times": [1.0, 1.1], "exit_codes": [0, 139]},
        {"command": "b", "times": [1.0, 1.1], "exit_codes": [0, 0]}]}"#;
    for charts in [ChartChoice::Only, ChartChoice::Named("a")] {
        let run = Run {
            charts,
            ..run_printing(FAILED)
        };
        let error = run.find().unwrap_err();
        assert!(
            matches!(&error, FindMetricError::Failed { chart, .. } if chart == "a"),
            "{error}"
        );
    }
    let named = Run {
        charts: ChartChoice::Named("b"),
        ..run_printing(FAILED)
    };
    named.is("b", "hyperfine", MetricSource::StandardOutput);
    let every = Run {
        charts: ChartChoice::Every,
        ..run_printing(FAILED)
    };
    let remarks = every.find().unwrap().remarks;
    assert!(
        remarks[0].contains("measurement of `a` failed"),
        "{remarks:?}"
    );
}

/// The time is what is asked for where a command runs under `time`, and what it prints elsewhere
/// is not a doubt about it.
#[test]
fn the_real_time_of_time_is_meant() {
    const BASH: &str = "\nreal\t0m0.934s\nuser\t0m0.087s\nsys\t0m0.000s\n";
    const POSIX: &str = "real 0.93\nuser 0.08\nsys 0.00\n";
    const GNU: &str = "\tCommand being timed: \"./program\"\n\tUser time (seconds): 0.98\n\tSystem time (seconds): 0.00\n\tPercent of CPU this job got: 99%\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:01.04\n\tMaximum resident set size (kbytes): 956\n\tExit status: 0\n";
    const GNU_SHORT: &str = "0.98user 0.00system 0:01.04elapsed 99%CPU (0avgtext+0avgdata 956maxresident)k\n0inputs+0outputs (0major+65minor)pagefaults 0swaps\n";
    for (stderr, chart, format) in [
        (BASH, "real", "shell-time"),
        (POSIX, "real", "shell-time"),
        (GNU, "elapsed", "gnu-time"),
        (GNU_SHORT, "elapsed", "gnu-time"),
    ] {
        for stdout in ["", "done\n"] {
            let run = Run {
                stderr,
                ..run_printing(stdout)
            };
            let metric = run.is(chart, format, MetricSource::StandardError);
            assert_eq!(metric.remarks.len(), 1, "{:?}", metric.remarks);
            assert!(metric.remarks[0].contains("it is the result by which the tool is known"));
        }
        // What the program prints may be meant, unless the time is named.
        let beside = Run {
            stderr,
            ..run_printing("sum 12345\n")
        };
        let MetricDoubt::OtherValues {
            chart: read,
            unread,
        } = beside.doubt()
        else {
            panic!("there is another one");
        };
        assert_eq!((&*read, unread.len()), (chart, 1));
        for stdout in ["", "sum 12345\n"] {
            let named = Run {
                charts: ChartChoice::Named("user"),
                stderr,
                ..run_printing(stdout)
            };
            named.is("user", format, MetricSource::StandardError);
        }
    }
}

#[test]
fn a_time_of_few_steps_is_remarked() {
    let remarks = |stderr| {
        let run = Run {
            stderr,
            ..run_printing("")
        };
        run.find().unwrap().remarks
    };
    let [coarse, _] = &remarks("real 0.17\nuser 0.08\nsys 0.00\n")[..] else {
        panic!("it is remarked");
    };
    assert_eq!(
        coarse,
        "`real` is printed in steps of 0.01 s, 6 % of its value: a smaller change may not show, so \
         have a run do more work, or compare its wall-clock time"
    );
    let [nothing, _] = &remarks("real 0.00\nuser 0.00\nsys 0.00\n")[..] else {
        panic!("it is remarked");
    };
    assert!(nothing.contains("0.01 s, more than its value"), "{nothing}");
    for fine in [
        "real 0.20\nuser 0.08\nsys 0.00\n",
        "real\t0m0.170s\nuser\t0m0.004s\nsys\t0m0.000s\n",
        "real 12.00\nuser 0.08\nsys 0.00\n",
    ] {
        assert_eq!(remarks(fine).len(), 1, "{fine}");
    }
}

/// The remark is on the chart that decides, not on the one that would.
#[test]
fn a_named_time_of_few_steps_is_remarked() {
    let remarks = |chart, stderr| {
        let run = Run {
            charts: ChartChoice::Named(chart),
            stderr,
            ..run_printing("")
        };
        run.find().unwrap().remarks
    };
    let [coarse] = &remarks("user", "real 12.00\nuser 0.08\nsys 0.00\n")[..] else {
        panic!("it is remarked");
    };
    assert!(
        coarse.starts_with("`user` is printed in steps of 0.01 s"),
        "{coarse}"
    );
    let fine = remarks("user", "real 0.17\nuser 0.80\nsys 0.00\n");
    assert_eq!(fine, [""; 0]);
}

#[test]
fn the_average_of_the_only_benchmark_of_mitata_is_meant() {
    const HEAD: &str = "clk: ~2.75 GHz\ncpu: AMD EPYC\nruntime: node 20.20.2 (x64-linux)\n\nbenchmark                   avg (min … max) p75 / p99    (min … top 1%)\n------------------------------------------- -------------------------------\n";
    const ROW: &str = "                      (160.33 µs … 5.62 ms) 225.33 µs █\n                    ( 48.00  b … 102.33 kb) 344.37  b █▇▂▂▁\n";
    let one = format!("{HEAD}work                         173.16 µs/iter 162.81 µs █\n{ROW}");
    let metric = run_printing(Box::leak(one.into_boxed_str())).is(
        "work",
        "mitata",
        MetricSource::StandardOutput,
    );
    assert_eq!(metric.remarks, [""; 0]);
    assert_eq!(metric.charts["work"].direction, Direction::Down);
    let two =
        format!("{HEAD}a    173.16 µs/iter 162.81 µs █\n{ROW}b    1.16 µs/iter 1.81 µs █\n{ROW}");
    let error = run_printing(Box::leak(two.into_boxed_str()))
        .find()
        .unwrap_err();
    assert!(
        matches!(error, FindMetricError::Charts(NoMetric::ManyCharts { .. })),
        "{error}"
    );
}

/// A script of one's own has neither events per second nor transactions.
#[test]
fn the_average_latency_of_sysbench_is_meant_where_nothing_else_is_printed() {
    const SCRIPT: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\nNumber of threads: 1\nInitializing random number generator from current time\n\n\nInitializing worker threads...\n\nThreads started!\n\n\nGeneral statistics:\n    total time:                          1.0050s\n    total number of events:              235\n\nLatency (ms):\n         min:                                    3.62\n         avg:                                    4.24\n         max:                                   13.99\n         95th percentile:                        7.70\n         sum:                                  995.46\n\nThreads fairness:\n    events (avg/stddev):           235.0000/0.00\n    execution time (avg/stddev):   0.9955/0.00\n\n";
    let metric =
        run_printing(SCRIPT).is("average latency", "sysbench", MetricSource::StandardOutput);
    assert_eq!(metric.charts["average latency"].direction, Direction::Down);
}

#[test]
fn a_name_that_is_missing_in_the_next_run_is_a_doubt() {
    let charts = |name: &str| vec![name.to_owned()];
    let metric = run_printing("v1: 1 ms\n").find().unwrap();
    assert_eq!(MetricDoubt::of_name(&metric, charts("v1")), None);
    assert_eq!(MetricDoubt::of_name(&metric, Vec::new()), None);
    let doubt = MetricDoubt::of_name(&metric, charts("v2")).unwrap();
    let text = doubt.to_string();
    assert!(
        text.contains("`v1` in one run and `v2` in the next"),
        "{text}"
    );
    let every = Metric {
        chart: None,
        ..metric
    };
    assert_eq!(MetricDoubt::of_name(&every, charts("v1")), None);
    assert!(MetricDoubt::of_name(&every, charts("v2")).is_some());
}

#[test]
fn a_number_that_is_none_fails_its_own_chart_alone() {
    let output = "time: 12.5 ms\nloss: nan\n";
    let named = Run {
        charts: ChartChoice::Named("time"),
        ..run_printing(output)
    };
    named.is("time", "lines", MetricSource::StandardOutput);
    // With nothing named, the other one may be meant.
    assert!(run_printing(output).find().is_err());
    let failed = Run {
        charts: ChartChoice::Named("loss"),
        ..run_printing(output)
    };
    let error = failed.find().unwrap_err().to_string();
    assert!(error.contains("line 2, column 7 holds `nan`"), "{error}");
    let only = run_printing("loss: nan\n").find().unwrap_err();
    let is_not_finite = matches!(only, FindMetricError::Output(ReadError::NotFinite { .. }));
    assert!(is_not_finite, "{only}");
}

#[test]
fn a_line_that_was_asked_for_is_read_beside_what_a_tool_prints() {
    let output = "latency: 5.2 ms\n\
        ============================= slowest 2 durations =============================\n\
        0.51s call     tests/test_a.py::test_sum\n\
        0.01s setup    tests/test_a.py::test_sum\n\
        ============================== 1 passed in 0.60s ==============================\n";
    let run = Run {
        charts: ChartChoice::Named("latency"),
        ..run_printing(output)
    };
    run.is("latency", "lines", MetricSource::StandardOutput);
    let run = Run {
        charts: ChartChoice::Named("tests/test_a.py::test_sum call"),
        ..run_printing(output)
    };
    let chart = "tests/test_a.py::test_sum call";
    run.is(chart, "pytest-durations", MetricSource::StandardOutput);
}
