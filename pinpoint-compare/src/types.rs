//! The small types shared by the tests and the decisions.

/// The verdict on two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Verdict {
    /// No difference worth pursuing.
    Same,
    /// They differ.
    Different,
    /// Undecided; more measurements may decide it.
    Unknown,
    /// One side has no values, so there was nothing to compare.
    Nil,
}

impl Verdict {
    /// The verdict in lower case, as it is serialized.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Different => "different",
            Self::Unknown => "unknown",
            Self::Nil => "nil",
        }
    }
}

impl core::fmt::Display for Verdict {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The direction of improvement. A change in that direction is not a regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Direction {
    /// Larger values are better, as for a throughput.
    Up,
    /// Smaller values are better, as for a time.
    Down,
    /// Unknown: every change counts.
    #[default]
    Unknown,
}

impl Direction {
    /// The direction in lower case, as it is serialized.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Unknown => "unknown",
        }
    }

    /// Returns true if a change by `difference` (treatment minus control) is an improvement.
    ///
    /// ```
    /// use pinpoint_compare::Direction;
    ///
    /// assert!(Direction::Down.is_improvement(-0.5));
    /// assert!(!Direction::Down.is_improvement(0.0));
    /// assert!(!Direction::Unknown.is_improvement(-0.5));
    /// ```
    pub fn is_improvement(self, difference: f64) -> bool {
        match self {
            Self::Up => difference > 0.0,
            Self::Down => difference < 0.0,
            Self::Unknown => false,
        }
    }
}

impl core::fmt::Display for Direction {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The alternative hypothesis about the first sample (or about the differences
/// first minus second).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Alternative {
    /// The values are shifted to either side.
    #[default]
    TwoSided,
    /// The values are shifted downward.
    Less,
    /// The values are shifted upward.
    Greater,
}

impl Alternative {
    /// The same alternative when the samples change places.
    #[must_use]
    pub const fn mirrored(self) -> Self {
        match self {
            Self::TwoSided => Self::TwoSided,
            Self::Less => Self::Greater,
            Self::Greater => Self::Less,
        }
    }
}

/// The method of computing a p-value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Method {
    /// Exact where that is cheap and the test's assumptions hold, asymptotic otherwise. A result
    /// never has `Auto`; it names the method used.
    #[default]
    Auto,
    /// By counting.
    Exact,
    /// By the limit distribution, with the corrections each test documents.
    Asymptotic,
    /// The variant of Pinpoint's published decisions.
    Pinpoint,
}

impl Method {
    /// The method in lower case, as it is serialized.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
            Self::Asymptotic => "asymptotic",
            Self::Pinpoint => "pinpoint",
        }
    }
}

impl core::fmt::Display for Method {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A closed interval; an end without bound is infinite.
///
/// Serialized as `{"low": …, "high": …}` with `null` for an infinite end, because JSON has no
/// infinity.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Interval {
    /// The lower end; negative infinity without a bound.
    #[cfg_attr(feature = "serde", serde(with = "unbounded::below"))]
    pub low: f64,
    /// The upper end; infinity without a bound.
    #[cfg_attr(feature = "serde", serde(with = "unbounded::above"))]
    pub high: f64,
}

impl Interval {
    /// Returns true if `value` is in the interval, its ends included.
    ///
    /// ```
    /// use pinpoint_compare::Interval;
    ///
    /// let interval = Interval { low: -1.0, high: f64::INFINITY };
    /// assert!(interval.contains(-1.0) && interval.contains(1e300));
    /// assert!(!interval.contains(-1.1));
    /// ```
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

#[cfg(feature = "serde")]
mod unbounded {
    macro_rules! end {
        ($name:ident, $bound:expr) => {
            pub(in crate::types) mod $name {
                use serde::{Deserialize, Deserializer, Serialize, Serializer};

                pub(in crate::types) fn serialize<S: Serializer>(
                    v: &f64,
                    s: S,
                ) -> Result<S::Ok, S::Error> {
                    v.is_finite().then_some(*v).serialize(s)
                }

                pub(in crate::types) fn deserialize<'de, D: Deserializer<'de>>(
                    d: D,
                ) -> Result<f64, D::Error> {
                    Ok(Option::<f64>::deserialize(d)?.unwrap_or($bound))
                }
            }
        };
    }
    end!(below, f64::NEG_INFINITY);
    end!(above, f64::INFINITY);
}
