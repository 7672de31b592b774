//! What a format finds in an output.

use std::collections::BTreeMap;

use super::Format;
use crate::Series;

/// The charts of an output: those with values, and those whose measurement failed.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// The values of each chart: at least one, and all of them finite.
    pub charts: BTreeMap<String, Series>,
    /// The charts of which the output says that a measurement failed, each with the reason in
    /// words (`its command exited with 139`). None of them is in `charts`, whatever other values the
    /// output gives for it: half of its values would pass for all of them.
    pub failed: BTreeMap<String, String>,
}

impl Reading {
    /// The chart that is meant when none is named: the only one; or, in [`Format::Lines`], the
    /// only one that is a measure. There a number with a unit is one rather than a number
    /// without, and `iterations: 30` or `Timer precision: 20 ns` is none: it says how something
    /// was measured.
    ///
    /// `None` when more than one could be meant, those that failed among them.
    pub fn only_measure(&self, format: &Format) -> Option<&str> {
        let all: Vec<&str> = self.charts.keys().map(String::as_str).collect();
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
            measures.retain(|name| unit(name).is_some());
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

/// Does a value of this name say how something was measured, and not what was?
pub(super) fn is_setting(name: &str, unit: Option<&str>) -> bool {
    let last_word = name
        .split(|letter: char| !letter.is_alphanumeric())
        .rfind(|word| !word.is_empty())
        .unwrap_or_default()
        .to_lowercase();
    if SETTINGS.contains(&last_word.as_str()) {
        return true;
    }
    // `test_a.py: 1000` counts what a tool did with a file.
    let is_file = match name.rsplit_once('.') {
        Some((stem, extension)) => {
            let letters = extension.chars().all(|letter| letter.is_ascii_lowercase());
            !stem.is_empty() && letters && (1..=4).contains(&extension.len())
        }
        None => false,
    };
    unit.is_none() && (is_file || COUNTS.contains(&last_word.as_str()))
}

/// What benchmarks say, with a unit, of their clock, their limits and how far they are.
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

/// What benchmarks and tests count besides what they measure.
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
            // Explicitly asked for, the only line is the metric.
            ("iterations: 30", Some("iterations")),
            ("a: 5 ms\nb: 6 ms", None),
            ("a: 5\nb: 6", None),
            ("iterations: 5\nruns: 6", None),
            ("time: 5 ms\nlat: 1,234 ms", None),
        ] {
            assert_eq!(only(output).as_deref(), expected, "{output}");
        }
    }

    #[test]
    fn other_formats_know_their_measures() {
        let output = b"PERFHERDER_DATA: {\"suites\": [{\"name\": \"a\", \"value\": 1, \"subtests\": [{\"name\": \"b\", \"value\": 2, \"unit\": \"ms\"}]}]}";
        let reading = Format::Talos
            .read_with_failures(output)
            .expect("it has values");
        assert_eq!(reading.only_measure(&Format::Talos), None);
    }
}
