//! The profiles that pprof read before `profile.proto`: gperftools' samples of the processor in
//! binary words, and text of heaps, contention and goroutines, as Go's `?debug=1` is.
//!
//! ```text
//! heap profile: 1: 1024 [3: 3072] @ heap/1048576
//! 1: 1024 [3: 3072] @ 0x4a1b2c 0x4380d6
//! #       0x4a1b2b        main.parse+0x2b        /src/main.go:10
//! ```
//!
//! They hold addresses. They have names only where Go or Java wrote the profile, or `pprof --raw`,
//! whose `--- symbol` section comes first. An address is in the running function, or is the return
//! address of a call: the one before it is in the call.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::misshapen;
use crate::builder::Builder;
use crate::symbol::without_offset;
use crate::{
    Frame, FrameId, NameId, Profile, ProfileFormat, ProfileUnit, ReadProfileError, Stacks,
};
use pinpoint_document::OutputPosition;

const FORMAT: ProfileFormat = ProfileFormat::Pprof;

/// Begins the symbols that `pprof --raw` writes.
const SYMBOLS: &[u8] = b"--- symbol";

/// Begin the places of the program's parts, which end the samples of a text.
const MAPS: [&str; 2] = ["MAPPED_LIBRARIES:", "--- Memory map: ---"];

/// The sampling rate of a Java heap: one byte in this many.
const JAVA_RATE: f64 = 524_288.0;

/// Returns true if it begins like one of them.
pub(crate) fn recognize(content: &[u8]) -> bool {
    content.starts_with(SYMBOLS)
        || Words::from_content(content).is_some()
        || Kind::from_first_line(first_line(content)).is_some()
}

pub(crate) fn read(content: &[u8], event: Option<&str>) -> Result<Profile, ReadProfileError> {
    let mut reader = LegacyPprofReader::default();
    let content = reader.symbol_section(content)?;
    let (types, samples) = match Words::from_content(content) {
        Some(words) => reader.processor(words)?,
        None => reader.text(content)?,
    };
    let value = match event {
        // The default of pprof.
        None if types.len() == 4 => 1,
        None => types.len() - 1,
        Some(event) => {
            let asked = types.iter().position(|kind| kind.name == event);
            asked.ok_or_else(|| ReadProfileError::NoEvent {
                format: FORMAT,
                event: event.to_owned(),
                events: types.iter().map(|kind| kind.name.to_owned()).collect(),
            })?
        }
    };
    reader.finish(&types[value], samples, value)
}

fn first_line(content: &[u8]) -> &str {
    let end = content
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r'));
    std::str::from_utf8(&content[..end.unwrap_or(content.len())]).unwrap_or_default()
}

/// The type of a sample's value.
struct ValueType {
    name: &'static str,
    unit: ProfileUnit,
    factor: f64,
}

impl ValueType {
    fn count(name: &'static str) -> Self {
        Self::new(name, ProfileUnit::Other(name.into()), 1.0)
    }

    fn new(name: &'static str, unit: ProfileUnit, factor: f64) -> Self {
        Self { name, unit, factor }
    }
}

/// One stack, the leaf first, with a value of each type.
struct Sampled {
    addresses: Vec<u64>,
    values: Vec<f64>,
    /// Its functions, where they stand below it.
    frames: Vec<FrameId>,
}

/// The words of a binary profile: 0, 3, 0 (of Java 1), the microseconds between two samples, 0.
#[derive(Clone, Copy)]
struct Words<'a> {
    rest: &'a [u8],
    wide: bool,
    little: bool,
}

impl<'a> Words<'a> {
    /// Of the four ways of writing a word, the one in which the content is such a profile.
    fn from_content(content: &'a [u8]) -> Option<Self> {
        let ways = [(true, true), (true, false), (false, true), (false, false)];
        ways.into_iter().find_map(|(wide, little)| {
            let words = Self {
                rest: content,
                wide,
                little,
            };
            let mut header = words;
            let header = [(); 5].map(|()| header.next());
            let [Some(0), Some(3), Some(0 | 1), Some(1..), Some(0)] = header else {
                return None;
            };
            Some(words)
        })
    }

