//! The text of Android's `simpleperf report-sample --show-callchain`.
//!
//! ```text
//! sample:
//!   event_type: cpu-cycles
//!   time: 110842163000
//!   event_count: 5000
//!   thread_id: 31850
//!   thread_name: words
//!   vaddr_in_file: 1160
//!   file: /data/app/lib/libwords.so
//!   symbol: hash(char const*)
//!   callchain:
//!     vaddr_in_file: 12fb
//!     file: /data/app/lib/libwords.so
//!     symbol: main
//! ```
//!
//! The leaf stands in the sample itself, its callers below `callchain`. A sample counts with
//! `event_count`: of the clocks, nanoseconds. After `cmd_report_sample.cpp` of Android's
//! simpleperf.

use std::collections::HashSet;

use hashbrown::HashMap;

use super::{cut_short, misshapen};
use crate::builder::Builder;
use crate::{
    Frame, FrameId, Profile, ProfileFormat, ProfileUnit, ReadProfileError, Stacks, ThreadId,
};
use pinpoint_document::OutputPosition;

const FORMAT: ProfileFormat = ProfileFormat::Simpleperf;

/// Returns true if the first line begins a sample, and the second says of which event.
pub(crate) fn recognize(beginning: &str) -> bool {
    let mut lines = beginning.lines().filter(|line| !line.trim().is_empty());
    lines
        .next()
        .is_some_and(|line| line.trim_end() == "sample:")
        && lines
            .next()
            .is_some_and(|line| line.starts_with("  event_type:"))
}

pub(crate) fn read(text: &str, event: Option<&str>) -> Result<Profile, ReadProfileError> {
    let mut reader = SimpleperfReader {
        wanted: event,
        ..SimpleperfReader::default()
    };
    for (index, line) in text.lines().enumerate() {
        let content = line.trim();
        if content.is_empty() {
            continue;
        }
        if !line.starts_with(' ') {
            reader.end()?;
            // Others are `context_switch:` and `lost_situation:`.
            let is_sample = content == "sample:";
            reader.sample = is_sample.then(|| Open::at(index));
        } else if reader.sample.is_some() {
            let (name, value) = content.split_once(':').ok_or_else(|| {
                misshapen(FORMAT, index, 1, "neither a name and value nor a sample")
            })?;
            reader.value(index, name, value.trim())?;
        }
    }
    // Every line ends, and a sample ends with the function that others begin with.
    let outermost = reader.sample.as_ref().and_then(|it| it.stack.last());
    let begins = outermost.is_none_or(|it| reader.outermost.contains(it));
    let is_whole = reader.sample.as_ref().is_none_or(Open::is_whole);
    if !text.ends_with('\n') || !is_whole || !(begins || reader.outermost.is_empty()) {
        return Err(cut_short(FORMAT, text));
    }
    reader.end()?;
    if let Some(event) = event.filter(|_| reader.unit.is_none() && !reader.others.is_empty()) {
        return Err(ReadProfileError::NoEvent {
            format: FORMAT,
            event: event.to_owned(),
            events: reader.others.iter().map(|it| (*it).to_owned()).collect(),
        });
    }
    let unit = reader.unit.map(|(_, unit)| unit);
    reader.builder.finish(
        FORMAT,
        unit.unwrap_or(ProfileUnit::Samples),
        "check that the program ran long enough to be sampled",
    )
}

#[derive(Default)]
struct SimpleperfReader<'a> {
    builder: Builder,
    threads: HashMap<(&'a str, &'a str), ThreadId>,
    unit: Option<(&'a str, ProfileUnit)>,
    /// The event that counts, where one is asked for.
    wanted: Option<&'a str>,
    /// Events that do not count.
    others: Vec<&'a str>,
    sample: Option<Open<'a>>,
    /// The outermost functions of stacks.
    outermost: HashSet<FrameId>,
}

/// A sample whose lines are being read.
struct Open<'a> {
    line: usize,
    event: &'a str,
    weight: f64,
    nanoseconds: Option<f64>,
    id: &'a str,
    name: &'a str,
    /// The file of the function that is being read.
    file: Option<&'a str>,
    /// The last line was `callchain:`, or began a function.
    lacks_symbol: bool,
    /// The leaf first.
    stack: Vec<FrameId>,
}

impl Open<'_> {
    fn at(line: usize) -> Self {
        Self {
            line,
            event: "",
            weight: 1.0,
            nanoseconds: None,
            id: "",
            name: "",
            file: None,
            lacks_symbol: true,
            stack: Vec::new(),
        }
    }

    fn is_whole(&self) -> bool {
        !self.lacks_symbol
    }
}

