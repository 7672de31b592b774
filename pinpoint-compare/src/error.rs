//! Errors for invalid inputs.

/// An input that a function of this crate rejects.
///
/// Every variant names the argument as the function's signature spells it and, where one value is
/// to blame, its index. No function changes its inputs, and none panics on them.
///
/// ```
/// use pinpoint_compare::{CompareError, Direction, compare_performance};
///
/// let error = compare_performance(&[1.0, 2.0], &[3.0, f64::NAN], None, Direction::Unknown).unwrap_err();
/// assert!(matches!(error, CompareError::NotFinite { argument: "treatment", index: 1, .. }));
/// assert_eq!(error.to_string(), "`treatment[1]` is NaN: values must be finite numbers");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A sample without values, where at least one is needed.
    #[error("`{argument}` is empty: at least one value is needed")]
    Empty {
        /// The argument's name.
        argument: &'static str,
    },
    /// A NaN or an infinity.
    #[error("`{argument}[{index}]` is {value}: values must be finite numbers")]
    NotFinite {
        /// The argument's name.
        argument: &'static str,
        /// The index in it.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// A negative value in a comparison of ratios.
    #[error("`{argument}[{index}]` is {value}: paired values must not be negative")]
    Negative {
        /// The argument's name.
        argument: &'static str,
        /// The index in it.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// An error value other than 0 (success) and 1 (failure).
    #[error("`{argument}[{index}]` is {value}: error values are 0 (success) or 1 (failure)")]
    NotBinary {
        /// The argument's name.
        argument: &'static str,
        /// The index in it.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// Paired samples of different lengths. The index is the first without a partner.
    #[error(
        "`{argument}` has no partner at index {index}: paired samples need equal lengths, these have {first} and {second}"
    )]
    LengthsDiffer {
        /// The longer argument's name.
        argument: &'static str,
        /// The first index without a partner.
        index: usize,
        /// Length of the first sample.
        first: usize,
        /// Length of the second sample.
        second: usize,
    },
    /// A p-value outside the closed interval from 0 to 1.
    #[error("`{argument}[{index}]` is {value}: a p-value lies between 0 and 1")]
    NotAProbability {
        /// The argument's name.
        argument: &'static str,
        /// The index in it.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// More failures than runs.
    #[error("`{argument}`: {failures} failures in {runs} runs")]
    TooManyFailures {
        /// The argument's name.
        argument: &'static str,
        /// Failed runs.
        failures: u64,
        /// All runs.
        runs: u64,
    },
    /// A probability outside the open interval from 0 to 1.
    #[error("`{argument}` is {value}: it must lie strictly between 0 and 1")]
    NotALevel {
        /// The argument's name.
        argument: &'static str,
        /// The value given.
        value: f64,
    },
    /// A number that must be finite (and, where documented, not negative) but is not.
    #[error("`{argument}` is {value}: it must be a finite number{}", if *.negative_refused { " and not negative" } else { "" })]
    NotANumber {
        /// The argument's name.
        argument: &'static str,
        /// The value given.
        value: f64,
        /// True when negative numbers are rejected, too.
        negative_refused: bool,
    },
    /// Finite values whose difference or mean exceeds the largest `f64`.
    #[error("`{argument}[{index}]` is too large: a difference exceeds the range of f64")]
    Overflow {
        /// The argument's name.
        argument: &'static str,
        /// The value with the largest magnitude.
        index: usize,
    },
    /// An exact distribution that would take unreasonably long to count.
    #[error(
        "`{argument}`: the exact distribution for {first} and {second} values is out of reach; use the asymptotic method"
    )]
    TooLarge {
        /// The argument's name.
        argument: &'static str,
        /// Length of the first sample.
        first: usize,
        /// Length of the second sample.
        second: usize,
    },
    /// A method that the test does not have.
    #[error("`{argument}`: {test} has no method `{method}`")]
    NoSuchMethod {
        /// The argument's name.
        argument: &'static str,
        /// The test.
        test: &'static str,
        /// The requested method.
        method: &'static str,
    },
}
