//! The section `[limits]`: the limits of users and addresses.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use pinpoint_backends::store::Quota;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::error::{ConfigError, NO_TIME};
use crate::auth::users::user_name;

/// A limit; [`Limit::NONE`] is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(Option<NonZeroU32>);

impl Limit {
    /// No limit, in a configuration `"none"`.
    pub const NONE: Self = Self(None);

    /// A limit of this many; none for 0.
    pub const fn new(most: u32) -> Self {
        Self(NonZeroU32::new(most))
    }

    /// The number; absent without a limit.
    pub fn get(self) -> Option<NonZeroU32> {
        self.0
    }

    fn number(self) -> Option<u32> {
        self.0.map(NonZeroU32::get)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(i64),
            Text(String),
        }
        match Written::deserialize(reader) {
            Ok(Written::Text(text)) if text == "none" => Ok(Self::NONE),
            Ok(Written::Number(number)) if (1..=i64::from(u32::MAX)).contains(&number) => {
                Ok(Self::new(u32::try_from(number).unwrap_or(u32::MAX)))
            }
            _ => Err(D::Error::custom(
                "a limit is a positive integer, or \"none\"; a user without a role may do nothing",
            )),
        }
    }
}

/// The limits of all, and the exceptions of some users.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Requests a minute from an address, of all users together.
    pub address_requests_a_minute: Limit,
    /// Requests a minute of a user.
    pub requests_a_minute: Limit,
    /// Jobs that a user makes within an hour.
    pub jobs_an_hour: Limit,
    /// Jobs of a user that have not ended.
    pub jobs_under_way: Limit,
    /// Runs for jobs of a user within a day.
    pub runs_a_day: Limit,
    /// Streams that a user has open at a process.
    pub streams: Limit,
    /// The longest that a request may take to arrive and its answer to begin.
    #[serde(with = "super::seconds")]
    pub deadline: Duration,
    /// The longest that the headers of a request may take, and a connection without any.
    #[serde(with = "super::seconds")]
    pub headers: Duration,
    /// The longest that a client may take for 16 KiB of an answer, or for the rest of it.
    #[serde(with = "super::seconds")]
    pub sending: Duration,
    /// MiB of requests that have arrived before the rest of them, or before their answers, of
    /// all clients together.
    pub requests_mib: Limit,
    /// MiB of answers that wait for clients to take them, of all clients together.
    pub answers_mib: Limit,
    /// Connections that are open at once. Where one more comes, the one that was silent the
    /// longest is closed.
    pub connections: Limit,
    /// Users with other limits, by name (see [`crate::user_name`]).
    #[serde(deserialize_with = "by_name")]
    pub users: BTreeMap<String, OwnLimits>,
}

fn by_name<'de, D>(reader: D) -> Result<BTreeMap<String, OwnLimits>, D::Error>
where
    D: Deserializer<'de>,
{
    let mut users = BTreeMap::new();
    for (text, limits) in BTreeMap::<String, OwnLimits>::deserialize(reader)? {
        let name = user_name(&text);
        let name = name.ok_or_else(|| D::Error::custom(format_args!("{text:?} names no user")))?;
        if users.insert(name, limits).is_some() {
            return Err(D::Error::custom(format_args!(
                "the user {text:?} is there twice"
            )));
        }
    }
    Ok(users)
}

/// The limits of a user where they are not those of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OwnLimits {
    /// [`LimitsConfig::requests_a_minute`].
    pub requests_a_minute: Option<Limit>,
    /// [`LimitsConfig::jobs_an_hour`].
    pub jobs_an_hour: Option<Limit>,
    /// [`LimitsConfig::jobs_under_way`].
    pub jobs_under_way: Option<Limit>,
    /// [`LimitsConfig::runs_a_day`].
    pub runs_a_day: Option<Limit>,
    /// [`LimitsConfig::streams`].
    pub streams: Option<Limit>,
}

