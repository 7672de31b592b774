//! The least memory that can be measured of a benchmark.
//!
//! On Linux the peak of a new process begins at the memory that it shares with its supervisor at its
//! start, a copy of this process.

use std::path::{Path, PathBuf};

use crate::error::LocalError;
use crate::process::files;

fn file(job_dir: &Path) -> PathBuf {
    job_dir.join("memory_floor.json")
}

/// Notes the peak of a run if its supervisor has as much.
pub(crate) fn note(job_dir: &Path, peak: u64, supervisor: u64) -> Result<(), LocalError> {
    /// The memory that a new process needs until it becomes another program.
    const START: u64 = 1 << 20;
    let own = supervisor + supervisor / 64 + START;
    let is_linux = cfg!(any(target_os = "linux", target_os = "android"));
    let file = file(job_dir);
    if is_linux && peak <= own && !file.exists() {
        files::write_json(&file, &own)?;
    }
    Ok(())
}

/// A remark for the job's user where the memory of a run could not be measured.
pub(crate) fn warning(job_dir: &Path) -> Result<Option<String>, LocalError> {
    let own: Option<u64> = files::read_json(&file(job_dir))?;
    Ok(own.map(|own| {
        format!(
            "the benchmark needs no more memory than pinpoint itself ({} MiB): changes below \
             that can't be seen",
            own.div_ceil(1 << 20)
        )
    }))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_seen_is_remarked_on_once() {
        let directory = tempfile::tempdir().unwrap();
        let job = directory.path();
        note(job, u64::MAX, 0).unwrap();
        assert_eq!(warning(job).unwrap(), None);
        note(job, 1, 0).unwrap();
        let first = warning(job).unwrap().unwrap();
        assert!(first.contains("than pinpoint itself ("), "{first}");
        note(job, 1, 0).unwrap();
        assert_eq!(warning(job).unwrap(), Some(first));

        let other = tempfile::tempdir().unwrap();
        note(other.path(), 1 << 40, 1 << 40).unwrap();
        assert!(warning(other.path()).unwrap().is_some());
    }
}
