//! The data model of timelines.

use std::collections::BTreeMap;

use super::{EventKey, Kind, KindId};
use crate::{NameId, Names, ProfileFormat};

/// A function in [`Timeline::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub(super) u32);

/// A function of a script, as V8 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ScriptFunction {
    /// Its name; empty for an anonymous one.
    pub name: NameId,
    /// The number that V8 gave the script in this run; `0` for functions of V8 itself.
    pub script: NameId,
    /// The script's URL; may be empty.
    pub url: NameId,
    /// The line, counted from 0; -1 for none.
    pub line: i32,
    /// The column, counted from 0; -1 for none.
    pub column: i32,
}

impl ScriptFunction {
    /// A function that the browser has built in, such as `setTimeout`: it is left out of stacks,
    /// since the task is named after it.
    pub(super) fn is_built_in(&self, names: &Names) -> bool {
        let nowhere = self.line == -1 && self.column == -1 && self.url == NameId::EMPTY;
        nowhere && names.get(self.script) == "0"
    }
}

/// The source of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An event with a duration: its place among the events of the file, of the first if it has
    /// two, for its beginning and its end.
    Event(u32),
    /// An event of a moment.
    Instant(u32),
    /// A call, from the profile's samples.
    Call {
        /// The sample, in the order of time, in which it is first seen; -1 for one that was
        /// taken for an event.
        sample: i32,
        /// V8's number of the node in its call tree.
        node: u32,
    },
}

/// The place of an entry among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// In no other entry.
    Outermost,
    /// In the entry with this place in the track, which begins no later and ends no earlier.
    In(u32),
    /// It begins in an entry and ends after it. It has no place in the tree.
    Across,
}

/// An event or call that took time on a thread, or an event of a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its beginning, in microseconds, of the clock of the trace.
    pub start: f64,
    /// Its duration, in microseconds; 0 for an instant.
    pub duration: f64,
    /// Its duration without that of the entries directly in it.
    pub own: f64,
    /// Its kind.
    pub kind: KindId,
    /// Its source.
    pub source: Source,
    /// The entry that it lies in.
    pub nesting: Nesting,
    /// The number of entries that it lies in.
    pub depth: u32,
    /// Its place among the stacks of payloads; `u32::MAX` without.
    pub(super) stack: u32,
}

impl Entry {
    /// Its end, in microseconds.
    pub fn end(&self) -> f64 {
        self.start + self.duration
    }

    /// The place of the entry that it lies in.
    pub fn parent(&self) -> Option<usize> {
        match self.nesting {
            Nesting::In(parent) => Some(parent as usize),
            Nesting::Outermost | Nesting::Across => None,
        }
    }
}

/// An entry of a [`Timeline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    /// The track's place in [`Timeline::tracks`].
    pub track: u32,
    /// The entry's place in [`Track::entries`].
    pub entry: u32,
}

/// The entries of one thread.
#[derive(Clone, Debug)]
pub struct Track {
    /// The process.
    pub process: i64,
    /// The thread.
    pub thread: i64,
    /// The name of the process; may be empty.
    pub process_name: NameId,
    /// The name of the thread; may be empty.
    pub name: NameId,
    /// The entries in the order of time; of those that begin together the longest first.
    pub entries: Vec<Entry>,
}

/// A span between two events, on no thread: `performance.measure`, `console.time`, an
/// animation, a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The name.
    pub name: NameId,
    /// The category as it is written, such as `blink.user_timing`.
    pub category: NameId,
    /// The process of the event that ended it.
    pub process: i64,
    /// The thread of the event that ended it.
    pub thread: i64,
    /// Its beginning, in microseconds.
    pub start: f64,
    /// Its duration, in microseconds.
    pub duration: f64,
    /// The place of the event that began it among the events of the file.
    pub index: u32,
}

impl Span {
    /// The key by which DevTools finds it.
    pub fn key(&self) -> EventKey {
        EventKey::Synthetic(u64::from(self.index))
    }
}

/// A frame that a page showed: from its beginning to that of the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageFrame {
    /// Its beginning, in microseconds.
    pub start: f64,
    /// The time for which it was shown, in microseconds. A clock that goes backward makes it
    /// negative.
    pub duration: f64,
    /// Nothing was to be drawn.
    pub is_idle: bool,
    /// It came too late.
    pub is_dropped: bool,
    /// Only the compositor's part was shown, without the main thread's.
    pub is_partial: bool,
}

/// The events and calls of a file over time, by process and thread.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The format in which it was written.
    pub format: ProfileFormat,
    /// All strings.
    pub names: Names,
    /// All functions of scripts.
    pub functions: Vec<ScriptFunction>,
    /// The kinds of entries.
    pub kinds: Vec<Kind>,
    /// A track for each thread, in the order of processes and threads.
    pub tracks: Vec<Track>,
    /// Spans that belong to no thread, in the order of time; of those that begin together the
    /// longest first.
    pub spans: Vec<Span>,
    /// Requests to other machines, in the same order: their names are URLs, and each has the place
    /// of the event that sent it last.
    pub requests: Vec<Span>,
    /// The frames that the page showed, in order. The place of one is its number in its key,
    /// [`EventKey::Frame`].
    pub frames: Vec<PageFrame>,
    /// Annotations that users saved in the file: `metadata.modifications`, as JSON.
    pub modifications: Option<String>,
    /// The number of recorded bytes in the file: they identify it, with any annotations.
    pub recorded_bytes: usize,
    /// The stacks that events carry, the innermost function first.
    pub(super) payloads: Vec<Vec<FunctionId>>,
    /// The scheduler of a call.
    pub(super) scheduled: BTreeMap<EntryId, Scheduled>,
    /// The scheduler of an entry into a script.
    pub(super) entered: BTreeMap<EntryId, Scheduled>,
}

/// The place where a task was scheduled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheduled {
    /// The name of the task: `Promise.then`, `setTimeout`.
    pub(super) task: NameId,
    pub(super) by: EntryId,
}

impl Timeline {
    /// The entry; none for an id of another timeline.
    pub fn entry(&self, id: EntryId) -> Option<&Entry> {
        let track = self.tracks.get(id.track as usize)?;
        track.entries.get(id.entry as usize)
    }

    /// The function; none for an id of another timeline.
    pub fn function(&self, id: FunctionId) -> Option<&ScriptFunction> {
        self.functions.get(id.0 as usize)
    }

    /// The key by which DevTools finds an entry: annotations are saved with it.
    pub fn key(&self, id: EntryId) -> Option<EventKey> {
        let track = self.tracks.get(id.track as usize)?;
        let entry = track.entries.get(id.entry as usize)?;
        Some(match entry.source {
            Source::Event(index) | Source::Instant(index) => EventKey::Raw(u64::from(index)),
            Source::Call { sample, node } => EventKey::Call {
                process: track.process,
                thread: track.thread,
                sample: i64::from(sample),
                node: u64::from(node),
            },
        })
    }

    /// The name of a track: that of the thread and of the process, as far as they have one.
    pub fn track_name(&self, track: &Track) -> String {
        let names = [track.name, track.process_name].map(|id| self.names.get(id));
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        names.join(", ")
    }

    /// The spans of `performance.measure` and `console.time`: DevTools can find only these again.
    pub fn timings(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(|span| {
            let mut categories = self.names.get(span.category).split(',');
            categories.any(|it| matches!(it, "blink.user_timing" | "blink.console"))
        })
    }
}