    fn next(&mut self) -> Option<u64> {
        let (word, rest) = self.rest.split_at_checked(if self.wide { 8 } else { 4 })?;
        self.rest = rest;
        let digits = word.iter().map(|byte| u64::from(*byte));
        let number = |number: u64, digit: u64| number << 8 | digit;
        Some(match self.little {
            true => digits.rev().fold(0, number),
            false => digits.fold(0, number),
        })
    }
}

/// The kind of a text profile.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Bytes and objects, in use and ever allocated, each sampled at such a rate.
    Heap {
        rate: Option<f64>,
    },
    JavaHeap,
    /// Delays and their number.
    Contention,
    Goroutines,
    Threads,
}

impl Kind {
    fn from_first_line(line: &str) -> Option<Self> {
        let line = line.trim();
        if let Some(header) = line.strip_prefix("heap profile:") {
            let kind = header.rsplit_once('@').map_or("", |(_, kind)| kind.trim());
            let (kind, rate) = kind.split_once('/').unwrap_or((kind, ""));
            let rate = rate.parse::<f64>().ok().filter(|rate| *rate > 1.0);
            // Go says twice the rate there.
            let rate = if kind == "heap" {
                rate.map(|rate| rate / 2.0)
            } else {
                rate
            };
            return Some(Self::Heap {
                rate: rate.filter(|_| kind != "heapprofile"),
            });
        }
        match line {
            "--- heapz 1 ---" => Some(Self::JavaHeap),
            "--- contentionz 1 ---" | "--- contention:" | "--- mutex:" => Some(Self::Contention),
            _ if line.starts_with("goroutine profile: total") => Some(Self::Goroutines),
            _ if line.starts_with("threadcreate profile: total") => Some(Self::Threads),
            _ => None,
        }
    }

    /// The number of values before a stack.
    fn numbers(self) -> usize {
        match self {
            Self::Heap { .. } => 4,
            Self::JavaHeap | Self::Contention => 2,
            Self::Goroutines | Self::Threads => 1,
        }
    }

    fn types(self, delay: f64) -> Vec<ValueType> {
        let space = |name| ValueType::new(name, ProfileUnit::Bytes, 1.0);
        match self {
            Self::Heap { .. } => vec![
                ValueType::count("inuse_objects"),
                space("inuse_space"),
                ValueType::count("alloc_objects"),
                space("alloc_space"),
            ],
            Self::JavaHeap => vec![ValueType::count("inuse_objects"), space("inuse_space")],
            Self::Contention => vec![
                ValueType::count("contentions"),
                ValueType::new("delay", ProfileUnit::Nanoseconds, delay),
            ],
            Self::Goroutines => vec![ValueType::count("goroutine")],
            Self::Threads => vec![ValueType::count("threadcreate")],
        }
    }

    /// The values that the numbers stand for.
    fn values(self, numbers: Vec<f64>, period: f64) -> Vec<f64> {
        match (self, numbers.as_slice()) {
            (Self::Heap { rate: Some(rate) }, &[objects, bytes, all_objects, all_bytes]) => {
                let [objects, bytes] = unsampled([objects, bytes], rate);
                let [all_objects, all_bytes] = unsampled([all_objects, all_bytes], rate);
                vec![objects, bytes, all_objects, all_bytes]
            }
            (Self::JavaHeap, &[bytes, objects]) => unsampled([objects, bytes], JAVA_RATE).to_vec(),
            (Self::Contention, &[delay, contentions]) => {
                vec![contentions * period, delay * period]
            }
            _ => numbers,
        }
    }
}

/// Estimates all objects from those that were sampled by their sizes: the probability of a sample
/// grows with the size.
fn unsampled([objects, bytes]: [f64; 2], rate: f64) -> [f64; 2] {
    if objects == 0.0 || bytes == 0.0 {
        return [0.0; 2];
    }
    let seen = -libm::expm1(-bytes / objects / rate);
    [objects / seen, bytes / seen]
}

#[derive(Default)]
struct LegacyPprofReader {
    builder: Builder,
    /// The functions of an address, the outermost first.
    symbols: HashMap<u64, Vec<FrameId>>,
}

