//! Foreign text in our pages.
//!
//! Subjects of commits, commands, names of metrics and outputs of programs may hold anything. The
//! template escapes HTML's special characters; this handles the rest: control characters, which may
//! hide something or are not allowed in HTML, and characters that change the direction of the text
//! around them, which `<bdi>` isolates and which are shown as what they are.

use std::borrow::Cow;

use maud::{Markup, Render, html};

use crate::text;

/// Foreign text, on a line.
#[derive(Debug, Clone, Copy)]
pub struct Foreign<'a>(pub &'a str);

impl Render for Foreign<'_> {
    fn render(&self) -> Markup {
        html! { bdi { (clean(self.0)) } }
    }
}

/// The text with invisible or disruptive characters made visible as U+FFFD. Line breaks and tabs
/// stay.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.contains(is_unseen) {
        Cow::Owned(text.replace(is_unseen, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn is_unseen(character: char) -> bool {
    text::is_unseen(character)
        // Noncharacters, which HTML does not allow.
        || matches!(character, '\u{fdd0}'..='\u{fdef}')
        || u32::from(character) & 0xfffe == 0xfffe
}

/// The output of a program, without the sequences that color a terminal.
pub(super) fn output(text: &str) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    clean(&text.replace("\r\n", "\n")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_stays_text() {
        let subject =
            "</script><script>alert(1)</script> & \"x\" 'y' \u{202e}txt.exe\u{7}\0\u{1b}[31m";
        let text = html! { p title=(clean(subject)) { (Foreign(subject)) } }.into_string();
        assert!(
            !text.contains("<script") && !text.contains("</script"),
            "{text}"
        );
        assert!(
            text.contains("&lt;/script&gt;") && text.contains("&amp;") && text.contains("&quot;")
        );
        assert!(
            text.contains("\u{fffd}txt.exe\u{fffd}\u{fffd}\u{fffd}[31m"),
            "{text}"
        );
        assert_eq!(text.matches("<bdi>").count(), 1);
    }

    #[test]
    fn words_from_right_to_left_stay_as_they_are() {
        for text in ["שלום\u{200f} עולם", "naïve – ü\ttab\nline", "日本"] {
            assert_eq!(clean(text), text);
        }
    }

    #[test]
    fn an_output_loses_its_colors_and_keeps_its_lines() {
        assert_eq!(
            output("\u{1b}[31mred\u{1b}[0m\r\nnext\u{202e}"),
            "red\nnext\u{fffd}"
        );
    }
}
