//! The output of a benchmark as text.
//!
//! A document is strict: anything but text is damage. Lines often have text for a terminal, which
//! is not part of a value: colors, a line that is written over, a byte order mark, and the µ of
//! Latin-1.

use std::borrow::Cow;

use memchr::{memchr, memmem, memrchr};

use super::{OutputPosition, ReadError};

const ESCAPE: char = '\u{1b}';

/// A document, in UTF-8, or in UTF-16 with a byte order mark.
pub(super) fn document(output: &[u8]) -> Result<Cow<'_, str>, ReadError> {
    if let Some(text) = utf_16(output) {
        return Ok(text.into());
    }
    utf_8(output).map(Cow::Borrowed)
}

/// A document in UTF-8.
pub(super) fn utf_8(output: &[u8]) -> Result<&str, ReadError> {
    match std::str::from_utf8(output) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let sound = String::from_utf8_lossy(&output[..error.valid_up_to()]);
            Err(ReadError::NotUtf8(place_at(&sound, sound.len())))
        }
    }
}

/// Lines, without colors. A line that is not UTF-8 is taken for Latin-1, which every sequence
/// of bytes is.
pub(super) fn lines(output: &[u8]) -> Cow<'_, str> {
    let text: Cow<str> = match utf_16(output) {
        Some(text) => text.into(),
        None => match std::str::from_utf8(output) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text).into(),
            Err(_) => (output.split_inclusive(|byte| *byte == b'\n'))
                .map(|line| match std::str::from_utf8(line) {
                    Ok(line) => line.to_owned(),
                    Err(_) => line.iter().map(|byte| char::from(*byte)).collect(),
                })
                .collect::<String>()
                .into(),
        },
    };
    if text.contains(ESCAPE) {
        without_escapes(&text).into()
    } else {
        text
    }
}

/// The lines with their indices, and true for each that has an end: the last one may have none, and
/// may then be cut off within a number or a name.
pub(super) fn lines_with_ends(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let lines = text.split_inclusive('\n').enumerate();
    lines.map(|(index, line)| match line.strip_suffix('\n') {
        Some(line) => (index, shown(line), true),
        None => (index, shown(line), false),
    })
}

/// The lines that contain a text, which has no end of a line in it. A walk through the lines takes
/// ten times as long where few have it.
pub(super) fn lines_with<'a>(text: &'a str, needle: &'a str) -> impl Iterator<Item = &'a str> {
    let finder = memmem::Finder::new(needle);
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let found = finder.find(rest.as_bytes())?;
        let start = memrchr(b'\n', &rest.as_bytes()[..found]).map_or(0, |end| end + 1);
        let line = rest.get(start..)?.lines().next()?;
        let end = memchr(b'\n', &rest.as_bytes()[found..]);
        at += end.map_or(rest.len(), |end| found + end + 1);
        Some(line)
    })
}

/// Returns true if a text contains another one.
pub(super) fn has(text: &str, needle: &str) -> bool {
    memmem::find(text.as_bytes(), needle.as_bytes()).is_some()
}

/// The last characters of a text: at most this many.
pub(super) fn last_characters(text: &str, most: usize) -> &str {
    match text.char_indices().rev().nth(most.saturating_sub(1)) {
        Some((start, _)) => &text[start..],
        None => text,
    }
}

/// The final text of a line on a terminal, after being written over.
pub(super) fn shown(line: &str) -> &str {
    // Few lines have one.
    if !line.contains('\r') {
        return line;
    }
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or(line)
}

