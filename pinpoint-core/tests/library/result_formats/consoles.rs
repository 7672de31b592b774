//! Parts, names and numbers in the terminal output of tools.

use super::*;

#[test]
fn parts_of_consoles_that_are_no_results_are_skipped() {
    for (format, output, expected) in [
        (
            "gbench-console",
            "Sum_mean 4 ns 4 ns 2\nSum_median 4 ns 4 ns 2\nSum_stddev 1 ns 1 ns 2\nSum_cv 14.38 % 13.51 % 2\nother_mean 5 ns 5 ns 9\nBig_BigO 1.2 N 1.2 N\n",
            vec![("other_mean", 5.0), ("other_mean cpu_time", 5.0)],
        ),
        (
            "gbench-console",
            "a b/1 4 ns 4 ns 2\na b/1_mean 4 ns 4 ns 2\n  c 4 ns 4 ns 2\n",
            vec![("a b/1", 4.0), ("a b/1 cpu_time", 4.0)],
        ),
        (
            "criterion-console",
            "a                       time:   [1.5 ms 2.5 ms 3.5 ms]\n   change:\n   time:   [-0.3% +0.1% +0.5%] (p = 0.1 > 0.05)\n   thrpt:  [1 B/s 1 B/s 1 B/s]\nBenchmarking a/long: Analyzing\na/long\n                        time:   [1 cycles 2 cycles 3 cycles]\n",
            vec![("a", 2_500_000.0), ("a/long", 2.0)],
        ),
        (
            "hyperfine-console",
            "Benchmark #1: a: b\n  Time (mean ± σ):     1.500 s ±  0.002 s    [User: 0.4 ms, System: 0.4 ms]\nBenchmark 2: c\n  Time (abs ≡):        2.0 ms               [User: 0.4 ms, System: 0.4 ms]\nBenchmark 3: d\n  Time (mean ± σ):     1.0 ms ±  0.0 ms    [User: 0.4 ms, System: 0.4 ms]\n  Warning: Ignoring non-zero exit code.\n",
            vec![("a: b", 1.5), ("c", 0.002)],
        ),
        (
            "libtest",
            "test a ... ok\ntest b - should panic ... bench:   1,234,567 ns/iter (+/- 3)\n",
            vec![("b - should panic", 1_234_567.0)],
        ),
        (
            "vitest",
            " ✓ a.ts (2) 5.1s\n   · b c  NaN  0.1 0.1 0.1 0.1 0.1 0.1 0.1 ±NaN% 0\n   · d  1,234.5  0.1 0.1 0.1 0.1 0.1 0.1 0.1 ±1% 9 [1.02x] ⇑\n     d  1,000.5  0.1 0.1 0.1 0.1 0.1 0.1 0.1 ±1% 9 (baseline)\n",
            vec![("a.ts > d", 1234.5)],
        ),
        (
            "pytest-durations",
            "========== slowest 2 durations ==========\n12.50s call     a.py::b[1 2]\n0.10s teardown a.py::b[1 2]\n0.10s of it\n",
            vec![("a.py::b[1 2] call", 12.5), ("a.py::b[1 2] teardown", 0.1)],
        ),
        (
            "asv",
            "[50.00%] ··· b.time_x     12.3±0.4ms\n[50.00%] ··· b.time_y(1)     5ms\n[50.00%] ··· Running (b.time_x--).\n[60.00%] ··· three.time_three    ok\n[60.00%] ··· === ======= =====\n             --  kind / flag \n             --- -------------\n              n  a / 1   b / 2\n             === ======= =====\n              1   2.00μs 3.5m \n             === ======= =====\n\n[70.00%] ··· b.track_count     1.5k\n",
            vec![
                ("b.time_x", 0.0123),
                ("b.track_count", 1500.0),
                ("three.time_three(1, a, 1)", 2e-6),
                ("three.time_three(1, b, 2)", 210.0),
            ],
        ),
        (
            "benchmark-ips",
            "Calculating ---\n  a  1.5k (± 1.1%) i/s  (666.7 μs/i) -  15.0k in   5.000000s\n  b  NaN (± NaN%) i/s -  15.0k in   5.000000s\n",
            vec![("a", 1500.0)],
        ),
        (
            "benchmark-js",
            "  a x 1,234 ops/sec ±1.2% (90 runs sampled)\nb x NaN ops/sec ±NaN% (0 runs sampled)\nc x 0 ops/sec ±0.00% (0 runs sampled)\n",
            vec![("a", 1234.0)],
        ),
        (
            "benchmark-dotnet",
            " Method | Mean |\n------- |-----:|\n **A** | **1,234.5 us** |\n B | NA |\n",
            vec![("A", 1_234_500.0)],
        ),
        (
            "nanobench",
            "|    ns/byte |    byte/s |  err% |  ins/byte | cyc/byte |   IPC | bra/byte | miss% | total | benchmark\n|-----------:|----------:|------:|----------:|---------:|------:|---------:|------:|------:|:----------\n|   1,000.25 | 999,750.00 |  0.1% |  1,234.50 |    24.07 | 0.276 |     0.00 |  8.9% |  0.00 | `a` (Unstable with ~5.0 iters. Increase `minEpochIterations` to e.g. 50)\n12.5 points\n|          - |         - |     - |         - |        - |     - |        - |     - |     - | :boom: `b` (iterations overflow)\n|       0.00 |      0.00 |  0.0% |      3.00 |     2.00 | 1.500 |     1.00 |  0.0% |  0.00 | `c`\n",
            vec![
                ("a", 1e9 / 999_750.0),
                ("a bra/byte", 0.0),
                ("a cyc/byte", 24.07),
                ("a ins/byte", 1234.5),
                ("c bra/byte", 1.0),
                ("c cyc/byte", 2.0),
                ("c ins/byte", 3.0),
            ],
        ),
        (
            "nanobench",
            "| n | ms/s | s/s | size\n|---:|---:|---:|:---\n| 1 | 2.50 | 1.00 | :wavy_dash: `a` (Unstable)\n\n| file | size |\n|---|---|\n| `a` | 5 ms |\n\n| fortnight/op | op/s | x\n|---:|---:|:---\n| 2.00 | 0.50 | `a`\n",
            vec![("size/a [n=1]", 2_500_000.0), ("x/a", 2e9)],
        ),
        (
            "perf-stat",
            " Performance counter stats for 'a':\n\n     1,234,567      cycles:u     #    3.1 GHz   ( +- 0.1% )  (79.9%)\n   <not counted>      branches\n  12.34 Joules power/energy-pkg/\n\n    0.5 +- 0.1 seconds time elapsed  ( +- 4.04% )\n",
            vec![
                ("cycles:u", 1_234_567.0),
                ("elapsed", 0.5),
                ("power/energy-pkg/", 12.34),
            ],
        ),
        (
            "gbench-csv",
            "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message\n\"a/8\",5,2.5,2.5,ns,,,,,\n\"a_BigO\",,1.2,1.3,N,,,,,\n\"a_RMS\",,0.1,0.1,,,,,,\n",
            vec![("a/8", 2.5), ("a/8 cpu_time", 2.5)],
        ),
        (
            "gbench-csv",
            "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message\n\"a\",1,2.5,nan,us,,3,,,\n\"a\",1,3.5,nan,us,,3,,,\n\"a_mean\",2,3,3,us,,3,,,\n\"a_cv\",2,3,3,us,,3,,,\n",
            vec![("a", 2.5), ("a items_per_second", 3.0)],
        ),
        (
            "divan",
            "Timer precision: 20 ns\nexample     fastest       │ slowest       │ median        │ mean          │ samples │ iters\n├─ deep                  │               │               │               │         │\n│  ├─ a  b  1 ns          │ 3 ns          │ 2 µs          │ 2 ns          │ 100     │ 51200\n│  │       5 GB/s        │ 5 GB/s       │ 5 GB/s       │ 5 GB/s       │         │\n╰─ c        (ignored)     │               │               │               │         │\n",
            vec![("example/deep/a  b", 2000.0)],
        ),
        (
            "pytest-benchmark-console",
            "Name (time in ms)      Mean       OPS (Kops/s)\n----\ntest a (NOW)     1,500.5 (1.0)     2.5 (>1000.0)\n----\n\ntest_b  1.0  2.0\n",
            vec![("test a (NOW)", 1.5005)],
        ),
    ] {
        let charts = read(format, output).unwrap_or_else(|error| panic!("{format}: {error}"));
        let charts: Vec<(&str, f64)> = (charts.iter())
            .map(|(name, series)| (name.as_str(), series.values[0]))
            .collect();
        assert_eq!(charts, expected, "{format}");
    }
}

