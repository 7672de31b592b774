//! The values of traces or a formula: traces are selected, read and joined, and formulas computed.

use std::collections::BTreeSet;
use std::future::Future;
use std::ops::RangeInclusive;
use std::pin::Pin;

use pinpoint_traces::{
    AnnotationKind, Columns, CommitNumber, EvaluateError, Formula, Frame, FrameError, Joined,
    Query, Selection, TILE_SIZE, TraceId, TraceName, UnknownName, join,
};

use super::{History, Select, StoredTile, TraceStoreError};

/// Shortcuts may hold formulas with shortcuts. Deeper than this is a mistake.
const DEEPEST: usize = 16;

/// All commit numbers.
const ALL: RangeInclusive<CommitNumber> = CommitNumber(0)..=CommitNumber(u32::MAX);

/// The traces whose values are asked for.
#[derive(Debug, Clone, Copy)]
pub enum ValuesOf<'a> {
    /// Those that match.
    Query(&'a Query),
    /// Those that a formula computes.
    Formula(&'a Formula),
    /// These; those that the dataset does not have are left out.
    Ids(&'a [TraceId]),
}

/// The commits at which values are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValuesAt {
    /// Each commit from the first one to the newest that is known or has a value.
    All,
    /// Each commit of a range.
    Range(RangeInclusive<CommitNumber>),
    /// The last commits, so many, at which any of the traces has a value.
    Last(usize),
}

/// The values of a query or a formula.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TraceValues {
    /// A row for each trace, a column for each commit.
    pub frame: Frame,
    /// Keys and values of the queries that no trace of the dataset has.
    pub unknown: Vec<UnknownName>,
}

impl History {
    /// The values of a query or a formula. A series that goes on under another id is one row,
    /// under the new id; a shortcut in a formula is resolved, with the formulas that it holds.
    ///
    /// Reads the tiles of the commits, for each set of traces that the formula names; frames are in
    /// memory as a whole.
    ///
    /// # Errors
    ///
    /// Those of [`History::frame`], of which the limit holds for each query;
    /// [`TraceStoreError::NoShortcut`], [`TraceStoreError::NestedShortcuts`] and
    /// [`TraceStoreError::Evaluate`] for a formula.
    pub async fn values(
        &self,
        of: ValuesOf<'_>,
        at: &ValuesAt,
        limit: u64,
    ) -> Result<TraceValues, TraceStoreError> {
        let mut plan = Plan {
            joins: self.joins().await?,
            ..Plan::default()
        };
        let traces = async |plan: &mut Plan, select| {
            Ok::<_, TraceStoreError>(Node {
                formula: None,
                inputs: vec![Input {
                    set: plan.select(self, select, limit).await?,
                    formulas: Vec::new(),
                }],
            })
        };
        let node = match of {
            ValuesOf::Query(query) => traces(&mut plan, Select::Query(query)).await?,
            ValuesOf::Ids(ids) => traces(&mut plan, Select::Ids(ids)).await?,
            ValuesOf::Formula(formula) => plan.node(self, formula, limit, 0).await?,
        };
        let frames = plan.frames(self, at).await?;
        Ok(TraceValues {
            frame: evaluate(&node, &frames)?,
            unknown: plan.unknown,
        })
    }

    /// The series that go on under another id, each with the commit at which it does.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read.
    pub async fn joins(&self) -> Result<Vec<(CommitNumber, Joined)>, TraceStoreError> {
        let annotations = self.annotations(ALL).await?.into_iter();
        let joins = annotations.filter_map(|it| match it.annotation.kind {
            AnnotationKind::Joined(joined) => Some((it.annotation.commit, joined)),
            _ => None,
        });
        Ok(joins.collect())
    }
}

/// Sets of traces to read.
#[derive(Default)]
struct Plan {
    sets: Vec<Set>,
    joins: Vec<(CommitNumber, Joined)>,
    unknown: Vec<UnknownName>,
}

/// Traces by id.
struct Set {
    wanted: BTreeSet<TraceId>,
    /// With the old ids of series that go on under a wanted one.
    read: Vec<TraceId>,
}

/// A formula, or the traces as they are.
struct Node {
    formula: Option<Formula>,
    inputs: Vec<Input>,
}

/// The traces of a set, and the formulas that a shortcut has beside them.
struct Input {
    set: usize,
    formulas: Vec<Node>,
}

