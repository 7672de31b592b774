//! pprof's profiles, as Go, gperftools and others write them.
//!
//! Protobuf, mostly compressed (see `proto/perftools/profiles/profile.proto`): samples of
//! locations, locations of functions, all strings in a table. The tables stand after the
//! samples, so the message is walked twice, field by field. Of several values of a sample
//! the one counts that is asked for, or that the profile names, or the last one, as `go tool pprof` has
//! it.
//! Checked with Go 1.26.

use hashbrown::HashMap;
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};

use crate::builder::Builder;
use crate::{
    Frame, FrameId, NameId, Profile, ProfileFormat, ProfileUnit, ReadProfileError, Stacks,
};
use pinpoint_document::OutputPosition;

const FORMAT: ProfileFormat = ProfileFormat::Pprof;

/// The messages of `profile.proto`.
#[allow(
    missing_docs,
    unreachable_pub,
    reason = "generated; the comments are in the .proto"
)]
pub(crate) mod proto {
    include!(concat!(env!("OUT_DIR"), "/perftools.profiles.rs"));
}

/// The numbers of the fields of a profile that are read.
mod field {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const MAPPING: u32 = 3;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING_TABLE: u32 = 6;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// Among its first fields is the type of a sample: bytes that no text holds. Go writes the
/// time before it.
pub(crate) fn recognize(content: &[u8]) -> bool {
    let is_type = |entry: &Entry| {
        let kind: Option<proto::ValueType> = entry.message().ok();
        entry.number == field::SAMPLE_TYPE
            && kind.is_some()
            && entry
                .bytes()
                .is_ok_and(|bytes| matches!(bytes, [0x08 | 0x10, ..]))
    };
    fields(content)
        .take(FIRST_FIELDS)
        .map_while(Result::ok)
        .take_while(|entry| (1..=MOST_FIELD).contains(&entry.number))
        .any(|entry| is_type(&entry))
}

/// The number of fields that may precede the first type of a sample.
const FIRST_FIELDS: usize = 8;

/// The greatest number of a field that a profile has.
const MOST_FIELD: u32 = 16;

pub(crate) fn read(content: &[u8], event: Option<&str>) -> Result<Profile, ReadProfileError> {
    let tables = Tables::read(content)?;
    let mut reader = PprofReader {
        builder: Builder::default(),
        locations: HashMap::new(),
        tables: &tables,
    };
    reader.locate()?;
    let (value, unit, factor) = tables.value(event)?;
    let thread = reader.builder.thread("");
    let mut types = 0;
    for entry in fields(content) {
        let entry = entry?;
        if entry.number == field::SAMPLE_TYPE {
            types += 1;
        }
        if entry.number != field::SAMPLE {
            continue;
        }
        let sample: proto::Sample = entry.message()?;
        if sample.value.len() != tables.types.len() {
            let (values, types) = (sample.value.len(), tables.types.len().max(types));
            return Err(entry.fault(format!("a sample of {values} values, not {types}")));
        }
        let mut leaf = Stacks::ROOT;
        // The outermost function stands last. A few bytes name a location of many functions.
        for location in sample.location_id.iter().rev() {
            let missing = || entry.fault(format!("location {location} does not exist"));
            let frames = reader.locations.get(location).ok_or_else(missing)?;
            for frame in frames.iter().rev() {
                leaf = reader.builder.stack(leaf, *frame);
            }
            if reader.builder.is_full() {
                break;
            }
        }
        let weight = sample.value.get(value).copied().unwrap_or(0);
        if weight < 0 {
            return Err(entry.fault("a negative value: this is a difference of two profiles"));
        }
        reader.builder.sample(leaf, thread, weight as f64 * factor);
        if reader.builder.is_full() {
            break;
        }
    }
    reader.builder.finish(
        FORMAT,
        unit,
        "check that the program ran long enough, and that the profile was stopped before it ended",
    )
}

/// A field of the profile, with its place.
struct Entry<'a> {
    at: usize,
    number: u32,
    value: Value<'a>,
}

enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Other,
}

impl<'a> Entry<'a> {
    fn fault(&self, problem: impl Into<String>) -> ReadProfileError {
        ReadProfileError::Misshapen {
            format: FORMAT,
            place: OutputPosition::Byte(self.at),
            problem: problem.into(),
        }
    }

    fn bytes(&self) -> Result<&'a [u8], ReadProfileError> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.fault(format!("field {} is no message", self.number))),
        }
    }

    fn message<M: Message + Default>(&self) -> Result<M, ReadProfileError> {
        M::decode(self.bytes()?).map_err(|error| self.fault(error.to_string()))
    }
}

/// The fields of a message, one at a time.
fn fields(content: &[u8]) -> impl Iterator<Item = Result<Entry<'_>, ReadProfileError>> {
    let mut rest = content;
    let mut failed = false;
    std::iter::from_fn(move || {
        if rest.is_empty() || failed {
            return None;
        }
        let at = content.len() - rest.len();
        let entry = one(&mut rest, at);
        failed = entry.is_err();
        Some(entry)
    })
}

