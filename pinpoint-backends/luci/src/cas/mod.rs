//! Files in a content-addressed store, read by the [Remote Execution API].
//!
//! The inputs and outputs of Swarming's tasks are in such a store, at Google
//! `remotebuildexecution.googleapis.com`. Its instances are named like
//! `projects/chrome-swarming/instances/default_instance`. A [`Digest`] names a file by its content,
//! or a whole tree of files.
//!
//! ```no_run
//! use std::sync::Arc;
//! use pinpoint_luci::cas::{Cas, CasOptions, Digest};
//! use pinpoint_luci::google::{TokenSource, Tokens, Web, scope};
//!
//! # async fn example(left_by_a_task: Digest) -> Result<(), Box<dyn std::error::Error>> {
//! let source: TokenSource = "command:luci-auth token -scopes {scopes}".parse()?;
//! let tokens = Tokens::new(source, &[scope::CLOUD_PLATFORM], Arc::new(Web::new()?));
//! let options = CasOptions::at_google("projects/chrome-swarming/instances/default_instance");
//! let cas = Cas::new(options, tokens)?;
//! let charts = cas.perf_results(&left_by_a_task, "speedometer3.crossbench").await?;
//! println!("{:?}", charts["Score"].values);
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! Every file and every directory is compared with its digest, and asked for again if it differs. A
//! stream that is cut continues where it was. Data come compressed (zstd) from stores that offer
//! it. Requests that may succeed later are repeated ([`CasOptions::backoff`]), and a request is
//! given up when nothing comes for [`CasOptions::patience`]. [`CasError::Missing`] is final: the
//! store no longer has a file, and no repetition helps.
//!
//! # Memory
//!
//! Small files are requested in batches of at most 4 MiB, and large ones go to the disk piece by
//! piece: at most [`CasOptions::at_once`] times 4 MiB are held, and as much again while they are
//! decompressed. Only [`Cas::read`] holds a whole file, up to a size that its caller names.
//!
//! [Remote Execution API]: https://github.com/bazelbuild/remote-apis

mod batch;
mod capabilities;
mod connection;
mod digest;
mod download;
mod error;
mod proto;
mod receiver;
mod results;
mod stream;
mod tree;
mod tries;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OnceCell;

use crate::google::{Backoff, Tokens};

pub use digest::{Digest, DigestError};
pub use error::{CasError, TransferError};
pub use tree::{File, Tree};

use capabilities::Capabilities;
use connection::Connection;
use stream::Sink;

/// The address of Google's store.
pub const ADDRESS: &str = "https://remotebuildexecution.googleapis.com";

/// The address of a store, and the limits of its client.
#[derive(Debug, Clone)]
pub struct CasOptions {
    /// `https://HOST:PORT`, or `http://` for a store on this machine, or one that takes no
    /// tokens.
    pub address: String,
    /// The instance at the store; may be empty.
    pub instance: String,
    /// The most requests under way.
    pub at_once: usize,
    /// The longest time without data.
    pub patience: Duration,
    /// The backoff between repetitions. It restarts whenever part of an answer came.
    pub backoff: Backoff,
    /// Certificates, as PEM, that are trusted in addition to those of the machine.
    pub certificates: Vec<String>,
}

impl CasOptions {
    /// Google's store.
    pub fn at_google(instance: &str) -> Self {
        Self::at(ADDRESS, instance)
    }

    /// A store at this address.
    pub fn at(address: &str, instance: &str) -> Self {
        Self {
            address: address.into(),
            instance: instance.into(),
            at_once: 8,
            patience: Duration::from_secs(60),
            backoff: Backoff {
                retries: 6,
                first: Duration::from_millis(500),
                longest: Duration::from_secs(30),
            },
            certificates: Vec::new(),
        }
    }
}

/// A client of a content-addressed store. Clones share its connection and its bounds.
#[derive(Clone)]
pub struct Cas(Arc<Shared>);

struct Shared {
    connection: Connection,
    capabilities: OnceCell<Capabilities>,
}

impl Cas {
    /// A client, which connects when it is first used.
    ///
    /// # Errors
    ///
    /// [`CasError::Address`] and [`CasError::Connection`].
    ///
    /// # Panics
    ///
    /// Outside of a runtime of `tokio`.
    pub fn new(options: CasOptions, tokens: Tokens) -> Result<Self, CasError> {
        Ok(Self(Arc::new(Shared {
            connection: Connection::new(options, tokens)?,
            capabilities: OnceCell::new(),
        })))
    }

    /// Reads a whole file into memory.
    ///
    /// # Errors
    ///
    /// [`CasError::TooLarge`] if it has more than `limit` bytes, [`CasError::Missing`], and
    /// trouble with the store.
    pub async fn read(&self, digest: &Digest, limit: u64) -> Result<Bytes, CasError> {
        if digest.size() > limit {
            return Err(CasError::TooLarge {
                digest: *digest,
                limit,
            });
        }
        if digest.size() > batch::LARGEST {
            let mut sink = Sink::Memory(Vec::new());
            self.stream(digest, &mut sink).await?;
            return match sink {
                Sink::Memory(content) => Ok(content.into()),
                Sink::File(..) => Err(CasError::Missing(*digest)),
            };
        }
        let mut read = self.batch(vec![*digest]).await?;
        read.pop()
            .map(|(_, content)| content)
            .ok_or(CasError::Missing(*digest))
    }

    fn connection(&self) -> &Connection {
        &self.0.connection
    }

    fn instance(&self) -> &str {
        &self.connection().options().instance
    }
}

impl std::fmt::Debug for Cas {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("Cas")
            .field(self.connection().options())
            .finish()
    }
}
