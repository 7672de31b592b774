//! speedscope's own JSON, which py-spy and other profilers write.
//!
//! ```json
//! {"$schema": "https://www.speedscope.app/file-format-schema.json",
//!  "shared": {"frames": [{"name": "main", "file": "words.py", "line": 9}]},
//!  "profiles": [{"type": "sampled", "name": "main thread", "unit": "seconds",
//!                "samples": [[0]], "weights": [0.02], …}]}
//! ```
//!
//! A profile is `sampled`, or `evented` with the times at which functions begin and end. The line
//! of a frame may be that of the sample: it is not part of the function. After the format's
//! published JSON schema; checked with py-spy 0.4.3.

use std::borrow::Cow;

use serde::Deserialize;

use super::json::{self, misshapen};
use crate::builder::Builder;
use crate::{
    Frame, FrameId, Profile, ProfileFormat, ProfileUnit, ReadProfileError, StackId, Stacks,
    ThreadId,
};
use pinpoint_document::OutputPosition;
use pinpoint_document::{Elements, Member};

const FORMAT: ProfileFormat = ProfileFormat::Speedscope;

#[derive(Deserialize)]
struct SharedFrame<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    file: Option<Cow<'a, str>>,
}

/// A profile of either type, in one struct: an enum would hold all of it twice.
#[derive(Deserialize)]
struct Recorded<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    unit: String,
    #[serde(default, rename = "startValue")]
    start: f64,
    #[serde(default)]
    samples: Vec<Vec<u32>>,
    #[serde(default)]
    weights: Vec<f64>,
    #[serde(default)]
    events: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    #[serde(rename = "type")]
    kind: Kind,
    frame: u32,
    at: f64,
}

#[derive(Deserialize, PartialEq)]
enum Kind {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

pub(crate) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let mut builder = Builder::default();
    // The frames may stand after the profiles.
    let mut frames = Vec::new();
    let take = |_, frame: SharedFrame| {
        let frame = Frame {
            name: builder.name(&frame.name),
            file: builder.name(frame.file.as_deref().unwrap_or_default()),
            ..Frame::default()
        };
        frames.push(builder.frame(frame));
    };
    json::read(
        text,
        FORMAT,
        Member("shared", Member("frames", Elements::new(take))),
    )?;
    let mut reader = SpeedscopeReader {
        builder,
        frames,
        unit: None,
        index: 0,
    };
    let mut failed = None;
    let take = |index, recorded| {
        reader.index = index;
        if failed.is_none() {
            failed = reader.profile(recorded).err();
        }
    };
    json::read(text, FORMAT, Member("profiles", Elements::new(take)))?;
    if let Some(failed) = failed {
        return Err(failed);
    }
    let unit = reader.unit.unwrap_or(ProfileUnit::Samples);
    reader.builder.finish(
        FORMAT,
        unit,
        "check that the program ran long enough to be sampled",
    )
}

struct SpeedscopeReader {
    builder: Builder,
    frames: Vec<FrameId>,
    unit: Option<ProfileUnit>,
    index: usize,
}

impl SpeedscopeReader {
    fn profile(&mut self, recorded: Recorded) -> Result<(), ReadProfileError> {
        match &*recorded.kind {
            "sampled" => self.sampled(recorded),
            "evented" => self.evented(recorded),
            _ => Err(self.fault("/type", "it is neither `sampled` nor `evented`")),
        }
    }

    fn fault(&self, part: &str, problem: impl Into<String>) -> ReadProfileError {
        misshapen(FORMAT, format!("/profiles/{}{part}", self.index), problem)
    }

    /// The factor for weights of this unit, and true when they are times.
    fn scale(&mut self, unit: &str) -> Result<(f64, bool), ReadProfileError> {
        let (unit, factor) = ProfileUnit::named(unit);
        let is_time = unit == ProfileUnit::Nanoseconds;
        match &self.unit {
            Some(first) if *first != unit => Err(ReadProfileError::TwoUnits {
                place: OutputPosition::Json(format!("/profiles/{}/unit", self.index)),
                first: first.to_string(),
                second: unit.to_string(),
            }),
            _ => {
                self.unit = Some(unit);
                Ok((factor, is_time))
            }
        }
    }

    fn frame(&self, frame: u32, part: &impl Fn() -> String) -> Result<FrameId, ReadProfileError> {
        let missing = || self.fault(&part(), format!("frame {frame} does not exist"));
        self.frames.get(frame as usize).copied().ok_or_else(missing)
    }

    fn weigh(&mut self, stack: StackId, thread: ThreadId, weight: f64, time: Option<f64>) {
        match time {
            Some(time) => self.builder.sample_at(stack, thread, weight, time),
            None => self.builder.sample(stack, thread, weight),
        }
    }

    fn sampled(&mut self, sampled: Recorded) -> Result<(), ReadProfileError> {
        let (factor, is_time) = self.scale(&sampled.unit)?;
        let (samples, weights) = (sampled.samples.len(), sampled.weights.len());
        if samples != weights {
            return Err(self.fault("", format!("{samples} samples and {weights} weights")));
        }
        let thread = self.builder.thread(&sampled.name);
        let mut time = sampled.start * factor;
        for (index, (frames, weight)) in sampled.samples.iter().zip(&sampled.weights).enumerate() {
            if !(*weight >= 0.0 && weight.is_finite()) {
                return Err(self.fault(&format!("/weights/{index}"), "it is negative"));
            }
            let mut stack = Stacks::ROOT;
            for frame in frames {
                let frame = self.frame(*frame, &|| format!("/samples/{index}"))?;
                stack = self.builder.stack(stack, frame);
            }
            let weight = weight * factor;
            if stack != Stacks::ROOT {
                self.weigh(stack, thread, weight, is_time.then_some(time));
            }
            time += weight;
        }
        Ok(())
    }

    fn evented(&mut self, evented: Recorded) -> Result<(), ReadProfileError> {
        let (factor, is_time) = self.scale(&evented.unit)?;
        let thread = self.builder.thread(&evented.name);
        // The open functions, each with the stack that ends with it.
        let mut open: Vec<(u32, StackId)> = Vec::new();
        let mut last = evented.events.first().map_or(0.0, |event| event.at);
        for (index, event) in evented.events.iter().enumerate() {
            let part = || format!("/events/{index}");
            if event.at < last {
                return Err(self.fault(&part(), "it lies before the event before it"));
            }
            let top = open.last().map_or(Stacks::ROOT, |(_, stack)| *stack);
            if top != Stacks::ROOT {
                let weight = (event.at - last) * factor;
                self.weigh(top, thread, weight, is_time.then_some(last * factor));
            }
            last = event.at;
            if event.kind == Kind::Open {
                let frame = self.frame(event.frame, &part)?;
                open.push((event.frame, self.builder.stack(top, frame)));
            } else if open.pop().is_none_or(|(frame, _)| frame != event.frame) {
                return Err(self.fault(&part(), "it ends a function that is not the innermost"));
            }
        }
        if open.is_empty() {
            Ok(())
        } else {
            Err(self.fault("/events", "a function that began does not end"))
        }
    }
}
