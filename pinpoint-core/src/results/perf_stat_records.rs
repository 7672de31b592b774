//! The output of `perf stat -x` and `perf stat -j`: a record for each event, for programs.
//!
//! ```text
//! 1.38,msec,task-clock,1383392,100.00,0.013,CPUs utilized
//! <not supported>,,cycles,0,100.00,,
//! {"counter-value" : "1.003281", "unit" : "msec", "event" : "task-clock", "event-runtime" : 1003281, …}
//!      0.050099036,0.87,msec,task-clock,866095,100.00,0.017,CPUs utilized
//! CPU0,105.64,msec,cpu-clock,105639337,100.00,1.016,CPUs utilized
//! {"interval" : 0.050130365, "counter-value" : "0.917771", …}
//! {"cpu" : "0", "counter-value" : "116.062274", …}
//! ```
//!
//! The separator is the user's. With `-r`, the deviation stands before the time for which the event
//! was counted. One chart for each event, and for each part of the machine (`-A`), `CPU0
//! cpu-clock`; the derived figures are not read. The elapsed time is only among them with `-I`,
//! whose parts of the time are added up.
//!
//! Source: perf-stat(1), "CSV FORMAT" and "JSON FORMAT". Checked with perf 6.1.

use std::borrow::Cow;

use serde::Deserialize;

use super::charts::Charts;
use super::number::{self, Number};
use super::perf_stat::{NOT_COUNTED, NOT_SUPPORTED, OTHER_LOCALE, direction, name_headline};
use super::perf_stat_intervals::{self, Intervals, Part, seconds, split_place};
use super::text::{column_of, lines_with_ends, shown};
use super::{OutputPosition, ReadError, Reading};

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut intervals = Intervals::default();
    for (index, line, _) in lines_with_ends(text) {
        let Some(record) = record(line) else {
            let is_begun = line.starts_with('{') && line.contains(COUNTER);
            if is_begun {
                charts.doubts(index);
            }
            continue;
        };
        charts.knows(index);
        let unit = match &*record.unit {
            "" => None,
            "msec" => Some("ms"),
            unit => Some(unit),
        };
        let value = number::number(&record.value);
        if let Some(time) = record.interval {
            let part = match value {
                _ if record.value == NOT_COUNTED => Part::NotCounted,
                _ if record.value == NOT_SUPPORTED => Part::NotSupported,
                Some(Number::Finite(value)) => Part::Counted(value),
                Some(Number::NotFinite) => Part::NotFinite,
                None => Part::OtherLocale,
            };
            let event = (record.place.as_deref(), &*record.event);
            intervals.add(time, event, unit, part, index);
            continue;
        }
        let event = &*perf_stat_intervals::chart(record.place.as_deref(), &record.event);
        let better = direction(&record.event, unit);
        match value {
            _ if record.value.starts_with('<') => {
                charts.fail(event, format!("perf says `{}`", record.value));
            }
            Some(Number::Finite(value)) => {
                charts.add_once(event, vec![value], unit, better, || OutputPosition::Text {
                    line: index + 1,
                    column: column_of(line, line.trim_start()),
                });
            }
            Some(Number::NotFinite) => charts.fail(event, "its value is not a number"),
            None => charts.fail(event, OTHER_LOCALE),
        }
    }
    intervals.finish(&mut charts);
    name_headline(&mut charts);
    charts.finish("a record of an event, as of `perf stat -x` or `-j`")
}

pub(super) fn recognize(text: &str) -> bool {
    text.lines().any(|line| record(shown(line)).is_some())
}

/// The member of a record that no other tool writes.
const COUNTER: &str = "\"counter-value\"";

/// An event as perf counted it.
struct Record<'a> {
    /// The number, or `<not counted>`.
    value: Cow<'a, str>,
    unit: Cow<'a, str>,
    event: Cow<'a, str>,
    /// The end of the part of the time, in seconds.
    interval: Option<f64>,
    /// The part of the machine.
    place: Option<Cow<'a, str>>,
}

