//! The text that `perf script` writes.
//!
//! ```text
//! words 20330   587.513722:    2004008 cpu-clock:
//!             1160 hash+0x17 (/usr/bin/words)
//!             12fb main+0xb8 (/usr/bin/words)
//! ```
//!
//! A line for each event, its stack below it, the leaf first, and an empty line. An event counts
//! with its period: of the clocks, nanoseconds; of `cycles` and the like, events. Where the text
//! has no periods, each sample counts one; it may have no times either. Of several events, one must
//! be asked for. Checked with perf 6.1.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};

use super::{cut_short, misshapen};
use crate::builder::Builder;
use crate::symbol::without_offset;
use crate::{
    Frame, FrameId, Profile, ProfileFormat, ProfileUnit, ProfileWarning, ReadProfileError, Stacks,
    ThreadId,
};
use pinpoint_document::OutputPosition;

const FORMAT: ProfileFormat = ProfileFormat::PerfScript;

/// Returns true if the first line that is not a comment begins an event.
pub(crate) fn recognize(beginning: &str) -> bool {
    let mut lines = beginning.lines().filter(|line| !is_skipped(line));
    let Some(first) = lines.next() else {
        return false;
    };
    match (header(first), lines.next()) {
        (Some(header), _) if header.seconds.is_some() => true,
        // Without a time, only the stack below identifies it.
        (Some(_), Some(second)) => is_of_stack(second) && is_frame(second.trim()),
        _ => false,
    }
}

fn is_skipped(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// The line that begins an event.
struct Header<'a> {
    /// Command and thread, unchanged.
    thread: &'a str,
    seconds: Option<f64>,
    period: Option<f64>,
    event: &'a str,
    /// Without call graphs, the only function stands in the same line.
    rest: &'a str,
}

fn header(line: &str) -> Option<Header<'_>> {
    let Some((before, time, after)) = time(line) else {
        return header_without_time(line);
    };
    // A processor in brackets is not part of the thread.
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
        seconds: Some(time),
        period,
        event: event.strip_suffix(':')?,
        rest: rest.trim(),
    })
}

/// `words 20330/20330  2004008 cpu-clock:`, which ends with the event.
fn header_without_time(line: &str) -> Option<Header<'_>> {
    let (before, event) = line
        .trim_end()
        .strip_suffix(':')?
        .rsplit_once(char::is_whitespace)?;
    let is_number = |word: &str, signs: &str| {
        word.starts_with(|sign: char| sign.is_ascii_digit())
            && word
                .chars()
                .all(|sign| sign.is_ascii_digit() || signs.contains(sign))
    };
    let mut before = before.trim_end();
    let (mut period, mut thread) = (None, before);
    // A processor in brackets is not part of the thread.
    let word = |text: &str| {
        text.rsplit_once(char::is_whitespace)
            .map(|(a, b)| (a.len(), b.len()))
    };
    let (rest, last) =
        word(before).map(|(at, length)| (&before[..at], &before[before.len() - length..]))?;
    let previous = rest
        .trim_end()
        .rsplit_once(char::is_whitespace)
        .map(|(_, word)| word);
    let is_thread = |word: &str| is_number(word, "/") || word.starts_with('[');
    if is_number(last, "") && previous.is_some_and(is_thread) {
        period = last.parse().ok();
        before = rest.trim_end();
        thread = before;
    }
    if let Some((rest, processor)) = thread.rsplit_once(" [")
        && processor.ends_with(']')
    {
        thread = rest.trim_end();
    }
    let (_, id) = thread.rsplit_once(char::is_whitespace)?;
    (is_number(id, "/") && !event.is_empty()).then(|| Header {
        thread: thread.trim(),
        seconds: None,
        period,
        event,
        rest: "",
    })
}

