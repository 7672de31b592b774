//! Which repositories are at hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::executor::locked;
use super::{LocalError, Repository};

/// Repositories on this machine, by their URLs.
pub(super) struct AtHand {
    mapped: BTreeMap<String, Repository>,
    /// What was asked for before.
    known: Mutex<BTreeMap<String, Option<Repository>>>,
}

impl AtHand {
    pub(super) fn open(mapped: &BTreeMap<String, PathBuf>) -> Result<Self, LocalError> {
        let mapped = mapped
            .iter()
            .map(|(url, directory)| Ok((url.clone(), Repository::discover(directory)?)))
            .collect::<Result<_, LocalError>>()?;
        Ok(Self {
            mapped,
            known: Mutex::default(),
        })
    }

    /// The local clone of a repository.
    pub(super) fn locate(&self, url: &str) -> Option<Repository> {
        if let Some(repository) = self.mapped.get(url) {
            return Some(repository.clone());
        }
        let path = Path::new(url.strip_prefix("file://").unwrap_or(url));
        if !path.is_absolute() {
            return None;
        }
        locked(&self.known)
            .entry(url.to_owned())
            .or_insert_with(|| Repository::discover(path).ok())
            .clone()
    }

    /// Do two URLs name the same repository?
    pub(super) fn same(&self, one: &str, other: &str) -> bool {
        one == other
            || match (self.locate(one), self.locate(other)) {
                (Some(one), Some(other)) => one.path() == other.path(),
                _ => false,
            }
    }

    /// The URLs of those that are at hand and not named by their paths, sorted.
    pub(super) fn urls(&self) -> impl Iterator<Item = &str> {
        self.mapped.keys().map(String::as_str)
    }
}
