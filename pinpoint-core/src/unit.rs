//! The direction in which a unit improves.

use crate::Direction;

/// The direction of improvement: as the format `said`, or else by the unit. Less time and
/// memory is nearly always better; of rates (`MB/s`) and anything else nothing
/// is known.
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

/// Whether a unit is one of memory.
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
    TIMES.contains(&plain(unit).as_str()) || is_memory(unit)
}

fn plain(unit: Option<&str>) -> String {
    let unit = unit.unwrap_or_default().trim().to_lowercase();
    // The micro sign and the Greek letter look alike, and both are in use.
    unit.replace(['µ', 'μ'], "u")
}

const TIMES: [&str; 25] = [
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
    "minutes",
    "h",
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

#[cfg(test)]
mod tests {
    use super::*;

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
