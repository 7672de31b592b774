//! The whole output of tools as they print it.

use super::*;

#[test]
fn consoles() {
    expect(
        "hyperfine.txt",
        &[
            ("sleep 0.01", 1, 0.0186, Some("s"), Down),
            ("sleep 0.02", 1, 0.0223, Some("s"), Down),
        ],
    );
    expect(
        "criterion.txt",
        &[
            (
                "a name that is longer than its column",
                1,
                191.65,
                Some("ns"),
                Down,
            ),
            ("sum 1000", 1, 3374.9, Some("ns"), Down),
            ("sums/fold/100", 1, 506.06, Some("ns"), Down),
            ("sums/fold/1000000", 1, 4_743_400.0, Some("ns"), Down),
        ],
    );
    expect(
        "divan.txt",
        &[
            ("dv/deep/bytes", 1, 26.79, Some("ns"), Down),
            ("dv/deep/sleep", 1, 1_074_000.0, Some("ns"), Down),
            ("dv/fold/100", 1, 70.63, Some("ns"), Down),
            ("dv/fold/1000", 1, 528.5, Some("ns"), Down),
            ("dv/parse", 1, 26.79, Some("ns"), Down),
        ],
    );
    let long = "a_benchmark_with_a_rather_long_name_that_needs_room";
    let long_cpu = format!("{long} cpu_time");
    expect(
        "google-benchmark-1.7.txt",
        &[
            ("Micro/real_time", 1, 0.048, Some("us"), Down),
            ("Micro/real_time cpu_time", 1, 0.048, Some("us"), Down),
            ("Sum/100", 1, 214.0, Some("ns"), Down),
            ("Sum/100 cpu_time", 1, 214.0, Some("ns"), Down),
            ("Sum/100000", 1, 20810062.0, Some("ns"), Down),
            ("Sum/100000 cpu_time", 1, 775605.0, Some("ns"), Down),
            (long, 1, 963.0, Some("ns"), Down),
            (&long_cpu, 1, 49.3, Some("ns"), Down),
        ],
    );
    expect(
        "catch2-2.13.txt",
        &[
            ("other/sum 100", 1, 240.173, Some("ns"), Down),
            (
                "sums/a name that is longer than its column in the table of Catch2 is",
                1,
                139.602,
                Some("ns"),
                Down,
            ),
            (
                "sums/large/sum <10000> & more",
                1,
                22665.8,
                Some("ns"),
                Down,
            ),
            ("sums/sum 100", 1, 280.25, Some("ns"), Down),
        ],
    );
    expect(
        "libtest.txt",
        &[
            ("tests::sum_100", 1, 323.79, Some("ns/iter"), Down),
            ("tests::sum_100000", 1, 207_781.12, Some("ns/iter"), Down),
        ],
    );
    expect(
        "pytest-benchmark.txt",
        &[
            ("test_join", 1, 282.05e-9, Some("s"), Down),
            ("test_sum[1000]", 1, 10.93e-6, Some("s"), Down),
            ("test_sum[10]", 1, 339.6e-9, Some("s"), Down),
        ],
    );
}

#[test]
fn consoles_of_javascript() {
    let rate = Some("ops/s");
    expect(
        "vitest-4.txt",
        &[
            ("src/sort.bench.js > alone", 1, 12_837_023.32, rate, Up),
            (
                "src/sort.bench.js > sort > nested > tiny",
                1,
                3_303_886.30,
                rate,
                Up,
            ),
            ("src/sort.bench.js > sort > normal", 1, 5739.63, rate, Up),
            (
                "src/sort.bench.js > sort > reverse then",
                1,
                5212.65,
                rate,
                Up,
            ),
        ],
    );
    expect(
        "vitest-1.txt",
        &[
            (
                "src/other.bench.js > sort > normal",
                1,
                1_037_947.51,
                rate,
                Up,
            ),
            ("src/sort.bench.js > alone", 1, 8_483_637.62, rate, Up),
            (
                "src/sort.bench.js > sort > nested > tiny",
                1,
                3_243_647.66,
                rate,
                Up,
            ),
            ("src/sort.bench.js > sort > normal", 1, 1358.64, rate, Up),
            (
                "src/sort.bench.js > sort > reverse then",
                1,
                3059.08,
                rate,
                Up,
            ),
        ],
    );
    let time = Some("ns");
    expect(
        "tinybench-2.txt",
        &[
            ("sort 1000", 1, 293_367.96187683346, time, Down),
            ("tiny", 1, 312.9994021722936, time, Down),
        ],
    );
    expect(
        "tinybench-6.txt",
        &[
            ("sort 1000", 1, 152_424.0, time, Down),
            ("tiny", 1, 220.0, time, Down),
        ],
    );
    let rate = Some("ops/sec");
    expect(
        "benchmark-js.txt",
        &[
            ("RegExp#test", 1, 29_894_041.0, rate, Up),
            ("String#indexOf x 2", 1, 826_463_020.0, rate, Up),
            ("sort", 1, 11.84, rate, Up),
        ],
    );
}

