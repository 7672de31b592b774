//! The answers of each kind of machine, in the terms of a search.

use crate::{CulpritFinderOutcome, Outcome, PairwiseOutcome, PairwiseStatus, Position, Status};

/// An outcome that can be compared with the truth.
pub(super) trait SimulatedOutcome {
    fn status(&self) -> Status;

    /// The commits that it names, each with its stated probability.
    fn culprits(&self) -> Vec<(Position, Option<f64>)>;

    /// The commits that it leaves.
    fn candidates(&self) -> Vec<Position>;

    /// Runs and builds.
    fn cost(&self) -> (u64, u64);
}

impl SimulatedOutcome for Outcome {
    fn status(&self) -> Status {
        self.status
    }

    fn culprits(&self) -> Vec<(Position, Option<f64>)> {
        let culprits = self.culprits.iter();
        culprits.map(|it| (it.commit, it.probability)).collect()
    }

    fn candidates(&self) -> Vec<Position> {
        self.candidates.clone()
    }

    fn cost(&self) -> (u64, u64) {
        (self.runs, self.builds)
    }
}

impl SimulatedOutcome for PairwiseOutcome {
    fn status(&self) -> Status {
        match self.status {
            PairwiseStatus::Different => Status::CulpritFound,
            PairwiseStatus::Same => Status::NoRegression,
            PairwiseStatus::Unknown => Status::Inconclusive,
            PairwiseStatus::Failed => Status::Failed,
            PairwiseStatus::Canceled => Status::Canceled,
        }
    }

    fn culprits(&self) -> Vec<(Position, Option<f64>)> {
        let is_different = self.status == PairwiseStatus::Different;
        let culprit = is_different.then_some((Position::Higher, None));
        culprit.into_iter().collect()
    }

    fn candidates(&self) -> Vec<Position> {
        Vec::new()
    }

    fn cost(&self) -> (u64, u64) {
        (self.runs, self.builds)
    }
}

impl SimulatedOutcome for CulpritFinderOutcome {
    fn status(&self) -> Status {
        self.status
    }

    fn culprits(&self) -> Vec<(Position, Option<f64>)> {
        let culprits = self.culprits.iter().map(|it| &it.culprit);
        culprits.map(|it| (it.commit, it.probability)).collect()
    }

    /// Those of the search, and the culprits that were not confirmed.
    fn candidates(&self) -> Vec<Position> {
        let unconfirmed = self.unconfirmed.iter().map(|it| it.culprit.commit);
        let left = self.bisection.iter().flat_map(|it| &it.candidates).copied();
        unconfirmed.chain(left).collect()
    }

    fn cost(&self) -> (u64, u64) {
        (self.runs, self.builds)
    }
}
