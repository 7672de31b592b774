//! Chrome's trace events.
//!
//! ```json
//! {"traceEvents": [
//!   {"name": "Profile", "ph": "P", "pid": 7, "tid": 7, "id": "0x1", "args": {"data": {"startTime": 658192748}}, …},
//!   {"name": "ProfileChunk", "ph": "P", "pid": 7, "id": "0x1", "args": {"data":
//!     {"cpuProfile": {"nodes": […], "samples": [3, 3]}, "timeDeltas": [235, 525]}}, …}, …]}
//! ```
//!
//! An object, or the array alone, which may lack its closing bracket: the format allows that of a
//! program that was killed. V8's profiles count: `Profile` with its chunks, which belong together
//! by process and id, and whole ones in `CpuProfile`. Of all other events, the names of threads,
//! the pages that were opened, the spans of `performance.measure` and `console.time`, and the
//! activity during a sample count. Described in "Trace Event Format" (Google). Functions are named
//! by their source maps, where the trace carries these (`script_maps.rs`). Without any samples, the
//! times of the events count (`event_times.rs`). Checked with Chromium 156.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::cpuprofile::CpuProfile;
use super::event_times::EventTimes;
use super::open_events::OpenEvents;
use super::script_maps::ScriptMaps;
use super::trace_events::{Event, walk};
use super::v8::{Node, Samples, times};
use crate::builder::Builder;
use crate::{Category, Profile, ProfileFormat, ProfileUnit, ProfileWarning, ReadProfileError};

const FORMAT: ProfileFormat = ProfileFormat::ChromeTrace;

/// The thread of V8's profiler that writes chunks.
const WRITER: &str = "v8:ProfEvntProc";

pub(crate) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let mut reader = ChromeTraceReader::default();
    let metadata = walk(text, |index, event| reader.event(index, event))?;
    reader.maps = ScriptMaps::from_metadata(metadata, &mut reader.builder);
    reader.finish()
}

/// The arguments of an event. Some events of some programs lack the data that others have.
#[derive(Deserialize)]
pub(crate) struct Data<T> {
    pub(crate) data: Option<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Started {
    start_time: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Chunk<'a> {
    #[serde(borrow)]
    pub(crate) cpu_profile: CpuProfile<'a>,
    pub(crate) time_deltas: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WholeCpuProfile<'a> {
    #[serde(borrow)]
    pub(crate) cpu_profile: CpuProfile<'a>,
}

/// One profile, in its chunks.
#[derive(Default)]
struct Chunks<'a> {
    thread: Option<(&'a str, &'a str)>,
    /// The thread that wrote the chunks.
    writer: Option<(&'a str, &'a str)>,
    start: Option<f64>,
    /// The chunks, with the time at which each was written: they belong in that order.
    chunks: Vec<(f64, Chunk<'a>)>,
    pointer: String,
}

/// The process, the id and the name of a span.
type SpanKey<'a> = ((&'a str, &'a str), Cow<'a, str>);

#[derive(Default)]
struct ChromeTraceReader<'a> {
    builder: Builder,
    profiles: BTreeMap<(&'a str, &'a str), Chunks<'a>>,
    whole: Vec<((&'a str, &'a str), Samples<'a>)>,
    threads: BTreeMap<(&'a str, &'a str), String>,
    /// Spans that have begun, by process, id and name.
    begun: BTreeMap<SpanKey<'a>, Vec<f64>>,
    events: BTreeMap<(&'a str, &'a str), OpenEvents>,
    /// Set at the first sample: a profile may be empty.
    has_samples: bool,
    /// The times that count where there are no samples.
    times: EventTimes<'a>,
    lacks_data: bool,
    maps: ScriptMaps<'a>,
}

/// Marks the start of a page load: `CommitLoad` has one, the beginning of a recording all.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Opened<'a> {
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow)]
    parent: Option<&'a RawValue>,
    is_outermost_main_frame: Option<bool>,
    #[serde(borrow)]
    frames: Vec<Opened<'a>>,
}