#[test]
fn consoles_of_python() {
    let time = Some("s");
    expect(
        "pytest-durations.txt",
        &[
            (
                "test_other.py::TestDeep::test_name call",
                1,
                0.01,
                time,
                Down,
            ),
            ("test_other.py::test_join[1000] call", 1, 0.05, time, Down),
            ("test_other.py::test_sum call", 1, 0.05, time, Down),
            ("test_other.py::test_sum setup", 1, 0.03, time, Down),
            ("test_other.py::test_sum teardown", 1, 0.02, time, Down),
            (
                "test_sums.py::TestDeep::test_name call",
                1,
                0.01,
                time,
                Down,
            ),
            ("test_sums.py::test_join[1000] call", 1, 0.05, time, Down),
            ("test_sums.py::test_sum call", 1, 0.05, time, Down),
            ("test_sums.py::test_sum setup", 1, 0.03, time, Down),
            ("test_sums.py::test_sum teardown", 1, 0.02, time, Down),
        ],
    );
    let memory = Some("bytes");
    for name in ["asv-run.txt", "asv-show.txt"] {
        expect(
            name,
            &[
                ("sums.One.time_one(1)", 1, 590e-9, time, Down),
                ("sums.One.time_one(2)", 1, 332e-9, time, Down),
                ("sums.Plain.mem_list", 1, 2100.0, memory, Down),
                ("sums.Plain.time_join", 1, 13.7e-6, time, Down),
                ("sums.Plain.track_size", 1, 4200.0, None, Unknown),
                ("sums.Suite.peakmem_sum(10, list)", 1, 24.7e6, memory, Down),
                ("sums.Suite.peakmem_sum(10, tuple)", 1, 24.6e6, memory, Down),
                (
                    "sums.Suite.peakmem_sum(1000, list)",
                    1,
                    24.6e6,
                    memory,
                    Down,
                ),
                (
                    "sums.Suite.peakmem_sum(1000, tuple)",
                    1,
                    24.7e6,
                    memory,
                    Down,
                ),
                ("sums.Suite.time_sum(10, list)", 1, 882e-9, time, Down),
                ("sums.Suite.time_sum(10, tuple)", 1, 671e-9, time, Down),
                ("sums.Suite.time_sum(1000, list)", 1, 11e-6, time, Down),
            ],
        );
    }
}

