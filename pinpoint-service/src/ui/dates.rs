//! Times, as people read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use maud::{Markup, html};
use pinpoint_core::api::Timestamp;
use tonic::Status;

use crate::api::grpc::errors;
use crate::api::query::{DAY, day};

/// The age of a time, by the clock of the service; the time itself is a title.
pub(super) fn ago(time: Option<&Timestamp>) -> Markup {
    let Some(then) = time.and_then(system_time) else {
        return html! {};
    };
    let whole = humantime::format_rfc3339_seconds(then).to_string();
    let shown = whole.replace('T', " ").replace('Z', " UTC");
    let passed = SystemTime::now().duration_since(then).unwrap_or_default();
    html! { time datetime=(whole) title=(shown) { (age(passed)) } }
}

/// The age of a time at another, as [`ago`] says it; both in milliseconds since 1970.
pub(super) fn ago_at(then: i64, now: i64) -> String {
    let passed = u64::try_from(now.saturating_sub(then)).unwrap_or_default();
    age(Duration::from_millis(passed))
}

/// The time itself, with its zone.
pub(super) fn at(time: Option<&Timestamp>) -> Markup {
    let Some(then) = time.and_then(system_time) else {
        return html! {};
    };
    let whole = humantime::format_rfc3339_seconds(then).to_string();
    html! { time datetime=(whole) { (whole.replace('T', " ").replace('Z', " UTC")) } }
}

/// Milliseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

/// The beginning of the first day of a filter, and the end of its last one.
pub(super) fn days(from: &str, to: &str) -> Result<(Option<Timestamp>, Option<Timestamp>), Status> {
    let time = |name: &str, text: &str, days: i64| match text {
        "" => Ok(None),
        text => {
            let problem = || errors::field(name, "enter the day as YYYY-MM-DD");
            let day = day(text).ok_or_else(problem)?;
            Ok::<_, Status>(Timestamp::of_milliseconds(day + days * DAY))
        }
    };
    let (since, until) = (time("from", from, 0)?, time("to", to, 1)?);
    if let (Some(since), Some(until)) = (&since, &until)
        && since.seconds >= until.seconds
    {
        return Err(Status::invalid_argument(
            "“From” must not be later than “To”",
        ));
    }
    Ok((since, until))
}

fn system_time(time: &Timestamp) -> Option<SystemTime> {
    let seconds = u64::try_from(time.seconds).ok()?;
    let since = Duration::new(seconds, u32::try_from(time.nanos).ok()?);
    UNIX_EPOCH.checked_add(since)
}

fn age(passed: Duration) -> String {
    let seconds = passed.as_secs();
    let ago = |number: u64, unit: &str| match number {
        1 => format!("1 {unit} ago"),
        number => format!("{number} {unit}s ago"),
    };
    match seconds {
        0..60 => "just now".to_owned(),
        60..3600 => ago(seconds / 60, "minute"),
        3600..86_400 => ago(seconds / 3600, "hour"),
        86_400..2_592_000 => ago(seconds / 86_400, "day"),
        2_592_000..31_536_000 => ago(seconds / 2_592_000, "month"),
        _ => ago(seconds / 31_536_000, "year"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        for (seconds, text) in [
            (0, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (7199, "1 hour ago"),
            (7200, "2 hours ago"),
            (90_000, "1 day ago"),
            (2_592_000, "1 month ago"),
            (40_000_000, "1 year ago"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn a_time_has_its_zone() {
        let time = Timestamp::of_milliseconds(1_700_000_000_000);
        let text = at(time.as_ref()).into_string();
        assert!(text.contains("2023-11-14 22:13:20 UTC"), "{text}");
        assert_eq!(at(None).into_string(), "");
    }
}