/// Two benchmarks of one name are not two values of one.
#[test]
fn a_name_that_stands_twice_is_an_error() {
    let vitest = " ✓ a.ts\n   · b  2.0  0.1 0.1 0.1 0.1 0.1 0.1 0.1 ±1% 9\n";
    for (format, output) in [
        (
            "vitest",
            format!("{vitest}{}", vitest.replace("2.0", "3.0")),
        ),
        (
            "tinybench",
            "│ Task name │ Latency avg (ns) │\n│ 'a' │ '5 ± 1%' │\n│ 'a' │ '6 ± 1%' │\n".into(),
        ),
        (
            "benchmark-js",
            "a x 5 ops/sec ±1% (9 runs sampled)\n".repeat(2),
        ),
        (
            "benchmark-ips",
            "  a  1.5k (± 1.1%) i/s -  15.0k in   5.0s\n".repeat(2),
        ),
        ("asv", "[50.00%] ··· b.time_x     12.3±0.4ms\n".repeat(2)),
        ("ycsb", "[READ], AverageLatency(us), 5\n".repeat(2)),
        (
            "benchmark-dotnet",
            "| Method | Mean |\n| A | 5 ns |\n| A | 6 ns |\n".into(),
        ),
        (
            "nanobench",
            "| ns/op | benchmark\n|---:|:---\n| 5.00 | `a`\n| 6.00 | `a`\n".into(),
        ),
        (
            "perf-stat",
            "Performance counter stats for 'a':\n 5 cycles\n 5 cycles\n".into(),
        ),
    ] {
        let error = fault(format, &output);
        assert!(
            matches!(error, ReadError::DuplicateChart { .. }),
            "{format}: {error}"
        );
    }
    // The same name in another file or suite is another one, and the same table twice is one.
    let output = format!("{vitest}{vitest}{}", vitest.replace("a.ts", "a.ts > c"));
    let charts = read("vitest", &output).expect("it is sound");
    let names: Vec<&str> = charts.keys().map(String::as_str).collect();
    assert_eq!(names, ["a.ts > b", "a.ts > c > b"]);
}

