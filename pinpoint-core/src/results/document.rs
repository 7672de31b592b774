//! JSON documents, walked and not held.
//!
//! A document of 100 MB is some millions of numbers among text that no reader needs. So a reader
//! names the place of its records and takes them one at a time:
//!
//! ```text
//! document::read(text, "hyperfine", Member("results", Elements::new(|index, result: Benchmark| …)))
//! ```
//!
//! Everything around them is parsed and dropped, to the very end, since a
//! truncated document is not valid.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;

use pinpoint_document::{Name, error_position};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::ReadError;

/// Reads a whole document with `seed`; `format` is the name of the expected format.
pub(super) fn read<'de, S: DeserializeSeed<'de>>(
    text: &'de str,
    format: &'static str,
    seed: S,
) -> Result<S::Value, ReadError> {
    let mut parser = serde_json::Deserializer::from_str(text);
    seed.deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value))
        .map_err(|source| fault(source, text, format))
}

fn fault(source: serde_json::Error, text: &str, format: &'static str) -> ReadError {
    let place = error_position(&source, text);
    if source.is_data() {
        ReadError::Misshapen {
            place,
            format,
            source,
        }
    } else {
        ReadError::Json { place, source }
    }
}

/// Tokens as a JSON pointer (RFC 6901).
pub(super) fn pointer<T: AsRef<str>>(tokens: &[T]) -> String {
    tokens
        .iter()
        .map(|token| format!("/{}", token.as_ref().replace('~', "~0").replace('/', "~1")))
        .collect()
}

/// The members of an object, each handed over with its name; duplicates are errors.
pub(super) struct Entries<T, F>(F, PhantomData<T>);

impl<'de, T: Deserialize<'de>, F: FnMut(Cow<'de, str>, T)> Entries<T, F> {
    pub(super) fn new(take: F) -> Self {
        Self(take, PhantomData)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(Cow<'de, str>, T)> DeserializeSeed<'de> for Entries<T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(Cow<'de, str>, T)> Visitor<'de> for Entries<T, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let mut names = BTreeSet::new();
        while let Some(Name(name)) = members.next_key()? {
            if !names.insert(name.clone()) {
                let twice = format!("the member {name:?} stands there twice");
                return Err(A::Error::custom(twice));
            }
            (self.0)(name, members.next_value()?);
        }
        Ok(())
    }
}

/// The members of an object in their order, without duplicates.
pub(super) struct Members<'a, T>(pub(super) Vec<(Cow<'a, str>, T)>);

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Members<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Vec::new();
        Entries::new(|name, value| members.push((name, value))).deserialize(deserializer)?;
        Ok(Self(members))
    }
}

/// A value where a number belongs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    /// A number, which is finite: JSON has no other, and the parser refuses one beyond 64 bits.
    Finite(f64),
    /// `null` or the text `NaN` or the like, as some programs write it: the
    /// measurement failed.
    Failed,
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyNumber;

        impl Visitor<'_> for AnyNumber {
            type Value = Number;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number")
            }

            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number::Finite(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number::Finite(value as f64))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number::Finite(value as f64))
            }

            fn visit_unit<E>(self) -> Result<Number, E> {
                Ok(Number::Failed)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                match super::number::number(text) {
                    Some(super::number::Number::NotFinite) => Ok(Number::Failed),
                    _ => Err(E::invalid_type(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_any(AnyNumber)
    }
}

/// An array of numbers; `None` when one of them failed, or it is `null`.
pub(super) struct Numbers(pub(super) Option<Vec<f64>>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyNumbers;

        impl<'de> Visitor<'de> for AnyNumbers {
            type Value = Numbers;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an array of numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Numbers, A::Error> {
                let mut numbers = Some(Vec::new());
                while let Some(number) = elements.next_element()? {
                    match (number, &mut numbers) {
                        (Number::Finite(number), Some(numbers)) => numbers.push(number),
                        _ => numbers = None,
                    }
                }
                Ok(Numbers(numbers))
            }

            fn visit_unit<E>(self) -> Result<Numbers, E> {
                Ok(Numbers(None))
            }
        }

        deserializer.deserialize_any(AnyNumbers)
    }
}
