//! Pivots: traces folded by groups of parameters.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::formula::fold;
use crate::formula::functions::FoldFunction;
use crate::frame::{Columns, Frame};
use crate::id::{IdError, Params, TraceId};

/// Folds traces that have the same values of some keys.
///
/// As JSON: `{"group_by": ["arch"], "operation": "sum", "summary": ["avg"]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pivot {
    /// The keys of a group. Traces without one of them are left out.
    pub group_by: Vec<String>,
    /// The operation that folds the traces of a group, commit by commit.
    pub operation: PivotOperation,
    /// Operations that make one value of each group's row; may be empty.
    #[serde(default)]
    pub summary: Vec<PivotOperation>,
}

/// An operation on all values of some traces at a commit, or of a row. Missing values do not
/// count. Without any value the result is missing, and a count is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PivotOperation {
    /// The sum.
    Sum,
    /// The mean.
    Avg,
    /// The geometric mean, without negative values.
    Geo,
    /// The deviation of the population.
    Std,
    /// The number of values.
    Count,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

impl PivotOperation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Sum,
        Self::Avg,
        Self::Geo,
        Self::Std,
        Self::Count,
        Self::Min,
        Self::Max,
    ];

    fn function(self) -> FoldFunction {
        match self {
            Self::Sum => FoldFunction::Sum,
            Self::Avg => FoldFunction::Ave,
            Self::Geo => FoldFunction::Geo,
            Self::Std => FoldFunction::Std,
            Self::Count => FoldFunction::Count,
            Self::Min => FoldFunction::Min,
            Self::Max => FoldFunction::Max,
        }
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Geo => "geo",
            Self::Std => "std",
            Self::Count => "count",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

impl FromStr for PivotOperation {
    type Err = PivotError;

    /// Reads a name; `ave`, as formulas have it, is `avg`.
    fn from_str(text: &str) -> Result<Self, PivotError> {
        let name = if text == "ave" { "avg" } else { text };
        (Self::ALL.into_iter().find(|it| it.as_str() == name))
            .ok_or_else(|| PivotError::Operation(text.to_owned()))
    }
}

impl fmt::Display for PivotOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl TryFrom<String> for PivotOperation {
    type Error = PivotError;

    fn try_from(text: String) -> Result<Self, PivotError> {
        text.parse()
    }
}

impl From<PivotOperation> for String {
    fn from(operation: PivotOperation) -> Self {
        operation.as_str().to_owned()
    }
}

/// Groups of traces, each folded into one row.
#[derive(Debug, Clone)]
pub struct PivotTable {
    /// The commits of the rows.
    pub columns: Columns,
    /// The groups, by id.
    pub rows: Vec<PivotRow>,
    /// The number of traces that lack a key of the groups, or are not stored ones.
    pub left_out: usize,
}

/// One group of traces.
#[derive(Debug, Clone, PartialEq)]
pub struct PivotRow {
    /// The keys of the group and their values, written as an id: `,arch=x86,`.
    pub group: TraceId,
    /// The number of traces.
    pub traces: usize,
    /// A value for each commit; NaN is missing.
    pub values: Vec<f64>,
    /// A value for each operation of the summary; NaN is missing.
    pub summary: Vec<f64>,
}

impl Pivot {
    /// Folds the rows of a frame. Formulas and calculated traces have no parameters, and are left
    /// out.
    ///
    /// # Errors
    ///
    /// [`PivotError::NoKey`] without a key to group by.
    pub fn apply(&self, frame: &Frame) -> Result<PivotTable, PivotError> {
        if self.group_by.is_empty() {
            return Err(PivotError::NoKey);
        }
        let mut groups: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
        let mut left_out = 0;
        for (index, name) in frame.names().iter().enumerate() {
            let values = name.stored().and_then(|id| {
                let values = self.group_by.iter().map(|key| id.get(key));
                values.collect::<Option<Vec<&str>>>()
            });
            match values {
                Some(values) => groups.entry(values).or_default().push(index),
                None => left_out += 1,
            }
        }
        let width = frame.columns().len();
        let mut rows = Vec::with_capacity(groups.len());
        for (values, members) in groups {
            let group: BTreeMap<&str, &str> = self
                .group_by
                .iter()
                .map(String::as_str)
                .zip(values)
                .collect();
            let gathered: Vec<&[f64]> = members.iter().filter_map(|it| frame.row(*it)).collect();
            let folded = fold(
                self.operation.function(),
                &gathered.concat(),
                width,
                &|_| {},
            );
            let summarized = |operation: &PivotOperation| {
                // Each value is a row of its own.
                let one = fold(operation.function(), &folded, 1, &|_| {});
                one.first().copied().unwrap_or(f64::NAN)
            };
            rows.push(PivotRow {
                group: TraceId::new(&Params::new(group)?)?,
                traces: members.len(),
                summary: self.summary.iter().map(summarized).collect(),
                values: folded,
            });
        }
        rows.sort_by(|a, b| a.group.cmp(&b.group));
        Ok(PivotTable {
            columns: frame.columns().clone(),
            rows,
            left_out,
        })
    }
}

/// A pivot that can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PivotError {
    /// There is no key to group by.
    #[error("a pivot needs at least one key to group by")]
    NoKey,
    /// The text is not an operation.
    #[error("there is no operation `{0}`; use sum, avg, geo, std, count, min or max")]
    Operation(String),
    /// A group has no id.
    #[error(transparent)]
    Id(#[from] IdError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::CommitNumber;

    fn frame() -> Frame {
        let mut frame = Frame::new(Columns::range(CommitNumber(5)..=CommitNumber(7)));
        for (id, values) in [
            (",arch=arm,test=a,", [1.0, 0.0, 0.0]),
            (",arch=intel,test=a,", [1.0, 2.0, 3.0]),
            (",arch=arm,test=b,", [0.0, 2.0, 0.0]),
            (",arch=intel,test=b,", [1.0, 2.0, 3.0]),
            (",arch=arm,test=c,", [0.0, 0.0, 3.0]),
            (",arch=intel,test=c,", [1.0, 2.0, 3.0]),
            (",test=c,", [9.0, 9.0, 9.0]),
            ("!norm(,arch=arm,)", [9.0, 9.0, 9.0]),
        ] {
            frame.push(id.parse().unwrap(), &values).unwrap();
        }
        frame
    }

    fn pivot(operation: &str, summary: &[PivotOperation]) -> PivotTable {
        let pivot = Pivot {
            group_by: vec!["arch".into()],
            operation: operation.parse().unwrap(),
            summary: summary.to_vec(),
        };
        pivot.apply(&frame()).unwrap()
    }

    #[test]
    fn groups_are_folded_commit_by_commit_and_summarized() {
        let table = pivot("sum", &[PivotOperation::Avg]);
        let rows: Vec<_> = (table.rows.iter())
            .map(|it| {
                (
                    it.group.as_str(),
                    it.traces,
                    &it.values[..],
                    &it.summary[..],
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                (",arch=arm,", 3, &[1.0, 2.0, 3.0][..], &[2.0][..]),
                (",arch=intel,", 3, &[3.0, 6.0, 9.0], &[6.0]),
            ]
        );
        assert_eq!(table.left_out, 2);
    }

    #[test]
    fn each_operation_folds_values() {
        for (operation, expected) in [
            ("avg", [1.0 / 3.0, 2.0 / 3.0, 1.0]),
            ("ave", [1.0 / 3.0, 2.0 / 3.0, 1.0]),
            ("geo", [0.0; 3]),
            (
                "std",
                [
                    libm::sqrt(2.0) / 3.0,
                    libm::sqrt(8.0) / 3.0,
                    libm::sqrt(2.0),
                ],
            ),
            ("count", [3.0; 3]),
            ("min", [0.0; 3]),
            ("max", [1.0, 2.0, 3.0]),
        ] {
            let table = pivot(operation, &PivotOperation::ALL);
            for (found, expected) in table.rows[0].values.iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{operation}: {:?}",
                    table.rows[0]
                );
            }
        }
        let summary = &pivot("max", &PivotOperation::ALL).rows[0].summary;
        let expected = [
            6.0,
            2.0,
            libm::cbrt(6.0),
            libm::sqrt(2.0 / 3.0),
            3.0,
            1.0,
            3.0,
        ];
        for (found, expected) in summary.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{summary:?}");
        }
    }

    #[test]
    fn a_pivot_is_read_from_json_and_refused_without_keys() {
        let text = r#"{"group_by":["arch","os"],"operation":"sum","summary":["avg"]}"#;
        let pivot: Pivot = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&pivot).unwrap(), text);
        // No trace has both.
        assert!(pivot.apply(&frame()).unwrap().rows.is_empty());
        let none = Pivot {
            group_by: vec![],
            ..pivot
        };
        assert_eq!(none.apply(&frame()).unwrap_err(), PivotError::NoKey);
        assert!("mean".parse::<PivotOperation>().is_err());
    }
}
