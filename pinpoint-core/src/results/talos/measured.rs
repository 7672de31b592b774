//! Values as they were measured.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::results::document::Number;

/// A value: a finite number, or a measurement that failed, for which `null` stands.
///
/// As small as its number, since a log has millions of them.
#[derive(Clone, Copy)]
pub struct Measured(f64);

impl Measured {
    /// A measurement that failed.
    pub const FAILED: Self = Self(f64::NAN);

    /// The value; one that is not finite is a failure.
    pub fn new(value: f64) -> Self {
        if value.is_finite() {
            Self(value)
        } else {
            Self::FAILED
        }
    }

    /// The finite number, unless the measurement failed.
    pub fn number(self) -> Option<f64> {
        self.0.is_finite().then_some(self.0)
    }
}

impl From<f64> for Measured {
    fn from(value: f64) -> Self {
        Self::new(value)
    }
}

/// Failures are the same, unlike NaN.
impl PartialEq for Measured {
    fn eq(&self, other: &Self) -> bool {
        self.number() == other.number()
    }
}

impl std::fmt::Debug for Measured {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number() {
            Some(number) => number.fmt(formatter),
            None => formatter.write_str("failed"),
        }
    }
}

impl Serialize for Measured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.number() {
            Some(number) => serializer.serialize_f64(number),
            None => serializer.serialize_unit(),
        }
    }
}

impl<'de> Deserialize<'de> for Measured {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Number::deserialize(deserializer)? {
            Number::Finite(number) => Self::new(number),
            Number::Failed => Self::FAILED,
        })
    }
}

/// A member that is there, even if it is null.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The replicates of a subtest.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Replicates(pub(super) Vec<Measured>);

impl<'de> Deserialize<'de> for Replicates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `null` is no list that is missing, but one that failed.
        let values = Option::<Vec<Measured>>::deserialize(deserializer)?;
        Ok(Self(values.unwrap_or_else(|| vec![Measured::FAILED])))
    }
}

/// The replicates, if the member is there.
pub(super) fn replicates<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<Measured>>, D::Error> {
    Replicates::deserialize(deserializer).map(|Replicates(values)| Some(values))
}
