//! The traces that a query or a formula begins with, and their values.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use pinpoint_backends::traces::{Select, StoredTile};
use pinpoint_traces::{
    Columns, CommitNumber, EvaluateError, Formula, Frame, FrameError, Joined, Query, Selection,
    TILE_SIZE, TraceId, TraceName, join,
};

use super::asked::Asked;
use crate::arguments::CommitOptions;
use crate::error::CliError;

/// Shortcuts may hold formulas with shortcuts. Deeper than this is a mistake.
const DEEPEST: usize = 16;

/// Traces to read, and the formula over them.
#[derive(Default)]
pub(crate) struct Plan {
    sets: Vec<Set>,
    joins: Vec<(CommitNumber, Joined)>,
    /// Keys and values of queries that no trace has.
    pub(crate) warnings: Vec<String>,
}

/// Traces by id.
struct Set {
    wanted: BTreeSet<TraceId>,
    /// With the old ids of series that go on under a wanted one.
    read: Vec<TraceId>,
}

/// A formula, or the traces as they are.
pub(crate) struct Node {
    formula: Option<Formula>,
    inputs: Vec<Input>,
}

/// The traces of a set, and the formulas that a shortcut has beside them.
struct Input {
    set: usize,
    formulas: Vec<Node>,
}

impl Plan {
    /// The traces that match a query.
    pub(crate) async fn of_query(
        asked: &Asked,
        query: &Query,
        limit: u64,
    ) -> Result<(Self, Node), CliError> {
        let mut plan = Self::begin(asked).await?;
        let set = plan.select(asked, Select::Query(query), limit).await?;
        let inputs = vec![Input {
            set,
            formulas: Vec::new(),
        }];
        let formula = None;
        Ok((plan, Node { formula, inputs }))
    }

    /// A formula.
    pub(crate) async fn of_formula(
        asked: &Asked,
        formula: &Formula,
        limit: u64,
    ) -> Result<(Self, Node), CliError> {
        let mut plan = Self::begin(asked).await?;
        let node = plan.node(asked, formula, limit, 0).await?;
        Ok((plan, node))
    }

    async fn begin(asked: &Asked) -> Result<Self, CliError> {
        Ok(Self {
            joins: asked.joins().await?,
            ..Self::default()
        })
    }

