//! Faults of formulas.

use std::fmt;

use crate::query::QueryError;
use crate::shortcut::ShortcutError;

/// A formula that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column} of the formula: {fault}")]
pub struct FormulaError {
    /// The character at which the fault is, counted from 1.
    pub column: usize,
    /// The fault.
    pub fault: FormulaFault,
}

/// The fault of a formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaFault {
    /// Another text belongs there.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The text that belongs there, in words.
        expected: &'static str,
        /// The text that stands there, or `the end`.
        found: String,
    },
    /// A text has no end.
    #[error("the text has no closing `\"`")]
    OpenText,
    /// A number can't be read, or is too large.
    #[error("`{0}` is not a number")]
    Number(String),
    /// No function has the name.
    #[error("there is no function `{name}`{}", Nearest(.nearest))]
    Function {
        /// The name.
        name: String,
        /// The function that is spelled most like it.
        nearest: Option<&'static str>,
    },
    /// A function takes other arguments.
    #[error("`{function}` takes {takes}")]
    Arguments {
        /// The function.
        function: &'static str,
        /// Its arguments, in words.
        takes: &'static str,
    },
    /// The query of `filter` can't be read.
    #[error("{0}")]
    Query(#[source] QueryError),
    /// The argument of `shortcut` is not a name.
    #[error("{0}")]
    Shortcut(#[source] ShortcutError),
    /// Calls are nested too deep.
    #[error("calls are nested more than {0} deep")]
    TooDeep(usize),
    /// The text is too long.
    #[error("the formula is longer than {0} bytes")]
    TooLong(usize),
}

struct Nearest<'a>(&'a Option<&'static str>);

impl fmt::Display for Nearest<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(nearest) => write!(formatter, "; the nearest is `{nearest}`"),
            None => Ok(()),
        }
    }
}

/// A formula that can't be computed with these traces.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// Each side of a ratio is exactly one trace.
    #[error("each side of a ratio is one trace, but `{side}` has {traces}")]
    Ratio {
        /// The side.
        side: String,
        /// The number of its traces.
        traces: usize,
    },
    /// There is one frame for each selection.
    #[error("{found} frames were given for {wanted} selections")]
    Frames {
        /// The number of frames.
        found: usize,
        /// The number of selections.
        wanted: usize,
    },
    /// All frames have the same commits.
    #[error("the traces of a formula have different commits")]
    Columns,
}
