//! The reports of all runs of a job, so that a repeated request is answered
//! and not run again.
//!
//! One file with a line for each: to create a file for each run takes longer,
//! on some file systems, than all else that is done beside a run together.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pinpoint_core::{PairReport, RunReport};
use serde::{Deserialize, Serialize};

use super::{LocalError, files};

/// How the execution or the two executions of an action ended. A pair is kept
/// when both are done: one alone would have to wait for the other after a kill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Report {
    Run(Box<RunReport>),
    Pair(Box<PairReport>),
}

/// The reports by the number of their action.
#[derive(Debug)]
pub(super) struct Reports {
    path: PathBuf,
    file: File,
    /// Where the whole lines end.
    length: u64,
    known: HashMap<u64, Report>,
}

impl Reports {
    pub(super) fn open(path: &Path) -> Result<Self, LocalError> {
        let file = files::open_or_create(path)?;
        let content = fs::read(path).map_err(LocalError::io("read", path))?;
        let mut length = 0;
        let mut known = HashMap::new();
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            // Behind a line that was cut off by a kill there is nothing.
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

    pub(super) fn get(&self, action: u64) -> Option<&Report> {
        self.known.get(&action)
    }

    pub(super) fn add(&mut self, action: u64, report: Report) -> Result<(), LocalError> {
        let write = || {
            let mut line = serde_json::to_vec(&(action, &report))?;
            line.push(b'\n');
            // What a full disk cuts off is written over the next time.
            self.file.write_all_at(&line, self.length)?;
            Ok(line.len() as u64)
        };
        self.length += write().map_err(LocalError::io("write", &self.path))?;
        self.known.insert(action, report);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pinpoint_core::Commit;

    use super::*;

    fn run(index: u32) -> RunReport {
        RunReport {
            commit: Commit::new("repository", "hash").into(),
            index,
            bot: None,
            started: 0,
            chart: None,
            failure: None,
            charts: BTreeMap::new(),
            usage: None,
            exit_code: Some(0),
            log: None,
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_written_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.jsonl");
        let mut reports = Reports::open(&path).unwrap();
        let single = Report::Run(Box::new(run(0)));
        let pair = Report::Pair(Box::new(PairReport {
            first: run(1),
            second: run(2),
        }));
        reports.add(3, single.clone()).unwrap();
        reports.add(5, pair.clone()).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let mut cut = Reports::open(&path).unwrap();
            assert_eq!(cut.get(5), None);
            if cut.get(3).is_none() {
                cut.add(3, single.clone()).unwrap();
            }
            cut.add(5, pair.clone()).unwrap();
            let mended = Reports::open(&path).unwrap();
            assert_eq!(mended.get(3), Some(&single));
            assert_eq!(mended.get(5), Some(&pair));
        }
    }
}
