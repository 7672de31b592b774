//! `Cargo.lock`, in all four versions of its format.
//!
//! The origin of a package is its `source`: a kind, `+`, a URL, and for git the requested query and
//! the commit found: `git+https://host.example/tool?branch=next#1f2e3d…`. "Package ID
//! Specifications" in the Cargo Book describes its parts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use super::dependency::{Dependency, Source};
use super::error::{ManifestError, Problem};
use super::interface::{Manifest, check_size};

/// The newest known version of the format.
const NEWEST: u32 = 4;

/// The most opening braces in a file.
const MOST_BRACES: usize = 100;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Reads `Cargo.lock`.
///
/// A git dependency is one repository, for any number of packages, and its path is its URL; where
/// one URL is used with several branches, tags or revisions, the query follows, as in
/// `https://host.example/tool?branch=next`. A package from a registry has the path `name@version`,
/// the version cut to its compatible part, so that several of one name stay apart: `serde@1`,
/// `rand@0.8`; and ` from ` its registry where that is not crates.io. Packages of the workspace
/// itself are not named.
///
/// Of a git dependency's own manifests Cargo uses `.gitmodules` only.
#[derive(Debug, Clone, Copy)]
pub struct CargoLock;

#[derive(Deserialize)]
struct Lock {
    version: Option<Spanned<u32>>,
    #[serde(default)]
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: Spanned<String>,
    version: String,
    source: Option<Spanned<String>>,
}

impl Manifest for CargoLock {
    fn file(&self) -> &'static str {
        "Cargo.lock"
    }

    fn read(
        &self,
        file: &str,
        _gitlinks: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Dependency>, ManifestError> {
        check_size(self.file(), file)?;
        let error = |offset, problem| ManifestError::at(self.file(), file, offset, problem);
        // The parser recurses into anything like nested tables, to any depth, when something else
        // is wrong with them (crate toml 1.2), and Cargo writes none.
        if let Some((offset, _)) = file.match_indices('{').nth(MOST_BRACES) {
            let problem = Problem::TooLarge {
                what: "inline tables",
                limit: MOST_BRACES,
            };
            return Err(error(offset, problem));
        }
        let lock: Lock = toml::from_str(file).map_err(|failure| {
            let offset = failure.span().map_or(0, |span| span.start);
            error(offset, Problem::Syntax(failure.message().to_owned()))
        })?;
        if let Some(version) = lock.version.filter(|version| *version.get_ref() > NEWEST) {
            let problem =
                Problem::Unsupported(format!("version {} of the format", version.get_ref()));
            return Err(error(version.span().start, problem));
        }
        let mut dependencies = BTreeMap::new();
        // By URL, then by query: every revision that it is used with.
        let mut repositories: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
        for package in &lock.package {
            let Some(source) = &package.source else {
                continue;
            };
            if let Some(git) = source.get_ref().strip_prefix("git+") {
                let Some((url, revision)) = git.split_once('#') else {
                    let problem = Problem::Meaning("this source names no commit".into());
                    return Err(error(source.span().start, problem));
                };
                let (url, query) = url.split_once('?').unwrap_or((url, ""));
                repositories
                    .entry(url)
                    .or_default()
                    .entry(query)
                    .or_default()
                    .insert(revision);
                continue;
            }
            let path = path(package.name.get_ref(), &package.version, source.get_ref());
            let dependency = Source::Package {
                registry: source.get_ref().clone(),
                name: package.name.get_ref().clone(),
                version: package.version.clone(),
            };
            if let Some(known) = dependencies.insert(path, Dependency::from(dependency.clone()))
                && known.source != dependency
            {
                let problem = Problem::Meaning(format!(
                    "`{}` is locked to two versions that Cargo holds compatible",
                    package.name.get_ref()
                ));
                return Err(error(package.name.span().start, problem));
            }
        }
        for (url, queries) in repositories {
            let several = queries.values().map(BTreeSet::len).sum::<usize>() > 1;
            let uses = queries.iter().flat_map(|(query, revisions)| {
                let one_of = revisions.len();
                revisions
                    .iter()
                    .map(move |revision| (query, revision, one_of))
            });
            for (query, revision, one_of) in uses {
                let mut path = url.to_owned();
                if several && !query.is_empty() {
                    path.extend(["?", query]);
                }
                if one_of > 1 {
                    path.extend(["#", revision]);
                }
                let source = Source::Git {
                    url: url.to_owned(),
                    revision: (*revision).to_owned(),
                };
                let dependency = Dependency {
                    nested: vec![".gitmodules".into()],
                    ..source.into()
                };
                dependencies.insert(path, dependency);
            }
        }
        Ok(dependencies)
    }
}

/// The path of a package from a registry.
///
/// Versions are compatible when they agree up to the first part that is not zero:
/// "Semver compatibility" in the Cargo Book.
fn path(name: &str, version: &str, registry: &str) -> String {
    let numbers = version.split(['-', '+']).next().unwrap_or(version);
    let significant = numbers
        .split('.')
        .position(|part| part != "0")
        .map_or(usize::MAX, |zeros| zeros + 1);
    let compatible: Vec<&str> = numbers.split('.').take(significant).collect();
    let mut path = format!("{name}@{}", compatible.join("."));
    if registry != CRATES_IO {
        path.extend([" from ", registry]);
    }
    path
}
