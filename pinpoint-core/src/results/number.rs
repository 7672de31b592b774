//! Decimal numbers in text.

/// A word that represents a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    /// An amount.
    Finite(f64),
    /// NaN, an infinity, or digits that amount to one.
    NotFinite,
}

/// Reads a decimal number: digits with an optional sign, point and exponent.
pub(super) fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.starts_with(['n', 'N', 'i', 'I'])
        && ["nan", "inf", "infinity"]
            .iter()
            .any(|name| unsigned.eq_ignore_ascii_case(name))
    {
        return Some(Number::NotFinite);
    }
    // The standard library takes exactly the decimal numbers beyond those names.
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Some(Number::Finite(value)),
        Ok(_) => Some(Number::NotFinite),
        Err(_) => None,
    }
}

/// Reads a number of a tool that separates thousands with commas, and nothing else: `1,234.5`. In
/// `1,23` a digit is missing, or it is the decimal comma of another language.
pub(super) fn with_thousands(text: &str) -> Option<Number> {
    if !text.contains(',') {
        return number(text);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = unsigned.split('.').next().unwrap_or_default();
    let is_sound = is_grouped(whole, ',') && !unsigned[whole.len()..].contains(',');
    is_sound.then(|| number(&text.replace(',', ""))).flatten()
}

/// A number as it is printed for people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Printed {
    /// A number that can be read in one way only.
    Sure(Number),
    /// A number with a decimal comma, or two whole numbers of a list, `2,3`.
    DecimalOrList(f64),
    /// `1,234` is 1234 where the comma separates thousands, and else 1.234.
    Ambiguous,
}

/// Reads a number with separators of thousands and a decimal point or comma: `10,052.10`,
/// `10.052,10`, `1'000`, `0,5`.
pub(super) fn printed(text: &str) -> Option<Printed> {
    if let Some(number) = number(text) {
        return Some(Printed::Sure(number));
    }
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let unsigned = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    if !is_digit(unsigned.as_bytes().first()) || !is_digit(unsigned.as_bytes().last()) {
        return None;
    }
    let plain = |whole: &str, decimals: &str| {
        let sign = &mantissa[..mantissa.len() - unsigned.len()];
        let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
        number(&format!("{sign}{digits}.{decimals}{exponent}"))
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(separator) = ['\'', '_']
        .into_iter()
        .find(|separator| unsigned.contains(*separator))
    {
        let (whole, decimals) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        let sound = is_grouped(whole, separator) && is_digits(decimals);
        return (sound.then(|| plain(whole, decimals)).flatten()).map(Printed::Sure);
    }
    // The separator that comes last is the decimal one, if there are two.
    let (last, other) = match (unsigned.rfind(','), unsigned.rfind('.')) {
        (Some(comma), Some(point)) if comma > point => (',', Some('.')),
        (Some(_), Some(_)) => ('.', Some(',')),
        (Some(_), None) => (',', None),
        _ => return None,
    };
    let (whole, decimals) = unsigned.rsplit_once(last)?;
    match other {
        Some(thousands) => (is_grouped(whole, thousands) && is_digits(decimals))
            .then(|| plain(whole, decimals))
            .flatten()
            .map(Printed::Sure),
        None if whole.contains(last) => is_grouped(unsigned, last)
            .then(|| plain(unsigned, "0"))
            .flatten()
            .map(Printed::Sure),
        None if !is_digits(whole) || !is_digits(decimals) => None,
        None if is_grouped(unsigned, last) => Some(Printed::Ambiguous),
        None => match plain(whole, decimals)? {
            Number::Finite(value) => Some(Printed::DecimalOrList(value)),
            Number::NotFinite => Some(Printed::Sure(Number::NotFinite)),
        },
    }
}

/// The meaning of the commas in a number that can be read.
pub(super) fn comma(text: &str) -> Option<Comma> {
    let comma = text.find(',')?;
    Some(match printed(text)? {
        Printed::DecimalOrList(_) => Comma::Decimal,
        Printed::Sure(_) if text.find('.').is_some_and(|point| point < comma) => Comma::Decimal,
        Printed::Sure(_) => Comma::Thousands,
        Printed::Ambiguous => return None,
    })
}

/// The meaning of the commas of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Comma {
    Decimal,
    Thousands,
}

/// The seconds of a duration in several units, the larger first: `1m30.5s`, `1h2m`.
pub(super) fn duration(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 7] = [
        ("d", 86400.0),
        ("h", 3600.0),
        ("m", 60.0),
        ("s", 1.0),
        ("ms", 1e-3),
        ("us", 1e-6),
        ("ns", 1e-9),
    ];
    let mut rest = text;
    let mut seconds = 0.0;
    let mut parts = 0;
    let mut units = UNITS.iter();
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !(it.is_ascii_digit() || it == '.'))?;
        let (number, after) = rest.split_at(digits);
        let letters = after
            .find(|it: char| it.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let unit = match unit {
            "min" => "m",
            "µs" | "μs" => "us",
            unit => unit,
        };
        // Each unit is smaller than the one before, and only the last has decimals.
        let (_, scale) = units.find(|(name, _)| *name == unit)?;
        if number.contains('.') && !after.is_empty() {
            return None;
        }
        seconds += number.parse::<f64>().ok()? * scale;
        parts += 1;
        rest = after;
    }
    (parts > 1).then_some(seconds)
}

