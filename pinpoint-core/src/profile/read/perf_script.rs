//! The text that `perf script` writes.
//!
//! ```text
//! words 20330   587.513722:    2004008 cpu-clock:
//!             1160 hash+0x17 (/usr/bin/words)
//!             12fb main+0xb8 (/usr/bin/words)
//! ```
//!
//! A line for each event, its stack below it, the leaf first, and an empty line. An event
//! counts with its period: of the clocks, nanoseconds; of `cycles` and the like, events.
//! Where the text has no periods, each sample counts one. Checked with perf 6.1.

use hashbrown::HashMap;

use super::{cut_short, misshapen};
use crate::profile::builder::Builder;
use crate::profile::{
    Frame, FrameId, Profile, ProfileFormat, ProfileUnit, ReadProfileError, Stacks, ThreadId,
};
use crate::results::Place;

const FORMAT: ProfileFormat = ProfileFormat::PerfScript;

/// The first line that is no comment begins an event.
pub(in crate::profile) fn recognise(beginning: &str) -> bool {
    let mut lines = beginning.lines().filter(|line| !is_skipped(line));
    lines.next().is_some_and(|line| header(line).is_some())
}

fn is_skipped(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// The line that begins an event.
struct Header<'a> {
    /// Command and thread, as they stand there.
    thread: &'a str,
    seconds: f64,
    period: Option<f64>,
    event: &'a str,
    /// Without call graphs, the only function stands in the same line.
    rest: &'a str,
}

fn header(line: &str) -> Option<Header<'_>> {
    let (before, time, after) = time(line)?;
    // A processor in brackets is no part of the thread.
    let thread = match before.trim_end().rsplit_once(" [") {
        Some((thread, processor)) if processor.ends_with(']') => thread,
        _ => before,
    };
    thread.trim().rsplit_once(char::is_whitespace)?;
    let (first, others) = split_word(after.trim_start());
    let (period, event, rest) = match first.parse::<f64>() {
        Ok(period) => {
            let (event, rest) = split_word(others);
            (Some(period), event, rest)
        }
        Err(_) => (None, first, others),
    };
    Some(Header {
        thread: thread.trim(),
        seconds: time,
        period,
        event: event.strip_suffix(':')?,
        rest: rest.trim(),
    })
}

/// The first word that is a time, `587.513722:`, with what stands before and after it.
fn time(line: &str) -> Option<(&str, f64, &str)> {
    let mut from = 0;
    while let Some(at) = line.get(from..)?.find(':') {
        let colon = from + at;
        let before = line.get(..colon)?;
        let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = before.get(start..)?;
        let is_time = word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if is_time && let Ok(seconds) = word.parse() {
            return Some((line.get(..start)?, seconds, line.get(colon + 1..)?));
        }
        from = colon + 1;
    }
    None
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// An event's name without its modifiers: `cycles` of `cycles:u`.
fn event_name(event: &str) -> &str {
    match event.rsplit_once(':') {
        Some((name, modifiers)) if modifiers.bytes().all(|b| b"ukhGHpPSDWe".contains(&b)) => name,
        _ => event,
    }
}

pub(in crate::profile) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() {
            reader.end();
        } else if reader.event.is_some() && is_of_stack(line) {
            reader.in_stack = true;
            reader.stack_line(line, index)?;
        } else if !is_skipped(line) {
            reader.end();
            reader.begin(line, index)?;
        }
    }
    // perf ends every line, and every stack with an empty one: without its end, the last function
    // or its stack is not whole.
    if !text.ends_with('\n') || reader.in_stack {
        return Err(cut_short(FORMAT, text));
    }
    reader.end();
    let unit = match reader.unit {
        Some((_, unit)) => unit,
        None => ProfileUnit::Samples,
    };
    reader.builder.finish(
        FORMAT,
        unit,
        "check that the program ran long enough, and that perf record was allowed to sample it",
    )
}

/// A line of a stack is indented. Without call graphs, events may be as well: commands are
/// right-aligned.
fn is_of_stack(line: &str) -> bool {
    line.starts_with('\t') || (line.starts_with(' ') && header(line).is_none())
}

#[derive(Default)]
struct Reader<'a> {
    builder: Builder,
    threads: HashMap<&'a str, ThreadId>,
    frames: HashMap<&'a str, FrameId>,
    unit: Option<(&'a str, ProfileUnit)>,
    event: Option<Event>,
    /// The event's stack stands below it, and has not ended.
    in_stack: bool,
    /// Of the event, the leaf first.
    stack: Vec<Line<'a>>,
}

struct Event {
    thread: ThreadId,
    weight: f64,
    nanoseconds: f64,
}

