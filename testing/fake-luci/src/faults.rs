//! Trouble by seed.

use pinpoint_core::SplitMix64;

/// The frequency of each kind of trouble, per thousand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// A request is answered with a code of gRPC, or a status of HTTP, and not carried out.
    pub refused: u32,
    /// A request is carried out, and its answer lost.
    pub lost_answers: u32,
    /// A request arrives twice.
    pub duplicates: u32,
    /// An answer takes longer than anybody waits.
    pub slow: u32,
    /// An answer is garbage.
    pub garbage: u32,
    /// A build ends with `INFRA_FAILURE` or `CANCELED`, or takes a day.
    pub builds: u32,
    /// The files of a build are gone after a while.
    pub expired: u32,
    /// A task ends without a word about its commit, or with a failure of its own.
    pub tasks: u32,
    /// No bot takes a task.
    pub no_resource: u32,
    /// The bot of a task dies.
    pub dead_bots: u32,
    /// Somebody else's task comes between.
    pub intercepted: u32,
}

impl Faults {
    /// Each kind now and then.
    pub const SOME: Self = Self {
        refused: 30,
        lost_answers: 15,
        duplicates: 15,
        slow: 5,
        garbage: 15,
        builds: 60,
        expired: 20,
        tasks: 20,
        no_resource: 15,
        dead_bots: 3,
        intercepted: 60,
    };
}

/// The events, by seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// True `of_thousand` times in a thousand, on average.
    pub(crate) fn happens(&mut self, of_thousand: u32) -> bool {
        self.below(1000) < u64::from(of_thousand)
    }

    /// Between -1 and 1.
    pub(crate) fn noise(&mut self) -> f64 {
        self.below(2_000_001) as f64 / 1e6 - 1.0
    }
}