/// Of a load and a run in one log, of several commits, or of suites that share a name.
#[test]
fn what_to_do_about_a_name_that_stands_twice_is_told() {
    for (format, output) in [
        ("ycsb", "[OVERALL], RunTime(ms), 5\n".repeat(2)),
        ("asv", "[50.00%] ··· b.time_x     12.3±0.4ms\n".repeat(2)),
        (
            "benchmark-js",
            "a x 5 ops/sec ±1% (9 runs sampled)\n".repeat(2),
        ),
    ] {
        let message = fault(format, &output).to_string();
        for wanted in [
            "print only one run of the benchmark",
            "run each suite by itself",
        ] {
            assert!(message.contains(wanted), "{format}: {message}");
        }
    }
}

#[test]
fn names_of_several_parts_of_an_output_begin_with_their_part() {
    let perf = |command: &str, count: usize| {
        format!(
            " Performance counter stats for '{command}' (3 runs):\n\n {count} page-faults\n\n 0.5 seconds time elapsed\n\n 0.1 seconds user\n\nwrote 2 files\n"
        )
    };
    let table = |mean: &str| format!("| Method | Mean |\n|--- |---:|\n| A | {mean} |\n");
    let class = |class: &str, mean: &str| {
        format!(
            "// Benchmark: {class}.A: DefaultJob\n// * Detailed results *\n{class}.A: DefaultJob\n\n{}\n",
            table(mean)
        )
    };
    for (format, output, expected) in [
        (
            "perf-stat",
            perf("./sums 5", 7) + &perf("./joins", 8),
            vec![
                ("./joins elapsed", 0.5),
                ("./joins page-faults", 8.0),
                ("./joins user", 0.1),
                ("./sums 5 elapsed", 0.5),
                ("./sums 5 page-faults", 7.0),
                ("./sums 5 user", 0.1),
            ],
        ),
        (
            "perf-stat",
            perf("./sums 5", 7),
            vec![("elapsed", 0.5), ("page-faults", 7.0), ("user", 0.1)],
        ),
        (
            "benchmark-dotnet",
            class("Sums", "5 ns") + &class("Joins", "6 ns"),
            vec![("Joins.A", 6.0), ("Sums.A", 5.0)],
        ),
        (
            "benchmark-dotnet",
            class("Sums", "5 ns") + &class("Joins", "6 ns").replace("| A", "| B"),
            vec![("A", 5.0), ("B", 6.0)],
        ),
    ] {
        let charts = read(format, &output).unwrap_or_else(|error| panic!("{format}: {error}"));
        let charts: Vec<(&str, f64)> = (charts.iter())
            .map(|(name, series)| (name.as_str(), series.values[0]))
            .collect();
        assert_eq!(charts, expected, "{output}");
    }
    for (format, output) in [
        ("perf-stat", perf("a", 1).repeat(2)),
        ("benchmark-dotnet", class("Sums", "5 ns").repeat(2)),
        ("benchmark-dotnet", format!("{}\n", table("5 ns")).repeat(2)),
    ] {
        let error = fault(format, &output);
        assert!(
            matches!(error, ReadError::DuplicateChart { .. }),
            "{format}: {error}"
        );
    }
}

