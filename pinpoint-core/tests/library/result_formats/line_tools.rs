//! The tools that print their results on lines of their own.

use super::*;

#[test]
fn every_tool_has_a_sample() {
    for tool in LineTool::all() {
        let has_sample = FILES.iter().any(|(_, format)| *format == tool.name());
        assert!(has_sample || tool.name() == "wrk2", "{}", tool.name());
    }
}

/// A line of fio begins a direction, and has its first figures.
#[test]
fn figures_of_fio_belong_to_their_direction() {
    expect(
        "fio.txt",
        &[
            ("read IOPS", 1, 8066.0, Some("ops/s"), Up),
            ("read bandwidth", 1, 31.5, Some("MiB/s"), Up),
            ("read latency", 1, 109.74, Some("us"), Down),
            ("write IOPS", 1, 9000.0, Some("ops/s"), Up),
            ("write bandwidth", 1, 35.2, Some("MiB/s"), Up),
            ("write latency", 1, 6.28811, Some("us"), Down),
        ],
    );
}

#[test]
fn records_of_perf_have_a_time_that_is_meant() {
    for (name, time) in [
        ("perf-stat.txt", "elapsed"),
        ("perf-stat-x.csv", "task-clock"),
        ("perf-stat-j.jsonl", "task-clock"),
        ("perf-stat-I.txt", "elapsed"),
        ("perf-stat-Ix.csv", "elapsed"),
        ("perf-stat-Ij.jsonl", "elapsed"),
        ("perf-stat-A.txt", "elapsed"),
        ("perf-stat-socket.txt", "elapsed"),
    ] {
        let output = file(name);
        let recognized = Format::recognize(output.as_bytes()).expect("it is recognized");
        assert_eq!(recognized, Format::PerfStat, "{name}");
        let reading = recognized.read_with_failures(output.as_bytes());
        let reading = reading.expect("it is sound");
        assert_eq!(reading.only_measure(&recognized), Some(time), "{name}");
    }
}

/// The beginnings of its lines look like those of another tool's.
#[test]
fn mitata_is_taken_for_itself() {
    for name in ["mitata-0.1.txt", "mitata-1.txt"] {
        let recognized = Format::recognize(file(name).as_bytes()).expect("it is recognized");
        assert_eq!(recognized.to_string(), "mitata", "{name}");
    }
}

/// It begins an array of another shape than the format's.
#[test]
fn a_tagged_line_before_a_document_is_left_out() {
    let document = r#"{"results": [{"command": "a", "times": [1.5]}]}"#;
    let reading = Format::Auto
        .read_with_failures(format!("[info] started\n{document}\n").as_bytes())
        .expect("it is sound");
    check(&reading.charts, &[("a", 1, 1.5, Some("s"), Down)]);
    assert_eq!(reading.remarks.len(), 1);
}

/// An event's parts of the time are added up, also where perf did not count in some of them.
#[test]
fn parts_of_the_time_of_perf_are_added_up() {
    for (name, [migrations, elapsed, faults, clock]) in [
        ("perf-stat-I.txt", [1.0, 0.205179179, 74.0, 0.96 + 0.05]),
        ("perf-stat-Ix.csv", [0.0, 0.215768239, 72.0, 0.87 + 0.05]),
        (
            "perf-stat-Ij.jsonl",
            [0.0, 0.218268914, 73.0, 0.917771 + 0.066123],
        ),
    ] {
        expect(
            name,
            &[
                ("context-switches", 1, 1.0, None, Down),
                ("cpu-migrations", 1, migrations, None, Down),
                ("elapsed", 1, elapsed, Some("s"), Down),
                ("page-faults", 1, faults, None, Down),
                ("task-clock", 1, clock, Some("ms"), Down),
            ],
        );
        let reading = format("perf-stat").read_with_failures(file(name).as_bytes());
        let failed = reading.expect("it is sound").failed;
        assert_eq!(failed["cycles"], "perf says `<not supported>`", "{name}");
    }
}

