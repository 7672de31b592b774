//! The samples that a Chrome trace has beside its events, as Hermes writes them.
//!
//! ```json
//! {"traceEvents": [{"name": "thread_name", "ph": "M", "ts": "0", …}],
//!  "samples": [{"ts": "526492862", "tid": "6105", "weight": "1", "sf": 2, …}, …],
//!  "stackFrames": {"1": {"name": "[root]", "category": "root"},
//!    "2": {"name": "parse(http://127.0.0.1/index.bundle:7:3)", "category": "JavaScript", "parent": 1, …}}}
//! ```
//!
//! A sample holds until the next one of its thread, and the last one for the mean interval. Most
//! numbers are texts. After "Trace Event Format" (Google) and Hermes's `ChromeTraceSerializer.cpp`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::misshapen;
use super::trace_events::{number, optional_number};
use super::v8::{CallFrame, Node, Samples};
use crate::builder::Builder;
use crate::{ProfileFormat, ReadProfileError};

const FORMAT: ProfileFormat = ProfileFormat::ChromeTrace;

#[derive(Deserialize)]
struct StackFrame<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default, deserialize_with = "optional_number")]
    parent: Option<f64>,
}

#[derive(Deserialize)]
struct Sampled<'a> {
    #[serde(deserialize_with = "number")]
    ts: f64,
    #[serde(borrow)]
    pid: Option<&'a RawValue>,
    #[serde(borrow)]
    tid: Option<&'a RawValue>,
    #[serde(deserialize_with = "number")]
    sf: f64,
}

/// Adds the samples. Returns false if the list of samples is empty.
pub(super) fn add<'a>(
    samples: &'a RawValue,
    frames: &'a RawValue,
    threads: &BTreeMap<(&'a str, &'a str), String>,
    builder: &mut Builder,
) -> Result<bool, ReadProfileError> {
    let fault = |part: &str, error: &serde_json::Error| {
        let message = error.to_string();
        let problem = message.split(" at line ").next().unwrap_or_default();
        misshapen(FORMAT, part, problem)
    };
    let samples: Vec<Sampled> =
        serde_json::from_str(samples.get()).map_err(|error| fault("/samples", &error))?;
    if samples.is_empty() {
        return Ok(false);
    }
    let frames: BTreeMap<Cow<str>, StackFrame> =
        serde_json::from_str(frames.get()).map_err(|error| fault("/stackFrames", &error))?;
    let mut nodes = Vec::with_capacity(frames.len());
    for (id, frame) in frames {
        let id = id.parse().map_err(|_| {
            let place = format!("/stackFrames/{id}");
            misshapen(FORMAT, place, "its id is not a number")
        })?;
        nodes.push(node(id, frame));
    }
    let stacks = Samples {
        format: FORMAT,
        pointer: "/stackFrames".to_owned(),
        nodes,
        samples: Vec::new(),
        times: Vec::new(),
    };
    let stacks = stacks.stacks(builder)?;
    let mut by_thread: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (index, sample) in samples.iter().enumerate() {
        let key = (
            sample.pid.map_or("", RawValue::get),
            sample.tid.map_or("", RawValue::get),
        );
        by_thread.entry(key).or_default().push(index);
    }
    for (key, mut order) in by_thread {
        let thread = builder.thread(threads.get(&key).map_or("", String::as_str));
        let time = |at: usize| samples[at].ts;
        order.sort_by(|&a, &b| time(a).total_cmp(&time(b)));
        let mean = match order.as_slice() {
            [first, .., last] => (time(*last) - time(*first)) / (order.len() - 1) as f64,
            _ => 0.0,
        };
        for (position, &at) in order.iter().enumerate() {
            let Some(stack) = stacks.get(&(samples[at].sf as u64)) else {
                let problem = "it names a frame that does not exist";
                return Err(misshapen(FORMAT, format!("/samples/{at}/sf"), problem));
            };
            let next = order.get(position + 1).map(|&next| time(next));
            let lasts = next.map_or(mean, |next| next - time(at));
            builder.sample_at(*stack, thread, lasts * 1e3, time(at) * 1e3);
        }
    }
    Ok(true)
}

/// `parse(http://127.0.0.1/index.bundle:7:3)` as a node of V8's.
fn node(id: u64, frame: StackFrame) -> Node {
    let parts = || {
        let (name, place) = frame.name.strip_suffix(')')?.split_once('(')?;
        let (rest, column) = place.rsplit_once(':')?;
        let (url, line) = rest.rsplit_once(':')?;
        let column: f64 = column.parse().ok()?;
        let line: f64 = line.parse().ok()?;
        // V8 counts from 0.
        Some((name.to_owned(), url.to_owned(), line - 1.0, column - 1.0))
    };
    let call_frame = match parts() {
        Some((name, url, line, column)) => CallFrame {
            function_name: name.into(),
            script_id: None,
            url: url.into(),
            line_number: Some(line),
            column_number: Some(column),
        },
        None => CallFrame {
            function_name: match &*frame.name {
                "[root]" => "(root)".into(),
                _ => frame.name,
            },
            script_id: None,
            url: "".into(),
            line_number: None,
            column_number: None,
        },
    };
    Node {
        id,
        call_frame,
        children: Vec::new(),
        parent: frame.parent.map(|parent| parent as u64),
        hit_count: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::chrome_trace::read;

    const TRACE: &str = r#"{"traceEvents": [{"name": "thread_name", "ph": "M", "cat": "__metadata", "pid": 6052, "tid": "6105", "ts": "0", "args": {"name": "mqt_js"}}],
        "samples": [{"cpu": "-1", "name": "", "ts": "1000", "pid": 6052, "tid": "6105", "weight": "1", "sf": 2},
            {"cpu": "-1", "name": "", "ts": "4000", "pid": 6052, "tid": "6105", "weight": "1", "sf": 3}],
        "stackFrames": {"1": {"name": "[root]", "category": "root"},
            "2": {"line": "7", "column": "3", "funcLine": "7", "funcColumn": "3", "name": "parse(http://127.0.0.1/index.bundle:7:3)", "category": "JavaScript", "parent": 1},
            "3": {"name": "[GC Young Gen]", "category": "Metadata", "parent": 2}}}"#;

    #[test]
    fn samples_last_until_the_next_one() {
        let profile = read(TRACE).unwrap();
        assert_eq!(profile.total(), 6e6);
        assert_eq!(profile.times, [0.0, 3e6]);
        assert_eq!(profile.names.get(profile.threads[0]), "mqt_js");
        let stack: Vec<_> = profile.stacks.from_leaf(profile.samples[1].stack).collect();
        assert_eq!(stack.len(), 2);
        assert_eq!(profile.name(stack[0]), "[GC Young Gen]");
        let parse = profile.frame(stack[1]);
        assert_eq!(
            (profile.name(stack[1]), parse.line, parse.column),
            ("parse", 7, 3)
        );
        assert_eq!(
            profile.names.get(parse.file),
            "http://127.0.0.1/index.bundle"
        );
        assert!(profile.warnings.is_empty());
    }

    #[test]
    fn a_frame_that_does_not_exist_is_refused_with_its_place() {
        let error = read(&TRACE.replace(r#""sf": 3"#, r#""sf": 9"#)).unwrap_err();
        assert!(error.to_string().contains("/samples/1/sf"), "{error}");
        let error = read(&TRACE.replace(r#""parent": 2"#, r#""parent": 3"#)).unwrap_err();
        assert!(error.to_string().contains("/stackFrames"), "{error}");
    }
}
