//! The results of a traced build.

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_midpoint::manifest::all;
use serde::{Deserialize, Serialize};

use super::access::Access;
use super::reads::{Outside, Reads};

/// The results of a traced build, kept next to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Traced {
    /// The paths in the work tree that its build command and the benchmark accessed.
    reads: BTreeMap<String, Access>,
    /// The files elsewhere that they read.
    #[serde(default)]
    outside: BTreeMap<String, Outside>,
    /// Identifies the benchmark's reads.
    pub(crate) digest: Option<String>,
    /// The reason why the digest is missing, or the paths are incomplete.
    pub(crate) unproved: Option<String>,
}

impl Traced {
    /// Combines the reads of the build command, if there is one, with those of the benchmark and
    /// their digest.
    pub(crate) fn new(
        build: Option<Reads>,
        mut benchmark: Reads,
        digest: Result<String, String>,
    ) -> Self {
        let mut placed = build.iter().flat_map(|build| &build.placed);
        if let Some(place) = placed.find(|place| benchmark.seen.contains(*place)) {
            let doubt = format!(
                "it looks at {}, which the build command put outside of the work tree",
                place.display()
            );
            benchmark.doubt.get_or_insert(doubt);
        }
        let tree = |reads: &Reads| -> Vec<(String, Access)> {
            (reads.places.iter())
                .filter_map(|(path, access)| Some((path.strip_prefix("tree")?, *access)))
                .filter_map(|(path, access)| match path.strip_prefix('/') {
                    Some(path) => Some((path.to_owned(), access)),
                    None => path.is_empty().then(|| (String::new(), access)),
                })
                .collect()
        };
        let mut reads: BTreeMap<String, Access> = BTreeMap::new();
        for (path, access) in (build.iter()).chain([&benchmark]).flat_map(tree) {
            reads.entry(path).or_default().add(access);
        }
        let mut outside = benchmark.outside;
        outside.extend(build.iter().flat_map(|build| build.outside.clone()));
        let of = |who: &str, doubt: Option<String>| doubt.map(|doubt| format!("{who}: {doubt}"));
        let (digest, undigested) = match (benchmark.doubt, digest) {
            (Some(doubt), _) | (None, Err(doubt)) => (None, Some(doubt)),
            (None, Ok(digest)) => (Some(digest), None),
        };
        let in_build = build.and_then(|build| build.doubt);
        Self {
            reads,
            outside,
            digest,
            unproved: of("the build", in_build).or_else(|| of("the benchmark", undigested)),
        }
    }

    /// Keeps the results, unless files elsewhere have changed since: then the reads of a build are
    /// unknown.
    pub(crate) fn if_still_true(self) -> Self {
        let mut outside = self.outside.iter();
        let Some((path, _)) = outside.find(|(path, outside)| !outside.is_still(path)) else {
            return self;
        };
        Self {
            unproved: Some(format!("{path} has changed since it was built")),
            ..Self::default()
        }
    }

    /// The paths at which a work tree must equal this build's for the two to be the same, with true
    /// if the names of a directory count; absent when unknown.
    pub(crate) fn reads(&self) -> Option<BTreeMap<String, bool>> {
        let places = || {
            let mut places = (self.reads.iter())
                .map(|(path, access)| (path.clone(), access.listed))
                .collect();
            add_checkout(&mut places);
            places
        };
        self.unproved.is_none().then(places)
    }
}

/// Adds the paths that git and we read to fill a work tree: attributes in each parent directory of
/// a file, the manifests of dependencies, and those directories, any of which may be a submodule.
fn add_checkout(reads: &mut BTreeMap<String, bool>) {
    let mut directories = BTreeSet::from([String::new()]);
    for path in reads.keys() {
        let mut path = path.as_str();
        while let Some((directory, _)) = path.rsplit_once('/') {
            if !directories.insert(directory.to_owned()) {
                break;
            }
            path = directory;
        }
    }
    for directory in directories {
        let attributes = match &*directory {
            "" => ".gitattributes".to_owned(),
            directory => format!("{directory}/.gitattributes"),
        };
        reads.entry(attributes).or_default();
        reads.entry(directory).or_default();
    }
    for manifest in all() {
        reads.entry(manifest.file().into()).or_default();
    }
}
