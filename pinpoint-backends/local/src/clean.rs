//! Removing what no live job uses from the state directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::build::shrink::{CleanReport, names, names_before};
use crate::error::LocalError;
use crate::git::workspace::{Borrowed, Workspace};
use crate::process::files::{self, Mode};
use crate::run::profiler;

/// The builds that [`clean`] keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CleanOptions {
    /// Bytes of finished builds that may stay, the most recently used; none by
    /// default.
    pub keep: u64,
}

/// Removes builds, remains of interrupted builds, our repositories that no build needs, the locks
/// of all these, and the profiles of jobs; never anything that a live job uses.
///
/// # Errors
///
/// [`LocalError::Io`] when the state directory can't be read. Directories that can't be removed are
/// in the report.
pub fn clean(state_dir: &Path, options: CleanOptions) -> Result<CleanReport, LocalError> {
    let state = Workspace::open(state_dir)?;
    let mut report = state.shrink(options.keep)?;
    // Taken before looking at the builds: none is started from here on.
    let nobody_builds = files::try_lock(&state.making(), Mode::Alone)?;
    profiler::clean(&state.state_dir().join("jobs"), &mut report)?;
    let mut needed = BTreeSet::new();
    for key in names(&state.state_dir().join("builds"))? {
        let place = state.build_dir_named(&key);
        if let Some(marker) = place.marker()? {
            needed.extend(marker.repositories);
            continue;
        }
        match files::try_lock(&place.lock, Mode::Alone)? {
            None => report.in_use.push(place.path),
            Some(_alone) => report.take(place.path),
        }
    }
    for name in names(&state.state_dir().join("locks"))? {
        let place = state.build_dir_named(&name);
        forget_lock(&place.lock, &place.path)?;
    }
    if nobody_builds.is_none() {
        return Ok(report);
    }
    let repositories = state.state_dir().join("repositories");
    for name in names(&repositories)? {
        let borrowed = Borrowed::at(repositories.join(name));
        if needed.contains(borrowed.path()) {
            continue;
        }
        match files::try_lock(&borrowed.lock, Mode::Alone)? {
            None => report.in_use.push(borrowed.path().to_owned()),
            Some(_alone) => report.take(borrowed.path().to_owned()),
        }
    }
    for name in names_before(&repositories, ".lock")? {
        let borrowed = Borrowed::at(repositories.join(name));
        forget_lock(&borrowed.lock, borrowed.path())?;
    }
    if state.mirrors().is_dir() {
        state.clean_mirrors(&mut report)?;
    }
    Ok(report)
}

impl Workspace {
    /// Removes the mirrors that no process reads and none of our repositories borrows from, and
    /// remains of clones.
    fn clean_mirrors(&self, report: &mut CleanReport) -> Result<(), LocalError> {
        let mut lenders = Vec::new();
        for name in names(&self.repositories())? {
            let borrowed = Borrowed::at(self.repositories().join(name));
            lenders.extend(fs::read(borrowed.path().join("objects/info/alternates")));
        }
        for name in names(&self.mirrors())? {
            let path = self.mirrors().join(name);
            let objects = format!("{}\n", path.join("objects").display());
            if lenders.iter().any(|lender| lender == objects.as_bytes()) {
                continue;
            }
            match files::try_lock(&path.with_extension("used"), Mode::Alone)? {
                None => report.in_use.push(path),
                Some(_alone) => report.take(path),
            }
        }
        for end in ["new", "damaged"] {
            for name in names_before(&self.mirrors(), &format!(".{end}"))? {
                let path = self.mirrors().join(name);
                if let Some(_alone) = files::try_lock(&path.with_extension("lock"), Mode::Alone)? {
                    report.take(path.with_extension(end));
                }
            }
        }
        for end in ["lock", "used"] {
            for name in names_before(&self.mirrors(), &format!(".{end}"))? {
                let path = self.mirrors().join(name);
                forget_lock(&path.with_extension(end), &path)?;
            }
        }
        Ok(())
    }
}

/// Removes the lock file of something that no longer exists.
fn forget_lock(lock: &Path, locked: &Path) -> Result<(), LocalError> {
    if locked.exists() {
        return Ok(());
    }
    match files::try_lock(lock, Mode::Alone)? {
        // It was made again in the meantime.
        Some(_alone) if locked.exists() => Ok(()),
        Some(_alone) => Ok(files::remove(lock)?),
        None => Ok(()),
    }
}
