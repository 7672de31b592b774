//! The evaluation of formulas.

use std::borrow::Cow;

use super::error::EvaluateError;
use super::functions::TraceFunction;
use super::{Formula, Node, fold, trace};
use crate::frame::{Columns, Frame};
use crate::name::TraceName;

pub(super) fn evaluate(formula: &Formula, frames: &[Frame]) -> Result<Frame, EvaluateError> {
    if frames.len() != formula.selections.len() {
        return Err(EvaluateError::Frames {
            found: frames.len(),
            wanted: formula.selections.len(),
        });
    }
    let columns = frames.first().map(Frame::columns);
    let columns = columns.ok_or(EvaluateError::Columns)?;
    if frames
        .iter()
        .any(|it| !it.columns().iter().eq(columns.iter()))
    {
        return Err(EvaluateError::Columns);
    }
    let evaluation = Evaluation {
        formula,
        frames,
        columns,
    };
    let rows = evaluation.rows(&formula.root)?;
    Frame::from_parts(
        columns.clone(),
        rows.names.into_owned(),
        rows.values.into_owned(),
    )
    // Each row has the width of the columns, and functions give what is finite.
    .map_err(|_| EvaluateError::Columns)
}

struct Evaluation<'a> {
    formula: &'a Formula,
    frames: &'a [Frame],
    columns: &'a Columns,
}

struct Rows<'a> {
    names: Cow<'a, [TraceName]>,
    values: Cow<'a, [f64]>,
}

impl<'a> Evaluation<'a> {
    fn rows(&self, node: &Node) -> Result<Rows<'a>, EvaluateError> {
        match node {
            Node::Select(index) => {
                let frame = self.frames.get(*index).ok_or(EvaluateError::Columns)?;
                Ok(Rows {
                    names: frame.names().into(),
                    values: frame.values().into(),
                })
            }
            Node::Trace(..) => {
                let (functions, of) = functions_around(node);
                let rows = self.rows(of)?;
                let names = rows.names.iter().map(|it| named(&functions, it)).collect();
                let mut values = rows.values.into_owned();
                for_each_row(&mut values, self.columns.len(), |row| {
                    functions.iter().for_each(|it| trace::apply(*it, row));
                });
                Ok(Rows {
                    names: Cow::Owned(names),
                    values: values.into(),
                })
            }
            Node::Fold(function, of) => {
                // The names of folded rows are not needed, nor are their values all at once.
                let (functions, of) = functions_around(of);
                let rows = self.rows(of)?;
                let prepare = |row: &mut [f64]| {
                    functions.iter().for_each(|it| trace::apply(*it, row));
                };
                let folded = fold(*function, &rows.values, self.columns.len(), &prepare);
                Ok(self.one_row(node, folded))
            }
            Node::Ratio(over, under) => {
                let over = self.one_trace(over)?;
                let under = self.one_trace(under)?;
                let ratio = |(a, b): (&f64, &f64)| {
                    let ratio = a / b;
                    if ratio.is_finite() { ratio } else { f64::NAN }
                };
                let ratios = over.iter().zip(under.iter()).map(ratio).collect();
                Ok(self.one_row(node, ratios))
            }
        }
    }

    fn one_row(&self, node: &Node, values: Vec<f64>) -> Rows<'a> {
        let name = TraceName::Formula(self.formula.text_of(node));
        Rows {
            names: vec![name].into(),
            values: values.into(),
        }
    }

    fn one_trace(&self, node: &Node) -> Result<Cow<'a, [f64]>, EvaluateError> {
        let rows = self.rows(node)?;
        if rows.names.len() == 1 {
            return Ok(rows.values);
        }
        Err(EvaluateError::Ratio {
            side: self.formula.text_of(node),
            traces: rows.names.len(),
        })
    }
}

/// The functions of single traces around a node, the innermost first.
fn functions_around(mut node: &Node) -> (Vec<TraceFunction>, &Node) {
    let mut functions = Vec::new();
    while let Node::Trace(function, of) = node {
        functions.push(*function);
        node = of;
    }
    functions.reverse();
    (functions, node)
}

/// The name of a row that these functions made, the first first.
fn named(functions: &[TraceFunction], of: &TraceName) -> TraceName {
    let mut text = of.expression().to_owned();
    for function in functions {
        text = function.call(&text);
    }
    match of {
        TraceName::Formula(_) => TraceName::Formula(text),
        TraceName::Stored(_) | TraceName::Calculated(_) => TraceName::Calculated(text),
    }
}

#[cfg(feature = "rayon")]
fn for_each_row(values: &mut [f64], width: usize, change: impl Fn(&mut [f64]) + Sync) {
    use rayon::prelude::*;
    if width > 0 {
        values
            .par_chunks_mut(width)
            .with_min_len(64)
            .for_each(&change);
    }
}

#[cfg(not(feature = "rayon"))]
fn for_each_row(values: &mut [f64], width: usize, change: impl Fn(&mut [f64])) {
    if width > 0 {
        values.chunks_mut(width).for_each(change);
    }
}