/// `1.234` is a thousand times as much where the point separates thousands.
#[test]
fn numbers_of_perf_in_another_locale_are_not_read() {
    const BEGIN: &str = " Performance counter stats for 'a':\n\n";
    for lines in [
        "  1.234      context-switches\n",
        "  1.234.567      instructions\n",
        "  1\u{202f}234\u{202f}567      instructions\n",
        "  1\u{a0}234      instructions\n",
        "  1 234 567      instructions\n",
        "  1’234      instructions\n",
        "  12,34,567      instructions\n",
        "  1,00 msec task-clock\n",
        "  1.234,00 msec task-clock\n",
        "  0,011362235 seconds time elapsed\n",
        "  0,011 +- 0,001 seconds time elapsed\n",
        "  1 +- 0,001 seconds time elapsed\n",
        "  71      page-faults     #  885,806 /sec\n",
        "  71      page-faults     ( +-  2,32% )\n",
        "  <not supported>      cycles     (0,00%)\n",
    ] {
        for lines in [
            lines.to_owned(),
            format!("  55      page-faults:u\n{lines}"),
            format!("{lines}\n       0.5 seconds user\n"),
        ] {
            let error = fault("perf-stat", &format!("{BEGIN}{lines}"));
            assert!(
                matches!(error, ReadError::NoValue { .. }),
                "{lines}: {error}"
            );
            let is_said = error.to_string().contains("run perf with LC_ALL=C");
            assert!(is_said || lines.starts_with("  <not"), "{lines}: {error}");
        }
    }
    // Those of another command do not matter, nor does the text after the block.
    let output = format!(
        "{BEGIN}  1,234 cycles\n  1,234.56 msec task-clock # 0.088 CPUs utilized\n  0.5 seconds time elapsed\n\n12.5 points\n# 1,5 of them\n{}  1.234 cycles\n",
        BEGIN.replace("'a'", "'b'")
    );
    let reading = Format::PerfStat.read_with_failures(output.as_bytes());
    let reading = reading.expect("it has values");
    check(
        &reading.charts,
        &[
            ("a cycles", 1, 1234.0, None, Down),
            ("a elapsed", 1, 0.5, Some("s"), Down),
            ("a task-clock", 1, 1234.56, Some("ms"), Down),
        ],
    );
    let failed: Vec<&String> = reading.failed.keys().collect();
    assert_eq!(failed, ["b cycles"]);
}

