//! A commit in the terms of the culprit service.

use pinpoint_core::{CombinedCommit, Commit};

/// A commit, by the place of its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CulpritCommit {
    /// The host, such as `chromium.googlesource.com`.
    pub host: String,
    /// The project there, such as `chromium/src`.
    pub project: String,
    /// The full hash.
    pub revision: String,
}

/// A commit that the service could not find.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the culprit {commit:?} of {repository:?} has no {part}, without which Perf can't find it")]
pub struct NoCulpritCommit {
    /// The part that is missing.
    pub part: &'static str,
    /// The repository.
    pub repository: String,
    /// The hash.
    pub commit: String,
}

impl TryFrom<&Commit> for CulpritCommit {
    type Error = NoCulpritCommit;

    /// From `https://HOST/PROJECT`, with or without `.git`.
    fn try_from(commit: &Commit) -> Result<Self, NoCulpritCommit> {
        let Commit {
            repository,
            git_hash,
            ..
        } = commit;
        let missing = |part| NoCulpritCommit {
            part,
            repository: repository.clone(),
            commit: git_hash.clone(),
        };
        let place = repository.strip_prefix("https://");
        let place = place.ok_or_else(|| missing("host"))?;
        let (host, project) = place.split_once('/').unwrap_or((place, ""));
        let project = project.trim_end_matches('/');
        let project = project.strip_suffix(".git").unwrap_or(project);
        for (part, text) in [("host", host), ("project", project), ("hash", git_hash)] {
            if text.is_empty() {
                return Err(missing(part));
            }
        }
        Ok(Self {
            host: host.into(),
            project: project.into(),
            revision: git_hash.clone(),
        })
    }
}

impl TryFrom<&CombinedCommit> for CulpritCommit {
    type Error = NoCulpritCommit;

    /// The last dependency stands for a state, or else its main commit.
    fn try_from(state: &CombinedCommit) -> Result<Self, NoCulpritCommit> {
        let held = state.modified_deps.last().map(|held| &held.commit);
        Self::try_from(held.unwrap_or(&state.main))
    }
}

#[cfg(test)]
mod tests {
    use pinpoint_core::ModifiedDependency;

    use super::*;

    #[test]
    fn a_commit_is_named_by_its_place() {
        for repository in [
            "https://chromium.googlesource.com/chromium/src",
            "https://chromium.googlesource.com/chromium/src.git",
            "https://chromium.googlesource.com/chromium/src/",
        ] {
            let found = CulpritCommit::try_from(&Commit::new(repository, "a1")).unwrap();
            let expected = CulpritCommit {
                host: "chromium.googlesource.com".into(),
                project: "chromium/src".into(),
                revision: "a1".into(),
            };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_missing_part_is_named() {
        for (repository, hash, part) in [
            ("", "a1", "host"),
            ("/home/ada/src", "a1", "host"),
            ("https:///src", "a1", "host"),
            ("https://example.org", "a1", "project"),
            ("https://example.org/.git", "a1", "project"),
            ("https://example.org/src", "", "hash"),
        ] {
            let error = CulpritCommit::try_from(&Commit::new(repository, hash)).unwrap_err();
            assert_eq!(error.part, part, "{error}");
        }
    }

    #[test]
    fn the_last_dependency_is_to_blame() {
        let mut state = CombinedCommit::from(Commit::new("https://e.org/src.git", "a1"));
        assert_eq!(CulpritCommit::try_from(&state).unwrap().revision, "a1");
        for hash in ["b1", "c1"] {
            state.modified_deps.push(ModifiedDependency {
                commit: Commit::new("https://e.org/v8/v8", hash),
                named_by: "https://e.org/src.git".into(),
            });
        }
        let found = CulpritCommit::try_from(&state).unwrap();
        assert_eq!((&*found.project, &*found.revision), ("v8/v8", "c1"));
    }
}