#[test]
fn parts_of_the_time_that_are_no_whole_are_not_added_up() {
    let head = "#           time             counts unit events\n";
    let first = "     0.1    5 msec task-clock\n     0.1    7      page-faults\n";
    let read = |rows: &str| read("perf-stat", &format!("{head}{first}{rows}"));
    let names = |rows: &str| Vec::from_iter(read(rows).unwrap_or_default().into_keys());
    assert_eq!(names(""), ["elapsed", "page-faults", "task-clock"]);
    // Another command.
    assert_eq!(
        names(&format!("     0.2    5 msec task-clock\n{first}")),
        [""; 0]
    );
    // Another command, whose first part is longer than all of the one before it.
    let other = format!("{head}{first}{head}     0.2    5 msec task-clock\n");
    let error = super::read("perf-stat", &other).expect_err("it is of two commands");
    assert!(error.to_string().contains("several commands"), "{error}");
    // The head is repeated after 25 parts.
    let part = |number: usize| format!("     {}.5    5 msec task-clock\n", number);
    let parts = |numbers: std::ops::Range<usize>| numbers.map(part).collect::<String>();
    let long = read_alone(&format!("{head}{}{head}{}", parts(0..25), parts(25..30)));
    assert_eq!(long["task-clock"].values, [150.0]);
    // One event twice, the other one missing.
    let twice = "     0.2    5 msec task-clock\n     0.2    5 msec task-clock\n";
    assert_eq!(names(twice), ["elapsed"]);
    // Cut off within a part, and within a line.
    for rows in [
        "     0.2    5 msec task-clock\n",
        "     0.2    5 msec task-clock\n     0.2    7      page-faul",
    ] {
        assert_eq!(names(rows), ["elapsed", "task-clock"]);
    }
    // Those of another language.
    assert_eq!(
        names("     0,2    5,1 msec task-clock\n     0,2    7      page-faults\n"),
        ["elapsed"]
    );
    let never = "     0.2    <not counted> msec task-clock\n";
    let charts = read_alone(&format!("{head}{never}"));
    assert!(!charts.contains_key("task-clock"));
}

#[test]
fn documents_of_others_with_benchmarks_and_runs_are_not_pyperf_s() {
    for own in [
        r#"{"benchmarks": [{"name": "sort", "runs": 10, "ms": 12.5}]}"#,
        r#"{"benchmarks": [{"name": "sort", "runs": [{"ms": 12.5}]}]}"#,
        r#"{"layout": [{"name": "sort"}], "benchmarks": [{"alias": "sort", "runs": [{"stats": {"avg": 12.5}}]}], "context": {}}"#,
    ] {
        let error = read("auto", own).expect_err("it is no tool's");
        let error = error.to_string();
        assert!(
            !error.contains("pyperf") && !error.contains("mean"),
            "{error}"
        );
    }
}

/// Nothing stands at the end of the output, so that a cut between two parts is only likely.
#[test]
fn a_last_part_of_the_time_that_is_whole_is_remarked() {
    let head = "#           time             counts unit events\n";
    for (times, count) in [
        (&["0.1001", "0.2003", "0.3004"][..], 1),
        (&["0.1001", "0.2003", "0.2904"], 0),
        (&["0.1001"], 0),
    ] {
        let rows: Vec<String> = (times.iter())
            .map(|time| format!("     {time}    5 msec task-clock\n"))
            .collect();
        let output = format!("{head}{}", rows.concat());
        let reading = format("perf-stat").read_with_failures(output.as_bytes());
        let reading = reading.expect("it is sound");
        assert_eq!(reading.remarks.len(), count, "{output}");
        assert!(reading.charts.contains_key("task-clock"), "{output}");
    }
}

fn read_alone(output: &str) -> BTreeMap<String, Series> {
    read("perf-stat", output).unwrap_or_default()
}

