//! Many comparisons at once, on all cores.

use rayon::prelude::*;

use crate::compare::{PerformanceComparison, compare_performance_with};
use crate::error::CompareError;
use crate::scratch::Scratch;
use crate::types::Direction;

/// [`compare_performance`](crate::compare_performance) of many pairs of samples, spread over
/// rayon's threads.
///
/// The results are in the order of the pairs and the same, bit for bit, as one by one; a rejected
/// pair does not stop the others. Each thread reuses its memory from pair to pair.
///
/// ```
/// use pinpoint_compare::{Direction, Verdict, compare_many};
///
/// let base: Vec<f64> = (0..50).map(f64::from).collect();
/// let moved: Vec<f64> = base.iter().map(|v| v + 100.0).collect();
/// let pairs: Vec<(&[f64], &[f64])> = vec![(&base, &moved), (&base, &base)];
/// let results = compare_many(&pairs, None, Direction::Unknown);
/// assert_eq!(results[0].as_ref().unwrap().verdict, Verdict::Different);
/// assert_ne!(results[1].as_ref().unwrap().verdict, Verdict::Different);
/// ```
pub fn compare_many<A, B>(
    pairs: &[(A, B)],
    magnitude: Option<f64>,
    direction: Direction,
) -> Vec<Result<PerformanceComparison, CompareError>>
where
    A: AsRef<[f64]> + Sync,
    B: AsRef<[f64]> + Sync,
{
    pairs
        .par_iter()
        .map_init(Scratch::new, |scratch, (control, treatment)| {
            compare_performance_with(
                control.as_ref(),
                treatment.as_ref(),
                magnitude,
                direction,
                scratch,
            )
        })
        .collect()
}
