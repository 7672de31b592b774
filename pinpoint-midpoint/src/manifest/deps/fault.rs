//! A problem at a place of the file.

use super::super::error::Problem;
use super::evaluate::Data;

/// A problem and its place, in bytes from the start of the file.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) problem: Problem,
}

impl Fault {
    /// The fault of a file that breaks the grammar of Python.
    pub(super) fn syntax(offset: usize, what: impl Into<String>) -> Self {
        Self {
            offset,
            problem: Problem::Syntax(what.into()),
        }
    }

    /// The fault of a file that is Python, but not in the subset.
    pub(super) fn unsupported(offset: usize, what: impl Into<String>) -> Self {
        Self {
            offset,
            problem: Problem::Unsupported(what.into()),
        }
    }

    /// The fault of a file that is in the subset, but has no meaning.
    pub(super) fn meaning(offset: usize, what: impl Into<String>) -> Self {
        Self {
            offset,
            problem: Problem::Meaning(what.into()),
        }
    }

    /// A value of the wrong kind.
    pub(super) fn wrong_kind(offset: usize, wanted: &str, found: &Data) -> Self {
        Self::meaning(
            offset,
            format!("{wanted} is needed here, not {}", found.kind()),
        )
    }
}
