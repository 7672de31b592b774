//! Errors and warnings about profiles.

use std::borrow::Cow;

use super::{ProfileFormat, ProfileUnit, Window};
use pinpoint_document::OutputPosition;

/// A profile cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadProfileError {
    /// No reader recognizes the file.
    #[error(
        "this is not a profile that can be read; give a Chrome trace or a .cpuprofile, the text of `perf script`, folded stacks, a pprof or callgrind file, or the JSON of Firefox, samply or speedscope"
    )]
    NotRecognized,
    /// The file is the output of `perf record`, which only `perf` reads.
    #[error("this is perf's own file; write it as text first: perf script -i perf.data > perf.txt")]
    PerfData,
    /// The file is a recording of Java's Flight Recorder.
    #[error(
        "this is a recording of Java's Flight Recorder; write it as folded stacks first, with the converter of async-profiler: jfrconv --collapsed recording.jfr stacks.txt"
    )]
    FlightRecording,
    /// The file is text in another encoding, as PowerShell writes it.
    #[error("the profile is text in UTF-16; save it as UTF-8")]
    Utf16,
    /// The file is empty.
    #[error(
        "the profile is empty; check that the profiler ended by itself, and wrote to this file"
    )]
    Empty,
    /// The compressed file is damaged or cut short.
    #[error("the compressed profile is damaged or cut short ({source}); copy or record it again")]
    Compressed {
        /// The problem.
        source: std::io::Error,
    },
    /// The file ends too early.
    #[error(
        "the profile is cut short: it ends at {place} of {format}; let the profiler end by itself, and copy the whole file"
    )]
    CutShort {
        /// The format.
        format: ProfileFormat,
        /// The end.
        place: OutputPosition,
    },
    /// A part of the file violates the format.
    #[error(
        "{place} is not valid in {format} ({problem}); check that the profiler wrote the file itself and nothing changed it"
    )]
    Misshapen {
        /// The format.
        format: ProfileFormat,
        /// The place.
        place: OutputPosition,
        /// The problem there.
        problem: String,
    },
    /// The profile's format has a version that is not known.
    #[error(
        "{format} has version {found} of its format, and {newest} is the newest that can be read; write it with an older version of the profiler, or as another format"
    )]
    NewerVersion {
        /// The format.
        format: ProfileFormat,
        /// The version of the file.
        found: u64,
        /// The newest version that can be read.
        newest: u64,
    },
    /// The profile is valid, but has no samples.
    #[error("there are no samples in {}{format}; {advice}", in_window(.window.as_ref()))]
    NoSamples {
        /// The format.
        format: ProfileFormat,
        /// The part without samples; absent for the whole profile.
        window: Option<Window>,
        /// Advice to the user.
        advice: Cow<'static, str>,
    },
    /// Folded stacks with two counts each, which are not a profile of a run.
    #[error(
        "these folded stacks are of two sides: each line ends in two counts; export one side alone"
    )]
    TwoSides,
    /// None of its functions has a name.
    #[error("there are no symbols in {format}: not one function of {module} has a name; {advice}")]
    NoSymbols {
        /// The format.
        format: ProfileFormat,
        /// A program or library without symbols.
        module: String,
        /// Advice to the user.
        advice: &'static str,
    },
    /// It counts two things that cannot be added up.
    #[error(
        "{place} counts {second}, but {first} was counted before; record one event only, or write each into a profile of its own"
    )]
    TwoUnits {
        /// The second one's place.
        place: OutputPosition,
        /// The event counted first.
        first: String,
        /// The event counted there.
        second: String,
    },
    /// The event that is asked for is not in it.
    #[error("{format} does not count {event:?}{}", counted(.events))]
    NoEvent {
        /// The format.
        format: ProfileFormat,
        /// The event asked for.
        event: String,
        /// The events that it counts.
        events: Vec<String>,
    },
    /// The processes of one run counted different things.
    #[error(
        "one process of the run counted {found}, and another {first}; record all of them in the same way"
    )]
    ProcessesDiffer {
        /// The unit of the first one.
        first: ProfileUnit,
        /// The unit of the other one.
        found: ProfileUnit,
    },
    /// It needs more memory or time than a profile may.
    #[error(
        "the profile has too many {what} (over {most}); record for a shorter time, or less often"
    )]
    TooLarge {
        /// The kind of items.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// A part of the profile is asked for, but it has no times.
    #[error("nothing in {format} says when samples were taken, so no window can be cut out")]
    NoTimes {
        /// The format.
        format: ProfileFormat,
    },
    /// The format has no timeline.
    #[error(
        "there is no timeline in {format}; give a Chrome trace or a .cpuprofile, or look at the flame graph"
    )]
    NoTimeline {
        /// The format.
        format: ProfileFormat,
    },
    /// There is no mark of this name.
    #[error("there is no mark {name:?} in the profile{}", existing(*.format, .marks))]
    NoMark {
        /// The format.
        format: ProfileFormat,
        /// The name asked for.
        name: String,
        /// The first of those that exist.
        marks: Vec<String>,
    },
}

/// Missing data in a profile, or a part of it that is passed over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileWarning {
    /// The text of `perf script` does not end with an empty line, as `perf` ends it.
    #[error(
        "no empty line ends the last stack, so that the text may be cut short there; what is there counts"
    )]
    NoEnd,
    /// Events of a Chrome trace without their data.
    #[error(
        "event {event} of the Chrome trace ({name}) has no data, and is passed over; so are others like it"
    )]
    NoData {
        /// The place of the first one in the list of events.
        event: usize,
        /// Its name.
        name: String,
    },
    /// A Chrome trace without samples, whose events count in place of functions.
    #[error(
        "the Chrome trace has no samples, so that the times of its events are compared, and no functions; record it with the category disabled-by-default-v8.cpu_profiler"
    )]
    EventsOnly,
    /// A source map, which the trace carries for a script.
    #[error(
        "the source map of {} cannot be read, so functions keep the names with which they ran ({problem})",
        if .script.is_empty() { "any script" } else { .script }
    )]
    SourceMap {
        /// The URL of the script; empty where it is the list of all maps.
        script: String,
        /// The problem.
        problem: String,
    },
}

fn counted(events: &[String]) -> String {
    match events {
        [] => "; it has one value alone: leave out the event".into(),
        events => format!("; it counts {}", events.join(", ")),
    }
}

fn in_window(window: Option<&Window>) -> String {
    window.map_or_else(String::new, |window| format!("the window {window} of "))
}

fn existing(format: ProfileFormat, marks: &[String]) -> String {
    match (marks, format) {
        ([], ProfileFormat::ChromeTrace) => {
            "; it has none: record the category blink.user_timing, or give the window as FROM..TO in milliseconds".into()
        }
        ([], _) => {
            "; only a Chrome trace can have marks: give the window as FROM..TO in milliseconds".into()
        }
        (marks, _) => format!("; the marks are {}", marks.join(", ")),
    }
}
