//! Profiles of several runs, written as one for other tools.

use std::fmt::Write as _;
use std::io::Write as _;
use std::str::FromStr;

use flate2::Compression;
use flate2::write::GzEncoder;
use hashbrown::HashMap;
use prost::Message;
use serde::Serialize;

use super::identity::{Function, identify};
use super::read::pprof::proto;
use super::{Profile, ProfileUnit};

/// The most functions on all stacks: each is written with all that it was called from.
const MOST_STEPS: usize = 1 << 27;

/// A format in which profiles are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Folded stacks. Of a difference, each has the weights of both sides, as
    /// `inferno-diff-folded` writes them.
    Folded,
    /// pprof, compressed. Of a difference, weights may be negative.
    Pprof,
    /// V8's `.cpuprofile`.
    CpuProfile,
    /// speedscope's own.
    Speedscope,
}

/// The text names no format.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("there is no format `{0}` to export; use folded, pprof, cpuprofile or speedscope")]
pub struct ExportFormatError(String);

impl FromStr for ExportFormat {
    type Err = ExportFormatError;

    fn from_str(text: &str) -> Result<Self, ExportFormatError> {
        match text {
            "folded" => Ok(Self::Folded),
            "pprof" => Ok(Self::Pprof),
            "cpuprofile" => Ok(Self::CpuProfile),
            "speedscope" => Ok(Self::Speedscope),
            other => Err(ExportFormatError(other.to_owned())),
        }
    }
}

/// What is written of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exported {
    /// The base.
    Base,
    /// The experiment.
    Experiment,
    /// The experiment less the base.
    Difference,
}

