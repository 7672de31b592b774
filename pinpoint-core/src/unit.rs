//! Units: the direction in which one improves, and the conversion between two.

use crate::{Direction, Series};

/// The direction of improvement: as the format `said`, or else by the unit. Less time and memory is
/// nearly always better; it is unknown for rates (`MB/s`) and anything else.
///
/// Case does not matter, because benchmarks write `KB`, `kB` and `kb` for one
/// thing.
///
/// ```
/// use pinpoint_core::Direction::{Down, Unknown, Up};
/// use pinpoint_core::direction_of;
///
/// assert_eq!(direction_of(Unknown, Some("µs")), Down);
/// assert_eq!(direction_of(Unknown, Some("KiB")), Down);
/// assert_eq!(direction_of(Unknown, Some("ns/iter")), Down);
/// assert_eq!(direction_of(Unknown, Some("MB/s")), Unknown);
/// assert_eq!(direction_of(Up, Some("ms")), Up);
/// ```
pub fn direction_of(said: Direction, unit: Option<&str>) -> Direction {
    if said == Direction::Unknown && is_time_or_memory(unit) {
        Direction::Down
    } else {
        said
    }
}

/// Returns true if a unit is one of memory.
///
/// ```
/// use pinpoint_core::is_memory;
///
/// assert!(is_memory(Some("KiB")));
/// assert!(!is_memory(Some("ms")) && !is_memory(None));
/// ```
pub fn is_memory(unit: Option<&str>) -> bool {
    MEMORY.contains(&plain(unit).as_str())
}

fn is_time_or_memory(unit: Option<&str>) -> bool {
    let unit = plain(unit);
    let is_either = |unit: &str| TIMES.contains(&unit) || MEMORY.contains(&unit);
    match unit.split_once('/') {
        // `ns/iter`, `B/op`: of one piece of work, and no rate.
        Some((over, under)) => is_either(over) && PIECES_OF_WORK.contains(&under),
        None => is_either(&unit),
    }
}

const PIECES_OF_WORK: [&str; 9] = [
    "op",
    "iter",
    "iteration",
    "call",
    "run",
    "req",
    "request",
    "query",
    "loop",
];

fn plain(unit: Option<&str>) -> String {
    let unit = unit.unwrap_or_default().trim().to_lowercase();
    // The micro sign and the Greek letter look alike, and both are in use.
    unit.replace(['µ', 'μ'], "u")
}

const TIMES: [&str; 28] = [
    "ps",
    "ns",
    "nsec",
    "nsecs",
    "nanosecond",
    "nanoseconds",
    "us",
    "usec",
    "usecs",
    "microsecond",
    "microseconds",
    "ms",
    "msec",
    "msecs",
    "millisecond",
    "milliseconds",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hour",
    "hours",
];

const MEMORY: [&str; 17] = [
    "b",
    "byte",
    "bytes",
    "k",
    "kb",
    "mb",
    "gb",
    "tb",
    "kib",
    "mib",
    "gib",
    "tib",
    "kbytes",
    "mbytes",
    "gbytes",
    "pages",
    "sizeinbytes",
];

impl Series {
    /// The same values in another unit: converted if both units are of one dimension
    /// (see [`convert_factor`]), unchanged if the units are equal.
    ///
    /// `None` where the units can't be converted, or a value would not be finite.
    ///
    /// ```
    /// use pinpoint_core::Series;
    ///
    /// let seconds = Series { values: vec![0.1, 1.2], unit: Some("s".into()), ..Series::default() };
    /// let converted = seconds.in_unit(Some("ms")).expect("both are times");
    /// assert_eq!(converted.values, [100.0, 1200.0]);
    /// assert_eq!(converted.unit.as_deref(), Some("ms"));
    /// assert_eq!(seconds.in_unit(Some("MB")), None);
    /// ```
    pub fn in_unit(&self, unit: Option<&str>) -> Option<Self> {
        if self.unit.as_deref() == unit {
            return Some(self.clone());
        }
        let (multiply, divide) = ratio(self.unit.as_deref()?, unit?)?;
        let values = (self.values.iter()).map(|value| scaled(*value, multiply, divide));
        let values: Vec<f64> = values.collect();
        (values.iter().all(|value| value.is_finite())).then(|| Self {
            values,
            unit: unit.map(str::to_owned),
            direction: self.direction,
        })
    }
}

