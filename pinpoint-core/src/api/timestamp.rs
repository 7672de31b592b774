//! A timestamp, with the JSON form that protobuf gives it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// A timestamp: `google.protobuf.Timestamp`.
///
/// Its text and its JSON are RFC 3339 in UTC, with as many digits of the second
/// as it takes of 0, 3, 6 or 9. Any offset is read.
///
/// ```
/// use pinpoint_core::api::Timestamp;
///
/// let moment: Timestamp = "2024-02-29T12:00:00.5+01:00".parse()?;
/// assert_eq!(moment.seconds, 1_709_204_400);
/// assert_eq!(moment.to_string(), "2024-02-29T11:00:00.500Z");
/// # Ok::<(), pinpoint_core::api::TimestampError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Message)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds that follow, also where the seconds are negative.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// The first second of the year 1 and the last of the year 9999: the range that
/// [protobuf](https://protobuf.dev/reference/protobuf/google.protobuf/#timestamp) allows.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// The text is not a valid timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a time of the years 1 to 9999; write it as RFC 3339 does, like 2024-02-29T12:00:00Z"
)]
pub struct TimestampError(String);

impl Timestamp {
    /// The time this many milliseconds after the beginning of 1970; `None` beyond the years of a
    /// timestamp.
    pub fn of_milliseconds(milliseconds: i64) -> Option<Self> {
        let nanos = milliseconds.rem_euclid(1000) * 1_000_000;
        let time = Self {
            seconds: milliseconds.div_euclid(1000),
            nanos: i32::try_from(nanos).ok()?,
        };
        time.is_valid().then_some(time)
    }

    fn is_valid(&self) -> bool {
        SECONDS.contains(&self.seconds) && (0..1_000_000_000).contains(&self.nanos)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        // Other texts are accepted, too; RFC 3339 requires a time and an offset.
        let has_time = text.len() > "2024-02-29T".len();
        let offset = text.len().checked_sub("+00:00".len());
        let has_offset = text.ends_with(['Z', 'z'])
            || offset.is_some_and(|at| matches!(text.as_bytes()[at], b'+' | b'-'));
        match text.parse::<prost_types::Timestamp>() {
            Ok(read) if has_time && has_offset => Some(Self {
                seconds: read.seconds,
                nanos: read.nanos,
            }),
            _ => None,
        }
        .filter(Self::is_valid)
        .ok_or_else(|| TimestampError(text.into()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        prost_types::Timestamp {
            seconds: self.seconds,
            nanos: self.nanos,
        }
        .fmt(formatter)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_valid() {
            let Self { seconds, nanos } = self;
            return Err(ser::Error::custom(format!(
                "{seconds} seconds and {nanos} nanoseconds are not a time of the years 1 to 9999"
            )));
        }
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_proto3_mapping_writes_and_reads_it() {
        for (text, seconds, nanos, written) in [
            ("1970-01-01T00:00:00Z", 0, 0, None),
            // The example of protobuf's documentation.
            ("1972-01-01T10:00:20.021Z", 63_108_020, 21_000_000, None),
            (
                "1969-12-31T23:59:59.000000001Z",
                -1,
                1,
                Some("1969-12-31T23:59:59.000000001Z"),
            ),
            (
                "2024-02-29T23:59:59.5-08:00",
                1_709_279_999,
                500_000_000,
                Some("2024-03-01T07:59:59.500Z"),
            ),
            ("0001-01-01T00:00:00Z", *SECONDS.start(), 0, None),
            (
                "9999-12-31T23:59:59.999999999Z",
                *SECONDS.end(),
                999_999_999,
                None,
            ),
        ] {
            let moment = Timestamp { seconds, nanos };
            assert_eq!(text.parse(), Ok(moment), "{text}");
            let json = format!("\"{}\"", written.unwrap_or(text));
            assert_eq!(serde_json::to_string(&moment).unwrap(), json);
            assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), moment);
        }
    }

    #[test]
    fn what_is_no_moment_is_refused_both_ways() {
        for text in [
            "",
            "today",
            "2024-02-30T00:00:00Z",
            "2024-02-29",
            "2024-02-29T",
            "2024-02-29T12:00:00",
            "10000-01-01T00:00:00Z",
            "0000-12-31T00:00:00Z",
            "2024-02-29T12:00:00Z and more",
        ] {
            let refused = text.parse::<Timestamp>();
            assert!(refused.is_err(), "{text}: {refused:?}");
        }
        for (seconds, nanos) in [
            (*SECONDS.end() + 1, 0),
            (0, -1),
            (0, 1_000_000_000),
            (i64::MIN, 0),
        ] {
            assert!(serde_json::to_string(&Timestamp { seconds, nanos }).is_err());
        }
    }
}
