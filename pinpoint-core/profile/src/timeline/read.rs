//! Reads a timeline.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::flows::Flows;
use super::frames::Frames;
use super::model::{Entry, FunctionId, Nesting, Source, Timeline, Track};
use super::network::Network;
use super::samples::{RawCpuProfile, Samples};
use super::spans::Spans;
use super::tables::{MOST_ENTRIES, Tables};
use super::{Kind, arguments, async_stack, calls, modifications, nesting, sampled};
use crate::read::chrome_trace::{Chunk, Data, WholeCpuProfile};
use crate::read::cpuprofile::CpuProfile;
use crate::read::json::misshapen;
use crate::read::trace_events::{Event, walk};
use crate::read::v8::times;
use crate::{NameId, ProfileFormat, ReadProfileError, recognize};

impl Timeline {
    /// Reads the timeline of a Chrome trace or a `.cpuprofile`, plain or compressed with
    /// gzip.
    ///
    /// A trace without samples has a timeline of its events alone.
    ///
    /// # Errors
    ///
    /// [`ReadProfileError`]: damage anywhere, a profile of another format
    /// ([`ReadProfileError::NoTimeline`]), and one that is too large.
    ///
    /// # Cost
    ///
    /// Proportional to the content, which is walked and not held, at any depth of stacks. An entry
    /// takes some 60 bytes.
    pub fn read(content: &[u8]) -> Result<Self, ReadProfileError> {
        let content = &*recognize::plain(content)?;
        let format = recognize::recognized(content)?;
        let read = match format {
            ProfileFormat::ChromeTrace => of_trace,
            ProfileFormat::CpuProfile => of_cpuprofile,
            format => return Err(ReadProfileError::NoTimeline { format }),
        };
        let text = recognize::utf8(content, format)?;
        let timeline = read(text)?;
        let notes = modifications::read_notes(text);
        Ok(Self {
            modifications: notes.modifications,
            recorded_bytes: notes.recorded_bytes,
            ..timeline
        })
    }
}

/// The process and thread of a profile that does not name them.
const ONLY: (i64, i64) = (1, 1);

fn of_cpuprofile(text: &str) -> Result<Timeline, ReadProfileError> {
    let format = ProfileFormat::CpuProfile;
    let profile = CpuProfile::parse(text)?;
    let mut tables = Tables::default();
    let raw = RawCpuProfile {
        times: times(profile.start_time, &profile.time_deltas).collect(),
        nodes: profile.nodes,
        samples: profile.samples,
        of_events: Vec::new(),
    };
    let samples =
        Samples::from_raw(raw, &mut tables).map_err(|problem| misshapen(format, "", problem))?;
    let entries = sampled::calls(&samples, &mut tables)?;
    let mut timeline = Timeline::empty(format);
    timeline.tracks.push(Track {
        process: ONLY.0,
        thread: ONLY.1,
        process_name: NameId::EMPTY,
        name: NameId::EMPTY,
        entries,
    });
    timeline.take(tables)?;
    Ok(timeline)
}

fn of_trace(text: &str) -> Result<Timeline, ReadProfileError> {
    let mut reader = TimelineReader::default();
    // Scripts are named as DevTools' engine names them: as they ran, before source maps.
    walk(text, |index, event| reader.event(index, event))?;
    reader.finish()
}

/// A process and a thread.
pub(super) type ThreadKey = (i64, i64);

