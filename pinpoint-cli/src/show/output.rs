//! The screen: the one place where anything is printed.
//!
//! Results go to standard output, everything else to standard error. A screen that fails stops no
//! command: a job continues and keeps its result. The first failure of standard output is
//! remembered, and decides at the end how the command exits.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;
use pinpoint_report::quantity::without_noise;
use pinpoint_report::text::is_unseen;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use crate::show::text::Text;

/// The live view on standard error, above which lines are printed.
static LIVE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// The error after which standard output takes no more.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// A line on standard output. Use it as `println!`.
macro_rules! outln {
    ($($argument:tt)*) => {
        $crate::show::output::print(format_args!("{}\n", format_args!($($argument)*)))
    };
}

/// A line on standard error. Use it as `eprintln!`.
macro_rules! errln {
    ($($argument:tt)*) => {
        $crate::show::output::print_error(format_args!("{}\n", format_args!($($argument)*)))
    };
}

pub(crate) use {errln, outln};

/// Prints on standard output.
pub(crate) fn print(arguments: fmt::Arguments<'_>) {
    print_text(&Text::from_format(arguments));
}

/// Prints on standard error. A failure can't be reported anywhere.
pub(crate) fn print_error(arguments: fmt::Arguments<'_>) {
    print_error_text(&Text::from_format(arguments));
}

/// Prints a text on standard output, with all the styles it has.
pub(crate) fn print_text(text: &Text) {
    print_to(&mut stdout(), &mut failed(), text.as_bytes());
}

/// Like [`print_text`], on standard error.
pub(crate) fn print_error_text(text: &Text) {
    let print = || print_to(&mut stderr(), &mut None, text.as_bytes());
    let bar = LIVE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Lines on standard error are printed above this view from here on, if there is one.
pub(crate) fn keep_above(view: Option<ProgressBar>) {
    *LIVE.lock().unwrap_or_else(PoisonError::into_inner) = view;
}

/// Prints a result as indented JSON, without the noise of binary arithmetic.
pub(crate) fn print_result_json(result: &impl Serialize) {
    print_json(noise_free_json(result, PrettyFormatter::new()));
}

/// Prints a result as JSON on one line, without the noise of binary arithmetic.
pub(crate) fn print_short_json(result: &impl Serialize) {
    print_json(noise_free_json(result, CompactFormatter));
}

/// Serializes a document and rounds the noise of binary arithmetic off its numbers.
fn noise_free_json(result: &impl Serialize, formatter: impl Formatter) -> String {
    let mut text = Vec::new();
    let formatter = NoiseFree(formatter);
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
    // Every key is a string, and the text is in memory: this can't fail.
    let _ = result.serialize(&mut serializer);
    String::from_utf8(text).unwrap_or_default()
}

/// Formats JSON as `F` does, except that it rounds the noise off numbers.
struct NoiseFree<F>(F);

impl<F: Formatter> Formatter for NoiseFree<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        self.0.write_f64(writer, without_noise(value))
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

/// Prints a JSON document on standard output, with a line break.
pub(crate) fn print_json(document: impl Display) {
    let text = visible_json(&format!("{document}\n"));
    print_to(&mut stdout(), &mut failed(), text.as_bytes());
}

/// Prints bytes for a tool, unchanged, whatever they mean to a terminal.
#[expect(clippy::disallowed_methods, reason = "this is the output module")]
pub(crate) fn print_bytes(bytes: &[u8]) {
    print_to(&mut io::stdout(), &mut failed(), bytes);
}

/// Returns true if standard output is shown to somebody.
#[expect(clippy::disallowed_methods, reason = "this is the output module")]
pub(crate) fn is_shown() -> bool {
    io::stdout().is_terminal()
}

/// JSON Lines on standard output, where any amount of them is written. Errors are
/// given back, so that the caller stops, and remembered.
pub(crate) fn json_lines() -> impl Write + Send {
    JsonLines(Vec::new())
}

struct JsonLines(Vec<u8>);

impl Write for JsonLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.0.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let text = visible_json(&String::from_utf8_lossy(&self.0));
                self.0.clear();
                write_to(&mut stdout(), &mut failed(), text.as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The failure of standard output, to be reported at the end: nothing if its reader has left.
pub(crate) fn failure() -> Option<Failure> {
    failed().take().map(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::ReaderLeft,
        _ => Failure::Error(error),
    })
}

/// The error of standard output.
#[derive(Debug)]
pub(crate) enum Failure {
    ReaderLeft,
    Error(io::Error),
}

/// Returns true if a live view can be shown on standard error.
#[expect(clippy::disallowed_methods, reason = "this is the output module")]
pub(crate) fn is_live() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[expect(clippy::disallowed_methods, reason = "this is the output module")]
fn stdout() -> impl Write {
    anstream::stdout()
}

#[expect(clippy::disallowed_methods, reason = "this is the output module")]
fn stderr() -> impl Write {
    anstream::stderr()
}

fn failed() -> MutexGuard<'static, Option<io::Error>> {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes, unless it has failed before.
fn print_to(writer: &mut impl Write, failed: &mut Option<io::Error>, bytes: &[u8]) {
    if failed.is_none() {
        // Remembered there.
        let _ = write_to(writer, failed, bytes);
    }
}

fn write_to(
    writer: &mut impl Write,
    failed: &mut Option<io::Error>,
    bytes: &[u8],
) -> io::Result<()> {
    // Flushed, since a failure at the end of the process would be lost.
    let written = writer.write_all(bytes).and_then(|()| writer.flush());
    if let Err(error) = &written {
        // An error can't be copied; its number says the same.
        *failed = Some(match error.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => error.kind().into(),
        });
    }
    written
}

