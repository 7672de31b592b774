//! Members of documents that both forms have.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// An object in which no name occurs twice.
#[derive(Debug)]
pub(super) struct Members<T>(pub(super) BTreeMap<String, T>);

impl<T> Default for Members<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Members<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<T>, A::Error> {
                let mut members = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    if members.contains_key(&name) {
                        return Err(A::Error::custom(format_args!("`{name}` occurs twice")));
                    }
                    members.insert(name, map.next_value()?);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// A text, or a whole number as text.
#[derive(Debug)]
pub(super) struct Number(pub(super) String);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl Visitor<'_> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or a whole number")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                Ok(Number(text.to_owned()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
                Ok(Number(number.to_string()))
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}

/// A value of JSON, of which one kind is taken.
#[derive(Debug)]
pub(super) enum Loose {
    Number(f64),
    Text(String),
    Other,
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LooseVisitor;

        impl<'de> Visitor<'de> for LooseVisitor {
            type Value = Loose;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value")
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Loose, E> {
                Ok(Loose::Number(number))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Loose, E> {
                Ok(Loose::Number(number as f64))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Loose, E> {
                Ok(Loose::Number(number as f64))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Loose, E> {
                Ok(Loose::Text(text.to_owned()))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Loose, E> {
                Ok(Loose::Other)
            }

            fn visit_unit<E: Error>(self) -> Result<Loose, E> {
                Ok(Loose::Other)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Loose, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Loose::Other)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Loose, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Loose::Other)
            }
        }

        deserializer.deserialize_any(LooseVisitor)
    }
}
