//! Stores the profiles of a job.
//!
//! `JOB/profiles/RUN/` holds the profiler's files for one run, each compressed with gzip. It is
//! moved there as a whole: after a kill it is either complete or missing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::recording::all_in;
use crate::build::shrink::CleanReport;
use crate::error::LocalError;
use crate::process::files::{self, Mode};

/// The directory of profiles within that of a job.
const DIRECTORY: &str = "profiles";

/// Ends the names of directories that are being filled.
const UNFINISHED: &str = ".unfinished";

/// The first bytes of a compressed file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The profiles of a job.
#[doc(hidden)]
pub struct ProfileStore {
    place: PathBuf,
    /// The most bytes of profiles.
    most: u64,
    /// Held while a run is moved into place: several may end together.
    placing: Mutex<()>,
}

impl ProfileStore {
    /// Opens those of the job in this directory. Removes unfinished ones of an earlier process.
    #[doc(hidden)]
    pub fn open(job_dir: &Path, most: u64) -> Result<Self, LocalError> {
        let place = job_dir.join(DIRECTORY);
        files::create_dir(&place)?;
        for entry in fs::read_dir(&place).map_err(LocalError::io("read", &place))? {
            let path = entry.map_err(LocalError::io("read", &place))?.path();
            if path
                .extension()
                .is_some_and(|it| UNFINISHED.ends_with(&*it.to_string_lossy()))
            {
                files::remove(&path)?;
            }
        }
        Ok(Self {
            place,
            most,
            placing: Mutex::default(),
        })
    }

    /// Keeps the profile of a run; returns false when there is no space for it.
    #[doc(hidden)]
    pub fn add(&self, run: &str, profile: &[PathBuf]) -> Result<bool, LocalError> {
        let unfinished = self.place.join(format!("{run}{UNFINISHED}"));
        files::create_dir(&unfinished)?;
        let filled = self.fill(&unfinished, profile);
        if !matches!(filled, Ok(true)) {
            // On a full disk, it would prevent the freeing of space.
            files::remove(&unfinished)?;
            return filled;
        }
        let _alone = self.placing.lock().unwrap_or_else(PoisonError::into_inner);
        let read = LocalError::io("read", &self.place);
        if size(&self.place).map_err(read)? > self.most {
            files::remove(&unfinished)?;
            return Ok(false);
        }
        let finished = self.place.join(run);
        // One of the same run, repeated after a kill.
        files::remove(&finished)?;
        fs::rename(&unfinished, &finished).map_err(LocalError::io("write", &finished))?;
        Ok(true)
    }

