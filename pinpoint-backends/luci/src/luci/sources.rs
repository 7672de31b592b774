//! Ranges, and names of commits.

use std::sync::Arc;

use pinpoint_core::job::Blamed;
use pinpoint_core::{CombinedCommit, ListRequest, Listing, Located};
use pinpoint_midpoint::{MidpointError, Midpoints};

use crate::gitiles::Gitiles;

/// The histories of a job.
pub(super) struct Sources {
    gitiles: Gitiles,
    midpoints: Midpoints,
}

impl Sources {
    pub(super) fn new(gitiles: Gitiles) -> Self {
        Self {
            midpoints: Midpoints::new(Arc::new(gitiles.clone())),
            gitiles,
        }
    }

    pub(super) async fn list(&self, request: &ListRequest) -> Result<Listing, MidpointError> {
        let (lower, higher) = (&request.lower, &request.higher);
        if request.range == 0 {
            self.midpoints.check_order(lower, higher).await?;
        }
        let between = self.midpoints.between(lower, higher).await?;
        Ok(Listing {
            changes: between.changes().to_vec(),
            merge_base: between.merge_base(),
            ..Listing::new(request, between.count())
        })
    }

    /// The name of a commit alone.
    pub(super) async fn name(&self, located: &Located) -> Result<CombinedCommit, MidpointError> {
        match located {
            Located::Commit(commit) => Ok(commit.clone()),
            Located::Offset { listing, offset } => {
                let Listing { lower, higher, .. } = &**listing;
                let between = self.midpoints.between(lower, higher).await?;
                self.midpoints.nth(&between, *offset).await
            }
        }
    }

    /// The commit that makes the difference between a culprit and the state before it.
    pub(super) async fn blamed(
        &self,
        prior: &CombinedCommit,
        culprit: &CombinedCommit,
    ) -> Result<Blamed, MidpointError> {
        self.midpoints.blamed(prior, culprit).await
    }

    /// A commit with author, date and subject.
    pub(super) async fn described(
        &self,
        commit: CombinedCommit,
    ) -> Result<CombinedCommit, MidpointError> {
        Ok(self.gitiles.describe(commit).await?)
    }
}
