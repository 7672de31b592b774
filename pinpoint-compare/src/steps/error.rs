//! Errors of the detectors.

use crate::error::CompareError;

/// An input that a detector rejects. Each variant names the argument and the index to blame.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// Fewer values than the window or the split needs.
    #[error("`{argument}` has {found} values: at least {needed} are needed")]
    TooShort {
        /// The argument's name.
        argument: &'static str,
        /// The number of values given.
        found: usize,
        /// The least number that can be judged.
        needed: usize,
    },
    /// A series without one value that is present.
    #[error("`{argument}` has no values: all {length} are missing")]
    AllMissing {
        /// The argument's name.
        argument: &'static str,
        /// Its length.
        length: usize,
    },
    /// A NaN or an infinity. A missing value is `None`, never NaN.
    #[error("`{argument}[{index}]` is {value}: values must be finite numbers")]
    NotFinite {
        /// The argument's name.
        argument: &'static str,
        /// The index in it.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// A name that no statistic has.
    #[error("`{name}` is not a statistic; the statistics are {}", super::Statistic::NAMES.join(", "))]
    UnknownStatistic {
        /// The name given.
        name: String,
    },
    /// A threshold that is negative, NaN, infinite, or above 1 for a p-value.
    #[error("the threshold {threshold} of `{statistic}` must lie between 0 and {most}")]
    BadThreshold {
        /// The statistic's name.
        statistic: &'static str,
        /// The threshold given.
        threshold: f64,
        /// The largest that it may be.
        most: f64,
    },
    /// A floor of deviations that is not a positive finite number.
    #[error("`floor` is {value}: it must be a positive finite number")]
    BadFloor {
        /// The value given.
        value: f64,
    },
    /// A window without neighbors on each side.
    #[error("`radius` is {radius}: it must be between 1 and {most}")]
    BadRadius {
        /// The radius given.
        radius: usize,
        /// The largest that it may be.
        most: usize,
    },
    /// A node of a rule tree with both kinds of rule, or with neither.
    #[error("the rule at `{path}` has {}: exactly one of them is needed", if *.both { "both `simple_rule` and `complex_rule`" } else { "neither `simple_rule` nor `complex_rule`" })]
    AmbiguousRule {
        /// Where the node is in the tree, such as `complex_rule.rules[1]`; empty for the root.
        path: String,
        /// True if it has both.
        both: bool,
    },
    /// A `complex_rule` that combines nothing.
    #[error("the rule at `{path}` has no `rules`: at least one is needed")]
    EmptyRule {
        /// Where the node is in the tree.
        path: String,
    },
    /// Rules that are nested too deeply.
    #[error("rules are nested more than {most} deep")]
    RuleTooDeep {
        /// The depth that is allowed.
        most: usize,
    },
    /// A number of clusters outside of its range.
    #[error("`k` is {k}: it must be between 1 and {most}")]
    BadClusterCount {
        /// The number given.
        k: usize,
        /// The largest that it may be.
        most: usize,
    },
    /// Series of different lengths, which have no common distance.
    #[error("`{argument}[{index}]` has {found} values, and the first series {expected}")]
    LengthsDiffer {
        /// The argument's name.
        argument: &'static str,
        /// The index of the series.
        index: usize,
        /// Its length.
        found: usize,
        /// The length of the first.
        expected: usize,
    },
    /// A rate, level or share that is not in its range.
    #[error("`{argument}` is {value}: it must lie between {least} and {most}")]
    OutOfRange {
        /// The argument's name.
        argument: &'static str,
        /// The value given.
        value: f64,
        /// The least that it may be.
        least: f64,
        /// The most that it may be.
        most: f64,
    },
    /// A packed state that this version did not write, or that is damaged.
    #[error("the packed state is not usable: {reason}")]
    BadState {
        /// The part that is wrong.
        reason: &'static str,
    },
    /// A test of the crate that fails.
    #[error(transparent)]
    Compare(#[from] CompareError),
}

/// Rejects NaN and infinities, naming the first.
pub(super) fn check_finite(argument: &'static str, values: &[f64]) -> Result<(), StepError> {
    if values.iter().fold(true, |ok, v| ok & v.is_finite()) {
        return Ok(());
    }
    match values.iter().enumerate().find(|(_, v)| !v.is_finite()) {
        Some((index, &value)) => Err(StepError::NotFinite {
            argument,
            index,
            value,
        }),
        None => Ok(()),
    }
}

pub(super) fn check_floor(value: f64) -> Result<(), StepError> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(StepError::BadFloor { value })
    }
}
