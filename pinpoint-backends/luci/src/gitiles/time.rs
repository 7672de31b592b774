//! Times as Gitiles writes them.

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Converts `Mon Jan 02 15:04:05 2006 -0700`, or the same without the zone, which then is UTC, to
/// RFC 3339; `None` for another text.
pub(super) fn rfc_3339(text: &str) -> Option<String> {
    let mut words = text.split_whitespace().skip(1);
    let mut next = || words.next();
    let (month, day, time, year) = (next()?, next()?, next()?, next()?);
    let zone = match (next(), next()) {
        (None, _) => "+0000",
        (Some(zone), None) => zone,
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let number = |text: &str, most: u32| {
        let is_short = (1..=4).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
        let number: u32 = text.parse().ok().filter(|_| is_short)?;
        (number <= most).then_some(number)
    };
    let (day, year) = (number(day, 31)?, number(year, 9999)?);
    let mut parts = time.split(':');
    let mut part = |most| number(parts.next()?, most);
    let (hour, minute, second) = (part(23)?, part(59)?, part(60)?);
    let (sign, zone) = zone.split_at_checked(1)?;
    let (hours, minutes) = zone.split_at_checked(2)?;
    let is_zone = zone.len() == 4 && matches!(sign, "+" | "-");
    let (hours, minutes) = (number(hours, 23)?, number(minutes, 59)?);
    (is_zone && day > 0 && parts.next().is_none()).then(|| {
        format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{sign}{hours:02}:{minutes:02}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::rfc_3339;

    #[test]
    fn both_forms_are_read() {
        for (text, expected) in [
            (
                "Mon Jan 02 15:04:05 2006 +0000",
                "2006-01-02T15:04:05+00:00",
            ),
            ("Tue Dec 9 01:02:03 2025 -0730", "2025-12-09T01:02:03-07:30"),
            ("Mon Jan 02 15:04:05 2006", "2006-01-02T15:04:05+00:00"),
        ] {
            assert_eq!(rfc_3339(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            "Mon",
            "Mon Foo 02 15:04:05 2006",
            "Mon Jan 02 15:04 2006",
            "Mon Jan 02 15:04:05:06 2006",
            "Mon Jan 32 15:04:05 2006",
            "Mon Jan 02 25:04:05 2006",
            "Mon Jan 02 15:04:05 2006 UTC",
            "Mon Jan 02 15:04:05 2006 +00:00",
            "Mon Jan 02 15:04:05 2006 +0000 x",
            "Mon Jan é 15:04:05 2006 é000",
            "2006-01-02T15:04:05Z",
        ] {
            assert_eq!(rfc_3339(text), None, "{text}");
        }
    }
}