fn one<'a>(rest: &mut &'a [u8], at: usize) -> Result<Entry<'a>, ReadProfileError> {
    let cut = || ReadProfileError::CutShort {
        format: FORMAT,
        place: OutputPosition::Byte(at),
    };
    let misshapen = |problem: String| ReadProfileError::Misshapen {
        format: FORMAT,
        place: OutputPosition::Byte(at),
        problem,
    };
    // A number is ten bytes at most: with fewer left, the fault is the end.
    let number_fault = |left: usize, error: prost::DecodeError| {
        if left < 10 {
            cut()
        } else {
            misshapen(error.to_string())
        }
    };
    let left = rest.len();
    let (number, wire_type) = decode_key(rest).map_err(|error| number_fault(left, error))?;
    let left = rest.len();
    let length = match wire_type {
        WireType::Varint => {
            let value = decode_varint(rest).map_err(|error| number_fault(left, error))?;
            let value = Value::Varint(value);
            return Ok(Entry { at, number, value });
        }
        WireType::SixtyFourBit => 8,
        WireType::ThirtyTwoBit => 4,
        WireType::LengthDelimited => {
            let length = decode_varint(rest).map_err(|error| number_fault(left, error))?;
            usize::try_from(length).unwrap_or(usize::MAX)
        }
        WireType::StartGroup | WireType::EndGroup => {
            return Err(misshapen("a group, which no profile has".into()));
        }
    };
    let (bytes, after) = rest.split_at_checked(length).ok_or_else(cut)?;
    *rest = after;
    let value = match wire_type {
        WireType::LengthDelimited => Value::Bytes(bytes),
        _ => Value::Other,
    };
    Ok(Entry { at, number, value })
}

/// All that samples refer to.
#[derive(Default)]
struct Tables<'a> {
    types: Vec<proto::ValueType>,
    mappings: HashMap<u64, proto::Mapping>,
    locations: Vec<proto::Location>,
    functions: HashMap<u64, proto::Function>,
    strings: Vec<&'a str>,
    default_type: u64,
}

impl<'a> Tables<'a> {
    fn read(content: &'a [u8]) -> Result<Self, ReadProfileError> {
        let mut tables = Self::default();
        for entry in fields(content) {
            let entry = entry?;
            match entry.number {
                field::SAMPLE_TYPE => tables.types.push(entry.message()?),
                field::MAPPING => {
                    let mapping: proto::Mapping = entry.message()?;
                    tables.mappings.insert(mapping.id, mapping);
                }
                field::LOCATION => tables.locations.push(entry.message()?),
                field::FUNCTION => {
                    let function: proto::Function = entry.message()?;
                    tables.functions.insert(function.id, function);
                }
                field::STRING_TABLE => {
                    let string = std::str::from_utf8(entry.bytes()?);
                    let string = string.map_err(|_| entry.fault("a string is not UTF-8"))?;
                    tables.strings.push(string);
                }
                field::DEFAULT_SAMPLE_TYPE => {
                    if let Value::Varint(index) = entry.value {
                        tables.default_type = index;
                    }
                }
                _ => {}
            }
        }
        Ok(tables)
    }

    fn string(&self, index: i64) -> Result<&'a str, ReadProfileError> {
        let string = usize::try_from(index)
            .ok()
            .and_then(|at| self.strings.get(at));
        string.copied().ok_or_else(|| {
            self.fault(format!(
                "string {index} is named, and there are only {}",
                self.strings.len()
            ))
        })
    }

    fn fault(&self, problem: String) -> ReadProfileError {
        ReadProfileError::Misshapen {
            format: FORMAT,
            place: OutputPosition::Byte(0),
            problem,
        }
    }

    /// The value of a sample that counts, and its unit: that of the event asked for, by its type.
    fn value(&self, event: Option<&str>) -> Result<(usize, ProfileUnit, f64), ReadProfileError> {
        let Some(last) = self.types.len().checked_sub(1) else {
            return Err(self.fault("it does not say what its values count".into()));
        };
        let wanted = |kind: &proto::ValueType| {
            self.default_type != 0 && u64::try_from(kind.r#type) == Ok(self.default_type)
        };
        let value = match event {
            None => self.types.iter().position(wanted).unwrap_or(last),
            Some(event) => {
                let names = self.types.iter().map(|kind| self.string(kind.r#type));
                let names: Vec<&str> = names.collect::<Result<_, _>>()?;
                let missing = || ReadProfileError::NoEvent {
                    format: FORMAT,
                    event: event.to_owned(),
                    events: names.iter().map(|name| (*name).to_owned()).collect(),
                };
                let asked = names.iter().position(|name| *name == event);
                asked.ok_or_else(missing)?
            }
        };
        let kind = self.types.get(value).copied().unwrap_or_default();
        let (name, unit) = (self.string(kind.r#type)?, self.string(kind.unit)?);
        let unit = match unit {
            // A count of the things that the type names.
            "count" if name != "samples" => (ProfileUnit::Other(name.to_owned()), 1.0),
            unit => ProfileUnit::named(unit),
        };
        Ok((value, unit.0, unit.1))
    }
}

struct PprofReader<'t, 'a> {
    builder: Builder,
    /// The functions of each location, the innermost first.
    locations: HashMap<u64, Vec<FrameId>>,
    tables: &'t Tables<'a>,
}

impl PprofReader<'_, '_> {
    fn locate(&mut self) -> Result<(), ReadProfileError> {
        let tables = self.tables;
        for location in &tables.locations {
            let mapping = tables.mappings.get(&location.mapping_id);
            let module = match mapping {
                Some(mapping) => self.builder.name(tables.string(mapping.filename)?),
                None => NameId::EMPTY,
            };
            let mut frames = Vec::with_capacity(location.line.len().max(1));
            for line in &location.line {
                let Some(function) = tables.functions.get(&line.function_id) else {
                    return Err(tables.fault(format!("there is no function {}", line.function_id)));
                };
                let frame = Frame {
                    name: self.builder.name(tables.string(function.name)?),
                    module,
                    file: self.builder.name(tables.string(function.filename)?),
                    line: u32::try_from(function.start_line).unwrap_or(0),
                    column: 0,
                };
                frames.push(self.builder.frame(frame));
            }
            if frames.is_empty() {
                let nameless = Frame {
                    module,
                    ..Frame::default()
                };
                frames.push(self.builder.frame(nameless));
            }
            self.locations.insert(location.id, frames);
        }
        Ok(())
    }
}
