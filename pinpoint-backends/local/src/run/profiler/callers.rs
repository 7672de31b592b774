//! perf's switch to DWARF, where frame pointers yield no callers.

use std::fs;
use std::path::{Path, PathBuf};

use super::perf;
use super::tool::{Profiler, Profiling};
use crate::error::LocalError;
use crate::job_remarks::Remark;

/// The remark on a job for which perf switched to DWARF.
const BY_DWARF: &str = "most stacks name no callers by frame pointers, which compilers leave out by \
    default: runs were recorded with perf-dwarf instead. -fno-omit-frame-pointer (Rust: -C \
    force-frame-pointers=yes) has perf find callers with less to record";

impl Profiling {
    /// The profiler of the next run of the job in this directory.
    pub(crate) fn of_next_run(&self, job_dir: &Path) -> Result<Profiler, LocalError> {
        let by_dwarf = self.dwarf_if_needed && Remark::CallersMissing.is_noted(job_dir)?;
        Ok(match by_dwarf {
            true => Profiler::PerfDwarf,
            false => self.profiler.clone(),
        })
    }

    /// Checks whether a run with these files has to be repeated because its stacks lack callers. A
    /// remark notes it, so that later runs use DWARF at once.
    pub(crate) fn is_to_be_repeated(
        &self,
        job_dir: &Path,
        files: &[PathBuf],
    ) -> Result<bool, LocalError> {
        if self.of_next_run(job_dir)? != Profiler::Perf || !self.dwarf_if_needed {
            return Ok(false);
        }
        for file in files {
            let text = fs::read(file).map_err(LocalError::io("read", file))?;
            if perf::lacks_callers(&String::from_utf8_lossy(&text)) {
                Remark::CallersMissing.note(job_dir, BY_DWARF)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_without_callers_are_repeated_with_dwarf() {
        let job = tempfile::tempdir().unwrap();
        let text = job.path().join("perf.txt");
        let files = std::slice::from_ref(&text);
        let mut profiling = Profiling {
            profiler: Profiler::Perf,
            keep: 1,
            dwarf_if_needed: false,
        };
        fs::write(
            &text,
            "w 1 1.0: 5 cycles:\n\t2 step+0x1 (/w)\n\t1 [unknown] (/w)\n\n",
        )
        .unwrap();
        assert!(!profiling.is_to_be_repeated(job.path(), files).unwrap());
        profiling.dwarf_if_needed = true;
        let next = |profiling: &Profiling| profiling.of_next_run(job.path()).unwrap();
        assert_eq!(next(&profiling), Profiler::Perf);
        assert!(profiling.is_to_be_repeated(job.path(), files).unwrap());
        assert_eq!(next(&profiling), Profiler::PerfDwarf);
        // Callers that DWARF does not find either are not looked for again.
        assert!(!profiling.is_to_be_repeated(job.path(), files).unwrap());
        let warnings = crate::run_warnings(job.path()).unwrap();
        assert!(
            warnings[0].contains("-fno-omit-frame-pointer"),
            "{warnings:?}"
        );
        profiling.dwarf_if_needed = false;
        assert_eq!(next(&profiling), Profiler::Perf);
    }
}
