//! Counters, which Talos reads beside a suite: of memory, of the disk, of the X server.

use serde::{Deserialize, Deserializer, Serialize};

use super::details::Details;
use super::measured::{Measured, present};

/// A counter of a suite: a number or two, often in text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object with mean or max")]
pub struct Counter {
    /// The mean of what was read.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub mean: Option<CounterValue>,
    /// The largest of it.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub max: Option<CounterValue>,
    /// The other members.
    #[serde(flatten)]
    pub other: Details,
}

/// A number of a counter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum CounterValue {
    /// A number, or a failure.
    Number(Measured),
    /// A number in text, with the digits that were printed: `12.50`.
    Text(String),
}

impl CounterValue {
    /// The number, unless reading the counter failed or the text is none.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.number(),
            Self::Text(text) => {
                let number: f64 = text.trim().parse().ok()?;
                number.is_finite().then_some(number)
            }
        }
    }
}

impl<'de> Deserialize<'de> for CounterValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a number, or one in text")]
        enum Raw {
            Number(f64),
            Text(String),
            Failed(()),
        }
        match Raw::deserialize(deserializer)? {
            Raw::Number(number) => Ok(Self::Number(number.into())),
            Raw::Failed(()) => Ok(Self::Number(Measured::FAILED)),
            Raw::Text(text) => Ok(Self::Text(text)),
        }
    }
}
