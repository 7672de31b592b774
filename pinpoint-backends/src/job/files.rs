//! The files of a job's directory that go with it through the store, so that any machine can
//! continue it, and make a complete report.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use pinpoint_core::{Executor, ExecutorError, Heartbeat, Report, Request, Ticket};
use tokio::sync::{Mutex, RwLock};
use tracing::warn;

use crate::store::{JobFile, JobId, JobStore, KnownFile, Lease, StoreError};

/// The name of the patch that the commits of a job name, in the store and in the job's
/// directory.
pub const PATCH: &str = "patch";

/// Files that only grow.
const GROWING: [&str; 3] = ["runs/tails.jsonl", "sessions.jsonl", "remarks.jsonl"];

/// Small files that are rewritten.
const CHANGING: [&str; 3] = ["waits.json", "memory_floor.json", "reported.json"];

/// The folders with the outputs of builds and of failed runs, which are kept once they are
/// written, and the ends of their names.
const OUTPUTS: [(&str, &[&str]); 2] = [("builds", &["log"]), ("runs", &["out", "err"])];

/// The most bytes kept of an output, from its end. An executor keeps no more of a run's.
const LONGEST_OUTPUT: u64 = 132 << 10;

/// The most bytes kept of a job's outputs.
const MOST_OUTPUTS: u64 = 16 << 20;

/// The most bytes read of a file at once.
const MOST_AT_ONCE: u64 = 1 << 20;

/// Writes the files of a job to its directory, where they are missing or shorter than in the store.
///
/// # Errors
///
/// When the store cannot be read, or the directory written.
pub async fn fetch_files(store: &JobStore, id: &JobId, job_dir: &Path) -> Result<(), StoreError> {
    fetch(store, id, job_dir).await.map(drop)
}

async fn fetch(store: &JobStore, id: &JobId, job_dir: &Path) -> Result<Vec<JobFile>, StoreError> {
    let mut files = store.files().list(id).await?;
    // Names from elsewhere may not lead outside.
    files.retain(|file| {
        let name = &*file.known.name;
        GROWING.contains(&name) || is_changing(file) || name == PATCH || is_output(name)
    });
    for file in &files {
        let path = job_dir.join(&file.known.name);
        bring_up_to_date(&path, file).map_err(|source| StoreError::Directory { path, source })?;
    }
    Ok(files)
}

/// Checks whether it is a small file that can be read. A damaged one stays: the next machine
/// continues without it.
fn is_changing(file: &JobFile) -> bool {
    CHANGING.contains(&&*file.known.name) && is_json(&file.content)
}

/// Checks that it is the name of an output, and leads nowhere else.
fn is_output(name: &str) -> bool {
    OUTPUTS.iter().any(|(folder, ends)| {
        let name = name
            .strip_prefix(folder)
            .and_then(|it| it.strip_prefix('/'));
        let parts = name.and_then(|name| name.split_once('.'));
        parts.is_some_and(|(stem, end)| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            !stem.is_empty() && stem.bytes().all(is_plain) && ends.contains(&end)
        })
    })
}

/// The names of the outputs that a report mentions.
fn outputs_of(report: &Report) -> Vec<String> {
    let logs = match report {
        Report::Built(build) => vec![("builds", &build.log)],
        Report::Ran(run) => vec![("runs", &run.log)],
        Report::RanPair(pair) => vec![("runs", &pair.first.log), ("runs", &pair.second.log)],
        _ => Vec::new(),
    };
    let mut names = Vec::new();
    for (folder, log) in logs {
        let stem = log.as_deref().and_then(|log| Path::new(log).file_stem());
        let Some(stem) = stem.and_then(|stem| stem.to_str()) else {
            continue;
        };
        let ends = { OUTPUTS.iter() }.find(|(its, _)| *its == folder);
        let ends = ends.map_or(&[][..], |(_, ends)| ends);
        names.extend(ends.iter().map(|end| format!("{folder}/{stem}.{end}")));
    }
    names.retain(|name| is_output(name));
    names
}

fn is_json(content: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(content).is_ok()
}

