//! The reasons why profiles cannot be compared.

use pinpoint_compare::CompareError;

use crate::model::ProfileUnit;

/// The profiles cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// One side has no profile.
    #[error("there is no profile of the {0}; name at least one")]
    NoProfiles(&'static str),
    /// Profiles count different things.
    #[error(
        "profile {number} of the {side} counts {found}, and the first of the base {first}; record all of them in the same way"
    )]
    UnitsDiffer {
        /// The side.
        side: &'static str,
        /// The number of its profile, counted from 1.
        number: usize,
        /// The unit that it counts.
        found: ProfileUnit,
        /// The unit that the first one counts.
        first: ProfileUnit,
    },
    /// Pairs need as many profiles of each side.
    #[error(
        "pairs need as many profiles of each side, but the base has {base} and the experiment {experiment}; add the missing ones, or compare without pairs"
    )]
    NotPairs {
        /// Profiles of the base.
        base: usize,
        /// Profiles of the experiment.
        experiment: usize,
    },
    /// A function that is declared another does not exist.
    #[error("no function of the {side} is called {name:?}{}", nearest(.near))]
    NoFunction {
        /// The side.
        side: &'static str,
        /// The name given.
        name: String,
        /// Names that look like it.
        near: Vec<String>,
    },
    /// A function that is declared another is ambiguous: others have its name.
    #[error(
        "the {side} has several functions called {name:?}; name one: {}",
        .candidates.join(", ")
    )]
    Ambiguous {
        /// The side.
        side: &'static str,
        /// The name given.
        name: String,
        /// Names that distinguish them.
        candidates: Vec<String>,
    },
    /// A program, file or folder that is declared renamed does not exist.
    #[error(
        "no function of the {side} lies in a program, a file or a folder called {name:?}; write the name as the profiles have it, without the folders before it"
    )]
    NoPlace {
        /// The side.
        side: &'static str,
        /// The name given.
        name: String,
    },
    /// A function is declared two others, of which it can only be one.
    #[error(
        "function {name:?} of the base cannot be both {first:?} and {second:?} of the experiment; give it one new name"
    )]
    TwoNames {
        /// Its name in the base.
        name: String,
        /// The first name given for the experiment.
        first: String,
        /// The other one.
        second: String,
    },
    /// The values cannot be compared.
    #[error("the profiles' values cannot be compared")]
    Compare(#[from] CompareError),
}

fn nearest(near: &[String]) -> String {
    if near.is_empty() {
        "; write the name as the answer shows it".into()
    } else {
        format!("; similar names: {}", near.join(", "))
    }
}
