//! The flame chart of one run a side, in columns: of a timeline where the run has one
//! (`timeline_chart.rs`), otherwise of its samples.

use hashbrown::HashMap;
use pinpoint_core::profile::{ChartTrack, EntryComparison, Function, Grouping, Profile, Timeline};
use serde::Serialize;
use serde_json::value::RawValue;

use super::data::FunctionTable;
use crate::foreign::clean;
use crate::text::name;

/// At most this many entries of a side: with those of the other side a million.
const MOST_ENTRIES: usize = 500_000;

/// At most this many marks.
pub(super) const MOST_MARKS: usize = 1_000;

/// The calls of one run over time. Times are tenths of a microsecond since the run began.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    /// The number of the run on its side, counted from 1.
    pub(super) run: usize,
    pub(super) tracks: Vec<Track>,
    pub(super) kinds: Vec<Kind>,
    pub(super) marks: Vec<Mark>,
    /// The stacks that events carry, the innermost call first, with its place.
    pub(super) stacks: Vec<Vec<String>>,
    /// The shortest entry with room; shorter ones are left out.
    pub(super) shortest: u64,
    /// The bounds of the window that counts, where that is not all.
    pub(super) window: Option<[u64; 2]>,
    /// For a timeline: the facts needed to annotate its file.
    pub(super) trace: Option<Trace>,
}

/// The file of a timeline.
#[derive(Debug, Serialize)]
pub(super) struct Trace {
    /// Its name, without the folder.
    pub(super) file: String,
    /// The time at which the run began, in microseconds of the file's own clock.
    pub(super) begin: f64,
    /// The number of recorded bytes in it.
    pub(super) recorded: usize,
    /// Its annotations; see `scripts/annotations.js`.
    pub(super) modifications: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Track {
    pub(super) name: String,
    /// The track's place among those of all runs, if it is known there; see `scripts/all_runs.js`.
    pub(super) all_runs: Option<usize>,
    /// Each as the time since the entry before it began.
    pub(super) starts: Vec<u64>,
    pub(super) durations: Vec<u64>,
    pub(super) kinds: Vec<usize>,
    /// The number of entries around each; -1 for those that are not drawn.
    pub(super) depths: Vec<i64>,
    /// Of a timeline.
    #[serde(flatten)]
    pub(super) keys: Option<Keys>,
}

/// The parts of the keys by which DevTools finds entries.
#[derive(Debug, Default, Serialize)]
pub(super) struct Keys {
    pub(super) process: i64,
    pub(super) thread: i64,
    /// The place of an event in the file, the number of the sample in which a call is first
    /// seen, or that of a frame, each as the difference to that of the event, call or frame
    /// before.
    pub(super) sources: Vec<i64>,
    /// V8's number of a call's node; -1 for events, -2 for entries made of two events, -3 for
    /// frames.
    pub(super) nodes: Vec<i64>,
    pub(super) scheduled: Scheduled,
    pub(super) called: Called,
}

/// Entries whose events carry a stack, and its place among those of the chart.
#[derive(Debug, Default, Serialize)]
pub(super) struct Called {
    /// Each as the difference to the one before.
    pub(super) entry: Vec<usize>,
    pub(super) stack: Vec<usize>,
}

/// Entries that begin a task, and the entries that scheduled it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Scheduled {
    pub(super) entry: Vec<usize>,
    pub(super) task: Vec<String>,
    /// The other one's track, and its place there.
    pub(super) track: Vec<usize>,
    pub(super) by: Vec<usize>,
}

/// The common properties of entries; see `trees.js`.
#[derive(Debug, Default, Serialize)]
pub(super) struct Kind {
    /// The same on both sides.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) category: &'static str,
    pub(super) url: String,
    pub(super) file: String,
    pub(super) domain: String,
    pub(super) module: String,
    pub(super) owner: String,
    /// Its place among the functions of the page; -1 for an event.
    pub(super) function: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct Mark {
    pub(super) name: String,
    pub(super) start: u64,
    pub(super) duration: u64,
}

/// The drawn run of a side: the one with the median total cost; `None` where no run has times.
pub(super) fn shown_run(runs: &[Profile]) -> Option<usize> {
    let mut timed: Vec<usize> = (0..runs.len())
        .filter(|run| !runs[*run].times.is_empty())
        .collect();
    timed.sort_by(|a, b| runs[*a].total().total_cmp(&runs[*b].total()).then(a.cmp(b)));
    timed.get(timed.len() / 2).copied()
}

/// The timeline of a run, and the name of its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn<'a> {
    pub(super) timeline: &'a Timeline,
    pub(super) file: &'a str,
    /// The bounds of the window that counts, in microseconds of the file's own clock.
    pub(super) window: Option<[f64; 2]>,
    /// The comparison of the timelines of all runs.
    pub(super) all_runs: Option<&'a EntryComparison>,
}

