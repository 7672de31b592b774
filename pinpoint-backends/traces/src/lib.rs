//! The history of values, in one SQLite file or in a PostgreSQL database.
//!
//! [`TraceStore`] opens one, and has a [`History`] for each dataset in it, which takes files of
//! results, and gives values as frames, points and streams.
//!
//! # Contents
//!
//! **The catalog** numbers commits, traces, and the keys and values of traces. For each key and
//! 65,536 traces there is a column with the value that each trace has: a query is a pass over the
//! columns of its keys. Opening a store reads nothing of it; each process remembers what it has
//! read, within 96 MiB, and reads what came since.
//!
//! **Values** come commit by commit, and are written as they come, as *parts*. When a tile of 128
//! commits is full, its parts are *sealed*: they become *blocks*, which have the values of 32 traces
//! each, compressed. Late values are parts, too, until the tile is sealed again. A reader sees both.
//!
//! **Files** are kept by what they say, with the number that each of their values has in a block.
//! Of two values of a trace at a commit that of the later file stays, so the order in which files
//! come makes no difference.
//!
//! **The watch** over a dataset is a log of events, from which its state follows
//! ([`pinpoint_traces::watch`]). Once it has begun, values are noted as they come, until it has seen
//! them; events and what was seen for them are one transaction.
//!
//! # Guarantees
//!
//! Acknowledged writes are on the disk. Each is one transaction; a tile is sealed in
//! several, each of which moves values from parts to blocks. Any number of processes read and write
//! one store: writers of a dataset take turns, and readers see one state, whatever is written.
//!
//! ```
//! use pinpoint_trace_store::{Select, TraceStore};
//! use pinpoint_traces::{CommitName, CommitNumber, Point, ResultFile, Source, TraceId};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let state_dir = directory.path();
//! let store = TraceStore::open(state_dir).await?;
//! let history = store.history(&"nano".parse()?);
//! let trace: TraceId = ",arch=x86,test=t,".parse()?;
//! let file = ResultFile {
//!     source: Source::new("2026/11/28/19/x86.json", 0),
//!     commit: CommitName::Number(CommitNumber(7)),
//!     tried: None,
//!     key: Default::default(),
//!     links: Default::default(),
//!     points: vec![Point { trace, value: 1.25, links: Default::default() }],
//!     samples: Default::default(),
//! };
//! let ingested = history.ingest(&[file], &[]).await?;
//! assert_eq!(ingested.values, 1);
//! let query = "arch=x86".parse()?;
//! let commits = CommitNumber(6)..=CommitNumber(7);
//! let frame = history.frame(Select::Query(&query), commits, 100).await?;
//! assert_eq!(frame.row(0).map(|row| row[1]), Some(1.25));
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod alerts;
mod annotations;
mod append;
mod arrivals;
mod block;
mod bytes;
mod cache;
mod catalog;
mod column;
mod commits;
mod error;
mod frames;
mod ingest;
mod load;
mod matching;
mod merge;
mod part;
mod points_at;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
mod schema;
mod seal;
mod selection;
mod shortcuts;
mod source;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod stream;
mod tile_rows;
mod tiles;
mod tries;
mod value_sources;
mod values;
mod watch_log;

pub use annotations::NumberedAnnotation;
pub use arrivals::Unseen;
pub use commits::NumberedCommit;
pub use error::TraceStoreError;
pub use ingest::Ingested;
pub use load::LoadedRow;
pub use points_at::{TracePoint, ValueAt};
pub use schema::TRACE_SCHEMA_VERSION;
pub use selection::{Select, Survey};
pub use store::{History, TraceStore};
pub use stream::{TileStream, TraceRow};
pub use tiles::StoredTile;
pub use tries::TryFile;
pub use value_sources::{KnownSource, SourcedValue};
pub use values::{TraceValues, ValuesAt, ValuesOf};
