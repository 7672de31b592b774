//! Firefox's own profile, before the Firefox Profiler processes it.
//!
//! ```json
//! {"meta": {"version": 30, "interval": 1, …}, "threads": [{"name": "GeckoMain",
//!   "samples": {"schema": {"stack": 0, "time": 1, …}, "data": [[2, 1.5, 0], …]},
//!   "frameTable": {"schema": {"location": 0, …}, "data": [[7], …]},
//!   "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[null, 0], …]},
//!   "stringTable": ["main (https://example.com/main.js:3:7)", …]}], "processes": […]}
//! ```
//!
//! Tables of rows, whose schemas are checked: no version has moved these columns. A sample counts
//! for an interval. Functions of JavaScript and labels have names; those in machine code have their
//! address only, which the Firefox Profiler replaces by names. After `docs-developer/gecko-profile-format.md`
//! of the Firefox Profiler.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::is_address;
use super::json::{self, misshapen};
use crate::builder::Builder;
use crate::{Frame, Profile, ProfileFormat, ProfileUnit, ProfileWarning, ReadProfileError, Stacks};
use pinpoint_document::Name;

const FORMAT: ProfileFormat = ProfileFormat::Firefox;

/// A process, with those that it started.
#[derive(Deserialize)]
struct Process<'a> {
    #[serde(default)]
    meta: Meta,
    #[serde(borrow, default)]
    threads: Vec<Thread<'a>>,
    #[serde(borrow, default)]
    processes: Vec<Process<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Meta {
    /// Milliseconds.
    interval: Option<f64>,
    /// The beginning of the process's clock, in milliseconds.
    start_time: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    samples: Table<SampleSchema, 2>,
    frame_table: Table<FrameSchema, 1>,
    stack_table: Table<StackSchema, 2>,
    #[serde(borrow)]
    string_table: Vec<Name<'a>>,
}

#[derive(Deserialize)]
struct Table<S, const N: usize> {
    schema: S,
    data: Vec<Row<N>>,
}

#[derive(Deserialize)]
struct SampleSchema {
    stack: u32,
    time: u32,
}

#[derive(Deserialize)]
struct FrameSchema {
    location: u32,
}

#[derive(Deserialize)]
struct StackSchema {
    prefix: u32,
    frame: u32,
}

/// The first columns of a row, NaN for none.
struct Row<const N: usize>([f64; N]);

impl<'de, const N: usize> Deserialize<'de> for Row<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Columns)
    }
}

struct Columns<const N: usize>;

impl<'de, const N: usize> Visitor<'de> for Columns<N> {
    type Value = Row<N>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a row of a table")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut columns: A) -> Result<Row<N>, A::Error> {
        let mut row = [f64::NAN; N];
        for column in &mut row {
            // Empty columns at the end of a row may be missing.
            let Some(value) = columns.next_element::<Option<f64>>()? else {
                return Ok(Row(row));
            };
            *column = value.unwrap_or(f64::NAN);
        }
        while columns.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Row(row))
    }
}

pub(super) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let process: Process = json::read(text, FORMAT, std::marker::PhantomData)?;
    let mut reader = GeckoReader {
        builder: Builder::default(),
        interval: process.meta.interval.filter(|it| *it > 0.0).unwrap_or(1.0),
        start: process.meta.start_time.unwrap_or(0.0),
        has_addresses: false,
    };
    reader.process(process, "")?;
    if reader.has_addresses {
        reader.builder.warn(ProfileWarning::Addresses);
    }
    reader.builder.finish(
        FORMAT,
        ProfileUnit::Nanoseconds,
        "check that the program ran long enough to be sampled",
    )
}

struct GeckoReader {
    builder: Builder,
    interval: f64,
    /// The beginning of the first process's clock.
    start: f64,
    has_addresses: bool,
}

impl GeckoReader {
    fn process(&mut self, process: Process, pointer: &str) -> Result<(), ReadProfileError> {
        let later = process.meta.start_time.map_or(0.0, |it| it - self.start);
        for (index, thread) in process.threads.into_iter().enumerate() {
            self.thread(thread, later, &format!("{pointer}/threads/{index}"))?;
        }
        for (index, process) in process.processes.into_iter().enumerate() {
            self.process(process, &format!("{pointer}/processes/{index}"))?;
        }
        Ok(())
    }

