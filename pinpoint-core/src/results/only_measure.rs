//! The chart that is meant when none is named.

use super::{Format, Reading};

impl Reading {
    /// The chart that is meant when none is named: the only one; the one that is the tool's own
    /// result, as `real` of `time`; or, in [`Format::Lines`], the only one that is a measure. There
    /// `iterations: 30` or `Timer precision: 20 ns` is not one: it is a setting of the measurement.
    /// Next to a number with a unit, neither is a whole number without one, unless its name is that
    /// of a measure (`score: 1234`).
    ///
    /// `None` when more than one could be meant, those that failed among them.
    pub fn only_measure(&self, format: &Format) -> Option<&str> {
        let all: Vec<&str> = self.charts.keys().map(String::as_str).collect();
        if let Some(headline) = &self.headline {
            return Some(headline);
        }
        if !self.failed.is_empty() {
            return None;
        }
        if *format != Format::Lines || all.len() == 1 {
            return only(all);
        }
        let unit = |name: &str| {
            self.charts
                .get(name)
                .and_then(|series| series.unit.as_deref())
        };
        let mut measures = all;
        measures.retain(|name| !is_setting(name, unit(name)));
        if measures.iter().any(|name| unit(name).is_some()) {
            let is_whole = |name: &str| {
                (self.charts.get(name))
                    .is_some_and(|series| series.values.iter().all(|it| it.fract() == 0.0))
            };
            measures
                .retain(|name| unit(name).is_some() || !is_whole(name) || is_named_measure(name));
        }
        only(measures)
    }
}

fn only(names: Vec<&str>) -> Option<&str> {
    match names[..] {
        [only] => Some(only),
        _ => None,
    }
}

/// Returns true if a value of this name is a setting of the measurement, not its result.
pub(super) fn is_setting(name: &str, unit: Option<&str>) -> bool {
    let last_word = name
        .split(|letter: char| !letter.is_alphanumeric())
        .rfind(|word| !word.is_empty())
        .unwrap_or_default()
        .to_lowercase();
    if SETTINGS.contains(&last_word.as_str()) {
        return true;
    }
    // `test_a.py: 1000` counts a tool's work on a file.
    let is_file = (name.rsplit_once('.'))
        .is_some_and(|(stem, extension)| !stem.is_empty() && FILES.contains(&extension));
    unit.is_none() && (is_file || COUNTS.contains(&last_word.as_str()))
}

/// Returns true if a name marks its number as a measure, even if that is whole.
fn is_named_measure(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(|letter: char| !letter.is_alphanumeric());
    words.any(|word| MEASURES.contains(&word))
}

const MEASURES: [&str; 20] = [
    "score",
    "rate",
    "throughput",
    "speed",
    "per",
    "sec",
    "second",
    "seconds",
    "s",
    "ms",
    "ns",
    "us",
    "time",
    "elapsed",
    "duration",
    "latency",
    "fps",
    "qps",
    "rps",
    "tps",
];

/// The ends of names of files.
const FILES: [&str; 31] = [
    "py", "rs", "go", "js", "ts", "jsx", "tsx", "mjs", "c", "h", "cc", "cpp", "hpp", "cs", "java",
    "kt", "rb", "php", "pl", "lua", "sh", "swift", "json", "toml", "yaml", "yml", "txt", "md",
    "csv", "log", "html",
];

/// Names that benchmarks give, with a unit, to their clock, limits and progress.
const SETTINGS: [&str; 10] = [
    "precision",
    "resolution",
    "warmup",
    "warmups",
    "timeout",
    "deadline",
    "interval",
    "limit",
    "progress",
    "coverage",
];

