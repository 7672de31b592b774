//! Jobs and their journals, in one SQLite file or in a PostgreSQL database.
//!
//! [`JobStore`] opens one, and has a view for each kind of thing in it: [`JobStore::jobs`],
//! [`JobStore::journals`], [`JobStore::leases`] and the others of [`views`].
//!
//! It is the same for both databases: all statements are written once, and the tables
//! come from one source. The differences are in `database.rs` and the folder `schema`.
//!
//! **SQLite** needs no server. A state directory holds
//!
//! ```text
//! pinpoint.db      every job, and every record of every journal (with -wal and -shm)
//! pinpoint.lock    held for a moment while the file is created or migrated
//! ```
//!
//! Any number of processes may use one directory. SQLite's write-ahead log lets them read while one
//! writes; it is written through to the operating system on every append, so that a killed process
//! loses nothing that was acknowledged, and to the disk only now and then (`synchronous=NORMAL`):
//! after a loss of power the last records may be missing, the file is sound, and their work is done
//! again. [`JobStore::open_with`] makes every append wait for the disk instead.
//!
//! **PostgreSQL** is for many machines. An acknowledged write is on its disk. The
//! tables are in a schema named `pinpoint`, or where the search path finds those of
//! an earlier version. Every wait for the server ends: see [`Patience`]. A broken
//! connection stops no job; the operation is retried, under a lease until the lease
//! expires. A record has its number, and a state its time, so that a write from before
//! the break is recognized and not repeated. Row locks keep the order: a commit that is
//! late to arrive is waited for, or never takes effect.
//!
//! Of many workers that could take the same job, one does: a [`Lease`] expires unless it is
//! renewed, and writes of a worker whose job another has taken are refused.
//!
//! A service with many users keeps more: an audit log, whose rows are written with their changes
//! ([`AuditEntry`]); idempotency keys ([`Creation`]); API tokens ([`NewToken`]); sessions of people
//! ([`Session`]); their preferences; and counts for quotas.
//!
//! Structs that callers fill in, such as [`NewJob`] and [`JobFilter`], have a default: end their
//! literals with `..Default::default()`, and a later field changes nothing.
//!
//! Each operation is a span of `tracing`, with the job's id and with no stored data: a
//! spec may hold secrets.
//!
//! ```
//! use pinpoint_store::{JobFilter, JobStore, NewJob, ListOrder, PagePosition};
//! use pinpoint_core::{BuildReport, Commit, JobState, Journal, Record, Report};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let state_dir = directory.path();
//! let store = JobStore::open(state_dir).await?;
//! let id = store
//!     .jobs()
//!     .create(&NewJob {
//!         kind: "bisection".into(),
//!         title: "pinpoint bisect v1 v2 -- ./bench.sh".into(),
//!         repository: "/src/tool".into(),
//!         benchmark: "bench.sh".into(),
//!         spec: serde_json::json!({ "magnitude": 1.5 }),
//!         ..NewJob::default()
//!     })
//!     .await?;
//! store.jobs().set_state(&id, JobState::Running, None, None).await?;
//! let mut journal = store.journals().open(&id).await?;
//! let built = BuildReport::built(Commit::new("/src/tool", "1f2e3d4").into());
//! let report = Report::Built(built);
//! journal.append(&Record::Reported { action: 1, report }).await?;
//! assert_eq!(journal.records().await?.len(), 1);
//!
//! let filter = JobFilter {
//!     benchmark: Some("bench.sh".into()),
//!     ..JobFilter::default()
//! };
//! let page = store.jobs().list(&filter, ListOrder::default(), &PagePosition::First, 50).await?;
//! assert_eq!(page.jobs[0].builds, 1);
//! # Ok(())
//! # }
//! ```

mod address;
mod answers;
mod audit;
mod audit_chain;
mod cancel_request;
mod cancellation;
mod change;
mod commits;
mod creation;
mod damage;
#[allow(
    missing_docs,
    reason = "other stores of ours share what is public here"
)]
mod database;
mod database_error;
mod error;
mod exchange;
mod export;
mod files;
mod filter;
mod holders;
mod import;
mod job;
mod job_answer;
mod job_prefix;
mod job_store;
mod jobs;
mod journal;
mod journals;
mod lease;
mod leases;
mod list;
mod lock;
mod order;
mod pause;
#[cfg(feature = "postgres")]
mod postgres;
mod preferences;
mod query;
mod queue;
mod quota_limit;
mod quotas;
mod recent_builds;
mod records;
mod rows;
mod schema;
mod secret;
#[cfg(feature = "postgres")]
mod server;
mod sessions;
mod signature;
#[doc(hidden)]
pub mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
mod standstill;
mod states;
mod text;
mod tokens;
pub mod views;
mod watch;
mod workers;

pub use address::without_password;
pub use answers::Placed;
pub use audit::{AuditCheck, AuditEntry, AuditFault, AuditFilter, AuditRow};
pub use creation::{Created, Creation, IdempotencyKey};
pub use database_error::DatabaseError;
pub use error::StoreError;
pub use files::{JobFile, KnownFile, MOST_FILE_BYTES};
pub use filter::{JobFilter, NameParts, Page, PagePosition, Total};
pub use holders::Holder;
pub use import::{Check, Imported};
pub use job::{CancelRequest, Job, JobId, JobSummary, NewJob, NewJobError, NoJobId};
pub use job_answer::{AnswerEffect, JobAnswer};
pub use job_prefix::JobPrefix;
pub use job_store::JobStore;
pub use journal::{JOURNAL_VERSION, JobJournal};
pub use lease::Lease;
pub use lock::{JobLock, LockError};
pub use order::{ListOrder, SortBy, SortKey};
#[cfg(feature = "postgres")]
pub use postgres::version_at;
pub use preferences::MOST_PREFERENCES_BYTES;
pub use quota_limit::QuotaLimit;
pub use quotas::Quota;
pub use recent_builds::RecentBuild;
pub use schema::SCHEMA_VERSION;
pub use secret::Secret;
#[cfg(feature = "postgres")]
pub use server::Patience;
pub use sessions::{MOST_SESSIONS, SIGN_IN, Session};
pub use signature::{KeyError, PublicKey, Signature, SigningKey};
#[cfg(feature = "sqlite")]
pub use sqlite::{Durability, version_in};
#[doc(hidden)]
pub use standstill::PAUSED;
pub use tokens::{NewToken, Token, TokenCheck};
pub use watch::{JobMark, JournalEntry};
pub use workers::{Announcement, WorkerEntry};

/// Milliseconds since 1970, as for every time in the file.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // A clock before 1970 counts as no clock.
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
