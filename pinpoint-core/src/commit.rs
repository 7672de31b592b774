//! Commits to be built: one of a repository, with the changes laid on top of it.
//!
//! A [`CombinedCommit`] is a commit of the main repository, dependencies held at other revisions
//! than the ones that commit names, and at most one patch. It defines the code to build, never the
//! build steps.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// A commit of one repository.
///
/// Two commits are equal when repository, hash and merged commits are: author, date and
/// subject are facts *about* a commit, and are not known everywhere. They are those of
/// the last commit merged, where there is one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Commit {
    /// The place of the repository: a URL, or the absolute path of a local one.
    pub repository: String,
    /// The full hash, in hexadecimal. Empty for an existing build, whose commit is not
    /// known: then the repository is its directory.
    pub git_hash: String,
    /// Hashes that are merged into it, in order: states between the first
    /// parent of a merge and the merge itself, which no branch holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
    /// `Name <address>`.
    #[serde(default)]
    pub author: Option<String>,
    /// The time of the commit, RFC 3339.
    #[serde(default)]
    pub created: Option<String>,
    /// The first line of the message.
    #[serde(default)]
    pub subject: Option<String>,
}

impl Commit {
    /// A commit of which only the name is known.
    pub fn new(repository: impl Into<String>, git_hash: impl Into<String>) -> Self {
        Self {
            repository: repository.into(),
            git_hash: git_hash.into(),
            merged: Vec::new(),
            author: None,
            created: None,
            subject: None,
        }
    }

    fn identity(&self) -> (&str, &str, &[String]) {
        (&self.repository, &self.git_hash, &self.merged)
    }

    /// The hash, with those merged into it: `1f2e3d` or `1f2e3d+4c5b6a`.
    pub fn revision(&self) -> String {
        let mut revision = self.git_hash.clone();
        for merged in &self.merged {
            revision.push('+');
            revision.push_str(merged);
        }
        revision
    }

    /// The commit to name: the one merged last, or the commit itself.
    pub fn newest(&self) -> &str {
        self.merged.last().unwrap_or(&self.git_hash)
    }
}

impl PartialEq for Commit {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Commit {}

impl PartialOrd for Commit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Commit {
    fn cmp(&self, other: &Self) -> Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl Hash for Commit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

/// A dependency held at another revision than the one its manifest names.
///
/// The dependencies of a dependency follow it in the list, before any other dependency of its
/// parent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModifiedDependency {
    /// The revision to build with.
    pub commit: Commit,
    /// The repository whose manifest names the dependency.
    pub named_by: String,
}

/// A change that no commit holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Patch {
    /// A patch file as `git diff` writes it.
    File {
        /// The user's name for it, for messages.
        name: String,
        /// SHA-256 of its bytes, in hexadecimal.
        sha256: String,
    },
    /// A patch set of a change under review at Gerrit.
    Gerrit {
        /// The host of Gerrit, such as `chromium-review.googlesource.com`.
        host: String,
        /// The project there, such as `chromium/src`.
        project: String,
        /// The number of the change.
        change: u64,
        /// The number of the patch set.
        patchset: u64,
        /// The hash of the patch set's commit, where it is known.
        hash: Option<String>,
    },
}

/// Everything that decides the build.
///
/// ```
/// use pinpoint_core::{CombinedCommit, Commit};
///
/// let plain = CombinedCommit::from(Commit::new("/src/tool", "1f2e3d"));
/// let other = CombinedCommit::from(Commit::new("/src/tool", "4c5b6a"));
/// assert_ne!(plain.key(), other.key());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CombinedCommit {
    /// The commit of the main repository.
    pub main: Commit,
    /// Dependencies held elsewhere, in the order in which the search went into them:
    /// `named_by` means the nearest earlier one of that repository, or main.
    #[serde(default)]
    pub modified_deps: Vec<ModifiedDependency>,
    /// A change on top of it all.
    #[serde(default)]
    pub patch: Option<Patch>,
}

impl From<Commit> for CombinedCommit {
    fn from(main: Commit) -> Self {
        Self {
            main,
            modified_deps: Vec::new(),
            patch: None,
        }
    }
}

