//! Statistics that decide whether two samples of a benchmark differ.
//!
//! ```
//! use pinpoint_compare::{Direction, Verdict, compare_performance};
//!
//! let before = [10.1, 10.3, 9.9, 10.0, 10.2, 10.1, 9.8, 10.2, 10.0, 10.1];
//! let after = [11.0, 11.2, 10.9, 11.1, 11.3, 10.8, 11.0, 11.1, 10.9, 11.2];
//! let result = compare_performance(&before, &after, None, Direction::Down)?;
//! assert_eq!(result.verdict, Verdict::Different);
//! assert!(result.p_value.is_some_and(|p| p < 0.001));
//! # Ok::<(), pinpoint_compare::CompareError>(())
//! ```
//!
//! # Choosing a function
//!
//! | question | function |
//! | --- | --- |
//! | do two samples of a measurement differ? | [`compare_performance`]; many pairs: `compare_many` (feature `rayon`) |
//! | do failures differ? | [`compare_functional`] |
//! | do paired measurements differ? | [`compare_pairwise`] |
//! | may I test after every run? | [`SequentialComparison`], [`SequentialPairs`]; not the others |
//! | which of many comparisons hold? | [`benjamini_hochberg`] |
//! | by how much do they differ? | [`hodges_lehmann`], [`wilcoxon`] |
//! | do machines differ that ran the same builds? | [`compare_machines`] |
//! | a single test | [`mann_whitney_u`], [`ks_2samp`], [`wilcoxon`] |
//! | is there a step in a series of values? | the module [`steps`] |
//! | pairs by Pinpoint's published rule | [`compare_pairwise_pinpoint`], [`wilcoxon_pinpoint`] |
//!
//! # Why two tests in one decision
//!
//! Mann-Whitney detects that one sample tends to larger values, Kolmogorov-Smirnov that the shapes
//! differ. [1, 1, 1, 9, 9, 9, …] against [5, 5, 5, 5, …] is even for the first and plain for the
//! second; a small shift of all values is the reverse. The smaller p decides, between two
//! thresholds: at most 0.05 is *different*; above the high threshold, which a difference of the
//! requested magnitude exceeds once in a hundred times, is *same*; in between it takes more
//! measurements: *unknown*.
//!
//! # Common to all functions
//!
//! - Inputs are slices of finite numbers, never modified. NaN and infinities are rejected with a
//!   [`CompareError`] that names the argument and the index; nothing panics. -0.0 equals 0.0. Units
//!   are the caller's; both samples share them.
//! - Results do not depend on the order of the values, and are the same, bit for bit, on every
//!   platform: special functions come from `libm`.
//! - p-values keep their relative precision in the far tail.
//! - A value that does not exist is absent (`None`), never 0 or NaN.
//! - Functions ending in `_with` take a [`Scratch`] and allocate nothing once it has grown.
//! - A p-value is meant for one look. Testing again and again as values come in inflates false
//!   positives; [`SequentialComparison`] does not.
//!
//! # Features
//!
//! `serde`: results and enums can be serialized. `rayon`: `compare_many`. Neither is on by default.

#![forbid(unsafe_code)]

mod adjust;
#[cfg(feature = "rayon")]
mod batch;
mod compare;
mod error;
mod kolmogorov_smirnov;
mod machines;
mod mann_whitney;
mod normal;
mod pairwise;
mod pooled;
mod pseudomedian;
mod rates;
mod scratch;
mod select;
mod sequential;
mod sequential_pairs;
mod shift;
mod sign_flips;
mod signed_ranks;
mod sorted;
pub mod steps;
mod thresholds;
mod thresholds_table;
mod tied;
mod types;
mod wilcoxon;
mod wilcoxon_pinpoint;

pub use adjust::{benjamini_hochberg, benjamini_hochberg_discrete};
#[cfg(feature = "rayon")]
pub use batch::compare_many;
pub use compare::{
    FunctionalComparison, PerformanceComparison, compare_functional, compare_performance,
    compare_performance_with,
};
pub use error::CompareError;
pub use kolmogorov_smirnov::{KolmogorovSmirnov, ks_2samp, ks_2samp_with};
pub use machines::{MachineNoise, MachineOffset, SameBuild, compare_machines};
pub use mann_whitney::{MannWhitney, MannWhitneyOptions, mann_whitney_u, mann_whitney_u_with};
pub use normal::upper_quantile as normal_upper_quantile;
pub use pairwise::{
    PairwiseComparison, Transform, compare_pairwise, compare_pairwise_pinpoint,
    compare_pairwise_pinpoint_with, compare_pairwise_with, least_p_value,
};
pub use pseudomedian::pseudomedian;
pub use rates::{RateDifference, difference_of_rates};
pub use scratch::Scratch;
pub use sequential::SequentialComparison;
pub use sequential_pairs::SequentialPairs;
pub use shift::{Shift, hodges_lehmann, hodges_lehmann_with, median};
pub use sign_flips::{SignFlips, sign_flips};
pub use thresholds::{
    FALSE_NEGATIVE_RATE, LOW_THRESHOLD, high_threshold_functional, high_threshold_performance,
    high_threshold_standard_error,
};
pub use types::{Alternative, Direction, Interval, Method, Verdict};
pub use wilcoxon::{Wilcoxon, wilcoxon, wilcoxon_with};
pub use wilcoxon_pinpoint::wilcoxon_pinpoint;
