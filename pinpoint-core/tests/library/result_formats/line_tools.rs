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
