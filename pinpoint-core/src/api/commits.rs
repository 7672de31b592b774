//! Commits and states, to and from messages.

use super::{NotCarried, Timestamp, messages};
use crate::{CombinedCommit, Commit, Patch};

/// A state as a message has it: a list of dependencies that does not say whose
/// manifest names each.
///
/// A [`CombinedCommit`] knows that. Where there are dependencies it has to be
/// looked up in the manifests, main's first, else those of the nearest earlier
/// dependency: begin with `CombinedCommit::from(flat.main)`, hold the
/// dependencies one after the other, as `Midpoints::hold` of `pinpoint-midpoint`
/// does, and lay the patch on top.
///
/// ```
/// use pinpoint_core::api::{self, FlatCommit};
///
/// let hash = "c2b1a0f9e8d7c6b5a4938271605f4e3d2c1b0a99";
/// let message: api::CombinedCommit = api::from_json(&format!(
///     r#"{{ "main": {{ "repository": "https://example.org/src", "gitHash": "{hash}" }} }}"#
/// ))?;
/// let flat = FlatCommit::read(&message)?;
/// let state = flat.without_dependencies().expect("there are none");
/// assert_eq!(state.main.git_hash, hash);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatCommit {
    /// The commit of the main repository.
    pub main: Commit,
    /// The dependencies held at other revisions, in the order of the message.
    pub dependencies: Vec<Commit>,
    /// A change on top of it all.
    pub patch: Option<Patch>,
}

impl FlatCommit {
    /// The state, if no dependency is held, so that nothing has to be looked
    /// up.
    pub fn without_dependencies(&self) -> Option<CombinedCommit> {
        self.dependencies.is_empty().then(|| CombinedCommit {
            patch: self.patch.clone(),
            ..self.main.clone().into()
        })
    }
}

impl From<&CombinedCommit> for FlatCommit {
    fn from(state: &CombinedCommit) -> Self {
        Self {
            main: state.main.clone(),
            dependencies: state
                .modified_deps
                .iter()
                .map(|dependency| dependency.commit.clone())
                .collect(),
            patch: state.patch.clone(),
        }
    }
}

impl TryFrom<&Commit> for messages::Commit {
    type Error = NotCarried;

    fn try_from(commit: &Commit) -> Result<Self, NotCarried> {
        let Commit {
            repository,
            git_hash,
            merged,
            author,
            created,
            subject,
        } = commit;
        if !merged.is_empty() {
            return Err(NotCarried("what is merged into a commit"));
        }
        let created = match created {
            Some(created) => Some(
                created
                    .parse::<Timestamp>()
                    .map_err(|_| NotCarried("a date of a commit that is not RFC 3339"))?,
            ),
            None => None,
        };
        Ok(Self {
            git_hash: git_hash.clone(),
            repository: repository.clone(),
            author: author.clone().unwrap_or_default(),
            created,
            subject: subject.clone().unwrap_or_default(),
            ..Self::default()
        })
    }
}

impl TryFrom<&Patch> for messages::GerritChange {
    type Error = NotCarried;

    fn try_from(patch: &Patch) -> Result<Self, NotCarried> {
        let Patch::Gerrit {
            host,
            project,
            change,
            patchset,
            hash,
        } = patch
        else {
            return Err(NotCarried("a patch that is a file"));
        };
        let number = |number: u64| {
            i64::try_from(number).map_err(|_| NotCarried("the number of a change above 2^63 - 1"))
        };
        Ok(Self {
            host: host.clone(),
            project: project.clone(),
            change: number(*change)?,
            patchset: number(*patchset)?,
            patchset_hash: hash.clone().unwrap_or_default(),
        })
    }
}

impl TryFrom<&FlatCommit> for messages::CombinedCommit {
    type Error = NotCarried;

    fn try_from(state: &FlatCommit) -> Result<Self, NotCarried> {
        let dependencies = state.dependencies.iter().map(messages::Commit::try_from);
        Ok(Self {
            main: Some((&state.main).try_into()?),
            modified_deps: dependencies.collect::<Result<_, _>>()?,
            patch: match &state.patch {
                Some(patch) => Some(patch.try_into()?),
                None => None,
            },
        })
    }
}

/// All but the repository that names each dependency: see [`FlatCommit`].
impl TryFrom<&CombinedCommit> for messages::CombinedCommit {
    type Error = NotCarried;

    fn try_from(state: &CombinedCommit) -> Result<Self, NotCarried> {
        (&FlatCommit::from(state)).try_into()
    }
}
