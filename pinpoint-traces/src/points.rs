//! One file of results as points: values of traces at a commit.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::commit::CommitNumber;
use crate::id::{Params, TraceId};
use crate::source::Source;

/// Links by name: a label, and a URL or other text.
pub type Links = BTreeMap<String, String>;

/// A file of results: values of traces at a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultFile {
    /// The file.
    pub source: Source,
    /// The commit that was measured.
    pub commit: CommitName,
    /// The change under review that was applied to the commit, if any: then the values are not part
    /// of the history.
    pub tried: Option<Try>,
    /// The parameters that all traces of the file begin with.
    pub key: Params,
    /// Links of the whole file.
    pub links: Links,
    /// The values, each trace once.
    pub points: Vec<Point>,
    /// Single measurements behind the value of a trace, where the format has them.
    pub samples: BTreeMap<TraceId, Vec<f64>>,
}

impl ResultFile {
    /// The branch that the file's key names, if any.
    pub fn branch(&self) -> Option<&str> {
        self.key.get("branch")
    }

    /// Returns true for a file to take when only these branches are: its key names one of them, or
    /// no branch. An empty list admits each branch.
    pub fn is_of_branches<B: AsRef<str>>(&self, branches: &[B]) -> bool {
        let is_named = |branch| {
            branches
                .iter()
                .any(|it| crate::id::sanitized(it.as_ref()) == branch)
        };
        branches.is_empty() || self.branch().is_none_or(is_named)
    }
}

/// One value of one trace.
///
/// ```
/// use pinpoint_traces::Point;
///
/// assert!(Point::new(",arch=x86,".parse()?, 1.5).is_ok());
/// assert!(Point::new(",arch=x86,".parse()?, f64::NAN).is_err());
/// # Ok::<(), pinpoint_traces::IdError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The trace.
    pub trace: TraceId,
    /// The value, finite.
    pub value: f64,
    /// Links of this value alone.
    pub links: Links,
}

impl Point {
    /// A value without links.
    ///
    /// # Errors
    ///
    /// [`NotFinite`] for NaN, which is not a value, and infinities.
    pub fn new(trace: TraceId, value: f64) -> Result<Self, NotFinite> {
        if !value.is_finite() {
            return Err(NotFinite { trace, value });
        }
        Ok(Self {
            trace,
            value,
            links: Links::new(),
        })
    }
}

/// A value of a trace is NaN or infinite.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the value of `{trace}` is {value}: values are finite, and a missing one is left out")]
pub struct NotFinite {
    /// The trace.
    pub trace: TraceId,
    /// The value.
    pub value: f64,
}

/// A commit as results name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitName {
    /// The hash of a git commit: at least four hexadecimal digits, lowercase.
    Hash(String),
    /// A number, written `CP:<n>`.
    Number(CommitNumber),
}

impl CommitName {
    /// Reads the hash of a commit, or `CP:<n>`.
    ///
    /// # Errors
    ///
    /// [`CommitNameError`] for anything else.
    pub fn read(text: &str) -> Result<Self, CommitNameError> {
        if text.starts_with("CP:") {
            return match text.parse() {
                Ok(number) => Ok(Self::Number(number)),
                Err(_) => Err(CommitNameError(text.to_owned())),
            };
        }
        // SHA-256 has 64.
        let fits = (4..=64).contains(&text.len());
        if fits && text.bytes().all(|it| it.is_ascii_hexdigit()) {
            Ok(Self::Hash(text.to_ascii_lowercase()))
        } else {
            Err(CommitNameError(text.to_owned()))
        }
    }
}

impl fmt::Display for CommitName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hash(hash) => formatter.write_str(hash),
            Self::Number(number) => write!(formatter, "CP:{number}"),
        }
    }
}

/// The text does not name a commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` does not name a commit: expected 4 to 64 hexadecimal digits, or `CP:` and a number")]
pub struct CommitNameError(String);

/// A change under review, and one of its versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Try {
    /// The change, such as Gerrit's number.
    pub issue: String,
    /// The version of the change.
    pub patchset: String,
}