impl Default for LimitsConfig {
    /// Enough for people and for a program that asks once a second for ten jobs.
    fn default() -> Self {
        Self {
            address_requests_a_minute: Limit::new(1200),
            requests_a_minute: Limit::new(600),
            jobs_an_hour: Limit::new(60),
            jobs_under_way: Limit::new(20),
            runs_a_day: Limit::new(50_000),
            streams: Limit::new(20),
            requests_mib: Limit::new(16),
            answers_mib: Limit::new(48),
            connections: Limit::new(4096),
            ..Self::none()
        }
    }
}

impl LimitsConfig {
    /// No limits for users or addresses.
    pub fn none() -> Self {
        Self {
            address_requests_a_minute: Limit::NONE,
            requests_a_minute: Limit::NONE,
            jobs_an_hour: Limit::NONE,
            jobs_under_way: Limit::NONE,
            runs_a_day: Limit::NONE,
            streams: Limit::NONE,
            deadline: Duration::from_secs(60),
            headers: Duration::from_secs(10),
            sending: Duration::from_secs(30),
            requests_mib: Limit::NONE,
            answers_mib: Limit::NONE,
            connections: Limit::NONE,
            users: BTreeMap::new(),
        }
    }

    /// Rejects limits that no request can meet.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let times = [
            ("deadline", self.deadline),
            ("headers", self.headers),
            ("sending", self.sending),
        ];
        for (name, limit) in times {
            if limit.is_zero() {
                return Err(ConfigError::field(&format!("limits.{name}"), NO_TIME));
            }
        }
        Ok(())
    }

    fn own(&self, user: &str) -> OwnLimits {
        self.users.get(user).copied().unwrap_or_default()
    }

    /// The requests a minute of a user.
    pub fn requests_of(&self, user: &str) -> Limit {
        let own = self.own(user).requests_a_minute;
        own.unwrap_or(self.requests_a_minute)
    }

    /// The streams of a user.
    pub fn streams_of(&self, user: &str) -> Limit {
        self.own(user).streams.unwrap_or(self.streams)
    }

    /// The jobs and runs of a user, which the store counts.
    pub fn quota_of(&self, user: &str) -> Quota {
        let own = self.own(user);
        Quota {
            jobs_an_hour: own.jobs_an_hour.unwrap_or(self.jobs_an_hour).number(),
            jobs_under_way: own.jobs_under_way.unwrap_or(self.jobs_under_way).number(),
            runs_a_day: own.runs_a_day.unwrap_or(self.runs_a_day).number(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_may_have_other_limits() {
        let read = |text: &str| toml::from_str::<LimitsConfig>(text);
        let limits = read(
            "jobs_an_hour = 5\nstreams = 'none'\ndeadline = '5s'\n\
             [users.'Ci@Example.org']\njobs_an_hour = 500\nruns_a_day = 'none'",
        )
        .unwrap();
        let quota = |user: &str| limits.quota_of(user);
        let of_all = Quota {
            jobs_an_hour: Some(5),
            jobs_under_way: Some(20),
            runs_a_day: Some(50_000),
        };
        assert_eq!(quota("ada@example.org"), of_all);
        let own = Quota {
            jobs_an_hour: Some(500),
            runs_a_day: None,
            ..of_all
        };
        assert_eq!(quota("ci@example.org"), own);
        assert_eq!(limits.streams_of("ci@example.org"), Limit::NONE);
        assert_eq!(limits.requests_of("ci@example.org"), Limit::new(600));
        assert_eq!(limits.deadline, Duration::from_secs(5));
        assert_eq!(read("").unwrap(), LimitsConfig::default());
        for bad in [
            "streams = 0",
            "streams = -1",
            "streams = 'many'",
            "stream = 1",
            "users.\"a\\u0000\".streams = 1",
            "[users]\n'a@b' = {}\n'A@b' = {}",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
