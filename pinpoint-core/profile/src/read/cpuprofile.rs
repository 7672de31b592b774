//! V8's `.cpuprofile`, which `node --cpu-prof` and DevTools write.
//!
//! ```json
//! {"nodes": [{"id": 1, "callFrame": {"functionName": "(root)", …}, "children": [2]}, …],
//!  "startTime": 589717946, "samples": [2, 10], "timeDeltas": [3323, 8929], …}
//! ```
//!
//! Described in the DevTools protocol, `Profiler.Profile`, in which `samples` and `timeDeltas` may
//! be missing. Older ones have a tree of nodes instead (`nested_nodes.rs`). Checked with Node.js 20.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::v8::{Node, Samples, times};
use super::{json, nested_nodes};
use crate::builder::Builder;
use crate::{Profile, ProfileFormat, ProfileUnit, ReadProfileError};

const FORMAT: ProfileFormat = ProfileFormat::CpuProfile;

/// The whole profile. In a Chrome trace, of which it is a part, all but the nodes may be
/// missing.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CpuProfile<'a> {
    #[serde(borrow)]
    pub(crate) nodes: Vec<Node<'a>>,
    pub(crate) start_time: f64,
    end_time: f64,
    pub(crate) samples: Vec<u64>,
    pub(crate) time_deltas: Vec<f64>,
    /// The nodes of samples that were taken for an event, by the number that both have.
    #[serde(rename = "trace_ids", borrow)]
    pub(crate) trace_ids: BTreeMap<Cow<'a, str>, u64>,
    /// The tree that older ones have in place of nodes.
    #[serde(borrow)]
    head: Option<&'a RawValue>,
    /// The times of samples in older ones, in microseconds.
    timestamps: Vec<f64>,
}

impl<'a> CpuProfile<'a> {
    /// Reads a whole file, old or new.
    pub(crate) fn parse(text: &'a str) -> Result<Self, ReadProfileError> {
        let mut profile: Self = json::read(text, FORMAT, std::marker::PhantomData)?;
        let Some(head) = profile.head.filter(|_| profile.nodes.is_empty()) else {
            return Ok(profile);
        };
        profile.nodes = nested_nodes::nodes(head)?;
        profile.start_time *= 1e6;
        profile.end_time *= 1e6;
        if let Some(first) = profile.timestamps.first() {
            // Seconds are too coarse for the first sample.
            profile.start_time = *first;
            let before = profile.timestamps.iter().take(1).chain(&profile.timestamps);
            let deltas = profile.timestamps.iter().zip(before);
            profile.time_deltas = deltas.map(|(time, before)| time - before).collect();
        }
        Ok(profile)
    }

    /// Spreads the samples evenly, if they have no times.
    fn with_times(mut self, lasted: f64) -> Self {
        let count = self.samples.len();
        if self.time_deltas.is_empty() && (lasted > 0.0 || count == 1) {
            self.time_deltas = vec![lasted / count as f64; count];
            self.time_deltas[0] = 0.0;
        }
        self
    }

    pub(super) fn samples(self, format: ProfileFormat, pointer: String) -> Samples<'a> {
        Samples {
            format,
            pointer,
            nodes: self.nodes,
            samples: self.samples,
            times: times(self.start_time, &self.time_deltas).collect(),
        }
    }
}

pub(crate) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let profile = CpuProfile::parse(text)?;
    let mut builder = Builder::default();
    let thread = builder.thread("");
    let lasted = (profile.end_time - profile.start_time).max(0.0);
    if profile.samples.is_empty() {
        let samples = profile.samples(FORMAT, String::new());
        samples.add_hits(thread, &mut builder, lasted)?;
    } else {
        let profile = profile.with_times(lasted);
        let samples = profile.samples(FORMAT, String::new());
        samples.add(thread, &mut builder, |_| None)?;
    }
    builder.finish(
        FORMAT,
        ProfileUnit::Nanoseconds,
        "a sample lasts until the next one: let the program run longer, or sample more often (--cpu-prof-interval)",
    )
}