/// The profiles cannot be written so.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The format has no place for negative weights.
    #[error(
        "a difference has negative weights, which {0} cannot hold; export a side, or as folded or pprof"
    )]
    Negative(&'static str),
    /// The format is for times only.
    #[error(
        "a .cpuprofile holds times, and these profiles count {0}; export as pprof or speedscope"
    )]
    NoTime(ProfileUnit),
    /// The stacks are too deep to be written out.
    #[error("the stacks are too deep to be written out one by one; export as cpuprofile")]
    TooLarge,
    /// The format's library fails.
    #[error("the profile cannot be written")]
    Write(#[from] std::io::Error),
    /// The format's library fails.
    #[error("the profile cannot be written")]
    Json(#[from] serde_json::Error),
}

/// Writes the mean of each side's runs, or the difference, as one profile.
///
/// # Errors
///
/// [`ExportError`].
pub fn export(
    base: &[Profile],
    experiment: &[Profile],
    exported: Exported,
    format: ExportFormat,
) -> Result<Vec<u8>, ExportError> {
    let merged = Merged::of(base, experiment);
    let unit = base
        .iter()
        .chain(experiment)
        .map(|profile| profile.unit.clone())
        .next();
    let unit = unit.unwrap_or(ProfileUnit::Samples);
    match (format, exported) {
        (ExportFormat::Folded, _) => merged.folded(exported),
        (ExportFormat::Pprof, _) => merged.pprof(exported, &unit),
        (ExportFormat::CpuProfile, Exported::Difference) => {
            Err(ExportError::Negative("a .cpuprofile"))
        }
        (ExportFormat::Speedscope, Exported::Difference) => {
            Err(ExportError::Negative("speedscope"))
        }
        (ExportFormat::CpuProfile, _) if unit != ProfileUnit::Nanoseconds => {
            Err(ExportError::NoTime(unit))
        }
        (ExportFormat::CpuProfile, _) => merged.cpuprofile(exported),
        (ExportFormat::Speedscope, _) => merged.speedscope(exported, &unit),
    }
}

/// A stack of all runs: the mean weight of each side.
struct Node {
    parent: usize,
    function: u32,
    base: f64,
    experiment: f64,
}

impl Node {
    fn weight(&self, exported: Exported) -> f64 {
        match exported {
            Exported::Base => self.base,
            Exported::Experiment => self.experiment,
            Exported::Difference => self.experiment - self.base,
        }
    }
}

/// The stacks of all runs; the first is the empty one, and a parent stands before its
/// children.
struct Merged {
    functions: Vec<Function>,
    nodes: Vec<Node>,
}

impl Merged {
    fn of(base: &[Profile], experiment: &[Profile]) -> Self {
        let all = || base.iter().chain(experiment);
        let identified = identify(all());
        let root = Node {
            parent: 0,
            function: 0,
            base: 0.0,
            experiment: 0.0,
        };
        let mut nodes = vec![root];
        let mut index: HashMap<(usize, u32), usize> = HashMap::new();
        for (run, (profile, of)) in all().zip(&identified.of).enumerate() {
            let mut places = vec![0; profile.stacks.len()];
            for stack in 1..profile.stacks.len() {
                let parent = places[profile.stacks.parents[stack] as usize];
                let function = of[profile.stacks.frames[stack] as usize];
                places[stack] = *index.entry((parent, function)).or_insert_with(|| {
                    nodes.push(Node {
                        parent,
                        function,
                        base: 0.0,
                        experiment: 0.0,
                    });
                    nodes.len() - 1
                });
            }
            for sample in &profile.samples {
                let node = &mut nodes[places[sample.stack.0 as usize]];
                if run < base.len() {
                    node.base += sample.weight / base.len() as f64;
                } else {
                    node.experiment += sample.weight / experiment.len() as f64;
                }
            }
        }
        Self {
            functions: identified.functions,
            nodes,
        }
    }

    /// The stacks that weigh something, with their places in the tree.
    fn weighed(&self, exported: Exported) -> impl Iterator<Item = (usize, &Node)> {
        let weighs = move |node: &Node| match exported {
            Exported::Difference => node.base != 0.0 || node.experiment != 0.0,
            side => node.weight(side) > 0.0,
        };
        let nodes = self.nodes.iter().enumerate().skip(1);
        nodes.filter(move |(_, node)| weighs(node))
    }

    /// The functions of a stack, the leaf first; `left` is how many may still be written.
    fn from_leaf(&self, node: usize, left: &mut usize) -> Result<Vec<u32>, ExportError> {
        let mut stack = Vec::new();
        let mut place = node;
        while place != 0 {
            *left = left.checked_sub(1).ok_or(ExportError::TooLarge)?;
            stack.push(self.nodes[place].function);
            place = self.nodes[place].parent;
        }
        Ok(stack)
    }

    fn folded(&self, exported: Exported) -> Result<Vec<u8>, ExportError> {
        let (mut text, mut left) = (String::new(), MOST_STEPS);
        for (place, node) in self.weighed(exported) {
            let stack = self.from_leaf(place, &mut left)?;
            for (position, function) in stack.iter().rev().enumerate() {
                if position > 0 {
                    text.push(';');
                }
                // What parts functions and lines cannot be in a name.
                let name = &self.functions[*function as usize].name;
                text.extend(name.chars().map(|c| {
                    if matches!(c, ';' | '\n' | '\r') {
                        ':'
                    } else {
                        c
                    }
                }));
            }
            // Never fails for a string.
            let _ = match exported {
                Exported::Difference => {
                    writeln!(text, " {:.0} {:.0}", node.base, node.experiment)
                }
                side => writeln!(text, " {:.0}", node.weight(side)),
            };
        }
        Ok(text.into_bytes())
    }

    fn pprof(&self, exported: Exported, unit: &ProfileUnit) -> Result<Vec<u8>, ExportError> {
        let mut strings = Strings::default();
        let (kind, unit_name) = match unit {
            ProfileUnit::Nanoseconds => ("cpu".to_owned(), "nanoseconds"),
            ProfileUnit::Bytes => ("space".to_owned(), "bytes"),
            other => (other.to_string(), "count"),
        };
        let mut profile = proto::Profile {
            sample_type: vec![proto::ValueType {
                r#type: strings.id(&kind),
                unit: strings.id(unit_name),
            }],
            ..proto::Profile::default()
        };
        let mut modules: HashMap<&str, u64> = HashMap::new();
        for (function, id) in self.functions.iter().zip(1_u64..) {
            let module = function.module.as_deref().unwrap_or_default();
            let next = modules.len() as u64 + 1;
            let mapping_id = *modules.entry(module).or_insert_with(|| {
                profile.mapping.push(proto::Mapping {
                    id: next,
                    filename: strings.id(module),
                });
                next
            });
            let name = strings.id(&function.name);
            profile.function.push(proto::Function {
                id,
                name,
                system_name: name,
                filename: strings.id(function.file.as_deref().unwrap_or_default()),
                start_line: i64::from(function.line.unwrap_or(0)),
            });
            let line = proto::Line {
                function_id: id,
                line: i64::from(function.line.unwrap_or(0)),
            };
            profile.location.push(proto::Location {
                id,
                mapping_id,
                address: 0,
                line: vec![line],
            });
        }
        let mut left = MOST_STEPS;
        for (place, node) in self.weighed(exported) {
            let stack = self.from_leaf(place, &mut left)?;
            profile.sample.push(proto::Sample {
                location_id: stack.into_iter().map(|f| u64::from(f) + 1).collect(),
                value: vec![node.weight(exported).round() as i64],
            });
        }
        profile.string_table = strings.list;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&profile.encode_to_vec())?;
        Ok(encoder.finish()?)
    }

    fn cpuprofile(&self, exported: Exported) -> Result<Vec<u8>, ExportError> {
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
                    _ => self.functions.get(self.nodes[place].function as usize),
                };
                V8Node {
                    id: place + 1,
                    call_frame: V8Frame::of(function),
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

    fn speedscope(&self, exported: Exported, unit: &ProfileUnit) -> Result<Vec<u8>, ExportError> {
        let frames: Vec<SpeedscopeFrame> = self
            .functions
            .iter()
            .map(|function| SpeedscopeFrame {
                name: &function.name,
                file: function.file.as_deref(),
                line: function.line,
            })
            .collect();
        let (mut samples, mut weights) = (Vec::new(), Vec::new());
        let mut left = MOST_STEPS;
        for (place, node) in self.weighed(exported) {
            let mut stack = self.from_leaf(place, &mut left)?;
            stack.reverse();
            samples.push(stack);
            weights.push(node.weight(exported));
        }
        let end_value: f64 = weights.iter().sum();
        let profile = SpeedscopeProfile {
            r#type: "sampled",
            name: match exported {
                Exported::Base => "base",
                _ => "experiment",
            },
            unit: match unit {
                ProfileUnit::Nanoseconds => "nanoseconds",
                ProfileUnit::Bytes => "bytes",
                _ => "none",
            },
            start_value: 0.0,
            end_value,
            samples,
            weights,
        };
        Ok(serde_json::to_vec(&Speedscope {
            schema: "https://www.speedscope.app/file-format-schema.json",
            shared: SpeedscopeShared { frames },
            profiles: [profile],
        })?)
    }
}

/// pprof's table of strings, the first of which is empty.
struct Strings {
    list: Vec<String>,
    index: HashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        Self {
            list: vec![String::new()],
            index: HashMap::from_iter([(String::new(), 0)]),
        }
    }
}