/// Early versions of BenchmarkDotNet write the decimal comma of the machine's language.
#[test]
fn a_comma_in_a_table_is_of_thousands_if_another_value_shows_it() {
    let table = |means: &[&str]| {
        let rows = means.iter().enumerate();
        let rows: String = rows
            .map(|(at, mean)| format!("| {at} | {mean} |\n"))
            .collect();
        format!("| Method | Mean |\n|--- |---:|\n{rows}")
    };
    for (means, expected) in [
        (vec!["20,425 ns", "12.5 ns"], vec![("1", 12.5)]),
        (
            vec!["20,425 ns", "1,234.5 ns"],
            vec![("0", 20_425.0), ("1", 1234.5)],
        ),
        (
            vec!["20,425 ns", "1,234,567 ns"],
            vec![("0", 20_425.0), ("1", 1_234_567.0)],
        ),
        (
            vec!["20,425 ns", "0,5 ns", "1.234 ns", "7 ns"],
            vec![("3", 7.0)],
        ),
    ] {
        let output = table(&means);
        let charts = read("benchmark-dotnet", &output).expect("it has values");
        let charts: Vec<(&str, f64)> = (charts.iter())
            .map(|(name, series)| (name.as_str(), series.values[0]))
            .collect();
        assert_eq!(charts, expected, "{output}");
        let unread = unread_values(output.as_bytes(), Some(&Format::BenchmarkDotNet));
        assert_eq!(unread.len(), means.len() - expected.len(), "{unread:?}");
    }
    fault("benchmark-dotnet", &table(&["20,425 ns"]));
}

