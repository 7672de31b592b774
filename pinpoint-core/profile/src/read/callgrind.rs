//! Callgrind's output.
//!
//! ```text
//! events: Ir
//! fl=(12) words.c
//! fn=(40) count
//! 21 150
//! cfn=(42) hash
//! calls=100 6
//! * 2500
//! ```
//!
//! A block for each function: the costs of its lines, and for each function that it calls, the
//! number of calls and their cost with all that they called in turn. Of several events the first
//! counts, if no other is asked for. The file of a function is that of its first instruction, which
//! may be inlined: where that lies in a library's header, and others of its lines in a file of the
//! program, the one with most of them counts. The levels of a recursion (`f'2`) are one function.
//! Checked with valgrind 3.19; the format is described in the Valgrind manual, "Callgrind Format
//! Specification".

use hashbrown::{HashMap, HashSet};

use super::{cut_short, is_address, misshapen};
use crate::builder::Builder;
use crate::{
    Call, Frame, FrameId, NameId, Owner, Profile, ProfileFormat, ProfileUnit, ReadProfileError,
    Stacks,
};

const FORMAT: ProfileFormat = ProfileFormat::Callgrind;

pub(crate) fn recognize(beginning: &str) -> bool {
    let lines = || beginning.lines().take(100);
    lines().any(|line| {
        line.starts_with("# callgrind format") || line.starts_with("creator: callgrind")
    }) || (lines().any(|line| line.starts_with("events:"))
        && lines().any(|line| line.starts_with("fn=")))
}

pub(crate) fn read(text: &str, event: Option<&str>) -> Result<Profile, ReadProfileError> {
    let mut reader = CallgrindReader::default();
    if let Some(event) = event {
        reader.choose(event, text)?;
    }
    for (index, line) in text.lines().enumerate() {
        reader
            .line(line.trim())
            .map_err(|problem| misshapen(FORMAT, index, 1, problem))?;
    }
    reader.finish(text)
}

/// The names of one kind, which are written once and then by their numbers.
#[derive(Default)]
struct Numbered(HashMap<u64, NameId>);

/// A name in a line: its number where it has one, and the name.
struct NumberedName {
    number: Option<u64>,
    name: NameId,
}

impl Numbered {
    fn read(&mut self, text: &str, builder: &mut Builder) -> Result<NumberedName, &'static str> {
        let Some((number, name)) = text.strip_prefix('(').and_then(|t| t.split_once(')')) else {
            return Ok(NumberedName {
                number: None,
                name: builder.name(known(text)),
            });
        };
        let number = number
            .parse()
            .map_err(|_| "the number of a name is invalid")?;
        let name = name.trim();
        let name = if name.is_empty() {
            *self.0.get(&number).ok_or("this number has no name yet")?
        } else {
            let name = builder.name(known(name));
            self.0.insert(number, name);
            name
        };
        let number = Some(number);
        Ok(NumberedName { number, name })
    }
}

/// A name without the level of its recursion, `depth` of `depth'2`, and empty for the one that
/// stands for no name.
fn known(name: &str) -> &str {
    if name == "???" || is_address(name) {
        return "";
    }
    match name.rsplit_once('\'') {
        Some((function, level))
            if !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            function
        }
        _ => name,
    }
}

/// A function that is called: its block, which may follow later, has its place.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Callee {
    Number(u64),
    Frame(FrameId),
}

#[derive(Default)]
struct CallgrindReader {
    builder: Builder,
    objects: Numbered,
    files: Numbered,
    functions: Numbered,
    event: Option<String>,
    /// The place of the event that counts in the list of events.
    column: usize,
    positions: Option<usize>,
    object: NameId,
    file: NameId,
    /// The file of the lines that follow.
    line_file: NameId,
    function: Option<FrameId>,
    called_object: Option<NameId>,
    called_file: Option<NameId>,
    called: Option<(Callee, FrameId)>,
    /// The number of calls whose cost the next line has.
    calls: Option<f64>,
    /// The next line is only the place of a jump.
    jump: bool,
    defined: HashMap<u64, FrameId>,
    selves: HashMap<FrameId, f64>,
    /// The cost of lines of functions that lie in other files than theirs.
    other_files: HashMap<(FrameId, NameId), f64>,
    order: Vec<FrameId>,
    edges: HashMap<(FrameId, Callee), usize>,
    edge_list: Vec<(FrameId, Callee, FrameId, f64, f64)>,
    total: Option<f64>,
    ended: bool,
}

