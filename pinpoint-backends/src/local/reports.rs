//! The reports of all runs of a job, so that a repeated request is answered
//! without another run.
//!
//! One file with a line for each: creating a file for each run takes longer, on some file
//! systems, than everything else done beside a run.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pinpoint_core::{CombinedCommit, RunReport};
use serde::{Deserialize, Serialize};

use super::error::LocalError;
use super::files;

/// The runs of an action, and how each of its executions ended: one, or the two of a pair.
/// A pair is kept when both are done: one alone would have to wait for the other after a
/// kill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Ran {
    pub(super) commits: Vec<CombinedCommit>,
    /// The index of the run among those of its commits.
    pub(super) index: u32,
    pub(super) reports: Vec<RunReport>,
}

/// The reports by the number of their action.
#[derive(Debug)]
pub(super) struct Reports {
    path: PathBuf,
    file: File,
    /// The length up to the end of the last whole line.
    length: u64,
    known: HashMap<u64, Ran>,
}

impl Reports {
    pub(super) fn open(path: &Path) -> Result<Self, LocalError> {
        let file = files::open_or_create(path)?;
        let content = fs::read(path).map_err(LocalError::io("read", path))?;
        let mut length = 0;
        let mut known = HashMap::new();
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            // A line that was cut off by a kill is the last one.
            let (true, Ok((action, report))) =
                (line.ends_with(b"\n"), serde_json::from_slice(line))
            else {
                break;
            };
            known.insert(action, report);
            length += line.len() as u64;
        }
        Ok(Self {
            path: path.into(),
            file,
            length,
            known,
        })
    }

    /// The reports of an action's executions, if it ran this.
    ///
    /// After a loss of power the journal may lack its last records, and the number may
    /// belong to another run.
    pub(super) fn get(
        &self,
        action: u64,
        commits: &[&CombinedCommit],
        index: u32,
    ) -> Option<&[RunReport]> {
        let ran = self.known.get(&action)?;
        (ran.index == index && ran.commits.iter().eq(commits.iter().copied()))
            .then_some(&ran.reports[..])
    }

    pub(super) fn add(&mut self, action: u64, ran: Ran) -> Result<(), LocalError> {
        let write = || {
            let mut line = serde_json::to_vec(&(action, &ran))?;
            line.push(b'\n');
            // A line cut off by a full disk is overwritten the next time.
            self.file.write_all_at(&line, self.length)?;
            Ok(line.len() as u64)
        };
        self.length += write().map_err(LocalError::io("write", &self.path))?;
        self.known.insert(action, ran);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pinpoint_core::Commit;

    use super::*;

    fn ran(commits: &[&str], index: u32) -> Ran {
        Ran {
            commits: (commits.iter())
                .map(|hash| Commit::new("repository", *hash).into())
                .collect(),
            index,
            reports: vec![RunReport::new(7).value("time", 1.5); commits.len()],
        }
    }

    fn get(reports: &Reports, action: u64, ran: &Ran) -> Option<Vec<RunReport>> {
        let commits: Vec<&CombinedCommit> = ran.commits.iter().collect();
        (reports.get(action, &commits, ran.index)).map(<[_]>::to_vec)
    }

    #[test]
    fn a_line_that_was_cut_off_is_written_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.jsonl");
        let mut reports = Reports::open(&path).unwrap();
        let (single, pair) = (ran(&["one"], 0), ran(&["one", "two"], 1));
        reports.add(3, single.clone()).unwrap();
        reports.add(5, pair.clone()).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let mut cut = Reports::open(&path).unwrap();
            assert_eq!(get(&cut, 5, &pair), None);
            if get(&cut, 3, &single).is_none() {
                cut.add(3, single.clone()).unwrap();
            }
            cut.add(5, pair.clone()).unwrap();
            let mended = Reports::open(&path).unwrap();
            assert_eq!(get(&mended, 3, &single), Some(single.reports.clone()));
            assert_eq!(get(&mended, 5, &pair), Some(pair.reports.clone()));
        }
    }

    #[test]
    fn a_number_that_stands_for_another_run_is_not_answered() {
        let directory = tempfile::tempdir().unwrap();
        let mut reports = Reports::open(&directory.path().join("runs.jsonl")).unwrap();
        reports.add(3, ran(&["one", "two"], 0)).unwrap();
        for other in [
            ran(&["one", "two"], 1),
            ran(&["two", "one"], 0),
            ran(&["one"], 0),
        ] {
            assert_eq!(get(&reports, 3, &other), None);
        }
    }
}
