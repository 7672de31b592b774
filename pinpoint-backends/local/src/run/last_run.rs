//! The report of the last run of a job, which may not be in the journal yet when the process ends:
//! a request that is repeated is answered without another run.
//!
//! It is one file, overwritten each time: creating a file for each run takes longer, on some file
//! systems, than everything else around a run.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pinpoint_core::{CombinedCommit, RunReport};
use serde::{Deserialize, Serialize};

use crate::error::LocalError;
use crate::process::files;

/// The runs of an action, with the outcomes of its executions: one, or the two of a pair. A pair is
/// kept when both are done: one alone would have to wait for the other after a kill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ran {
    pub(crate) action: u64,
    pub(crate) commits: Vec<CombinedCommit>,
    /// The index of the run among those of its commits.
    pub(crate) index: u32,
    pub(crate) reports: Vec<RunReport>,
}

#[derive(Debug)]
pub(crate) struct LastRun {
    path: PathBuf,
    file: File,
    ran: Option<Ran>,
}

impl LastRun {
    pub(crate) fn open(path: &Path) -> Result<Self, LocalError> {
        let file = files::open_or_create(path)?;
        let content = fs::read(path).map_err(LocalError::io("read", path))?;
        Ok(Self {
            path: path.into(),
            file,
            // A file that was cut off by a kill is not read.
            ran: serde_json::from_slice(&content).ok(),
        })
    }

    /// The reports of an action's executions, if it was the last to run.
    ///
    /// After a loss of power the journal may lack its last records, and the number may belong to
    /// another run.
    pub(crate) fn get(
        &self,
        action: u64,
        commits: &[&CombinedCommit],
        index: u32,
    ) -> Option<&[RunReport]> {
        let ran = self.ran.as_ref()?;
        ((ran.action, ran.index) == (action, index)
            && ran.commits.iter().eq(commits.iter().copied()))
        .then_some(&ran.reports[..])
    }

    pub(crate) fn set(&mut self, ran: Ran) -> Result<(), LocalError> {
        let write = || {
            self.file.set_len(0)?;
            self.file.write_all_at(&serde_json::to_vec(&ran)?, 0)
        };
        write().map_err(LocalError::io("write", &self.path))?;
        self.ran = Some(ran);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pinpoint_core::Commit;

    use super::*;

    fn ran(action: u64, commits: &[&str], index: u32) -> Ran {
        Ran {
            action,
            commits: (commits.iter())
                .map(|hash| Commit::new("repository", *hash).into())
                .collect(),
            index,
            reports: vec![RunReport::new(7).value("time", 1.5); commits.len()],
        }
    }

    fn get(last: &LastRun, ran: &Ran) -> Option<Vec<RunReport>> {
        let commits: Vec<&CombinedCommit> = ran.commits.iter().collect();
        (last.get(ran.action, &commits, ran.index)).map(<[_]>::to_vec)
    }

    #[test]
    fn a_file_that_was_cut_off_is_written_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("last_run.json");
        let pair = ran(5, &["one", "two"], 1);
        LastRun::open(&path).unwrap().set(pair.clone()).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let mut last = LastRun::open(&path).unwrap();
            assert_eq!(get(&last, &pair), None);
            last.set(pair.clone()).unwrap();
            let last = LastRun::open(&path).unwrap();
            assert_eq!(get(&last, &pair), Some(pair.reports.clone()));
        }
        // A longer one leaves nothing behind.
        let single = ran(6, &["one"], 0);
        LastRun::open(&path).unwrap().set(single.clone()).unwrap();
        let last = LastRun::open(&path).unwrap();
        assert_eq!(get(&last, &single), Some(single.reports));
        assert_eq!(get(&last, &pair), None);
    }

    #[test]
    fn a_number_that_stands_for_another_run_is_not_answered() {
        let directory = tempfile::tempdir().unwrap();
        let mut last = LastRun::open(&directory.path().join("last_run.json")).unwrap();
        last.set(ran(3, &["one", "two"], 0)).unwrap();
        for other in [
            ran(4, &["one", "two"], 0),
            ran(3, &["one", "two"], 1),
            ran(3, &["two", "one"], 0),
            ran(3, &["one"], 0),
        ] {
            assert_eq!(get(&last, &other), None);
        }
    }
}