/// The events of one thread, while they are read.
#[derive(Default)]
struct Thread<'a> {
    entries: Vec<Entry>,
    /// Begun and not ended, with the category.
    begun: Vec<(usize, Cow<'a, str>)>,
    /// The numbers of samples that were taken for events, by the events' places in the file.
    sampled: Vec<(u32, &'a str)>,
    name: Cow<'a, str>,
}

/// One profile of samples, in its chunks.
#[derive(Default)]
struct Profile<'a> {
    thread: Option<ThreadKey>,
    start: Option<f64>,
    source: Cow<'a, str>,
    /// The chunks, with the time at which each was written: they belong in that order.
    chunks: Vec<(f64, Chunk<'a>)>,
    index: usize,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct NameArguments<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Origin<'a> {
    #[serde(borrow)]
    source: Cow<'a, str>,
}

#[derive(Default)]
struct TimelineReader<'a> {
    tables: Tables,
    threads: BTreeMap<ThreadKey, Thread<'a>>,
    processes: BTreeMap<i64, Cow<'a, str>>,
    /// The profiles in the order in which they begin in the file, found by process and id.
    profiles: Vec<((&'a str, &'a str), Profile<'a>)>,
    payloads: Vec<Vec<FunctionId>>,
    spans: Spans<'a>,
    flows: Flows<'a>,
    frames: Frames<'a>,
    network: Network<'a>,
    entries: usize,
}

impl<'a> TimelineReader<'a> {
    fn event(&mut self, index: usize, event: Event<'a>) -> Result<(), serde_json::Error> {
        self.frames.event(&event);
        self.network.event(index, &event);
        match (&*event.name, &*event.ph) {
            ("Profile", "P") => {
                let thread = thread_of(&event)?;
                let origin: Data<Origin> = event.arguments()?;
                let profile = self.profile(&event, index);
                profile.thread = Some(thread);
                // Of the trace's own clock, which the start in the arguments need not be.
                profile.start = event.ts;
                profile.source = origin.data.unwrap_or_default().source;
            }
            ("ProfileChunk", "P") => {
                let chunk: Data<Chunk> = event.arguments()?;
                // Reading the profile warns of one without data.
                if let Some(chunk) = chunk.data {
                    let profile = self.profile(&event, index);
                    profile.chunks.push((event.ts.unwrap_or(0.0), chunk));
                }
            }
            ("CpuProfile", _) => {
                let thread = thread_of(&event)?;
                let whole: Data<WholeCpuProfile> = event.arguments()?;
                let Some(whole) = whole.data else {
                    return Ok(());
                };
                let profile = self.profile(&event, index);
                profile.thread = Some(thread);
                profile.start = Some(whole.cpu_profile.start_time);
                let chunk = Chunk {
                    cpu_profile: whole.cpu_profile,
                    time_deltas: Vec::new(),
                };
                profile.chunks.push((0.0, chunk));
            }
            ("thread_name", "M") => {
                let named: NameArguments = event.arguments()?;
                self.threads.entry(thread_of(&event)?).or_default().name = named.name;
            }
            ("process_name", "M") => {
                let named: NameArguments = event.arguments()?;
                self.processes.insert(thread_of(&event)?.0, named.name);
            }
            (_, "X" | "B" | "E" | "I" | "i" | "R") => self.entry(index, event)?,
            (_, "b" | "e" | "S" | "F") => self.span(index, event)?,
            (_, "s" | "t" | "f") => self.flows.step(thread_of(&event)?, time_of(&event)?, event),
            _ => {}
        }
        Ok(())
    }

    fn profile(&mut self, event: &Event<'a>, index: usize) -> &mut Profile<'a> {
        let key = event.key();
        let known = self.profiles.iter().position(|(known, _)| *known == key);
        let place = known.unwrap_or_else(|| {
            let profile = Profile {
                index,
                ..Profile::default()
            };
            self.profiles.push((key, profile));
            self.profiles.len() - 1
        });
        &mut self.profiles[place].1
    }

    fn entry(&mut self, index: usize, event: Event<'a>) -> Result<(), serde_json::Error> {
        let key = thread_of(&event)?;
        let time = time_of(&event)?;
        let thread = self.threads.entry(key).or_default();
        if event.ph == "E" {
            // One whose beginning was not recorded is passed over.
            if let Some((place, category)) = thread.begun.pop() {
                let entry = &mut thread.entries[place];
                let name = self.tables.kinds.values[entry.kind.index()].name;
                if self.tables.names.get(name) == event.name && category == event.cat {
                    entry.duration = (time - entry.start).max(0.0);
                }
            }
            return Ok(());
        }
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(serde::de::Error::custom("there are too many events"));
        }
        let arguments = arguments::from_event(&event);
        let name = self.tables.name(&event.name);
        let label = self.tables.name(&arguments.label);
        let url = self.tables.name(&arguments.url);
        let kind = Kind::event(name, label, url, &self.tables.names);
        let index = index as u32;
        if let Some(sample) = arguments.sample {
            thread.sampled.push((index, sample));
        }
        let mut stack = u32::MAX;
        if !arguments.stack.is_empty() {
            stack = self.payloads.len() as u32;
            let frames = arguments.stack.iter();
            let functions = frames.map(|frame| self.tables.function(&frame.0));
            self.payloads.push(functions.collect());
        }
        let is_timed = matches!(&*event.ph, "X" | "B");
        if event.ph == "B" {
            thread.begun.push((thread.entries.len(), event.cat.clone()));
        }
        let duration = if event.ph == "X" {
            event.dur.unwrap_or(0.0)
        } else {
            0.0
        };
        thread.entries.push(Entry {
            start: time,
            duration: duration.max(0.0),
            own: 0.0,
            kind: self.tables.kind(kind),
            source: if is_timed {
                Source::Event(index)
            } else {
                Source::Instant(index)
            },
            nesting: Nesting::Outermost,
            depth: 0,
            stack,
        });
        self.flows.event(index, key, time, &event, arguments.task);
        Ok(())
    }

    fn span(&mut self, index: usize, event: Event<'a>) -> Result<(), serde_json::Error> {
        let (thread, time) = (thread_of(&event)?, time_of(&event)?);
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(serde::de::Error::custom("there are too many events"));
        }
        self.spans.event(index as u32, thread, time, event);
        Ok(())
    }

    fn finish(mut self) -> Result<Timeline, ReadProfileError> {
        let mut samples = self.samples()?;
        let mut timeline = Timeline::empty(ProfileFormat::ChromeTrace);
        let mut main_threads = Vec::new();
        for (&key, thread) in &mut self.threads {
            let mut entries = std::mem::take(&mut thread.entries);
            nesting::sort(&mut entries);
            if let Some(samples) = samples.remove(&key) {
                let of_events = of_events(&entries, &thread.sampled, &samples);
                let calls = calls::calls(&entries, &of_events, &samples, &mut self.tables)?;
                entries = nesting::merge(entries, calls);
            }
            nesting::nest(&mut entries);
            if entries.is_empty() {
                continue;
            }
            if thread.name == "CrRendererMain" {
                main_threads.push((key, entries[0].start));
            }
            let process_name = self.processes.get(&key.0).map_or("", |name| name);
            timeline.tracks.push(Track {
                process: key.0,
                thread: key.1,
                process_name: self.tables.name(process_name),
                name: self.tables.name(&thread.name),
                entries,
            });
        }
        timeline.spans = self.spans.finish(&mut self.tables);
        timeline.requests = self.network.finish(&mut self.tables);
        timeline.frames = self.frames.finish(&main_threads);
        timeline.payloads = self.payloads;
        let runs = self.flows.finish(&mut self.tables);
        timeline.take(self.tables)?;
        async_stack::join(&mut timeline, &runs);
        Ok(timeline)
    }

    /// The samples of each thread. Where a thread has several profiles, that of the
    /// recording counts, then one that the page began itself, then the first.
    fn samples(&mut self) -> Result<BTreeMap<ThreadKey, Samples>, ReadProfileError> {
        let mut chosen: BTreeMap<ThreadKey, Profile> = BTreeMap::new();
        let rank = |profile: &Profile| match &*profile.source {
            "Internal" => 0,
            "Inspector" => 1,
            _ => 2,
        };
        for (_, profile) in std::mem::take(&mut self.profiles) {
            let Some(thread) = profile.thread else {
                continue;
            };
            // A thread with samples only has a track, too.
            self.threads.entry(thread).or_default();
            match chosen.get(&thread) {
                Some(known) if rank(known) <= rank(&profile) => {}
                _ => {
                    chosen.insert(thread, profile);
                }
            }
        }
        let mut samples = BTreeMap::new();
        for (thread, profile) in chosen {
            let pointer = format!("/traceEvents/{}", profile.index);
            let made = Samples::from_raw(profile.raw(), &mut self.tables)
                .map_err(|problem| misshapen(ProfileFormat::ChromeTrace, pointer, problem))?;
            samples.insert(thread, made);
        }
        Ok(samples)
    }
}

