//! The paths that a command accessed, and how.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The uses of a path, besides looking it up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Access {
    /// Its content was read, or may have been.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) read: bool,
    /// It was read other than by executing it or mapping it as code, which skips the parts that are
    /// not loaded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) whole: bool,
    /// Its size was read by its name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) sized: bool,
    /// The names in the directory were listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) listed: bool,
}

impl Access {
    pub(super) const LOOKED_UP: Self = Self {
        read: false,
        whole: false,
        sized: false,
        listed: false,
    };
    pub(super) const READ: Self = Self {
        read: true,
        whole: true,
        ..Self::LOOKED_UP
    };
    pub(super) const LOADED: Self = Self {
        read: true,
        ..Self::LOOKED_UP
    };
    pub(super) const SIZED: Self = Self {
        sized: true,
        ..Self::LOOKED_UP
    };
    pub(super) const LISTED: Self = Self {
        listed: true,
        ..Self::LOOKED_UP
    };

    pub(super) fn add(&mut self, other: Self) {
        self.read |= other.read;
        self.whole |= other.whole;
        self.sized |= other.sized;
        self.listed |= other.listed;
    }
}

/// The paths that a command looked up, as it named them, from the root.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Trace {
    pub(super) paths: BTreeMap<PathBuf, Access>,
    /// The programs that were started.
    pub(super) executed: BTreeSet<PathBuf>,
    /// Files that were made, or opened with creation, and new directories.
    pub(super) made: BTreeSet<PathBuf>,
    /// The paths at which files or links were put: with the command's own content.
    pub(super) placed: BTreeSet<PathBuf>,
    /// The symbolic links that were made, by their final paths.
    pub(super) links: BTreeSet<PathBuf>,
    /// The reason why these may be incomplete.
    pub(super) doubt: Option<String>,
}
