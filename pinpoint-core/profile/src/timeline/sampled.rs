//! The calls of a `.cpuprofile`, which has samples and no events.

use super::samples::Samples;
use super::tables::{MOST_ENTRIES, Tables};
use super::{Entry, Nesting, Source};
use crate::ReadProfileError;

/// The calls, in the order in which they begin, and nested: a call lasts as long as its node is on
/// the stack. All but the root is drawn. The garbage collector stands on the stack before it.
///
/// The last sample holds for the mean interval.
///
/// # Errors
///
/// [`ReadProfileError::TooLarge`].
pub(super) fn calls(
    samples: &Samples,
    tables: &mut Tables,
) -> Result<Vec<Entry>, ReadProfileError> {
    let mut made = Calls {
        samples,
        tables,
        entries: Vec::new(),
        open: Vec::new(),
    };
    let mut before = samples.root;
    let mut path = Vec::new();
    for (index, &(time, node)) in samples.samples.iter().enumerate() {
        if Some(node) == before {
            continue;
        }
        before = Some(node);
        if samples.collector == Some(node) {
            made.begin(node, index, time);
            continue;
        }
        let collecting = |(_, open): &mut (usize, u32)| samples.collector == Some(*open);
        if let Some((call, _)) = made.open.pop_if(collecting) {
            made.end(call, time);
        }
        // Up to the first call that continues.
        path.clear();
        let mut at = Some(node).filter(|node| samples.root != Some(*node));
        while let Some(function) = at {
            let depth = samples.nodes[function as usize].depth as usize;
            if made.open.get(depth.wrapping_sub(1)).map(|open| open.1) == Some(function) {
                break;
            }
            path.push(function);
            at = samples.nodes[function as usize].parent;
            at = at.filter(|caller| samples.root != Some(*caller));
        }
        let goes_on = at.map_or(0, |function| {
            samples.nodes[function as usize].depth as usize
        });
        while made.open.len() > goes_on
            && let Some((call, _)) = made.open.pop()
        {
            made.end(call, time);
        }
        for function in path.drain(..).rev() {
            made.begin(function, index, time);
        }
        if made.entries.len() > MOST_ENTRIES {
            return Err(ReadProfileError::TooLarge {
                what: "calls",
                most: MOST_ENTRIES as u64,
            });
        }
    }
    let end = end(samples);
    while let Some((call, _)) = made.open.pop() {
        made.end(call, end);
    }
    Ok(made.entries)
}

fn end(samples: &Samples) -> f64 {
    match samples.samples.as_slice() {
        [(first, _), .., (last, _)] => last + (last - first) / (samples.samples.len() - 1) as f64,
        [(only, _)] => *only,
        [] => 0.0,
    }
}

struct Calls<'a> {
    samples: &'a Samples,
    tables: &'a mut Tables,
    entries: Vec<Entry>,
    /// Calls that have not ended, with their nodes.
    open: Vec<(usize, u32)>,
}

impl Calls<'_> {
    fn begin(&mut self, node: u32, sample: usize, start: f64) {
        let called = &self.samples.nodes[node as usize];
        let parent = self.open.last().map(|(call, _)| *call as u32);
        let depth = self.open.len() as u32;
        self.open.push((self.entries.len(), node));
        self.entries.push(Entry {
            start,
            duration: 0.0,
            own: 0.0,
            kind: self.tables.call(called.function),
            source: Source::Call {
                sample: sample as i32,
                node: called.id,
            },
            nesting: parent.map_or(Nesting::Outermost, Nesting::In),
            depth,
            stack: u32::MAX,
        });
    }

    fn end(&mut self, call: usize, time: f64) {
        let duration = time - self.entries[call].start;
        self.entries[call].duration = duration;
        self.entries[call].own += duration;
        if let Some(parent) = self.entries[call].parent() {
            self.entries[parent].own -= duration;
        }
    }
}