#[test]
fn other_consoles() {
    let rate = Some("i/s");
    expect(
        "benchmark-ips.txt",
        &[
            (
                "a name that is longer than its column",
                1,
                13_725_000.0,
                rate,
                Up,
            ),
            ("join", 1, 24_203.0, rate, Up),
            ("slow", 1, 11.362, rate, Up),
        ],
    );
    expect(
        "benchmark-dotnet.txt",
        &[
            ("Join [N=1000]", 1, 51_224.1, Some("ns"), Down),
            ("Join [N=1000] Allocated", 1, 82_176.0, Some("B"), Down),
            ("Join [N=10]", 1, 512.24, Some("ns"), Down),
            ("Join [N=10] Allocated", 1, 992.0, Some("B"), Down),
            ("Sum [N=1000]", 1, 1234.56, Some("ns"), Down),
            ("Sum [N=1000] Allocated", 1, 0.0, Some("B"), Down),
            ("Sum [N=10]", 1, 12.35, Some("ns"), Down),
            ("Sum [N=10] Allocated", 1, 0.0, Some("B"), Down),
        ],
    );
    expect(
        "nanobench-4.1.txt",
        &[
            (
                "Sums/a|`b`",
                1,
                1e9 / 1_441_129_845.80,
                Some("ns/number"),
                Down,
            ),
            (
                "Sums/sum 100",
                1,
                1e9 / 1_302_430_817.43,
                Some("ns/number"),
                Down,
            ),
            (
                "growing [complexityN=1,000]",
                1,
                1e9 / 1_397_391.54,
                Some("ns/op"),
                Down,
            ),
            (
                "growing [complexityN=10]",
                1,
                1e9 / 130_859_434.80,
                Some("ns/op"),
                Down,
            ),
            ("nap", 1, 5_120_070.0, Some("ns/op"), Down),
            ("rising", 1, 1e9 / 1_299_738.49, Some("ns/op"), Down),
            ("sum 1000", 1, 1e9 / 1_456_664.24, Some("ns/op"), Down),
            ("x += x", 1, 1e9 / 1_450_222_057.74, Some("ns/op"), Down),
        ],
    );
    expect(
        "nanobench-4.6.txt",
        &[
            (
                "Sums/a|`b`",
                1,
                1e9 / 1_519_576_375.68,
                Some("ns/number"),
                Down,
            ),
            (
                "Sums/sum 100",
                1,
                1e9 / 1_451_019_146.09,
                Some("ns/number"),
                Down,
            ),
            ("down", 1, 1e9 / 7_471_751.18, Some("ns/op"), Down),
            (
                "growing [complexityN=1,000]",
                1,
                1e9 / 1_520_034.21,
                Some("ns/op"),
                Down,
            ),
            (
                "growing [complexityN=10]",
                1,
                1e9 / 152_670_340.67,
                Some("ns/op"),
                Down,
            ),
            ("nap", 1, 5_115_751.0, Some("ns/op"), Down),
            ("one", 1, 1e9 / 14_221_663.18, Some("ns/op"), Down),
            ("rising", 1, 1e9 / 252_367.16, Some("ns/op"), Down),
            (
                "sum 10 [threads=2]",
                1,
                1e9 / 158_557_847.86,
                Some("ns/op"),
                Down,
            ),
            ("sum 1000", 1, 1e9 / 1_516_453.48, Some("ns/op"), Down),
            ("three", 1, 1e9 / 5_047_691.55, Some("ns/op"), Down),
            ("two", 1, 1e9 / 7_536_028.49, Some("ns/op"), Down),
            ("up", 1, 1e9 / 15_260_731.47, Some("ns/op"), Down),
            ("x += x", 1, 1e9 / 1_533_533_000.90, Some("ns/op"), Down),
        ],
    );
    expect(
        "perf-stat.txt",
        &[
            ("context-switches", 1, 1.0, None, Down),
            ("cpu-migrations", 1, 0.0, None, Down),
            ("elapsed", 1, 0.052257335, Some("s"), Down),
            ("page-faults", 1, 71.0, None, Down),
            ("sys", 1, 0.0, Some("s"), Down),
            ("task-clock", 1, 1.13, Some("ms"), Down),
            ("user", 1, 0.002256, Some("s"), Down),
        ],
    );
    expect(
        "google-benchmark-1.7.csv",
        &[
            ("Micro/real_time", 1, 0.00397488, Some("us"), Down),
            ("Micro/real_time cpu_time", 1, 0.000391271, Some("us"), Down),
            ("Sum/100", 1, 338.423, Some("ns"), Down),
            ("Sum/100 bytes_per_second", 1, 6.07544e9, None, Up),
            ("Sum/100 cpu_time", 1, 65.8389, Some("ns"), Down),
            ("Sum/100 digits", 1, 2.5, None, Unknown),
            ("Sum/1000", 1, 1632.87, Some("ns"), Down),
            ("Sum/1000 bytes_per_second", 1, 8.64771e9, None, Up),
            ("Sum/1000 cpu_time", 1, 462.55, Some("ns"), Down),
            ("Sum/1000 digits", 1, 2.5, None, Unknown),
        ],
    );
    expect(
        "ycsb.txt",
        &[
            ("OVERALL RunTime", 1, 20_961.0, Some("ms"), Down),
            (
                "OVERALL Throughput",
                1,
                477.0764753590955,
                Some("ops/sec"),
                Up,
            ),
            ("READ 95thPercentileLatency", 1, 1665.0, Some("us"), Down),
            ("READ 99thPercentileLatency", 1, 1796.0, Some("us"), Down),
            (
                "READ AverageLatency",
                1,
                995.1311154598826,
                Some("us"),
                Down,
            ),
            ("READ MaxLatency", 1, 19_471.0, Some("us"), Down),
            ("READ MinLatency", 1, 196.0, Some("us"), Down),
            (
                "UPDATE AverageLatency",
                1,
                4261.576687116564,
                Some("us"),
                Down,
            ),
        ],
    );
}

