//! The differences that an explanation names.

use pinpoint_compare::Interval;
use serde::{Deserialize, Serialize};

use super::renamed::RenameGuess;
use super::statistics::Detectable;
use crate::identity::Function;
use crate::{DiffMatch, PlaceMatch, ProfileUnit};

/// The design of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Pairs of runs.
    Pairs,
    /// Two groups of runs.
    Groups,
}

/// A value on both sides, and its difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The mean of the base's runs.
    pub base: f64,
    /// The mean of the experiment's runs.
    pub experiment: f64,
    /// The difference of the means, which adds up.
    pub difference: f64,
    /// The pseudomedian of the differences, or the shift.
    pub estimate: Option<f64>,
    /// Its 95 % interval, if there are enough runs for one.
    pub interval: Option<Interval>,
}

/// The verdict on a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum Verdict {
    /// It takes more.
    Slower,
    /// It takes less.
    Faster,
    /// It takes more because it is called more often.
    CalledMoreOften,
    /// It takes less because it is called less often.
    CalledLessOften,
    /// Only the experiment has it.
    New,
    /// Only the base has it.
    Gone,
    /// Others lost the cost that it gained, or the other way round.
    Moved {
        /// The index in [`Explanation::functions`] of the other one, or of the one with which all
        /// others exchange. Of that one, the index of the greatest of these.
        with: usize,
    },
    /// Its difference may be chance.
    Uncertain,
}

/// The change of one function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FunctionChange {
    /// Its place in the [`StackTree::functions`](crate::StackTree::functions) of the same
    /// profiles and options. It is not a part of the document.
    #[serde(skip)]
    pub index: usize,
    /// The function.
    pub function: Function,
    /// Its own cost.
    pub own: Change,
    /// Its cost with all that it called.
    pub total: Change,
    /// The number of calls, where they are counted.
    pub calls: Option<Change>,
    /// Its own difference as a part of the whole difference. Absent without one.
    pub share: Option<f64>,
    /// The p-value of its own difference. Absent where there are too few runs for one, and where
    /// values are exact.
    pub p: Option<f64>,
    /// The same, adjusted for all functions that were tested together. Absent, too, where the
    /// function can have no small p-value, and is not one of these: where it was seen in too few
    /// runs, or too many of its values are ties. Where all are ties, [`p`](Self::p) is 1. Between
    /// unpaired runs, ties count only while the product of both numbers of runs is at most 144.
    pub adjusted_p: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The function that most often calls it: in the experiment, or in the base if it is
    /// gone.
    pub called_by: Option<String>,
    /// The place where the commit that is explained changes it; see
    /// [`SourceDiff::mark`](crate::SourceDiff::mark). Absent where it does not, and where no commit
    /// is known.
    pub in_diff: Option<DiffMatch>,
}

impl FunctionChange {
    /// Its difference is certain, and is not only moved.
    pub fn is_certain(&self) -> bool {
        !matches!(self.verdict, Verdict::Uncertain | Verdict::Moved { .. })
    }
}

/// All functions that are too small to be listed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnlistedFunctions {
    /// Their number.
    pub functions: usize,
    /// Their own differences, added up.
    pub difference: f64,
}

/// The change of a part of the whole: of the threads with one name, or of a
/// [category](crate::CostCategory).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PartChange {
    /// The name of the thread, or of the category. Threads whose names differ in
    /// numbers alone, such as those of a pool, are one, without the numbers.
    pub name: String,
    /// The own costs of the functions there.
    pub own: Change,
    /// The p-value of its difference, adjusted for all threads or categories. Absent where
    /// there are too few runs, or it was seen in too few of them, and where values are exact.
    pub adjusted_p: Option<f64>,
    /// The difference is significant.
    pub is_certain: bool,
}

/// A function on the path of the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PathStep {
    /// Its name.
    pub name: String,
    /// The difference of its cost on this path, with all that it called.
    pub difference: f64,
    /// The 95 % interval of that, if there are enough runs for one. Absent, too, where calls are
    /// counted, since there are no paths then.
    #[serde(default)]
    pub interval: Option<Interval>,
}

/// The differences between the profiles of two builds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The unit of all values.
    pub unit: ProfileUnit,
    /// The design of the comparison.
    pub design: Design,
    /// Runs of the base.
    pub base_runs: usize,
    /// Runs of the experiment.
    pub experiment_runs: usize,
    /// The values are counted, so that any difference is one of the builds.
    pub exact: bool,
    /// There are enough runs for p-values.
    pub tested: bool,
    /// The whole cost, without idle time.
    pub whole: Change,
    /// All functions with at least 0.1 % of a side: certain ones first, and then those with the
    /// greatest differences. Cost that a new function took over from its callers and callees, or
    /// one that is gone left to them, does not count; for a probably renamed function, the
    /// difference of the two names counts.
    pub functions: Vec<FunctionChange>,
    /// The others.
    pub rest: UnlistedFunctions,
    /// All threads, certain ones first: their differences add up to the whole. Empty where the
    /// profiles do not name them.
    #[serde(default)]
    pub threads: Vec<PartChange>,
    /// The categories of costs, by the names of [`CostCategory`](crate::CostCategory). Idle time is
    /// one, too, and all others add up to the whole.
    #[serde(default)]
    pub categories: Vec<PartChange>,
    /// The program's own functions whose cost, with all that they call of libraries, the runtime
    /// and the kernel, moved for certain. Empty where calls are counted.
    #[serde(default)]
    pub own_code: Vec<PartChange>,
    /// From the outermost function into the one that has most of the whole difference, as
    /// long as one has 60 % of it. Empty when no function is certain.
    pub path: Vec<PathStep>,
    /// Functions of one side that may be the same under another name.
    pub renamed: Vec<RenameGuess>,
    /// Programs, libraries and source files of the base that are taken for others of the
    /// experiment, since they have the same functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<PlaceMatch>,
    /// The detectable differences. Absent where values are exact.
    pub detectable: Option<Detectable>,
}

impl Explanation {
    /// The functions whose difference is certain.
    pub fn certain(&self) -> impl Iterator<Item = &FunctionChange> {
        self.functions
            .iter()
            .filter(|function| function.is_certain())
    }
}