/// Names of things that benchmarks and tests count besides their measurements.
const COUNTS: [&str; 30] = [
    "iterations",
    "iteration",
    "iters",
    "iter",
    "samples",
    "runs",
    "rounds",
    "repetitions",
    "repeats",
    "reps",
    "loops",
    "threads",
    "jobs",
    "workers",
    "cores",
    "cpus",
    "seed",
    "version",
    "pid",
    "port",
    "tests",
    "passed",
    "failed",
    "skipped",
    "ignored",
    "errors",
    "warnings",
    "failures",
    "n",
    "year",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn only(output: &str) -> Option<String> {
        let reading = Format::Lines.read_with_failures(output.as_bytes());
        let reading = reading.expect("it has values");
        reading.only_measure(&Format::Lines).map(str::to_owned)
    }

    #[test]
    fn a_measure_is_meant_rather_than_a_count() {
        for (output, expected) in [
            ("time: 5 ms", Some("time")),
            ("iterations: 30\nlat: 9,012.3 ms", Some("lat")),
            ("Timer precision: 20 ns\ntime: 5 ms", Some("time")),
            ("timeout: 30s\ntime: 5 ms", Some("time")),
            ("test_a.py: 1000\nscore: 12.5", Some("score")),
            ("items: 10\ntime: 5 ms", Some("time")),
            ("seed: 7\nscore: 12.5", Some("score")),
            // If asked for, the only line is the metric.
            ("iterations: 30", Some("iterations")),
            ("a: 5 ms\nb: 6 ms", None),
            ("a: 5\nb: 6", None),
            ("iterations: 5\nruns: 6", None),
            ("time: 5 ms\nlat: 1,234 ms", None),
            // A number without a unit may be the result.
            ("Score: 1234.5\nElapsed: 10.0 s", None),
            ("score: 1234\nElapsed: 10.0 s", None),
            ("events per second: 123.56\ntotal time: 10.0002s", None),
            ("Requests/sec: 74886.53\nTransfer/sec: 60.33MB", None),
            ("db.read: 12.5\nrows: 300", None),
            ("sort.rs: 12\ntime: 5 ms", Some("time")),
            // Two values on one line are neither.
            ("p50: 5 ms, p99: 50 ms\ntime: 5 ms", Some("time")),
            ("items: 1000 (12.5ms)\ntime: 5 ms", Some("time")),
            ("items: 1000 (all)\ntime: 5 ms.", Some("time")),
        ] {
            assert_eq!(only(output).as_deref(), expected, "{output}");
        }
    }

    #[test]
    fn other_formats_know_their_measures() {
        let output = b"PERFHERDER_DATA: {\"suites\": [{\"name\": \"a\", \"value\": 1, \"subtests\": [{\"name\": \"b\", \"value\": 2, \"unit\": \"ms\"}]}]}";
        let talos = Format::Talos(crate::results::talos::TalosValues::Replicates);
        let reading = talos.read_with_failures(output).expect("it has values");
        assert_eq!(reading.only_measure(&talos), None);
    }

    #[test]
    fn an_only_benchmark_is_meant_by_its_main_chart() {
        let head = "Benchmark  Time  CPU  Iterations\n";
        let console = |rows: &str| format!("{head}{rows}");
        let json = |names: &[&str]| {
            let one = |name: &&str| {
                format!(r#"{{"name": "{name}", "real_time": 2, "cpu_time": 1, "time_unit": "ns"}}"#)
            };
            let all: Vec<String> = names.iter().map(one).collect();
            format!(r#"{{"context": {{}}, "benchmarks": [{}]}}"#, all.join(","))
        };
        let csv = "name,iterations,real_time,cpu_time,time_unit\n";
        let jmh = "Benchmark  Mode  Cnt  Score  Error  Units\n";
        for (output, expected) in [
            (console("Sum  31.2 ns  31.1 ns  224\n"), Some("Sum")),
            (console("Sum  31.2 ns  31.1 ns  224\nSum  3 ns  3 ns  224\n"), Some("Sum")),
            (console("Sum  31.2 ns  31.1 ns  224\nSum/2  3 ns  3 ns  224\n"), None),
            (json(&["Sum"]), Some("Sum")),
            (json(&["Sum", "Sum/2"]), None),
            (format!("{csv}\"Sum\",22,78.5,78.6,ns\n"), Some("Sum")),
            (format!("{csv}\"Sum\",22,78.5,78.6,ns\n\"Min\",22,7,7,ns\n"), None),
            ("BenchmarkSum-2  1000  33.5 ns/op  8 B/op  1 allocs/op\n".into(), Some("BenchmarkSum-2")),
            ("BenchmarkSum-2  1000  33.5 ns/op  8 B/op\nBenchmarkMin-2  1000  3 ns/op\n".into(), None),
            // Nothing says which of these is meant.
            ("BenchmarkSum-2  1000  8 B/op  1 allocs/op\n".into(), None),
            (
                "sums::all::sum\n  Instructions:  1734|1700  (+2.0%)\n  L1 Hits:  2359|2359  (No change)\n".into(),
                Some("sums::all::sum"),
            ),
            (
                format!("{jmh}Sums.sum  avgt  4  0.028 ± 0.220  us/op\nSums.sum:gc.time  avgt  4  2 ± 1  ms\n"),
                Some("Sums.sum [avgt]"),
            ),
            (
                format!("{jmh}Sums.sum  avgt  4  0.028 ± 0.220  us/op\nSums.min  avgt  4  2 ± 1  us/op\n"),
                None,
            ),
        ] {
            let reading = Format::Auto.read_with_failures(output.as_bytes());
            let reading = reading.expect("it has values");
            assert_eq!(reading.only_measure(&Format::Auto), expected, "{output}");
        }
    }
}
