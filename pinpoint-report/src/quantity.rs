//! Numbers and times in a readable form.

use std::borrow::Cow;
use std::time::{Duration, UNIX_EPOCH};

use crate::text::plain;

/// The longest unit that is shown whole.
const LONGEST_UNIT: usize = 24;

/// The significant digits that binary arithmetic preserves, and the most of them in a number that
/// was meant to be short.
const SOUND_DIGITS: usize = 13;
const SHORT: usize = 9;

/// The number without the noise that binary arithmetic leaves at the end of a short one:
/// 0.946 for 0.9460000000000005. Others stay as they are.
///
/// ```
/// use pinpoint_report::quantity::without_noise;
///
/// assert_eq!(without_noise(0.1 + 0.2), 0.3);
/// assert_eq!(without_noise(1.0 / 3.0), 1.0 / 3.0);
/// ```
pub fn without_noise(number: f64) -> f64 {
    let digits = |number: f64| {
        let text = format!("{number:e}");
        let mantissa = text.split('e').next().unwrap_or_default();
        mantissa.bytes().filter(u8::is_ascii_digit).count()
    };
    if !number.is_finite() || digits(number) <= SOUND_DIGITS {
        return number;
    }
    let rounded = format!("{number:.*e}", SOUND_DIGITS - 1);
    let rounded: f64 = rounded.parse().unwrap_or(number);
    match digits(rounded) <= SHORT {
        true => rounded,
        false => number,
    }
}

/// A value with its unit, in a fitting prefix: `12.34 ms`, `1.2 GiB`.
pub fn quantity(value: f64, unit: Option<&str>) -> String {
    let (scale, unit) = scale(value, unit);
    with_unit(digits(value / scale), &unit)
}

/// The prefix that fits a value: its factor, and the unit with it.
fn scale(value: f64, unit: Option<&str>) -> (f64, Cow<'_, str>) {
    let scales: &[(f64, &str)] = match unit {
        Some("s" | "sec" | "seconds") => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
        Some("bytes" | "B") => &[
            (1_073_741_824.0, "GiB"),
            (1_048_576.0, "MiB"),
            (1_024.0, "KiB"),
            (1.0, "B"),
        ],
        Some(unit) => return (1.0, short_unit(unit)),
        None => return (1.0, Cow::Borrowed("")),
    };
    let fits = scales.iter().find(|(scale, _)| value.abs() >= *scale);
    let (scale, unit) = fits.or(scales.last()).copied().unwrap_or((1.0, ""));
    (scale, Cow::Borrowed(unit))
}

fn with_unit(number: String, unit: &str) -> String {
    if unit.is_empty() {
        number
    } else {
        format!("{number} {unit}")
    }
}

/// A unit on one line, and short enough for a table.
fn short_unit(unit: &str) -> Cow<'_, str> {
    if unit.chars().count() <= LONGEST_UNIT && !unit.contains(['\n', '\t']) {
        return plain(unit);
    }
    let start: String = unit.chars().take(LONGEST_UNIT - 1).collect();
    Cow::Owned(plain(&start).replace(['\n', '\t'], "\u{fffd}") + "…")
}

/// Like [`quantity`], with a sign unless it is zero.
pub fn change(value: f64, unit: Option<&str>) -> String {
    let (scale, unit) = scale(value, unit);
    with_unit(with_sign(digits(value / scale)), &unit)
}

/// A change and its interval, all in the prefix and with the decimals that fit the largest: `+12.10
/// ms` and `[+11.40, +12.70]`.
pub fn change_and_interval(value: f64, [low, high]: [f64; 2], unit: Option<&str>) -> [String; 2] {
    let largest = value.abs().max(low.abs()).max(high.abs());
    let (scale, unit) = scale(largest, unit);
    let decimals = decimals(largest / scale);
    let number = |value: f64| match decimals {
        Some(decimals) => with_sign(format!("{:.decimals$}", value / scale)),
        None => with_sign(digits(value / scale)),
    };
    [
        with_unit(number(value), &unit),
        format!("[{}, {}]", number(low), number(high)),
    ]
}

/// A change as a part of the previous value, in percent: `+11.0 %`.
pub fn percent_change(part: f64) -> String {
    format!("{} %", with_sign(format!("{:.1}", part * 100.0)))
}

/// A number with its sign, unless it is shown as zero.
fn with_sign(number: String) -> String {
    let is_zero = !number.contains(|c: char| matches!(c, '1'..='9') || c.is_alphabetic());
    match number.strip_prefix('-') {
        Some(number) if is_zero => number.to_owned(),
        None if !is_zero => format!("+{number}"),
        _ => number,
    }
}

/// Four significant digits.
pub fn digits(value: f64) -> String {
    match decimals(value.abs()) {
        Some(decimals) => format!("{value:.decimals$}"),
        None => format!("{value:.3e}"),
    }
}

