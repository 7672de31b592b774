//! The processed profile of the Firefox Profiler, which samply writes, too.
//!
//! ```json
//! {"meta": {"interval": 1, …}, "libs": [{"name": "words", …}], "threads": [{"name": "words",
//!  "stringArray": […], "funcTable": {"name": [0], …}, "frameTable": {"func": [0], …},
//!  "stackTable": {"prefix": [null], "frame": [0], …}, "samples": {"stack": [0], …}, …}]}
//! ```
//!
//! Tables of columns, for each thread; later versions have some of them once, in `shared`. A
//! sample's weight is in intervals, in milliseconds or in bytes. The position at which a frame was
//! sampled is not part of its function. After the Firefox Profiler's `src/types/profile.js` and its
//! `docs-developer/CHANGELOG-formats.md`, versions 40 to 70; checked with fxprof-processed-profile
//! 0.8.1, the library that samply writes with.

use std::borrow::Cow;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::is_address;
use super::json::{self, Optional, misshapen};
use crate::builder::Builder;
use crate::{
    Frame, FrameId, NameId, Profile, ProfileFormat, ProfileUnit, ReadProfileError, StackId, Stacks,
};
use pinpoint_document::OutputPosition;
use pinpoint_document::{Elements, Member, Name};

const FORMAT: ProfileFormat = ProfileFormat::Firefox;

/// The newest version of the format that is known. A version can change the meaning of a table, so
/// that a later one is not guessed at.
const NEWEST: u32 = 70;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Meta {
    /// Milliseconds.
    interval: Option<f64>,
    /// The version of the format; `version` is that of what Firefox itself wrote.
    preprocessed_profile_version: Option<f64>,
}

#[derive(Deserialize)]
struct Library<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Functions {
    name: Vec<u32>,
    resource: Vec<Option<i64>>,
    file_name: Vec<Option<u32>>,
    source: Vec<Option<u32>>,
    line_number: Vec<Option<u32>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Frames {
    func: Vec<u32>,
    /// The libraries since version 70, -1 for none. Before, resources had them.
    lib: Vec<i64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct StackTable {
    prefix: Option<Vec<Option<u32>>>,
    /// The distance to the prefix since version 66, 0 for none.
    prefix_offset: Vec<u32>,
    frame: Vec<u32>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Resources {
    lib: Vec<Option<i64>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Sources {
    filename: Vec<u32>,
}

/// The tables of a thread, or those that all threads share.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Tables<'a> {
    #[serde(borrow, alias = "stringTable")]
    string_array: Option<Vec<Name<'a>>>,
    func_table: Option<Functions>,
    frame_table: Option<Frames>,
    stack_table: Option<StackTable>,
    resource_table: Option<Resources>,
    sources: Option<Sources>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SampleTable {
    /// Firefox's own profile has rows, with a schema.
    schema: Option<IgnoredAny>,
    stack: Vec<Option<u32>>,
    time: Option<Vec<f64>>,
    time_deltas: Option<Vec<f64>>,
    weight: Option<Vec<Option<f64>>>,
    weight_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread<'a> {
    #[serde(default)]
    name: String,
    #[serde(default)]
    samples: SampleTable,
    #[serde(borrow, alias = "stringTable")]
    string_array: Option<Vec<Name<'a>>>,
    func_table: Option<Functions>,
    frame_table: Option<Frames>,
    stack_table: Option<StackTable>,
    resource_table: Option<Resources>,
}

pub(crate) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    // The tables that threads refer to may follow them.
    let meta: Meta = json::read(text, FORMAT, Optional::new("meta"))?;
    let version = meta.preprocessed_profile_version.unwrap_or(0.0);
    if version > f64::from(NEWEST) {
        return Err(ReadProfileError::NewerVersion {
            format: FORMAT,
            found: version as u64,
            newest: u64::from(NEWEST),
        });
    }
    let shared: Tables = json::read(text, FORMAT, Optional::new("shared"))?;
    let libraries: Vec<Library> = json::read(text, FORMAT, Optional::new("libs"))?;
    let mut builder = Builder::default();
    let mut reader = FirefoxReader {
        libraries: libraries
            .iter()
            .map(|lib| builder.name(&lib.name))
            .collect(),
        builder,
        shared,
        interval: meta
            .interval
            .filter(|interval| *interval > 0.0)
            .unwrap_or(1.0),
        unit: None,
        index: 0,
        stacks_of_shared: None,
    };
    let mut failed = None;
    let take = |index, thread| {
        reader.index = index;
        if failed.is_none() {
            failed = reader.thread(thread).err();
        }
    };
    json::read(text, FORMAT, Member("threads", Elements::new(take)))?;
    if let Some(failed) = failed {
        return Err(failed);
    }
    reader.builder.finish(
        FORMAT,
        reader.unit.unwrap_or(ProfileUnit::Nanoseconds),
        "check that the program ran long enough to be sampled",
    )
}

struct FirefoxReader<'a> {
    builder: Builder,
    libraries: Vec<NameId>,
    shared: Tables<'a>,
    interval: f64,
    unit: Option<ProfileUnit>,
    index: usize,
    /// The stacks of the tables that threads share, which are walked once.
    stacks_of_shared: Option<Rc<[StackId]>>,
}

impl Thread<'_> {
    fn has_tables(&self) -> bool {
        self.string_array.is_some()
            || self.func_table.is_some()
            || self.frame_table.is_some()
            || self.stack_table.is_some()
            || self.resource_table.is_some()
    }
}

impl StackTable {
    /// The stack that each begins with, as a place in the table.
    fn prefixes(&self) -> Cow<'_, [Option<u32>]> {
        if let Some(prefix) = &self.prefix {
            return Cow::Borrowed(prefix);
        }
        let prefix = |(index, offset): (u32, &u32)| match offset {
            0 => None,
            // One before the table is no place in it.
            offset => Some(index.checked_sub(*offset).unwrap_or(u32::MAX)),
        };
        let offsets = (0_u32..).zip(&self.prefix_offset);
        Cow::Owned(offsets.map(prefix).collect())
    }
}

