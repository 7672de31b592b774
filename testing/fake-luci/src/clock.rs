//! The time of the services.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Time that runs with that of `tokio`, perhaps faster.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    began: u64,
    instant: Instant,
    speed: u64,
    /// The times of both clocks since which this one runs as fast as everybody else's.
    unhurried_since: OnceLock<(u64, u64)>,
}

impl Clock {
    pub(crate) fn new(speed: u64) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            began: since.map_or(0, |since| since.as_millis() as u64),
            instant: Instant::now(),
            speed,
            unhurried_since: OnceLock::new(),
        }
    }

    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        match self.unhurried_since.get() {
            Some((now, unhurried)) => now + (self.unhurried() - unhurried),
            None => self.began + self.unhurried() * self.speed,
        }
    }

    /// From this time on it runs as fast as everybody else's.
    pub(crate) fn slow_down_at(&self, now: u64) {
        self.unhurried_since.get_or_init(|| (now, self.unhurried()));
    }

    /// Milliseconds since it began, as everybody else counts them.
    pub(crate) fn unhurried(&self) -> u64 {
        self.instant.elapsed().as_millis() as u64
    }
}

/// A time as protobuf's JSON writes it.
pub(crate) fn timestamp(milliseconds: u64) -> String {
    let (days, rest) = (milliseconds / 86_400_000, milliseconds % 86_400_000);
    let mut year = 1970;
    let mut left = days;
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    while left >= 365 + u64::from(is_leap(year)) {
        left -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [
        31,
        28 + u64::from(is_leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    let (seconds, milliseconds) = (rest / 1000, rest % 1000);
    format!(
        "{year:04}-{month:02}-{:02}T{:02}:{:02}:{:02}.{milliseconds:03}Z",
        left + 1,
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}