/// The decimals with which a number of this size has four digits; `None` where it is written with
/// an exponent.
fn decimals(size: f64) -> Option<usize> {
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return None;
    }
    Some(match size {
        s if s >= 1000.0 || s == 0.0 => 0,
        s if s >= 100.0 => 1,
        s if s >= 10.0 => 2,
        s if s >= 1.0 => 3,
        s if s >= 0.1 => 4,
        s if s >= 0.01 => 5,
        s if s >= 0.001 => 6,
        _ => 7,
    })
}

/// A p-value: never 0, and only with meaningful digits.
pub fn p_value(p: f64) -> String {
    if p >= 0.001 {
        format!("{p:.3}")
    } else {
        format!("{p:.1e}")
    }
}

/// A confidence in percent: `95 %`.
pub fn level(confidence: f64) -> String {
    let level = digits(confidence * 100.0);
    format!("{} %", level.trim_end_matches('0').trim_end_matches('.'))
}

/// A probability, never rounded to 0 or 100 %.
pub fn probability(probability: f64) -> String {
    match probability {
        p if p > 0.0 && p < 0.0005 => "less than 0.1 %".into(),
        p if p < 1.0 && p > 0.9995 => "more than 99.9 %".into(),
        p => format!("{:.1} %", 100.0 * p),
    }
}

/// A duration, to the second.
pub fn duration(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// `1 run`, `2 runs`.
pub fn count(number: u64, one: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {one}s")
    }
}

/// A time in RFC 3339.
pub fn date(milliseconds: i64) -> String {
    let since = Duration::from_millis(u64::try_from(milliseconds).unwrap_or_default());
    // The last second with a four-digit year.
    let since = since.min(Duration::from_secs(253_402_300_799));
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_left_out_and_nothing_else() {
        for (number, expected) in [
            (0.946_000_000_000_000_5, 0.946),
            (-4.999_999_999_999_998, -5.0),
            (3.0e-7 - 1.0e-7, 2.0e-7),
            (12_345.678_9, 12_345.678_9),
            (1.234_567_890_123_456_7, 1.234_567_890_123_456_7),
            (9_007_199_254_740_993.0, 9_007_199_254_740_993.0),
            (0.0, 0.0),
            (f64::MIN_POSITIVE, f64::MIN_POSITIVE),
            (f64::MAX, f64::MAX),
        ] {
            assert_eq!(without_noise(number), expected, "{number}");
        }
        assert!(without_noise(f64::NAN).is_nan());
        assert_eq!(without_noise(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn four_digits_in_the_prefix_that_suits() {
        for (value, unit, text) in [
            (0.0123456, Some("s"), "12.35 ms"),
            (1.5, Some("s"), "1.500 s"),
            (0.0, Some("s"), "0 ns"),
            (-0.0000025, Some("s"), "-2.500 µs"),
            (3e9, Some("bytes"), "2.794 GiB"),
            (512.0, Some("bytes"), "512.0 B"),
            (1234.5, Some("points"), "1234 points"),
            (0.25, None, "0.2500"),
            (1.5e12, None, "1.500e12"),
            (1.0, Some("a\u{1b}[2Jb"), "1.000 a\u{fffd}[2Jb"),
            (
                1.0,
                Some("0123456789012345678901234"),
                "1.000 01234567890123456789012…",
            ),
        ] {
            assert_eq!(quantity(value, unit), text);
        }
        assert_eq!(change(0.002, Some("s")), "+2.000 ms");
        assert_eq!(change(-0.002, Some("s")), "-2.000 ms");
        assert_eq!([change(0.0, Some("s")), change(-0.0, None)], ["0 ns", "0"]);
        assert_eq!(change(1e9, Some("points")), "+1.000e9 points");
    }

    #[test]
    fn a_change_and_its_interval_have_one_unit() {
        let written = |value, interval| change_and_interval(value, interval, Some("s"));
        assert_eq!(
            written(-272.2e-6, [-465.5e-6, -78.82e-6]),
            ["-272.2 µs", "[-465.5, -78.8]"]
        );
        assert_eq!(
            written(0.9e-3, [-0.000_01e-3, 1.1e-3]),
            ["+0.900 ms", "[0.000, +1.100]"]
        );
        assert_eq!(written(0.0, [0.0, 0.0]), ["0 ns", "[0, 0]"]);
        assert_eq!(
            change_and_interval(304.0, [298.0, 309.0], Some("samples")),
            ["+304.0 samples", "[+298.0, +309.0]"]
        );
        assert_eq!(
            change_and_interval(2e7, [1e7, 3e7], Some("instructions")),
            ["+2.000e7 instructions", "[+1.000e7, +3.000e7]"]
        );
    }

    #[test]
    fn a_change_that_is_shown_as_zero_has_no_sign() {
        let parts = [0.11, -0.0049, 0.0, -0.0, -0.0004, f64::INFINITY];
        assert_eq!(
            parts.map(percent_change),
            ["+11.0 %", "-0.5 %", "0.0 %", "0.0 %", "0.0 %", "+inf %"]
        );
    }

    #[test]
    fn durations_lose_what_does_not_matter() {
        assert_eq!(duration(1.25), "1.2 s");
        assert_eq!(duration(61.0), "1 min 1 s");
        assert_eq!(duration(7_300.0), "2 h 1 min");
    }
}