/// A row's index in the next table, if any.
fn row<T: Copy>(column: &[Option<T>], index: u32) -> Option<T> {
    column.get(index as usize).copied().flatten()
}

impl<'a> FirefoxReader<'a> {
    fn fault(&self, part: &str, problem: impl Into<String>) -> ReadProfileError {
        misshapen(FORMAT, format!("/threads/{}{part}", self.index), problem)
    }

    fn thread(&mut self, thread: Thread<'a>) -> Result<(), ReadProfileError> {
        if thread.samples.schema.is_some() {
            return Err(self.fault(
                "/samples",
                "this is Firefox's own profile: load it in the Firefox Profiler, and save it from there",
            ));
        }
        if thread.samples.stack.is_empty() || self.builder.is_full() {
            return Ok(());
        }
        let id = self.builder.thread(&thread.name);
        let stacks: Rc<[StackId]> = match &self.stacks_of_shared {
            Some(stacks) if !thread.has_tables() => Rc::clone(stacks),
            _ => self.stacks(&thread)?.into(),
        };
        if !thread.has_tables() {
            self.stacks_of_shared = Some(Rc::clone(&stacks));
        }
        let samples = &thread.samples;
        let factor = self.factor(samples.weight_type.as_deref())?;
        let (times, count) = (times(samples), samples.stack.len());
        let same_length = |length: usize| length == count;
        if !times.as_ref().is_none_or(|times| same_length(times.len()))
            || !samples
                .weight
                .as_ref()
                .is_none_or(|weight| same_length(weight.len()))
        {
            return Err(self.fault("/samples", "its columns differ in length"));
        }
        for (index, stack) in samples.stack.iter().enumerate() {
            // Nothing was on the stack: the thread was idle.
            let Some(stack) = stack else {
                continue;
            };
            let stack = *stacks
                .get(*stack as usize)
                .ok_or_else(|| self.fault(&format!("/samples/stack/{index}"), "no such stack"))?;
            let weight = samples
                .weight
                .as_ref()
                .map_or(Some(1.0), |weight| weight.get(index).copied().flatten());
            let weight = weight.unwrap_or(1.0) * factor;
            if weight < 0.0 {
                let part = format!("/samples/weight/{index}");
                return Err(
                    self.fault(&part, "a negative weight: this is a difference of profiles")
                );
            }
            match times.as_ref().and_then(|times| times.get(index)) {
                Some(time) => self.builder.sample_at(stack, id, weight, time * 1e6),
                None => self.builder.sample(stack, id, weight),
            }
        }
        Ok(())
    }

