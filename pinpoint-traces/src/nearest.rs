//! The value of a trace at a commit, or at the nearest one that has a value.

use crate::commit::CommitNumber;
use crate::frame::Columns;

/// The last value present of a row, and its commit.
pub fn latest_value(columns: &Columns, row: &[f64]) -> Option<(CommitNumber, f64)> {
    let column = row.iter().rposition(|it| !it.is_nan())?;
    Some((columns.get(column)?, *row.get(column)?))
}

/// The value of a row at a commit, or else at the nearest commit that has one: of two equally near,
/// the earlier.
///
/// ```
/// use pinpoint_traces::{Columns, CommitNumber, nearest_value};
///
/// let columns = Columns::range(CommitNumber(10)..=CommitNumber(14));
/// let row = [1.0, f64::NAN, f64::NAN, f64::NAN, 5.0];
/// assert_eq!(nearest_value(&columns, &row, CommitNumber(12)), Some((CommitNumber(10), 1.0)));
/// assert_eq!(nearest_value(&columns, &row, CommitNumber(13)), Some((CommitNumber(14), 5.0)));
/// ```
pub fn nearest_value(
    columns: &Columns,
    row: &[f64],
    commit: CommitNumber,
) -> Option<(CommitNumber, f64)> {
    let present = columns.iter().zip(row.iter().copied());
    // Of equal ones, the first is the minimum.
    (present.filter(|(_, value)| !value.is_nan())).min_by_key(|(it, _)| it.0.abs_diff(commit.0))
}