#[test]
fn parts_of_the_machine_have_charts_of_their_own() {
    expect(
        "perf-stat-A.txt",
        &[
            ("CPU0 context-switches", 1, 44.0, None, Down),
            ("CPU0 cpu-clock", 1, 111.98, Some("ms"), Down),
            ("CPU0 cpu-migrations", 1, 2.0, None, Down),
            ("CPU0 page-faults", 1, 7645.0, None, Down),
            ("CPU1 context-switches", 1, 40.0, None, Down),
            ("CPU1 cpu-clock", 1, 111.87, Some("ms"), Down),
            ("CPU1 cpu-migrations", 1, 1.0, None, Down),
            ("CPU1 page-faults", 1, 2604.0, None, Down),
            ("elapsed", 1, 0.111850748, Some("s"), Down),
        ],
    );
    expect(
        "perf-stat-Ax.csv",
        &[
            ("CPU0 context-switches", 1, 390.0, None, Down),
            ("CPU0 cpu-clock", 1, 105.64, Some("ms"), Down),
            ("CPU0 cpu-migrations", 1, 2.0, None, Down),
            ("CPU0 page-faults", 1, 11930.0, None, Down),
            ("CPU1 context-switches", 1, 61.0, None, Down),
            ("CPU1 cpu-clock", 1, 103.92, Some("ms"), Down),
            ("CPU1 cpu-migrations", 1, 2.0, None, Down),
            ("CPU1 page-faults", 1, 491.0, None, Down),
        ],
    );
    expect(
        "perf-stat-Aj.jsonl",
        &[
            ("CPU0 context-switches", 1, 1342.0, None, Down),
            ("CPU0 cpu-clock", 1, 116.062274, Some("ms"), Down),
            ("CPU0 cpu-migrations", 1, 1.0, None, Down),
            ("CPU0 page-faults", 1, 3163.0, None, Down),
            ("CPU1 context-switches", 1, 56.0, None, Down),
            ("CPU1 cpu-clock", 1, 119.942430, Some("ms"), Down),
            ("CPU1 cpu-migrations", 1, 2.0, None, Down),
            ("CPU1 page-faults", 1, 1829.0, None, Down),
        ],
    );
    expect(
        "perf-stat-socket.txt",
        &[
            ("S0 context-switches", 1, 138.0, None, Down),
            ("S0 cpu-clock", 1, 209.98, Some("ms"), Down),
            ("S0 cpu-migrations", 1, 6.0, None, Down),
            ("S0 page-faults", 1, 12831.0, None, Down),
            ("elapsed", 1, 0.104402536, Some("s"), Down),
        ],
    );
}

#[test]
fn parts_of_the_machine_and_of_the_time_may_be_together() {
    for output in [
        "#           time CPU            counts unit events\n     0.1  CPU0    5 msec cpu-clock\n     0.2  CPU0    6 msec cpu-clock\n",
        "     0.1,CPU0,5,msec,cpu-clock,5000000,100.00,,\n     0.2,CPU0,6,msec,cpu-clock,6000000,100.00,,\n",
        "{\"interval\" : 0.1, \"cpu\" : \"0\", \"counter-value\" : \"5\", \"unit\" : \"msec\", \"event\" : \"cpu-clock\"}\n{\"interval\" : 0.2, \"cpu\" : \"0\", \"counter-value\" : \"6\", \"unit\" : \"msec\", \"event\" : \"cpu-clock\"}\n",
    ] {
        check(
            &read_alone(output),
            &[
                ("CPU0 cpu-clock", 1, 11.0, Some("ms"), Down),
                ("elapsed", 1, 0.2, Some("s"), Down),
            ],
        );
    }
    // As of --per-core, with the number of processors.
    check(
        &read_alone("S0-D0-C1,1,5,msec,cpu-clock,5000000,100.00,,\n"),
        &[("S0-D0-C1 cpu-clock", 1, 5.0, Some("ms"), Down)],
    );
}
