//! Reusable memory for hot loops.

/// Working memory for the tests and decisions.
///
/// Every function has a twin whose name ends in `_with` and that takes a
/// `Scratch`; once the scratch has grown to the largest sample seen, the twins
/// allocate nothing.
///
/// ```
/// use pinpoint_compare::{Direction, Scratch, Verdict, compare_performance_with};
///
/// let mut scratch = Scratch::new();
/// let control = [10.0, 11.0, 12.0, 13.0, 14.0];
/// for shift in [0.0, 50.0] {
///     let treatment = control.map(|v| v + shift);
///     let result = compare_performance_with(&control, &treatment, None, Direction::Unknown, &mut scratch)?;
///     assert_eq!(result.verdict == Verdict::Different, shift > 0.0);
/// }
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    /// Sorted keys of the first and the second sample.
    pub(crate) first: Vec<u64>,
    pub(crate) second: Vec<u64>,
    /// Sorted values, for selecting among sums.
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    /// Sums and probabilities.
    pub(crate) sums: Vec<f64>,
    /// Exact counts.
    pub(crate) counts: Vec<u128>,
}

impl Scratch {
    /// Creates empty scratch memory, which grows at first use.
    pub fn new() -> Self {
        Self::default()
    }
}
