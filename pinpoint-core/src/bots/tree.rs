//! TOML and JSON as one tree, in which each value has its place in the text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text is not TOML, or not JSON.
#[derive(Debug, PartialEq)]
pub(super) struct SyntaxError {
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) message: String,
}

/// Deeper than any field, and shallow enough for every stack.
const DEEPEST: usize = 16;

/// The line of a place in a text, counted from 1.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    let before = text.bytes().take(offset);
    1 + before.filter(|byte| *byte == b'\n').count()
}

pub(super) fn from_toml(text: &str) -> Result<Spanned<DeValue<'_>>, SyntaxError> {
    let table = DeTable::parse(text).map_err(|error| SyntaxError {
        line: line_at(text, error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })?;
    Ok(Spanned::new(
        table.span(),
        DeValue::Table(table.into_inner()),
    ))
}

/// The message without the place, which counts from the beginning of a part.
fn json_message(error: &serde_json::Error) -> String {
    let whole = error.to_string();
    let message = whole.rsplit_once(" at line ").map(|(message, _)| message);
    message.unwrap_or(&whole).to_owned()
}

pub(super) fn from_json(text: &str) -> Result<Spanned<DeValue<'_>>, SyntaxError> {
    let whole = serde_json::from_str::<&RawValue>(text).map_err(|error| SyntaxError {
        line: error.line().max(1),
        message: json_message(&error),
    })?;
    json_value(text, whole.get(), DEEPEST)
}

/// `raw` is a part of `text`, and a JSON value.
fn json_value<'a>(
    text: &'a str,
    raw: &'a str,
    levels: usize,
) -> Result<Spanned<DeValue<'a>>, SyntaxError> {
    let start = raw.as_ptr().addr() - text.as_ptr().addr();
    let line = line_at(text, start);
    let refused = |message: String| SyntaxError { line, message };
    let levels = levels
        .checked_sub(1)
        .ok_or_else(|| refused(format!("nothing lies deeper than {DEEPEST} levels")))?;
    // The value was read as a whole before: only a duplicate member is found here.
    let wrong = |error: serde_json::Error| SyntaxError {
        line: line + error.line().saturating_sub(1),
        message: json_message(&error),
    };
    let value = match raw.as_bytes().first() {
        Some(b'"') => {
            let text: String = serde_json::from_str(raw).map_err(wrong)?;
            DeValue::String(text.into())
        }
        Some(b't' | b'f') => DeValue::Boolean(raw == "true"),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(wrong)?;
            let items = items
                .iter()
                .map(|item| json_value(text, item.get(), levels));
            DeValue::Array(items.collect::<Result<_, _>>()?)
        }
        Some(b'{') => {
            let Members(members) = serde_json::from_str(raw).map_err(wrong)?;
            let members = members.into_iter().map(|(key, member)| {
                let member = json_value(text, member.get(), levels)?;
                Ok((Spanned::new(member.span(), key.into()), member))
            });
            DeValue::Table(members.collect::<Result<_, _>>()?)
        }
        _ => return Err(refused("no field is a number or null".into())),
    };
    Ok(Spanned::new(start..start + raw.len(), value))
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

    /// The values without their places, and the lines of all of them in their order.
    fn outline(text: &str, read: &Spanned<DeValue<'_>>) -> (String, Vec<usize>) {
        let mut lines = vec![line_at(text, read.span().start)];
        let mut add = |(part, more): (String, Vec<usize>)| {
            lines.extend(more);
            part
        };
        let words = match read.get_ref() {
            DeValue::Array(items) => {
                let items = items.iter().map(|item| add(outline(text, item)));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            DeValue::Table(table) => {
                let members = table.iter().map(|(key, value)| {
                    format!("{}: {}", key.get_ref(), add(outline(text, value)))
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
            DeValue::String(text) => format!("{text:?}"),
            DeValue::Boolean(value) => value.to_string(),
            other => panic!("{other:?}"),
        };
        (words, lines)
    }

    #[test]
    fn toml_and_json_give_the_same_tree() {
        let toml = "# bots\n[bots]\nlist = [true,\nfalse,\n{ 'é' = \"x\\ny\" }]\n";
        let json = "{\n\"bots\": {\n\"list\": [true,\nfalse,\n{ \"é\": \"x\\ny\" }]\n}\n}";
        let words = r#"{bots: {list: [true, false, {é: "x\ny"}]}}"#;
        let expected = (words.to_owned(), vec![1, 2, 3, 3, 4, 5, 5]);
        assert_eq!(outline(toml, &from_toml(toml).unwrap()), expected);
        assert_eq!(outline(json, &from_json(json).unwrap()), expected);
    }

    #[test]
    fn damage_is_found_with_its_line() {
        for (read, line, words) in [
            (from_toml("a = 1\nb =\n"), 2, ""),
            (from_toml("a = 1\n\na = 2\n"), 3, "duplicate key"),
            (from_json("{\n\"a\": 1,\n}"), 3, "key must be"),
            (
                from_json("{ \"a\": {\n\"b\": true,\n\"b\": true } }"),
                3,
                "`b` is a duplicate key",
            ),
            (from_json("{\n\"a\": 1}"), 2, "no field is a number"),
            (from_json("{\n\"a\": null}"), 2, "no field is a number"),
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