    fn factor(&mut self, weight_type: Option<&str>) -> Result<f64, ReadProfileError> {
        let (unit, factor) = match weight_type {
            Some("bytes") => (ProfileUnit::Bytes, 1.0),
            Some("tracing-ms") => (ProfileUnit::Nanoseconds, 1e6),
            _ => (ProfileUnit::Nanoseconds, self.interval * 1e6),
        };
        match &self.unit {
            Some(first) if *first != unit => Err(ReadProfileError::TwoUnits {
                place: OutputPosition::Json(format!("/threads/{}/samples/weightType", self.index)),
                first: first.to_string(),
                second: unit.to_string(),
            }),
            _ => {
                self.unit = Some(unit);
                Ok(factor)
            }
        }
    }

    fn stacks(&mut self, thread: &Thread<'a>) -> Result<Vec<StackId>, ReadProfileError> {
        let functions = self.functions(thread)?;
        let frames = thread
            .frame_table
            .as_ref()
            .or(self.shared.frame_table.as_ref());
        let table = thread
            .stack_table
            .as_ref()
            .or(self.shared.stack_table.as_ref());
        let (Some(frames), Some(table)) = (frames, table) else {
            return Err(self.fault("", "a table of frames or stacks is missing"));
        };
        let frames = known_frames(frames, &functions, &self.libraries, &mut self.builder);
        let prefixes = table.prefixes();
        let mut stacks = Vec::with_capacity(table.frame.len());
        let mut wrong =
            (prefixes.len() != table.frame.len()).then_some("its columns differ in length");
        for (prefix, frame) in prefixes.iter().zip(&table.frame) {
            let parent = match prefix {
                None => Some(Stacks::ROOT),
                // A stack stands after the one that it begins with.
                Some(prefix) => stacks.get(*prefix as usize).copied(),
            };
            let (Some(parent), Some(frame)) = (parent, row(&frames, *frame)) else {
                wrong = Some("a stack names one after it, or a frame that does not exist");
                break;
            };
            stacks.push(self.builder.stack(parent, frame));
        }
        match wrong {
            Some(wrong) => Err(self.fault("/stackTable", wrong)),
            None => Ok(stacks),
        }
    }

    fn functions(&mut self, thread: &Thread<'a>) -> Result<Vec<Frame>, ReadProfileError> {
        let Self {
            builder,
            libraries,
            shared,
            index,
            ..
        } = self;
        let fault =
            |problem: &str| misshapen(FORMAT, format!("/threads/{index}/funcTable"), problem);
        let strings = thread
            .string_array
            .as_ref()
            .or(shared.string_array.as_ref());
        let table = thread.func_table.as_ref().or(shared.func_table.as_ref());
        let resources = thread
            .resource_table
            .as_ref()
            .or(shared.resource_table.as_ref());
        let (Some(strings), Some(table)) = (strings, table) else {
            return Err(fault("a table of functions or strings is missing"));
        };
        let string = |index: u32| strings.get(index as usize).map(|name| &*name.0);
        let mut functions = Vec::with_capacity(table.name.len());
        for (index, name) in (0_u32..).zip(&table.name) {
            let name = string(*name).ok_or_else(|| fault("a name does not exist"))?;
            let library = row(&table.resource, index)
                .and_then(|resource| usize::try_from(resource).ok())
                .and_then(|resource| *resources?.lib.get(resource)?)
                .and_then(|library| libraries.get(usize::try_from(library).ok()?));
            let source = row(&table.source, index).and_then(|source| {
                shared
                    .sources
                    .as_ref()?
                    .filename
                    .get(source as usize)
                    .copied()
            });
            let file = row(&table.file_name, index).or(source);
            let frame = Frame {
                name: builder.name(if is_address(name) { "" } else { name }),
                module: library.copied().unwrap_or_default(),
                file: builder.name(file.and_then(string).unwrap_or_default()),
                line: row(&table.line_number, index).unwrap_or(0),
                column: 0,
            };
            functions.push(frame);
        }
        Ok(functions)
    }
}