/// `$(…)` removes the end of the last line.
#[test]
fn a_last_line_without_an_end_is_read_or_listed() {
    const CSV: &str =
        "name,iterations,real_time,cpu_time,time_unit,label,error_occurred,error_message";
    const PERF: &str = " Performance counter stats for 'a':\n\n  5 page-faults\n";
    const GUNGRAUN: &str = "a::b::c\n  Instructions:   5|N/A   (*********)\n";
    const JMH: &str =
        "Benchmark  Mode  Cnt  Score   Error  Units\na.B.c  avgt    4  0.5 ± 0.1  us/op\n";
    const NANOBENCH: &str = "| ns/op | benchmark\n|---:|:---\n| 5.00 | `a`\n";
    const PYTEST: &str = "0.51s call     a.py::b\n";
    let csv = format!("{CSV}\n\"b\",5,2.5,2.5,ns,,,\n");
    let counted = format!("{CSV},\"digits\"\n\"b\",5,2.5,2.5,ns,,,,7\n");
    let asv = "[10.00%] ··· a.time_b     5±1ms\n[20.00%] ··· a.track_b     5\n";
    let table = format!(
        "{asv}[30.00%] ··· a.time_c     ok\n[30.00%] ··· ==== =====\n              n\n             ---- -----\n"
    );
    for (format_name, output, added, is_listed) in [
        (
            "gbench-csv",
            format!("{csv}\"a\",5,1.5,1.25,ns,,,"),
            vec!["a", "a cpu_time"],
            false,
        ),
        ("gbench-csv", format!("{csv}\"a\",5,1.5,1.2"), vec![], true),
        ("gbench-csv", format!("{csv}\"a"), vec![], true),
        (
            "gbench-csv",
            format!("{counted}\"a\",5,1.5,1.2,ns,,,,1"),
            vec!["a", "a cpu_time"],
            false,
        ),
        (
            "ycsb",
            "[READ], AverageLatency(us), 5\n[READ], MaxLatency(us), 1".into(),
            vec![],
            true,
        ),
        (
            "ycsb",
            "[READ], AverageLatency(us), 5\n[READ], MaxLat".into(),
            vec![],
            true,
        ),
        (
            "ycsb",
            "[READ], AverageLatency(us), 5\n[READ], Return=OK, 4".into(),
            vec![],
            false,
        ),
        (
            "asv",
            format!("{asv}[30.00%] ··· a.time_c     13.7±3μs"),
            vec!["a.time_c"],
            false,
        ),
        (
            "asv",
            format!("{asv}[30.00%] ··· a.mem_c     2.1k"),
            vec!["a.mem_c"],
            false,
        ),
        (
            "asv",
            format!("{asv}[30.00%] ··· a.mem_c     2"),
            vec![],
            true,
        ),
        (
            "asv",
            format!("{asv}[30.00%] ··· a.time_c     13.7±3m"),
            vec![],
            true,
        ),
        (
            "asv",
            format!("{asv}[30.00%] ··· a.time_c     13.7±"),
            vec![],
            true,
        ),
        (
            "asv",
            format!("{table}               1  1.5ms"),
            vec!["a.time_c(1)"],
            false,
        ),
        (
            "asv",
            format!("{table}               1  1.5m"),
            vec![],
            true,
        ),
        (
            "asv",
            format!("{table}               1  1.5m "),
            vec!["a.time_c(1)"],
            false,
        ),
        (
            "perf-stat",
            format!("{PERF}  0.5 seconds time elapsed"),
            vec!["elapsed"],
            false,
        ),
        (
            "perf-stat",
            format!("{PERF}  0.5 seconds time"),
            vec![],
            true,
        ),
        (
            "perf-stat",
            format!("{PERF}  0.5 seconds user"),
            vec!["user"],
            false,
        ),
        (
            "perf-stat",
            format!("{PERF}  7 cpu-migrations #  0.1"),
            vec!["cpu-migrations"],
            false,
        ),
        ("perf-stat", format!("{PERF}  7 cpu-mig"), vec![], true),
        (
            "pytest-durations",
            format!("{PYTEST}0.51s call     a.py::c"),
            vec![],
            true,
        ),
        (
            "jmh-console",
            format!("{JMH}a.B.d  avgt    4  0.5 ± 0.1  us/o"),
            vec![],
            true,
        ),
        (
            "gungraun",
            format!("{GUNGRAUN}  L1 Hits:   23|N"),
            vec![],
            true,
        ),
        (
            "nanobench",
            format!("{NANOBENCH}| 6.00 | `b`"),
            vec![],
            true,
        ),
        (
            "pytest-durations",
            format!("{PYTEST}FAILED a.py::bc"),
            vec![],
            true,
        ),
    ] {
        let format = format(format_name);
        let (before, _) = output.rsplit_once('\n').expect("it has lines");
        let names = |output: &str| -> Vec<String> {
            let charts = format.read(output.as_bytes());
            let charts = charts.unwrap_or_else(|error| panic!("{output}: {error}"));
            charts.into_keys().collect()
        };
        let mut expected = names(&format!("{before}\n"));
        expected.extend(added.into_iter().map(str::to_owned));
        expected.sort_unstable();
        assert_eq!(names(&output), expected, "{output}");
        let unread = unread_values(output.as_bytes(), Some(&format));
        let lines: Vec<usize> = unread.iter().map(|unread| unread.line).collect();
        let last = output.lines().count();
        assert_eq!(lines, vec![last; usize::from(is_listed)], "{output}");
    }
    let reading = Format::GoogleBenchmarkCsv
        .read_with_failures(format!("{counted}\"a\",5,1.5,1.2,ns,,,,1").as_bytes())
        .expect("it has values");
    assert!(reading.failed["a digits"].contains("its line has no end"));
}