fn bring_up_to_date(path: &Path, file: &JobFile) -> io::Result<()> {
    let here = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        here => Some(here?),
    };
    let is_whole = here.is_some_and(|here| match GROWING.contains(&&*file.known.name) {
        // The rest of this machine's file is added to the store when the job continues.
        true => here.starts_with(&file.content),
        // Possibly all of the output, of which the store has the end.
        false => here == file.content || is_output(&file.known.name),
    });
    if is_whole {
        return Ok(());
    }
    let directory = path.parent().unwrap_or(path);
    fs::create_dir_all(directory)?;
    let mut new = tempfile::NamedTempFile::new_in(directory)?;
    new.write_all(&file.content)?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Keeps the files of an active job in the store.
#[derive(Debug)]
pub(super) struct Keeper(Arc<Files>);

#[derive(Debug)]
struct Files {
    store: JobStore,
    lease: Lease,
    job_dir: PathBuf,
    /// Other machines keep files of the same job at the same time.
    shared: bool,
    kept: Mutex<StoredJobFiles>,
    /// Read-locked by tasks that are waiting to keep files.
    waiting: RwLock<()>,
}

/// The store's part of the files.
#[derive(Debug, Default)]
struct StoredJobFiles {
    growing: BTreeMap<String, KnownFile>,
    changing: BTreeMap<String, Vec<u8>>,
    /// Files that have outgrown the limit.
    full: Vec<String>,
    /// Bytes of outputs.
    outputs: u64,
    /// Outputs that are to be kept.
    awaited: BTreeSet<String>,
}

impl Keeper {
    /// The keeper of one of several machines that work on the job under one lease. Growing files have
    /// in the store the additions of all machines, and in the directory those of this one.
    #[cfg(feature = "temporal")]
    pub(super) async fn begin_shared(
        store: &JobStore,
        lease: &Lease,
        job_dir: &Path,
    ) -> Result<Self, StoreError> {
        let mut kept = StoredJobFiles::default();
        for file in store.files().list(lease.id()).await? {
            let name = &*file.known.name;
            if is_changing(&file) || name == PATCH {
                let path = job_dir.join(name);
                bring_up_to_date(&path, &file)
                    .map_err(|source| StoreError::Directory { path, source })?;
            }
        }
        for name in GROWING {
            let size = fs::metadata(job_dir.join(name)).map_or(0, |file| file.len());
            let known = KnownFile {
                name: name.into(),
                size,
                pieces: 0,
            };
            kept.growing.insert(name.into(), known);
        }
        Ok(Self::new(store, lease, job_dir, kept, true))
    }

    fn new(
        store: &JobStore,
        lease: &Lease,
        job_dir: &Path,
        kept: StoredJobFiles,
        shared: bool,
    ) -> Self {
        Self(Arc::new(Files {
            store: store.clone(),
            lease: lease.clone(),
            job_dir: job_dir.to_owned(),
            shared,
            kept: Mutex::new(kept),
            waiting: RwLock::default(),
        }))
    }

    /// Brings the directory up to date first.
    pub(super) async fn begin(
        store: &JobStore,
        lease: &Lease,
        job_dir: &Path,
    ) -> Result<Self, StoreError> {
        let mut kept = StoredJobFiles::default();
        for file in fetch(store, lease.id(), job_dir).await? {
            let name = file.known.name.clone();
            if is_output(&name) {
                kept.outputs += file.known.size;
            } else if CHANGING.contains(&&*name) {
                kept.changing.insert(name, file.content);
            } else {
                kept.growing.insert(name, file.known);
            }
        }
        Ok(Self::new(store, lease, job_dir, kept, false))
    }

    /// Adds new contents of the directory to the store. Failures are retried the next time: they
    /// must not end the job.
    pub(super) async fn keep(&self) {
        let _waiting = self.0.waiting.read().await;
        let files = Arc::clone(&self.0);
        // In a separate task: a transaction must proceed while the caller is not polled, as when
        // that waits for its turn to write.
        if let Err(error) = tokio::spawn(async move { files.keep().await }).await {
            warn!(%error, "the files of the job were not kept");
        }
    }

    /// As [`keep`](Self::keep), with the outputs that a report mentions.
    pub(super) async fn keep_with(&self, report: &Report) {
        let outputs = outputs_of(report);
        let left_nothing = matches!(report, Report::Listed(_) | Report::Built(_));
        // Of several machines, this one may have done no other work.
        if outputs.is_empty() && left_nothing && !self.0.shared {
            return;
        }
        self.0.kept.lock().await.awaited.extend(outputs);
        self.keep().await;
    }

