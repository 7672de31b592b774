//! The parts of protobuf's JSON that serde does not know.

/// 64-bit numbers: written as text, read as text or number.
pub mod int64 {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes a number as text.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    /// Reads a number, or a text that is one.
    ///
    /// # Errors
    ///
    /// When it is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Number {
            Number(i64),
            Text(String),
        }
        match Number::deserialize(deserializer)? {
            Number::Number(number) => Ok(number),
            Number::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

/// Milliseconds since 1970 for a time as protobuf's JSON writes it (RFC 3339, in UTC); `None` for
/// another text, and for a time before 1970.
pub fn unix_milliseconds(text: &str) -> Option<u64> {
    let text = text
        .strip_suffix('Z')
        .or_else(|| text.strip_suffix("+00:00"))?;
    let (date, time) = text.split_once('T')?;
    let number = |text: &str| -> Option<i64> {
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_digits)
    };
    let mut date = date.split('-').map(number);
    let mut date = || date.next().flatten();
    let (year, month, day) = (date()?, date()?, date()?);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.split(':').map(number);
    let mut time = || time.next().flatten();
    let (hour, minute, second) = (time()?, time()?, time()?);
    let is_month = (1970..=9999).contains(&year) && (1..=12).contains(&month);
    // There are no leap seconds in these times.
    let is_time = hour < 24 && minute < 60 && second < 60;
    let is_date = is_month && (1..=days_of(year, month)).contains(&day);
    number(fraction).filter(|_| is_date && is_time)?;
    let milliseconds: String = fraction.chars().chain("000".chars()).take(3).collect();
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds as u64 * 1000 + milliseconds.parse::<u64>().ok()?)
}

/// The time as protobuf's JSON writes it.
pub fn timestamp(unix_milliseconds: u64) -> String {
    let (seconds, milliseconds) = (unix_milliseconds / 1000, unix_milliseconds % 1000);
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    // The civil date of a day: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

/// The days of a month.
fn days_of(year: i64, month: i64) -> i64 {
    let (next_year, next_month) = match month {
        12 => (year + 1, 1),
        _ => (year, month + 1),
    };
    days(next_year, next_month, 1) - days(year, month, 1)
}

/// Days since 1970: the inverse of the algorithm above.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Message {
        #[serde(with = "int64")]
        id: i64,
    }

    #[test]
    fn long_numbers_are_texts() {
        let message = Message { id: i64::MAX };
        let json = serde_json::to_string(&message).unwrap();
        assert_eq!(json, r#"{"id":"9223372036854775807"}"#);
        for (json, id) in [(json.as_str(), i64::MAX), (r#"{"id": 7}"#, 7)] {
            assert_eq!(
                serde_json::from_str::<Message>(json).unwrap(),
                Message { id }
            );
        }
        assert!(serde_json::from_str::<Message>(r#"{"id": "x"}"#).is_err());
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("1999-12-31T23:59:59Z", 946_684_799),
            ("2023-11-14T22:13:20.5Z", 1_700_000_000),
            ("2023-11-14T22:13:20.123456789+00:00", 1_700_000_000),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
        ] {
            assert_eq!(
                unix_milliseconds(text).map(|it| it / 1000),
                Some(seconds),
                "{text}"
            );
        }
        assert_eq!(
            unix_milliseconds("2023-11-14T22:13:20.5Z"),
            Some(1_700_000_000_500)
        );
        for text in [
            "",
            "now",
            "2023-11-14",
            "2023-11-14T22:13:20",
            "2023-13-14T22:13:20Z",
            "1969-12-31T23:59:59Z",
            "2023-02-29T00:00:00Z",
            "2024-04-31T00:00:00Z",
            "2023-12-32T00:00:00Z",
            "2023-12-00T00:00:00Z",
            "2023-11-14T22:13:60Z",
            "2023-11-14T22:13Z",
            "2023-11-14T22:13:20.Z",
            "-1-1-1T1:1:1Z",
        ] {
            assert_eq!(unix_milliseconds(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_time_that_was_written_is_read(time in 0_u64..253_402_300_800_000) {
            prop_assert_eq!(unix_milliseconds(&timestamp(time)), Some(time));
        }
    }
}
