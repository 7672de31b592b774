//! Chrome's trace events.
//!
//! ```json
//! {"traceEvents": [
//!   {"name": "Profile", "ph": "P", "pid": 7, "tid": 7, "id": "0x1", "args": {"data": {"startTime": 658192748}}, …},
//!   {"name": "ProfileChunk", "ph": "P", "pid": 7, "id": "0x1", "args": {"data":
//!     {"cpuProfile": {"nodes": […], "samples": [3, 3]}, "timeDeltas": [235, 525]}}, …}, …]}
//! ```
//!
//! An object, or the array alone, which may lack its closing bracket: the format allows
//! that of a program that was killed. What counts is V8's profiles: `Profile` with its
//! chunks, which belong together by process and id, and whole ones in `CpuProfile`. All
//! other events are walked past, but for the names of threads, and the spans of
//! `performance.measure` and `console.time`. Described in "Trace Event Format" (Google).
//! Checked with Chromium 156.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::cpuprofile::CpuProfile;
use super::json;
use super::v8::{Node, Samples, times};
use crate::profile::builder::Builder;
use crate::profile::{Profile, ProfileFormat, ProfileUnit, ReadProfileError};
use crate::results::document::Name;

const FORMAT: ProfileFormat = ProfileFormat::ChromeTrace;

pub(in crate::profile) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let mut reader = Reader::default();
    let mut parser = serde_json::Deserializer::from_str(text);
    let walked = parser
        .deserialize_any(Trace(&mut reader))
        .and_then(|()| parser.end());
    if let Err(error) = walked {
        let between_events = text.trim_start().starts_with('[') && !reader.in_event;
        if !(error.is_eof() && between_events) {
            return Err(json::fault(&error, text, FORMAT));
        }
    }
    reader.finish()
}

/// An event, whose arguments are read only where they matter.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    ph: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    // Numbers, or texts, by which events are told apart.
    #[serde(borrow)]
    pid: Option<&'a RawValue>,
    #[serde(borrow)]
    tid: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    id2: Option<&'a RawValue>,
    ts: Option<f64>,
    dur: Option<f64>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

impl<'a> Event<'a> {
    fn process(&self) -> &'a str {
        self.pid.map_or("", RawValue::get)
    }

    fn thread(&self) -> (&'a str, &'a str) {
        (self.process(), self.tid.map_or("", RawValue::get))
    }

    fn key(&self) -> (&'a str, &'a str) {
        (
            self.process(),
            self.id.or(self.id2).map_or("", RawValue::get),
        )
    }
}

#[derive(Deserialize)]
struct Data<T> {
    data: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Started {
    start_time: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Chunk<'a> {
    #[serde(borrow)]
    cpu_profile: CpuProfile<'a>,
    time_deltas: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Whole<'a> {
    #[serde(borrow)]
    cpu_profile: CpuProfile<'a>,
}

/// One profile, in its chunks.
#[derive(Default)]
struct Chunks<'a> {
    thread: Option<(&'a str, &'a str)>,
    start: Option<f64>,
    /// With the time at which each was written: they belong in that order.
    chunks: Vec<(f64, Chunk<'a>)>,
    pointer: String,
}

/// The process, the id and the name of a span.
type SpanKey<'a> = ((&'a str, &'a str), Cow<'a, str>);

#[derive(Default)]
struct Reader<'a> {
    index: usize,
    in_event: bool,
    builder: Builder,
    profiles: BTreeMap<(&'a str, &'a str), Chunks<'a>>,
    whole: Vec<((&'a str, &'a str), Samples<'a>)>,
    threads: BTreeMap<(&'a str, &'a str), String>,
    /// Spans that have begun, by process, id and name.
    begun: BTreeMap<SpanKey<'a>, Vec<f64>>,
}

impl<'a> Reader<'a> {
    fn event(&mut self, event: Event<'a>) -> Result<(), serde_json::Error> {
        match (&*event.name, &*event.ph) {
            ("Profile", "P") => {
                let started: Data<Started> = arguments(&event)?;
                let profile = self.profiles.entry(event.key()).or_default();
                profile.thread = Some(event.thread());
                profile.start = started.data.start_time.or(event.ts);
            }
            ("ProfileChunk", "P") => {
                let chunk: Data<Chunk> = arguments(&event)?;
                let profile = self.profiles.entry(event.key()).or_default();
                if profile.chunks.is_empty() {
                    profile.pointer = format!("/traceEvents/{}", self.index);
                }
                profile.chunks.push((event.ts.unwrap_or(0.0), chunk.data));
            }
            ("CpuProfile", _) => {
                let whole: Data<Whole> = arguments(&event)?;
                let pointer = format!("/traceEvents/{}", self.index);
                let samples = whole.data.cpu_profile.samples(FORMAT, pointer);
                self.whole.push((event.thread(), samples));
            }
            ("thread_name", "M") => {
                let named: BTreeMap<String, String> = match event.args {
                    Some(arguments) => serde_json::from_str(arguments.get())?,
                    None => BTreeMap::new(),
                };
                let name = named.get("name").cloned().unwrap_or_default();
                self.threads.insert(event.thread(), name);
            }
            _ if is_timing(&event.cat) => self.timing(event),
            _ => {}
        }
        Ok(())
    }

