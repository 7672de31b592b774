//! The durations of a timeline's entries by thread and path, without their times: small enough to
//! be kept for every run.
//!
//! It counts as the trees of a page do: an entry lies in the one that is open when it begins, those
//! of one path are one, and an entry that begins in another and ends after it counts for that one.

use hashbrown::HashMap;

use super::{CallFrames, Category, KindId, Timeline, Track};
use crate::{FrameId, Profile, ReadProfileError, Window};

/// The longest entry, in nanoseconds: 30 years. Sums of such times stay finite, for any trace.
const MAX_ENTRY_NS: f64 = 1e18;

/// The paths of entries of one run, with the time of each.
///
/// ```
/// use pinpoint_profile::{EntryTree, Profile, Timeline};
///
/// let profile = br#"{"nodes": [
///   {"id": 1, "callFrame": {"functionName": "(root)", "url": ""}, "children": [2]},
///   {"id": 2, "callFrame": {"functionName": "parse", "url": "a.js"}}],
///   "startTime": 0, "endTime": 9000, "samples": [2, 2], "timeDeltas": [0, 4000]}"#;
/// let (timeline, profile) = (Timeline::read(profile)?, Profile::read(profile)?);
/// let tree = EntryTree::of(&timeline, &profile, None)?;
/// assert_eq!(tree.paths(), 1);
/// # Ok::<(), pinpoint_profile::ReadProfileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EntryTree {
    pub(crate) tracks: Vec<TreeTrack>,
    pub(crate) kinds: Vec<TreeKind>,
    /// The first is the empty path, and a path stands before those that it begins.
    pub(crate) nodes: Vec<TreeNode>,
}

/// Threads of one name.
#[derive(Clone, Debug)]
pub(crate) struct TreeTrack {
    pub(crate) name: String,
    pub(crate) threads: usize,
}

/// The kind of entries on one track.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TreeKind {
    pub(crate) track: u32,
    pub(crate) name: KindName,
    pub(crate) url: String,
    pub(crate) category: Category,
}

/// The identity of a kind across runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KindName {
    /// Calls of a function of the run's profile.
    Call(FrameId),
    /// All others, by [`Timeline::id_across_runs`].
    Event(String),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeNode {
    pub(crate) parent: u32,
    pub(crate) kind: u32,
    /// In whole nanoseconds, so that sums are exact. Negative where entries lie across the end
    /// of this one.
    pub(crate) own: f64,
}

impl EntryTree {
    /// The name of the track of `performance.measure` and `console.time`.
    pub const TIMINGS: &str = "Timings";

    /// The tree of a run's timeline, or of the part in a window. `profile` is of the same file:
    /// calls are those of its functions.
    ///
    /// # Errors
    ///
    /// [`ReadProfileError::NoMark`], where the run has no such window.
    ///
    /// # Cost
    ///
    /// Proportional to the entries.
    pub fn of(
        timeline: &Timeline,
        profile: &Profile,
        window: Option<&Window>,
    ) -> Result<Self, ReadProfileError> {
        let counted = Counted::from_profile(profile, window)?;
        let mut making = Making {
            timeline,
            frames: CallFrames::of(profile),
            counted,
            tracks: HashMap::new(),
            kinds: HashMap::new(),
            of_kinds: HashMap::new(),
            called: HashMap::new(),
            tree: Self {
                tracks: Vec::new(),
                kinds: Vec::new(),
                nodes: vec![TreeNode {
                    parent: 0,
                    kind: u32::MAX,
                    own: 0.0,
                }],
            },
        };
        for track in &timeline.tracks {
            making.thread(track);
        }
        making.timings();
        Ok(making.tree)
    }

    /// The number of different paths.
    pub fn paths(&self) -> usize {
        self.nodes.len() - 1
    }
}

struct Making<'a> {
    timeline: &'a Timeline,
    frames: CallFrames<'a>,
    counted: Counted,
    tracks: HashMap<String, u32>,
    kinds: HashMap<TreeKind, u32>,
    /// The kinds by track and the timeline's kind.
    of_kinds: HashMap<(u32, KindId), u32>,
    /// The paths by the path before and the kind that follows.
    called: HashMap<(u32, u32), u32>,
    tree: EntryTree,
}

