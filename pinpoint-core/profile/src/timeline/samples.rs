//! The samples of one thread, as a tree of calls and the stacks over time.

use hashbrown::HashMap;

use super::FunctionId;
use super::tables::Tables;
use crate::read::v8::{Node, NodeTree};

/// A node of V8's call tree.
pub(super) struct CallNode {
    /// V8's number.
    pub(super) id: u32,
    pub(super) function: FunctionId,
    /// The caller; none for the root, and for an unconnected node.
    pub(super) parent: Option<u32>,
    /// The number of nodes that it lies in; 0 for the root.
    pub(super) depth: u32,
}

/// The samples of one thread.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) nodes: Vec<CallNode>,
    /// The times in microseconds and the nodes, in the order of time.
    pub(super) samples: Vec<(f64, u32)>,
    /// The nodes of samples that were taken for an event.
    pub(super) of_events: HashMap<String, u32>,
    pub(super) root: Option<u32>,
    pub(super) program: Option<u32>,
    pub(super) idle: Option<u32>,
    pub(super) collector: Option<u32>,
}

/// The parts of a profile, before it is assembled.
#[derive(Default)]
pub(super) struct RawCpuProfile<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) samples: Vec<u64>,
    pub(super) times: Vec<f64>,
    pub(super) of_events: Vec<(String, u64)>,
}

impl Samples {
    /// An error is the problem in words.
    pub(super) fn from_raw(raw: RawCpuProfile, tables: &mut Tables) -> Result<Self, String> {
        if raw.samples.len() != raw.times.len() {
            let (samples, times) = (raw.samples.len(), raw.times.len());
            return Err(format!("{samples} samples and {times} times"));
        }
        let tree = NodeTree::from_nodes(&raw.nodes)?;
        let mut depths = vec![0_u32; raw.nodes.len()];
        for &index in &tree.order {
            depths[index] = tree.parents[index].map_or(0, |parent| depths[parent] + 1);
        }
        let mut made = Self {
            root: (!raw.nodes.is_empty()).then_some(0),
            ..Self::default()
        };
        for (index, node) in raw.nodes.iter().enumerate() {
            let id = u32::try_from(node.id);
            made.nodes.push(CallNode {
                id: id.map_err(|_| format!("node {} has too large a number", node.id))?,
                function: tables.function(&node.call_frame),
                parent: tree.parents[index].map(|parent| parent as u32),
                depth: depths[index],
            });
            if tree.parents[index] == Some(0) {
                let own = Some(index as u32);
                match &*node.call_frame.function_name {
                    "(program)" => made.program = own,
                    "(idle)" => made.idle = own,
                    "(garbage collector)" => made.collector = own,
                    _ => {}
                }
            }
        }
        for (at, (id, time)) in raw.samples.iter().zip(&raw.times).enumerate() {
            let missing = || format!("sample {at} is of node {id}, which does not exist");
            let node = *tree.indices.get(id).ok_or_else(missing)? as u32;
            // By way of milliseconds, as in DevTools: so that ties with an event are decided alike.
            made.samples.push((time / 1e3 * 1e3, node));
        }
        made.samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (number, id) in raw.of_events {
            let missing =
                || format!("the sample of an event is of node {id}, which does not exist");
            let node = *tree.indices.get(&id).ok_or_else(missing)? as u32;
            made.of_events.insert(number, node);
        }
        made.fill_gaps();
        Ok(made)
    }

    /// V8 cannot always read the stack, and writes a sample of the program instead. A
    /// single one between two with the same outermost function is taken for the one before.
    fn fill_gaps(&mut self) {
        let Some(program) = self.program else {
            return;
        };
        let outermost = self.outermost();
        let original: Vec<u32> = self.samples.iter().map(|(_, node)| *node).collect();
        for (at, window) in original.windows(3).enumerate() {
            let [before, node, after] = *window else {
                continue;
            };
            if node == program
                && !self.is_system(before)
                && !self.is_system(after)
                && outermost[before as usize] == outermost[after as usize]
            {
                self.samples[at + 1].1 = before;
            }
        }
    }

    /// The outermost function of each node: a child of the root, or the root itself.
    fn outermost(&self) -> Vec<u32> {
        let mut outermost: Vec<u32> = (0..self.nodes.len() as u32).collect();
        let mut order: Vec<u32> = outermost.clone();
        order.sort_by_key(|node| self.nodes[*node as usize].depth);
        for node in order {
            let own = &self.nodes[node as usize];
            if let Some(parent) = own.parent.filter(|_| own.depth > 1) {
                outermost[node as usize] = outermost[parent as usize];
            }
        }
        outermost
    }

    fn is_system(&self, node: u32) -> bool {
        [self.program, self.idle, self.collector].contains(&Some(node))
    }

    /// The drawn part of each node among events: the nearest function on its stack that is not part
    /// of V8, and the number of such functions.
    pub(super) fn drawn(&self, tables: &Tables) -> Vec<Drawn> {
        let mut drawn = vec![Drawn::default(); self.nodes.len()];
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|node| self.nodes[*node].depth);
        for index in order {
            let node = &self.nodes[index];
            let above = node
                .parent
                .map_or(Drawn::default(), |parent| drawn[parent as usize]);
            let place = index as u32;
            let hidden = self.root == Some(place)
                || self.is_system(place)
                || tables.is_runtime(node.function);
            drawn[index] = if hidden {
                above
            } else {
                Drawn {
                    node: Some(place),
                    caller: above.node,
                    count: above.count + 1,
                }
            };
        }
        drawn
    }
}

/// The drawn part of a node.
#[derive(Clone, Copy, Default)]
pub(super) struct Drawn {
    pub(super) node: Option<u32>,
    /// The drawn node that calls it.
    pub(super) caller: Option<u32>,
    /// The number of drawn nodes on the stack, with this one.
    pub(super) count: u32,
}
