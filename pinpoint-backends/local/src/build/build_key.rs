//! The names of builds, made of all that decides them.
//!
//! A build has a name in the state directory of its machine, and another one in a store of
//! builds, where nothing counts that is different on each machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinpoint_core::CombinedCommit;
use sha2::{Digest, Sha256};

use crate::config::LocalConfig;
use crate::git::remotes::{by_url, url_of};
use crate::process::host;

/// The name of a build: SHA-256 over the state of the commit, the build command, which
/// repositories are available locally (in the store: what is checked out) and the declared
/// environment.
/// Each part is preceded by its length and each list by its count, so that no
/// two states read alike.
///
/// Those repositories decide which dependencies are laid out: a build from before one
/// was cloned must not be measured against one from after.
pub(crate) fn key(commit: &CombinedCommit, config: &LocalConfig, clones: &[String]) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    // Raised when the same state is built in another way.
    add("pinpoint build 3");
    let identity = commit.identity();
    add(&identity.len().to_string());
    identity.iter().for_each(|field| add(field));
    match &config.build {
        None => add("no build command"),
        Some(command) => {
            add("build command");
            add(command);
        }
    }
    add(&clones.len().to_string());
    clones.iter().for_each(|name| add(name));
    if config.trace {
        add("traced 3");
        add(&config.command.len().to_string());
        config.command.iter().for_each(|part| add(part));
        let results = config.results.as_deref().unwrap_or(Path::new(""));
        add(&results.to_string_lossy());
    }
    for (name, value) in &config.env {
        add(name);
        add(value);
    }
    hex::encode(hash.finalize())
}

/// The name of a build in a store: of the URLs and hashes of all that was laid out, by its
/// place, and of the system. Absent for a build that is not stored: without a build command,
/// of a repository without a URL, or with a trace, of which the store knows nothing.
pub(crate) fn stored_key(
    commit: &CombinedCommit,
    config: &LocalConfig,
    laid_out: &BTreeMap<PathBuf, (String, String)>,
) -> Option<String> {
    if config.build.is_none() || config.trace {
        return None;
    }
    let commit = by_url(commit, &config.urls)?;
    // Which dependencies were laid out depends on the clones of the machine.
    let mut checkouts = Vec::new();
    for (place, (name, hash)) in laid_out {
        let place = place.to_str()?.to_owned();
        checkouts.extend([place, url_of(name, &config.urls)?, hash.clone()]);
    }
    let mut name = Sha256::new_with_prefix("pinpoint stored build 2");
    name.update(key(&commit, config, &checkouts));
    name.update(host::system());
    Some(hex::encode(name.finalize()))
}
