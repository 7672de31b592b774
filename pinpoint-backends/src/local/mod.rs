//! Commits, builds and runs on this machine, with `git` and processes.
//!
//! [`Repository`] finds and orders commits; [`LocalExecutor`] builds and runs
//! them. What a job needs besides its requests is in [`LocalConfig`], and where
//! things are kept in [`Location`]. [`LocalHistory`] tells what lies between two
//! commits, and [`LocalRepositories`] finds the repositories of dependencies.
//!
//! # What is written, and where
//!
//! The user's repository is read and never written: not its files, index,
//! branches or stash, nor anything in `.git`. Work trees belong to a bare
//! repository of our own that borrows the user's objects.
//!
//! | path | holds |
//! | --- | --- |
//! | `STATE/repositories/<hash>` | our bare repository for one of the user's |
//! | `STATE/builds/<key>` | one build: its work tree, checkouts of modules beside it, and a marker written last |
//! | `STATE/locks/<key>` | held shared by the users of that build, alone by its maker |
//! | `STATE/locks/making` | held shared by all who make builds, alone by whoever removes repositories |
//! | `JOB/builds/<key>.log` | the output of a build |
//! | `JOB/runs.jsonl` | the report of every run |
//! | `JOB/runs/last.out`, `.err` | the output of the last run |
//! | `JOB/runs/<action>.out`, `.err` | the output of a run that failed; of a pair, `<action>-first` and `<action>-second` |
//! | `JOB/runs/tails.jsonl` | how the output of each run ended |
//! | `JOB/metric.json` | the format and the chart, fixed at the first run |
//! | `MACHINE/…` | the locks that all jobs on this machine share |
//!
//! # Locks
//!
//! A build holds the machine together with other builds; a run holds it alone.
//! Every lock is an advisory lock on an open file, so the kernel lets go of it
//! when its holder dies, in whatever way. What the holder had started may live
//! on: its process group is on record beside the lock, and whoever comes next
//! ends it first (on Linux; elsewhere nothing tells a process from a later one
//! of the same number without privileges, and such leftovers are left alone).
//!
//! # What is not done
//!
//! Nothing is fetched, neither dependencies that are not at hand nor files kept by
//! Git LFS: the build command can do that. The user's branches and tags are not visible to `git` in a work
//! tree. A process that leaves its process group escapes timeouts.
mod at_hand;
mod blame;
mod build;
mod commit_diff;
mod config;
mod dependencies;
mod error;
mod executor;
mod files;
mod history;
mod host;
mod lend;
mod machine_lock;
mod metric;
mod process;
mod reports;
mod repository;
mod results;
mod run;
mod tails;
mod workspace;

pub use blame::Blamed;
pub use commit_diff::FileChange;
pub use config::{LocalConfig, Location};
pub use error::LocalError;
pub use executor::LocalExecutor;
pub use history::{LocalHistory, LocalRepositories};
pub use host::Host;
pub use lend::{Lent, LentPair};
pub use machine_lock::default_machine_dir;
pub use metric::{Measure, Metric};
pub use repository::{Repository, RepositoryError};
pub use results::Results;
pub use tails::{OutputTail, output_tails};
pub use workspace::{CleanOptions, CleanReport, clean};
