//! Builds that a job is given, by their digests in CAS: nothing is built, and no commit is known.

use pinpoint_core::Artifact;
use pinpoint_core::{BuildReport, CombinedCommit, Commit};

use crate::swarming::CasReference;

/// A given build as a comparable state: its place, without a commit.
pub fn given_build(build: &CasReference) -> CombinedCommit {
    Commit::new(build.to_string(), "").into()
}

/// The given build that a state is, if it is one.
pub(super) fn build_given(state: &CombinedCommit) -> Option<CasReference> {
    let Commit {
        repository,
        git_hash,
        ..
    } = &state.main;
    let is_plain = git_hash.is_empty() && state.modified_deps.is_empty() && state.patch.is_none();
    repository.parse().ok().filter(|_| is_plain)
}

/// The report of a given build.
pub(super) fn report(build: &CasReference) -> BuildReport {
    let mut report = BuildReport::built(given_build(build));
    report.digest = Some(build.digest.to_string());
    report.cached = true;
    report.artifact(Artifact::Digest(build.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_without_a_commit_is_a_given_build() {
        let build: CasReference = format!("a/b/{}/7", "0f".repeat(32)).parse().unwrap();
        assert_eq!(build_given(&given_build(&build)), Some(build.clone()));
        let commit = Commit::new(build.to_string(), "a1").into();
        assert_eq!(build_given(&commit), None);
        let place = Commit::new("https://chromium.googlesource.com/chromium/src", "").into();
        assert_eq!(build_given(&place), None);
    }
}
