//! Options of commands that carry out jobs which were created elsewhere.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use clap::Args;
use pinpoint_backends::local::{
    BuildStore, LocalError, Mirrors, Provisions, RepositoryPattern, default_machine_dir,
};

use super::STORAGE;
use super::values::repository;

// This machine's provisions for jobs that were created elsewhere.
#[derive(Debug, Args)]
pub(crate) struct ProvisionOptions {
    /// A clone on this machine, in place of fetching its URL; may be repeated. Nothing is
    /// fetched in it.
    #[arg(long, value_name = "URL=DIR", value_parser = repository, help_heading = STORAGE)]
    repository: Vec<(String, PathBuf)>,
    /// The repositories that jobs may have fetched into the state directory, as in
    /// `https://github.com/acme/*` or `git@host:**`; may be repeated. `*` is any name, and
    /// `**` any number of them. Without it, nothing is fetched.
    #[arg(long, value_name = "PATTERN", help_heading = STORAGE)]
    allow_repository: Vec<RepositoryPattern>,
    /// A directory in which machines keep builds for each other. They have to be alike: same
    /// system, same compilers.
    #[arg(long, value_name = "DIR", help_heading = STORAGE)]
    build_store: Option<PathBuf>,
    /// The disk space for the builds in it, as in 500MB or 20GiB.
    #[arg(long, value_name = "SIZE", default_value = "100GiB", help_heading = STORAGE)]
    build_store_size: ByteSize,
}

impl ProvisionOptions {
    /// The same options as words.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
        for (url, directory) in &self.repository {
            add("--repository", format!("{url}={}", directory.display()));
        }
        for pattern in &self.allow_repository {
            add("--allow-repository", pattern.to_string());
        }
        if let Some(directory) = &self.build_store {
            add("--build-store", directory.display().to_string());
        }
        words
    }

    /// Opens the named provisions. Jobs get their repositories by URL if these options say so, or
    /// if they were created on other machines (`elsewhere`).
    pub(crate) fn open(self, state_dir: &Path, elsewhere: bool) -> Result<Provisions, LocalError> {
        let is_named = !self.repository.is_empty() || !self.allow_repository.is_empty();
        let mirrors = (elsewhere || is_named).then(|| {
            let machine_dir = default_machine_dir();
            Mirrors::open(
                state_dir,
                &machine_dir,
                self.repository,
                self.allow_repository,
            )
        });
        let build_store = self.build_store.as_deref();
        let build_store =
            build_store.map(|root| BuildStore::open(root, self.build_store_size.as_u64()));
        Ok(Provisions {
            mirrors: mirrors.transpose()?,
            build_store: build_store.transpose()?,
        })
    }
}