impl Strings {
    fn id(&mut self, text: &str) -> i64 {
        if let Some(id) = self.index.get(text) {
            return *id;
        }
        let id = self.list.len() as i64;
        self.list.push(text.to_owned());
        self.index.insert(text.to_owned(), id);
        id
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
    fn of(function: Option<&'a Function>) -> Self {
        Self {
            function_name: function.map_or("(root)", |function| &function.name),
            script_id: "0",
            url: function.and_then(|f| f.file.as_deref()).unwrap_or_default(),
            line_number: function
                .and_then(|f| f.line)
                .map_or(-1, |line| i64::from(line) - 1),
            column_number: -1,
        }
    }
}

#[derive(Serialize)]
struct Speedscope<'a> {
    #[serde(rename = "$schema")]
    schema: &'a str,
    shared: SpeedscopeShared<'a>,
    profiles: [SpeedscopeProfile<'a>; 1],
}

#[derive(Serialize)]
struct SpeedscopeShared<'a> {
    frames: Vec<SpeedscopeFrame<'a>>,
}

#[derive(Serialize)]
struct SpeedscopeFrame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpeedscopeProfile<'a> {
    r#type: &'a str,
    name: &'a str,
    unit: &'a str,
    start_value: f64,
    end_value: f64,
    samples: Vec<Vec<u32>>,
    weights: Vec<f64>,
}
