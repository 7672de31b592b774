//! The lines of a log that hold results, and places in them.

use std::borrow::Cow;

use memchr::memmem;

use crate::results::error::problem;
use crate::results::text::column_of;
use crate::results::{OutputPosition, ReadError, not_a_number};

pub(super) const PERFHERDER: &str = "PERFHERDER_DATA: ";
pub(super) const TALOS: &str = "TALOSDATA: ";

/// The kind of line that is read of a log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Perfherder,
    Talos,
}

/// A line with results.
pub(super) struct Line<'a> {
    pub(super) kind: Kind,
    /// The document in it.
    pub(super) document: Cow<'a, str>,
    /// The index of the line.
    index: usize,
    /// The column at which the document begins.
    column: usize,
}

/// The lines of one kind. Where both are there they say the same, and the newer kind has more.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let (kind, marker) = if text.contains(PERFHERDER) {
        (Kind::Perfherder, PERFHERDER)
    } else {
        (Kind::Talos, TALOS)
    };
    text.lines().enumerate().filter_map(move |(index, line)| {
        let (_, json) = line.split_once(marker)?;
        Some(Line {
            kind,
            document: not_a_number::as_null(json.into()),
            index,
            column: column_of(line, json),
        })
    })
}

pub(in crate::results) fn recognize(text: &str) -> bool {
    let follows = |marker: &str, opening: char| {
        let mut found = memmem::find_iter(text.as_bytes(), marker);
        found.any(|at| text[at + marker.len()..].starts_with(opening))
    };
    follows(PERFHERDER, '{') || follows(TALOS, '[')
}

impl Line<'_> {
    /// The place of the document in the log.
    pub(super) fn place(&self) -> OutputPosition {
        OutputPosition::Text {
            line: self.index + 1,
            column: self.column,
        }
    }

    /// The error with its place in the log instead of that in the document.
    pub(super) fn moved(&self, error: ReadError) -> ReadError {
        let moved = |place| match place {
            OutputPosition::Text { line: 1, column } => OutputPosition::Text {
                line: self.index + 1,
                column: self.column + column.saturating_sub(1),
            },
            place => place,
        };
        match error {
            ReadError::Json { place, source } => ReadError::Line {
                place: moved(place),
                writer: "a harness of Mozilla's",
                problem: problem(&source),
            },
            ReadError::Misshapen {
                place,
                format,
                source,
            } => ReadError::Line {
                place: moved(place),
                writer: format,
                problem: problem(&source),
            },
            error => error,
        }
    }
}
