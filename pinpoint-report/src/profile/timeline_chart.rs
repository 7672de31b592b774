//! The flame chart of a timeline: events and calls of each thread, one inside the other, and those
//! of `performance.measure` and `console.time`, which belong to none. Requests to other machines
//! and the frames that a page showed have separate tracks.
//!
//! It contains all entries that DevTools counts in its trees. Those that it does not draw have no
//! depth: the program and idle time, and entries that begin in an entry and end after it.
//!
//! Calls are matched with the functions of the profile by name and place: those that source maps
//! name, by the name and place as they ran.

use std::cmp::Ordering;

use hashbrown::HashMap;
use pinpoint_core::profile::{
    CallFrames, Category, Entry, EntryComparison, EntryId, EntryTree, Function, KindId, Nesting,
    PageFrame, Profile, Source, Span, Timeline, Track as Thread,
};
use serde_json::value::RawValue;

use super::chart::{Chart, Drawn, Keys, Kind, MOST_MARKS, Mark, Trace, Track, shortest, tenths};
use super::data::FunctionTable;
use crate::foreign::clean;
use crate::text::name;

/// Entries further in are not drawn.
const MOST_DEPTH: u32 = 1_000;

/// Calls of a stack that an event carries.
const MOST_CALLS: usize = 5;

/// The node of an entry that is not a call.
const EVENT: i64 = -1;
const TWO_EVENTS: i64 = -2;
const FRAME: i64 = -3;

impl Chart {
    /// The chart of a timeline; `functions` are those of the frames of its profile.
    pub(super) fn of_timeline(
        Drawn {
            timeline,
            file,
            window,
            all_runs,
        }: Drawn,
        profile: &Profile,
        functions: &[u32],
        known: &mut FunctionTable,
    ) -> Self {
        let entries = || timeline.tracks.iter().flat_map(|track| &track.entries);
        let starts = entries().map(|entry| entry.start);
        let begin = starts.chain(timeline.timings().map(|span| span.start));
        let begin = begin.chain(timeline.requests.iter().map(|request| request.start));
        let begin = begin.chain(timeline.frames.iter().map(|frame| frame.start));
        let begin = begin.fold(f64::INFINITY, f64::min);
        let durations = entries().map(|entry| entry.duration * 1e3);
        let spans = timeline.timings().map(|span| span.duration * 1e3);
        let requests = timeline
            .requests
            .iter()
            .map(|request| request.duration * 1e3);
        let frames = timeline.frames.iter().map(|frame| frame.duration * 1e3);
        let mut drawing = Drawing {
            timeline,
            begin,
            shortest: shortest(durations.chain(spans).chain(requests).chain(frames)),
            all_runs,
            kinds: Kinds::from_timeline(timeline, profile, functions),
        };
        let order = order(&timeline.tracks);
        let places: Vec<Vec<usize>> = order.iter().map(|at| drawing.places(*at)).collect();
        let mut tracks: Vec<Track> = (order.iter().zip(&places))
            .map(|(at, places)| drawing.thread(*at, places, known))
            .collect();
        schedules(timeline, &order, &places, &mut tracks);
        let stacks = calls(timeline, &order, &places, &mut tracks);
        let spans: Vec<&Span> = timeline.timings().collect();
        tracks.extend(drawing.spans(EntryTree::TIMINGS, &spans, |kinds, span| {
            kinds.span(timeline, span)
        }));
        let requests: Vec<&Span> = timeline.requests.iter().collect();
        tracks.extend(drawing.spans("Network", &requests, |kinds, request| {
            kinds.request(timeline, request)
        }));
        tracks.extend(drawing.frames());
        Self {
            run: 0,
            tracks,
            marks: drawing.marks(),
            stacks,
            window: window.map(|times| times.map(|time| drawing.since(time))),
            kinds: drawing.kinds.listed,
            shortest: drawing.shortest,
            trace: Some(Trace {
                file: clean(file).into_owned(),
                begin,
                recorded: timeline.recorded_bytes,
                modifications: timeline
                    .modifications
                    .clone()
                    .and_then(|json| RawValue::from_string(json).ok()),
            }),
        }
    }
}

