//! Helpers that the readers of JSON share.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::{ProfileFormat, ReadProfileError};
use pinpoint_document::OutputPosition;
use pinpoint_document::{Name, error_position};

/// Reads a whole document with `seed`.
pub(crate) fn read<'de, S: DeserializeSeed<'de>>(
    text: &'de str,
    format: ProfileFormat,
    seed: S,
) -> Result<S::Value, ReadProfileError> {
    let mut parser = serde_json::Deserializer::from_str(text);
    seed.deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value))
        .map_err(|source| fault(&source, text, format))
}

pub(super) fn fault(
    source: &serde_json::Error,
    text: &str,
    format: ProfileFormat,
) -> ReadProfileError {
    let place = error_position(source, text);
    if source.is_eof() {
        return ReadProfileError::CutShort { format, place };
    }
    let message = source.to_string();
    let problem = message.rsplit_once(" at line ").map(|(problem, _)| problem);
    ReadProfileError::Misshapen {
        format,
        place,
        problem: problem.unwrap_or(&message).to_owned(),
    }
}

pub(crate) fn misshapen(
    format: ProfileFormat,
    pointer: impl Into<String>,
    problem: impl Into<String>,
) -> ReadProfileError {
    ReadProfileError::Misshapen {
        format,
        place: OutputPosition::Json(pointer.into()),
        problem: problem.into(),
    }
}

/// A member of an object by its name, which may be missing: its value, or the default.
pub(super) struct Optional<T>(&'static str, std::marker::PhantomData<T>);

impl<T> Optional<T> {
    pub(super) fn new(name: &'static str) -> Self {
        Self(name, std::marker::PhantomData)
    }
}

impl<'de, T: Deserialize<'de> + Default> DeserializeSeed<'de> for Optional<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Optional<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<T, A::Error> {
        let mut found = None;
        while let Some(Name(name)) = members.next_key()? {
            if name == self.0 {
                found = Some(members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found.unwrap_or_default())
    }
}
