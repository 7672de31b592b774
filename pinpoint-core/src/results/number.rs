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
    if ["nan", "inf", "infinity"]
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

/// A number as it is printed for people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Printed {
    /// It can be read in one way only.
    Sure(Number),
    /// With a decimal comma; or two whole numbers of a list, `2,3`.
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

/// The number that a word begins with, and what follows it: `12.5ms` in two.
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
