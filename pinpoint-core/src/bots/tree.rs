//! TOML and JSON as one tree that knows its lines.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use toml::de::{DeTable, DeValue};

/// A value in a configuration file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// The line of the value, counted from 1.
    pub(super) line: usize,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Flag(bool),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
    /// Of a type that no field has.
    Other(&'static str),
}

impl Value {
    /// The kind of the value, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(kind) => kind,
        }
    }
}

/// A file is not TOML, or not JSON.
#[derive(Debug, PartialEq)]
pub(super) struct SyntaxError {
    pub(super) line: usize,
    pub(super) message: String,
}

/// Deeper than any field, and shallow enough for every stack.
const DEEPEST: usize = 16;

fn line_at(text: &str, offset: usize) -> usize {
    1 + text
        .bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
}

pub(super) fn from_toml(text: &str) -> Result<Node, SyntaxError> {
    let table = DeTable::parse(text).map_err(|error| SyntaxError {
        line: line_at(text, error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })?;
    Ok(Node {
        line: 1,
        value: toml_table(text, table.get_ref()),
    })
}

fn toml_table(text: &str, table: &DeTable<'_>) -> Value {
    let member = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let key: &std::borrow::Cow<'_, str> = key.get_ref();
        (key.clone().into_owned(), toml_node(text, value))
    };
    Value::Table(table.iter().map(member).collect())
}

fn toml_node(text: &str, node: &toml::Spanned<DeValue<'_>>) -> Node {
    let value = match node.get_ref() {
        DeValue::String(value) => Value::Text(value.clone().into_owned()),
        DeValue::Boolean(value) => Value::Flag(*value),
        DeValue::Array(items) => {
            Value::List(items.iter().map(|item| toml_node(text, item)).collect())
        }
        DeValue::Table(table) => toml_table(text, table),
        DeValue::Integer(_) | DeValue::Float(_) => Value::Other("a number"),
        DeValue::Datetime(_) => Value::Other("a date"),
    };
    Node {
        line: line_at(text, node.span().start),
        value,
    }
}

/// Without the place, which counts from the beginning of a part.
fn json_message(error: &serde_json::Error) -> String {
    let whole = error.to_string();
    let message = whole.rsplit_once(" at line ").map(|(message, _)| message);
    message.unwrap_or(&whole).to_owned()
}

pub(super) fn from_json(text: &str) -> Result<Node, SyntaxError> {
    let whole = serde_json::from_str::<&RawValue>(text).map_err(|error| SyntaxError {
        line: error.line().max(1),
        message: json_message(&error),
    })?;
    json_node(text, whole.get(), DEEPEST)
}

/// `raw` is a part of `text`, and a JSON value.
fn json_node(text: &str, raw: &str, levels: usize) -> Result<Node, SyntaxError> {
    let line = line_at(text, raw.as_ptr().addr() - text.as_ptr().addr());
    let Some(levels) = levels.checked_sub(1) else {
        let message = format!("nothing lies deeper than {DEEPEST} levels");
        return Err(SyntaxError { line, message });
    };
    // The value was read as a whole before: only a duplicate member is found here.
    let wrong = |error: serde_json::Error| SyntaxError {
        line: line + error.line().saturating_sub(1),
        message: json_message(&error),
    };
    let value = match raw.as_bytes().first() {
        Some(b'"') => Value::Text(serde_json::from_str(raw).map_err(wrong)?),
        Some(b't' | b'f') => Value::Flag(raw == "true"),
        Some(b'n') => Value::Other("null"),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(wrong)?;
            let items = items.iter().map(|item| json_node(text, item.get(), levels));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        Some(b'{') => {
            let Members(members) = serde_json::from_str(raw).map_err(wrong)?;
            let members = members
                .into_iter()
                .map(|(key, member)| Ok((key, json_node(text, member.get(), levels)?)));
            Value::Table(members.collect::<Result<_, _>>()?)
        }
        _ => Value::Other("a number"),
    };
    Ok(Node { line, value })
}

/// The members of a JSON object, each once.
struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Members<'de>, M::Error> {
                let mut members = BTreeMap::new();
                while let Some((key, member)) = map.next_entry::<String, _>()? {
                    if members.contains_key(&key) {
                        return Err(M::Error::custom(format!("`{key}` is a duplicate key")));
                    }
                    members.insert(key, member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_and_json_give_the_same_tree() {
        let node = |line, value| Node { line, value };
        let table = |line, key: &str, value| {
            node(
                line,
                Value::Table(BTreeMap::from([(key.to_owned(), value)])),
            )
        };
        let list = Value::List(vec![
            node(3, Value::Flag(true)),
            node(4, Value::Other("a number")),
            table(5, "é", node(5, Value::Text("x\ny".into()))),
        ]);
        let expected = table(1, "bots", table(2, "list", node(3, list)));
        let toml = "# bots\n[bots]\nlist = [true,\n1,\n{ 'é' = \"x\\ny\" }]\n";
        let json = "{\n\"bots\": {\n\"list\": [true,\n1,\n{ \"é\": \"x\\ny\" }]\n}\n}";
        assert_eq!(from_toml(toml), Ok(expected.clone()));
        assert_eq!(from_json(json), Ok(expected));
    }

    #[test]
    fn damage_is_found_with_its_line() {
        for (read, line, words) in [
            (from_toml("a = 1\nb =\n"), 2, ""),
            (from_toml("a = 1\n\na = 2\n"), 3, "duplicate key"),
            (from_json("{\n\"a\": 1,\n}"), 3, "key must be"),
            (
                from_json("{ \"a\": {\n\"b\": 1,\n\"b\": 2 } }"),
                3,
                "`b` is a duplicate key",
            ),
            (from_json(""), 1, "EOF"),
            (from_json(&"[".repeat(100_000)), 1, "EOF"),
            (
                from_json(&("[".repeat(100_000) + &"]".repeat(100_000))),
                1,
                "16 levels",
            ),
            (
                from_toml(&("a = ".to_owned() + &"[".repeat(100_000))),
                1,
                "",
            ),
        ] {
            let error = read.unwrap_err();
            assert_eq!(error.line, line, "{error:?}");
            assert!(error.message.contains(words), "{error:?}");
        }
    }
}
