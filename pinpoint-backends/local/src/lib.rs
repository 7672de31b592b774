//! Commits, builds and runs on this machine, with `git` and processes.
//!
//! [`Repository`] finds and orders commits; [`LocalExecutor`] builds and runs them. [`LocalConfig`]
//! is the configuration of a job, and [`Location`] its directories. [`LocalHistory`] finds the
//! commits between two others, and [`LocalRepositories`] finds the repositories of dependencies.
//!
//! # Files
//!
//! The user's repository is read but never written: not its files, index, branches or stash, nor
//! anything in `.git`. Work trees belong to a bare repository of our own that borrows the user's
//! objects.
//!
//! | path | holds |
//! | --- | --- |
//! | `STATE/repositories/<hash>` | our bare repository for one of the user's |
//! | `STATE/mirrors/<hash>` | a mirror of a repository that was fetched by its URL |
//! | `STATE/builds/<key>` | one build: its work tree, checkouts of modules next to it, an index with the tracked files as built, and a marker written last, which names the contents |
//! | `STATE/locks/<key>` | held shared by the users of that build, alone by its maker |
//! | `STATE/locks/making` | held shared by all makers of builds, alone by a process that removes repositories |
//! | `JOB/builds/<key>.log` | the output of a build |
//! | `JOB/builds/<key>.traced.json` | the inputs of a traced build, and its commit |
//! | `JOB/builds/<key>.same.json` | the commit whose build is used in place of this one, which is not made |
//! | `JOB/last_run.json` | the report of the last run |
//! | `JOB/runs/<action>.out`, `.err` | the output of a run that failed, its beginning and end when it is long; of a pair, `<action>-first` and `<action>-second` |
//! | `JOB/runs/callgrind-…` | the counts of a run's instructions, while it runs under callgrind |
//! | `JOB/runs/profile-…` | the output of a profiler, while it runs |
//! | `JOB/profiles/<action>-first/`, `…-second/` | the profiles of a run, of a job that explains another |
//! | `JOB/runs/tails.jsonl` | the end of each run's output, and the processes that it left running |
//! | `JOB/sessions.jsonl` | the processes that worked on the job, with machine and time |
//! | `JOB/waits.json` | the times that runs waited for a quiet machine |
//! | `JOB/memory_floor.json` | the memory of pinpoint itself, when a run did not need more |
//! | `JOB/remarks.jsonl` | remarks on the job for its user, one of each kind |
//! | `JOB/metric.json` | the metric of a job of an earlier version; others have it in their journal |
//! | `JOB/patch` | the patch, where another machine made the job |
//! | `MACHINE/…` | the locks that all jobs on this machine share |
//!
//! # Locks
//!
//! A build holds the machine together with other builds; a run holds it alone. Every lock is an
//! advisory lock on an open file, so the kernel releases it however its holder dies. The only
//! holder of a lock may remove its file, so the next one checks that the file still exists. The
//! supervising process then ends all that the holder had started. The supervisor and the process
//! group are recorded next to the lock: the next holder waits for it, and ends the group if it was
//! killed, too (on Linux; elsewhere a process can't be distinguished from a later one of the same
//! number without privileges).
//!
//! # Processes that runs leave running
//!
//! Each build step and each run has a supervising process: `supervisor`. Processes still running
//! when the command has ended are ended before anything else starts, including those that left its
//! session. Each run writes to its own unnamed files, so a process that escapes nevertheless can't
//! write to another run's output.
//!
//! # Limits
//!
//! Only the repositories that a job names by URL are fetched, and those only with [`Mirrors`]:
//! neither other dependencies without a local clone nor files kept by Git LFS. The build command
//! can do that. `git` in a work tree sees the user's tags, as they were when the build was made,
//! and no branches. The builds of one repository share git's other data: a benchmark that makes
//! tags, branches or stashes makes them for the others, too. Commands get no variable whose name
//! begins with `GIT_`. Outside of Linux a process that leaves its process group is not ended, and
//! reads of the user's checkout are not detected.
mod blocking;
mod build;
mod checkout;
mod clean;
mod config;
pub mod doctor;
mod error;
mod executor;
mod git;
mod job_remarks;
mod listed;
mod process;
mod run;
mod sources;
mod trace;

pub use build::build_manifest::{BuildManifest, BuildManifestError};
pub use build::build_store::BuildStore;
#[doc(hidden)]
pub use build::incomplete_checkout::LFS_PULL;
pub use build::shrink::CleanReport;
pub use checkout::{Checkout, CheckoutPair};
pub use clean::{CleanOptions, clean};
pub use config::{LocalConfig, Location, limits};
#[doc(hidden)]
pub use doctor::preconditions::check_machine_dir;
pub use error::LocalError;
pub use executor::{LocalExecutor, Provisions};
pub use git::commit_diff::FileChange;
pub use git::commit_lookup::{CommitDetails, CommitName, NoCommitName};
pub use git::first_parents::{FirstParentLine, LineCommit};
#[doc(hidden)]
pub use git::history::same_repository;
pub use git::history::{LocalHistory, LocalRepositories};
pub use git::mirror_error::MirrorError;
pub use git::mirrors::Mirrors;
pub use git::remote_url::{RemoteUrl, RemoteUrlError, RepositoryPattern, RepositoryPatternError};
pub use git::repository::Repository;
pub use git::repository_error::RepositoryError;
pub use git::repository_location::RepositoryLocation;
#[doc(hidden)]
pub use listed::listed;
pub use pinpoint_core::{Measure, Metric};
pub use process::child::ignores_hangup;
pub use process::cpus::{CpuList, CpuListError};
pub use process::host::Host;
pub use process::machine_lock::default_machine_dir;
pub use run::instructions::InstructionCounter;
pub use run::measures::{MeasureChoice, RunMeasure};
pub use run::outside_reads::OutsideRead;
#[doc(hidden)]
pub use run::profiler::ProfileStore;
pub use run::profiler::{
    Profiler, ProfilerError, ProfilerFacts, Profiling, choose_profiler, kept_profiles,
    profiler_facts,
};
pub use run::results::Results;
#[doc(hidden)]
pub use run::runner::NOT_KEPT;
pub use run::sessions::{Session, note_session, sessions};
pub use run::settle::SettleWait;
pub use run::tails::{OutputTail, output_tails, run_warnings};
