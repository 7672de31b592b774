//! V8's samples, which `.cpuprofile`s and Chrome traces share.
//!
//! A sample holds until the next one is taken, and the last one for the mean interval, as
//! DevTools has it. Times may go backwards where the profiler was late: samples are put in
//! order first.

use std::borrow::Cow;

use hashbrown::HashMap;
use serde::Deserialize;

use super::json::misshapen;
use crate::profile::builder::Builder;
use crate::profile::{Frame, NameId, ProfileFormat, ReadProfileError, StackId, Stacks, ThreadId};

/// A node of the call tree.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node<'a> {
    pub(super) id: u64,
    #[serde(borrow)]
    call_frame: CallFrame<'a>,
    #[serde(default)]
    children: Vec<u64>,
    parent: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallFrame<'a> {
    #[serde(borrow, default)]
    function_name: Cow<'a, str>,
    #[serde(borrow, default)]
    url: Cow<'a, str>,
    /// Counted from 0; -1 for none, and missing for functions of V8 itself.
    line_number: Option<f64>,
    column_number: Option<f64>,
}

/// One profile of samples, put together.
pub(super) struct Samples<'a> {
    pub(super) format: ProfileFormat,
    /// Where it stands in the document, for errors.
    pub(super) pointer: String,
    pub(super) nodes: Vec<Node<'a>>,
    /// The nodes by their ids.
    pub(super) samples: Vec<u64>,
    /// Microseconds, one for each sample.
    pub(super) times: Vec<f64>,
}

/// The times of samples, in microseconds.
pub(super) fn times(start: f64, deltas: &[f64]) -> impl Iterator<Item = f64> + '_ {
    deltas.iter().scan(start, |time, delta| {
        *time += delta;
        Some(*time)
    })
}

impl Samples<'_> {
    pub(super) fn add(
        mut self,
        thread: ThreadId,
        builder: &mut Builder,
    ) -> Result<(), ReadProfileError> {
        let stacks = self.stacks(builder)?;
        if self.samples.len() != self.times.len() {
            let (samples, times) = (self.samples.len(), self.times.len());
            return Err(self.fault(format!("{samples} samples and {times} times")));
        }
        let mut order: Vec<usize> = (0..self.samples.len()).collect();
        let times = std::mem::take(&mut self.times);
        order.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
        let mean = match order.as_slice() {
            [first, .., last] => (times[*last] - times[*first]) / (order.len() - 1) as f64,
            _ => 0.0,
        };
        for (position, &at) in order.iter().enumerate() {
            let id = self.samples[at];
            let stack = *stacks.get(&id).ok_or_else(|| {
                self.fault(format!("sample {at} is of node {id}, which does not exist"))
            })?;
            let next = order.get(position + 1).map(|&next| times[next]);
            let lasts = next.map_or(mean, |next| next - times[at]);
            if stack != Stacks::ROOT {
                builder.sample_at(stack, thread, lasts * 1e3, times[at] * 1e3);
            }
        }
        Ok(())
    }

    fn fault(&self, problem: String) -> ReadProfileError {
        misshapen(self.format, self.pointer.clone(), problem)
    }

    /// The stack of each node.
    fn stacks(&self, builder: &mut Builder) -> Result<HashMap<u64, StackId>, ReadProfileError> {
        let mut indices = HashMap::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            if indices.insert(node.id, index).is_some() {
                return Err(self.fault(format!("node {} stands there twice", node.id)));
            }
        }
        let find = |id: u64| {
            let missing = || self.fault(format!("node {id} is named and does not exist"));
            indices.get(&id).copied().ok_or_else(missing)
        };
        let mut parents = vec![None; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                parents[index] = Some(find(parent)?);
            }
            for child in &node.children {
                parents[find(*child)?] = Some(index);
            }
        }
        let mut stacks: Vec<Option<StackId>> = vec![None; self.nodes.len()];
        let mut pending = Vec::new();
        for start in 0..self.nodes.len() {
            // Up to a node whose stack is known, and down again.
            let mut at = Some(start);
            while let Some(index) = at
                && stacks[index].is_none()
            {
                if pending.len() > self.nodes.len() {
                    let id = self.nodes[start].id;
                    return Err(self.fault(format!("node {id} is called from itself")));
                }
                pending.push(index);
                at = parents[index];
            }
            let mut stack = at.and_then(|index| stacks[index]).unwrap_or(Stacks::ROOT);
            while let Some(index) = pending.pop() {
                let node = &self.nodes[index];
                let is_root = parents[index].is_none() && node.call_frame.function_name == "(root)";
                if !is_root {
                    let frame = node.call_frame.frame(builder);
                    let frame = builder.frame(frame);
                    stack = builder.stack(stack, frame);
                }
                stacks[index] = Some(stack);
            }
        }
        let known = |(id, index): (u64, usize)| Some((id, stacks[index]?));
        Ok(indices.into_iter().filter_map(known).collect())
    }
}

impl CallFrame<'_> {
    fn frame(&self, builder: &mut Builder) -> Frame {
        // Counted from 1, and 0 for none, where V8 counts from 0.
        let position = |number: Option<f64>| number.map_or(0, |number| (number + 1.0) as u32);
        Frame {
            name: builder.name(&self.function_name),
            module: NameId::EMPTY,
            file: builder.name(&self.url),
            line: position(self.line_number),
            column: position(self.column_number),
        }
    }
}
