//! What one function gains and one beside it in a stack loses.
//!
//! A function that calls nothing often has no frame of its own, and then a stack that is
//! followed by frame pointers leaves out the function that calls it: the two seem to be
//! called by the same one. So that counts, too, where one of them is on one side only, as a
//! function is that was inlined everywhere.
//!
//! What is left of the two is a change, though, if it is certain and a good part of the whole
//! difference: then the function was inlined, and is slower.
//!
//! A function that is probably renamed is gone under its old name alone, and what it cost is
//! found under the other.

use pinpoint_compare::CompareError;

use super::renamed::{Guess, Neighbours};
use super::{FunctionChange, Verdict};

/// The part of a loss that may be left when it is only moved.
const LEAST_LEFT: f64 = 0.2;

/// Marks certain changes that cancel out between a caller and its callee. Each function is
/// in one such pair at most: the greatest losses look first, and take what fits best.
/// `differ_together` says of two functions whether what is left of them is a change.
pub(super) fn find(
    changes: &mut [FunctionChange],
    renamed: &[Guess],
    neighbours: &Neighbours,
    differ_together: impl Fn([usize; 2]) -> Result<bool, CompareError>,
) -> Result<(), CompareError> {
    let difference = |changes: &[FunctionChange], at: usize| changes[at].own.difference;
    let is_renamed = |function: usize| {
        let mut guesses = renamed.iter();
        guesses.any(|guess| guess.base == function || guess.experiment == function)
    };
    let of = |changes: &[FunctionChange], lost: bool| -> Vec<usize> {
        (0..changes.len())
            .filter(|at| changes[*at].is_certain() && (difference(changes, *at) < 0.0) == lost)
            .filter(|at| !is_renamed(changes[*at].index))
            .collect()
    };
    let mut losses = of(changes, true);
    let gains = of(changes, false);
    losses.sort_by(|a, b| difference(changes, *a).total_cmp(&difference(changes, *b)));
    for loss in losses {
        let left = |gain: usize| (difference(changes, gain) + difference(changes, loss)).abs();
        let fits = |gain: &usize| {
            let (a, b) = (changes[*gain].index, changes[loss].index);
            let is_one_sided =
                |at: usize| matches!(changes[at].verdict, Verdict::New | Verdict::Gone);
            // If both are, one is perhaps the other's name.
            let may_hide_caller = is_one_sided(*gain) != is_one_sided(loss);
            let have_one_caller =
                || neighbours.caller(a).is_some() && neighbours.caller(a) == neighbours.caller(b);
            changes[*gain].is_certain()
                && (neighbours.calls(a, b)
                    || neighbours.calls(b, a)
                    || (may_hide_caller && have_one_caller()))
                && left(*gain) <= LEAST_LEFT * difference(changes, loss).abs()
        };
        let best = gains
            .iter()
            .copied()
            .filter(fits)
            .min_by(|a, b| left(*a).total_cmp(&left(*b)));
        if let Some(gain) = best
            && !differ_together([changes[gain].index, changes[loss].index])?
        {
            changes[gain].verdict = Verdict::Moved { with: loss };
            changes[loss].verdict = Verdict::Moved { with: gain };
        }
    }
    Ok(())
}