    /// Copies the files, as far as space permits: a profiler may write more than the disk holds.
    fn fill(&self, place: &Path, profile: &[PathBuf]) -> Result<bool, LocalError> {
        let mut room = self.most;
        for (number, path) in profile.iter().enumerate() {
            let target = place.join(format!("{number}.gz"));
            let written =
                compress(path, &target, room).map_err(LocalError::io("write", &target))?;
            match written {
                Some(written) => room -= written,
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// Copies a file, compressed if necessary, and returns the bytes written; `None` when they would
/// exceed `room`.
fn compress(from: &Path, to: &Path, room: u64) -> io::Result<Option<u64>> {
    let mut source = File::open(from)?;
    let mut begin = [0; 2];
    let length = io::Read::read(&mut source, &mut begin)?;
    io::Seek::rewind(&mut source)?;
    let target = Bounded {
        file: File::create(to)?,
        written: 0,
        room,
    };
    let written = if length == begin.len() && begin == GZIP {
        let mut target = target;
        io::copy(&mut source, &mut target).map(|_| target)
    } else {
        let mut encoder = GzEncoder::new(target, Compression::fast());
        io::copy(&mut source, &mut encoder).and_then(|_| encoder.finish())
    };
    match written {
        Ok(target) => target.file.sync_all().map(|()| Some(target.written)),
        Err(error) if error.get_ref().is_some_and(|it| it.is::<NoRoom>()) => Ok(None),
        Err(error) => Err(error),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("there is no more room")]
struct NoRoom;

/// A file of a limited number of bytes.
struct Bounded {
    file: File,
    written: u64,
    room: u64,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written + bytes.len() as u64 > self.room {
            return Err(io::Error::other(NoRoom));
        }
        let length = self.file.write(bytes)?;
        self.written += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The bytes of all files below a directory.
fn size(place: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += match metadata.is_dir() {
            true => size(&entry.path())?,
            false => metadata.len(),
        };
    }
    Ok(bytes)
}

/// The files of the profile of a run, by the run's name in the job: the number of its action, and
/// `-first` or `-second` in a pair. Empty when none were kept, or they were removed.
///
/// # Errors
///
/// When the directory can't be read.
pub fn kept_profiles(job_dir: &Path, run: &str) -> Result<Vec<PathBuf>, LocalError> {
    let place = job_dir.join(DIRECTORY).join(run);
    if !place.is_dir() {
        return Ok(Vec::new());
    }
    all_in(&place)
}

/// Removes the profiles of all jobs that no process works on.
pub(crate) fn clean(jobs: &Path, report: &mut CleanReport) -> Result<(), LocalError> {
    let entries = match fs::read_dir(jobs) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(LocalError::io("read", jobs)(error)),
    };
    for entry in entries {
        let job_dir = entry.map_err(LocalError::io("read", jobs))?.path();
        let profiles = job_dir.join(DIRECTORY);
        if !profiles.is_dir() {
            continue;
        }
        // Held while a process works on the job.
        match files::try_lock(&job_dir.join("lock"), Mode::Alone)? {
            None => report.in_use.push(profiles),
            Some(_alone) => report.take(profiles),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn profiles_are_kept_whole_while_there_is_room() {
        let job = tempfile::tempdir().unwrap();
        let written = job.path().join("x.txt");
        fs::write(&written, "main;parse 3\n").unwrap();
        let kept = ProfileStore::open(job.path(), 100).unwrap();
        assert!(kept.add("7-first", std::slice::from_ref(&written)).unwrap());
        let files = kept_profiles(job.path(), "7-first").unwrap();
        let mut text = String::new();
        GzDecoder::new(File::open(&files[0]).unwrap())
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "main;parse 3\n");
        // A compressed file is copied.
        assert!(kept.add("7-second", &files).unwrap());
        let copy = kept_profiles(job.path(), "7-second").unwrap();
        assert_eq!(fs::read(&copy[0]).unwrap(), fs::read(&files[0]).unwrap());
        assert!(
            !kept
                .add("8-first", &[written.clone(), written.clone()])
                .unwrap()
        );
        assert!(kept_profiles(job.path(), "8-first").unwrap().is_empty());
        let unfinished = job.path().join("profiles/9-first.unfinished");
        fs::create_dir(&unfinished).unwrap();
        ProfileStore::open(job.path(), 100).unwrap();
        assert!(!unfinished.exists());
    }

    /// A file that appears to be long and takes no space: all of it would take minutes to compress.
    #[test]
    fn what_has_no_room_is_not_written_to_its_end() {
        let job = tempfile::tempdir().unwrap();
        let written = job.path().join("x.txt");
        let file = File::create(&written).unwrap();
        file.set_len(1 << 42).unwrap();
        let kept = ProfileStore::open(job.path(), 10_000).unwrap();
        assert!(!kept.add("7-first", &[written]).unwrap());
        assert!(kept.add("8-first", &[job.path().join("absent")]).is_err());
        let left = fs::read_dir(job.path().join(DIRECTORY)).unwrap();
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn runs_that_end_together_are_all_kept() {
        let job = tempfile::tempdir().unwrap();
        let written = job.path().join("x.txt");
        fs::write(&written, "main;parse 3\n").unwrap();
        let kept = ProfileStore::open(job.path(), u64::MAX).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (kept, written) = (&kept, std::slice::from_ref(&written));
                scope.spawn(move || {
                    for run in 0..20 {
                        assert!(kept.add(&format!("{thread}-{run}"), written).unwrap());
                    }
                });
            }
        });
        let runs = fs::read_dir(job.path().join(DIRECTORY)).unwrap();
        assert_eq!(runs.count(), 160);
    }

    #[test]
    fn profiles_of_a_job_that_is_worked_on_stay() {
        let jobs = tempfile::tempdir().unwrap();
        let profiles = |job: &str| jobs.path().join(job).join(DIRECTORY);
        for job in ["a", "b"] {
            fs::create_dir_all(profiles(job)).unwrap();
        }
        let held = files::try_lock(&jobs.path().join("b/lock"), Mode::Alone).unwrap();
        let mut report = CleanReport::default();
        clean(jobs.path(), &mut report).unwrap();
        clean(&jobs.path().join("none"), &mut report).unwrap();
        assert_eq!(report.removed, [profiles("a")]);
        assert_eq!(report.in_use, [profiles("b")]);
        assert!(!profiles("a").exists() && profiles("b").exists());
        drop(held);
    }
}
