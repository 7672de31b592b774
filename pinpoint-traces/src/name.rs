//! Names of rows: stored traces, calculated ones, and formulas.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{IdError, TraceId};

/// The name of a row of values.
///
/// Written as an id: `,arch=x86,` is a stored trace; `!norm(,arch=x86,)` is calculated from one,
/// made again when it is needed and never stored; `@ave(filter("arch=x86"))` is a formula, which a
/// shortcut stores and which is shown even when it has no values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TraceName {
    /// A stored trace.
    Stored(TraceId),
    /// A calculated one; the text behind `!`.
    Calculated(String),
    /// A formula; the text behind `@`.
    Formula(String),
}

impl TraceName {
    /// The id of a stored trace.
    pub fn stored(&self) -> Option<&TraceId> {
        match self {
            Self::Stored(id) => Some(id),
            Self::Calculated(_) | Self::Formula(_) => None,
        }
    }

    /// The text without `!` and `@`: what stands in the parentheses of another name.
    pub fn expression(&self) -> &str {
        match self {
            Self::Stored(id) => id.as_str(),
            Self::Calculated(text) | Self::Formula(text) => text,
        }
    }
}

impl From<TraceId> for TraceName {
    fn from(id: TraceId) -> Self {
        Self::Stored(id)
    }
}

impl FromStr for TraceName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text.split_at_checked(1) {
            Some(("!", rest)) if !rest.is_empty() => Ok(Self::Calculated(rest.to_owned())),
            Some(("@", rest)) if !rest.is_empty() => Ok(Self::Formula(rest.to_owned())),
            _ => Ok(Self::Stored(text.parse()?)),
        }
    }
}

impl fmt::Display for TraceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self {
            Self::Stored(_) => "",
            Self::Calculated(_) => "!",
            Self::Formula(_) => "@",
        };
        write!(formatter, "{sign}{}", self.expression())
    }
}

impl TryFrom<String> for TraceName {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<TraceName> for String {
    fn from(name: TraceName) -> Self {
        name.to_string()
    }
}
