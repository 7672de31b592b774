//! Durations in a configuration, as `30s`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

pub(super) fn deserialize<'de, D: Deserializer<'de>>(reader: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(reader)?;
    humantime::parse_duration(&text).map_err(|error| {
        D::Error::custom(format_args!(
            "{text:?} is not a duration ({error}); write it as 30s or 2m"
        ))
    })
}