impl<'a> SimpleperfReader<'a> {
    fn value(&mut self, index: usize, name: &str, value: &'a str) -> Result<(), ReadProfileError> {
        let Some(sample) = &mut self.sample else {
            return Ok(());
        };
        let number = || {
            let number = value.parse::<u64>();
            number.map_err(|_| misshapen(FORMAT, index, 1, format!("{name} is not a count")))
        };
        match name {
            "event_type" => sample.event = value,
            "time" => sample.nanoseconds = Some(number()? as f64),
            "event_count" => sample.weight = number()? as f64,
            "thread_id" => sample.id = value,
            "thread_name" => sample.name = value,
            "vaddr_in_file" | "callchain" => {
                sample.lacks_symbol = true;
                sample.file = None;
            }
            "file" => sample.file = Some(value),
            "symbol" => {
                // Without a symbol it is `libwords.so[+1160]` or `unknown`.
                let unknown = value == "unknown" || value.ends_with(']') && value.contains("[+");
                let module = sample.file.filter(|file| *file != "unknown");
                let frame = Frame {
                    name: self.builder.name(if unknown { "" } else { value }),
                    module: self.builder.name(module.unwrap_or_default()),
                    ..Frame::default()
                };
                sample.stack.push(self.builder.frame(frame));
                sample.lacks_symbol = false;
            }
            _ => {}
        }
        Ok(())
    }

    /// The sample is whole.
    fn end(&mut self) -> Result<(), ReadProfileError> {
        let Some(sample) = self.sample.take() else {
            return Ok(());
        };
        // `cpu-cycles:u` counts in user space only.
        let event = sample.event.split(':').next().unwrap_or(sample.event);
        if self
            .wanted
            .is_some_and(|wanted| wanted != event && wanted != sample.event)
        {
            if !self.others.contains(&event) {
                self.others.push(event);
            }
            return Ok(());
        }
        match &self.unit {
            Some((first, _)) if *first != event => {
                return Err(ReadProfileError::TwoUnits {
                    place: OutputPosition::Text {
                        line: sample.line + 1,
                        column: 1,
                    },
                    first: (*first).to_owned(),
                    second: event.to_owned(),
                });
            }
            Some(_) => {}
            None => {
                let unit = match event {
                    "cpu-clock" | "task-clock" => ProfileUnit::Nanoseconds,
                    event => ProfileUnit::named(event).0,
                };
                self.unit = Some((event, unit));
            }
        }
        self.outermost.extend(sample.stack.last());
        let mut stack = Stacks::ROOT;
        for frame in sample.stack.iter().rev() {
            stack = self.builder.stack(stack, *frame);
        }
        let thread = *self
            .threads
            .entry((sample.name, sample.id))
            .or_insert_with(|| {
                self.builder
                    .thread(&format!("{} {}", sample.name, sample.id))
            });
        match sample.nanoseconds {
            Some(time) => self.builder.sample_at(stack, thread, sample.weight, time),
            None => self.builder.sample(stack, thread, sample.weight),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "sample:\n  event_type: cpu-cycles:u\n  time: 1100\n  event_count: 5000\n  thread_id: 7\n  thread_name: words\n  vaddr_in_file: 1160\n  file: /data/libwords.so\n  symbol: hash(char const*)\n  callchain:\n    vaddr_in_file: 12fb\n    file: /data/libwords.so\n    symbol: main\n";

    #[test]
    fn samples_count_with_their_events() {
        let text = format!("{TEXT}context_switch:\n  switch_on: true\n\n{TEXT}");
        let profile = read(&text, None).unwrap();
        assert_eq!(profile.total(), 10_000.0);
        assert_eq!(profile.unit, ProfileUnit::Other("cpu-cycles".into()));
        let stack: Vec<_> = profile.stacks.from_leaf(profile.samples[0].stack).collect();
        assert_eq!(profile.name(stack[0]), "hash(char const*)");
        assert_eq!(profile.name(stack[1]), "main");
        assert_eq!(profile.names.get(profile.threads[0]), "words 7");
    }

    #[test]
    fn of_two_events_one_is_asked_for() {
        let text = format!("{TEXT}{}", TEXT.replace("cpu-cycles:u", "cpu-clock"));
        let error = read(&text, None).unwrap_err();
        assert!(error.to_string().contains("line 14"), "{error}");
        let profile = read(&text, Some("cpu-clock")).unwrap();
        assert_eq!(
            (profile.total(), profile.unit),
            (5000.0, ProfileUnit::Nanoseconds)
        );
        let error = read(&text, Some("faults")).unwrap_err();
        assert!(
            error.to_string().contains("cpu-cycles, cpu-clock"),
            "{error}"
        );
    }

    #[test]
    fn a_cut_stack_is_refused() {
        let text = format!("{TEXT}{TEXT}");
        for cut in [
            "\n",
            " main\n",
            "    symbol: main\n",
            "    vaddr_in_file: 12fb\n    file: /data/libwords.so\n    symbol: main\n",
        ] {
            let error = read(text.strip_suffix(cut).unwrap(), None).unwrap_err();
            assert!(
                matches!(error, ReadProfileError::CutShort { .. }),
                "{error}"
            );
        }
    }
}
