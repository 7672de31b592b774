//! What differs between two versions of a manifest.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Dependency;

/// A dependency that is not the same in two versions of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Change {
    /// Its path: see [`Manifest::read`](super::Manifest::read).
    pub path: String,
    /// What it was; None: it appears.
    pub before: Option<Dependency>,
    /// What it is; None: it disappears.
    pub after: Option<Dependency>,
}

/// What is not the same in two versions of a manifest, by path.
///
/// A dependency of which only the condition changed, or what counts inside it,
/// is a change, too: something may come or go with it on the machine that
/// builds. There is nothing to follow then: its sources are equal.
///
/// One roll may be several changes with the same two sources: a repository can be
/// checked out at two paths, or be named by two manifests, as gclient's
/// `git_dependencies = 'SYNC'` has it.
///
/// ```
/// use std::collections::BTreeMap;
/// use pinpoint_midpoint::manifest::{Dependency, Source, changes};
///
/// let skia = |revision: &str| {
///     Dependency::from(Source::Git {
///         url: "https://skia.example/skia.git".into(),
///         revision: revision.into(),
///     })
/// };
/// let before = BTreeMap::from([("src/third_party/skia".into(), skia("1f2e3d"))]);
/// let after = BTreeMap::from([("src/third_party/skia".into(), skia("4c5b6a"))]);
/// let roll = changes(&before, &after);
/// assert_eq!(roll.len(), 1);
/// assert_eq!(roll[0].after, Some(skia("4c5b6a")));
/// ```
pub fn changes(
    before: &BTreeMap<String, Dependency>,
    after: &BTreeMap<String, Dependency>,
) -> Vec<Change> {
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    paths
        .into_iter()
        .filter(|path| before.get(*path) != after.get(*path))
        .map(|path| Change {
            path: path.clone(),
            before: before.get(path).cloned(),
            after: after.get(path).cloned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Source;

    fn git(url: &str, revision: &str) -> Dependency {
        Source::Git {
            url: url.into(),
            revision: revision.into(),
        }
        .into()
    }

    fn package(version: &str) -> Dependency {
        Source::Package {
            registry: "cipd".into(),
            name: "tool".into(),
            version: version.into(),
        }
        .into()
    }

    fn manifest(entries: &[(&str, Dependency)]) -> BTreeMap<String, Dependency> {
        entries
            .iter()
            .map(|(path, dependency)| ((*path).into(), dependency.clone()))
            .collect()
    }

    #[test]
    fn the_same_is_no_change() {
        let same = manifest(&[("a", git("A", "1")), ("b", package("1"))]);
        assert_eq!(changes(&same, &same), []);
        assert_eq!(changes(&manifest(&[]), &manifest(&[])), []);
    }

    #[test]
    fn every_kind_of_change_is_told_in_the_order_of_paths() {
        let conditional = Dependency {
            condition: Some("checkout_linux".into()),
            ..git("E", "1")
        };
        let before = manifest(&[
            ("url", git("A", "1")),
            ("goes", git("B", "1")),
            ("rolls", git("C", "1")),
            ("stays", git("D", "1")),
            ("condition", git("E", "1")),
            ("becomes/package", git("F", "1")),
        ]);
        let after = manifest(&[
            ("comes", git("B", "1")),
            ("url", git("A2", "1")),
            ("rolls", git("C", "2")),
            ("stays", git("D", "1")),
            ("condition", conditional.clone()),
            ("becomes/package", package("2")),
        ]);
        let change = |path: &str, before, after| Change {
            path: path.into(),
            before,
            after,
        };
        assert_eq!(
            changes(&before, &after),
            [
                change("becomes/package", Some(git("F", "1")), Some(package("2"))),
                change("comes", None, Some(git("B", "1"))),
                change("condition", Some(git("E", "1")), Some(conditional)),
                change("goes", Some(git("B", "1")), None),
                change("rolls", Some(git("C", "1")), Some(git("C", "2"))),
                change("url", Some(git("A", "1")), Some(git("A2", "1"))),
            ]
        );
    }

    #[test]
    fn a_change_survives_being_stored() {
        let change = Change {
            path: "a".into(),
            before: Some(git("A", "1")),
            after: None,
        };
        let stored = serde_json::to_string(&change).expect("a change can be written");
        assert_eq!(
            stored,
            r#"{"path":"a","before":{"source":{"git":{"url":"A","revision":"1"}},"condition":null,"nested":[]},"after":null}"#
        );
        assert_eq!(
            serde_json::from_str::<Change>(&stored).expect("it can be read"),
            change
        );
    }
}