/// The places of the tracks: those with the most script time first, then those that were busy for
/// longest.
fn order(tracks: &[Thread]) -> Vec<usize> {
    let spent = |track: &Thread| {
        let is_call = |entry: &&Entry| matches!(entry.source, Source::Call { .. });
        let calls = track.entries.iter().filter(is_call);
        let calls: f64 = calls.map(|entry| entry.own).sum();
        let outermost = track
            .entries
            .iter()
            .filter(|entry| entry.parent().is_none());
        let busy: f64 = outermost.map(|entry| entry.duration).sum();
        (calls, busy)
    };
    let spent: Vec<(f64, f64)> = tracks.iter().map(spent).collect();
    let mut order: Vec<usize> = (0..tracks.len()).collect();
    order.sort_by(|a, b| -> Ordering {
        let (a, b) = (spent[*a], spent[*b]);
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    order
}

struct Drawing<'a> {
    timeline: &'a Timeline,
    /// In microseconds.
    begin: f64,
    shortest: u64,
    all_runs: Option<&'a EntryComparison>,
    kinds: Kinds<'a>,
}

impl Drawing<'_> {
    /// The time since the beginning, in tenths of a microsecond.
    fn since(&self, time: f64) -> u64 {
        tenths((time - self.begin) * 1e3)
    }

    /// Begin and end are rounded, so that adjacent entries still touch.
    fn extent(&self, start: f64, duration: f64) -> Option<(u64, u64)> {
        let (start, end) = (self.since(start), self.since(start + duration));
        let long = end.saturating_sub(start);
        (long >= self.shortest).then_some((start, long))
    }

    /// The place of a track among those of all runs.
    fn in_all_runs(&self, name: &str) -> Option<usize> {
        self.all_runs?.track_named(name)
    }

    /// The entries of a track that have room.
    fn places(&self, track: usize) -> Vec<usize> {
        let entries = self.timeline.tracks[track].entries.iter().enumerate();
        let has_room = |entry: &Entry| self.extent(entry.start, entry.duration).is_some();
        let kept = entries.filter(|(_, entry)| has_room(entry));
        kept.map(|(place, _)| place).collect()
    }

    fn thread(&mut self, track: usize, places: &[usize], known: &mut FunctionTable) -> Track {
        let thread = &self.timeline.tracks[track];
        let called = self.timeline.track_name(thread);
        let mut columns = Track {
            name: clean(&name(&called)).into_owned(),
            all_runs: self.in_all_runs(&called),
            ..Track::default()
        };
        let mut keys = Keys {
            process: thread.process,
            thread: thread.thread,
            ..Keys::default()
        };
        let (mut last, mut event, mut sampled) = (0, 0, 0);
        for entry in places.iter().map(|place| &thread.entries[*place]) {
            let Some((start, duration)) = self.extent(entry.start, entry.duration) else {
                continue;
            };
            columns.starts.push(start.saturating_sub(last));
            columns.durations.push(duration);
            columns.kinds.push(self.kinds.place(entry.kind, known));
            columns.depths.push(self.depth(entry));
            last = start;
            match entry.source {
                Source::Event(index) | Source::Instant(index) => {
                    keys.sources.push(i64::from(index) - event);
                    keys.nodes.push(EVENT);
                    event = i64::from(index);
                }
                Source::Call { sample, node } => {
                    keys.sources.push(i64::from(sample) - sampled);
                    keys.nodes.push(i64::from(node));
                    sampled = i64::from(sample);
                }
            }
        }
        columns.keys = Some(keys);
        columns
    }

    fn depth(&self, entry: &Entry) -> i64 {
        let kind = &self.timeline.kinds[entry.kind.index()];
        let is_nothing = matches!(kind.category, Category::Idle)
            || (kind.function.is_some() && self.timeline.names.get(kind.name) == "(program)");
        match entry.nesting {
            Nesting::Across => -1,
            _ if is_nothing || entry.depth > MOST_DEPTH => -1,
            _ => i64::from(entry.depth),
        }
    }

    /// Spans on a separate track, each in the first row that is free.
    fn spans(
        &mut self,
        name: &str,
        spans: &[&Span],
        kind: impl Fn(&mut Kinds, &Span) -> usize,
    ) -> Option<Track> {
        let mut columns = Track {
            name: name.to_owned(),
            all_runs: self.in_all_runs(name),
            ..Track::default()
        };
        let mut keys = Keys::default();
        let (mut last, mut event) = (0, 0);
        let mut rows: Vec<u64> = Vec::new();
        for span in spans {
            let Some((start, duration)) = self.extent(span.start, span.duration) else {
                continue;
            };
            let free = rows.iter().position(|end| *end <= start);
            let row = free.unwrap_or(rows.len());
            if row > MOST_DEPTH as usize {
                continue;
            }
            rows.resize(rows.len().max(row + 1), 0);
            rows[row] = start + duration;
            columns.starts.push(start.saturating_sub(last));
            columns.durations.push(duration);
            columns.kinds.push(kind(&mut self.kinds, span));
            columns.depths.push(row as i64);
            keys.sources.push(i64::from(span.index) - event);
            keys.nodes.push(TWO_EVENTS);
            (last, event) = (start, i64::from(span.index));
        }
        columns.keys = Some(keys);
        (!columns.starts.is_empty()).then_some(columns)
    }

    /// Frames on a separate track.
    fn frames(&mut self) -> Option<Track> {
        let mut columns = Track {
            name: "Frames".to_owned(),
            ..Track::default()
        };
        let mut keys = Keys::default();
        let (mut last, mut before) = (0, 0);
        let mut frames: Vec<(usize, &PageFrame)> =
            self.timeline.frames.iter().enumerate().collect();
        frames.sort_by(|a, b| a.1.start.total_cmp(&b.1.start));
        for (place, frame) in frames {
            let Some((start, duration)) = self.extent(frame.start, frame.duration) else {
                continue;
            };
            columns.starts.push(start.saturating_sub(last));
            columns.durations.push(duration);
            columns.kinds.push(self.kinds.frame(frame));
            columns.depths.push(0);
            keys.sources.push(place as i64 - before);
            keys.nodes.push(FRAME);
            (last, before) = (start, place as i64);
        }
        columns.keys = Some(keys);
        (!columns.starts.is_empty()).then_some(columns)
    }

    /// Timings by which both sides can be aligned.
    fn marks(&self) -> Vec<Mark> {
        let names = &self.timeline.names;
        let mark = |span: &Span| Mark {
            name: clean(&name(names.get(span.name))).into_owned(),
            start: self.since(span.start),
            duration: tenths(span.duration * 1e3),
        };
        self.timeline.timings().take(MOST_MARKS).map(mark).collect()
    }
}

