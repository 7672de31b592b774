//! Frames: values of traces by commit, as a table.

use std::ops::RangeInclusive;

use crate::commit::CommitNumber;
use crate::name::TraceName;

/// The columns of a frame: commits, ascending, none twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns(Repr);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Repr {
    /// The first commit, and how many follow without a gap.
    Range(CommitNumber, usize),
    List(Vec<CommitNumber>),
}

impl Columns {
    /// All commits of a range.
    pub fn range(commits: RangeInclusive<CommitNumber>) -> Self {
        let length = if commits.is_empty() {
            0
        } else {
            (commits.end().0 - commits.start().0) as usize + 1
        };
        Self(Repr::Range(*commits.start(), length))
    }

    /// These commits.
    ///
    /// # Errors
    ///
    /// [`FrameError::Order`] if they do not ascend strictly.
    pub fn list(commits: Vec<CommitNumber>) -> Result<Self, FrameError> {
        match commits
            .iter()
            .zip(commits.iter().skip(1))
            .find(|(a, b)| a >= b)
        {
            Some((earlier, later)) => Err(FrameError::Order {
                earlier: *earlier,
                later: *later,
            }),
            None => Ok(Self(Repr::List(commits))),
        }
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Range(_, length) => *length,
            Repr::List(commits) => commits.len(),
        }
    }

    /// Returns true without a column.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The commit of a column.
    pub fn get(&self, column: usize) -> Option<CommitNumber> {
        match &self.0 {
            Repr::Range(first, length) => {
                // Within the range, so it fits.
                (column < *length).then(|| CommitNumber(first.0 + column as u32))
            }
            Repr::List(commits) => commits.get(column).copied(),
        }
    }

    /// The column of a commit. Takes logarithmic time.
    pub fn position(&self, commit: CommitNumber) -> Option<usize> {
        match &self.0 {
            Repr::Range(first, length) => {
                let column = commit.0.checked_sub(first.0)? as usize;
                (column < *length).then_some(column)
            }
            Repr::List(commits) => commits.binary_search(&commit).ok(),
        }
    }

    /// The commits, ascending.
    pub fn iter(&self) -> impl Iterator<Item = CommitNumber> {
        (0..self.len()).filter_map(|column| self.get(column))
    }
}

/// Values of traces by commit: a row for each trace, a column for each commit.
///
/// A missing value is NaN; all others are finite. Rows are in the order in which they were pushed,
/// and all of one allocation, row after row.
///
/// ```
/// use pinpoint_traces::{Columns, CommitNumber, Frame, TraceId};
///
/// let mut frame = Frame::new(Columns::range(CommitNumber(7)..=CommitNumber(9)));
/// let id: TraceId = ",arch=x86,".parse()?;
/// frame.push(id.into(), &[1.0, f64::NAN, 3.0])?;
/// assert_eq!(frame.row(0).map(|row| row[2]), Some(3.0));
/// assert!(frame.push(",arch=arm,".parse()?, &[1.0]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Frame {
    columns: Columns,
    names: Vec<TraceName>,
    values: Vec<f64>,
}

impl Frame {
    /// A frame without rows.
    pub fn new(columns: Columns) -> Self {
        Self {
            columns,
            names: Vec::new(),
            values: Vec::new(),
        }
    }

    /// A frame of values that lie row after row.
    ///
    /// # Errors
    ///
    /// [`FrameError::Length`] unless each row has a value for each column;
    /// [`FrameError::Infinite`].
    pub fn from_parts(
        columns: Columns,
        names: Vec<TraceName>,
        values: Vec<f64>,
    ) -> Result<Self, FrameError> {
        if names.len().checked_mul(columns.len()) != Some(values.len()) {
            return Err(FrameError::Length {
                found: values.len(),
                wanted: names.len().saturating_mul(columns.len()),
            });
        }
        check_finite(&values)?;
        Ok(Self {
            columns,
            names,
            values,
        })
    }

    /// Adds a row, with a value for each column.
    ///
    /// # Errors
    ///
    /// [`FrameError::Length`], [`FrameError::Infinite`]: then the frame is as it was.
    pub fn push(&mut self, name: TraceName, values: &[f64]) -> Result<(), FrameError> {
        if values.len() != self.columns.len() {
            return Err(FrameError::Length {
                found: values.len(),
                wanted: self.columns.len(),
            });
        }
        check_finite(values)?;
        self.names.push(name);
        self.values.extend_from_slice(values);
        Ok(())
    }

    /// The columns.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The names of the rows.
    pub fn names(&self) -> &[TraceName] {
        &self.names
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true without a row.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The values of a row.
    pub fn row(&self, index: usize) -> Option<&[f64]> {
        if index >= self.names.len() {
            return None;
        }
        let width = self.columns.len();
        self.values.get(index * width..(index + 1) * width)
    }

    /// Names and values of all rows.
    pub fn rows(&self) -> impl Iterator<Item = (&TraceName, &[f64])> {
        let rows = (0..self.names.len()).filter_map(|index| self.row(index));
        self.names.iter().zip(rows)
    }

    /// All values, row after row, which must stay finite or NaN.
    pub(crate) fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Keeps the rows that satisfy a condition on their index and values.
    pub(crate) fn retain(&mut self, keeps: impl Fn(usize, &[f64]) -> bool) {
        let is_kept: Vec<bool> = (0..self.len())
            .map(|index| self.row(index).is_some_and(|row| keeps(index, row)))
            .collect();
        let width = self.columns.len();
        let kept = |index: usize| is_kept.get(index) == Some(&true);
        let mut index = 0..;
        self.names.retain(|_| index.next().is_some_and(kept));
        let mut index = 0..;
        self.values
            .retain(|_| index.next().is_some_and(|at: usize| kept(at / width)));
    }

    /// The parts, to be changed and put together again: columns, names, and values row after row.
    pub fn into_parts(self) -> (Columns, Vec<TraceName>, Vec<f64>) {
        (self.columns, self.names, self.values)
    }
}

/// Equal columns, names and values; a missing value equals a missing one.
impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        self.columns.iter().eq(other.columns.iter())
            && self.names == other.names
            && self.values.len() == other.values.len()
            && self.values.iter().zip(&other.values).all(same)
    }
}

fn check_finite(values: &[f64]) -> Result<(), FrameError> {
    if values.iter().any(|it| it.is_infinite()) {
        Err(FrameError::Infinite)
    } else {
        Ok(())
    }
}

/// A frame that can't be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Commits of columns must ascend.
    #[error("commit {later} can't be a column after commit {earlier}")]
    Order {
        /// The column before.
        earlier: CommitNumber,
        /// The column that is not greater.
        later: CommitNumber,
    },
    /// Each row has one value for each column.
    #[error("{found} values were given where {wanted} belong")]
    Length {
        /// The number of values.
        found: usize,
        /// The number that belongs there.
        wanted: usize,
    },
    /// A value is infinite.
    #[error("a value of a trace can't be infinite")]
    Infinite,
}
