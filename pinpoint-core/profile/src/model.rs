//! The data model of profiles.

use std::fmt;

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::{Category, NameId, Names, ProfileFormat, ProfileWarning};

/// A function in [`Profile::frames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub(super) u32);

impl FrameId {
    /// Its place in [`Profile::frames`].
    pub fn index(self) -> u32 {
        self.0
    }
}

/// A stack in [`Stacks`]: a function, called from another stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub(super) u32);

impl StackId {
    /// Its place in [`Stacks`]; 0 is the empty stack.
    pub fn index(self) -> u32 {
        self.0
    }
}

/// A thread in [`Profile::threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ThreadId(pub(super) u32);

impl ThreadId {
    /// Its place in [`Profile::threads`].
    pub fn index(self) -> u32 {
        self.0
    }
}

/// A function, as far as the profile knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Frame {
    /// Its name; empty where there was no symbol, and for an anonymous function.
    pub name: NameId,
    /// The program or library that it is in; may be empty.
    pub module: NameId,
    /// The file or URL of its source; may be empty.
    pub file: NameId,
    /// The line on which it begins, counted from 1; 0 when unknown.
    pub line: u32,
    /// The column, counted from 1; 0 when unknown.
    pub column: u32,
}

/// Stacks as a tree: each is a function and the stack that called it.
///
/// A parent stands before its children, so a walk backward sees every stack before the one that it
/// is called from, and no walk needs recursion.
#[derive(Clone, Debug)]
pub struct Stacks {
    pub(super) parents: Vec<u32>,
    pub(super) frames: Vec<u32>,
}

impl Stacks {
    /// The stack without functions, which all others begin with.
    pub const ROOT: StackId = StackId(0);

    pub(super) fn new() -> Self {
        Self {
            parents: vec![0],
            frames: vec![u32::MAX],
        }
    }

    /// The number of stacks, with the empty one.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Returns true if there is only the empty stack.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// All stacks, the empty one first.
    pub fn ids(&self) -> impl Iterator<Item = StackId> + use<> {
        (0..self.parents.len() as u32).map(StackId)
    }

    /// The function at the leaf of the stack; none for the empty one.
    pub fn frame(&self, stack: StackId) -> Option<FrameId> {
        let frame = self.frames.get(stack.0 as usize)?;
        (*frame != u32::MAX).then_some(FrameId(*frame))
    }

    /// The stack without its leaf; none for the empty one.
    pub fn parent(&self, stack: StackId) -> Option<StackId> {
        let parent = self.parents.get(stack.0 as usize)?;
        (stack != Self::ROOT).then_some(StackId(*parent))
    }

    /// The functions of a stack, the leaf first.
    pub fn from_leaf(&self, stack: StackId) -> impl Iterator<Item = FrameId> + '_ {
        std::iter::successors(Some(stack), |stack| self.parent(*stack))
            .filter_map(|stack| self.frame(stack))
    }
}

/// A sample: the cost of a stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The functions on the stack.
    pub stack: StackId,
    /// The thread.
    pub thread: ThreadId,
    /// The cost, in the profile's unit; finite and not negative.
    pub weight: f64,
    /// The browser's activity, by the innermost of the open events on the thread; absent where the
    /// profile has no such events.
    pub event: Option<Category>,
}

/// Calls from one function to another, where they were counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// The function that calls.
    pub caller: FrameId,
    /// The function that is called.
    pub callee: FrameId,
    /// The number of calls.
    pub count: f64,
    /// The cost of the callee and below it.
    pub weight: f64,
}

/// A span of time with a name, as a page's user timing gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// The name.
    pub name: NameId,
    /// Nanoseconds since the profile began.
    pub begin: f64,
    /// Nanoseconds since the profile began; not before `begin`.
    pub end: f64,
}

/// The unit of a profile's weights.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum ProfileUnit {
    /// Time, always in nanoseconds.
    Nanoseconds,
    /// Memory.
    Bytes,
    /// Instructions that the processor executed.
    Instructions,
    /// Samples, each as much as another.
    Samples,
    /// Another unit, by its name: `cycles`, `cache-misses`.
    Other(String),
}

impl ProfileUnit {
    /// The unit of this name, and the factor for weights in it.
    pub(super) fn named(name: &str) -> (Self, f64) {
        match name {
            "nanoseconds" | "ns" => (Self::Nanoseconds, 1.0),
            "microseconds" | "us" => (Self::Nanoseconds, 1e3),
            "milliseconds" | "ms" => (Self::Nanoseconds, 1e6),
            "seconds" | "s" => (Self::Nanoseconds, 1e9),
            "bytes" => (Self::Bytes, 1.0),
            "instructions" | "Ir" => (Self::Instructions, 1.0),
            "samples" | "count" | "none" | "" => (Self::Samples, 1.0),
            other => (Self::Other(other.to_owned()), 1.0),
        }
    }
}

