//! What may go wrong with a content-addressed store.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pinpoint_core::results::ReadError;
use tonic::Status;

use super::Digest;
use crate::google::{AddressError, Code, TokenError};

/// A blob or a tree can't be had. No secret is in it.
#[derive(Debug, thiserror::Error)]
pub enum CasError {
    /// The address can't be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// No connection can be made to the address.
    #[error("no connection can be made to {address:?}: {problem}")]
    Connection {
        /// The address as given.
        address: String,
        /// The problem.
        problem: String,
    },
    /// There is no token.
    #[error("the store can't be asked: {0}")]
    Token(#[source] Arc<TokenError>),
    /// The store does not have the blob, or no longer.
    #[error("the store does not have {0}, or no longer; what it belongs to has to be made again")]
    Missing(Digest),
    /// The store refuses a request.
    #[error("the store refuses {method}: {trouble}")]
    Refused {
        /// The method of the service.
        method: &'static str,
        /// What the store says.
        trouble: Trouble,
    },
    /// Trouble that tries did not cure.
    #[error("{method} failed {tries} times, at last so: {trouble}")]
    GaveUp {
        /// The method of the service.
        method: &'static str,
        /// How often it was tried.
        tries: u32,
        /// The last trouble.
        trouble: Trouble,
    },
    /// The store names blobs by another function.
    #[error("the store does not use SHA-256, and nothing else is read")]
    NoSha256,
    /// A blob is larger than the caller allows.
    #[error("{digest} is larger than {limit} bytes, which are the most that are read")]
    TooLarge {
        /// The blob.
        digest: Digest,
        /// The most bytes.
        limit: u64,
    },
    /// A tree that can't be used.
    #[error("{root} is no tree of files: {problem}")]
    Tree {
        /// The root.
        root: Digest,
        /// The problem.
        problem: String,
    },
    /// A file can't be written.
    #[error("{} can't be written: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A task left no results.
    #[error(
        "{root} holds no {wanted}{}; see the output of the task",
        if .present.is_empty() { String::new() } else { format!("; there is {}", .present.join(", ")) }
    )]
    NoResults {
        /// The root of what the task left.
        root: Digest,
        /// The path of the results.
        wanted: String,
        /// Results of other benchmarks.
        present: Vec<String>,
    },
    /// The results of a task can't be read.
    #[error("{path} in {root}: {source}")]
    Results {
        /// The root of what the task left.
        root: Digest,
        /// The file.
        path: String,
        /// The problem.
        source: Box<ReadError>,
    },
}

/// Why one try failed.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The store or the connection says so.
    #[error("{code}: {message}")]
    Status {
        /// The code.
        code: Code,
        /// The message.
        message: String,
    },
    /// There was no token.
    #[error("{0}")]
    Token(#[source] Arc<TokenError>),
    /// Nothing came for too long.
    #[error("nothing came for {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// There was no answer for a blob.
    #[error("there is no answer for {0}")]
    Unanswered(Digest),
    /// A blob is not what its digest says.
    #[error("{digest} came with other content, {length} bytes")]
    OtherContent {
        /// The blob.
        digest: Digest,
        /// How many bytes came before that was seen.
        length: u64,
    },
    /// Compressed data are damaged, or need too much memory.
    #[error("{digest} can't be decompressed: {source}")]
    Compressed {
        /// The blob.
        digest: Digest,
        /// The error of the decoder.
        source: io::Error,
    },
}

impl Trouble {
    pub(super) fn status(status: &Status) -> Self {
        let mut message = status.message().to_owned();
        let mut source = status.source();
        while let Some(error) = source {
            let text = error.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            source = error.source();
        }
        Self::Status {
            code: Code(status.code() as u32),
            message: message.chars().take(MOST_CHARACTERS).collect(),
        }
    }
}

/// The longest message of a server that is passed on.
const MOST_CHARACTERS: usize = 500;