/// UTF-16 with a byte order mark.
pub(super) fn utf_16(output: &[u8]) -> Option<String> {
    let unit: fn([u8; 2]) -> u16 = match output {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units = output[2..].chunks_exact(2);
    let units: Vec<u16> = units.map(|pair| unit([pair[0], pair[1]])).collect();
    Some(String::from_utf16_lossy(&units))
}

/// Leaves out the escape sequences of ECMA-48: `ESC [ … letter`, `ESC ] … BEL`, and `ESC` with
/// one character or two.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != ESCAPE {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('[') => {
                // A sequence without an end must not swallow the next line.
                while let Some(next) = characters.next_if(|next| *next != '\n') {
                    if ('\u{40}'..='\u{7e}').contains(&next) {
                        // Back to the beginning of the line, to write over it.
                        if next == 'G' {
                            plain.push('\r');
                        }
                        break;
                    }
                }
            }
            Some(']') => {
                while let Some(next) = characters.next_if(|next| *next != '\n') {
                    if next == '\u{7}' {
                        break;
                    }
                    if next == ESCAPE {
                        characters.next_if_eq(&'\\');
                        break;
                    }
                }
            }
            // `ESC ( B` chooses letters.
            Some(' '..='/') => {
                characters.next_if(|next| *next != '\n');
            }
            Some('\n') => plain.push('\n'),
            Some(_) | None => {}
        }
    }
    plain
}

/// The place of a byte in a text.
pub(super) fn place_at(text: &str, byte: usize) -> OutputPosition {
    let before = text.get(..byte).unwrap_or(text);
    let last_line = before.rsplit('\n').next().unwrap_or_default();
    OutputPosition::Text {
        line: before.matches('\n').count() + 1,
        column: last_line.chars().count() + 1,
    }
}

/// The column, counted from 1 in characters, of a part of a line.
pub(super) fn column_of(line: &str, part: &str) -> usize {
    let before = (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    line.get(..before).unwrap_or_default().chars().count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_left_out() {
        for (colored, plain) in [
            ("time: \u{1b}[32m5 ms\u{1b}[0m\n", "time: 5 ms\n"),
            ("\u{1b}[1;38;5;12mtime\u{1b}[m: 5", "time: 5"),
            ("\u{1b}]0;title\u{7}time: 5", "time: 5"),
            (
                "\u{1b}]8;;http://a\u{1b}\\time\u{1b}]8;;\u{1b}\\: 5",
                "time: 5",
            ),
            ("\u{1b}(Btime: 5\u{1b}", "time: 5"),
            ("cut \u{1b}[3\ntime: 5", "cut \ntime: 5"),
            ("3 %\u{1b}[0Gtime: 5", "3 %\rtime: 5"),
        ] {
            assert_eq!(lines(colored.as_bytes()), plain);
        }
    }

    #[test]
    fn other_encodings_are_read() {
        assert_eq!(lines(b"a\n5 \xb5s\n\xc2\xb5\n"), "a\n5 µs\nµ\n");
        assert_eq!(lines(b"\xef\xbb\xbfa: 5"), "a: 5");
        assert_eq!(lines(b"\xff\xfea\0:\0 \x005\0"), "a: 5");
        assert_eq!(lines(b"\xfe\xff\0a\0:\0 \x005"), "a: 5");
        assert!(matches!(
            document(b"{\"a\": \xff}"),
            Err(ReadError::NotUtf8(_))
        ));
        assert!(matches!(document(b"\xff\xfe{\0}\0"), Ok(text) if text == "{}"));
    }

    proptest::proptest! {
        #[test]
        fn lines_with_a_text_are_those_of_a_walk(
            text in "[ab\r\né]{0,30}", needle in "[abé]{1,2}",
        ) {
            let walked: Vec<&str> = text.lines().filter(|line| line.contains(&needle)).collect();
            proptest::prop_assert_eq!(lines_with(&text, &needle).collect::<Vec<_>>(), walked.clone());
            proptest::prop_assert_eq!(has(&text, &needle), !walked.is_empty());
        }
    }

    #[test]
    fn only_the_last_writing_of_a_line_is_shown() {
        assert_eq!(shown("10 %\r100 %\rtime: 5 ms\r"), "time: 5 ms");
        assert_eq!(shown("time: 5 ms"), "time: 5 ms");
    }
}
