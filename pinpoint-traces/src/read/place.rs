//! Places in a document: a path of names and indices, and the line that it leads to.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{ResultFault, ResultFileError};

/// A place in a file of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultPlace {
    /// The names and indices that lead there, such as `results[2].key.arch`; `.` at the top.
    pub member: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
}

impl fmt::Display for ResultPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            member,
            line,
            column,
        } = self;
        write!(formatter, "line {line}, column {column}")?;
        match &**member {
            "." => Ok(()),
            member => write!(formatter, " (`{member}`)"),
        }
    }
}

/// One part of a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

/// Reads a document, with the place of what is wrong.
pub(super) fn from_str<'a, T: Deserialize<'a>>(
    text: &'a str,
    path: &str,
) -> Result<T, ResultFileError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let fail = |member: String, error: &serde_json::Error| {
        let message = error.to_string();
        // The place is a field of its own.
        let reason = message
            .rsplit_once(" at line ")
            .map_or(&*message, |it| it.0);
        let line = text
            .lines()
            .nth(error.line().saturating_sub(1))
            .unwrap_or_default();
        // The parser counts bytes.
        let before = line
            .as_bytes()
            .get(..error.column())
            .unwrap_or(line.as_bytes());
        ResultFileError {
            path: path.to_owned(),
            place: Some(Box::new(ResultPlace {
                member,
                line: error.line(),
                column: String::from_utf8_lossy(before).chars().count().max(1),
            })),
            fault: ResultFault::Json(reason.to_owned()),
        }
    };
    let value = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| fail(error.path().to_string(), error.inner()))?;
    (deserializer.end()).map_err(|error| fail(".".into(), &error))?;
    Ok(value)
}

/// The place to which a path leads: of the last step that exists. Walks through the document, so
/// it is for messages alone.
pub(super) fn place_of(text: &str, path: &[Step<'_>]) -> ResultPlace {
    let mut member = String::new();
    for step in path {
        match step {
            Step::Name(name) if member.is_empty() => member.push_str(name),
            Step::Name(name) => member.extend([".", name]),
            Step::Index(index) => member.push_str(&format!("[{index}]")),
        }
    }
    if member.is_empty() {
        member.push('.');
    }
    let mut here = text;
    for step in path {
        let inner = match step {
            Step::Name(name) => {
                let members: Result<BTreeMap<String, &RawValue>, _> = serde_json::from_str(here);
                members.ok().and_then(|it| it.get(*name).map(|it| it.get()))
            }
            Step::Index(index) => {
                let elements: Result<Vec<&RawValue>, _> = serde_json::from_str(here);
                elements
                    .ok()
                    .and_then(|it| it.get(*index).map(|it| it.get()))
            }
        };
        match inner {
            Some(inner) => here = inner,
            None => break,
        }
    }
    // `here` is a part of the text.
    let offset = (here.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.get(..offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    ResultPlace {
        member,
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
    }
}