impl<'a> ChromeTraceReader<'a> {
    fn event(&mut self, index: usize, event: Event<'a>) -> Result<(), serde_json::Error> {
        match (&*event.name, &*event.ph) {
            ("Profile", "P") => {
                let started: Data<Started> = event.arguments()?;
                let start = started.data.and_then(|started| started.start_time);
                let profile = self.profiles.entry(event.key()).or_default();
                profile.thread = Some(event.thread());
                profile.start = start.or(event.ts);
            }
            ("ProfileChunk", "P") => {
                let chunk: Data<Chunk> = event.arguments()?;
                let Some(chunk) = chunk.data else {
                    self.without_data(index, &event);
                    return Ok(());
                };
                self.sampled(&chunk.cpu_profile);
                let profile = self.profiles.entry(event.key()).or_default();
                // The profiler writes chunks on a thread of its own, and `Profile` on the one
                // that it samples.
                profile.writer.get_or_insert(event.thread());
                if profile.chunks.is_empty() {
                    profile.pointer = format!("/traceEvents/{index}");
                }
                profile.chunks.push((event.ts.unwrap_or(0.0), chunk));
            }
            ("CpuProfile", _) => {
                let whole: Data<WholeCpuProfile> = event.arguments()?;
                let Some(whole) = whole.data else {
                    self.without_data(index, &event);
                    return Ok(());
                };
                self.sampled(&whole.cpu_profile);
                let pointer = format!("/traceEvents/{index}");
                let samples = whole.cpu_profile.samples(FORMAT, pointer);
                self.whole.push((event.thread(), samples));
            }
            ("thread_name", "M") => {
                let named: BTreeMap<String, String> = event.arguments()?;
                let name = named.get("name").cloned().unwrap_or_default();
                self.threads.insert(event.thread(), name);
            }
            ("TracingStartedInBrowser" | "FrameCommittedInBrowser" | "CommitLoad", _) => {
                // A trace without pages is valid, too: invalid data on them is passed over.
                let opened: Option<Data<Opened>> = event.arguments().ok();
                let opened = opened.and_then(|it| it.data);
                opened.into_iter().for_each(|it| self.opened(&it));
            }
            _ if is_timing(&event.cat) => self.timing(event),
            (_, "X" | "B" | "E") => {
                if !self.has_samples {
                    self.times.add(&event);
                }
                let is_whole = event.ph == "X";
                if !(is_whole && Category::of_event(&event.name) == Category::Other) {
                    self.events.entry(event.thread()).or_default().add(&event);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Forgets the times of events once there are samples.
    fn sampled(&mut self, profile: &CpuProfile) {
        if !self.has_samples && !profile.samples.is_empty() {
            self.has_samples = true;
            self.times = EventTimes::default();
        }
    }

    /// Passes over an event. One warning is enough for several.
    fn without_data(&mut self, index: usize, event: &Event) {
        if !std::mem::replace(&mut self.lacks_data, true) {
            self.builder.warn(ProfileWarning::NoData {
                event: index,
                name: event.name.to_string(),
            });
        }
    }

    fn opened(&mut self, opened: &Opened) {
        for page in opened.frames.iter().chain([opened]) {
            let is_inside = page.parent.is_some() || page.is_outermost_main_frame == Some(false);
            if !is_inside && !page.url.is_empty() {
                self.builder.page(&page.url);
            }
        }
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
        let times = std::mem::take(&mut self.times);
        if !self.has_samples && times.weigh(&self.threads, &mut self.builder) {
            self.builder.warn(ProfileWarning::EventsOnly);
        }
        for profile in std::mem::take(&mut self.profiles).into_values() {
            let thread = self.thread(&profile);
            self.add(thread, profile.samples())?;
        }
        for (thread, samples) in std::mem::take(&mut self.whole) {
            self.add(thread, samples)?;
        }
        self.builder.finish(
            FORMAT,
            ProfileUnit::Nanoseconds,
            "record it with the category disabled-by-default-v8.cpu_profiler, and for longer",
        )
    }

    /// The thread of a profile. Where a recording began after its `Profile`, that which wrote the
    /// chunks is the best guess, unless it is the profiler's own.
    fn thread(&self, profile: &Chunks<'a>) -> (&'a str, &'a str) {
        let is_own = |key: &_| self.threads.get(key).is_some_and(|name| name == WRITER);
        let writer = profile.writer.filter(|key| !is_own(key));
        profile.thread.or(writer).unwrap_or_default()
    }

    fn add(&mut self, key: (&str, &str), mut samples: Samples) -> Result<(), ReadProfileError> {
        for node in &mut samples.nodes {
            self.maps.resolve(&mut node.call_frame, &mut self.builder);
        }
        let name = self.threads.get(&key).map_or("", String::as_str);
        let thread = self.builder.thread(name);
        let events = self.events.get(&key);
        let mut at = events.map(OpenEvents::in_order);
        let event = |time| at.as_mut()?.at(time);
        samples.add(thread, &mut self.builder, event)
    }
}

impl<'a> Chunks<'a> {
    fn samples(mut self) -> Samples<'a> {
        self.chunks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let start = self.start.or(self.chunks.first().map(|chunk| chunk.0));
        let mut nodes: Vec<Node> = Vec::new();
        // There are millions, and a list that doubles would take up to twice the memory.
        let all = self.chunks.iter();
        let all = all.map(|(_, chunk)| chunk.cpu_profile.samples.len()).sum();
        let (mut samples, mut deltas) = (Vec::with_capacity(all), Vec::with_capacity(all));
        for (_, chunk) in self.chunks {
            nodes.extend(chunk.cpu_profile.nodes);
            samples.extend(chunk.cpu_profile.samples);
            // Older versions have them inside, and some write them in both places.
            deltas.extend(if chunk.time_deltas.is_empty() {
                chunk.cpu_profile.time_deltas
            } else {
                chunk.time_deltas
            });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_deltas_in_both_places_count_once() {
        let trace = |inside: &str, outside: &str| {
            format!(
                r#"[{{"name": "ProfileChunk", "ph": "P", "pid": 1, "tid": 1, "id": "0x1", "ts": 1, "args": {{"data": {{
                "cpuProfile": {{"nodes": [{{"id": 1, "callFrame": {{"functionName": "parse"}}}}], "samples": [1, 1]{inside}}}{outside}}}}}}}]"#
            )
        };
        let deltas = r#", "timeDeltas": [0, 500]"#;
        for text in [trace(deltas, ""), trace("", deltas), trace(deltas, deltas)] {
            assert_eq!(read(&text).unwrap().total(), 1e6);
        }
    }
    const LAYOUT: &str = r#"{"name": "Layout", "ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2}"#;

    #[test]
    fn an_empty_profile_leaves_the_times_of_events() {
        for empty in [
            r#"{"name": "Profile", "ph": "P", "pid": 1, "tid": 1, "id": "0x1", "args": {"data": {}}}"#,
            r#"{"name": "ProfileChunk", "ph": "P", "pid": 1, "tid": 1, "id": "0x1", "args": {"data": {}}}"#,
            r#"{"name": "CpuProfile", "ph": "I", "pid": 1, "tid": 1, "args": {"data": {"cpuProfile": {}}}}"#,
        ] {
            let profile = read(&format!("[{empty}, {LAYOUT}]")).unwrap();
            assert_eq!(profile.total(), 2e3, "{empty}");
            assert_eq!(profile.warnings, [ProfileWarning::EventsOnly]);
        }
    }

    #[test]
    fn events_before_the_first_sample_do_not_count_beside_it() {
        let chunk = r#"{"name": "ProfileChunk", "ph": "P", "pid": 1, "tid": 1, "id": "0x1", "args": {"data": {
            "cpuProfile": {"nodes": [{"id": 1, "callFrame": {"functionName": "parse"}}], "samples": [1, 1]}, "timeDeltas": [0, 5]}}}"#;
        let profile = read(&format!("[{LAYOUT}, {chunk}, {LAYOUT}]")).unwrap();
        assert_eq!((profile.total(), profile.warnings), (1e4, Vec::new()));
    }

    #[test]
    fn a_profile_without_its_beginning_has_the_thread_of_its_chunks() {
        let chunk = |tid: u32| {
            format!(
                r#"{{"name": "ProfileChunk", "ph": "P", "pid": 1, "tid": {tid}, "id": "0x{tid}", "args": {{"data": {{
                "cpuProfile": {{"nodes": [{{"id": 1, "callFrame": {{"functionName": "parse"}}}}], "samples": [1, 1]}}, "timeDeltas": [0, 5]}}}}}}"#
            )
        };
        let name = |tid: u32, name: &str| {
            format!(
                r#"{{"name": "thread_name", "ph": "M", "pid": 1, "tid": {tid}, "args": {{"name": "{name}"}}}}"#
            )
        };
        let events = [chunk(7), chunk(8), name(7, "worker"), name(8, WRITER)].join(", ");
        let profile = read(&format!("[{events}]")).unwrap();
        let threads = profile.threads.iter().map(|name| profile.names.get(*name));
        assert_eq!(threads.collect::<Vec<_>>(), ["worker", ""]);
    }
}