    fn timing(&mut self, event: Event<'a>) {
        let Some(time) = event.ts else {
            return;
        };
        let key = (event.key(), event.name.clone());
        match &*event.ph {
            "b" | "B" | "S" => self.begun.entry(key).or_default().push(time),
            "e" | "E" | "F" => {
                if let Some(begin) = self.begun.get_mut(&key).and_then(Vec::pop) {
                    self.builder.mark(&event.name, begin * 1e3, time * 1e3);
                }
            }
            "X" => {
                let end = time + event.dur.unwrap_or(0.0);
                self.builder.mark(&event.name, time * 1e3, end * 1e3);
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Result<Profile, ReadProfileError> {
        for profile in std::mem::take(&mut self.profiles).into_values() {
            let thread = profile.thread;
            let samples = profile.samples();
            self.add(thread.unwrap_or_default(), samples)?;
        }
        for (thread, samples) in std::mem::take(&mut self.whole) {
            self.add(thread, samples)?;
        }
        self.builder.finish(
            FORMAT,
            ProfileUnit::Nanoseconds,
            "record it with the category disabled-by-default-v8.cpu_profiler",
        )
    }

    fn add(&mut self, thread: (&str, &str), samples: Samples) -> Result<(), ReadProfileError> {
        let name = self.threads.get(&thread).map_or("", String::as_str);
        let thread = self.builder.thread(name);
        samples.add(thread, &mut self.builder)
    }
}

impl<'a> Chunks<'a> {
    fn samples(mut self) -> Samples<'a> {
        self.chunks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let start = self.start.or(self.chunks.first().map(|chunk| chunk.0));
        let mut nodes: Vec<Node> = Vec::new();
        let (mut samples, mut deltas) = (Vec::new(), Vec::new());
        for (_, chunk) in self.chunks {
            nodes.extend(chunk.cpu_profile.nodes);
            samples.extend(chunk.cpu_profile.samples);
            // Older versions have them inside.
            deltas.extend(chunk.cpu_profile.time_deltas);
            deltas.extend(chunk.time_deltas);
        }
        Samples {
            format: FORMAT,
            pointer: self.pointer,
            nodes,
            samples,
            times: times(start.unwrap_or(0.0), &deltas).collect(),
        }
    }
}

/// The categories of `performance.measure` and `console.time`.
fn is_timing(categories: &str) -> bool {
    categories
        .split(',')
        .any(|category| matches!(category, "blink.user_timing" | "blink.console"))
}

fn arguments<'a, T: Deserialize<'a>>(event: &Event<'a>) -> Result<T, serde_json::Error> {
    serde_json::from_str(event.args.map_or("{}", RawValue::get))
}

/// The document: an object with `traceEvents`, or the events alone.
struct Trace<'r, 'a>(&'r mut Reader<'a>);

impl<'de> Visitor<'de> for Trace<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with `traceEvents`, or an array of events")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = members.next_key()? {
            if name == "traceEvents" {
                members.next_value_seed(Events(self.0))?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<(), A::Error> {
        Events(self.0).visit_seq(elements)
    }
}

struct Events<'r, 'a>(&'r mut Reader<'a>);

impl<'de> DeserializeSeed<'de> for Events<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(OneEvent(self.0))?.is_some() {}
        Ok(())
    }
}

struct OneEvent<'r, 'a>(&'r mut Reader<'a>);

impl<'de> DeserializeSeed<'de> for OneEvent<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.in_event = true;
        let event = Event::deserialize(deserializer)?;
        let index = self.0.index;
        self.0.event(event).map_err(|error| {
            let message = error.to_string();
            let problem = message.split(" at line ").next().unwrap_or_default();
            serde::de::Error::custom(format!("event {index}: {problem}"))
        })?;
        self.0.index += 1;
        self.0.in_event = false;
        Ok(())
    }
}