/// Notes on the tracks of the page which entry scheduled which.
fn schedules(timeline: &Timeline, order: &[usize], places: &[Vec<usize>], tracks: &mut [Track]) {
    let shown = |id: EntryId| {
        let track = order.iter().position(|at| *at == id.track as usize)?;
        let entry = places[track].binary_search(&(id.entry as usize)).ok()?;
        Some((track, entry))
    };
    for (at, track) in tracks.iter_mut().enumerate() {
        let Some(keys) = &mut track.keys else {
            continue;
        };
        for (place, entry) in places[at].iter().enumerate() {
            let id = EntryId {
                track: order[at] as u32,
                entry: *entry as u32,
            };
            let scheduled = timeline.scheduled_by(id);
            let Some((task, (track, by))) =
                scheduled.and_then(|(task, by)| Some((task, shown(by)?)))
            else {
                continue;
            };
            let task = clean(&name(timeline.names.get(task))).into_owned();
            keys.scheduled.entry.push(place);
            keys.scheduled.task.push(task);
            keys.scheduled.track.push(track);
            keys.scheduled.by.push(by);
        }
    }
}

/// Notes on the tracks of the page which entries carry a stack, and returns the stacks.
fn calls(
    timeline: &Timeline,
    order: &[usize],
    places: &[Vec<usize>],
    tracks: &mut [Track],
) -> Vec<Vec<String>> {
    let mut stacks = Vec::new();
    let mut known: HashMap<Vec<String>, usize> = HashMap::new();
    for (at, track) in tracks.iter_mut().enumerate() {
        let Some(keys) = &mut track.keys else {
            continue;
        };
        let mut last = 0;
        for (place, entry) in places[at].iter().enumerate() {
            let id = EntryId {
                track: order[at] as u32,
                entry: *entry as u32,
            };
            let stack = calls_of(timeline, id);
            if stack.is_empty() {
                continue;
            }
            let number = *known.entry(stack).or_insert_with_key(|stack| {
                stacks.push(stack.clone());
                stacks.len() - 1
            });
            keys.called.entry.push(place - last);
            keys.called.stack.push(number);
            last = place;
        }
    }
    stacks
}

/// The innermost calls of the stack that an event carries. That of `FunctionCall` is the function
/// itself.
fn calls_of(timeline: &Timeline, id: EntryId) -> Vec<String> {
    let kind = timeline.entry(id).map(|entry| entry.kind);
    let kind = kind.and_then(|kind| timeline.kinds.get(kind.index()));
    if kind.is_none_or(|kind| timeline.names.get(kind.name) == "FunctionCall") {
        return Vec::new();
    }
    let text = |id| timeline.names.get(id);
    let functions = timeline.payload_stack(id).iter().take(MOST_CALLS);
    let functions = functions.filter_map(|id| timeline.function(*id));
    functions
        .map(|function| {
            let called = match text(function.name) {
                "" => "(anonymous)",
                called => called,
            };
            let file = text(function.url).rsplit('/').next().unwrap_or_default();
            // Counted from 1, as people do.
            let place = match (file, function.line) {
                ("", _) => String::new(),
                (file, ..0) => format!(" ({file})"),
                (file, line) => format!(" ({file}:{}:{})", line + 1, function.column + 1),
            };
            clean(&name(&format!("{called}{place}"))).into_owned()
        })
        .collect()
}

