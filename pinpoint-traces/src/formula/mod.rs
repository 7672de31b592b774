//! Formulas: calculations with traces.
//!
//! A formula is calls of functions, nested: `ave(norm(fill(filter("config=8888"))))`. Arguments are
//! calls, texts in quotation marks, and numbers. There are no operators.
//!
//! | function | gives |
//! | --- | --- |
//! | `filter("query")` | the traces that match a [`Query`] |
//! | `shortcut("X…")` | the traces of a [`Shortcut`](crate::Shortcut) |
//! | `norm(x)`, `norm(x, least)` | each trace minus its mean, and over its deviation if that is greater than `least` (0.001) |
//! | `fill(x)` | each trace with missing values replaced by the next later one; at the end by the last; by 0 if there is no value |
//! | `log(x)` | logarithms to base 10; missing at 0 and below |
//! | `iqrr(x)` | each trace without what lies outside Q1 − 1.5·IQR and Q3 + 1.5·IQR |
//! | `scale_by_ave(x)` | each trace over its mean |
//! | `trace_ave(x)`, `trace_stddev(x)`, `trace_cov(x)` | mean, deviation, deviation over mean of each trace, at each commit |
//! | `step(x)` | the mean of the first half of each trace over that of the rest, at each commit |
//! | `ave(x)`, `sum(x)`, `min(x)`, `max(x)` | of all traces, commit by commit; missing where each of them is |
//! | `count(x)` | the number of values present, 0 without any |
//! | `geo(x)` | the geometric mean, without negative values; 0 if a value is 0 |
//! | `ratio(a, b)` | one trace over one other |
//!
//! Deviations are those of a population. Quartiles are of Hyndman and Fan's type 8 ("Sample
//! Quantiles in Statistical Packages", The American Statistician 50 (1996)). Halves of a trace are
//! counted in commits, present or missing; the first has ⌊n/2⌋. A result that is not finite, such
//! as one over 0, is missing. `avg` is read as `ave` in each name.
//!
//! A function of single traces names its rows `fn(id)`; one that folds names its row by the whole
//! of its formula. So the name of a row is a formula itself, and makes the row again.

mod error;
mod evaluate;
mod fold;
pub(crate) mod functions;
mod parse;
#[cfg(test)]
mod tests;
mod token;
mod trace;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use error::{EvaluateError, FormulaError, FormulaFault};
pub(crate) use fold::fold;
use functions::{FoldFunction, TraceFunction};

use crate::frame::Frame;
use crate::id::TraceId;
use crate::name::TraceName;
use crate::query::Query;
use crate::shortcut::ShortcutId;

/// A calculation with traces: see the table above.
///
/// It is printed with one space after each comma, and texts as they were given.
///
/// ```
/// use pinpoint_traces::{Columns, CommitNumber, Formula, Frame};
///
/// let formula: Formula = r#"ave(fill(filter("arch=x86")))"#.parse()?;
/// let mut traces = Frame::new(Columns::range(CommitNumber(0)..=CommitNumber(1)));
/// traces.push(",arch=x86,test=a,".parse()?, &[1.0, f64::NAN])?;
/// traces.push(",arch=x86,test=b,".parse()?, &[3.0, 5.0])?;
///
/// assert_eq!(formula.selections().len(), 1);
/// let result = formula.evaluate(&[traces])?;
/// assert_eq!(result.names()[0].to_string(), r#"@ave(fill(filter("arch=x86")))"#);
/// assert_eq!(result.values(), [2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Formula {
    root: Node,
    selections: Vec<Selection>,
}

/// A set of traces that a formula begins with.
#[derive(Debug, Clone)]
pub enum Selection {
    /// The traces that match a query.
    Filter {
        /// The query.
        query: Query,
        /// The text in which it was given.
        text: String,
    },
    /// The traces and formulas of a shortcut.
    Shortcut(ShortcutId),
    /// One trace, in the name of a calculated one.
    Trace(TraceId),
}

/// Filters are the same if their texts are: rows are named by them.
impl PartialEq for Selection {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Filter { text: a, .. }, Self::Filter { text: b, .. }) => a == b,
            (Self::Shortcut(a), Self::Shortcut(b)) => a == b,
            (Self::Trace(a), Self::Trace(b)) => a == b,
            _ => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    /// The selection of this index.
    Select(usize),
    Trace(TraceFunction, Box<Node>),
    Fold(FoldFunction, Box<Node>),
    Ratio(Box<Node>, Box<Node>),
}

impl Formula {
    /// The formula that makes a calculated trace, or a formula's row, again. `None` for a stored
    /// trace.
    ///
    /// # Errors
    ///
    /// As of parsing.
    pub fn of_name(name: &TraceName) -> Option<Result<Self, FormulaError>> {
        match name {
            TraceName::Stored(_) => None,
            TraceName::Calculated(text) | TraceName::Formula(text) => Some(text.parse()),
        }
    }

    /// The sets of traces that it begins with, each once.
    pub fn selections(&self) -> &[Selection] {
        &self.selections
    }

    /// Computes the formula. `frames` are the traces of [`Formula::selections`], in that order, all
    /// with the same columns.
    ///
    /// The result does not depend on the number of threads. Takes time and memory in proportion to
    /// the values; `iqrr` sorts each trace.
    ///
    /// # Errors
    ///
    /// [`EvaluateError`] for frames that don't fit, and for a ratio of other than one trace on each
    /// side.
    pub fn evaluate(&self, frames: &[Frame]) -> Result<Frame, EvaluateError> {
        evaluate::evaluate(self, frames)
    }

    fn text_of(&self, node: &Node) -> String {
        match node {
            Node::Select(index) => match self.selections.get(*index) {
                Some(Selection::Filter { text, .. }) => format!("filter(\"{text}\")"),
                Some(Selection::Shortcut(id)) => format!("shortcut(\"{id}\")"),
                Some(Selection::Trace(id)) => id.to_string(),
                None => String::new(),
            },
            Node::Trace(function, of) => function.call(&self.text_of(of)),
            Node::Fold(function, of) => format!("{}({})", function.name(), self.text_of(of)),
            Node::Ratio(over, under) => {
                format!("ratio({}, {})", self.text_of(over), self.text_of(under))
            }
        }
    }
}

impl FromStr for Formula {
    type Err = FormulaError;

    fn from_str(text: &str) -> Result<Self, FormulaError> {
        let (root, selections) = parse::parse(text)?;
        Ok(Self { root, selections })
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text_of(&self.root))
    }
}

impl TryFrom<String> for Formula {
    type Error = FormulaError;

    fn try_from(text: String) -> Result<Self, FormulaError> {
        text.parse()
    }
}

impl From<Formula> for String {
    fn from(formula: Formula) -> Self {
        formula.to_string()
    }
}
