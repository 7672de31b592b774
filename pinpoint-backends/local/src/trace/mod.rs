//! Traces the reads of a build command and the benchmark, to prove that two builds are the same.
//!
//! Two commits differ in their sources, and so do their builds, if only by the path in which they
//! were made. Only the parts that the benchmark can see matter. So each build is made, and then the
//! benchmark is run in it once, uncounted, under `strace`.
//!
//! - **The digest** of a build is that of everything the benchmark's own run looked up in it: the
//!   contents of files that it read, the names in directories that it listed, the paths where it
//!   found nothing. In a build with the same digest it takes the same steps, and so its runs are of
//!   the same level.
//! - **Without a build** a commit is known to be the same as one that was built when git has the
//!   same contents for both wherever that one's build or run looked. Its build would have taken the
//!   same steps.
//!
//! A file that was looked for in vain counts, and so does a directory that was listed: a commit
//! that adds a file there changes something. Nothing is inferred from the *ends* of a range for
//! commits between them: those may read other files. Each build proves only what is the same as
//! itself.
//!
//! # Ignored differences
//!
//! - The path of the work tree: its name is blanked out of file contents.
//! - The parts of an executable that are not loaded: symbols, debug information, the build id;
//!   unless the file is read other than by loading it (`nm`, `wc -c`), or its size is read. That
//!   needs `objcopy`; without it such files are compared in full.
//! - Times of files. `SOURCE_DATE_EPOCH` is set for builds that use it.
//! - The hash of the commit, which commands of such a job do not get: its effects could not be
//!   seen.
//!
//! # Unprovable cases
//!
//! A command that reads git's data (`git describe`), asks another process (a compiler cache, a
//! container daemon, anything in the network), gives files that it did not make other names,
//! removes symbolic links that it made or replaces those of the commit, accesses a build through a
//! link, a hard link or a mount outside of it, or files that its build command put elsewhere,
//! changes a file of the build that it read, brings its own loader, changes its root, or reads by
//! `io_uring`: its builds are compared by their sources alone, and the reason is reported.
//!
//! # Limits
//!
//! The benchmark is assumed to read the same files in each of its runs. Files outside of the work
//! tree are assumed to be the same for all commits. A traced command lasts until all processes that
//! it started have ended, and programs lose their set-user-id bits.
//!
//! `docs/same-builds.md` explains all of this to users.

mod access;
mod call;
mod digest;
mod elf;
mod reads;
mod strace;
mod traced;
mod tracer;

pub(crate) use digest::BuildSnapshot;
pub(crate) use reads::Reads;
pub(crate) use traced::Traced;
pub(crate) use tracer::{NoTracer, Tracer, read};
