//! The output of `go test -bench`.
//!
//! ```text
//! pkg: example.org/sums
//! BenchmarkSum/n=10-2      1000      7.752 ns/op   10319.92 MB/s
//! BenchmarkItoa-2          1000      33.54 ns/op       8 B/op      1 allocs/op
//! Unit digits/op better=higher
//! ```
//!
//! A benchmark gives a chart with its name after its package, `example.org/sums.BenchmarkItoa-2`,
//! in ns/op, and one for each other unit, `example.org/sums.BenchmarkItoa-2 B/op`. Each line is a
//! value, so `-count` gives several. The direction of improvement is known for ns/op, B/op,
//! allocs/op and MB/s, and for a unit for which a `Unit` line says so. All other lines are skipped,
//! except those of a failure: `--- FAIL: BenchmarkItoa-2` is one of that benchmark, and a line with
//! `FAIL` alone, or with the package, one of all benchmarks of the package, as of a panic.
//!
//! Source: <https://go.dev/design/14313-benchmark-format>, and the package
//! `golang.org/x/perf/benchfmt` for the units. Checked with Go 1.26.
//!
//! The format has no end that could be relied on (`PASS` is often filtered out), so a cut-off
//! output is noticed only by a line without its end.

use std::collections::BTreeMap;

use super::charts::{Charts, MOST_OF_A_SHARED_NAME};
use super::number::{self, Number};
use super::text::{column_of, lines_with};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

/// The unit of the chart that bears only the benchmark's name.
const TIME: &str = "ns/op";

/// The reason why a chart has failed.
const FAILED: &str = "go test says `FAIL`";

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut better: BTreeMap<&str, Direction> = BTreeMap::from([
        (TIME, Direction::Down),
        ("sec/op", Direction::Down),
        ("B/op", Direction::Down),
        ("allocs/op", Direction::Down),
        ("MB/s", Direction::Up),
        ("B/s", Direction::Up),
    ]);
    better.extend(text.lines().filter_map(unit_line));
    let mut package = None;
    // A benchmark that has written something after its name.
    let mut interrupted = None;
    let mut charts = Charts::default();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if let Some(name) = line.strip_prefix("pkg:") {
            if name.len() > MOST_OF_A_SHARED_NAME {
                return Err(ReadError::GoLine {
                    place: OutputPosition::Text {
                        line: index + 1,
                        column: 1,
                    },
                    problem: "the name of the package is too long",
                });
            }
            package = Some(name.trim());
        }
        match failure(line) {
            // Without the number of processors at the end of other names.
            Some(Failure::Benchmark(benchmark)) => {
                let name = named(package, benchmark);
                charts.benchmark(&name);
                charts.fail(&name, FAILED);
            }
            Some(Failure::Package(failed)) => {
                let of_package = failed.or(package).map(|package| format!("{package}."));
                let of_package = of_package.unwrap_or_default();
                charts.fail_beginning(&of_package, FAILED);
            }
            None => {}
        }
        let found = result_line(line).or_else(|| late_result(interrupted?, line));
        let Some((benchmark, measured)) = found else {
            interrupted = name_line(line).or(interrupted);
            continue;
        };
        interrupted = None;
        charts.knows(index);
        let at = |part| OutputPosition::Text {
            line: index + 1,
            column: column_of(line, part),
        };
        if !line.ends_with('\n') {
            return Err(ReadError::GoLine {
                place: at(line),
                problem: "the line has no end",
            });
        }
        let name = named(package, benchmark);
        charts.benchmark(&name);
        let mut words = measured.split_whitespace();
        while let Some(value) = words.next() {
            let number = match number::number(value) {
                Some(Number::Finite(number)) => number,
                Some(Number::NotFinite) => {
                    return Err(ReadError::NotFinite {
                        place: at(value),
                        found: format!("`{value}`"),
                    });
                }
                None => {
                    return Err(ReadError::GoLine {
                        place: at(value),
                        problem: "a number and its unit are needed",
                    });
                }
            };
            let Some(unit) = words.next() else {
                return Err(ReadError::GoLine {
                    place: at(value),
                    problem: "the number has no unit",
                });
            };
            let direction = better.get(unit).copied().unwrap_or_default();
            let chart = match unit {
                TIME => name.clone(),
                other => format!("{name} {other}"),
            };
            charts.add(&chart, [number], Some(unit), direction, || at(value));
        }
    }
    charts.finish("lines like `BenchmarkSort-2  1000  7.75 ns/op`")
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, "Benchmark").any(|line| {
        result_line(line).is_some_and(|(_, measured)| {
            let value = measured.split_whitespace().next();
            value.is_some_and(|value| number::number(value).is_some())
        })
    })
}

