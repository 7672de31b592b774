//! Text for a terminal: our styles, and foreign text without the power to command the terminal.
//!
//! Names and units of metrics, subjects of commits, messages of tools and the fields
//! of imported jobs may hold anything. [`Text`] takes all of it and keeps only the
//! escape sequences of our own styles, so that no caller has to remember to filter.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use pinpoint_report::text::{LONGEST_NAME, plain, shortened};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const FOUND: Style = AnsiColor::Yellow.on_default().bold();

/// The escape sequences of the styles above, each as a separate piece.
const SEQUENCES: [&str; 6] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
];

/// Text that may be printed as it is: the only escape sequences in it are those of
/// our styles.
///
/// Formatting hands over each argument as a separate piece. A piece that is the sequence of a style
/// is kept; any other loses its control characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(String);

impl Text {
    pub(crate) fn from_format(arguments: fmt::Arguments<'_>) -> Self {
        let mut text = Self::default();
        // Writing to memory fails only if an argument does, which none here can.
        let _ = text.write_fmt(arguments);
        text
    }

    /// Text with the styles of `clap`. Any sequence that only sets a style is
    /// kept: the words of the command line are the user's own.
    pub(crate) fn of_styled(ansi: &str) -> Self {
        let mut text = String::new();
        for (number, part) in ansi.split("\u{1b}[").enumerate() {
            let end = part.find(|c: char| !c.is_ascii_digit() && c != ';');
            match end.filter(|end| part[*end..].starts_with('m')) {
                Some(end) if number > 0 => {
                    let (style, rest) = part.split_at(end + 1);
                    text.extend(["\u{1b}[", style, &plain(rest)]);
                }
                _ => text.push_str(&plain(part)),
            }
        }
        Self(text)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Write for Text {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if SEQUENCES.contains(&piece) {
            self.0.push_str(piece);
        } else {
            self.0.push_str(&plain(piece));
        }
        Ok(())
    }
}

/// In pieces again, so that a text can be part of another.
impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_str();
        while let Some(start) = rest.find('\u{1b}') {
            let end = rest[start..]
                .find('m')
                .map_or(rest.len(), |at| start + at + 1);
            formatter.write_str(&rest[..start])?;
            formatter.write_str(&rest[start..end])?;
            rest = &rest[end..];
        }
        formatter.write_str(rest)
    }
}

/// Like `format!`, but gives a [`Text`].
macro_rules! text {
    ($($argument:tt)*) => {
        $crate::show::text::Text::from_format(format_args!($($argument)*))
    };
}
pub(crate) use text;

/// A text that people or programs wrote, on one line: line breaks are spaces.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The same, short enough for a list.
pub(crate) fn in_list(text: &str) -> String {
    shortened(&one_line(text), LONGEST_NAME).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_styles_get_through() {
        let foreign = "\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[31mred";
        let expected =
            "\u{1b}[1m\u{1b}[31mx\u{1b}[0m \u{fffd}]0;title\u{fffd}\u{fffd}[2J\u{fffd}[31mred";
        let text = text!("{ERROR}x{ERROR:#} {foreign}");
        assert_eq!(text.as_bytes(), expected.as_bytes());
        // As a part of another text, with and without a width.
        assert_eq!(text!("{text}{foreign:>40}").0.matches('\u{1b}').count(), 3);
        // Every style there is, as its own escape sequences.
        for style in [BOLD, DIM, ERROR, GOOD, FOUND] {
            assert_eq!(text!("{style}a{style:#}").0, format!("{style}a{style:#}"));
        }
        // A style inside of a string is foreign: it was not given as a style.
        let string = format!("{BOLD}a{BOLD:#}");
        assert_eq!(text!("{string}").0, "\u{fffd}[1ma\u{fffd}[0m");
    }

    #[test]
    fn of_the_argument_parser_styles_are_kept_and_nothing_else() {
        let ansi = "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m \u{1b}[2Jx\u{1b}]0;y\u{7}";
        assert_eq!(
            Text::of_styled(ansi).0,
            "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m 2Jx\u{fffd}]0;y\u{fffd}"
        );
    }
}