impl CallgrindReader {
    /// Counts another event than the first one.
    fn choose(&mut self, event: &str, text: &str) -> Result<(), ReadProfileError> {
        let events = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("events:"));
        let events: Vec<&str> = events.unwrap_or_default().split_whitespace().collect();
        let column = events.iter().position(|it| *it == event);
        self.column = column.ok_or_else(|| ReadProfileError::NoEvent {
            format: FORMAT,
            event: event.to_owned(),
            events: events.iter().map(|it| (*it).to_owned()).collect(),
        })?;
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let Some(first) = line.bytes().next() else {
            return Ok(());
        };
        if first.is_ascii_digit() || b"+-*".contains(&first) {
            return self.cost(line);
        }
        if first == b'#' {
            return Ok(());
        }
        // A header has a colon, a specification an equals sign; names may hold both.
        let at = line
            .find([':', '='])
            .ok_or("neither a header, a name nor a cost")?;
        let (key, value) = line.split_at(at);
        if let Some(value) = value.strip_prefix(':') {
            return self.header(key, value.trim());
        }
        self.specification(key, value.trim_start_matches('=').trim())
            .map_err(str::to_owned)
    }

    fn header(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "events" => {
                let event = value.split_whitespace().nth(self.column);
                let event = event.ok_or("no event is named")?;
                if self.event.as_deref().is_some_and(|known| known != event) {
                    return Err(format!(
                        "a part counts {event} and not what the first one counts"
                    ));
                }
                self.event = Some(event.to_owned());
            }
            "positions" => self.positions = Some(value.split_whitespace().count().max(1)),
            "totals" => {
                self.ended = true;
                let total = value.split_whitespace().nth(self.column);
                let total = total.map_or(Some(0.0), number);
                *self.total.get_or_insert(0.0) += total.ok_or("the total is not a number")?;
            }
            _ => {}
        }
        Ok(())
    }

    fn specification(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        let Self { builder, .. } = self;
        match key {
            "ob" => self.object = self.objects.read(value, builder)?.name,
            "fl" => {
                self.file = self.files.read(value, builder)?.name;
                self.line_file = self.file;
                self.function = None;
            }
            // Costs of a function that were inlined from another file are still its own.
            "fi" | "fe" => self.line_file = self.files.read(value, builder)?.name,
            "fn" => {
                let named = self.functions.read(value, builder)?;
                let frame = builder.frame(Frame {
                    name: named.name,
                    module: self.object,
                    file: self.file,
                    ..Frame::default()
                });
                if let Some(number) = named.number {
                    self.defined.entry(number).or_insert(frame);
                }
                self.function = Some(frame);
                self.line_file = self.file;
            }
            "cob" => self.called_object = Some(self.objects.read(value, builder)?.name),
            "cfi" | "cfl" => self.called_file = Some(self.files.read(value, builder)?.name),
            "cfn" => {
                let named = self.functions.read(value, builder)?;
                let frame = builder.frame(Frame {
                    name: named.name,
                    module: self.called_object.take().unwrap_or(self.object),
                    file: self.called_file.take().unwrap_or(self.file),
                    ..Frame::default()
                });
                let callee = named.number.map_or(Callee::Frame(frame), Callee::Number);
                self.called = Some((callee, frame));
            }
            "calls" => {
                let count = value.split_whitespace().next().and_then(number);
                self.calls = Some(count.ok_or("the number of calls is invalid")?);
            }
            "jump" | "jcnd" => self.jump = true,
            _ => {}
        }
        Ok(())
    }

    /// A line of positions and costs.
    fn cost(&mut self, line: &str) -> Result<(), String> {
        let position = self.positions.unwrap_or(1) + self.column;
        let cost = match line.split_whitespace().nth(position) {
            None => 0.0,
            Some(cost) => number(cost).ok_or("a cost is not a number")?,
        };
        if std::mem::take(&mut self.jump) {
            return Ok(());
        }
        let function = self.function.ok_or("a cost before any function")?;
        let Some(count) = self.calls.take() else {
            let total = self.selves.entry(function).or_insert_with(|| {
                self.order.push(function);
                0.0
            });
            *total += cost;
            if self.line_file != self.builder.file_of(function) {
                *self
                    .other_files
                    .entry((function, self.line_file))
                    .or_default() += cost;
            }
            return Ok(());
        };
        let (callee, frame) = self.called.ok_or("a call of no function")?;
        let edge = *self.edges.entry((function, callee)).or_insert_with(|| {
            self.edge_list.push((function, callee, frame, 0.0, 0.0));
            self.edge_list.len() - 1
        });
        if let Some((.., counted, weight)) = self.edge_list.get_mut(edge) {
            *counted += count;
            *weight += cost;
        }
        Ok(())
    }

    /// Gives functions that seem to lie in a library's header the file of the program with most of
    /// their cost.
    fn correct_files(&mut self) {
        let others = std::mem::take(&mut self.other_files);
        let mut others: Vec<((FrameId, NameId), f64)> = others.into_iter().collect();
        others.sort_by(|a, b| (b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0)));
        let mut corrected = HashSet::new();
        for ((frame, file), _) in others {
            let of_library = |file| is_of_library(self.builder.text(file));
            if of_library(self.builder.file_of(frame))
                && !of_library(file)
                && file != NameId::EMPTY
                && corrected.insert(frame)
            {
                self.builder.set_file(frame, file);
            }
        }
    }

    fn finish(mut self, text: &str) -> Result<Profile, ReadProfileError> {
        let sum: f64 = self
            .order
            .iter()
            .filter_map(|frame| self.selves.get(frame))
            .sum();
        let is_whole = self.total.is_none_or(|total| total == sum);
        let needs_end = text.contains("creator: callgrind") || text.contains("\nsummary:");
        if !is_whole || (needs_end && !self.ended) {
            return Err(cut_short(FORMAT, text));
        }
        self.correct_files();
        let thread = self.builder.thread("");
        for frame in std::mem::take(&mut self.order) {
            let stack = self.builder.stack(Stacks::ROOT, frame);
            let weight = self.selves.get(&frame).copied().unwrap_or(0.0);
            self.builder.sample(stack, thread, weight);
        }
        for (caller, callee, frame, count, weight) in std::mem::take(&mut self.edge_list) {
            let callee = match callee {
                Callee::Number(number) => self.defined.get(&number).copied().unwrap_or(frame),
                Callee::Frame(frame) => frame,
            };
            self.builder.call(Call {
                caller,
                callee,
                count,
                weight,
            });
        }
        let unit = self
            .event
            .as_deref()
            .map_or(ProfileUnit::Samples, |event| ProfileUnit::named(event).0);
        self.builder.finish(
            FORMAT,
            unit,
            "let the program run to its end below valgrind, or dump with callgrind_control -d",
        )
    }
}

/// Returns true if a file is a library's by its path: a header of C++, or a source of Rust's
/// library or of a package.
fn is_of_library(file: &str) -> bool {
    let folders = ["bits/", "ext/", "debug/", "tr1/", "sysdeps/"];
    let is_relative = folders.iter().any(|folder| file.starts_with(folder));
    is_relative
        || ["/usr/include/", "/usr/local/include/", "/include/c++/", "/lib/gcc/", "/rustc/"]
            .iter()
            .any(|folder| file.contains(folder))
        || Owner::of("", "", file).is_some()
        // The standard headers have no suffix.
        || (!file.is_empty() && !file.contains(['.', '<']))
}

/// A count, which may be written in hexadecimal.
fn number(text: &str) -> Option<f64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse::<u64>().ok(),
    }
    .map(|number| number as f64)
}
