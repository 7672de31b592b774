//! Ruby's stackprof, in the JSON of `stackprof --json`.
//!
//! ```json
//! {"version": 1.2, "mode": "cpu", "interval": 5000, "samples": 49, …,
//!  "frames": {"7020": {"name": "Object#parse", "file": "/srv/words.rb", "line": 2, "samples": 21, …}, …},
//!  "raw": [2, 7010, 7020, 3, …]}
//! ```
//!
//! `raw` has the stacks: the number of functions, these from the outermost, and how often the stack
//! was seen. Without it, only the functions' own samples are known. The interval is in
//! microseconds; when allocations are sampled, it is their number. Checked with stackprof 0.2.21.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hashbrown::HashMap;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::json::{self, misshapen};
use crate::builder::Builder;
use crate::{
    Frame, FrameId, Profile, ProfileFormat, ProfileUnit, ProfileWarning, ReadProfileError, StackId,
    Stacks,
};
use pinpoint_document::{Elements, Member};

const FORMAT: ProfileFormat = ProfileFormat::Stackprof;

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    mode: Cow<'a, str>,
    interval: Option<f64>,
    raw: Option<IgnoredAny>,
    #[serde(borrow)]
    frames: BTreeMap<Cow<'a, str>, Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    file: Option<Cow<'a, str>>,
    line: Option<u32>,
    #[serde(default)]
    samples: f64,
}

pub(crate) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let header: Header = json::read(text, FORMAT, std::marker::PhantomData)?;
    let interval = header.interval.unwrap_or(1.0).max(0.0);
    let (unit, weight) = match &*header.mode {
        "cpu" | "wall" => (ProfileUnit::Nanoseconds, interval * 1e3),
        "object" => (ProfileUnit::Other("objects".into()), interval),
        _ => (ProfileUnit::Samples, 1.0),
    };
    let mut builder = Builder::default();
    let thread = builder.thread("");
    let mut frames: HashMap<u64, FrameId> = HashMap::new();
    for (id, function) in &header.frames {
        let frame = Frame {
            name: builder.name(&function.name),
            file: builder.name(function.file.as_deref().unwrap_or_default()),
            line: function.line.unwrap_or(0),
            ..Frame::default()
        };
        let frame = builder.frame(frame);
        let Ok(number) = id.parse() else {
            let place = format!("/frames/{id}");
            return Err(misshapen(FORMAT, place, "its id is not a number"));
        };
        frames.insert(number, frame);
        if header.raw.is_none() {
            let stack = builder.stack(Stacks::ROOT, frame);
            builder.sample(stack, thread, function.samples * weight);
        }
    }
    if header.raw.is_some() {
        let mut stacks = RawStacks {
            left: None,
            stack: Stacks::ROOT,
            failed: None,
        };
        let take = |index, number| {
            if let Some((stack, count)) = stacks.take(index, number, &frames, &mut builder) {
                builder.sample(stack, thread, count as f64 * weight);
            }
        };
        json::read(text, FORMAT, Member("raw", Elements::new(take)))?;
        if let Some(index) = stacks.failed {
            let problem = "a stack names a function that does not exist";
            return Err(misshapen(FORMAT, format!("/raw/{index}"), problem));
        }
        if stacks.left.is_some() {
            return Err(misshapen(FORMAT, "/raw", "the last stack is not whole"));
        }
    } else {
        builder.warn(ProfileWarning::NoCallers);
    }
    builder.finish(
        FORMAT,
        unit,
        "check that the program ran long enough to be sampled",
    )
}

/// The stacks in `raw`, number by number.
struct RawStacks {
    /// The number of functions of the stack that are to come; absent between stacks.
    left: Option<u64>,
    stack: StackId,
    failed: Option<usize>,
}

impl RawStacks {
    /// A stack and how often it was seen, after its last number.
    fn take(
        &mut self,
        index: usize,
        number: u64,
        frames: &HashMap<u64, FrameId>,
        builder: &mut Builder,
    ) -> Option<(StackId, u64)> {
        match self.left {
            None => {
                self.left = Some(number);
                self.stack = Stacks::ROOT;
            }
            Some(0) => {
                self.left = None;
                return Some((self.stack, number));
            }
            Some(left) => {
                self.left = Some(left - 1);
                match frames.get(&number) {
                    Some(frame) => self.stack = builder.stack(self.stack, *frame),
                    None => _ = self.failed.get_or_insert(index),
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(raw: &str) -> String {
        format!(
            r#"{{"version": 1.2, "mode": "wall", "interval": 1000, "samples": 4, "frames": {{
            "7020": {{"name": "Object#parse", "file": "/srv/words.rb", "line": 2, "total_samples": 4, "samples": 1}},
            "7030": {{"name": "String#split", "file": "<cfunc>", "line": null, "total_samples": 3, "samples": 3}}}}{raw}}}"#
        )
    }

    #[test]
    fn stacks_are_counted() {
        let profile = read(&profile(r#", "raw": [1, 7020, 1, 2, 7020, 7030, 3]"#)).unwrap();
        assert_eq!(profile.total(), 4e6);
        let leaf = profile.samples[1].stack;
        let names: Vec<_> = profile.stacks.from_leaf(leaf).collect();
        assert_eq!((profile.name(names[0]), names.len()), ("String#split", 2));
        assert!(profile.warnings.is_empty());
    }

    #[test]
    fn without_stacks_the_functions_own_samples_count() {
        let profile = read(&profile("")).unwrap();
        assert_eq!(profile.total(), 4e6);
        assert_eq!(profile.warnings, [ProfileWarning::NoCallers]);
    }

    #[test]
    fn a_stack_that_is_not_whole_is_refused() {
        for (raw, place) in [("[2, 7020, 1]", "/raw/2"), ("[2, 7020]", "/raw ")] {
            let error = read(&profile(&format!(r#", "raw": {raw}"#))).unwrap_err();
            assert!(error.to_string().contains(place), "{error}");
        }
    }
}
