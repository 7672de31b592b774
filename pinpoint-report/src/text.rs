//! Foreign text, without invisible characters, and of limited length.

use std::borrow::Cow;
use std::error::Error;

/// The longest name of a metric in a table. (Formatting panics at a width of 65,536.)
pub const LONGEST_NAME: usize = 120;

/// Foreign text with everything that would command a terminal, or change how the text
/// around it shows, made visible as U+FFFD. Line breaks and tabs stay.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.contains(is_unseen) {
        Cow::Owned(text.replace(is_unseen, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Like [`plain`], on one line and short enough for a table.
pub fn name(text: &str) -> String {
    shortened(&plain(text).replace(['\n', '\t'], "\u{fffd}"), LONGEST_NAME).into_owned()
}

/// Control characters, and those that change the direction of the text around them: embeddings,
/// overrides and isolates (Unicode TR 9). The marks, which words written from right to left need,
/// stay.
pub fn is_unseen(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text of at most this many characters: the beginning and the end, with the number of
/// characters left out between them.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= most {
        return Cow::Borrowed(text);
    }
    let (head, tail) = (most - most / 4, most / 4);
    let at = |place: usize| {
        let found = text.char_indices().nth(place);
        found.map_or(text.len(), |(byte, _)| byte)
    };
    Cow::Owned(format!(
        "{}… [{} characters left out] …{}",
        &text[..at(head)],
        length - most,
        &text[at(length - tail)..]
    ))
}

/// The longest message of an error, which may quote the output of a benchmark.
const LONGEST_MESSAGE: usize = 4_096;

/// The message of an error, followed by those of its sources that it does not contain.
pub fn message(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = error.source();
    }
    shortened(&text, LONGEST_MESSAGE).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_unseen_stays_in_foreign_text() {
        assert_eq!(
            plain("red \u{1b}[31m\u{7}\u{9b}2J\u{7f} ok\r"),
            "red \u{fffd}[31m\u{fffd}\u{fffd}2J\u{fffd} ok\u{fffd}"
        );
        assert_eq!(plain("\u{202e}exe.txt\u{2066}"), "\u{fffd}exe.txt\u{fffd}");
        for text in ["שלום\u{200f} עולם", "naïve – ü\ttab\nline", "日本"] {
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn long_text_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(
            shortened("ääääööööüüüü", 8),
            "ääääöö… [4 characters left out] …üü"
        );
        assert!(name(&"x".repeat(65_536)).chars().count() < 200);
        assert_eq!(name("a\nb\u{1b}"), "a\u{fffd}b\u{fffd}");
    }
}
