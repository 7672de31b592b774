//! Histories of repositories on this machine.
//!
//! | file | holds |
//! | --- | --- |
//! | `commits.rs` | commits as numbers, from the commit-graph or from objects |
//! | `describe.rs` | author, date and subject of commits of any repository |
//! | `line.rs` | ranges between two commits, and ancestry |
//! | `local_history.rs` | the history of one repository, made of these |
//! | `merges.rs` | commits merged into another, which are on no branch |
//! | `objects.rs` | files and submodules of a commit, within limits |
//! | `position.rs` | commits by their position (`refs/heads/main@{#1234}`) |
//! | `registry.rs` | repositories by their URL |
//! | `url.rs` | equality of URLs |

mod commits;
mod describe;
mod line;
mod local_history;
mod merges;
mod objects;
mod position;
mod registry;
pub(crate) mod url;

pub use local_history::LocalHistory;
pub use registry::LocalRepositories;
pub(crate) use registry::urls_around;
#[doc(hidden)]
pub use url::same_repository;
