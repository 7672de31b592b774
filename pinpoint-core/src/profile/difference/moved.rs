//! What one function gains and one beside it in a stack loses.
//!
//! A function that calls nothing often has no frame of its own, and then a stack that is
//! followed by frame pointers leaves out the function that calls it: the two seem to be
//! called by the same one. So that counts, too, where one of them is on one side only, as a
//! function is that was inlined everywhere.

use super::renamed::Neighbours;
use super::{FunctionChange, Verdict};

/// The part of a loss that may be left when it is only moved.
const LEAST_LEFT: f64 = 0.2;

/// Marks certain changes that cancel out between a caller and its callee. Each function is
/// in one such pair at most: the greatest losses look first, and take what fits best.
pub(super) fn find(changes: &mut [FunctionChange], tested: &[usize], neighbours: &Neighbours) {
    let difference = |changes: &[FunctionChange], at: usize| changes[at].own.difference;
    let of = |changes: &[FunctionChange], lost: bool| -> Vec<usize> {
        (0..changes.len())
            .filter(|at| changes[*at].is_certain() && (difference(changes, *at) < 0.0) == lost)
            .collect()
    };
    let mut losses = of(changes, true);
    let gains = of(changes, false);
    losses.sort_by(|a, b| difference(changes, *a).total_cmp(&difference(changes, *b)));
    for loss in losses {
        let left = |gain: usize| (difference(changes, gain) + difference(changes, loss)).abs();
        let fits = |gain: &usize| {
            let (a, b) = (tested[*gain], tested[loss]);
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
        if let Some(gain) = best {
            changes[gain].verdict = Verdict::Moved { with: loss };
            changes[loss].verdict = Verdict::Moved { with: gain };
        }
    }
}
