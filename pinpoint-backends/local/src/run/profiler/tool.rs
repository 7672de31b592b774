//! The profilers by their names, and what a job says of its own.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A profiler for the runs of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Profiler {
    /// Linux's sampler, with call graphs by frame pointers.
    Perf,
    /// Like [`Perf`](Self::Perf), with call graphs by DWARF: for programs without frame pointers.
    /// Each sample takes 8 kB, and minutes may pass until all are read.
    PerfDwarf,
    /// Valgrind's callgrind, which counts instructions: one pair of runs is enough, and a
    /// run takes 20 to 200 times as long.
    Callgrind,
    /// V8's sampler in all processes of Node.js.
    Node,
    /// py-spy.
    Python,
    /// The sampler of `go test`.
    Go,
    /// samply: also on macOS, which lacks perf.
    Samply,
    /// The traces of Chromium, which the benchmark starts.
    Chrome,
    /// A shell command that writes a profile to `{profile}`. `{command}` is the benchmark; without
    /// it, the shell command replaces the benchmark.
    Command(String),
    /// The benchmark writes profiles itself, to files in the work tree that match.
    Files(String),
}

impl Profiler {
    /// The names of those without a parameter.
    pub const NAMES: [&str; 8] = [
        "perf",
        "perf-dwarf",
        "callgrind",
        "node",
        "python",
        "go",
        "samply",
        "chrome",
    ];

    /// Returns true if it counts instead of sampling, so that one pair of runs is enough.
    pub fn is_exact(&self) -> bool {
        *self == Self::Callgrind
    }

    /// Returns true if its profiles may have timestamps, so that a part of their time can be
    /// examined.
    pub fn has_times(&self) -> bool {
        !matches!(self, Self::Callgrind | Self::Go)
    }

    /// Describes what it measures, for users. `None` for the user's command or files.
    pub fn counts(&self) -> Option<&'static str> {
        match self {
            Self::Perf | Self::PerfDwarf | Self::Samply | Self::Go => {
                Some("what processors spend on the program, without its waiting")
            }
            Self::Node | Self::Chrome => Some(
                "time by the clock in which a thread is not idle, with the wait for a processor",
            ),
            Self::Python => Some(
                "time by the clock in which a thread is not idle, with the wait for a processor: 2 ms for each sample, of which py-spy is to take 500 a second; a machine on which it takes fewer shows less time",
            ),
            Self::Callgrind => Some("instructions, without the kernel's"),
            Self::Command(_) | Self::Files(_) => None,
        }
    }

    /// Its name in a sentence: a template may be long.
    pub fn in_words(&self) -> String {
        match self {
            Self::Command(_) => "the profiler's command".into(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Profiler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Perf => formatter.write_str("perf"),
            Self::PerfDwarf => formatter.write_str("perf-dwarf"),
            Self::Callgrind => formatter.write_str("callgrind"),
            Self::Node => formatter.write_str("node"),
            Self::Python => formatter.write_str("python"),
            Self::Go => formatter.write_str("go"),
            Self::Samply => formatter.write_str("samply"),
            Self::Chrome => formatter.write_str("chrome"),
            Self::Command(template) => write!(formatter, "command:{template}"),
            Self::Files(glob) => write!(formatter, "files:{glob}"),
        }
    }
}

impl From<Profiler> for String {
    fn from(profiler: Profiler) -> Self {
        profiler.to_string()
    }
}

/// The profiling of a job's runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profiling {
    /// The profiler.
    pub profiler: Profiler,
    /// The most bytes of profiles that are kept with the job.
    pub keep: u64,
    /// When frame pointers yield no callers, perf unwinds with DWARF from then on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dwarf_if_needed: bool,
}