impl Chart {
    /// The chart of a side; absent where no run has times. `functions_of` has the function of
    /// each frame of each run, and `drawn` is of the run that is shown.
    pub(super) fn from_runs(
        runs: &[Profile],
        functions_of: &[Vec<u32>],
        drawn: Option<Drawn>,
        known: &mut FunctionTable,
    ) -> Option<Self> {
        let run = shown_run(runs)?;
        let (profile, functions) = (runs.get(run)?, functions_of.get(run)?);
        let chart = match drawn {
            Some(drawn) => Self::of_timeline(drawn, profile, functions, known),
            None => Self::of_samples(profile, functions, known),
        };
        let chart = Self {
            run: run + 1,
            ..chart
        };
        (!chart.tracks.is_empty()).then_some(chart)
    }

    fn of_samples(profile: &Profile, functions: &[u32], known: &mut FunctionTable) -> Self {
        let tracks = profile.flame_chart();
        let calls = tracks.iter().flat_map(|track| &track.calls);
        let shortest = shortest(calls.map(|call| call.duration));
        let mut kinds = Kinds {
            places: HashMap::new(),
            listed: Vec::new(),
        };
        let tracks: Vec<Track> = (tracks.iter())
            .map(|track| {
                columns(track, shortest, |frame| {
                    let function = functions
                        .get(frame)
                        .map_or(0, |function| *function as usize);
                    kinds.place(function, known)
                })
            })
            .collect();
        Self {
            run: 0,
            tracks,
            kinds: kinds.listed,
            marks: marks(profile),
            stacks: Vec::new(),
            shortest,
            window: None,
            trace: None,
        }
    }
}

/// Tenths of a microsecond.
pub(super) fn tenths(nanoseconds: f64) -> u64 {
    (nanoseconds / 100.0).max(0.0).round() as u64
}

/// The minimum length of an entry so that all have room, from durations in nanoseconds.
pub(super) fn shortest(durations: impl Iterator<Item = f64>) -> u64 {
    let mut durations: Vec<u64> = durations.map(tenths).collect();
    if durations.len() <= MOST_ENTRIES {
        return 0;
    }
    let left_out = durations.len() - MOST_ENTRIES;
    *durations.select_nth_unstable(left_out).1 + 1
}

fn columns(track: &ChartTrack, shortest: u64, mut kind: impl FnMut(usize) -> usize) -> Track {
    let mut columns = Track {
        name: clean(&name(&track.name)).into_owned(),
        ..Track::default()
    };
    let mut last = 0;
    for call in &track.calls {
        // Begin and end are rounded, so that adjacent entries still touch.
        let (start, end) = (tenths(call.start), tenths(call.start + call.duration));
        if end - start < shortest {
            continue;
        }
        columns.starts.push(start - last);
        columns.durations.push(end - start);
        columns.kinds.push(kind(call.frame.index() as usize));
        columns.depths.push(i64::from(call.depth));
        last = start;
    }
    columns
}

fn marks(profile: &Profile) -> Vec<Mark> {
    let marks = profile.marks.iter().take(MOST_MARKS);
    let mark = |mark: &pinpoint_core::profile::Mark| Mark {
        name: clean(&name(profile.names.get(mark.name))).into_owned(),
        start: tenths(mark.begin),
        duration: tenths(mark.end - mark.begin),
    };
    marks.map(mark).collect()
}

struct Kinds {
    places: HashMap<usize, usize>,
    listed: Vec<Kind>,
}

impl Kinds {
    fn place(&mut self, function: usize, known: &mut FunctionTable) -> usize {
        let next = self.listed.len();
        let place = *self.places.entry(function).or_insert(next);
        if place == next {
            let place = known.place(function);
            self.listed
                .push(Kind::from_function(known.described(function), place));
        }
        place
    }
}

/// The id of calls of the function that has this place on the page.
pub(super) fn call_id(place: usize) -> String {
    format!("f:{place}")
}

impl Kind {
    /// Calls of a function, which has this place on the page.
    pub(super) fn from_function(function: Option<&Function>, place: usize) -> Self {
        let called = function.map(|function| function.name.as_str());
        Self {
            id: call_id(place),
            name: clean(called.unwrap_or_default()).into_owned(),
            category: match called {
                Some("(garbage collector)") => "gc",
                _ => "scripting",
            },
            function: place as i64,
            ..function.map_or_else(Self::default, Self::grouped)
        }
    }

    /// A kind with only the properties by which a function or event is grouped.
    pub(super) fn grouped(function: &Function) -> Self {
        let group = |grouping: Grouping| clean(&grouping.of(function)).into_owned();
        Self {
            url: group(Grouping::Url),
            file: group(Grouping::File),
            domain: group(Grouping::Domain),
            module: group(Grouping::Module),
            owner: group(Grouping::Owner),
            ..Self::default()
        }
    }
}