impl CombinedCommit {
    /// A 64-bit name for maps in memory: FNV-1a over every field that changes the build, each
    /// followed by a separator that no field can hold.
    ///
    /// Equal states have equal keys; unequal ones nearly always differ, and
    /// [`PartialEq`] decides. FNV-1a: Fowler, Noll and Vo, RFC 9923.
    pub fn key(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325;
        for field in self.identity() {
            for byte in field.bytes().chain([0xff]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        hash
    }

    /// The commit that was moved last on the way from another state to this one:
    /// the deepest dependency that the other holds elsewhere or not at all, or
    /// else the main commit. Of a culprit and its prior, the commit to blame.
    ///
    /// Main commits may differ although a dependency was moved last: by commits
    /// that are not candidates, such as those that touch none of the paths asked
    /// for.
    pub fn moved_since(&self, prior: &Self) -> &Commit {
        let held = |dependency: &&ModifiedDependency| !prior.modified_deps.contains(dependency);
        match self.modified_deps.iter().rfind(held) {
            Some(dependency) => &dependency.commit,
            None => &self.main,
        }
    }

    /// The fields that change the build, in a fixed order. Counts and tags precede lists and
    /// options, so that no two states read alike.
    pub fn identity(&self) -> Vec<String> {
        let mut fields = vec![
            self.main.repository.clone(),
            self.main.revision(),
            self.modified_deps.len().to_string(),
        ];
        for dependency in &self.modified_deps {
            fields.push(dependency.named_by.clone());
            fields.push(dependency.commit.repository.clone());
            fields.push(dependency.commit.revision());
        }
        match &self.patch {
            None => fields.push("no patch".into()),
            Some(Patch::File { sha256, .. }) => {
                fields.push("patch file".into());
                fields.push(sha256.clone());
            }
            Some(Patch::Gerrit {
                host,
                project,
                change,
                patchset,
                hash: _,
            }) => {
                fields.push("patch at Gerrit".into());
                fields.extend([host.clone(), project.clone()]);
                fields.extend([change.to_string(), patchset.to_string()]);
            }
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> CombinedCommit {
        CombinedCommit {
            main: Commit::new("main", "a1"),
            modified_deps: vec![ModifiedDependency {
                commit: Commit::new("dep", "d1"),
                named_by: "main".into(),
            }],
            patch: Some(Patch::File {
                name: "try.diff".into(),
                sha256: "00ff".into(),
            }),
        }
    }

    #[test]
    fn key_is_fnv_1a_as_published() {
        // FNV-1a of the bytes of the fields, computed independently: the empty
        // input is the offset basis, and "a" the published test vector.
        let fnv = |bytes: &[u8]| {
            bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
            })
        };
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
        let plain = CombinedCommit::from(Commit::new("r", "h"));
        assert_eq!(plain.key(), fnv(b"r\xffh\xff0\xffno patch\xff"));
    }

    #[test]
    fn every_field_that_changes_the_build_changes_the_key() {
        let changes: [fn(&mut CombinedCommit); 8] = [
            |s| s.main.repository.push('x'),
            |s| s.main.git_hash.push('x'),
            |s| s.modified_deps.clear(),
            |s| s.modified_deps[0].commit.repository.push('x'),
            |s| s.modified_deps[0].commit.git_hash.push('x'),
            |s| s.modified_deps[0].named_by.push('x'),
            |s| s.patch = None,
            |s| {
                s.patch = Some(Patch::File {
                    name: "try.diff".into(),
                    sha256: "01ff".into(),
                });
            },
        ];
        for (index, change) in changes.iter().enumerate() {
            let mut changed = state();
            change(&mut changed);
            assert_ne!(changed.key(), state().key(), "change {index}");
        }
    }

    #[test]
    fn every_number_of_a_gerrit_change_changes_the_key() {
        let key = |host: &str, project: &str, change, patchset| {
            let patch = Patch::Gerrit {
                host: host.into(),
                project: project.into(),
                change,
                patchset,
                hash: None,
            };
            let patch = Some(patch);
            CombinedCommit { patch, ..state() }.key()
        };
        let keys = [
            state().key(),
            key("h", "p", 1, 2),
            key("i", "p", 1, 2),
            key("h", "q", 1, 2),
            key("h", "p", 2, 2),
            key("h", "p", 1, 1),
        ];
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
    }

    #[test]
    fn what_is_known_about_a_commit_does_not_change_it() {
        let mut described = state();
        described.main.subject = Some("Sort faster".into());
        assert_eq!(described, state());
        assert_eq!(described.key(), state().key());
    }

    #[test]
    fn the_commit_moved_last_is_the_one_to_blame() {
        let held = |name: &str, hash: &str, named_by: &str| ModifiedDependency {
            commit: Commit::new(name, hash),
            named_by: named_by.into(),
        };
        let with = |main: &str, modified_deps: &[ModifiedDependency]| CombinedCommit {
            modified_deps: modified_deps.to_vec(),
            ..Commit::new("main", main).into()
        };
        let skia = held("skia", "1", "main");
        for (prior, later, blamed) in [
            (with("a", &[]), with("b", &[]), Commit::new("main", "b")),
            (
                with("a", std::slice::from_ref(&skia)),
                with("b", &[]),
                Commit::new("main", "b"),
            ),
            (
                with("a", &[]),
                with("b", std::slice::from_ref(&skia)),
                skia.commit.clone(),
            ),
            (
                with("a", &[]),
                with("a", std::slice::from_ref(&skia)),
                skia.commit.clone(),
            ),
            (
                with("a", std::slice::from_ref(&skia)),
                with("a", &[held("skia", "2", "main")]),
                Commit::new("skia", "2"),
            ),
            (
                with("a", &[]),
                with("a", &[skia.clone(), held("fonts", "7", "skia")]),
                Commit::new("fonts", "7"),
            ),
            (
                with("a", std::slice::from_ref(&skia)),
                with("a", &[skia.clone(), held("v8", "7", "main")]),
                Commit::new("v8", "7"),
            ),
        ] {
            assert_eq!(later.moved_since(&prior), &blamed);
        }
    }

    #[test]
    fn what_is_merged_into_a_commit_is_part_of_it() {
        let mut merged = state();
        merged.main.merged = vec!["b2".into()];
        assert_ne!(merged, state());
        assert_ne!(merged.key(), state().key());
        assert_eq!(merged.main.revision(), "a1+b2");
        assert_eq!((merged.main.newest(), state().main.newest()), ("b2", "a1"));
    }

    #[test]
    fn neighboring_fields_do_not_run_together() {
        let left = CombinedCommit::from(Commit::new("ab", "c"));
        let right = CombinedCommit::from(Commit::new("a", "bc"));
        assert_ne!(left.key(), right.key());
    }
}
