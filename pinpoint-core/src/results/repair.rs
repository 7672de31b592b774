//! Repairs a document with something in it that is not its own.
//!
//! A program that writes JSON to standard output may log there, too, and a name may be in Latin-1.
//! Neither changes a value. Text that may be part of a damaged document is never left out: half a
//! result would pass for a whole one.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use memchr::memchr2_iter;
use serde::de::IgnoredAny;

use super::log_prefix::without_prefix;
use super::text::{place_at, utf_16};
use super::{not_a_number, number};

/// The most lines inside a document that are left out. Each costs a walk through the document.
const MOST_INSIDE: usize = 8;

/// The most characters of a line in a remark.
const MOST_CHARACTERS: usize = 80;

/// A document as its program meant it, with remarks on the changes.
pub(super) struct Repaired<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) remarks: Vec<String>,
}

/// Repairs a document that can't be read, if anything in it can be repaired. Of a text with lines
/// before and after the document, only the document is left; else the places in it stay the same.
pub(super) fn repaired(output: &[u8]) -> Option<Repaired<'_>> {
    let (text, encoding) = match utf_16(output) {
        Some(text) => (text.into(), None),
        None => with_latin_1(output),
    };
    let mut remarks: Vec<String> = encoding.into_iter().collect();
    let text = match other_lines(&text) {
        Some(Others { lines, document }) if !lines.is_empty() => {
            remarks.push(on_lines(&text, &lines));
            match (text, document) {
                // A copy would take as much memory as the output.
                (Cow::Borrowed(text), Some(document)) => text[document].into(),
                (text, _) => without(&text, &lines).into(),
            }
        }
        _ => text,
    };
    (!remarks.is_empty()).then_some(Repaired { text, remarks })
}

/// UTF-8 in which other bytes are Latin-1, with a remark on them.
fn with_latin_1(output: &[u8]) -> (Cow<'_, str>, Option<String>) {
    let output = output.strip_prefix(b"\xef\xbb\xbf").unwrap_or(output);
    if let Ok(text) = std::str::from_utf8(output) {
        return (text.into(), None);
    }
    let mut text = String::with_capacity(output.len());
    let mut first = None;
    let mut count = 0;
    for chunk in output.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            first = first.or(Some(text.len()));
        }
        count += chunk.invalid().len();
        text.extend(chunk.invalid().iter().map(|byte| char::from(*byte)));
    }
    let place = place_at(&text, first.unwrap_or_default());
    let remark = match count {
        1 => format!("{place} is not UTF-8: it was read as Latin-1"),
        _ => format!("{count} bytes from {place} on are not UTF-8: they were read as Latin-1"),
    };
    (text.into(), Some(remark))
}

/// The first byte of a document behind lines of a log.
pub(super) fn document_start(text: &str) -> Option<usize> {
    begin(text).map(|(at, _)| at)
}

/// Returns true if a text is one whole document between lines of a log.
pub(super) fn is_whole_in_log(text: &str) -> bool {
    other_lines(text).is_some()
}

/// The lines around and in the only JSON document of a text.
struct Others {
    /// The indices of those that are not part of it.
    lines: Vec<usize>,
    /// The document, if all of them stand around it.
    document: Option<Range<usize>>,
}

/// The lines before, in and after the only JSON document of a text that are not part of it. `None`
/// if there is no such document, or one of the lines may belong to it.
fn other_lines(text: &str) -> Option<Others> {
    let (at, mut others) = begin(text)?;
    let first = text[..at].matches('\n').count();
    let mut document = not_a_number::as_null(text[at..].into());
    let outside = others.len();
    let end = loop {
        let mut values = serde_json::Deserializer::from_str(&document).into_iter::<IgnoredAny>();
        match values.next()? {
            Ok(_) => break values.byte_offset(),
            // It is cut off.
            Err(error) if error.is_eof() || others.len() - outside == MOST_INSIDE => return None,
            Err(error) => {
                let index = error.line().checked_sub(1)?;
                let line = document.split('\n').nth(index)?;
                if !is_of_a_log(line) || line.split_whitespace().nth(1).is_none() {
                    return None;
                }
                let from = line.as_ptr() as usize - document.as_ptr() as usize;
                let range = from..from + line.len();
                document.to_mut().replace_range(range, "");
                others.push(first + index);
            }
        }
    };
    let last = first + document[..end].matches('\n').count();
    let mut after = document[end..].split('\n');
    if !after.next()?.trim().is_empty() {
        return None;
    }
    for (index, line) in after.enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if !is_of_a_log(line) {
            return None;
        }
        others.push(last + 1 + index);
    }
    // In a copy, something was replaced.
    let document = matches!(document, Cow::Borrowed(_)).then_some(at..at + end);
    Some(Others {
        lines: others,
        document,
    })
}

/// The first byte of the document, and the indices of the lines before it.
fn begin(text: &str) -> Option<(usize, Vec<usize>)> {
    // Few texts have a document, and the lines of the others are not looked at.
    if !may_have_document(text) {
        return None;
    }
    let mut before = Vec::new();
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let trimmed = line.trim();
        if trimmed.starts_with(['{', '[']) && !has_a_tag(trimmed) {
            return Some((at, before));
        }
        if !trimmed.is_empty() {
            if !is_of_a_log(line) {
                return None;
            }
            before.push(index);
        }
        at += line.len();
    }
    None
}