/// The name at the beginning of a line, with no result after it.
fn name_line(line: &str) -> Option<&str> {
    let (name, _) = line.split_once([' ', '\t'])?;
    let own = name.strip_prefix("Benchmark")?;
    (!own.starts_with(|letter: char| letter.is_lowercase())).then_some(name)
}

/// The result of a benchmark whose name stands on a line before: `1000  12.5 ns/op`.
fn late_result<'a>(benchmark: &'a str, line: &'a str) -> Option<(&'a str, &'a str)> {
    let (iterations, measured) = line.trim_start().split_once([' ', '\t'])?;
    let mut words = measured.split_whitespace();
    let is_count = !iterations.is_empty() && iterations.bytes().all(|byte| byte.is_ascii_digit());
    let is_result = number::number(words.next()?).is_some() && words.next()? == TIME;
    (is_count && is_result).then_some((benchmark, measured))
}

/// The name of the benchmark, and its measurements: `BenchmarkName iterations value unit …`. A
/// benchmark that prints, or `-v`, leaves lines with the name only, or with something else after
/// it.
fn result_line(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("Benchmark")?;
    let (name, measured) = line.split_once([' ', '\t'])?;
    let (iterations, measured) = measured.trim_start().split_once([' ', '\t'])?;
    let digits = !iterations.is_empty() && iterations.bytes().all(|byte| byte.is_ascii_digit());
    // `Benchmarking …` is prose: Go's own names have no lower-case letter there. Other programs
    // that write the format do, and then nothing but numbers and units follows.
    let is_word = ["ing", "s", "ed"].contains(&&name["Benchmark".len()..]);
    if rest.starts_with(char::is_lowercase) && (is_word || !is_pairs(measured)) {
        return None;
    }
    (digits && !measured.trim().is_empty()).then_some((name, measured))
}

/// Returns true for numbers with a unit after each.
fn is_pairs(measured: &str) -> bool {
    let words: Vec<&str> = measured.split_whitespace().collect();
    words.chunks(2).all(|pair| match pair {
        [value, unit] => number::number(value).is_some() && number::number(unit).is_none(),
        _ => false,
    })
}

fn named(package: Option<&str>, benchmark: &str) -> String {
    match package {
        Some(package) => format!("{package}.{benchmark}"),
        None => benchmark.to_owned(),
    }
}

/// The failure that a line reports.
enum Failure<'a> {
    Benchmark(&'a str),
    /// All of a package: of this name, or the one whose benchmarks were printed last.
    Package(Option<&'a str>),
}

fn failure(line: &str) -> Option<Failure<'_>> {
    if let Some(name) = line.trim_start().strip_prefix("--- FAIL: ") {
        return name.split_whitespace().next().map(Failure::Benchmark);
    }
    match line.trim_end().strip_prefix("FAIL")? {
        "" => Some(Failure::Package(None)),
        rest => {
            let package = rest.strip_prefix('\t')?.split_whitespace().next();
            Some(Failure::Package(package))
        }
    }
}

/// `Unit digits/op better=higher`.
fn unit_line(line: &str) -> Option<(&str, Direction)> {
    let mut words = line.strip_prefix("Unit ")?.split_whitespace();
    let unit = words.next()?;
    words.find_map(|word| match word {
        "better=higher" => Some((unit, Direction::Up)),
        "better=lower" => Some((unit, Direction::Down)),
        _ => None,
    })
}