    /// Returns when all files are kept, and the callers have continued.
    pub(super) async fn at_rest(&self) {
        drop(self.0.waiting.write().await);
    }
}

impl Files {
    async fn keep(&self) {
        let mut kept = self.kept.lock().await;
        let unkept = |name: &str, error: io::Error| {
            warn!(name, %error, "a file of the job was not kept; it is tried again");
        };
        for name in GROWING {
            if let Err(error) = self.keep_growing(&mut kept, name).await {
                unkept(name, error);
            }
        }
        for name in CHANGING {
            if let Err(error) = self.keep_changing(&mut kept, name).await {
                unkept(name, error);
            }
        }
        for name in kept.awaited.clone() {
            match self.keep_output(&mut kept, &name).await {
                Ok(()) => {
                    kept.awaited.remove(&name);
                }
                Err(error) => unkept(&name, error),
            }
        }
    }

    async fn keep_output(&self, kept: &mut StoredJobFiles, name: &str) -> io::Result<()> {
        let mut file = match File::open(self.job_dir.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_OUTPUT)))?;
        let mut content = Vec::new();
        file.take(LONGEST_OUTPUT).read_to_end(&mut content)?;
        let size = content.len() as u64;
        if self.shared {
            kept.outputs = self.outputs_of_all().await.map_err(io::Error::other)?;
        }
        if kept.outputs + size > MOST_OUTPUTS {
            return Ok(());
        }
        let known = new_file(name);
        let added = self
            .store
            .files()
            .append(&self.lease, &known, &content)
            .await;
        added.map_err(io::Error::other)?;
        kept.outputs += size;
        Ok(())
    }

    /// The bytes of outputs that the store has, from all machines.
    async fn outputs_of_all(&self) -> Result<u64, StoreError> {
        let sizes = self.store.files().sizes(self.lease.id()).await?;
        let outputs = sizes.iter().filter(|(name, _)| is_output(name));
        Ok(outputs.map(|(_, size)| size).sum())
    }

    async fn keep_growing(&self, kept: &mut StoredJobFiles, name: &str) -> io::Result<()> {
        let known = (kept.growing).entry(name.into()).or_insert(new_file(name));
        let mut file = File::open(self.job_dir.join(name))?;
        loop {
            file.seek(SeekFrom::Start(known.size))?;
            let mut more = Vec::new();
            (&mut file).take(MOST_AT_ONCE).read_to_end(&mut more)?;
            if more.is_empty() || kept.full.iter().any(|full| full == name) {
                return Ok(());
            }
            let added = match self.shared {
                true => self.store.files().add(&self.lease, name, &more).await,
                false => self.store.files().append(&self.lease, known, &more).await,
            };
            if !added.map_err(io::Error::other)? {
                kept.full.push(name.into());
                return Ok(());
            }
            known.size += more.len() as u64;
            known.pieces += 1;
        }
    }

    async fn keep_changing(&self, kept: &mut StoredJobFiles, name: &str) -> io::Result<()> {
        let mut content = Vec::new();
        let file = File::open(self.job_dir.join(name))?;
        file.take(MOST_AT_ONCE).read_to_end(&mut content)?;
        if kept.changing.get(name) == Some(&content) || !is_json(&content) {
            return Ok(());
        }
        let anew = new_file(name);
        let added = self
            .store
            .files()
            .append(&self.lease, &anew, &content)
            .await;
        added.map_err(io::Error::other)?;
        kept.changing.insert(name.into(), content);
        Ok(())
    }
}

/// A file that the store lacks.
fn new_file(name: &str) -> KnownFile {
    KnownFile {
        name: name.into(),
        size: 0,
        pieces: 0,
    }
}

/// An executor whose builds and runs leave their files in the store before they are reported.
pub(super) struct Keeping<'a> {
    pub(super) executor: &'a dyn Executor,
    pub(super) keeper: &'a Keeper,
}