/// The name of a test may have the dash that stands before the reason.
#[test]
fn a_test_that_failed_is_found_by_its_whole_name() {
    let names = [
        ("a.py::test_sum[a - b]", true),
        ("a.py::test_sum[a - c]", false),
        ("a.py::test_plain", true),
        ("a.py::test_plain_too", false),
        ("a.py::test_setup", true),
        ("a.py::test_bare", true),
    ];
    let durations: String = (names.iter())
        .flat_map(|(name, _)| ["call", "setup"].map(|part| format!("0.51s {part}     {name}\n")))
        .collect();
    let output = format!(
        "{durations}FAILED a.py::test_sum[a - b] - assert 0 - 1\nFAILED a.py::test_plain - assert 0\nERROR a.py::test_setup - x\nFAILED a.py::test_bare\n"
    );
    let reading = Format::PytestDurations.read_with_failures(output.as_bytes());
    let reading = reading.expect("some passed");
    for (name, has_failed) in names {
        for part in ["call", "setup"] {
            let chart = format!("{name} {part}");
            assert_eq!(reading.failed.contains_key(&chart), has_failed, "{chart}");
            assert_eq!(reading.charts.contains_key(&chart), !has_failed, "{chart}");
        }
    }
    // Many are one walk.
    let lines = |line: fn(usize) -> String| (0..5000).map(line).collect::<String>();
    let output = lines(|test| format!("0.51s call     a.py::test_{test}\n"))
        + "0.51s call     a.py::passed\n"
        + &lines(|test| format!("FAILED a.py::test_{test} - assert 0\n"));
    let reading = Format::PytestDurations.read_with_failures(output.as_bytes());
    assert_eq!(reading.expect("one passed").failed.len(), 5000);
}

/// A test that is not among the slowest has no value, and the reason is given.
#[test]
fn a_list_of_the_slowest_tests_says_that_it_is_one() {
    let row = "0.10s call     a.py::b\n";
    for (title, count) in [
        ("===== slowest 2 durations =====\n", 1),
        ("===== slowest durations =====\n", 0),
    ] {
        let output = format!("{title}{row}");
        let reading = Format::PytestDurations.read_with_failures(output.as_bytes());
        assert_eq!(reading.expect("it is sound").remarks.len(), count);
    }
    let output =
        format!("{row}\n(4 durations < 0.005s hidden.  Use -vv to show these durations.)\n");
    let reading = Format::PytestDurations.read_with_failures(output.as_bytes());
    assert!(reading.expect("it is sound").remarks[0].contains("slowest tests only"));
}

#[test]
fn names_of_other_programs_in_gos_format_may_be_in_lower_case() {
    let output = "goos: linux\nBenchmarkuber_zap_total 1 10149055 total-bytes\nBenchmarking 5 runs\nBenchmarked 5 3 ns\n";
    let charts = read("auto", output).expect("it is recognized");
    check(
        &charts,
        &[(
            "Benchmarkuber_zap_total total-bytes",
            1,
            10149055.0,
            Some("total-bytes"),
            Unknown,
        )],
    );
}

/// A benchmark's own output stands between its name and its result.
#[test]
fn a_benchmark_of_go_that_prints_has_its_result_on_a_later_line() {
    let output = "BenchmarkA-8   \tloading 5 files\nloaded\n    1000\t   100 ns/op\nBenchmarkB-8   \t  10\t 7 ns/op\n 20 8 ns/op\n";
    let charts = read("auto", output).expect("the format is Go's");
    check(
        &charts,
        &[
            ("BenchmarkA-8", 1, 100.0, Some("ns/op"), Down),
            ("BenchmarkB-8", 1, 7.0, Some("ns/op"), Down),
        ],
    );
}

#[test]
fn one_name_of_two_packages_is_two_charts() {
    let output = "pkg: a\nBenchmarkX 1 3 ns/op\npkg: b\nBenchmarkX 1 4 ns/op\nUnit q better=higher\nBenchmarkX 1 5 q\n";
    let charts = read("gobench", output).expect("it is sound");
    check(
        &charts,
        &[
            ("a.BenchmarkX", 1, 3.0, Some("ns/op"), Down),
            ("b.BenchmarkX", 1, 4.0, Some("ns/op"), Down),
            ("b.BenchmarkX q", 1, 5.0, Some("q"), Up),
        ],
    );
}