/// The factor by which a value in the unit `from` is multiplied to be one in the unit `to`.
///
/// Units of time (ps, ns, us or µs, ms, s, min, h, and their long names), of memory (B; kB, MB …
/// in steps of 1000, with KB for kB; KiB, MiB … in steps of 1024), of information (bit, kbit …),
/// frequencies (Hz, kHz …) and counted things with a prefix (ops, Kops, Mops); and one of
/// those over another, `MB/s`, `ns/op`, `Kops/s`. Prefixes are those of IEC 80000-13.
///
/// `None` for units of different dimensions, and for unknown ones unless they are equal.
///
/// ```
/// use pinpoint_core::convert_factor;
///
/// assert_eq!(convert_factor("s", "ms"), Some(1000.0));
/// assert_eq!(convert_factor("µs/op", "ns/op"), Some(1000.0));
/// assert_eq!(convert_factor("GiB", "MiB"), Some(1024.0));
/// assert_eq!(convert_factor("ops/ms", "ops/s"), Some(1000.0));
/// assert_eq!(convert_factor("ms", "MB"), None);
/// assert_eq!(convert_factor("furlong", "furlong"), Some(1.0));
/// ```
pub fn convert_factor(from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(1.0);
    }
    ratio(from, to).map(|(multiply, divide)| multiply / divide)
}

/// One of the two factors is 1 except for odd pairs, so that 140300 us are 140.3 ms to the bit.
fn scaled(value: f64, multiply: f64, divide: f64) -> f64 {
    value * multiply / divide
}

/// A value in another unit, if it can be converted.
#[cfg(feature = "results")]
pub(crate) fn convert(value: f64, from: &str, to: &str) -> Option<f64> {
    let (multiply, divide) = ratio(from, to)?;
    let value = scaled(value, multiply, divide);
    value.is_finite().then_some(value)
}

/// Returns true if a unit is one of a measurement: of time, memory or information, a frequency, a
/// rate, or percent.
#[cfg(feature = "results")]
pub(crate) fn is_measure(unit: &str) -> bool {
    let is_known = |unit: &str| part(unit).is_some_and(|part| part.dimension != Dimension::Count);
    match unit.split_once('/') {
        Some((over, under)) => {
            let is_word = |word: &str| word.chars().all(|letter| letter.is_alphanumeric());
            (is_known(over) && is_word(under)) || (is_known(under) && is_word(over))
        }
        None => unit == "%" || is_known(unit) || is_memory(Some(unit)) && unit.len() > 1,
    }
}

/// The dimension of a unit.
#[derive(Clone, Copy, PartialEq)]
enum Dimension {
    /// In picoseconds.
    Time,
    /// In bytes.
    Memory,
    /// In bits.
    Information,
    /// In hertz.
    Frequency,
    /// In pieces of the named thing.
    Count,
}

/// A unit that is not a quotient.
struct Part<'a> {
    dimension: Dimension,
    /// The thing that is counted.
    name: &'a str,
    /// Its size in the dimension's smallest unit.
    scale: u64,
}

impl Part<'_> {
    /// This unit in the other's, as a fraction.
    fn over(&self, other: &Self) -> Option<(u64, u64)> {
        let alike = self.dimension == other.dimension && self.name == other.name;
        alike.then_some((self.scale, other.scale))
    }
}

/// The factor between two units as a fraction in lowest terms.
fn ratio(from: &str, to: &str) -> Option<(f64, f64)> {
    let (from, from_under) = quotient(from)?;
    let (to, to_under) = quotient(to)?;
    let (multiply, divide) = from.over(&to)?;
    let (under_divide, under_multiply) = match (&from_under, &to_under) {
        (None, None) => (1, 1),
        (Some(from), Some(to)) => from.over(to)?,
        _ => return None,
    };
    let multiply = u128::from(multiply) * u128::from(under_multiply);
    let divide = u128::from(divide) * u128::from(under_divide);
    let common = greatest_common_divisor(multiply, divide);
    Some(((multiply / common) as f64, (divide / common) as f64))
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

fn quotient(unit: &str) -> Option<(Part<'_>, Option<Part<'_>>)> {
    match unit.trim().split_once('/') {
        Some((over, under)) => Some((part(over)?, Some(part(under)?))),
        None => Some((part(unit.trim())?, None)),
    }
}

fn part(unit: &str) -> Option<Part<'_>> {
    let of = |dimension, scale| Part {
        dimension,
        name: "",
        scale,
    };
    // Upper case matters: `Ms` and `Mb` are not `ms` and `MB`.
    let time = match unit {
        "ps" => Some(1),
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => Some(1_000),
        "us" | "µs" | "μs" | "usec" | "usecs" | "microsecond" | "microseconds" => Some(1_000_000),
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => Some(1_000_000_000),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1_000_000_000_000),
        "min" | "mins" | "minute" | "minutes" => Some(60_000_000_000_000),
        "h" | "hour" | "hours" => Some(3_600_000_000_000_000),
        _ => None,
    };
    if let Some(scale) = time {
        return Some(of(Dimension::Time, scale));
    }
    let memory = match unit {
        "B" | "byte" | "bytes" | "Byte" | "Bytes" => Some(1),
        "kB" | "KB" => Some(1_000),
        "MB" => Some(1_000_000),
        "GB" => Some(1_000_000_000),
        "TB" => Some(1_000_000_000_000),
        "KiB" | "kiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        "TiB" => Some(1 << 40),
        _ => None,
    };
    if let Some(scale) = memory {
        return Some(of(Dimension::Memory, scale));
    }
    let (prefix, word) = match unit.chars().next()? {
        'k' | 'K' => (1_000, &unit[1..]),
        'M' => (1_000_000, &unit[1..]),
        'G' => (1_000_000_000, &unit[1..]),
        _ => (1, unit),
    };
    let one = |word| COUNTED.iter().find(|names| names.contains(&word));
    match (word, one(word), one(unit)) {
        ("Hz", ..) => Some(of(Dimension::Frequency, prefix)),
        ("bit" | "bits", ..) => Some(of(Dimension::Information, prefix)),
        (_, _, Some(names)) => Some(Part {
            dimension: Dimension::Count,
            name: names[0],
            scale: 1,
        }),
        (_, Some(names), _) => Some(Part {
            dimension: Dimension::Count,
            name: names[0],
            scale: prefix,
        }),
        // Anything else is itself, and can stand over or under another unit.
        _ if !unit.is_empty() => Some(Part {
            dimension: Dimension::Count,
            name: unit,
            scale: 1,
        }),
        _ => None,
    }
}

