//! The value at a place in a JSON document.
//!
//! The document is not held in memory: the parser walks past everything but
//! the value that the pointer names. It still reads to the very end, since a
//! truncated document is not valid.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{FormatError, OutputPosition, ReadError, Reading, UNNAMED, document};
use crate::Series;

/// The most existing names that a message lists.
const NAMES_IN_A_MESSAGE: usize = 20;

/// A JSON pointer, RFC 6901: empty for the whole document, else `/` and a
/// token for each step.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct JsonPointer(Vec<String>);

impl JsonPointer {
    /// The pointer with these steps, unescaped.
    pub(super) fn from_tokens(tokens: Vec<String>) -> Self {
        Self(tokens)
    }

    /// The steps, unescaped.
    pub fn tokens(&self) -> &[String] {
        &self.0
    }
}

impl FromStr for JsonPointer {
    type Err = FormatError;

    fn from_str(pointer: &str) -> Result<Self, FormatError> {
        let fault = |position, problem| FormatError::Pointer {
            pointer: pointer.into(),
            position,
            problem,
        };
        let mut characters = pointer.chars().zip(1..).peekable();
        let mut tokens: Vec<String> = Vec::new();
        while let Some((character, position)) = characters.next() {
            let character = match character {
                '/' => {
                    tokens.push(String::new());
                    continue;
                }
                '~' => match characters.next() {
                    Some(('0', _)) => '~',
                    Some(('1', _)) => '/',
                    _ => return Err(fault(position, "is a ~ that neither 0 nor 1 follows")),
                },
                other => other,
            };
            match tokens.last_mut() {
                Some(token) => token.push(character),
                None => {
                    return Err(fault(
                        position,
                        "should be the / that a pointer begins with",
                    ));
                }
            }
        }
        Ok(Self(tokens))
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&document::pointer(&self.0))
    }
}

/// Reads the values at the pointer.
pub(super) fn read(pointer: &JsonPointer, text: &str) -> Result<Reading, ReadError> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let walked = Step(pointer.tokens())
        .deserialize(&mut parser)
        .and_then(|walked| parser.end().map(|()| walked))
        .map_err(|source| ReadError::Json {
            place: pinpoint_document::error_position(&source, text),
            source,
        })?;
    let at = |remaining: usize| {
        let depth = pointer.0.len() - remaining;
        document::pointer(&pointer.0[..depth])
    };
    match walked {
        Walked::Found(value) => Ok(Reading {
            charts: charts(pointer, value)?,
            ..Reading::default()
        }),
        Walked::Twice { remaining } => {
            Err(ReadError::Duplicate(OutputPosition::Json(at(remaining))))
        }
        Walked::Missing { remaining, present } => Err(ReadError::NoValue {
            wanted: format!("json:{pointer}"),
            present: present
                .into_iter()
                .map(|token| format!("{}{}", at(remaining), document::pointer(&[token])))
                .collect(),
        }),
    }
}

/// The value that the pointer led to.
enum Walked {
    Found(Value),
    /// The member before the remaining tokens occurs twice in its object.
    Twice {
        remaining: usize,
    },
    /// The step does not exist; `present` are those that do.
    Missing {
        remaining: usize,
        present: Vec<String>,
    },
}

/// Follows the tokens from one value downward.
struct Step<'a>(&'a [String]);

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = Walked;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Walked, D::Error> {
        if self.0.is_empty() {
            Value::deserialize(deserializer).map(Walked::Found)
        } else {
            deserializer.deserialize_any(self)
        }
    }
}

