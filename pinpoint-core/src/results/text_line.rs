//! A line of a text, for the places of problems in it.

use super::number::{self, Number};
use super::text::column_of;
use super::{OutputPosition, ReadError};

/// The most characters of a text that a message shows.
const MOST_SHOWN: usize = 80;

/// A line with its index from 0.
#[derive(Clone, Copy)]
pub(super) struct TextLine<'a> {
    pub(super) index: usize,
    pub(super) line: &'a str,
    /// The program that wrote the line, in words.
    pub(super) writer: &'static str,
}

impl TextLine<'_> {
    /// The place of a part of the line.
    pub(super) fn place(&self, part: &str) -> OutputPosition {
        OutputPosition::Text {
            line: self.index + 1,
            column: column_of(self.line, part),
        }
    }

    /// A problem at a part of the line.
    pub(super) fn fault(&self, part: &str, problem: impl Into<String>) -> ReadError {
        ReadError::Line {
            place: self.place(part),
            writer: self.writer,
            problem: problem.into(),
        }
    }

    /// The number that a part of the line is.
    pub(super) fn number(&self, part: &str) -> Result<f64, ReadError> {
        let part = part.trim();
        match number::number(part) {
            Some(Number::Finite(value)) => Ok(value),
            Some(Number::NotFinite) => Err(ReadError::NotFinite {
                place: self.place(part),
                found: shortened(part),
            }),
            None => Err(ReadError::NotANumber {
                place: self.place(part),
                found: format!("`{}`", shortened(part)),
            }),
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MOST_SHOWN).collect()
}