/// JSON with the characters that a terminal would obey escaped. They occur in strings
/// only, so that the document stays the same.
fn visible_json(json: &str) -> String {
    if !json.contains(is_unseen) {
        return json.to_owned();
    }
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if is_unseen(character) {
            // All of them are in the basic plane.
            text.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_written_as_json_without_noise() {
        let result = serde_json::json!({ "a": [0.1 + 0.2, 1], "b": {}, "c": [], "d": null });
        assert_eq!(
            noise_free_json(&result, CompactFormatter),
            result.to_string().replace("0.30000000000000004", "0.3")
        );
        assert_eq!(
            noise_free_json(&result, PrettyFormatter::new()),
            format!("{result:#}").replace("0.30000000000000004", "0.3")
        );
    }

    /// A disk with room for this many bytes, or a reader that leaves after them.
    struct Limited(usize, ErrorKind, Vec<u8>);

    impl Write for Limited {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.min(bytes.len()) {
                0 => Err(self.1.into()),
                length => {
                    self.0 -= length;
                    self.2.extend_from_slice(&bytes[..length]);
                    Ok(length)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_writer_that_fails_is_left_alone_and_its_first_error_is_kept() {
        for kind in [ErrorKind::StorageFull, ErrorKind::BrokenPipe] {
            let mut writer = Limited(5, kind, Vec::new());
            let mut failed = None;
            print_to(&mut writer, &mut failed, b"four");
            assert!(failed.is_none());
            print_to(&mut writer, &mut failed, b"more");
            assert_eq!(failed.as_ref().map(io::Error::kind), Some(kind));
            writer.0 = 100;
            print_to(&mut writer, &mut failed, b"later");
            assert_eq!(writer.2, b"fourm");
        }
    }

    #[test]
    fn json_stays_the_same_and_commands_no_terminal() {
        let document = serde_json::json!({ "a\u{9b}": "b\u{202e}c\u{7f}\u{1b}\n\td", "e": "日本" });
        for text in [document.to_string(), format!("{document:#}")] {
            let shown = visible_json(&text);
            assert!(!shown.contains(is_unseen), "{shown}");
            let again: serde_json::Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(again, document);
        }
    }
}
