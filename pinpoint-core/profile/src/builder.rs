//! The builder with which readers assemble a profile.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::{
    Call, Frame, FrameId, Mark, NameId, Names, Profile, ProfileFormat, ProfileUnit, ProfileWarning,
    ReadProfileError, Sample, StackId, Stacks, ThreadId,
};

/// The most stacks: some 1.5 GB.
const MOST_STACKS: usize = 1 << 26;

/// The most functions on all stacks as they are written, each counted as often as it occurs: a few
/// seconds' work.
const MOST_STEPS: u64 = 1 << 28;

/// The heaviest sample: of nanoseconds, 30 years. Sums of such weights stay finite.
const HEAVIEST: u64 = 1_000_000_000_000_000_000;

/// The latest time: of a clock that begins in 1970, the year 2262.
const LATEST: u64 = 1 << 63;

/// The most pages that are noted: a recording has few.
const MOST_PAGES: usize = 100;

/// The most warnings.
const MOST_WARNINGS: usize = 20;

/// A profile in the making.
///
/// Where a limit is exceeded, the builder stops growing and [`Builder::finish`] reports it: readers
/// need not ask.
#[derive(Default)]
pub(super) struct Builder {
    names: Names,
    frames: Table<Frame>,
    source_mapped: Table<(Frame, Frame)>,
    stacks: Table<(u32, u32)>,
    steps: u64,
    samples: Vec<Sample>,
    times: Vec<f64>,
    threads: Vec<NameId>,
    marks: Vec<Mark>,
    pages: Vec<NameId>,
    calls: Vec<Call>,
    warnings: Vec<ProfileWarning>,
    exceeded: Option<(&'static str, u64)>,
}

impl Builder {
    /// Returns true if a limit is exceeded, and additions are ignored.
    pub(super) fn is_full(&self) -> bool {
        self.exceeded.is_some()
    }

    pub(super) fn name(&mut self, name: &str) -> NameId {
        self.names.intern(name).unwrap_or_else(|| {
            self.exceeded = Some(("bytes of names", 1 << 30));
            NameId::EMPTY
        })
    }

    pub(super) fn frame(&mut self, frame: Frame) -> FrameId {
        FrameId(self.frames.intern(frame))
    }

    /// Notes the original of a function according to a source map.
    pub(super) fn source_mapped(&mut self, ran: Frame, original: Frame) {
        self.source_mapped.intern((ran, original));
    }

    pub(super) fn module_of(&self, frame: FrameId) -> NameId {
        let frame = self.frames.values.get(frame.0 as usize);
        frame.map_or(NameId::EMPTY, |frame| frame.module)
    }

    pub(super) fn text(&self, name: NameId) -> &str {
        self.names.get(name)
    }

    pub(super) fn file_of(&self, frame: FrameId) -> NameId {
        let frame = self.frames.values.get(frame.0 as usize);
        frame.map_or(NameId::EMPTY, |frame| frame.file)
    }

    /// Moves a function to another file, once all functions are known.
    pub(super) fn set_file(&mut self, frame: FrameId, file: NameId) {
        if let Some(frame) = self.frames.values.get_mut(frame.0 as usize) {
            frame.file = file;
        }
    }

    /// The stack of this function, called from that one.
    pub(super) fn stack(&mut self, parent: StackId, frame: FrameId) -> StackId {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            self.exceeded = Some(("functions on stacks", MOST_STEPS));
        } else if self.stacks.values.len() >= MOST_STACKS {
            self.exceeded = Some(("different stacks", MOST_STACKS as u64));
        }
        if self.exceeded.is_some() {
            return Stacks::ROOT;
        }
        // The empty stack is the first one, and not in the table.
        StackId(self.stacks.intern((parent.0, frame.0)) + 1)
    }

    pub(super) fn thread(&mut self, name: &str) -> ThreadId {
        let name = self.name(name);
        self.threads.push(name);
        ThreadId((self.threads.len() - 1) as u32)
    }

    /// Makes room for this many more samples with times.
    pub(super) fn reserve(&mut self, samples: usize) {
        self.samples.reserve_exact(samples);
        self.times.reserve_exact(samples);
    }

    /// A sample without a time or event.
    pub(super) fn sample(&mut self, stack: StackId, thread: ThreadId, weight: f64) {
        self.push(Sample {
            stack,
            thread,
            weight,
            event: None,
        });
    }

    /// A sample with its time in nanoseconds. A profile has times for all or for none.
    pub(super) fn sample_at(&mut self, stack: StackId, thread: ThreadId, weight: f64, time: f64) {
        let event = None;
        let sample = Sample {
            stack,
            thread,
            weight,
            event,
        };
        self.push_at(sample, time);
    }

    /// The same with all of its fields.
    pub(super) fn push_at(&mut self, sample: Sample, time: f64) {
        if !is_time(time) {
            self.exceeded = Some(("nanoseconds on its clock", LATEST));
        }
        let before = self.samples.len();
        self.push(sample);
        if self.samples.len() > before {
            self.times.push(time);
        }
    }