/// Returns true for hours, minutes and seconds, or the last two, as in `00:01:23.45`.
pub(super) fn is_clock(text: &str) -> bool {
    if !text.contains(':') {
        return false;
    }
    let parts: Vec<&str> = text.split(':').collect();
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let Some((seconds, before)) = parts.split_last() else {
        return false;
    };
    let (seconds, decimals) = seconds.split_once(['.', ',']).unwrap_or((seconds, "0"));
    (1..=2).contains(&before.len())
        && before.iter().all(|part| is_digits(part) && part.len() <= 3)
        && seconds.len() == 2
        && is_digits(seconds)
        && is_digits(decimals)
}

/// One to three digits, not beginning with 0, and then groups of three.
fn is_grouped(whole: &str, separator: char) -> bool {
    let mut groups = whole.split(separator);
    let first = groups.next().unwrap_or_default();
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&first.len())
        && is_digits(first)
        && !first.starts_with('0')
        && groups.all(|group| group.len() == 3 && is_digits(group))
}

/// The number at the beginning of a word, and the rest: `12.5ms` in two.
pub(super) fn split_unit(word: &str) -> Option<(&str, &str)> {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let end = unsigned.find(|letter: char| {
        !(letter.is_ascii_digit() || matches!(letter, '.' | ',' | '\'' | '_'))
    })?;
    let end = word.len() - unsigned.len() + end;
    // 5e3ms, and not the e of 5eggs.
    let exponent = word[end..].strip_prefix(['e', 'E']).map_or(0, |rest| {
        let signed = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let digits = signed.bytes().take_while(u8::is_ascii_digit).count();
        match digits {
            0 => 0,
            digits => 1 + rest.len() - signed.len() + digits,
        }
    });
    let (number, unit) = word.split_at(end + exponent);
    (number.bytes().any(|byte| byte.is_ascii_digit()) && !unit.is_empty()).then_some((number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people_are_read_where_they_are_clear() {
        let sure = |value| Some(Printed::Sure(Number::Finite(value)));
        for (text, expected) in [
            ("12.5", sure(12.5)),
            ("1.234", sure(1.234)),
            ("10,052.10", sure(10052.1)),
            ("-1,234,567", sure(-1_234_567.0)),
            ("1,234,567.5e-3", sure(1234.5675)),
            ("10.052,10", sure(10052.1)),
            ("1.234.567,8", sure(1_234_567.8)),
            ("1'234.5", sure(1234.5)),
            ("1_000_000", sure(1e6)),
            ("12,5", Some(Printed::DecimalOrList(12.5))),
            ("0,123", Some(Printed::DecimalOrList(0.123))),
            ("1234,567", Some(Printed::DecimalOrList(1234.567))),
            ("+1,5e3", Some(Printed::DecimalOrList(1500.0))),
            ("1,234", Some(Printed::Ambiguous)),
            ("-100,000", Some(Printed::Ambiguous)),
            ("1e999", Some(Printed::Sure(Number::NotFinite))),
            ("1,5e999", Some(Printed::Sure(Number::NotFinite))),
            ("1.2.3", None),
            ("1.234.567", None),
            ("1,2,3", None),
            ("1,23,456", None),
            ("1,234.567.8", None),
            ("12,", None),
            (",5", None),
            ("1,,2", None),
            ("2026-11-26", None),
            ("0,123,456", None),
            ("1'2", None),
            ("", None),
            ("-", None),
            ("e5", None),
        ] {
            assert_eq!(printed(text), expected, "{text}");
        }
    }

    #[test]
    fn durations_of_several_units_are_read() {
        for (text, seconds) in [
            ("1m30.5s", Some(90.5)),
            ("1h0m0s", Some(3600.0)),
            ("0m0.25s", Some(0.25)),
            ("2min5s", Some(125.0)),
            ("1d2h", Some(93600.0)),
            ("12.5s", None),
            ("5m", None),
            ("1.5m30s", None),
            ("30s1m", None),
            ("1m1m", None),
            ("1m30", None),
            ("m30s", None),
            ("1x2s", None),
            ("", None),
        ] {
            assert_eq!(duration(text), seconds, "{text}");
        }
        for (text, expected) in [
            ("00:01:23.45", true),
            ("1:23.45", true),
            ("12:30:45", true),
            ("12:5", false),
            ("a:23", false),
            ("1:2:3:04", false),
            ("8080", false),
            ("::", false),
        ] {
            assert_eq!(is_clock(text), expected, "{text}");
        }
    }

    #[test]
    fn commas_between_thousands_are_where_they_belong() {
        for (text, value) in [
            ("1,234,567.5", Some(1_234_567.5)),
            ("-1,234", Some(-1234.0)),
            ("12.5", Some(12.5)),
            ("1,23", None),
            ("1,234,56", None),
            ("0,123", None),
            ("1.5,000", None),
            ("1,2345", None),
        ] {
            let expected = value.map(Number::Finite);
            assert_eq!(with_thousands(text), expected, "{text}");
        }
        assert_eq!(with_thousands("NaN"), Some(Number::NotFinite));
    }

    #[test]
    fn a_unit_may_touch_its_number() {
        for (word, parts) in [
            ("12.5ms", Some(("12.5", "ms"))),
            ("-1,234.5µs", Some(("-1,234.5", "µs"))),
            ("5e3ms", Some(("5e3", "ms"))),
            ("5e-3s", Some(("5e-3", "s"))),
            ("95%", Some(("95", "%"))),
            ("5eggs", Some(("5", "eggs"))),
            ("12.5", None),
            ("ms", None),
            (".ms", None),
        ] {
            assert_eq!(split_unit(word), parts, "{word}");
        }
    }
}