impl Step<'_> {
    /// The pointer leads nowhere from here.
    fn missing(&self, present: Vec<String>) -> Walked {
        Walked::Missing {
            remaining: self.0.len(),
            present,
        }
    }
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Walked;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Walked, A::Error> {
        let mut walked = None;
        let mut present = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            if name != self.0[0] {
                members.next_value::<IgnoredAny>()?;
            } else if walked.is_none() {
                walked = Some(members.next_value_seed(Step(&self.0[1..]))?);
            } else {
                members.next_value::<IgnoredAny>()?;
                let remaining = self.0.len() - 1;
                walked = Some(Walked::Twice { remaining });
            }
            if present.len() < NAMES_IN_A_MESSAGE {
                present.push(name);
            }
        }
        Ok(walked.unwrap_or_else(|| self.missing(present)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Walked, A::Error> {
        let wanted = index(&self.0[0]);
        let mut walked = None;
        let mut count = 0;
        loop {
            if Some(count) == wanted {
                walked = elements.next_element_seed(Step(&self.0[1..]))?;
                if walked.is_none() {
                    break;
                }
            } else if elements.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
            count += 1;
        }
        let first_and_last = match count {
            0 => Vec::new(),
            1 => vec!["0".into()],
            _ => vec!["0".into(), (count - 1).to_string()],
        };
        Ok(walked.unwrap_or_else(|| self.missing(first_and_last)))
    }

    fn visit_unit<E>(self) -> Result<Walked, E> {
        Ok(self.missing(Vec::new()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Walked, E> {
        Ok(self.missing(Vec::new()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Walked, E> {
        Ok(self.missing(Vec::new()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Walked, E> {
        Ok(self.missing(Vec::new()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Walked, E> {
        Ok(self.missing(Vec::new()))
    }

    fn visit_str<E>(self, _: &str) -> Result<Walked, E> {
        Ok(self.missing(Vec::new()))
    }
}

/// A token as an array index: digits without a leading zero, as RFC 6901 says.
fn index(token: &str) -> Option<usize> {
    let plain = token == "0" || !token.starts_with(['0', '+']);
    token.parse().ok().filter(|_| plain)
}

/// The charts in the value that was found.
fn charts(pointer: &JsonPointer, value: Value) -> Result<BTreeMap<String, Series>, ReadError> {
    let here = pointer.to_string();
    let mut charts = BTreeMap::new();
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let place = format!("{here}{}", document::pointer(std::slice::from_ref(&name)));
                if charts.contains_key(&name) {
                    return Err(ReadError::Duplicate(OutputPosition::Json(place)));
                }
                let values = numbers(&place, value)?;
                charts.insert(name, unitless(values));
            }
        }
        value => {
            let name = pointer.0.last().cloned().unwrap_or_else(|| UNNAMED.into());
            let values = numbers(&here, value)?;
            charts.insert(name, unitless(values));
        }
    }
    if charts.is_empty() {
        return Err(no_value(&here));
    }
    Ok(charts)
}

fn unitless(values: Vec<f64>) -> Series {
    Series {
        values,
        ..Series::default()
    }
}

/// A number, or the numbers of an array.
fn numbers(place: &str, value: Value) -> Result<Vec<f64>, ReadError> {
    match value {
        Value::Array(elements) if elements.is_empty() => Err(no_value(place)),
        Value::Array(elements) => elements
            .into_iter()
            .enumerate()
            .map(|(index, element)| number(|| format!("{place}/{index}"), &element))
            .collect(),
        value => Ok(vec![number(|| place.to_owned(), &value)?]),
    }
}

fn number(place: impl Fn() -> String, value: &Value) -> Result<f64, ReadError> {
    match value {
        Value::Number(number) if number.is_finite() => Ok(*number),
        Value::Number(number) => Err(ReadError::NotFinite {
            place: OutputPosition::Json(place()),
            found: number.to_string(),
        }),
        other => Err(ReadError::NotANumber {
            place: OutputPosition::Json(place()),
            found: other.in_words(),
        }),
    }
}

fn no_value(place: &str) -> ReadError {
    ReadError::NoValue {
        wanted: format!("json:{place}"),
        present: vec!["an empty array or object".into()],
    }
}

/// A JSON value: unchanged numbers, and members in their order, with duplicates.
enum Value {
    Number(f64),
    Text(String),
    Bool(bool),
    Null,
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Written so that a message can quote it.
    fn in_words(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => {
                let start: String = text.chars().take(40).collect();
                format!("the text {start:?}")
            }
            Self::Bool(value) => value.to_string(),
            // NaN is read as null.
            Self::Null => "null or NaN".into(),
            Self::Array(_) => "an array".into(),
            Self::Object(_) => "an object".into(),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(Value::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = access.next_element()? {
            elements.push(element);
        }
        Ok(Value::Array(elements))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    // The nearest 64-bit float: a count beyond 2^53 loses digits that do not matter to our
    // statistics.
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }
}