fn record(line: &str) -> Option<Record<'_>> {
    let line = line.trim();
    if line.starts_with('{') {
        return json(line);
    }
    separated(line)
}

fn json(line: &str) -> Option<Record<'_>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Members<'a> {
        #[serde(borrow)]
        counter_value: Cow<'a, str>,
        #[serde(borrow)]
        unit: Cow<'a, str>,
        #[serde(borrow)]
        event: Cow<'a, str>,
        interval: Option<f64>,
        #[serde(borrow)]
        cpu: Option<Cow<'a, str>>,
        #[serde(borrow, alias = "die", alias = "core", alias = "node")]
        socket: Option<Cow<'a, str>>,
    }
    // Most lines of other outputs are skipped without parsing.
    if !line.contains(COUNTER) {
        return None;
    }
    let members: Members = serde_json::from_str(line).ok()?;
    Some(Record {
        value: members.counter_value,
        unit: members.unit,
        event: members.event,
        interval: members.interval,
        place: match members.cpu {
            Some(cpu) => Some(format!("CPU{cpu}").into()),
            None => members.socket,
        },
    })
}

/// A record with a character between its fields that is in none of them.
fn separated(line: &str) -> Option<Record<'_>> {
    // A value, a time or a part of the machine. Most lines of other outputs are skipped here.
    if !line.starts_with(|it: char| it.is_ascii_digit() || matches!(it, '<' | 'C' | 'S' | 'N')) {
        return None;
    }
    let end = match line.strip_prefix('<') {
        Some(rest) if rest.starts_with("not ") => 2 + rest.find('>')?,
        _ => line.find(|it: char| !it.is_ascii_alphanumeric() && !matches!(it, '.' | '-'))?,
    };
    let separator = line[end..].chars().next()?;
    if end == 0 || separator.is_alphanumeric() {
        return None;
    }
    // A number of another language has a comma, which a semicolon follows.
    let separator = match line[end..].find(';') {
        Some(at) if separator == ',' && at < MOST_DECIMALS => ';',
        _ => separator,
    };
    if let Some(record) = of_fields(line, separator) {
        return Some(record);
    }
    let time = line.split_once(separator);
    let time = time.and_then(|(time, rest)| Some((seconds(time)?, rest)));
    let (place, rest) = split_place(time.map_or(line, |(_, rest)| rest), |it| it == separator);
    let record = of_fields(rest, separator)?;
    Some(Record {
        interval: time.map(|(time, _)| time),
        place: place.map(Into::into),
        ..record
    })
}

/// The most characters of a number after its whole part.
const MOST_DECIMALS: usize = 11;

/// A record for all of the machine and of the time.
fn of_fields(line: &str, separator: char) -> Option<Record<'_>> {
    let fields: Vec<&str> = line.splitn(8, separator).collect();
    let [value, unit, event, rest @ ..] = &fields[..] else {
        return None;
    };
    let is_value = value.starts_with("<not ") || value.starts_with(|it: char| it.is_ascii_digit());
    let rest = match rest {
        [deviation, rest @ ..] if deviation.ends_with('%') => rest,
        rest => rest,
    };
    let [time, share, ..] = rest else {
        return None;
    };
    let is_time = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
    let is_share = share
        .split_once(['.', ','])
        .is_some_and(|(whole, hundredths)| {
            let is_whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            (1..=3).contains(&whole.len())
                && is_whole(whole)
                && hundredths.len() == 2
                && is_whole(hundredths)
        });
    let is_event = event.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_unit = unit.chars().all(char::is_alphabetic);
    (is_value && is_time && is_share && is_event && is_unit).then_some(Record {
        value: (*value).into(),
        unit: (*unit).into(),
        event: (*event).into(),
        interval: None,
        place: None,
    })
}
