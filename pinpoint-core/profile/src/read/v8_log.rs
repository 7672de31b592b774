//! V8's log of ticks, as `node --prof-process --preprocess` writes it in JSON.
//!
//! ```json
//! {"code": [{"name": "/usr/bin/node", "type": "SHARED_LIB"},
//!           {"name": "count /srv/words.js:2:15", "type": "JS", "kind": "Opt", "func": 0, …}, …],
//!  "functions": […], "ticks": [{"tm": 54046, "vm": 6, "s": [1, 548, 0, 30]}, …]}
//! ```
//!
//! Each tick is one sample. Its stack has two numbers for each function, the leaf first: the place
//! in `code`, -1 for none, and an offset. After V8's `tools/profile.mjs`; checked with Node.js 20.

use std::borrow::Cow;

use serde::Deserialize;

use super::json::{self, misshapen};
use crate::builder::Builder;
use crate::{Frame, FrameId, Profile, ProfileFormat, ProfileUnit, ReadProfileError, Stacks};
use pinpoint_document::{Elements, Member};

const FORMAT: ProfileFormat = ProfileFormat::V8Log;

#[derive(Deserialize)]
struct Code<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

/// A piece of code, which becomes a function where a tick has it: most are in none.
struct Known<'a> {
    name: Cow<'a, str>,
    is_library: bool,
    frame: Option<FrameId>,
}

#[derive(Deserialize)]
struct Tick {
    /// Microseconds.
    tm: f64,
    s: Vec<i64>,
}

pub(crate) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let mut codes: Vec<Known> = Vec::new();
    let take = |_, code: Code| {
        codes.push(Known {
            is_library: code.kind == "SHARED_LIB",
            name: Cow::Owned(code.name.into_owned()),
            frame: None,
        });
    };
    json::read(text, FORMAT, Member("code", Elements::new(take)))?;
    let mut builder = Builder::default();
    let thread = builder.thread("");
    let unknown = builder.frame(Frame::default());
    let mut failed = None;
    let take = |index, tick: Tick| {
        let mut stack = Stacks::ROOT;
        // The outermost function is last.
        for pair in tick.s.rchunks(2) {
            let frame = match pair {
                [-1, _] => Some(unknown),
                [code, _] => usize::try_from(*code)
                    .ok()
                    .and_then(|code| codes.get_mut(code))
                    .map(|code| code.frame(&mut builder)),
                _ => None,
            };
            let Some(frame) = frame else {
                failed.get_or_insert(index);
                return;
            };
            stack = builder.stack(stack, frame);
        }
        builder.sample_at(stack, thread, 1.0, tick.tm * 1e3);
    };
    json::read(text, FORMAT, Member("ticks", Elements::new(take)))?;
    if let Some(index) = failed {
        let problem = "its stack names code that does not exist";
        return Err(misshapen(FORMAT, format!("/ticks/{index}/s"), problem));
    }
    builder.finish(
        FORMAT,
        ProfileUnit::Samples,
        "let the program run longer, so that it is sampled",
    )
}

impl Known<'_> {
    fn frame(&mut self, builder: &mut Builder) -> FrameId {
        *self.frame.get_or_insert_with(|| {
            let frame = if self.is_library {
                Frame {
                    module: builder.name(&self.name),
                    ..Frame::default()
                }
            } else {
                let (name, file, line, column) = located(&self.name);
                Frame {
                    name: builder.name(name),
                    file: builder.name(file),
                    line,
                    column,
                    ..Frame::default()
                }
            };
            builder.frame(frame)
        })
    }
}

/// `count /srv/words.js:2:15` in its parts.
fn located(text: &str) -> (&str, &str, u32, u32) {
    let parts = || {
        let (rest, column) = text.rsplit_once(':')?;
        let (rest, line) = rest.rsplit_once(':')?;
        // Names and paths may have spaces: a path begins in one of these ways.
        let begins = [" /", " node:", " file:", " http:", " https:"];
        let at = begins.iter().filter_map(|begin| rest.find(begin)).min();
        let at = at.or_else(|| rest.rfind(' '))?;
        let (name, file) = (rest.get(..at)?, rest.get(at + 1..)?);
        Some((name, file, line.parse().ok()?, column.parse().ok()?))
    };
    parts().unwrap_or((text, "", 0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"{"code": [{"name": "/usr/bin/node", "type": "SHARED_LIB"}, {"name": "get size /my files/a.js:2:15", "type": "JS", "kind": "Opt", "func": 0}, {"name": "v8::Object::New(int)", "type": "CPP"}],
        "functions": [], "ticks": [{"tm": 5, "vm": 0, "s": [2, 9, 1, 4, 0, 30]}, {"tm": 9, "vm": 6, "s": [-1, 7]}, {"tm": 12, "vm": 6, "s": []}]}"#;

    #[test]
    fn each_tick_is_a_sample() {
        let profile = read(LOG).unwrap();
        assert_eq!(
            (profile.total(), &profile.unit),
            (3.0, &ProfileUnit::Samples)
        );
        assert_eq!(profile.times, [0.0, 4e3, 7e3]);
        let mut names: Vec<_> = profile.stacks.from_leaf(profile.samples[0].stack).collect();
        let module = profile.frame(names.pop().unwrap()).module;
        assert_eq!(profile.names.get(module), "/usr/bin/node");
        let getter = profile.frame(names[1]);
        assert_eq!(profile.names.get(getter.name), "get size");
        assert_eq!(profile.names.get(getter.file), "/my files/a.js");
        assert_eq!((getter.line, getter.column), (2, 15));
        assert_eq!(profile.name(names[0]), "v8::Object::New(int)");
    }

    #[test]
    fn a_tick_of_unknown_code_is_refused_with_its_place() {
        let error = read(&LOG.replace("[2, 9, 1,", "[3, 9, 1,")).unwrap_err();
        assert!(error.to_string().contains("/ticks/0/s"), "{error}");
    }
}
