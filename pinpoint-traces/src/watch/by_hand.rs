//! Regressions that people make.

use pinpoint_compare::steps::Shape;

use super::change::Change;
use super::detect::Series;
use super::range::CommitRange;
use super::standing::median;
use crate::commit::CommitNumber;
use crate::frame::Columns;
use crate::id::TraceId;

/// The values on each side that make the levels.
const VALUES: usize = 20;

/// The change of a trace in a range where no detector found one: its levels are the medians of up to
/// 20 values up to the commit before the range, and from its last commit on.
///
/// # Errors
///
/// [`ByHandError`] without a value on a side.
pub fn change_by_hand(
    trace: &TraceId,
    range: CommitRange,
    columns: &Columns,
    row: &[f64],
) -> Result<Change, ByHandError> {
    let series = Series::of(trace, columns, row);
    let end = series.commits.partition_point(|it| *it <= range.previous());
    let start = series.commits.partition_point(|it| *it < range.commit());
    let level = |values: Option<&[f64]>, side, commit| {
        let error = || ByHandError {
            trace: trace.clone(),
            side,
            commit,
        };
        values.and_then(median).ok_or_else(error)
    };
    let before = series.values.get(end.saturating_sub(VALUES)..end);
    let after = series
        .values
        .get(start..series.values.len().min(start + VALUES));
    let before = level(before, "up to", range.previous())?;
    let after = level(after, "from", range.commit())?;
    Ok(Change {
        trace: trace.clone(),
        range,
        interval: range,
        places: Vec::new(),
        shape: Shape::Step,
        rose: after > before,
        before,
        after,
        p: None,
        shown_at: range.commit(),
        algo: None,
        is_firm: false,
        machine: None,
    })
}

/// A side of a range has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the trace `{trace}` has no value {side} commit {commit}")]
pub struct ByHandError {
    /// The trace.
    pub trace: TraceId,
    /// The side: "up to" or "from".
    pub side: &'static str,
    /// The commit at which the side ends.
    pub commit: CommitNumber,
}

#[cfg(test)]
mod tests {
    use super::super::range::range;
    use super::*;

    #[test]
    fn levels_are_those_beside_the_range() {
        let trace: TraceId = ",a=b,".parse().unwrap();
        let columns = Columns::range(CommitNumber(0)..=CommitNumber(5));
        let row = [1.0, 2.0, 9.0, 9.0, 5.0, 7.0];
        let made =
            |previous, commit| change_by_hand(&trace, range(previous, commit), &columns, &row);
        let change = made(1, 4).unwrap();
        assert_eq!((change.before, change.after, change.rose), (1.5, 6.0, true));
        assert_eq!(change.algo, None);
        let error = made(3, 9).unwrap_err().to_string();
        assert_eq!(error, "the trace `,a=b,` has no value from commit 9");
        let gaps = [f64::NAN, 2.0, 9.0, 9.0, 5.0, 7.0];
        assert!(change_by_hand(&trace, range(0, 4), &columns, &gaps).is_err());
    }
}