    fn node<'a>(
        &'a mut self,
        asked: &'a Asked,
        formula: &'a Formula,
        limit: u64,
        depth: usize,
    ) -> Pin<Box<dyn Future<Output = Result<Node, CliError>> + Send + 'a>> {
        Box::pin(async move {
            if depth > DEEPEST {
                return Err(CliError::Input(format!(
                    "shortcuts in formulas of shortcuts are nested more than {DEEPEST} deep; name the traces instead"
                )));
            }
            let mut inputs = Vec::new();
            for selection in formula.selections() {
                let mut formulas = Vec::new();
                let set = match selection {
                    Selection::Filter { query, .. } => {
                        self.select(asked, Select::Query(query), limit).await?
                    }
                    Selection::Trace(id) => {
                        let ids = [id.clone()];
                        self.select(asked, Select::Ids(&ids), limit).await?
                    }
                    Selection::Shortcut(id) => {
                        let shortcut = asked.history.shortcut(id).await?;
                        let mut ids = Vec::new();
                        for name in shortcut.iter() {
                            if let Some(id) = name.stored() {
                                ids.push(id.clone());
                            } else if let Some(formula) = Formula::of_name(name) {
                                let formula = formula.map_err(wrong)?;
                                formulas.push(self.node(asked, &formula, limit, depth + 1).await?);
                            }
                        }
                        self.select(asked, Select::Ids(&ids), limit).await?
                    }
                };
                inputs.push(Input { set, formulas });
            }
            Ok(Node {
                formula: Some(formula.clone()),
                inputs,
            })
        })
    }

    async fn select(
        &mut self,
        asked: &Asked,
        select: Select<'_>,
        limit: u64,
    ) -> Result<usize, CliError> {
        let wanted = asked.history.ids(select, limit).await?;
        if let Select::Query(query) = select {
            let unknown = asked.history.survey(query, None).await?.unknown;
            self.warnings
                .extend(unknown.iter().map(ToString::to_string));
        }
        let wanted: BTreeSet<TraceId> = wanted.into_iter().collect();
        let mut read = wanted.clone();
        // Joins may follow each other.
        loop {
            let olds = self.joins.iter().filter(|(_, it)| read.contains(&it.after));
            let olds: Vec<TraceId> = olds.map(|(_, it)| it.before.clone()).collect();
            let before = read.len();
            read.extend(olds);
            if read.len() == before {
                break;
            }
        }
        self.sets.push(Set {
            wanted,
            read: read.into_iter().collect(),
        });
        Ok(self.sets.len() - 1)
    }

    /// The values at the commits that the options name.
    pub(crate) async fn frame(
        &self,
        asked: &Asked,
        node: &Node,
        commits: &CommitOptions,
    ) -> Result<Frame, CliError> {
        let frames = match &commits.commits {
            Some(range) => {
                let range = asked.range(range).await?;
                let mut frames = Vec::new();
                for set in &self.sets {
                    let select = Select::Ids(&set.read);
                    frames.push(asked.history.frame(select, range.clone(), u64::MAX).await?);
                }
                frames
            }
            None => self.last(asked, commits.last as usize).await?,
        };
        let sets = self.sets.iter().zip(frames);
        let joined = sets.map(|(set, frame)| self.joined(set, frame));
        let frames: Vec<Frame> = joined.collect::<Result<_, _>>().map_err(wrong)?;
        evaluate(node, &frames)
    }

    /// The last commits at which a trace of any set has a value.
    async fn last(&self, asked: &Asked, most: usize) -> Result<Vec<Frame>, CliError> {
        let tiles = asked.history.tiles().await?;
        let mut columns: Vec<CommitNumber> = Vec::new();
        // For each set the tiles' columns, the newest tile first.
        let mut parts: Vec<Vec<Frame>> = self.sets.iter().map(|_| Vec::new()).collect();
        for StoredTile { number, last, .. } in tiles.into_iter().rev() {
            if columns.len() >= most {
                break;
            }
            let first = CommitNumber(number * TILE_SIZE);
            let mut here = Vec::new();
            for set in &self.sets {
                let select = Select::Ids(&set.read);
                here.push(asked.history.frame(select, first..=last, u64::MAX).await?);
            }
            let width = here.first().map_or(0, |it| it.columns().len());
            let is_present = |column: &usize| {
                let mut rows = here.iter().flat_map(Frame::rows);
                rows.any(|(_, row)| row.get(*column).is_some_and(|it| !it.is_nan()))
            };
            let mut kept: Vec<usize> = (0..width).filter(is_present).collect();
            kept.drain(..kept.len().saturating_sub(most - columns.len()));
            let numbers: Vec<CommitNumber> = kept
                .iter()
                .map(|it| CommitNumber(first.0 + *it as u32))
                .collect();
            columns.splice(0..0, numbers.iter().copied());
            for (parts, frame) in parts.iter_mut().zip(here) {
                parts.push(restricted(&frame, &kept, numbers.clone()).map_err(wrong)?);
            }
        }
        let whole = parts.into_iter().zip(&self.sets);
        let whole = whole.map(|(parts, set)| beside(&parts, set, columns.clone()));
        whole.collect::<Result<_, _>>().map_err(wrong)
    }

    /// Puts series together that go on under another id, and leaves out what was read only for that.
    fn joined(&self, set: &Set, frame: Frame) -> Result<Frame, FrameError> {
        let width = frame.columns().len();
        let (columns, names, values) = join(frame, &self.joins).into_parts();
        let mut kept = Frame::new(columns);
        for (index, name) in names.into_iter().enumerate() {
            let row = values.get(index * width..(index + 1) * width);
            if name.stored().is_some_and(|id| set.wanted.contains(id)) {
                kept.push(name, row.unwrap_or_default())?;
            }
        }
        Ok(kept)
    }
}

/// These columns of a frame, with these commits.
fn restricted(
    frame: &Frame,
    kept: &[usize],
    commits: Vec<CommitNumber>,
) -> Result<Frame, FrameError> {
    let mut restricted = Frame::new(Columns::list(commits)?);
    for (name, row) in frame.rows() {
        let row = kept.iter().filter_map(|it| row.get(*it).copied());
        restricted.push(name.clone(), &row.collect::<Vec<f64>>())?;
    }
    Ok(restricted)
}

/// Frames of the same rows beside each other, the last one first.
fn beside(parts: &[Frame], set: &Set, commits: Vec<CommitNumber>) -> Result<Frame, FrameError> {
    let mut whole = Frame::new(Columns::list(commits)?);
    let names = parts.first().map(|it| it.names().to_vec());
    let none = || set.read.iter().cloned().map(TraceName::Stored).collect();
    for (index, name) in names.unwrap_or_else(none).into_iter().enumerate() {
        let rows = parts.iter().rev().filter_map(|part| part.row(index));
        whole.push(name, &rows.flatten().copied().collect::<Vec<f64>>())?;
    }
    Ok(whole)
}

fn evaluate(node: &Node, frames: &[Frame]) -> Result<Frame, CliError> {
    let mut inputs = Vec::new();
    for input in &node.inputs {
        let frame = frames.get(input.set).cloned();
        let mut frame = frame.ok_or_else(|| wrong(EvaluateError::Columns))?;
        for formula in &input.formulas {
            for (name, row) in evaluate(formula, frames)?.rows() {
                frame.push(name.clone(), row).map_err(wrong)?;
            }
        }
        inputs.push(frame);
    }
    match (&node.formula, &inputs[..]) {
        (Some(formula), inputs) => formula.evaluate(inputs).map_err(wrong),
        (None, [frame, ..]) => Ok(frame.clone()),
        (None, []) => Err(wrong(EvaluateError::Columns)),
    }
}

pub(crate) fn wrong(error: impl std::fmt::Display) -> CliError {
    CliError::Input(error.to_string())
}