/// The kinds that are listed.
struct Kinds<'a> {
    timeline: &'a Timeline,
    frames: CallFrames<'a>,
    /// The functions of the frames of the profile.
    functions: &'a [u32],
    places: HashMap<KindId, usize>,
    by_id: HashMap<(String, String, &'static str), usize>,
    listed: Vec<Kind>,
}

impl<'a> Kinds<'a> {
    fn from_timeline(timeline: &'a Timeline, profile: &'a Profile, functions: &'a [u32]) -> Self {
        Self {
            timeline,
            frames: CallFrames::of(profile),
            functions,
            places: HashMap::new(),
            by_id: HashMap::new(),
            listed: Vec::new(),
        }
    }

    fn place(&mut self, kind: KindId, known: &mut FunctionTable) -> usize {
        if let Some(place) = self.places.get(&kind) {
            return *place;
        }
        let made = match self.function(kind) {
            Some(function) => {
                let place = known.place(function);
                let described = Kind::from_function(known.described(function), place);
                let of = &self.timeline.kinds[kind.index()];
                // A function of V8 without a name is an anonymous one.
                let is_anonymous = self.timeline.names.get(of.name).is_empty();
                Kind {
                    category: of.category.as_str(),
                    name: match described.file.is_empty() && is_anonymous {
                        true => String::new(),
                        false => described.name.clone(),
                    },
                    ..described
                }
            }
            None => self.of_event(kind),
        };
        let place = self.add(made);
        self.places.insert(kind, place);
        place
    }

    fn add(&mut self, kind: Kind) -> usize {
        // A measure may have the name of an event.
        let id = (kind.id.clone(), kind.file.clone(), kind.category);
        *self.by_id.entry(id).or_insert_with(|| {
            self.listed.push(kind);
            self.listed.len() - 1
        })
    }

    /// The function of calls, if the profile has it.
    fn function(&self, kind: KindId) -> Option<usize> {
        let frame = self.frames.of_kind(self.timeline, kind)?;
        let function = self.functions.get(frame.index() as usize)?;
        Some(*function as usize)
    }

    fn of_event(&self, id: KindId) -> Kind {
        let kind = &self.timeline.kinds[id.index()];
        let text = |text: &str| clean(text).into_owned();
        let called = self.timeline.names.get(kind.name);
        let url = self.timeline.names.get(kind.url);
        Kind {
            id: text(&self.timeline.id_across_runs(id)),
            name: text(&name(called)),
            category: kind.category.as_str(),
            function: -1,
            ..Kind::grouped(&Function::of_event(called, url))
        }
    }

    fn span(&mut self, timeline: &Timeline, span: &Span) -> usize {
        let called = timeline.names.get(span.name);
        self.add(Kind {
            id: clean(called).into_owned(),
            name: clean(&name(called)).into_owned(),
            category: Category::Other.as_str(),
            function: -1,
            ..Kind::default()
        })
    }

    /// A request, named by the last part of its URL.
    fn request(&mut self, timeline: &Timeline, request: &Span) -> usize {
        let text = |text: &str| clean(text).into_owned();
        let url = timeline.names.get(request.name);
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let last = path.trim_end_matches('/').rsplit('/').next();
        self.add(Kind {
            id: text(path),
            name: text(&name(last.unwrap_or_default())),
            category: Category::Network.as_str(),
            function: -1,
            ..Kind::grouped(&Function::of_event(path, url))
        })
    }

    fn frame(&mut self, frame: &PageFrame) -> usize {
        let (called, category) = match frame {
            PageFrame { is_idle: true, .. } => ("idle frame", Category::Idle),
            PageFrame {
                is_dropped: true,
                is_partial: true,
                ..
            } => ("partially shown frame", Category::Rendering),
            PageFrame {
                is_dropped: true, ..
            } => ("dropped frame", Category::Rendering),
            _ => ("frame", Category::Rendering),
        };
        self.named(called, category)
    }

    fn named(&mut self, called: &str, category: Category) -> usize {
        self.add(Kind {
            id: called.to_owned(),
            name: called.to_owned(),
            category: category.as_str(),
            function: -1,
            ..Kind::default()
        })
    }
}