impl fmt::Display for ProfileUnit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Nanoseconds => "nanoseconds",
            Self::Bytes => "bytes",
            Self::Instructions => "instructions",
            Self::Samples => "samples",
            Self::Other(name) => name,
        })
    }
}

impl From<String> for ProfileUnit {
    fn from(name: String) -> Self {
        Self::named(&name).0
    }
}

impl From<ProfileUnit> for String {
    fn from(unit: ProfileUnit) -> Self {
        unit.to_string()
    }
}

/// A profile of any format.
///
/// ```
/// use pinpoint_profile::{Profile, ProfileUnit};
///
/// let profile = Profile::read(b"main;parse;next 30\nmain;parse 10\n")?;
/// assert_eq!(profile.unit, ProfileUnit::Samples);
/// assert_eq!(profile.total(), 40.0);
/// let leaf = profile.stacks.from_leaf(profile.samples[0].stack).next();
/// assert_eq!(leaf.map(|frame| profile.name(frame)), Some("next"));
/// # Ok::<(), pinpoint_profile::ReadProfileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Profile {
    /// The format in which it was written.
    pub format: ProfileFormat,
    /// The unit of the weights.
    pub unit: ProfileUnit,
    /// All strings.
    pub names: Names,
    /// All functions.
    pub frames: Vec<Frame>,
    /// Functions to which a source map gave a name or place: as they ran, and as
    /// [`frames`](Self::frames) has them.
    pub source_mapped: Vec<(Frame, Frame)>,
    /// All stacks.
    pub stacks: Stacks,
    /// The samples, in the order of time where that is known.
    pub samples: Vec<Sample>,
    /// The beginning of the profile, in nanoseconds of the clock of its file; 0 where it has no
    /// times.
    pub begin: f64,
    /// The time of each sample, in nanoseconds since the profile began: one for each sample, or
    /// none at all.
    pub times: Vec<f64>,
    /// The names of the threads.
    pub threads: Vec<NameId>,
    /// Spans of time with a name.
    pub marks: Vec<Mark>,
    /// The URLs of the pages that were open, where it has them; frames in them do not count.
    pub pages: Vec<NameId>,
    /// Calls, where they were counted. Then a sample's stack is only its function, and the cost of
    /// a function's callees is known from these.
    pub calls: Vec<Call>,
    /// Warnings about data that could not be read from the file, which is valid without it.
    pub warnings: Vec<ProfileWarning>,
}

impl Profile {
    /// Renames source files: each for which `name` returns a name.
    ///
    /// ```
    /// use pinpoint_profile::Profile;
    ///
    /// let mut profile = Profile::read(b"parse (/builds/7/parse.py:3) 5\n")?;
    /// profile.rename_files(|file| file.strip_prefix("/builds/7/").map(str::to_owned));
    /// let frame = profile.frame_ids().next().expect("there is one");
    /// assert_eq!(profile.names.get(profile.frame(frame).file), "parse.py");
    /// # Ok::<(), pinpoint_profile::ReadProfileError>(())
    /// ```
    pub fn rename_files(&mut self, name: impl Fn(&str) -> Option<String>) {
        let mut renamed: HashMap<NameId, NameId> = HashMap::new();
        for frame in &mut self.frames {
            let file = frame.file;
            frame.file = *renamed.entry(file).or_insert_with(|| {
                let name = name(self.names.get(file));
                name.and_then(|name| self.names.intern(&name))
                    .unwrap_or(file)
            });
        }
    }

    /// The function.
    pub fn frame(&self, frame: FrameId) -> Frame {
        self.frames
            .get(frame.0 as usize)
            .copied()
            .unwrap_or_default()
    }

    /// All functions, in the order of [`Profile::frames`].
    pub fn frame_ids(&self) -> impl Iterator<Item = FrameId> + use<> {
        (0..self.frames.len() as u32).map(FrameId)
    }

    /// A function's name as the profile has it.
    pub fn name(&self, frame: FrameId) -> &str {
        self.names.get(self.frame(frame).name)
    }

    /// The sum of all weights.
    pub fn total(&self) -> f64 {
        self.samples.iter().map(|sample| sample.weight).sum()
    }
}
