//! Jobs and their journals in one SQLite file.
//!
//! A state directory holds
//!
//! ```text
//! pinpoint.db      every job, and every record of every journal (with -wal and -shm)
//! pinpoint.lock    held for a moment while the file is created or brought up to date
//! jobs/<id>/       what a job keeps beside it; `lock` is held while it runs
//! ```
//!
//! Any number of processes may use one directory. SQLite's write-ahead log lets
//! them read while one writes; it is written through to the operating system on
//! every append, so that a killed process loses nothing that was acknowledged,
//! and to the disk only now and then (`synchronous=NORMAL`): after a loss of
//! power the last records may be missing, the file is sound, and what they
//! recorded is done again.
//!
//! ```
//! use pinpoint_backends::sqlite::{NewJob, Store};
//! use pinpoint_core::{Event, Journal, JobState};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let state_dir = directory.path();
//! let store = Store::open(state_dir).await?;
//! let id = store
//!     .create(&NewJob {
//!         kind: "bisection".into(),
//!         title: "pinpoint bisect v1 v2 -- ./bench.sh".into(),
//!         repository: "/src/tool".into(),
//!         spec: serde_json::json!({ "magnitude": 1.5 }),
//!         config: serde_json::json!({}),
//!     })
//!     .await?;
//! store.set_state(&id, JobState::Running, None, None).await?;
//! let mut journal = store.journal(&id).await?;
//! journal.append(&Event::Built { action: 1 }.into()).await?;
//! assert_eq!(journal.records().await?.len(), 1);
//! # Ok(())
//! # }
//! ```

mod error;
mod job;
mod journal;
mod lock;
mod schema;
mod store;

pub use error::StoreError;
pub use job::{Job, JobId, JobSummary, NewJob};
pub use journal::{JOURNAL_VERSION, SqliteJournal};
pub use lock::{JobLock, LockError};
pub use schema::SCHEMA_VERSION;
pub use store::Store;

/// Milliseconds since 1970, as every time in the file is kept.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // A clock before 1970 is as good as no clock.
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
