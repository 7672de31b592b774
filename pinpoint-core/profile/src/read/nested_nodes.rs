//! The tree of a `.cpuprofile` as V8 wrote it before Node.js 12: nodes that hold their children.
//!
//! ```json
//! {"head": {"functionName": "(root)", "id": 1, …, "children": [{"functionName": "f", …}]},
//!  "startTime": 589, "endTime": 601, "samples": [2, 2], "timestamps": [589717946, 589718946]}
//! ```
//!
//! Lines and columns count from 1, start and end are in seconds, and times in microseconds.
//! A stack is as deep as the nodes are nested, so that no parser may follow it by recursion:
//! first each node is cut out of the text without its children.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::misshapen;
use super::v8::{CallFrame, Node};
use crate::{ProfileFormat, ReadProfileError};

const FORMAT: ProfileFormat = ProfileFormat::CpuProfile;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NestedNode {
    id: u64,
    #[serde(default)]
    hit_count: u32,
    #[serde(default)]
    function_name: String,
    #[serde(default)]
    url: String,
    line_number: Option<f64>,
    column_number: Option<f64>,
}

impl NestedNode {
    fn node(self, parent: Option<u64>) -> Node<'static> {
        let from_zero = |number: Option<f64>| number.map(|number| number - 1.0);
        Node {
            id: self.id,
            call_frame: CallFrame {
                function_name: Cow::Owned(self.function_name),
                script_id: None,
                url: Cow::Owned(self.url),
                line_number: from_zero(self.line_number),
                column_number: from_zero(self.column_number),
            },
            children: Vec::new(),
            parent,
            hit_count: self.hit_count,
        }
    }
}

/// The nodes of such a tree, each with its parent.
///
/// # Errors
///
/// [`ReadProfileError::Misshapen`], where a node is invalid.
pub(super) fn nodes(head: &RawValue) -> Result<Vec<Node<'static>>, ReadProfileError> {
    let cut = cut(head.get());
    let mut nodes: Vec<Node> = Vec::with_capacity(cut.len());
    for (number, node) in cut.iter().enumerate() {
        let fault = |error| misshapen(FORMAT, "/head", format!("node {number}: {error}"));
        let read: NestedNode = serde_json::from_str(&node.text).map_err(fault)?;
        // Parents come before their children.
        let parent = node.parent.and_then(|parent| nodes.get(parent));
        let parent = parent.map(|parent| parent.id);
        nodes.push(read.node(parent));
    }
    Ok(nodes)
}

/// A node without its children.
#[derive(Default)]
struct Cut {
    /// The place of its parent in the list.
    parent: Option<usize>,
    text: String,
}

/// An open node or list at a place of the text.
enum Open {
    /// A node, by its place in the list.
    Node(usize),
    /// The children of the node around it.
    Children,
    Other,
}

/// The nodes of a text that is valid JSON, parents before their children.
fn cut(text: &str) -> Vec<Cut> {
    let mut nodes: Vec<Cut> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    // The node whose text continues.
    let mut current: Option<usize> = None;
    let mut last_string = "";
    let mut from = 0;
    let mut at = 0;
    let bytes = text.as_bytes();
    let copy = |nodes: &mut Vec<Cut>, current: Option<usize>, from: usize, to: usize| {
        if let (Some(node), Some(part)) =
            (current.and_then(|it| nodes.get_mut(it)), text.get(from..to))
        {
            node.text.push_str(part);
        }
    };
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at);
                last_string = text.get(at + 1..end).unwrap_or_default();
                at = end;
            }
            b'{' if matches!(open.last(), None | Some(Open::Children)) => {
                let node = nodes.len();
                nodes.push(Cut {
                    parent: current,
                    text: String::new(),
                });
                open.push(Open::Node(node));
                current = Some(node);
                from = at;
            }
            // A value in a node is not a member's name.
            b'[' if last_string == "children" && matches!(open.last(), Some(Open::Node(_))) => {
                copy(&mut nodes, current, from, at + 1);
                open.push(Open::Children);
            }
            b'{' | b'[' => open.push(Open::Other),
            b'}' | b']' => match open.pop() {
                Some(Open::Node(node)) => {
                    copy(&mut nodes, current, from, at + 1);
                    current = nodes.get(node).and_then(|node| node.parent);
                }
                Some(Open::Children) => from = at,
                Some(Open::Other) | None => {}
            },
            _ => {}
        }
        at += 1;
    }
    nodes
}

/// The quotation mark that ends the string that begins there.
fn string_end(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
