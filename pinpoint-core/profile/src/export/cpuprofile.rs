//! V8's `.cpuprofile`.

use serde::Serialize;

use super::{ExportError, Exported};
use crate::StackTree;
use crate::identity::{ANONYMOUS, Function};

impl StackTree {
    pub(super) fn cpuprofile(&self, exported: Exported) -> Result<Vec<u8>, ExportError> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate().skip(1) {
            children[node.parent].push(place + 1);
        }
        let nodes: Vec<V8Node> = children
            .into_iter()
            .enumerate()
            .map(|(place, children)| {
                let function = match place {
                    0 => None,
                    _ => self.functions.get(self.nodes[place].function),
                };
                V8Node {
                    id: place + 1,
                    call_frame: V8Frame::from_function(function),
                    children,
                }
            })
            .collect();
        // A sample holds until the next one: its weight is the delta after it, and the
        // root ends the last one.
        let (mut samples, mut time_deltas) = (Vec::new(), vec![0.0]);
        for (place, node) in self.weighed(exported) {
            samples.push(place + 1);
            time_deltas.push(node.weight(exported) / 1e3);
        }
        samples.push(1);
        let end_time: f64 = time_deltas.iter().sum();
        Ok(serde_json::to_vec(&V8Profile {
            nodes,
            start_time: 0.0,
            end_time,
            samples,
            time_deltas,
        })?)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct V8Profile<'a> {
    nodes: Vec<V8Node<'a>>,
    start_time: f64,
    end_time: f64,
    samples: Vec<usize>,
    time_deltas: Vec<f64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct V8Node<'a> {
    id: usize,
    call_frame: V8Frame<'a>,
    children: Vec<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct V8Frame<'a> {
    function_name: &'a str,
    script_id: &'a str,
    url: &'a str,
    line_number: i64,
    column_number: i64,
}

impl<'a> V8Frame<'a> {
    fn from_function(function: Option<&'a Function>) -> Self {
        Self {
            function_name: match function {
                None => "(root)",
                // V8 leaves the name empty.
                Some(function) if function.name == ANONYMOUS => "",
                Some(function) => &function.name,
            },
            script_id: "0",
            url: function.and_then(|f| f.file.as_deref()).unwrap_or_default(),
            line_number: function
                .and_then(|f| f.line)
                .map_or(-1, |line| i64::from(line) - 1),
            column_number: -1,
        }
    }
}
