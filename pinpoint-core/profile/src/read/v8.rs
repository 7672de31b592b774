//! V8's samples, which `.cpuprofile`s and Chrome traces share.
//!
//! A sample holds until the next one is taken, and the last one for the mean interval, as DevTools
//! has it. Times may go backward where the profiler was late: samples are put in order first.

use std::borrow::Cow;

use hashbrown::HashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::misshapen;
use crate::builder::Builder;
use crate::{
    Category, Frame, NameId, ProfileFormat, ReadProfileError, Sample, StackId, Stacks, ThreadId,
};

/// A node of the call tree.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node<'a> {
    pub(crate) id: u64,
    #[serde(borrow)]
    pub(crate) call_frame: CallFrame<'a>,
    #[serde(default)]
    pub(super) children: Vec<u64>,
    pub(super) parent: Option<u64>,
    /// The number of samples in which it was on top of the stack.
    #[serde(default)]
    pub(super) hit_count: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallFrame<'a> {
    #[serde(borrow, default)]
    pub(crate) function_name: Cow<'a, str>,
    /// A number, or a text of it.
    #[serde(borrow)]
    pub(crate) script_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) url: Cow<'a, str>,
    /// Counted from 0; -1 for none, and missing for functions of V8 itself.
    pub(crate) line_number: Option<f64>,
    pub(crate) column_number: Option<f64>,
}

/// One profile of samples, put together.
pub(super) struct Samples<'a> {
    pub(super) format: ProfileFormat,
    /// Its place in the document, for errors.
    pub(super) pointer: String,
    pub(super) nodes: Vec<Node<'a>>,
    /// The nodes by their ids.
    pub(super) samples: Vec<u64>,
    /// Microseconds, one for each sample.
    pub(super) times: Vec<f64>,
}

/// The times of samples, in microseconds.
pub(crate) fn times(start: f64, deltas: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let mut time = start;
    deltas.iter().map(move |delta| {
        time += delta;
        time
    })
}

impl Samples<'_> {
    /// Adds the samples of a thread. `event` returns the activity at a time in microseconds, and is
    /// asked in the order of time.
    pub(super) fn add(
        mut self,
        thread: ThreadId,
        builder: &mut Builder,
        mut event: impl FnMut(f64) -> Option<Category>,
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
        builder.reserve(order.len());
        for (position, &at) in order.iter().enumerate() {
            let id = self.samples[at];
            let stack = *stacks.get(&id).ok_or_else(|| {
                self.fault(format!("sample {at} is of node {id}, which does not exist"))
            })?;
            let next = order.get(position + 1).map(|&next| times[next]);
            let lasts = next.map_or(mean, |next| next - times[at]);
            if stack != Stacks::ROOT {
                let weight = lasts * 1e3;
                let event = event(times[at]);
                let sample = Sample {
                    stack,
                    thread,
                    weight,
                    event,
                };
                builder.push_at(sample, times[at] * 1e3);
            }
        }
        Ok(())
    }

    /// Adds the hits of the nodes, where there are no samples: each has its part of the whole time,
    /// in microseconds.
    pub(super) fn add_hits(
        &self,
        thread: ThreadId,
        builder: &mut Builder,
        lasted: f64,
    ) -> Result<(), ReadProfileError> {
        let stacks = self.stacks(builder)?;
        let all: f64 = self
            .nodes
            .iter()
            .map(|node| f64::from(node.hit_count))
            .sum();
        for node in &self.nodes {
            let stack = stacks.get(&node.id).copied().unwrap_or(Stacks::ROOT);
            if stack != Stacks::ROOT && node.hit_count > 0 {
                let weight = f64::from(node.hit_count) / all * lasted * 1e3;
                builder.sample(stack, thread, weight);
            }
        }
        Ok(())
    }

    fn fault(&self, problem: String) -> ReadProfileError {
        misshapen(self.format, self.pointer.clone(), problem)
    }

    /// The stack of each node.
    pub(super) fn stacks(
        &self,
        builder: &mut Builder,
    ) -> Result<HashMap<u64, StackId>, ReadProfileError> {
        let tree = NodeTree::from_nodes(&self.nodes).map_err(|problem| self.fault(problem))?;
        let mut stacks = vec![Stacks::ROOT; self.nodes.len()];
        for &index in &tree.order {
            let node = &self.nodes[index];
            let parent = tree.parents[index];
            if parent.is_none() && node.call_frame.function_name == "(root)" {
                continue;
            }
            let frame = node.call_frame.frame(builder);
            let frame = builder.frame(frame);
            let parent = parent.map_or(Stacks::ROOT, |parent| stacks[parent]);
            stacks[index] = builder.stack(parent, frame);
        }
        let indices = tree.indices.into_iter();
        Ok(indices.map(|(id, index)| (id, stacks[index])).collect())
    }
}

/// The links between nodes, by their places in the list.
pub(crate) struct NodeTree {
    /// The place of each id.
    pub(crate) indices: HashMap<u64, usize>,
    pub(crate) parents: Vec<Option<usize>>,
    /// All nodes, parents before their children.
    pub(crate) order: Vec<usize>,
}

impl NodeTree {
    /// From the parent that a node names, or the children: profiles have the one or the
    /// other. An error is the problem in words.
    pub(crate) fn from_nodes(nodes: &[Node]) -> Result<Self, String> {
        let mut indices = HashMap::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            if indices.insert(node.id, index).is_some() {
                return Err(format!("node {} appears twice", node.id));
            }
        }
        let find = |id: u64| {
            let missing = || format!("node {id} is named and does not exist");
            indices.get(&id).copied().ok_or_else(missing)
        };
        let mut parents = vec![None; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                parents[index] = Some(find(parent)?);
            }
            for child in &node.children {
                parents[find(*child)?] = Some(index);
            }
        }
        let mut order = Vec::with_capacity(nodes.len());
        let mut ordered = vec![false; nodes.len()];
        let mut pending = Vec::new();
        for start in 0..nodes.len() {
            // Up to a node that is in order, and down again.
            let mut at = Some(start);
            while let Some(index) = at
                && !ordered[index]
            {
                if pending.len() > nodes.len() {
                    return Err(format!("node {} is called from itself", nodes[start].id));
                }
                pending.push(index);
                at = parents[index];
            }
            while let Some(index) = pending.pop() {
                ordered[index] = true;
                order.push(index);
            }
        }
        Ok(Self {
            indices,
            parents,
            order,
        })
    }
}

impl CallFrame<'_> {
    pub(super) fn frame(&self, builder: &mut Builder) -> Frame {
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
