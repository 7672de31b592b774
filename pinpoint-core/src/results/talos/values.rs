//! The choice of the values of a subtest that count.

use std::fmt;
use std::str::FromStr;

/// The values of a subtest that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum TalosValues {
    /// All replicates, or the value of a subtest that has no replicates.
    #[default]
    Replicates,
    /// The value that Perfherder takes.
    Filtered,
    /// The mean of the summary.
    Mean,
    /// The median of the summary.
    Median,
    /// The smallest value of the summary.
    Min,
    /// The largest value of the summary.
    Max,
}

/// No choice of values has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Talos has no values `{0}`; use replicates, filtered, mean, median, min or max")]
pub struct UnknownTalosValues(String);

/// The results lack the values asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the subtest `{subtest}` of `{suite}` does not state `{values}`; choose other values, such as replicates"
)]
pub struct MissingValue {
    /// The suite.
    pub suite: String,
    /// The subtest.
    pub subtest: String,
    /// The values asked for.
    pub values: TalosValues,
}

impl TalosValues {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::Replicates,
        Self::Filtered,
        Self::Mean,
        Self::Median,
        Self::Min,
        Self::Max,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Replicates => "replicates",
            Self::Filtered => "filtered",
            Self::Mean => "mean",
            Self::Median => "median",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    pub(super) fn missing(self, suite: &str, subtest: &str) -> MissingValue {
        MissingValue {
            suite: suite.to_owned(),
            subtest: subtest.to_owned(),
            values: self,
        }
    }
}

impl FromStr for TalosValues {
    type Err = UnknownTalosValues;

    fn from_str(text: &str) -> Result<Self, UnknownTalosValues> {
        let mut all = Self::ALL.into_iter();
        all.find(|values| values.name() == text)
            .ok_or_else(|| UnknownTalosValues(text.to_owned()))
    }
}

impl fmt::Display for TalosValues {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
