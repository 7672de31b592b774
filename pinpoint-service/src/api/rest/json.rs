//! Messages as JSON, straight from their bytes.
//!
//! All fields of each type of messages are looked up once; a message is then written while it is
//! read. `prost-reflect` writes the same, as a test ensures, but makes a value of each field, which
//! took most of the time of a page of jobs.
//!
//! The bytes are those that `prost` writes: each key of a map is there once, and one of a group of
//! alternatives. Answers carry unset fields, too, as gRPC gateways write them.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::LazyLock;

use pinpoint_core::api::Timestamp;
use pinpoint_report::quantity::without_noise;
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint};
use prost_reflect::FieldDescriptor;

use super::message::is_well_known;
use crate::api::descriptors::POOL;

/// The bytes are not a message of the type, or have a time that can't be written.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the message can't be written as JSON")]
pub(crate) struct Unwritable;

/// A message of this type, by its full name, as JSON.
pub(crate) fn to_json(name: &str, bytes: &[u8]) -> Result<Vec<u8>, Unwritable> {
    let place = TYPES.places.get(name).ok_or(Unwritable)?;
    let mut json = Vec::with_capacity(4 * bytes.len());
    TYPES.message(*place, bytes, &mut json)?;
    Ok(json)
}

static TYPES: LazyLock<Types> = LazyLock::new(|| {
    let ours = || POOL.all_messages().filter(|it| !is_well_known(it));
    let places = ours()
        .map(|it| it.full_name().to_owned())
        .zip(0..)
        .collect();
    let of = ours().map(|message| {
        let fields = message.fields();
        fields.map(|field| Field::new(&field, &places)).collect()
    });
    let of = of.collect();
    Types { of, places }
});

/// The types of messages.
struct Types {
    /// The fields of each, by their numbers.
    of: Vec<Vec<Field>>,
    /// The place of each name.
    places: HashMap<String, usize>,
}

struct Field {
    number: u32,
    /// The name in quotes, with a colon.
    key: String,
    kind: Kind,
    shape: Shape,
}

#[derive(PartialEq, Eq)]
enum Shape {
    /// It is always written.
    Plain,
    /// It is written only if set: absence means unset.
    Optional,
    List,
    Map,
}

enum Kind {
    Bool,
    I32,
    U32,
    I64,
    U64,
    Double,
    Text,
    /// The names of the values.
    Enum(BTreeMap<i32, String>),
    Time,
    /// The place of the type.
    Message(usize),
}

impl Field {
    fn new(field: &FieldDescriptor, places: &HashMap<String, usize>) -> Self {
        use prost_reflect::Kind as Of;
        Self {
            number: field.number(),
            key: format!("\"{}\":", field.json_name()),
            kind: match field.kind() {
                Of::Bool => Kind::Bool,
                Of::Int32 => Kind::I32,
                Of::Uint32 => Kind::U32,
                Of::Int64 => Kind::I64,
                Of::Uint64 => Kind::U64,
                Of::Double => Kind::Double,
                Of::String => Kind::Text,
                Of::Enum(values) => {
                    let values = values.values();
                    Kind::Enum(values.map(|it| (it.number(), it.name().into())).collect())
                }
                Of::Message(of) if of.full_name() == "google.protobuf.Timestamp" => Kind::Time,
                Of::Message(of) => Kind::Message(places[of.full_name()]),
                other => unreachable!("the API has no field of kind {other:?}"),
            },
            shape: match field {
                _ if field.is_map() => Shape::Map,
                _ if field.is_list() => Shape::List,
                _ if field.containing_oneof().is_some() => Shape::Optional,
                _ => Shape::Plain,
            },
        }
    }
}

/// A field as it is in the bytes.
#[derive(Clone, Copy)]
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    fn read(kind: WireType, from: &mut &'a [u8]) -> Result<Self, Unwritable> {
        Ok(match kind {
            WireType::Varint => Self::Number(decode_varint(from).map_err(|_| Unwritable)?),
            WireType::SixtyFourBit => {
                let (number, rest) = from.split_first_chunk().ok_or(Unwritable)?;
                *from = rest;
                Self::Number(u64::from_le_bytes(*number))
            }
            WireType::LengthDelimited => {
                let length = decode_varint(from).map_err(|_| Unwritable)?;
                let length = usize::try_from(length).map_err(|_| Unwritable)?;
                let (bytes, rest) = from.split_at_checked(length).ok_or(Unwritable)?;
                *from = rest;
                Self::Bytes(bytes)
            }
            _ => return Err(Unwritable),
        })
    }

    /// The fields of a message with their numbers, in the order of these.
    fn all(mut from: &'a [u8]) -> Result<Vec<(u32, Self)>, Unwritable> {
        let mut all = Vec::new();
        while !from.is_empty() {
            let (number, kind) = decode_key(&mut from).map_err(|_| Unwritable)?;
            all.push((number, Self::read(kind, &mut from)?));
        }
        all.sort_by_key(|(number, _)| *number);
        Ok(all)
    }
}

