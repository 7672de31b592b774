//! Large outputs, in which each line costs the same. If it cost as much as all lines before it, they
//! would take hours.

use super::*;

const LINES: usize = 100_000;

#[test]
fn every_benchmark_of_a_large_output_may_fail() {
    let go: String = (0..LINES)
        .map(|index| format!("BenchmarkA{index} 1 3 ns/op\nFAIL\n"))
        .collect();
    let case = "<BenchmarkResults name=\"b\"><mean value=\"1\"/></BenchmarkResults><OverallResult success=\"false\"/>";
    let xml: String = (0..LINES)
        .map(|index| format!("<TestCase name=\"{index}\">{case}</TestCase>"))
        .collect();
    let xml = format!("<Catch>{xml}</Catch>");
    let mut console = table_of_catch2("case");
    for index in 0..LINES {
        console += &format!(
            "b{index}   100   54   1.2 ms\n   2 ns   1 ns   3 ns\n   1 ns   1 ns   2 ns\n\n"
        );
    }
    console += &"a.cc:1: FAILED:\n".repeat(LINES);
    for (format, output) in [
        ("gobench", go),
        ("catch2", xml),
        ("catch2-console", console),
    ] {
        let error = fault(format, &output);
        assert!(
            matches!(&error, ReadError::NoValue { present, .. } if present.len() == 20),
            "{format}: {error}"
        );
    }
}

/// Each chart holds the names that it shares with others.
#[test]
fn a_name_that_many_benchmarks_share_is_bounded() {
    let name = "a".repeat(2_000_000);
    let rows = "BenchmarkA 1 3 ns/op\n".repeat(LINES);
    let error = fault("gobench", &format!("pkg: {name}\n{rows}")).to_string();
    assert!(error.starts_with("line 1, column 1 "), "{}", &error[..50]);

    let open =
        "<Section name=\"a\"><BenchmarkResults name=\"b\"><mean value=\"1\"/></BenchmarkResults>";
    for name in [name.as_str(), "a"] {
        let case = format!("<Catch><TestCase name=\"{name}\">{}", open.repeat(LINES));
        let error = fault("catch2", &case).to_string();
        assert!(
            error.contains("the names of the sections are too long"),
            "{error}"
        );
    }

    let row = "b   100   54   1.2 ms\n   2 ns   1 ns   3 ns\n   1 ns   1 ns   2 ns\n\n";
    for title in [name, "a\n".repeat(LINES)] {
        let console = table_of_catch2(&title) + &row.repeat(LINES);
        fault("catch2-console", &console);
        // Those of a short title are read.
        let both = console + &table_of_catch2("case") + row;
        let charts = read("catch2-console", &both).expect("one table is sound");
        assert_eq!(charts.keys().collect::<Vec<_>>(), ["case/b"]);
    }
}

/// The head of a table of Catch2's.
fn table_of_catch2(title: &str) -> String {
    let rule = "-".repeat(79);
    let dots = ".".repeat(79);
    format!(
        "{rule}\n{title}\n{rule}\na.cc:1\n{dots}\n\nbenchmark name   samples   iterations    est run time\n   mean   low mean   high mean\n   std dev   low std dev   high std dev\n{rule}\n"
    )
}
