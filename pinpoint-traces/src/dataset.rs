//! Names of datasets.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The name of a dataset, `[a-z0-9_-]+`: traces of one repository that are kept together.
///
/// ```
/// use pinpoint_traces::Dataset;
///
/// assert_eq!("nano_2".parse::<Dataset>()?.as_str(), "nano_2");
/// assert!("Nano".parse::<Dataset>().is_err());
/// # Ok::<(), pinpoint_traces::DatasetError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Dataset(String);

impl Dataset {
    /// The longest name, in bytes: it becomes part of file names.
    pub const MAX_LENGTH: usize = 100;

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Dataset {
    type Err = DatasetError;

    fn from_str(text: &str) -> Result<Self, DatasetError> {
        let is_allowed = |it: u8| matches!(it, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        let fits = (1..=Self::MAX_LENGTH).contains(&text.len());
        if fits && text.bytes().all(is_allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(DatasetError(text.to_owned()))
        }
    }
}

impl fmt::Display for Dataset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for Dataset {
    type Error = DatasetError;

    fn try_from(text: String) -> Result<Self, DatasetError> {
        text.parse()
    }
}

impl From<Dataset> for String {
    fn from(dataset: Dataset) -> Self {
        dataset.0
    }
}

/// The text can't be the name of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` can't be the name of a dataset: use 1 to 100 lowercase letters, digits, `_` and `-`"
)]
pub struct DatasetError(String);