impl Types {
    fn message(&self, place: usize, bytes: &[u8], json: &mut Vec<u8>) -> Result<(), Unwritable> {
        let all = Wire::all(bytes)?;
        let mut rest = &all[..];
        json.push(b'{');
        for field in &self.of[place] {
            let unknown = rest.iter().take_while(|(number, _)| *number < field.number);
            rest = &rest[unknown.count()..];
            let these = rest
                .iter()
                .take_while(|(number, _)| *number == field.number);
            let (these, others) = rest.split_at(these.count());
            rest = others;
            if these.is_empty() && field.shape == Shape::Optional {
                continue;
            }
            separate(json);
            json.extend_from_slice(field.key.as_bytes());
            let mut values = these.iter().map(|(_, value)| *value);
            match field.shape {
                Shape::Plain | Shape::Optional => {
                    self.value(&field.kind, values.next_back(), json)?;
                }
                Shape::List => {
                    json.push(b'[');
                    for value in values {
                        self.items(&field.kind, value, json)?;
                    }
                    json.push(b']');
                }
                Shape::Map => {
                    json.push(b'{');
                    for value in values {
                        self.entry(&field.kind, value, json)?;
                    }
                    json.push(b'}');
                }
            }
        }
        json.push(b'}');
        Ok(())
    }

    /// An item of a list, or many: numbers are packed.
    fn items(&self, kind: &Kind, value: Wire<'_>, json: &mut Vec<u8>) -> Result<(), Unwritable> {
        let packed = match kind {
            Kind::Text | Kind::Time | Kind::Message(_) => None,
            Kind::Double => Some(WireType::SixtyFourBit),
            _ => Some(WireType::Varint),
        };
        if let (Some(number), Wire::Bytes(mut numbers)) = (packed, value) {
            while !numbers.is_empty() {
                separate(json);
                self.value(kind, Some(Wire::read(number, &mut numbers)?), json)?;
            }
            return Ok(());
        }
        separate(json);
        self.value(kind, Some(value), json)
    }

    /// An entry of a map, which is a message of a key and a value.
    fn entry(&self, kind: &Kind, entry: Wire<'_>, json: &mut Vec<u8>) -> Result<(), Unwritable> {
        let (Kind::Message(place), Wire::Bytes(entry)) = (kind, entry) else {
            return Err(Unwritable);
        };
        let all = Wire::all(entry)?;
        let find = |wanted| {
            let found = all.iter().rfind(|(number, _)| *number == wanted);
            found.map(|(_, value)| *value)
        };
        let [key, value] = &self.of[*place][..] else {
            return Err(Unwritable);
        };
        separate(json);
        self.value(&key.kind, find(key.number), json)?;
        json.push(b':');
        match (&value.kind, find(value.number)) {
            (Kind::Message(place), None) => self.message(*place, &[], json),
            (kind, value) => self.value(kind, value, json),
        }
    }

    /// Writes a value, or the default of an absent one.
    fn value(
        &self,
        kind: &Kind,
        value: Option<Wire<'_>>,
        json: &mut Vec<u8>,
    ) -> Result<(), Unwritable> {
        let number = match value {
            Some(Wire::Number(number)) => number,
            _ => 0,
        };
        let written = match (kind, value) {
            (Kind::Message(_) | Kind::Time, None) => json.write_all(b"null"),
            (Kind::Message(place), Some(Wire::Bytes(bytes))) => {
                return self.message(*place, bytes, json);
            }
            (Kind::Time, Some(Wire::Bytes(bytes))) => {
                let time = Timestamp::decode(bytes).map_err(|_| Unwritable)?;
                return serde_json::to_writer(json, &time).map_err(|_| Unwritable);
            }
            (Kind::Text, None) => json.write_all(b"\"\""),
            (Kind::Text, Some(Wire::Bytes(bytes))) => {
                let text = std::str::from_utf8(bytes).map_err(|_| Unwritable)?;
                return serde_json::to_writer(json, text).map_err(|_| Unwritable);
            }
            (_, Some(Wire::Bytes(_)))
            | (Kind::Text | Kind::Time | Kind::Message(_), Some(Wire::Number(_))) => {
                return Err(Unwritable);
            }
            (Kind::Bool, _) => write!(json, "{}", number != 0),
            // As many bits of the number as the field has.
            (Kind::I32, _) => write!(json, "{}", number as i32),
            (Kind::U32, _) => write!(json, "{}", number as u32),
            (Kind::I64, _) => write!(json, "\"{}\"", number as i64),
            (Kind::U64, _) => write!(json, "\"{number}\""),
            (Kind::Double, _) => match f64::from_bits(number) {
                number if number.is_nan() => json.write_all(b"\"NaN\""),
                f64::INFINITY => json.write_all(b"\"Infinity\""),
                f64::NEG_INFINITY => json.write_all(b"\"-Infinity\""),
                number => {
                    let number = without_noise(number);
                    return serde_json::to_writer(json, &number).map_err(|_| Unwritable);
                }
            },
            (Kind::Enum(names), _) => match names.get(&(number as i32)) {
                Some(name) => write!(json, "\"{name}\""),
                None => write!(json, "{}", number as i32),
            },
        };
        written.map_err(|_| Unwritable)
    }
}

/// Writes a comma, except at the beginning.
fn separate(json: &mut Vec<u8>) {
    if !matches!(json.last(), None | Some(b'{' | b'[')) {
        json.push(b',');
    }
}
