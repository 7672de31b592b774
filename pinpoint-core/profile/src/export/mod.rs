//! Profiles of several runs, written as one for other tools.

mod cpuprofile;
mod folded;
mod pprof;
mod speedscope;

use std::str::FromStr;

use super::identity::identify;
use super::{Profile, ProfileUnit, StackNode, StackTree};

/// The most functions on all stacks: each is written with all of its callers.
const MOST_STEPS: usize = 1 << 27;

/// A format in which profiles are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExportFormat {
    /// Folded stacks. Of a difference, each has the weights of both sides, as
    /// `inferno-diff-folded` writes them.
    Folded,
    /// pprof, compressed. Of a difference, weights may be negative.
    Pprof,
    /// V8's `.cpuprofile`.
    CpuProfile,
    /// speedscope's own.
    Speedscope,
}

/// The text names no format.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("there is no format `{0}` to export; use folded, pprof, cpuprofile or speedscope")]
pub struct ExportFormatError(String);

impl FromStr for ExportFormat {
    type Err = ExportFormatError;

    fn from_str(text: &str) -> Result<Self, ExportFormatError> {
        match text {
            "folded" => Ok(Self::Folded),
            "pprof" => Ok(Self::Pprof),
            "cpuprofile" => Ok(Self::CpuProfile),
            "speedscope" => Ok(Self::Speedscope),
            other => Err(ExportFormatError(other.to_owned())),
        }
    }
}

/// The part of a comparison that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exported {
    /// The base.
    Base,
    /// The experiment.
    Experiment,
    /// The experiment less the base.
    Difference,
}

/// The profiles cannot be written in this way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The format has no place for negative weights.
    #[error(
        "a difference has negative weights, which {0} cannot hold; export one side, or the difference as folded or pprof"
    )]
    Negative(&'static str),
    /// The format is for times only.
    #[error(
        "a .cpuprofile holds times, and these profiles count {0}; export them as pprof, or one side as speedscope"
    )]
    NoTime(ProfileUnit),
    /// The stacks are too deep to be written out.
    #[error("the stacks are too deep to be written out one by one; export as cpuprofile")]
    TooLarge,
    /// The format's library fails.
    #[error("the profile cannot be written")]
    Write(#[from] std::io::Error),
    /// The format's library fails.
    #[error("the profile cannot be written")]
    Json(#[from] serde_json::Error),
}

/// Writes the mean of each side's runs, or the difference, as one profile.
///
/// # Errors
///
/// [`ExportError`].
pub fn export(
    base: &[Profile],
    experiment: &[Profile],
    exported: Exported,
    format: ExportFormat,
) -> Result<Vec<u8>, ExportError> {
    let merged = StackTree::from_profiles(base, experiment, &identify(base, experiment, &[]));
    let unit = base
        .iter()
        .chain(experiment)
        .map(|profile| profile.unit.clone())
        .next();
    let unit = unit.unwrap_or(ProfileUnit::Samples);
    match (format, exported) {
        (ExportFormat::Folded, _) => merged.folded(exported),
        (ExportFormat::Pprof, _) => merged.pprof(exported, &unit),
        (ExportFormat::CpuProfile, _) if unit != ProfileUnit::Nanoseconds => {
            Err(ExportError::NoTime(unit))
        }
        (ExportFormat::CpuProfile, Exported::Difference) => {
            Err(ExportError::Negative("a .cpuprofile"))
        }
        (ExportFormat::Speedscope, Exported::Difference) => {
            Err(ExportError::Negative("speedscope"))
        }
        (ExportFormat::CpuProfile, _) => merged.cpuprofile(exported),
        (ExportFormat::Speedscope, _) => merged.speedscope(exported, &unit),
    }
}

impl StackNode {
    fn weight(&self, exported: Exported) -> f64 {
        match exported {
            Exported::Base => self.base,
            Exported::Experiment => self.experiment,
            Exported::Difference => self.experiment - self.base,
        }
    }
}

impl StackTree {
    /// The stacks with a weight, with their places in the tree.
    fn weighed(&self, exported: Exported) -> impl Iterator<Item = (usize, &StackNode)> {
        let weighs = move |node: &StackNode| match exported {
            Exported::Difference => node.base != 0.0 || node.experiment != 0.0,
            side => node.weight(side) > 0.0,
        };
        let nodes = self.nodes.iter().enumerate().skip(1);
        nodes.filter(move |(_, node)| weighs(node))
    }

    /// The functions of a stack, the leaf first; `left` is the number that may still be written.
    fn stack(&self, node: usize, left: &mut usize) -> Result<Vec<usize>, ExportError> {
        let mut stack = Vec::new();
        let mut place = node;
        while place != 0 {
            *left = left.checked_sub(1).ok_or(ExportError::TooLarge)?;
            stack.push(self.nodes[place].function);
            place = self.nodes[place].parent;
        }
        Ok(stack)
    }
}
