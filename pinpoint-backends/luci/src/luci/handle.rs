//! The contents of a ticket.

use std::fmt;
use std::str::FromStr;

use super::error::LuciError;

/// The work of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Handle {
    /// A build that this action requested.
    Build(i64),
    /// A build of another requester, which is only waited for.
    Reused(i64),
    /// A task.
    Task(String),
    /// A build that is made again, followed by a task.
    Rebuild(i64),
    /// Two tasks, in order.
    Pair(String, String),
    /// A build, followed by a task that shows the metric.
    Metric(i64),
}

impl fmt::Display for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build(id) => write!(formatter, "build/{id}"),
            Self::Reused(id) => write!(formatter, "reused/{id}"),
            Self::Task(id) => write!(formatter, "task/{id}"),
            Self::Rebuild(id) => write!(formatter, "rebuild/{id}"),
            Self::Pair(first, second) => write!(formatter, "pair/{first}/{second}"),
            Self::Metric(id) => write!(formatter, "metric/{id}"),
        }
    }
}

impl FromStr for Handle {
    type Err = LuciError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('/').collect();
        let number = |id: &str| id.parse().map_err(|_| LuciError::Lost);
        Ok(match parts[..] {
            ["build", id] => Self::Build(number(id)?),
            ["reused", id] => Self::Reused(number(id)?),
            ["rebuild", id] => Self::Rebuild(number(id)?),
            ["metric", id] => Self::Metric(number(id)?),
            ["task", id] => Self::Task(id.into()),
            ["pair", first, second] => Self::Pair(first.into(), second.into()),
            _ => return Err(LuciError::Lost),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for handle in [
            Handle::Build(8_700_000_000_000_000_001),
            Handle::Reused(7),
            Handle::Rebuild(7),
            Handle::Task("6abc10".into()),
            Handle::Pair("6abc10".into(), "6abd10".into()),
            Handle::Metric(7),
        ] {
            assert_eq!(handle.to_string().parse::<Handle>().unwrap(), handle);
        }
        for text in ["", "build/x", "task", "pair/1", "other/1"] {
            assert!(text.parse::<Handle>().is_err(), "{text}");
        }
    }
}