impl Making<'_> {
    fn track(&mut self, name: String) -> u32 {
        let next = self.tree.tracks.len() as u32;
        *self.tracks.entry(name).or_insert_with_key(|name| {
            self.tree.tracks.push(TreeTrack {
                name: name.clone(),
                threads: 0,
            });
            next
        })
    }

    fn kind(&mut self, kind: TreeKind) -> u32 {
        let next = self.tree.kinds.len() as u32;
        *self.kinds.entry(kind).or_insert_with_key(|kind| {
            self.tree.kinds.push(kind.clone());
            next
        })
    }

    fn thread(&mut self, thread: &Track) {
        let track = self.track(self.timeline.track_name(thread));
        self.tree.tracks[track as usize].threads += 1;
        let mut open = Vec::new();
        for entry in &thread.entries {
            // Instants and requests are in no tree: their kinds would only take memory.
            let category = self.timeline.kinds[entry.kind.index()].category;
            if category == Category::Network || entry.duration <= 0.0 {
                continue;
            }
            let kind = match self.of_kinds.get(&(track, entry.kind)) {
                Some(kind) => *kind,
                None => {
                    let kind = self.kind_of(track, entry.kind);
                    self.of_kinds.insert((track, entry.kind), kind);
                    kind
                }
            };
            self.enter(entry.start, entry.duration, kind, &mut open);
        }
    }

    fn kind_of(&mut self, track: u32, id: KindId) -> u32 {
        let timeline = self.timeline;
        let kind = &timeline.kinds[id.index()];
        let frame = self.frames.of_kind(timeline, id);
        self.kind(TreeKind {
            track,
            name: frame.map_or_else(
                || KindName::Event(timeline.id_across_runs(id)),
                KindName::Call,
            ),
            url: timeline.names.get(kind.url).to_owned(),
            category: kind.category,
        })
    }

    fn timings(&mut self) {
        let timeline = self.timeline;
        let mut open = Vec::new();
        for span in timeline.timings().filter(|span| span.duration > 0.0) {
            let track = self.track(EntryTree::TIMINGS.to_owned());
            let kind = self.kind(TreeKind {
                track,
                name: KindName::Event(timeline.names.get(span.name).to_owned()),
                url: String::new(),
                category: Category::Other,
            });
            self.enter(span.start, span.duration, kind, &mut open);
        }
    }

    /// Adds an entry; those that are open have an end, in tenths of a microsecond, and a path. As
    /// on a page, entries that only touch are not nested.
    fn enter(&mut self, start: f64, duration: f64, kind: u32, open: &mut Vec<(f64, u32)>) {
        let end = start + duration;
        let [begins, ends] = [start, end].map(|time| (time * 10.0).round());
        while open.pop_if(|(end, _)| *end <= begins).is_some() {}
        if ends <= begins {
            return;
        }
        let parent = open.last().map_or(0, |(_, path)| *path);
        let nodes = &mut self.tree.nodes;
        let path = *self.called.entry((parent, kind)).or_insert_with(|| {
            nodes.push(TreeNode {
                parent,
                kind,
                own: 0.0,
            });
            (nodes.len() - 1) as u32
        });
        let spent = (self.counted.part_of(start, end) * 1e3).round();
        let spent = spent.min(MAX_ENTRY_NS);
        nodes[path as usize].own += spent;
        if parent > 0 {
            nodes[parent as usize].own -= spent;
        }
        open.push((ends, path));
    }
}

/// The part of a run that counts.
struct Counted {
    /// In microseconds of the timeline's clock, in order and apart; with the sum of those before
    /// each.
    spans: Option<Vec<(f64, f64, f64)>>,
}

impl Counted {
    fn from_profile(profile: &Profile, window: Option<&Window>) -> Result<Self, ReadProfileError> {
        let Some(window) = window else {
            return Ok(Self { spans: None });
        };
        let mut before = 0.0;
        let spans = profile.spans(window)?.into_iter().map(|(from, to)| {
            let [from, to] = [from, to].map(|time| (profile.begin + time) / 1e3);
            let span = (from, to, before);
            before += to - from;
            span
        });
        Ok(Self {
            spans: Some(spans.collect()),
        })
    }

    /// The part of the time from `start` to `end` that counts.
    fn part_of(&self, start: f64, end: f64) -> f64 {
        let Some(spans) = &self.spans else {
            return end - start;
        };
        let until = |time: f64| {
            let begun = spans.partition_point(|(from, ..)| *from <= time);
            let last = begun.checked_sub(1).and_then(|place| spans.get(place));
            last.map_or(0.0, |(from, to, before)| before + time.min(*to) - from)
        };
        until(end) - until(start)
    }
}