/// Counted things that benchmarks write prefixes before, each with its plural.
const COUNTED: [[&str; 2]; 9] = [
    ["op", "ops"],
    ["req", "reqs"],
    ["request", "requests"],
    ["elem", "elems"],
    ["element", "elements"],
    ["item", "items"],
    ["iter", "iters"],
    ["event", "events"],
    ["msg", "msgs"],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_one_dimension_are_converted() {
        for (from, to, factor) in [
            ("ms", "us", 1e3),
            ("us", "ms", 1e-3),
            ("µs", "μs", 1.0),
            ("h", "min", 60.0),
            ("ns", "h", 1.0 / 3.6e12),
            ("KB", "B", 1e3),
            ("MiB", "KiB", 1024.0),
            ("MiB", "MB", 1.048576),
            ("GB/s", "MB/s", 1e3),
            ("MB/min", "MB/s", 1.0 / 60.0),
            ("us/op", "ns/op", 1e3),
            ("sec/op", "ns/op", 1e9),
            ("Kops/s", "ops/sec", 1e3),
            ("Mops/s", "Kops/s", 1e3),
            ("Gelem/s", "Kelem/s", 1e6),
            ("MHz", "Hz", 1e6),
            ("Gbit/s", "Mbit/s", 1e3),
            ("runs/ms", "runs/s", 1e3),
        ] {
            assert_eq!(convert_factor(from, to), Some(factor), "{from} -> {to}");
        }
    }

    #[test]
    fn units_of_two_dimensions_are_not() {
        for (from, to) in [
            ("ms", "MB"),
            ("ns", "ns/op"),
            ("MB/s", "MB"),
            ("Mb", "MB"),
            ("Mbit", "MB"),
            ("Ms", "ms"),
            ("ops/s", "req/s"),
            ("%", ""),
            ("", "ms"),
            ("Kfurlong", "furlong"),
            ("K", "M"),
            ("a/b/s", "a/b/ms"),
        ] {
            assert_eq!(convert_factor(from, to), None, "{from} -> {to}");
        }
    }

    #[test]
    fn a_conversion_is_exact_where_it_can_be() {
        let series = |values: &[f64], unit: &str| Series {
            values: values.into(),
            unit: Some(unit.into()),
            direction: Direction::Down,
        };
        let values: Vec<f64> = (1..2000).map(f64::from).collect();
        let micro: Vec<f64> = values.iter().map(|value| value * 100.0).collect();
        let exact: Vec<f64> = values.iter().map(|value| value / 10.0).collect();
        assert_eq!(
            series(&micro, "us").in_unit(Some("ms")),
            Some(series(&exact, "ms"))
        );
        let huge = series(&[1e308], "s");
        assert_eq!(huge.in_unit(Some("ns")), None);
        assert_eq!(huge.in_unit(None), None);
        assert_eq!(huge.in_unit(Some("s")), Some(huge.clone()));
        assert_eq!(Series::default().in_unit(None), Some(Series::default()));
    }

    #[cfg(feature = "results")]
    #[test]
    fn measures_are_told_from_things() {
        for unit in [
            "ms", "%", "KiB", "kb", "MB/s", "req/s", "ops/sec", "ns/iter", "Hz", "B",
        ] {
            assert!(is_measure(unit), "{unit}");
        }
        for unit in ["items", "", "k", "files", "a/b", "op", "x", "b"] {
            assert!(!is_measure(unit), "{unit}");
        }
    }

    #[test]
    fn times_and_memory_only() {
        for unit in [
            "s", "ms", "us", "µs", "μs", "ns", "sec", "Seconds", "B", "KiB", "MB", "bytes",
        ] {
            assert!(is_time_or_memory(Some(unit)), "{unit}");
        }
        for unit in [
            "", "MB/s", "ops/s", "Hz", "%", "score", "items", "1/s", "fps",
        ] {
            assert!(!is_time_or_memory(Some(unit)), "{unit}");
        }
    }
}