/// The first word that is a time, `587.513722:`, with the text before and after it. Only the first
/// colon of a word can end a time: before any other stands a colon.
fn time(line: &str) -> Option<(&str, f64, &str)> {
    let mut start = 0;
    for word in line.split_inclusive(char::is_whitespace) {
        if let Some((number, _)) = word.split_once(':')
            && number.contains('.')
            && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            && let Ok(seconds) = number.parse()
        {
            let after = start + number.len() + 1;
            return Some((line.get(..start)?, seconds, line.get(after..)?));
        }
        start += word.len();
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

pub(crate) fn read(text: &str, event: Option<&str>) -> Result<Profile, ReadProfileError> {
    let mut reader = PerfScriptReader {
        wanted: event,
        ..PerfScriptReader::default()
    };
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() {
            reader.end();
        } else if reader.event.is_some() && is_of_stack(line) {
            reader.in_stack = true;
            reader.stack_line(line, index)?;
        } else if reader.passes_over && is_of_stack(line) {
            reader.in_stack = true;
        } else if !is_skipped(line) {
            reader.end();
            reader.begin(line, index)?;
        }
    }
    // perf ends every line, and every stack with an empty one, which an editor may remove. A
    // function without its module is not whole, nor a stack that begins where no other does.
    let is_whole = |line: &str| line.strip_suffix(')').and_then(split_module).is_some();
    if !text.ends_with('\n') && !text.lines().next_back().is_some_and(is_whole) {
        return Err(cut_short(FORMAT, text));
    }
    if reader.in_stack {
        let last = reader.stack.last();
        let begins = last.is_none_or(|line| reader.outermost.contains(line));
        if !begins && !reader.outermost.is_empty() {
            return Err(cut_short(FORMAT, text));
        }
        reader.builder.warn(ProfileWarning::NoEnd);
    }
    reader.end();
    if let Some(event) = event.filter(|_| reader.unit.is_none() && !reader.others.is_empty()) {
        return Err(ReadProfileError::NoEvent {
            format: FORMAT,
            event: event.to_owned(),
            events: reader.others.iter().map(|it| (*it).to_owned()).collect(),
        });
    }
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
struct PerfScriptReader<'a> {
    builder: Builder,
    threads: HashMap<&'a str, ThreadId>,
    frames: HashMap<&'a str, FrameId>,
    unit: Option<(&'a str, ProfileUnit)>,
    /// The event that counts, where one is asked for.
    wanted: Option<&'a str>,
    /// Events that do not count.
    others: BTreeSet<&'a str>,
    /// The stack of an event that does not count follows.
    passes_over: bool,
    event: Option<Event>,
    /// True while the event's stack is read.
    in_stack: bool,
    /// The stack of the event, the leaf first.
    stack: Vec<Line<'a>>,
    /// The outermost lines of stacks.
    outermost: HashSet<Line<'a>>,
}

struct Event {
    thread: ThreadId,
    weight: f64,
    nanoseconds: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Line<'a> {
    Frame(FrameId),
    /// The name of a function that is inlined into the one after it.
    Inlined(&'a str),
}

impl<'a> PerfScriptReader<'a> {
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
        if self
            .wanted
            .is_some_and(|wanted| wanted != event && wanted != header.event)
        {
            self.passes_over = true;
            self.others.insert(event);
            return Ok(());
        }
        let unit = match event {
            _ if header.period.is_none() => ProfileUnit::Samples,
            "cpu-clock" | "task-clock" => ProfileUnit::Nanoseconds,
            event => ProfileUnit::named(event).0,
        };
        match &self.unit {
            Some((first, _)) if *first != event => {
                return Err(ReadProfileError::TwoUnits {
                    place: OutputPosition::Text {
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
            nanoseconds: header.seconds.map(|seconds| seconds * 1e9),
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
                // A line of several blocks of code has `(discriminator 3)` after it.
                let text = text.split(" (discriminator ").next().unwrap_or(text);
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
            self.stack.push(Line::Inlined(without_offset(name)));
            return Ok(());
        }
        let (symbol, module) = match function.strip_suffix(')').and_then(split_module) {
            Some(parts) => parts,
            None => (function, ""),
        };
        let symbol = without_offset(symbol);
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
        self.passes_over = false;
        let Some(event) = self.event.take() else {
            return;
        };
        self.outermost.extend(self.stack.last());
        let mut stack = Stacks::ROOT;
        let mut module = crate::NameId::EMPTY;
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
        match event.nanoseconds {
            Some(time) => {
                self.builder
                    .sample_at(stack, event.thread, event.weight, time);
            }
            None => self.builder.sample(stack, event.thread, event.weight),
        }
    }
}

/// `name (module` in its parts: a module may hold brackets, `(deleted)`.
fn split_module(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_suffix(" (deleted)").unwrap_or(text);
    let at = text.rfind(" (")?;
    Some((text.get(..at)?, text.get(at + 2..)?))
}

fn is_frame(line: &str) -> bool {
    let (address, function) = split_word(line);
    !function.is_empty() && !address.is_empty() && address.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_may_name_its_discriminator() {
        let text = "w 1 1.0: 5 cpu-clock:\n\t12 main+0x1 (/w)\n  w file.c:9 (discriminator 3)\n\n";
        assert_eq!(read(text, None).unwrap().total(), 5.0);
    }
}