impl LegacyPprofReader {
    /// Reads the symbols that stand before a profile, which is returned.
    fn symbol_section<'a>(&mut self, content: &'a [u8]) -> Result<&'a [u8], ReadProfileError> {
        let mut rest = content;
        let mut index = 0;
        if !content.starts_with(SYMBOLS) {
            return Ok(content);
        }
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&rest[..end]);
            rest = &rest[end + 1..];
            if line.starts_with("--- ") && index > 0 {
                return Ok(rest);
            }
            // `binary=PROGRAM`, and the line that ends the symbols, are not symbols.
            if let Some((address, names)) = symbol_line(&line) {
                let frames = names.split("--").filter(|name| !name.is_empty());
                let frames = frames.map(|name| self.frame(name, "", 0)).collect();
                self.symbols.insert(address, frames);
            }
            index += 1;
        }
        Err(ReadProfileError::CutShort {
            format: FORMAT,
            place: OutputPosition::Byte(content.len()),
        })
    }

    fn frame(&mut self, name: &str, file: &str, line: u32) -> FrameId {
        let frame = Frame {
            name: self.builder.name(name),
            module: NameId::EMPTY,
            file: self.builder.name(file),
            line,
            column: 0,
        };
        self.builder.frame(frame)
    }

    /// The samples of the processor, up to one of the address 0. The text after it has the
    /// program's parts and, for Java, its functions.
    fn processor(
        &mut self,
        mut words: Words,
    ) -> Result<(Vec<ValueType>, Vec<Sampled>), ReadProfileError> {
        let length = words.rest.len();
        let cut = |words: &Words| ReadProfileError::CutShort {
            format: FORMAT,
            place: OutputPosition::Byte(length - words.rest.len()),
        };
        let mut header = [0; 5];
        for word in &mut header {
            *word = words.next().ok_or_else(|| cut(&words))?;
        }
        let period = header[3] as f64 * 1e3;
        let mut samples = Vec::new();
        loop {
            let mut next = || words.next();
            let (Some(count), Some(depth)) = (next(), next()) else {
                return Err(cut(&words));
            };
            // A damaged depth is larger than the rest.
            let left = words.rest.len() as u64;
            if depth > left {
                return Err(cut(&words));
            }
            let addresses: Option<Vec<u64>> = (0..depth).map(|_| words.next()).collect();
            let addresses = addresses.ok_or_else(|| cut(&words))?;
            if count == 0 && addresses == [0] {
                break;
            }
            samples.push(Sampled {
                addresses,
                values: vec![count as f64; 2],
                frames: Vec::new(),
            });
        }
        for line in String::from_utf8_lossy(words.rest).lines() {
            self.java_function(line);
        }
        let types = vec![
            ValueType::new("samples", ProfileUnit::Samples, 1.0),
            ValueType::new("cpu", ProfileUnit::Nanoseconds, period),
        ];
        Ok((types, samples))
    }

    fn text(&mut self, content: &[u8]) -> Result<(Vec<ValueType>, Vec<Sampled>), ReadProfileError> {
        let text = std::str::from_utf8(content).map_or_else(
            |_| Cow::Owned(String::from_utf8_lossy(content).into_owned()),
            Cow::Borrowed,
        );
        let first = text.lines().next().unwrap_or_default();
        let Some(kind) = Kind::from_first_line(first) else {
            return Err(misshapen(FORMAT, 0, 1, "no profile begins in this line"));
        };
        let (mut period, mut delay) = (1.0, 1.0);
        let mut samples: Vec<Sampled> = Vec::new();
        for (index, line) in text.lines().enumerate().skip(1) {
            // Paths of Go's modules have an `@`, too.
            if let Some(line) = line.strip_prefix('#') {
                if let Some(sample) = samples.last_mut() {
                    sample.frames.extend(self.go_function(line));
                }
            } else if line.trim_start().starts_with("0x") {
                self.java_function(line);
            } else if MAPS.contains(&line.trim_end()) {
                break;
            } else if let Some((numbers, addresses)) = line.split_once('@') {
                let fault = || misshapen(FORMAT, index, 1, "no numbers and addresses of a stack");
                let numbers = numbers.split(|sign: char| !sign.is_ascii_digit());
                let numbers = numbers.filter(|word| !word.is_empty());
                let numbers: Vec<f64> = numbers.filter_map(|word| word.parse().ok()).collect();
                let addresses = addresses.split_whitespace().map(address);
                let addresses: Option<Vec<u64>> = addresses.collect();
                let addresses = addresses.filter(|_| numbers.len() == kind.numbers());
                samples.push(Sampled {
                    addresses: addresses.ok_or_else(fault)?,
                    values: kind.values(numbers, period),
                    frames: Vec::new(),
                });
            } else if let Some((name, value)) = line.split_once('=') {
                let number = || {
                    value
                        .trim()
                        .parse()
                        .ok()
                        .filter(|number: &f64| *number > 0.0)
                };
                match name.trim() {
                    "sampling period" => period = number().unwrap_or(1.0),
                    "cycles/second" => delay = number().map_or(1.0, |cycles| 1e9 / cycles),
                    "resolution" => delay = ProfileUnit::named(value.trim()).1,
                    _ => {}
                }
            }
        }
        Ok((kind.types(delay), samples))
    }

    /// `0x4a1b2b⇥main.parse+0x2b⇥⇥/src/main.go:10`.
    fn go_function(&mut self, line: &str) -> Option<FrameId> {
        let mut parts = line.split('\t').filter(|part| !part.is_empty());
        address(parts.next()?)?;
        let name = parts.next()?;
        let file = parts.next().unwrap_or_default();
        let file = file.rsplit_once(':').map_or(file, |(file, _)| file);
        Some(self.frame(without_offset(name), file, 0))
    }

    /// `0x3 com.example.parse (Parser.java:3)`.
    fn java_function(&mut self, line: &str) {
        let Some((address, function)) = symbol_line(line.trim()) else {
            return;
        };
        let place = function
            .strip_suffix(')')
            .and_then(|it| it.rsplit_once(" ("));
        let (name, place) = place.unwrap_or((function, ""));
        let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
        let frame = self.frame(name.trim(), file, 0);
        self.symbols.entry(address).or_insert_with(|| vec![frame]);
    }

    fn finish(
        mut self,
        kind: &ValueType,
        samples: Vec<Sampled>,
        value: usize,
    ) -> Result<Profile, ReadProfileError> {
        let thread = self.builder.thread("");
        let nameless = self.builder.frame(Frame::default());
        for sample in samples {
            let mut stack = Stacks::ROOT;
            if sample.frames.is_empty() {
                for (depth, address) in sample.addresses.iter().enumerate().rev() {
                    let called = (depth > 0).then(|| address.wrapping_sub(1));
                    let found = [Some(*address), called].into_iter().flatten();
                    let frames = found
                        .filter_map(|address| self.symbols.get(&address))
                        .next();
                    for frame in frames.map_or(&[nameless][..], Vec::as_slice) {
                        stack = self.builder.stack(stack, *frame);
                    }
                }
            }
            for frame in sample.frames.iter().rev() {
                stack = self.builder.stack(stack, *frame);
            }
            let weight = sample.values.get(value).copied().unwrap_or_default();
            self.builder.sample(stack, thread, weight * kind.factor);
        }
        let advice = "check that the program ran long enough, and that the profile was stopped before it ended";
        let profile = self.builder.finish(FORMAT, kind.unit.clone(), advice);
        profile.map_err(|error| match error {
            ReadProfileError::NoSymbols { format, module, .. } => ReadProfileError::NoSymbols {
                format,
                module,
                advice: "it holds addresses alone; have pprof add the names:  go tool pprof -proto -output profile.pb.gz PROGRAM PROFILE",
            },
            error => error,
        })
    }
}

/// `0x4a1b2b name` in its parts.
fn symbol_line(line: &str) -> Option<(u64, &str)> {
    let (number, name) = line.split_once(char::is_whitespace)?;
    let name = name.trim();
    (!name.is_empty()).then_some((address(number)?, name))
}

fn address(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}
