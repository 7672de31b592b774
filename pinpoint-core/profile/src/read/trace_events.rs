//! The events of a Chrome trace, one by one.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::value::RawValue;

use super::json;
use crate::{ProfileFormat, ReadProfileError};
use pinpoint_document::Name;

const FORMAT: ProfileFormat = ProfileFormat::ChromeTrace;

/// An event, whose arguments are read only where they matter.
#[derive(Deserialize)]
pub(crate) struct Event<'a> {
    #[serde(borrow, default)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) ph: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) cat: Cow<'a, str>,
    // Numbers, or texts, that identify events.
    #[serde(borrow)]
    pub(crate) pid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) tid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) id2: Option<&'a RawValue>,
    // Hermes writes texts.
    #[serde(default, deserialize_with = "optional_number")]
    pub(crate) ts: Option<f64>,
    #[serde(default, deserialize_with = "optional_number")]
    pub(crate) dur: Option<f64>,
    #[serde(borrow)]
    pub(crate) args: Option<&'a RawValue>,
}

impl<'a> Event<'a> {
    pub(crate) fn process(&self) -> &'a str {
        self.pid.map_or("", RawValue::get)
    }

    pub(crate) fn thread(&self) -> (&'a str, &'a str) {
        (self.process(), self.tid.map_or("", RawValue::get))
    }

    pub(crate) fn key(&self) -> (&'a str, &'a str) {
        (
            self.process(),
            self.id.or(self.id2).map_or("", RawValue::get),
        )
    }

    pub(crate) fn arguments<T: Deserialize<'a>>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.args.map_or("{}", RawValue::get))
    }
}

/// A number, or a text of one.
struct Number;

impl Visitor<'_> for Number {
    type Value = Option<f64>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number, or a text of one")
    }

    fn visit_unit<E: Error>(self) -> Result<Option<f64>, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Option<f64>, E> {
        Ok(Some(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<f64>, E> {
        Ok(Some(number as f64))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<f64>, E> {
        Ok(Some(number as f64))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<f64>, E> {
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

pub(super) fn optional_number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<f64>, D::Error> {
    deserializer.deserialize_any(Number)
}

pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = optional_number(deserializer)?;
    number.ok_or_else(|| D::Error::invalid_type(Unexpected::Unit, &Number))
}

/// The members of a trace beside its events.
#[derive(Default)]
pub(crate) struct Beside<'a> {
    pub(crate) metadata: Option<&'a RawValue>,
    pub(super) samples: Option<&'a RawValue>,
    pub(super) stack_frames: Option<&'a RawValue>,
}

/// Calls `take` with each event of a trace and its place in the list, and returns what stands
/// beside the events.
///
/// An array may lack its closing bracket after a whole event: the format allows that of a
/// program that was killed.
pub(crate) fn walk<'a>(
    text: &'a str,
    take: impl FnMut(usize, Event<'a>) -> Result<(), serde_json::Error>,
) -> Result<Beside<'a>, ReadProfileError> {
    let mut walk = Walk {
        index: 0,
        in_event: false,
        beside: Beside::default(),
        take,
    };
    let mut parser = serde_json::Deserializer::from_str(text);
    let walked = parser
        .deserialize_any(Trace(&mut walk))
        .and_then(|()| parser.end());
    if let Err(error) = walked {
        let between_events = text.trim_start().starts_with('[') && !walk.in_event;
        if !(error.is_eof() && between_events) {
            return Err(json::fault(&error, text, FORMAT));
        }
    }
    Ok(walk.beside)
}

struct Walk<'a, T> {
    index: usize,
    in_event: bool,
    beside: Beside<'a>,
    take: T,
}

/// The document: an object with `traceEvents`, or the events alone.
struct Trace<'w, 'a, T>(&'w mut Walk<'a, T>);

impl<'de, T> Visitor<'de> for Trace<'_, 'de, T>
where
    T: FnMut(usize, Event<'de>) -> Result<(), serde_json::Error>,
{
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with `traceEvents`, or an array of events")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = members.next_key()? {
            match &*name {
                "traceEvents" => members.next_value_seed(Events(self.0))?,
                "metadata" => self.0.beside.metadata = Some(members.next_value()?),
                "samples" => self.0.beside.samples = Some(members.next_value()?),
                "stackFrames" => self.0.beside.stack_frames = Some(members.next_value()?),
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<(), A::Error> {
        Events(self.0).visit_seq(elements)
    }
}

struct Events<'w, 'a, T>(&'w mut Walk<'a, T>);

impl<'de, T> DeserializeSeed<'de> for Events<'_, 'de, T>
where
    T: FnMut(usize, Event<'de>) -> Result<(), serde_json::Error>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T> Visitor<'de> for Events<'_, 'de, T>
where
    T: FnMut(usize, Event<'de>) -> Result<(), serde_json::Error>,
{
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(OneEvent(self.0))?.is_some() {}
        Ok(())
    }
}

struct OneEvent<'w, 'a, T>(&'w mut Walk<'a, T>);

impl<'de, T> DeserializeSeed<'de> for OneEvent<'_, 'de, T>
where
    T: FnMut(usize, Event<'de>) -> Result<(), serde_json::Error>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.in_event = true;
        let event = Event::deserialize(deserializer)?;
        let index = self.0.index;
        (self.0.take)(index, event).map_err(|error| {
            let message = error.to_string();
            let problem = message.split(" at line ").next().unwrap_or_default();
            serde::de::Error::custom(format!("event {index}: {problem}"))
        })?;
        self.0.index += 1;
        self.0.in_event = false;
        Ok(())
    }
}