impl<'a> Profile<'a> {
    fn raw(mut self) -> RawCpuProfile<'a> {
        self.chunks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut raw = RawCpuProfile::default();
        let mut deltas = Vec::new();
        for (_, mut chunk) in self.chunks {
            raw.nodes.append(&mut chunk.cpu_profile.nodes);
            raw.samples.append(&mut chunk.cpu_profile.samples);
            let of_events = std::mem::take(&mut chunk.cpu_profile.trace_ids).into_iter();
            raw.of_events
                .extend(of_events.map(|(number, node)| (number.into_owned(), node)));
            deltas.extend(chunk.deltas());
        }
        raw.times = times(self.start.unwrap_or(0.0), &deltas).collect();
        raw
    }
}

/// The nodes that were sampled for entries, by the entries' places.
fn of_events(entries: &[Entry], sampled: &[(u32, &str)], samples: &Samples) -> Vec<(u32, u32)> {
    let known = |(index, number): &(u32, &str)| Some((*index, *samples.of_events.get(*number)?));
    let by_index: BTreeMap<u32, u32> = sampled.iter().filter_map(known).collect();
    if by_index.is_empty() {
        return Vec::new();
    }
    let places = entries.iter().enumerate();
    places
        .filter_map(|(place, entry)| match entry.source {
            Source::Event(index) | Source::Instant(index) => {
                Some((place as u32, *by_index.get(&index)?))
            }
            Source::Call { .. } => None,
        })
        .collect()
}