/// The function of each row of the table of frames, in its library.
fn known_frames(
    table: &Frames,
    functions: &[Frame],
    libraries: &[NameId],
    builder: &mut Builder,
) -> Vec<Option<FrameId>> {
    let frame = |(index, function): (usize, &u32)| {
        let mut frame = *functions.get(*function as usize)?;
        let library = table.lib.get(index).copied();
        let library = library.and_then(|library| usize::try_from(library).ok());
        if let Some(library) = library.and_then(|library| libraries.get(library)) {
            frame.module = *library;
        }
        Some(builder.frame(frame))
    };
    table.func.iter().enumerate().map(frame).collect()
}

/// Milliseconds.
fn times(samples: &SampleTable) -> Option<Cow<'_, [f64]>> {
    let sums = |deltas: &Vec<f64>| {
        let mut time = 0.0;
        let sum = |delta: &f64| {
            time += delta;
            time
        };
        Cow::Owned(deltas.iter().map(sum).collect())
    };
    match &samples.time {
        Some(times) => Some(Cow::Borrowed(times.as_slice())),
        None => samples.time_deltas.as_ref().map(sums),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(version: u32, prefixes: &str) -> String {
        format!(
            r#"{{"meta": {{"interval": 1, "version": 36, "preprocessedProfileVersion": {version}}}, "libs": [{{"name": "words"}}],
            "threads": [{{"name": "main", "samples": {{"stack": [1, 2], "weight": [3, 1]}}}}],
            "shared": {{"stringArray": ["main", "parse"], "sources": {{"filename": [0]}},
            "funcTable": {{"name": [0, 1], "resource": [-1, -1], "source": [null, 0]}},
            "frameTable": {{"func": [0, 1], "lib": [-1, 0]}},
            "stackTable": {{"prefixOffset": [{prefixes}], "frame": [0, 1, 1]}}}}}}"#
        )
    }

    #[test]
    fn stacks_by_offsets_and_frames_with_libraries_are_read() {
        let profile = read(&profile(70, "0, 1, 0")).unwrap();
        let rows = profile.samples.iter().map(|sample| {
            let frames: Vec<_> = profile.stacks.from_leaf(sample.stack).collect();
            let text = |frame: &FrameId| {
                let frame = profile.frame(*frame);
                [frame.name, frame.module].map(|name| profile.names.get(name))
            };
            (frames.iter().map(text).collect::<Vec<_>>(), sample.weight)
        });
        assert_eq!(
            rows.collect::<Vec<_>>(),
            [
                (vec![["parse", "words"], ["main", ""]], 3e6),
                (vec![["parse", "words"]], 1e6)
            ]
        );
    }

    #[test]
    fn an_offset_that_leads_before_the_table_is_refused() {
        for prefixes in ["0, 2, 0", "0, 4294967295, 0", "0, 1", "1, 1, 1"] {
            let error = read(&profile(70, prefixes)).unwrap_err().to_string();
            assert!(error.contains("/threads/0/stackTable"), "{error}");
        }
    }

    #[test]
    fn a_version_that_is_too_new_is_named() {
        let error = read(&profile(71, "0, 1, 0")).unwrap_err().to_string();
        assert!(
            error.contains("version 71") && error.contains("70"),
            "{error}"
        );
    }
}
