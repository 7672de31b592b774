//! Statistics that decide whether two samples of a benchmark differ.

#[cfg(feature = "rayon")]
mod batch;
mod compare;
mod error;
mod kolmogorov_smirnov;
mod mann_whitney;
mod normal;
mod pooled;
mod scratch;
mod select;
mod sequential;
mod shift;
mod sorted;
mod thresholds;
mod thresholds_table;
mod types;
mod wilcoxon;

#[cfg(feature = "rayon")]
pub use batch::compare_many;
pub use compare::{
    FunctionalComparison, PairwiseComparison, PerformanceComparison, Transform, compare_functional,
    compare_pairwise, compare_pairwise_with, compare_performance, compare_performance_with,
};
pub use error::CompareError;
pub use kolmogorov_smirnov::{KolmogorovSmirnov, ks_2samp, ks_2samp_with};
pub use mann_whitney::{MannWhitney, MannWhitneyOptions, mann_whitney_u, mann_whitney_u_with};
pub use scratch::Scratch;
pub use sequential::SequentialComparison;
pub use shift::{Shift, hodges_lehmann, hodges_lehmann_with, median};
pub use thresholds::{
    FALSE_NEGATIVE_RATE, LOW_THRESHOLD, high_threshold_functional, high_threshold_performance,
    high_threshold_standard_error,
};
pub use types::{Alternative, Direction, Interval, Method, Verdict};
pub use wilcoxon::{Wilcoxon, wilcoxon, wilcoxon_with};