pub(super) fn thread_of(event: &Event) -> Result<ThreadKey, serde_json::Error> {
    let number = |raw: &str, name: &str| match raw.trim_matches('"') {
        "" => Ok(0),
        raw => raw
            .parse()
            .map_err(|_| serde::de::Error::custom(format!("its {name} is {raw}, not a number"))),
    };
    let (process, thread) = event.thread();
    Ok((number(process, "pid")?, number(thread, "tid")?))
}

fn time_of(event: &Event) -> Result<f64, serde_json::Error> {
    event
        .ts
        .filter(|time| time.is_finite())
        .ok_or_else(|| serde::de::Error::custom("it has no time (ts)"))
}

impl Timeline {
    fn empty(format: ProfileFormat) -> Self {
        Self {
            format,
            names: crate::Names::default(),
            functions: Vec::new(),
            kinds: Vec::new(),
            tracks: Vec::new(),
            spans: Vec::new(),
            requests: Vec::new(),
            frames: Vec::new(),
            modifications: None,
            recorded_bytes: 0,
            payloads: Vec::new(),
            scheduled: BTreeMap::new(),
            entered: BTreeMap::new(),
        }
    }

    fn take(&mut self, tables: Tables) -> Result<(), ReadProfileError> {
        tables.check()?;
        self.names = tables.names;
        self.functions = tables.functions.values;
        self.kinds = tables.kinds.values;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_deltas_in_both_places_count_once() {
        let trace = |inside: &str| {
            format!(
                r#"[{{"name": "Profile", "ph": "P", "pid": 1, "tid": 1, "id": "0x1", "ts": 1, "args": {{"data": {{"startTime": 1}}}}}},
                {{"name": "ProfileChunk", "ph": "P", "pid": 1, "tid": 1, "id": "0x1", "ts": 1, "args": {{"data": {{
                "cpuProfile": {{"nodes": [{{"id": 1, "callFrame": {{"functionName": "(root)"}}}}, {{"id": 2, "parent": 1, "callFrame": {{"functionName": "parse"}}}}], "samples": [2, 2, 1]{inside}}},
                "timeDeltas": [0, 500, 500]}}}}}}]"#
            )
        };
        let once = Timeline::read(trace("").as_bytes()).unwrap();
        let twice = Timeline::read(trace(r#", "timeDeltas": [0, 500, 500]"#).as_bytes()).unwrap();
        assert_eq!(once.tracks[0].entries, twice.tracks[0].entries);
        assert!(!once.tracks[0].entries.is_empty());
    }
}