#[derive(Clone, Copy)]
enum Line<'a> {
    Frame(FrameId),
    /// The name of a function that is inlined into the one after it.
    Inlined(&'a str),
}

impl<'a> Reader<'a> {
    fn begin(&mut self, line: &'a str, index: usize) -> Result<(), ReadProfileError> {
        let Some(header) = header(line) else {
            return Err(misshapen(FORMAT, index, 1, "no event begins in this line"));
        };
        if !header.period.is_none_or(|period| period >= 0.0) {
            return Err(misshapen(
                FORMAT,
                index,
                1,
                "the period of an event is not a count",
            ));
        }
        let event = event_name(header.event);
        let unit = match event {
            _ if header.period.is_none() => ProfileUnit::Samples,
            "cpu-clock" | "task-clock" => ProfileUnit::Nanoseconds,
            event => ProfileUnit::named(event).0,
        };
        match &self.unit {
            Some((first, _)) if *first != event => {
                return Err(ReadProfileError::TwoUnits {
                    place: Place::Text {
                        line: index + 1,
                        column: 1,
                    },
                    first: (*first).to_owned(),
                    second: event.to_owned(),
                });
            }
            Some((_, known)) if *known != unit => {
                return Err(misshapen(FORMAT, index, 1, "a sample without its period"));
            }
            Some(_) => {}
            None => self.unit = Some((event, unit)),
        }
        let thread = *self
            .threads
            .entry(header.thread)
            .or_insert_with(|| self.builder.thread(header.thread));
        self.event = Some(Event {
            thread,
            weight: header.period.unwrap_or(1.0),
            nanoseconds: header.seconds * 1e9,
        });
        if !header.rest.is_empty() && is_frame(header.rest) {
            self.stack_line(header.rest, index)?;
        }
        Ok(())
    }

    fn stack_line(&mut self, line: &'a str, index: usize) -> Result<(), ReadProfileError> {
        let line = line.trim();
        if let Some(frame) = self.frames.get(line) {
            self.stack.push(Line::Frame(*frame));
            return Ok(());
        }
        let (address, function) = split_word(line);
        if !is_frame(line) {
            // With `-F +srcline` the source stands below each function.
            let is_source = |text: &str| {
                text.rsplit_once(':').is_some_and(|(_, line)| {
                    line.bytes().all(|byte| byte.is_ascii_digit()) && !line.is_empty()
                })
            };
            if is_source(address) || is_source(line) {
                return Ok(());
            }
            return Err(misshapen(FORMAT, index, 1, "no function of a stack"));
        }
        if let Some(name) = function.strip_suffix(" (inlined)") {
            self.stack.push(Line::Inlined(name));
            return Ok(());
        }
        let (symbol, module) = match function.strip_suffix(')').and_then(split_module) {
            Some(parts) => parts,
            None => (function, ""),
        };
        let symbol = match symbol.rsplit_once("+0x") {
            Some((name, offset)) if offset.bytes().all(|b| b.is_ascii_hexdigit()) => name,
            _ => symbol,
        };
        let known = |name: &'a str| if name == "[unknown]" { "" } else { name };
        let frame = Frame {
            name: self.builder.name(known(symbol)),
            module: self.builder.name(known(module)),
            ..Frame::default()
        };
        let frame = self.builder.frame(frame);
        self.frames.insert(line, frame);
        self.stack.push(Line::Frame(frame));
        Ok(())
    }

    /// The event and its stack are whole.
    fn end(&mut self) {
        self.in_stack = false;
        let Some(event) = self.event.take() else {
            return;
        };
        let mut stack = Stacks::ROOT;
        let mut module = crate::profile::NameId::EMPTY;
        for line in std::mem::take(&mut self.stack).into_iter().rev() {
            let frame = match line {
                Line::Frame(frame) => {
                    module = self.builder.module_of(frame);
                    frame
                }
                Line::Inlined(name) => {
                    let name = self.builder.name(name);
                    self.builder.frame(Frame {
                        name,
                        module,
                        ..Frame::default()
                    })
                }
            };
            stack = self.builder.stack(stack, frame);
        }
        self.builder
            .sample_at(stack, event.thread, event.weight, event.nanoseconds);
    }
}

/// `name (module` in its parts: a module may hold brackets of its own, `(deleted)`.
fn split_module(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_suffix(" (deleted)").unwrap_or(text);
    let at = text.rfind(" (")?;
    Some((text.get(..at)?, text.get(at + 2..)?))
}

fn is_frame(line: &str) -> bool {
    let (address, function) = split_word(line);
    !function.is_empty() && !address.is_empty() && address.bytes().all(|b| b.is_ascii_hexdigit())
}
