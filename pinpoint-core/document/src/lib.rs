//! Readers that walk through JSON documents without holding them, and places in documents.
//!
//! A document of 100 MB is some millions of numbers among text that no reader needs. So a reader
//! names the place of its records and takes them one at a time, with a [`Member`] of [`Elements`];
//! everything around them is parsed and dropped.
//!
//! The readers of results and of profiles share this crate. Its interface may change at any time.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A place in an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputPosition {
    /// A place in text.
    Text {
        /// Counted from 1.
        line: usize,
        /// The character in the line, counted from 1.
        column: usize,
    },
    /// A place in a JSON document, as a JSON pointer.
    Json(String),
    /// A file in a folder of results.
    File(String),
    /// A byte that is not part of a text, counted from 0.
    Byte(usize),
}

impl fmt::Display for OutputPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { line, column } => write!(formatter, "line {line}, column {column}"),
            Self::Json(pointer) if pointer.is_empty() => {
                formatter.write_str("the top of the document")
            }
            Self::Json(pointer) => formatter.write_str(pointer),
            Self::File(path) => formatter.write_str(path),
            Self::Byte(offset) => write!(formatter, "byte {offset}"),
        }
    }
}

/// The place of a parser's error.
pub fn error_position(error: &serde_json::Error, text: &str) -> OutputPosition {
    let line = text
        .lines()
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    // The parser counts bytes.
    let before = line
        .as_bytes()
        .get(..error.column())
        .unwrap_or(line.as_bytes());
    OutputPosition::Text {
        line: error.line(),
        column: String::from_utf8_lossy(before).chars().count(),
    }
}

/// One member of an object, which must be there, and once.
pub struct Member<S>(pub &'static str, pub S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Member<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Member<S> {
    type Value = S::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object with `{}`", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<S::Value, A::Error> {
        let Self(wanted, seed) = self;
        let mut seed = Some(seed);
        let mut found = None;
        while let Some(Name(name)) = members.next_key()? {
            if name != wanted {
                members.next_value::<IgnoredAny>()?;
            } else if let Some(seed) = seed.take() {
                found = Some(members.next_value_seed(seed)?);
            } else {
                return Err(A::Error::duplicate_field(wanted));
            }
        }
        found.ok_or_else(|| A::Error::missing_field(wanted))
    }
}

/// The elements of an array, each handed over with its index.
pub struct Elements<T, F>(F, PhantomData<T>);

impl<T, F: FnMut(usize, T)> Elements<T, F> {
    /// Takes each element as it is read.
    pub fn new(take: F) -> Self {
        Self(take, PhantomData)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(usize, T)> DeserializeSeed<'de> for Elements<T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(usize, T)> Visitor<'de> for Elements<T, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(element) = elements.next_element()? {
            (self.0)(index, element);
            index += 1;
        }
        Ok(())
    }
}

/// Text, borrowed from the document unless it has escapes.
#[derive(Clone, Deserialize)]
pub struct Name<'a>(#[serde(borrow)] pub Cow<'a, str>);