#[test]
fn jmh_console() {
    expect(
        "jmh.txt",
        &[
            (
                "Sums.average [avgt, kind=plain, n=10]",
                1,
                0.042,
                Some("us/op"),
                Down,
            ),
            (
                "Sums.average [avgt, kind=two word, n=1000]",
                1,
                0.552,
                Some("us/op"),
                Down,
            ),
            (
                "Sums.once [ss, kind=N/A, n=10]",
                1,
                3.279,
                Some("us/op"),
                Down,
            ),
            (
                "Sums.once [ss, kind=N/A, n=10] gc.alloc.rate",
                1,
                0.439,
                Some("MB/sec"),
                Unknown,
            ),
            (
                "Sums.sampled [sample, kind=N/A, n=1000]",
                1,
                470.62,
                Some("ns/op"),
                Down,
            ),
            (
                "Sums.sampled [sample, kind=N/A, n=1000] p0.50",
                1,
                431.0,
                Some("ns/op"),
                Unknown,
            ),
            (
                "Sums.throughput [thrpt, kind=N/A, n=10]",
                1,
                59841.839,
                Some("ops/ms"),
                Up,
            ),
        ],
    );
}

#[test]
fn old_tables_of_jmh() {
    let output = "Benchmark         Mode  Samples  Score  Score error  Units\na.Sums.b          avgt        5  1.500        0.020  ns/op\na.Sums.b:·gc      avgt        5  2.500          NaN  MB/sec\n";
    let charts = read("auto", output).expect("it is sound");
    check(
        &charts,
        &[
            ("a.Sums.b [avgt]", 1, 1.5, Some("ns/op"), Down),
            ("a.Sums.b [avgt] gc", 1, 2.5, Some("MB/sec"), Unknown),
        ],
    );
}

#[test]
fn gungraun() {
    expect(
        "gungraun.txt",
        &[
            ("sums::group::sum_to long:1000", 1, 26_214_734.0, None, Down),
            (
                "sums::group::sum_to long:1000 DHAT Total blocks",
                1,
                7.0,
                None,
                Down,
            ),
            (
                "sums::group::sum_to long:1000 DHAT Total bytes",
                1,
                29_499.0,
                None,
                Down,
            ),
            (
                "sums::group::sum_to long:1000 Estimated Cycles",
                1,
                35_638_757.0,
                None,
                Down,
            ),
            ("sums::group::sum_to short:10", 1, 1734.0, None, Down),
            (
                "sums::group::sum_to short:10 Estimated Cycles",
                1,
                2464.0,
                None,
                Down,
            ),
            (
                "sums::group::sum_to short:10 L1 Hits",
                1,
                2359.0,
                None,
                Unknown,
            ),
            (
                "sums::group::sum_to short:10 LL Hits",
                1,
                0.0,
                None,
                Unknown,
            ),
            ("sums::group::sum_to short:10 RAM Hits", 1, 3.0, None, Down),
            (
                "sums::group::sum_to short:10 Total read+write",
                1,
                2362.0,
                None,
                Down,
            ),
        ],
    );
    expect(
        "iai.txt",
        &[
            ("sums::iai::long", 1, 26_214_735.0, None, Down),
            (
                "sums::iai::long Estimated Cycles",
                1,
                35_638_668.0,
                None,
                Down,
            ),
            (
                "sums::iai::long L1 Accesses",
                1,
                35_638_623.0,
                None,
                Unknown,
            ),
            ("sums::iai::long L2 Accesses", 1, 2.0, None, Unknown),
            ("sums::iai::long RAM Accesses", 1, 1.0, None, Down),
            ("sums::iai::short", 1, 1735.0, None, Down),
            ("sums::iai::short Estimated Cycles", 1, 2404.0, None, Down),
            ("sums::iai::short L1 Accesses", 1, 2364.0, None, Unknown),
            ("sums::iai::short L2 Accesses", 1, 1.0, None, Unknown),
            ("sums::iai::short RAM Accesses", 1, 1.0, None, Down),
        ],
    );
}
