//! Versions of browsers, in order.

use std::fmt;
use std::str::FromStr;

/// Four numbers: 9.9.9.9 comes before 10.0.0.0, which as text it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub [u32; 4]);

/// A text that is no such version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version of four numbers, such as 137.0.7151.70")]
pub struct NoVersion(pub String);

impl FromStr for Version {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let none = || NoVersion(text.into());
        let number = |part: &str| {
            let is_digits = part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse().ok().filter(|_| is_digits)
        };
        let parts: Option<Vec<u32>> = text.split('.').map(number).collect();
        let parts = parts.ok_or_else(none)?;
        parts.try_into().map(Self).map_err(|_| none())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, build, patch] = self.0;
        write!(formatter, "{major}.{minor}.{build}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        assert!(version("9.9.9.9") < version("10.0.0.0"));
        assert!(version("137.0.7151.69") < version("137.0.7151.104"));
        assert!(version("99.0.7151.0") < version("137.0.0.0"));
        assert_eq!(version("137.0.7151.070").to_string(), "137.0.7151.70");
        assert_eq!(version("4294967295.0.0.0").0[0], u32::MAX);
        for wrong in [
            "",
            "1.2.3",
            "1.2.3.4.5",
            "1.2.3.x",
            "1.2.3.+4",
            "1..2.3",
            "4294967296.0.0.0",
        ] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
    }
}
