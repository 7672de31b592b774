//! The files in which a repository names its dependencies.
//!
//! A [`Manifest`] reads one version of such a file. A *roll* is a commit that changes its entries.
//! Dependencies that are git repositories can be followed: the commits between the two revisions
//! are candidates as well. Packages cannot, and are named only.
//!
//! Reading is pure and never runs anything. A file outside the grammar, or larger or deeper than
//! the limits, is a [`ManifestError`] with line and column: partial answers are not given, because
//! an overlooked dependency makes the roll look like the culprit.
//!
//! Anyone can write such a file, so a reader's time and memory stay proportional to its length:
//! repeated text is counted while it grows, not afterwards, and no list is searched once for each
//! of its own entries.

mod cargo_lock;
mod dependency;
mod deps;
mod error;
mod go_mod;
mod interface;
mod submodules;

pub use cargo_lock::CargoLock;
pub use dependency::{Dependency, Source};
pub use deps::Deps;
pub use error::{ManifestError, Problem};
pub use go_mod::GoMod;
pub use interface::{MAX_FILE, Manifest};
pub use submodules::{Submodules, resolve_url};

/// Every known format, in the order of their files' names.
pub fn all() -> [&'static dyn Manifest; 4] {
    [&Submodules, &CargoLock, &Deps, &GoMod]
}
