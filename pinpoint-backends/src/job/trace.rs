//! The trace of a job, as in OpenTelemetry: its creation, and each build and run, on any machine.
//!
//! A job that was requested within a trace ([`TraceParent`]) is a part of that one; any other has a
//! separate trace, whose id is the job's. The job as a whole is a span, whose id is the second half
//! of the job's. So every worker knows both ids, and a job that moves between workers is one trace.

use std::fmt;
use std::str::FromStr;

use pinpoint_core::JobState;
use serde::{Deserialize, Serialize};
use tracing::info;

use crate::store::Job;

/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// A span of a trace: the header `traceparent` of W3C Trace Context, or the variable
/// `TRACEPARENT` of the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TraceParent {
    trace: u128,
    span: u64,
    flags: u8,
}

/// The text is not a trace context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a trace context, as in 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
)]
pub struct NoTraceParent(String);

impl TraceParent {
    /// The span of a whole job.
    pub fn of(job: &Job) -> Self {
        // Every id is 32 hexadecimal digits.
        let id = u128::from_str_radix(job.id.as_str(), 16).unwrap_or_default();
        let (trace, flags) = match Self::asked_in(job) {
            Some(asked) => (asked.trace, asked.flags),
            None => (id, SAMPLED),
        };
        Self {
            trace,
            // The random bits.
            span: id as u64,
            flags,
        }
    }

    /// The span in which a job was requested.
    pub fn asked_in(job: &Job) -> Option<Self> {
        job.config.get("traceparent")?.as_str()?.parse().ok()
    }

    /// The id of the trace, 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    /// True if the trace is recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The id of the span, 16 hexadecimal digits.
    pub fn span_id(&self) -> String {
        format!("{:016x}", self.span)
    }
}

/// Reports the end of a job to a subscriber, with the data for a span.
pub(crate) fn trace_end(job: &Job, state: JobState) {
    if matches!(state, JobState::Pending | JobState::Running) {
        return;
    }
    info!(
        name: "job ended",
        job = %job.id,
        kind = job.kind,
        bot = job.bot,
        benchmark = job.benchmark,
        user = job.user,
        state = state.as_str(),
        created = job.created,
        traceparent = %TraceParent::of(job),
        asked_in = TraceParent::asked_in(job).map(|asked| asked.to_string()),
    );
}

impl FromStr for TraceParent {
    type Err = NoTraceParent;

    fn from_str(text: &str) -> Result<Self, NoTraceParent> {
        let parts = || {
            let mut parts = text.trim().split('-');
            let mut next = |length| {
                let part = parts.next().filter(|part| part.len() == length)?;
                let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                part.bytes().all(is_digit).then_some(part)
            };
            let [version, trace, span, flags] = [next(2)?, next(32)?, next(16)?, next(2)?];
            // Later versions may have more parts.
            if version == "ff" || version == "00" && parts.next().is_some() {
                return None;
            }
            let parent = Self {
                trace: u128::from_str_radix(trace, 16).ok()?,
                span: u64::from_str_radix(span, 16).ok()?,
                flags: u8::from_str_radix(flags, 16).ok()?,
            };
            (parent.trace != 0 && parent.span != 0).then_some(parent)
        };
        parts().ok_or_else(|| NoTraceParent(text.into()))
    }
}

impl TryFrom<String> for TraceParent {
    type Error = NoTraceParent;

    fn try_from(text: String) -> Result<Self, NoTraceParent> {
        text.parse()
    }
}

impl From<TraceParent> for String {
    fn from(parent: TraceParent) -> Self {
        parent.to_string()
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, span) = (self.trace_id(), self.span_id());
        write!(formatter, "00-{trace}-{span}-{:02x}", self.flags)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

    #[test]
    fn a_trace_context_is_read_as_the_standard_says() {
        for sound in [
            PARENT,
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        ] {
            let parent: TraceParent = sound.parse().unwrap();
            assert_eq!(parent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
            assert_eq!(parent.span_id(), "00f067aa0ba902b7");
        }
        assert_eq!(PARENT.parse::<TraceParent>().unwrap().to_string(), PARENT);
        for wrong in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-+00f067aa0ba902b7-01",
        ] {
            assert!(wrong.parse::<TraceParent>().is_err(), "{wrong}");
        }
    }

    fn job(config: Value) -> Job {
        serde_json::from_value(json!({
            "id": "0199f3c1a2b37f0e8d1c2b3a49586776", "kind": "bisection", "state": "pending",
            "created": 1, "updated": 1, "duration": null, "name": "", "benchmark": "",
            "bot": "lab", "user": "ada", "repository": "", "title": "", "spec": {},
            "config": config, "outcome": null, "error": null, "runs": 0, "builds": 0,
            "journal_version": 1, "written_by": "0.1.0",
        }))
        .unwrap()
    }

    #[test]
    fn a_job_has_a_trace_of_its_own_or_is_a_part_of_the_one_it_was_asked_for_in() {
        let own = TraceParent::of(&job(Value::Null));
        assert_eq!(
            own.to_string(),
            "00-0199f3c1a2b37f0e8d1c2b3a49586776-8d1c2b3a49586776-01"
        );
        let asked = job(json!({ "traceparent": PARENT }));
        assert_eq!(
            TraceParent::of(&asked).to_string(),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-8d1c2b3a49586776-00"
        );
        assert_eq!(TraceParent::asked_in(&asked), PARENT.parse().ok());
    }
}
