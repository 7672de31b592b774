//! NaN and Infinity in JSON, as Python and Google Benchmark write them.
//!
//! JSON has no such numbers. They are read as `null`, which every reader takes for a value
//! that failed, and which does not matter in members that are skipped.

use std::borrow::Cow;

const NAMES: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The document with `null` in the place of each of them. Blanks keep the columns of the text after
/// it, as far as there is room.
pub(super) fn as_null(text: Cow<'_, str>) -> Cow<'_, str> {
    if !NAMES.iter().any(|name| text.contains(name)) {
        return text;
    }
    let mut replaced = String::with_capacity(text.len());
    let mut rest = &*text;
    let mut in_string = false;
    while let Some(at) = rest.find(['"', '\\', 'N', 'I', '-']) {
        let (before, from) = rest.split_at(at);
        replaced.push_str(before);
        let name = NAMES.iter().find(|name| from.starts_with(**name));
        let length = match (name, in_string) {
            // An escaped quote does not end a string.
            _ if from.starts_with('\\') => 1 + from[1..].chars().next().map_or(0, char::len_utf8),
            (Some(name), false) => {
                if name.len() < "null".len() && replaced.ends_with(' ') {
                    replaced.pop();
                }
                replaced.push_str(&format!("{:width$}", "null", width = name.len()));
                rest = &from[name.len()..];
                continue;
            }
            _ => 1,
        };
        in_string ^= from.starts_with('"');
        let (taken, after) = from.split_at(length);
        replaced.push_str(taken);
        rest = after;
    }
    replaced.push_str(rest);
    replaced.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_replaced_and_strings_are_not() {
        for (text, expected) in [
            (r#"{"a": NaN, "b": 1}"#, r#"{"a":null, "b": 1}"#),
            (
                r#"[NaN,-Infinity,Infinity]"#,
                r#"[null,null     ,null    ]"#,
            ),
            (
                r#"{"NaN": "NaN \" NaN \\", "a": NaN}"#,
                r#"{"NaN": "NaN \" NaN \\", "a":null}"#,
            ),
            (r#"{"a": -1, "b": "NaN"#, r#"{"a": -1, "b": "NaN"#),
            ("NaN\\", "null\\"),
            ("NaN \\é", "null \\é"),
        ] {
            assert_eq!(as_null(text.into()), expected);
        }
        assert!(matches!(as_null("[1]".into()), Cow::Borrowed(_)));
    }
}
