//! Files of results: when they were made, and which of two is later.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// A file of results.
///
/// Sources are ordered: where two have a value of one trace at one commit, the greater one wins.
/// Time decides first ([`Source::time`]), then the path, then the modification time. So the order
/// in which files are read makes no difference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    /// Its path below the folder or bucket of results, with `/` between its parts.
    pub path: String,
    /// When it was modified last: milliseconds of Unix time.
    pub modified: i64,
}

impl Source {
    /// A file of this path and modification time (milliseconds of Unix time).
    pub fn new(path: impl Into<String>, modified: i64) -> Self {
        Self {
            path: path.into(),
            modified,
        }
    }

    /// When the results were made, in milliseconds of Unix time: the hour `YYYY/MM/DD/HH` in the
    /// path (UTC), else the modification time.
    ///
    /// ```
    /// use pinpoint_traces::Source;
    ///
    /// let source = Source::new("nano/2024/02/29/23/x86.json", 5);
    /// assert_eq!(source.time(), 1_709_247_600_000);
    /// assert_eq!(Source::new("nano/2023/02/29/23/x86.json", 5).time(), 5);
    /// ```
    pub fn time(&self) -> i64 {
        self.hour().unwrap_or(self.modified)
    }

    /// The hour in the path, in milliseconds of Unix time. The last four folders that are an hour
    /// count.
    pub fn hour(&self) -> Option<i64> {
        let parts: Vec<&str> = self.path.split('/').collect();
        parts.windows(4).rev().find_map(hour_of)
    }
}

impl Ord for Source {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.time().cmp(&other.time()))
            .then_with(|| self.path.cmp(&other.path))
            .then_with(|| self.modified.cmp(&other.modified))
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The hour of the four parts `YYYY`, `MM`, `DD` and `HH`.
fn hour_of(parts: &[&str]) -> Option<i64> {
    let [year, month, day, hour] = parts else {
        return None;
    };
    let year = number(year, 4)?;
    let month = number(month, 2).filter(|it| (1..=12).contains(it))?;
    let day = number(day, 2).filter(|it| (1..=days_of(year, month)).contains(it))?;
    let hour = number(hour, 2).filter(|it| *it < 24)?;
    Some((days_since_1970(year, month, day) * 24 + hour) * 3_600_000)
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let is_number = text.len() == digits && text.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

fn days_of(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the Gregorian calendar since 1970-01-01. Years are counted from March, so that the leap
/// day is a year's last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}
