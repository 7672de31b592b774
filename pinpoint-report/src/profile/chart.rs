//! The flame chart of one run a side, in columns.

use hashbrown::HashMap;
use pinpoint_core::profile::{ChartTrack, Function, Profile};
use serde::Serialize;

use super::data::Known;
use crate::foreign::clean;
use crate::text::name;

/// At most this many entries of a side: with those of the other side a million.
const MOST_ENTRIES: usize = 500_000;

/// At most this many marks.
const MOST_MARKS: usize = 1_000;

/// What ran when in one run. Times are tenths of a microsecond since the run began.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    /// Which run of its side it is, counted from 1.
    run: usize,
    tracks: Vec<Track>,
    kinds: Vec<Kind>,
    marks: Vec<Mark>,
    /// Entries that are shorter than this are left out, for want of room.
    shortest: u64,
}

#[derive(Debug, Default, Serialize)]
struct Track {
    name: String,
    /// Each as the time since the entry before it began.
    starts: Vec<u64>,
    durations: Vec<u64>,
    kinds: Vec<usize>,
    depths: Vec<u32>,
}

/// What entries have in common; see `trees.js`.
#[derive(Debug, Serialize)]
struct Kind {
    /// The same on both sides.
    id: String,
    name: String,
    category: &'static str,
    url: String,
    file: String,
    domain: String,
    module: String,
    owner: String,
    /// Its place among the functions of the page.
    function: usize,
}

#[derive(Debug, Serialize)]
struct Mark {
    name: String,
    start: u64,
    duration: u64,
}

impl Chart {
    /// The chart of the run whose whole cost is in the middle of its side; absent where no
    /// run has times. `functions_of` has the function of each frame of each run.
    pub(super) fn of(
        runs: &[Profile],
        functions_of: &[Vec<u32>],
        known: &mut Known,
    ) -> Option<Self> {
        let mut timed: Vec<usize> = (0..runs.len())
            .filter(|run| !runs[*run].times.is_empty())
            .collect();
        timed.sort_by(|a, b| runs[*a].total().total_cmp(&runs[*b].total()).then(a.cmp(b)));
        let run = *timed.get(timed.len() / 2)?;
        let (profile, functions) = (runs.get(run)?, functions_of.get(run)?);
        let tracks = profile.flame_chart();
        let shortest = shortest(&tracks);
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
        (!tracks.is_empty()).then(|| Self {
            run: run + 1,
            tracks,
            kinds: kinds.listed,
            marks: marks(profile),
            shortest,
        })
    }
}

/// Tenths of a microsecond.
fn tenths(nanoseconds: f64) -> u64 {
    (nanoseconds / 100.0).max(0.0).round() as u64
}

/// How long an entry has to be so that all have room.
fn shortest(tracks: &[ChartTrack]) -> u64 {
    let calls = tracks.iter().flat_map(|track| &track.calls);
    let mut durations: Vec<u64> = calls.map(|call| tenths(call.duration)).collect();
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
        // Begin and end are rounded, so that what touches still does.
        let (start, end) = (tenths(call.start), tenths(call.start + call.duration));
        if end - start < shortest {
            continue;
        }
        columns.starts.push(start - last);
        columns.durations.push(end - start);
        columns.kinds.push(kind(call.frame.index() as usize));
        columns.depths.push(call.depth);
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
    fn place(&mut self, function: usize, known: &mut Known) -> usize {
        let next = self.listed.len();
        let place = *self.places.entry(function).or_insert(next);
        if place == next {
            let place = known.place(function);
            self.listed.push(Kind::of(known.described(function), place));
        }
        place
    }
}

impl Kind {
    fn of(function: Option<&Function>, place: usize) -> Self {
        let text = |text: Option<&str>| clean(text.unwrap_or_default()).into_owned();
        let file = function.and_then(|function| function.file.as_deref());
        let url = file.filter(|file| file.contains("://"));
        let host = url.and_then(|url| url.split("://").nth(1)?.split(['/', '?', '#']).next());
        let module = function.and_then(|function| function.module.as_deref());
        let package = function.and_then(|function| function.package.as_deref());
        let called = function.map(|function| function.name.as_str());
        Self {
            id: format!("f:{place}"),
            name: text(called),
            category: match called {
                Some("(garbage collector)") => "gc",
                _ => "scripting",
            },
            url: text(url),
            file: text(file),
            domain: text(host),
            module: text(module),
            owner: text(package.or(host)),
            function: place,
        }
    }
}