impl Plan {
    fn node<'a>(
        &'a mut self,
        history: &'a History,
        formula: &'a Formula,
        limit: u64,
        depth: usize,
    ) -> Pin<Box<dyn Future<Output = Result<Node, TraceStoreError>> + Send + 'a>> {
        Box::pin(async move {
            if depth > DEEPEST {
                return Err(TraceStoreError::NestedShortcuts(DEEPEST));
            }
            let mut inputs = Vec::new();
            for selection in formula.selections() {
                let mut formulas = Vec::new();
                let set = match selection {
                    Selection::Filter { query, .. } => {
                        self.select(history, Select::Query(query), limit).await?
                    }
                    Selection::Trace(id) => {
                        let ids = [id.clone()];
                        self.select(history, Select::Ids(&ids), limit).await?
                    }
                    Selection::Shortcut(id) => {
                        let shortcut = history.shortcut(id).await?;
                        let mut ids = Vec::new();
                        for name in shortcut.iter() {
                            if let Some(id) = name.stored() {
                                ids.push(id.clone());
                            } else if let Some(formula) = Formula::of_name(name) {
                                let formula = formula
                                    .map_err(|error| history.store.damaged("a shortcut", error))?;
                                formulas
                                    .push(self.node(history, &formula, limit, depth + 1).await?);
                            }
                        }
                        self.select(history, Select::Ids(&ids), limit).await?
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
        history: &History,
        select: Select<'_>,
        limit: u64,
    ) -> Result<usize, TraceStoreError> {
        let wanted = history.ids(select, limit).await?;
        if let Select::Query(query) = select {
            let unknown = history.survey(query, None).await?.unknown;
            self.unknown.extend(unknown);
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

    /// The values of each set, joined.
    async fn frames(
        &self,
        history: &History,
        at: &ValuesAt,
    ) -> Result<Vec<Frame>, TraceStoreError> {
        let frames = match at {
            ValuesAt::All => match history.newest_number().await? {
                Some(newest) => self.range(history, CommitNumber(0)..=newest).await?,
                None => self.last(history, 0).await?,
            },
            ValuesAt::Range(range) => self.range(history, range.clone()).await?,
            ValuesAt::Last(most) => self.last(history, *most).await?,
        };
        let sets = self.sets.iter().zip(frames);
        let joined = sets.map(|(set, frame)| Ok(self.joined(set, frame)?));
        joined.collect()
    }

    async fn range(
        &self,
        history: &History,
        range: RangeInclusive<CommitNumber>,
    ) -> Result<Vec<Frame>, TraceStoreError> {
        let mut frames = Vec::new();
        for set in &self.sets {
            let select = Select::Ids(&set.read);
            frames.push(history.frame(select, range.clone(), u64::MAX).await?);
        }
        Ok(frames)
    }

    /// The last commits at which a trace of any set has a value.
    async fn last(&self, history: &History, most: usize) -> Result<Vec<Frame>, TraceStoreError> {
        let tiles = history.tiles().await?;
        let mut columns: Vec<CommitNumber> = Vec::new();
        // For each set the tiles' columns, the newest tile first.
        let mut parts: Vec<Vec<Frame>> = self.sets.iter().map(|_| Vec::new()).collect();
        for StoredTile { number, last, .. } in tiles.into_iter().rev() {
            if columns.len() >= most {
                break;
            }
            let first = CommitNumber(number * TILE_SIZE);
            let here = self.range(history, first..=last).await?;
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
                parts.push(restricted(&frame, &kept, numbers.clone())?);
            }
        }
        let whole = parts.into_iter().zip(&self.sets);
        let whole = whole.map(|(parts, set)| beside(&parts, set, columns.clone()));
        whole.map(|it| Ok(it?)).collect()
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

fn evaluate(node: &Node, frames: &[Frame]) -> Result<Frame, TraceStoreError> {
    let mut inputs = Vec::new();
    for input in &node.inputs {
        let frame = frames.get(input.set).cloned();
        let mut frame = frame.ok_or(EvaluateError::Columns)?;
        for formula in &input.formulas {
            for (name, row) in evaluate(formula, frames)?.rows() {
                frame.push(name.clone(), row)?;
            }
        }
        inputs.push(frame);
    }
    match (&node.formula, &inputs[..]) {
        (Some(formula), inputs) => Ok(formula.evaluate(inputs)?),
        (None, [frame, ..]) => Ok(frame.clone()),
        (None, []) => Err(EvaluateError::Columns.into()),
    }
}
