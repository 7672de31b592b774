//! A world to search in.

use super::{Memory, Noise};
use crate::Range;

/// A world to search in: commits, their behavior, and disturbances.
///
/// Sizes are in the unit of the noise: interquartile ranges, except for
/// [`Noise::Measured`].
///
/// ```
/// use pinpoint_core::simulation::{Noise, Scenario};
///
/// // Slower by 2, and by 4 faster again later, on a machine that grows slower.
/// let scenario = Scenario {
///     noise: Noise::Outliers,
///     changes: vec![2.0, -4.0],
///     drift: 0.002,
///     ..Scenario::new(1_024)
/// };
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Commits that may be the culprit: those between the ends, and the bad end.
    pub commits: u64,
    /// The value of the good end, without noise.
    pub level: f64,
    /// The scatter of values.
    pub noise: Noise,
    /// Disturbances that last for several runs.
    pub memory: Memory,
    /// Absent: noise and changes are amounts. Else both are in proportion to the level:
    /// this is the interquartile range of the noise as a fraction of the level, and each
    /// of the [`changes`](Self::changes) is a fraction of the level before it, so that
    /// 0.1 makes it a tenth higher.
    pub proportional: Option<f64>,
    /// The changes of values, in the order of history; none: nothing changed. Each change is made
    /// by a separate commit, drawn for each search: each set of commits is as likely as any other,
    /// unless there are weights.
    pub changes: Vec<f64>,
    /// The weight of each commit to make a change, oldest first, in any unit; absent:
    /// all alike. Commits of weight 0 change nothing.
    pub weights: Option<Vec<f64>>,
    /// The probability that a run fails: before the first change, and from
    /// there on.
    pub failure_rates: [f64; 2],
    /// The amount by which values grow with every run, of any commit. In all they grow by
    /// [`Scenario::MOST_DRIFT`] at most.
    pub drift: f64,
    /// Bots that run the benchmark, and differ: the values of each are higher or lower by an amount
    /// that is normally distributed with an interquartile range of 1. Each run takes one of them at
    /// random, and names it. With 0, runs name no bot and none differ.
    pub bots: u32,
    /// The probability that a commit does not build. The ends, the culprits and
    /// the commits just before these always do, so that every culprit can be
    /// identified.
    pub unbuildable: f64,
    /// Commits whose own runs fail, although those of later commits do not.
    pub broken: Option<Broken>,
    /// Values are rounded to a multiple of the first of these, and from a commit on, which every
    /// search draws, of the second one, like a tool that changes its unit. 0: not rounded.
    pub ticks: [f64; 2],
    /// Milliseconds that a build takes.
    pub build_time: u64,
    /// Milliseconds that a run takes.
    pub run_time: u64,
}

/// Commits whose own runs fail: a block of neighbors that some later commit mends.
///
/// The bad end passes. Where the rate of failures changes for good, too, a block that is not mended
/// before that change would be its beginning: its commits before the change do not fail.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Broken {
    /// Blocks that begin, at commits drawn for each search. They may overlap.
    pub blocks: u32,
    /// The commits of each block.
    pub length: u64,
    /// The probability that a run of one of them fails.
    pub rate: f64,
    /// The first block includes the first change of the scenario, or the commit before it.
    pub beside_change: bool,
}

impl Scenario {
    /// The most that values grow by drift.
    pub const MOST_DRIFT: f64 = 1.0;

    /// A scenario of this many commits that may be the culprit, at least 1, without a
    /// change: normal noise around a level of 100, no disturbances, and a build and a
    /// run take a minute each.
    pub fn new(commits: u64) -> Self {
        Self {
            commits: commits.max(1),
            level: 100.0,
            noise: Noise::Normal,
            memory: Memory::None,
            proportional: None,
            changes: Vec::new(),
            weights: None,
            failure_rates: [0.0; 2],
            drift: 0.0,
            bots: 0,
            unbuildable: 0.0,
            broken: None,
            ticks: [0.0; 2],
            build_time: 60_000,
            run_time: 60_000,
        }
    }

    /// The range to search, for a spec.
    pub fn range(&self) -> Range {
        Range::Counted {
            between: self.commits.saturating_sub(1),
        }
    }
}