#[async_trait]
impl Executor for Keeping<'_> {
    async fn start(&self, request: &Request) -> Result<Ticket, ExecutorError> {
        self.executor.start(request).await
    }

    async fn wait(
        &self,
        request: &Request,
        ticket: &Ticket,
        heartbeat: &Heartbeat,
    ) -> Result<Report, ExecutorError> {
        let report = self.executor.wait(request, ticket, heartbeat).await?;
        self.keeper.keep_with(&report).await;
        Ok(report)
    }

    async fn cancel(&self, ticket: &Ticket) -> Result<(), ExecutorError> {
        self.executor.cancel(ticket).await
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use std::future::{Future, poll_fn};
    use std::pin::pin;
    use std::task::Poll;
    use std::time::Duration;

    use super::*;
    use crate::store::{Creation, NewJob};

    #[test]
    fn outputs_have_plain_names_in_their_folders() {
        for name in ["builds/0af3.log", "runs/17.out", "runs/17-first.err"] {
            assert!(is_output(name), "{name}");
        }
        for name in [
            "builds/../x.log",
            "builds/.log",
            "builds/a.json",
            "runs/a/b.out",
            "runs/tails.jsonl",
            "/runs/1.out",
            "1.out",
            "runs1.out",
        ] {
            assert!(!is_output(name), "{name}");
        }
        let mut run = pinpoint_core::RunReport::new(0);
        assert_eq!(outputs_of(&Report::Ran(run.clone())), [""; 0]);
        run.log = Some("/elsewhere/runs/17.out".into());
        assert_eq!(
            outputs_of(&Report::Ran(run)),
            ["runs/17.out", "runs/17.err"]
        );
    }

    #[tokio::test]
    async fn a_damaged_note_is_not_kept_and_does_not_come_back() {
        let directory = tempfile::tempdir().unwrap();
        let store = JobStore::open(directory.path()).await.unwrap();
        let job = NewJob {
            kind: "bisection".into(),
            ..NewJob::default()
        };
        let damaged: [(&str, &[u8]); 1] = [("waits.json", b"{")];
        let creation = Creation {
            files: &damaged,
            ..Creation::default()
        };
        let id = store.jobs().create_with(&job, &creation).await.unwrap().id;
        let lease = store
            .leases()
            .grant(&id, "ada", Duration::from_secs(3600))
            .await
            .unwrap();
        let here = directory.path().join("job");
        let keeper = Keeper::begin(&store, &lease, &here).await.unwrap();
        let waits = here.join("waits.json");
        assert!(!waits.exists());
        fs::create_dir_all(&here).unwrap();
        let kept = async || {
            keeper.keep().await;
            let files = store.files().list(&id).await.unwrap();
            files
                .into_iter()
                .map(|file| file.content)
                .collect::<Vec<_>>()
        };
        fs::write(&waits, "{}").unwrap();
        assert_eq!(kept().await, [b"{}"]);
        fs::write(&waits, [0, 0]).unwrap();
        assert_eq!(kept().await, [b"{}"]);
        // The next worker here gets the undamaged one.
        fetch_files(&store, &id, &here).await.unwrap();
        assert_eq!(fs::read(&waits).unwrap(), b"{}");
    }

    #[tokio::test]
    async fn keeping_a_file_goes_on_while_its_caller_waits_for_something_else() {
        let directory = tempfile::tempdir().unwrap();
        let store = JobStore::open(directory.path()).await.unwrap();
        let job = NewJob {
            kind: "bisection".into(),
            ..NewJob::default()
        };
        let id = store.jobs().create(&job).await.unwrap();
        let time = Duration::from_secs(3600);
        let lease = store.leases().grant(&id, "ada", time).await.unwrap();
        let file = directory.path().join("sessions.jsonl");
        for polls in 0..20 {
            let keeper = Keeper::begin(&store, &lease, directory.path())
                .await
                .unwrap();
            fs::write(&file, vec![b' '; polls + 1]).unwrap();
            let mut keeping = pin!(keeper.keep());
            let (mut polled, mut ended) = (0, false);
            let some = poll_fn(|context| {
                polled += 1;
                ended = keeping.as_mut().poll(context).is_ready();
                match ended || polled > polls {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                }
            });
            some.await;
            // It would wait for half a minute, and then fail.
            store.jobs().create(&job).await.unwrap();
            // Only one keeper runs at a time.
            if !ended {
                keeping.await;
            }
        }
    }
}