/// Returns true if a document may begin in any line.
fn may_have_document(text: &str) -> bool {
    let mut brackets = memchr2_iter(b'{', b'[', text.as_bytes());
    brackets.any(|at| {
        let before = text[..at].trim_end_matches(|it: char| it != '\n' && it.is_whitespace());
        // Only of the first bracket of a line the rest is walked through.
        (before.is_empty() || before.ends_with('\n'))
            && !has_a_tag(text[at..].split('\n').next().unwrap_or_default().trim_end())
    })
}

/// Returns true if a line can't be one of a document in JSON, not even of a damaged one.
fn is_of_a_log(line: &str) -> bool {
    let line = line.trim();
    if has_a_tag(line) {
        return true;
    }
    let is_word = |word: &str| {
        number::printed(word).is_none()
            && !["true", "false", "null", "NaN", "Infinity"].contains(&word)
            && !word.starts_with(|it: char| it.is_ascii_digit())
    };
    let mut words = line.split_whitespace();
    let is_prose = words.next().is_some_and(is_word) || without_prefix(line).len() < line.len();
    let is_json = line.starts_with(['{', '}', '[', ']', '"', ',', ':'])
        || line.ends_with(['{', '[', ',', '"'])
        || line.contains("\":")
        || line.ends_with('}') && !line.contains('{')
        || line.ends_with(']') && !line.contains('[');
    is_prose && !is_json
}

/// Returns true if a line begins with a tag, as `[info] started` or `[50%] built` do.
fn has_a_tag(line: &str) -> bool {
    let tagged = line.strip_prefix('[').and_then(|line| line.split_once(']'));
    tagged.is_some_and(|(tag, rest)| {
        !tag.is_empty()
            && !tag.contains(['"', '{', '[', ','])
            && rest.starts_with([' ', '\t'])
            && !rest.ends_with(['{', '[', ',', '"', ']', '}'])
            && !rest.trim_start().starts_with([',', ']', '}'])
    })
}

/// The text with empty lines in the place of these, so that places in it stay the same.
fn without(text: &str, lines: &[usize]) -> String {
    let lines: BTreeSet<usize> = lines.iter().copied().collect();
    let kept = text.split_inclusive('\n').enumerate();
    kept.map(|(index, line)| match lines.contains(&index) {
        true if line.ends_with('\n') => "\n",
        true => "",
        false => line,
    })
    .collect()
}

fn on_lines(text: &str, lines: &[usize]) -> String {
    let first = lines.iter().min().copied().unwrap_or_default();
    let shown = text.lines().nth(first).unwrap_or_default().trim();
    let shown: String = shown.chars().take(MOST_CHARACTERS).collect();
    let line = first + 1;
    match lines.len() {
        1 => format!("line {line} is not part of the JSON document and was left out: `{shown}`"),
        count => format!(
            "{count} lines are not part of the JSON document and were left out, the first of them line {line}: `{shown}`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(text: &str) -> Option<Vec<usize>> {
        let Others { mut lines, .. } = other_lines(text)?;
        lines.sort_unstable();
        Some(lines)
    }

    #[test]
    fn lines_of_a_log_are_found() {
        for (text, expected) in [
            ("{\"a\": 1}\n", vec![]),
            ("Running ./bench\n[info] started\n\n{\"a\": 1}", vec![0, 1]),
            (
                "12:00:01 INFO x\n[\n1,\nWARNING: slow\n2]\ndone [ok]\n",
                vec![0, 3, 5],
            ),
            ("***WARNING*** CPU scaling\n[{\"a\": NaN}]\n", vec![0]),
            ("{\n\"a\": 1\n}\nWrote 5 files: x.json\n", vec![3]),
            ("2026-11-26 10:00:00,123 INFO x\n{}", vec![0]),
        ] {
            assert_eq!(left_out(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn lines_that_may_be_of_the_document_are_not() {
        for text in [
            "no document\n",
            // Two documents.
            "{\"a\": 1}\n{\"a\": 2}\n",
            "[1]\n[2]\n",
            "{\"a\": 1}\nx\n{\"a\": 2}\n",
            // Cut off, at the end and at the beginning.
            "start\n{\"a\": [1,\n2",
            "\"a\": 1,\n\"b\": {\n}\n",
            "1.5,\n[2]\n",
            "42\n[2]\n",
            // Bent.
            "[\nx\n]\n",
            "{\n\"a\" 1,\n\"b\": 2}\n",
            "[\n1 2\n]\n",
            "{\"a\": 1, INFO x\n\"b\": 2}\n",
            "{\"a\": 1} done\n",
            "{\"a\": [x]}\n{\"b\": 1}\n",
            "[\nx 1,\n2]\n",
        ] {
            assert_eq!(left_out(text), None, "{text}");
        }
    }

    #[test]
    fn places_stay() {
        let repaired = repaired(b"log \xe9 x\n{\"caf\xe9\":\nINFO x\n1}").unwrap();
        assert_eq!(repaired.text, "\n{\"caf\u{e9}\":\n\n1}");
        assert_eq!(
            repaired.remarks,
            [
                "2 bytes from line 1, column 5 on are not UTF-8: they were read as Latin-1",
                "2 lines are not part of the JSON document and were left out, the first of them line 1: `log \u{e9} x`",
            ]
        );
        assert!(super::repaired(b"{\"a\": 1}").is_none());
        // A line is not walked through for each bracket in it.
        let brackets = format!("log {}\n", "[".repeat(1 << 20));
        assert!(!may_have_document(&brackets));
        // Nothing is copied where only the document is left.
        let around = super::repaired(b"log x\n{\"a\": 1}\nlog y\n").unwrap();
        assert!(matches!(around.text, Cow::Borrowed("{\"a\": 1}")));
    }
}
