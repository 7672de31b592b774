//! Histories of repositories at Gitiles, such as <https://chromium.googlesource.com>.
//!
//! [`Gitiles`] opens repositories by their URLs. Nothing is cloned: each question is a [request for
//! JSON][api], and the answers about full hashes, which never change, are kept on disk.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use pinpoint_luci::gitiles::{Gitiles, GitilesConfig};
//! use pinpoint_luci::google::{TokenSource, Web};
//! use pinpoint_midpoint::Repositories as _;
//!
//! let config = GitilesConfig::new("/var/cache/pinpoint/gitiles");
//! let gitiles = Gitiles::new(config, TokenSource::None, Arc::new(Web::new()?))?;
//! let history = gitiles.open("https://chromium.googlesource.com/chromium/src").await?;
//! println!("{}", history.resolve("refs/heads/main").await?);
//! # Ok(())
//! # }
//! ```
//!
//! # Edges
//!
//! - Only hosts below `googlesource.com` are asked, and those of the configuration: a manifest,
//!   which anyone may have written, names no other place that gets a token.
//! - Gitiles merges nothing. A merge is therefore one step of the search: it is blamed as a
//!   whole, not the commits of its branch.
//! - A name like `refs/heads/main@{#1234}`, or a number alone, is looked up by
//!   [crrev](crate::crrev) where the configuration has it.
//!
//! [api]: https://gerrit.googlesource.com/gitiles/+/HEAD/Documentation/

mod answers;
mod cache;
mod describe;
mod history;
mod repositories;
mod repository;
mod time;

#[cfg(feature = "luci")]
pub(crate) use repositories::PER_SECOND;

pub use history::{GitilesHistory, is_full_hash};
pub use repositories::{Gitiles, GitilesConfig, RepositoryUrl};
pub use repository::CommitInfo;
