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

use serde::Deserialize;

use super::cpuprofile::CpuProfile;
use super::trace_events::{Event, walk};
use super::v8::{Node, Samples, times};
use crate::profile::builder::Builder;
use crate::profile::{Profile, ProfileFormat, ProfileUnit, ReadProfileError};

const FORMAT: ProfileFormat = ProfileFormat::ChromeTrace;

pub(in crate::profile) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let mut reader = Reader::default();
    walk(text, |index, event| reader.event(index, event))?;
    reader.finish()
}

#[derive(Deserialize)]
pub(in crate::profile) struct Data<T> {
    pub(in crate::profile) data: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Started {
    start_time: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::profile) struct Chunk<'a> {
    #[serde(borrow)]
    pub(in crate::profile) cpu_profile: CpuProfile<'a>,
    pub(in crate::profile) time_deltas: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::profile) struct Whole<'a> {
    #[serde(borrow)]
    pub(in crate::profile) cpu_profile: CpuProfile<'a>,
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
    builder: Builder,
    profiles: BTreeMap<(&'a str, &'a str), Chunks<'a>>,
    whole: Vec<((&'a str, &'a str), Samples<'a>)>,
    threads: BTreeMap<(&'a str, &'a str), String>,
    /// Spans that have begun, by process, id and name.
    begun: BTreeMap<SpanKey<'a>, Vec<f64>>,
}

impl<'a> Reader<'a> {
    fn event(&mut self, index: usize, event: Event<'a>) -> Result<(), serde_json::Error> {
        match (&*event.name, &*event.ph) {
            ("Profile", "P") => {
                let started: Data<Started> = event.arguments()?;
                let profile = self.profiles.entry(event.key()).or_default();
                profile.thread = Some(event.thread());
                profile.start = started.data.start_time.or(event.ts);
            }
            ("ProfileChunk", "P") => {
                let chunk: Data<Chunk> = event.arguments()?;
                let profile = self.profiles.entry(event.key()).or_default();
                if profile.chunks.is_empty() {
                    profile.pointer = format!("/traceEvents/{index}");
                }
                profile.chunks.push((event.ts.unwrap_or(0.0), chunk.data));
            }
            ("CpuProfile", _) => {
                let whole: Data<Whole> = event.arguments()?;
                let pointer = format!("/traceEvents/{index}");
                let samples = whole.data.cpu_profile.samples(FORMAT, pointer);
                self.whole.push((event.thread(), samples));
            }
            ("thread_name", "M") => {
                let named: BTreeMap<String, String> = event.arguments()?;
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
