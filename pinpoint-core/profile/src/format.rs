//! The formats of profiles.

use std::fmt;

use serde::Serialize;

/// The format of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProfileFormat {
    /// Chrome's trace events, with V8's samples among them.
    ChromeTrace,
    /// V8's `.cpuprofile`, as Node.js and DevTools write it.
    CpuProfile,
    /// The text of `perf script`.
    PerfScript,
    /// Folded stacks: `main;parse;next 30`.
    Folded,
    /// pprof's `profile.proto`, as Go writes it, or one of its predecessors.
    Pprof,
    /// The processed profile of the Firefox Profiler, which samply writes, too.
    Firefox,
    /// speedscope's own JSON, as py-spy and others write it.
    Speedscope,
    /// Callgrind's counts of instructions and calls.
    Callgrind,
    /// V8's log of ticks, as `node --prof-process --preprocess` writes it.
    V8Log,
    /// Ruby's stackprof in JSON.
    Stackprof,
    /// The text of Austin, a sampler for Python.
    Austin,
    /// The text of Android's `simpleperf report-sample`.
    Simpleperf,
    /// The text of `sample` on macOS.
    MacosSample,
}

impl fmt::Display for ProfileFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ChromeTrace => "the Chrome trace",
            Self::CpuProfile => "the .cpuprofile",
            Self::PerfScript => "the output of perf script",
            Self::Folded => "the folded stacks",
            Self::Pprof => "the pprof profile",
            Self::Firefox => "the Firefox profile",
            Self::Speedscope => "the speedscope profile",
            Self::Callgrind => "the callgrind profile",
            Self::V8Log => "V8's log of ticks",
            Self::Stackprof => "the stackprof profile",
            Self::Austin => "the output of Austin",
            Self::Simpleperf => "the output of simpleperf",
            Self::MacosSample => "the output of sample",
        })
    }
}

impl ProfileFormat {
    /// Its name, as documents and users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChromeTrace => "chrome-trace",
            Self::CpuProfile => "cpu-profile",
            Self::PerfScript => "perf-script",
            Self::Folded => "folded",
            Self::Pprof => "pprof",
            Self::Firefox => "firefox",
            Self::Speedscope => "speedscope",
            Self::Callgrind => "callgrind",
            Self::V8Log => "v8-log",
            Self::Stackprof => "stackprof",
            Self::Austin => "austin",
            Self::Simpleperf => "simpleperf",
            Self::MacosSample => "macos-sample",
        }
    }

    /// Advice on getting symbols.
    pub(super) fn symbols(self) -> &'static str {
        match self {
            Self::PerfScript
            | Self::Callgrind
            | Self::Folded
            | Self::Pprof
            | Self::Simpleperf
            | Self::MacosSample => {
                "build with debug information (-g), do not strip the program, and record again"
            }
            Self::Firefox => {
                "load it in the Firefox Profiler, which adds symbols, and save it from there"
            }
            Self::Stackprof | Self::Austin => {
                "record again with the newest version of the profiler"
            }
            Self::ChromeTrace | Self::CpuProfile | Self::Speedscope | Self::V8Log => {
                "keep the names of functions when the code is bundled, and record again"
            }
        }
    }

    /// Returns true if values are counted and not sampled: the same program on the same input gives
    /// the same ones.
    pub fn is_exact(self) -> bool {
        self == Self::Callgrind
    }
}
