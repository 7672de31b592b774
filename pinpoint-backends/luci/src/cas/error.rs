//! The errors of a content-addressed store.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pinpoint_core::results::ReadError;
use tonic::Status;

use super::Digest;
use crate::google::{AddressError, Code, TokenError};

/// A blob or a tree cannot be read. Contains no secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CasError {
    /// The address is invalid.
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
    /// The store does not have the blob, or no longer has it.
    #[error(
        "{0} is missing from the store (it may have expired); the build or the run that left it has to be repeated"
    )]
    Missing(Digest),
    /// The store refuses a request.
    #[error("the store refuses {method}: {trouble}")]
    Refused {
        /// The method of the service.
        method: &'static str,
        /// The store's answer.
        trouble: TransferError,
    },
    /// The last of several tries failed.
    #[error("{method} failed {tries} times; last error: {trouble}")]
    GaveUp {
        /// The method of the service.
        method: &'static str,
        /// The number of tries.
        tries: u32,
        /// The last trouble.
        trouble: TransferError,
    },
    /// The store uses another digest function.
    #[error("the store does not use SHA-256, and nothing else is read")]
    NoSha256,
    /// A blob is larger than the caller allows.
    #[error("{digest} is larger than {limit} bytes, which are the most that are read")]
    TooLarge {
        /// The blob.
        digest: Digest,
        /// The maximum size in bytes.
        limit: u64,
    },
    /// The tree is invalid.
    #[error("{root} is not a tree of files: {problem}")]
    Tree {
        /// The root.
        root: Digest,
        /// The problem.
        problem: String,
    },
    /// A file cannot be written.
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
        /// The root of the task's outputs.
        root: Digest,
        /// The path of the results.
        wanted: String,
        /// Results of other benchmarks.
        present: Vec<String>,
    },
    /// The results of a task cannot be read.
    #[error("{path} in {root}: {source}")]
    Results {
        /// The root of the task's outputs.
        root: Digest,
        /// The file.
        path: String,
        /// The problem.
        source: Box<ReadError>,
    },
}

/// The failure of one try.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// A status from the store or the connection.
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
    /// No data arrived for too long.
    #[error("nothing came for {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// A blob was not in the answer.
    #[error("there is no answer for {0}")]
    Unanswered(Digest),
    /// The content of a blob does not match its digest.
    #[error("{digest} came with other content, {length} bytes")]
    OtherContent {
        /// The blob.
        digest: Digest,
        /// The number of bytes received before the mismatch.
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

impl TransferError {
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
