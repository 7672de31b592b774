//! The numbers in a JSON document, with their places.

use super::JsonPointer;
use super::quoted_number::quoted_number;

/// A number, or the first of an array of numbers; or a text that is one.
pub(super) struct JsonNumber<'a> {
    /// The line, counted from 1.
    pub(super) line: usize,
    /// The number with its name, as the document has it.
    pub(super) text: &'a str,
    /// The number, or the array.
    pub(super) pointer: JsonPointer,
    /// The offset in `text` at which the content of a text begins.
    pub(super) quoted: Option<usize>,
}

/// A value that is open.
enum Open {
    Array { index: usize },
    Object { name: Option<Name> },
}

struct Name {
    start: usize,
    text: String,
}

/// The first numbers of a document that is valid, at least up to its end.
pub(super) fn json_numbers(document: &str, most: usize) -> Vec<JsonNumber<'_>> {
    let mut numbers: Vec<JsonNumber> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut line = 1;
    let mut at = 0;
    while let Some(byte) = document.as_bytes().get(at)
        && numbers.len() < most
    {
        let start = at;
        at += 1;
        match byte {
            b'\n' => line += 1,
            b'[' => open.push(Open::Array { index: 0 }),
            b'{' => open.push(Open::Object { name: None }),
            b']' | b'}' => {
                open.pop();
            }
            b',' => match open.last_mut() {
                Some(Open::Array { index }) => *index += 1,
                Some(Open::Object { name }) => *name = None,
                None => {}
            },
            b'"' => {
                at = end_of_string(document, at);
                if let Some(Open::Object { name: name @ None }) = open.last_mut() {
                    // It may have no end in a document that is cut off.
                    let text = serde_json::from_str(&document[start..at]).unwrap_or_default();
                    *name = Some(Name { start, text });
                } else if document[start + 1..at]
                    .strip_suffix('"')
                    .is_some_and(|text| quoted_number(text).is_some())
                {
                    numbers.extend(json_number(&open, document, line, start, at));
                }
            }
            b'-' | b'0'..=b'9' => {
                let rest = &document.as_bytes()[at..];
                let is_part =
                    |byte: &&u8| matches!(**byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                at += rest.iter().take_while(is_part).count();
                numbers.extend(json_number(&open, document, line, start, at));
            }
            _ => {}
        }
    }
    numbers
}

/// The number or the text from `start` to `end`, if it is not in an array after another.
fn json_number<'a>(
    open: &[Open],
    document: &'a str,
    line: usize,
    start: usize,
    end: usize,
) -> Option<JsonNumber<'a>> {
    // An array is named as a whole.
    let path = match open.split_last() {
        Some((Open::Array { index: 1.. }, _)) => return None,
        Some((Open::Array { .. }, path)) => path,
        _ => open,
    };
    let named = match path.last() {
        Some(Open::Object { name: Some(name) }) => name.start,
        _ => start,
    };
    let is_text = document.as_bytes().get(start) == Some(&b'"');
    Some(JsonNumber {
        line,
        text: &document[named..end],
        pointer: JsonPointer::from_tokens(path.iter().map(token).collect()),
        quoted: is_text.then_some(start + 1 - named),
    })
}

fn token(open: &Open) -> String {
    match open {
        Open::Array { index } => index.to_string(),
        Open::Object { name } => (name.as_ref()).map_or_else(String::new, |name| name.text.clone()),
    }
}

/// The byte after the quote that ends a string, or the end of the document.
fn end_of_string(document: &str, mut at: usize) -> usize {
    let bytes = document.as_bytes();
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => return at,
            // The escaped byte may be the first of a longer character, which has no quote in it.
            b'\\' => at += 1,
            _ => {}
        }
    }
    document.len()
}