    /// Adds a sample. Samples without a positive, finite weight are left out. One without a stack
    /// belongs to a function without a name.
    pub(super) fn push(&mut self, mut sample: Sample) {
        if sample.weight > HEAVIEST as f64 {
            self.exceeded = Some(("units in one sample", HEAVIEST));
        }
        if sample.weight > 0.0 && self.exceeded.is_none() {
            if sample.stack == Stacks::ROOT {
                let unknown = self.frame(Frame::default());
                sample.stack = self.stack(Stacks::ROOT, unknown);
            }
            self.samples.push(sample);
        }
    }

    pub(super) fn mark(&mut self, name: &str, begin: f64, end: f64) {
        if begin <= end && is_time(begin) && is_time(end) {
            let name = self.name(name);
            self.marks.push(Mark { name, begin, end });
        }
    }

    pub(super) fn page(&mut self, url: &str) {
        let url = self.name(url);
        if self.pages.len() < MOST_PAGES && !self.pages.contains(&url) {
            self.pages.push(url);
        }
    }

    /// Adds a warning, up to [`MOST_WARNINGS`].
    pub(super) fn warn(&mut self, warning: ProfileWarning) {
        if self.warnings.len() < MOST_WARNINGS && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    pub(super) fn call(&mut self, call: Call) {
        self.calls.push(call);
    }

    /// The profile; `advice` is for a profile without samples.
    pub(super) fn finish(
        self,
        format: ProfileFormat,
        unit: ProfileUnit,
        advice: &'static str,
    ) -> Result<Profile, ReadProfileError> {
        if let Some((what, most)) = self.exceeded {
            return Err(ReadProfileError::TooLarge { what, most });
        }
        if self.samples.is_empty() {
            return Err(ReadProfileError::NoSamples {
                format,
                window: None,
                advice: advice.into(),
            });
        }
        let mut stacks = Stacks::new();
        stacks
            .parents
            .extend(self.stacks.values.iter().map(|s| s.0));
        stacks.frames.extend(self.stacks.values.iter().map(|s| s.1));
        let mut profile = Profile {
            format,
            unit,
            names: self.names,
            frames: self.frames.values,
            source_mapped: self.source_mapped.values,
            stacks,
            samples: self.samples,
            begin: 0.0,
            times: self.times,
            threads: self.threads,
            marks: self.marks,
            pages: self.pages,
            calls: self.calls,
            warnings: self.warnings,
        };
        if profile.times.len() != profile.samples.len() {
            profile.times = Vec::new();
        }
        sort_by_time(&mut profile);
        check_symbols(profile)
    }
}

/// Sums and differences of such times stay finite.
fn is_time(nanoseconds: f64) -> bool {
    nanoseconds.abs() <= LATEST as f64
}

/// Puts samples in the order of time, which begins with the first sample or mark.
fn sort_by_time(profile: &mut Profile) {
    if !profile.times.is_sorted() {
        let mut order: Vec<usize> = (0..profile.times.len()).collect();
        order.sort_by(|&a, &b| profile.times[a].total_cmp(&profile.times[b]));
        profile.samples = order.iter().map(|&at| profile.samples[at]).collect();
        profile.times = order.iter().map(|&at| profile.times[at]).collect();
    }
    let marks = profile.marks.iter().map(|mark| mark.begin);
    let begin = profile.times.first().copied().into_iter().chain(marks);
    let begin = begin.fold(f64::INFINITY, f64::min);
    profile.begin = if begin.is_finite() { begin } else { 0.0 };
    profile.times.iter_mut().for_each(|time| *time -= begin);
    for mark in &mut profile.marks {
        mark.begin -= begin;
        mark.end -= begin;
    }
}

fn check_symbols(profile: Profile) -> Result<Profile, ReadProfileError> {
    let without = |frame: &Frame| frame.name == NameId::EMPTY && frame.file == NameId::EMPTY;
    if !profile.frames.is_empty() && profile.frames.iter().all(without) {
        let module = profile.frames.iter().map(|frame| frame.module).max();
        let module = profile.names.get(module.unwrap_or_default());
        return Err(ReadProfileError::NoSymbols {
            format: profile.format,
            module: if module.is_empty() {
                "the program"
            } else {
                module
            }
            .to_owned(),
            advice: profile.format.symbols(),
        });
    }
    Ok(profile)
}

/// Values, each kept once.
pub(super) struct Table<T> {
    pub(super) values: Vec<T>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Table<T> {
    pub(super) fn intern(&mut self, value: T) -> u32 {
        let Self {
            values,
            index,
            hasher,
        } = self;
        let hash = hasher.hash_one(value);
        let same = |id: &u32| values.get(*id as usize) == Some(&value);
        if let Some(&id) = index.find(hash, same) {
            return id;
        }
        let id = values.len() as u32;
        values.push(value);
        index.insert_unique(hash, id, |&id| hasher.hash_one(values[id as usize]));
        id
    }
}
