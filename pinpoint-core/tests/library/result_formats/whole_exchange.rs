//! The whole of files that tools write for other programs: lines of JSON, and the formats of
//! services that follow benchmarks.

use super::*;

#[test]
fn go_test_json() {
    expect(
        "go-test.jsonl",
        &[
            (
                "example.org/sums.BenchmarkSum/n=10-2",
                2,
                8.326,
                Some("ns/op"),
                Down,
            ),
            (
                "example.org/sums.BenchmarkSum/n=10-2 MB/s",
                2,
                9608.46,
                Some("MB/s"),
                Up,
            ),
            (
                "example.org/sums.BenchmarkSum/n=1000-2",
                2,
                10752.0,
                Some("ns/op"),
                Down,
            ),
            (
                "example.org/sums.BenchmarkSum/n=1000-2 MB/s",
                2,
                744.02,
                Some("MB/s"),
                Up,
            ),
        ],
    );
}

/// Packages that are tested at the same time, and a result that comes in two events.
#[test]
fn events_of_go_are_joined_by_package() {
    let event = |package: &str, output: &str| {
        format!("{{\"Action\":\"output\",\"Package\":\"{package}\",\"Output\":\"{output}\"}}\n")
    };
    let mut output = "# building\n".to_owned();
    output += &event("a", "pkg: a\\n");
    output += &event("b", "pkg: b\\n");
    output += &event("a", "BenchmarkX-2 \\t");
    output += &event("b", "BenchmarkX-2 \\t");
    output += &event("a", "    10\\t  5 ns/op\\n");
    output += &event("b", "    10\\t  6 ns/op\\n");
    let expected = [
        ("a.BenchmarkX-2", 1, 5.0, Some("ns/op"), Down),
        ("b.BenchmarkX-2", 1, 6.0, Some("ns/op"), Down),
    ];
    check(&read("auto", &output).expect("it is sound"), &expected);
    // The place of an error is that of the event.
    output += &event("a", "BenchmarkY-2 10 5 ns/op 7\\n");
    match fault("auto", &output) {
        ReadError::GoLine { place, .. } => {
            assert_eq!(place, OutputPosition::Text { line: 8, column: 1 });
        }
        error => panic!("{error}"),
    }
}

#[test]
fn formats_of_services() {
    expect(
        "github-action-benchmark.json",
        &[
            ("requests", 1, 5200.0, Some("req/s"), Unknown),
            ("size", 1, 81920.0, None, Unknown),
            ("sum of 1000", 1, 12.5, Some("us/op"), Unknown),
        ],
    );
    expect(
        "bencher.json",
        &[
            ("program build-time", 1, 14.5, Some("s"), Down),
            ("program file-size", 1, 81920.0, Some("B"), Down),
            ("program warnings", 1, 0.0, None, Unknown),
            ("sum 1000 latency", 1, 12.5, Some("ns"), Down),
            ("sum 1000 throughput", 1, 80.0, Some("ops/s"), Up),
        ],
    );
}

#[test]
fn benchmark_dotnet_json() {
    expect(
        "benchmark-dotnet-brief.json",
        &[
            (
                "Example.Sums.Sum(N: 10) [.NET 6.0(Runtime=.NET 6.0)]",
                1,
                5.5,
                Some("ns"),
                Down,
            ),
            (
                "Example.Sums.Sum(N: 10) [.NET 8.0(Runtime=.NET 8.0)]",
                1,
                4.5,
                Some("ns"),
                Down,
            ),
        ],
    );
    expect(
        "benchmark-dotnet-full.json",
        &[
            ("Example.Sums.Sum(N: 10)", 3, 4.75, Some("ns"), Down),
            (
                "Example.Sums.Sum(N: 10) Allocated",
                1,
                32.0,
                Some("B"),
                Down,
            ),
        ],
    );
}

/// The values of all processes; the unit is that of the whole document.
#[test]
fn pyperf_json() {
    expect(
        "pyperf.json",
        &[
            ("sum of 100", 4, 9.397343738726249e-7, Some("s"), Down),
            ("sum of 1000", 4, 2.621984374862052e-5, Some("s"), Down),
        ],
    );
}

#[test]
fn the_name_of_an_only_benchmark_of_pyperf_is_that_of_the_document() {
    let read = |text: &str| Format::Auto.read_with_failures(text.as_bytes());
    for (text, expected) in [
        (
            r#"{"benchmarks":[{"runs":[{"warmups":[[1,0.5]]},{"values":[0.5,0.25]},{"values":[1]}]}],"metadata":{"name":"sort","unit":"second"},"version":"1.0"}"#,
            ("sort", 3, 0.5, Some("s"), Down),
        ),
        (
            r#"{"benchmarks":[{"runs":[{"values":[2048]}]}],"metadata":{"unit":"byte"},"version":"1.0"}"#,
            ("mean", 1, 2048.0, Some("B"), Down),
        ),
        (
            r#"{"benchmarks":[{"metadata":{"name":"n","unit":"integer"},"runs":[{"values":[7]}]}],"version":"1.0"}"#,
            ("n", 1, 7.0, None, Down),
        ),
    ] {
        let reading = read(text).expect("it is sound");
        check(&reading.charts, &[expected]);
    }
    let failed = r#"{"benchmarks":[{"metadata":{"name":"a"},"runs":[{"values":[1]},{"values":[NaN]}]},{"metadata":{"name":"b"},"runs":[{}]},{"metadata":{"name":"c"},"runs":[{"values":[3]}]}]}"#;
    let reading = read(failed).expect("one is sound");
    check(&reading.charts, &[("c", 1, 3.0, Some("s"), Down)]);
    assert_eq!(reading.failed["a"], "one of its values is not a number");
    assert_eq!(reading.failed["b"], "it has no values");
}