    fn thread(
        &mut self,
        thread: Thread,
        later: f64,
        pointer: &str,
    ) -> Result<(), ReadProfileError> {
        let fault =
            |part: &str, problem: &str| misshapen(FORMAT, format!("{pointer}{part}"), problem);
        let (samples, stacks) = (&thread.samples, &thread.stack_table);
        let known = (samples.schema.stack, samples.schema.time) == (0, 1)
            && (stacks.schema.prefix, stacks.schema.frame) == (0, 1)
            && thread.frame_table.schema.location == 0;
        if !known {
            return Err(fault("", "its tables have an unknown schema"));
        }
        let id = self.builder.thread(&thread.name);
        let mut frames = Vec::with_capacity(thread.frame_table.data.len());
        for (index, row) in thread.frame_table.data.iter().enumerate() {
            let location = place(row.0[0]).and_then(|at| thread.string_table.get(at));
            let Some(Name(location)) = location else {
                return Err(fault(&format!("/frameTable/data/{index}"), "no such text"));
            };
            self.has_addresses |= is_address(location);
            let frame = function(location, &mut self.builder);
            frames.push(self.builder.frame(frame));
        }
        let mut known = Vec::with_capacity(stacks.data.len());
        for (index, Row([prefix, frame])) in stacks.data.iter().enumerate() {
            let parent = match prefix.is_nan() {
                true => Some(Stacks::ROOT),
                // A stack stands after the one that it begins with.
                false => place(*prefix).and_then(|at| known.get(at).copied()),
            };
            let frame = place(*frame).and_then(|at| frames.get(at).copied());
            let (Some(parent), Some(frame)) = (parent, frame) else {
                let problem = "it names a stack after it, or a frame that does not exist";
                return Err(fault(&format!("/stackTable/data/{index}"), problem));
            };
            known.push(self.builder.stack(parent, frame));
        }
        for (index, Row([stack, time])) in samples.data.iter().enumerate() {
            // Nothing was on the stack.
            if stack.is_nan() {
                continue;
            }
            let stack = place(*stack).and_then(|at| known.get(at).copied());
            let (Some(stack), false) = (stack, time.is_nan()) else {
                return Err(fault(
                    &format!("/samples/data/{index}"),
                    "no such stack, or no time",
                ));
            };
            let weight = self.interval * 1e6;
            self.builder
                .sample_at(stack, id, weight, (time + later) * 1e6);
        }
        Ok(())
    }
}

fn place(number: f64) -> Option<usize> {
    (number >= 0.0 && number.fract() == 0.0).then_some(number as usize)
}

/// `main (https://example.com/main.js:3:7)`, a label, or an address.
fn function(location: &str, builder: &mut Builder) -> Frame {
    let parts = || {
        let (name, place) = location.strip_suffix(')')?.rsplit_once(" (")?;
        let number = |text: &str| text.parse::<u32>().ok();
        let (file, last) = place.rsplit_once(':')?;
        let last = number(last)?;
        // Older versions have no column.
        Some(
            match file
                .rsplit_once(':')
                .map(|(file, line)| (file, number(line)))
            {
                Some((file, Some(line))) => (name, file, line, last),
                _ => (name, file, last, 0),
            },
        )
    };
    let (name, file, line, column) = parts().unwrap_or((location, "", 0, 0));
    Frame {
        name: builder.name(if is_address(name) { "" } else { name }),
        file: builder.name(file),
        line,
        column,
        ..Frame::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(stack: &str) -> String {
        let thread = |name: &str| {
            format!(
                r#"{{"name": "{name}", "tid": 1, "samples": {{"schema": {{"stack": 0, "time": 1, "eventDelay": 2}}, "data": [[1, 1.5, 0], [null, 2.5], [{stack}, 3.5]]}},
                "frameTable": {{"schema": {{"location": 0, "relevantForJS": 1}}, "data": [[0], [1, false]]}},
                "stackTable": {{"schema": {{"prefix": 0, "frame": 1}}, "data": [[null, 0], [0, 1]]}},
                "stringTable": ["0x7f12", "main (https://example.com/main.js:3:7)"]}}"#
            )
        };
        format!(
            r#"{{"meta": {{"version": 30, "interval": 2, "startTime": 1000}}, "libs": [], "threads": [{}],
            "processes": [{{"meta": {{"version": 30, "interval": 2, "startTime": 1010}}, "threads": [{}], "processes": []}}]}}"#,
            thread("GeckoMain"),
            thread("Worker")
        )
    }

    #[test]
    fn all_processes_count_on_one_clock() {
        let profile = super::super::firefox::read(&profile("0")).unwrap();
        assert_eq!((profile.total(), profile.samples.len()), (8e6, 4));
        assert_eq!(profile.times, [0.0, 2e6, 10e6, 12e6]);
        let stack: Vec<_> = profile.stacks.from_leaf(profile.samples[0].stack).collect();
        assert_eq!(
            (profile.name(stack[0]), profile.name(stack[1])),
            ("main", "")
        );
        let main = profile.frame(stack[0]);
        assert_eq!(profile.names.get(main.file), "https://example.com/main.js");
        assert_eq!((main.line, main.column), (3, 7));
        assert_eq!(profile.warnings, [ProfileWarning::Addresses]);
    }

    #[test]
    fn a_stack_that_does_not_exist_is_refused_with_its_place() {
        for stack in ["2", "-1", "0.5"] {
            let error = super::super::firefox::read(&profile(stack)).unwrap_err();
            assert!(
                error.to_string().contains("/threads/0/samples/data/2"),
                "{error}"
            );
        }
    }
}
