//! The files that belong to a job, which its workers keep in addition to its journal.
//!
//! A file is a sequence of pieces, each compressed separately, so that a line can be added without
//! reading the others. Each file is bounded.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::damage::damaged;
use super::database::{Access, Row, Transaction, Value};
use super::views::Files;
use super::{JobId, Lease, StoreError};

/// The bytes that a file of a job may have before compression.
pub const MOST_FILE_BYTES: u64 = 32 << 20;

/// A piece of a file, compressed.
pub(super) struct Piece {
    pub(super) name: String,
    /// Of the file up to its end, before compression.
    pub(super) size: i64,
    pub(super) content: Vec<u8>,
}

impl Piece {
    /// The piece that comes after so many bytes.
    pub(super) fn new(name: &str, before: u64, content: &[u8]) -> Self {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        // Writing to memory cannot fail.
        let _ = encoder.write_all(content);
        Self {
            name: name.into(),
            size: i64::try_from(before + content.len() as u64).unwrap_or(i64::MAX),
            content: encoder.finish().unwrap_or_default(),
        }
    }

    /// The only piece of a file.
    pub(super) fn first(name: &str, content: &[u8]) -> Result<Self, StoreError> {
        if content.len() as u64 > MOST_FILE_BYTES {
            return Err(StoreError::FileTooLarge { name: name.into() });
        }
        Ok(Self::new(name, 0, content))
    }

    pub(super) fn from_row(row: &Row) -> Result<Self, sqlx::Error> {
        Ok(Self {
            name: row.text(0)?,
            size: row.int(1)?,
            content: row.bytes(2)?,
        })
    }

    pub(super) async fn insert(
        &self,
        transaction: &mut Transaction,
        job: i64,
        sequence: i64,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO job_files (job, name, sequence, size, content) \
                   VALUES ($1, $2, $3, $4, $5)";
        let values: [Value; 5] = [
            job.into(),
            self.name.as_str().into(),
            sequence.into(),
            self.size.into(),
            self.content.clone().into(),
        ];
        transaction.execute(sql, values).await.map(drop)
    }

    /// Appends its content to the previous pieces; fails if the sizes do not match.
    pub(super) fn read_into(&self, file: &mut Vec<u8>) -> Result<(), String> {
        let size = u64::try_from(self.size).unwrap_or(u64::MAX);
        let own = size.checked_sub(file.len() as u64);
        let own = own.filter(|_| size <= MOST_FILE_BYTES);
        let own = own.ok_or_else(|| format!("a piece that ends at {size} bytes"))?;
        // One more byte than allowed shows that there is more.
        let mut decoder = ZlibDecoder::new(&*self.content).take(own + 1);
        match decoder.read_to_end(file) {
            Ok(read) if read as u64 == own => Ok(()),
            Ok(_) => Err("a piece of another size".into()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Files<'_> {
    /// Adds to a file of a job, under its lease, after the part known to the writer: pieces beyond
    /// are replaced, and all of them where it knows of none. False, with nothing written, when the
    /// file would have more than [`MOST_FILE_BYTES`].
    ///
    /// # Errors
    ///
    /// [`StoreError::LeaseLost`], or when the store cannot be written.
    #[tracing::instrument(name = "store::append_file", level = "debug", skip_all, fields(job = %lease.id()))]
    pub async fn append(
        self,
        lease: &Lease,
        known: &KnownFile,
        content: &[u8],
    ) -> Result<bool, StoreError> {
        if known.size + content.len() as u64 > MOST_FILE_BYTES {
            return Ok(false);
        }
        let piece = Piece::new(&known.name, known.size, content);
        let sequence = i64::try_from(known.pieces).unwrap_or(i64::MAX);
        let mut tries = self.database.tries(lease.until());
        loop {
            match self.try_append_file(lease, &piece, sequence).await {
                Err(error) if tries.again(&error).await => {}
                written => return written.map(|()| true),
            }
        }
    }

    /// Adds to the end of a file of a job that has several writers under the same lease. False,
    /// with nothing written, when the file would have more than [`MOST_FILE_BYTES`].
    ///
    /// # Errors
    ///
    /// [`StoreError::LeaseLost`], or when the store cannot be written. Where the connection
    /// broke, it may have been added.
    #[tracing::instrument(name = "store::add_to_file", level = "debug", skip_all, fields(job = %lease.id()))]
    pub async fn add(self, lease: &Lease, name: &str, content: &[u8]) -> Result<bool, StoreError> {
        let failed = |source| self.database.failed(source);
        let mut transaction = self.database.begin(Access::Write).await?;
        hold(&mut transaction, lease).await?;
        let last = transaction
            .fetch(
                "SELECT sequence, size FROM job_files WHERE job = $1 AND name = $2 \
                 ORDER BY sequence DESC LIMIT 1",
                [lease.job.into(), name.into()],
            )
            .await?;
        let (sequence, size) = match last.first() {
            Some(row) => (row.int(0).map_err(failed)? + 1, row.int(1).map_err(failed)?),
            None => (0, 0),
        };
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        if size.saturating_add(content.len() as u64) > MOST_FILE_BYTES {
            return Ok(false);
        }
        let piece = Piece::new(name, size, content);
        piece.insert(&mut transaction, lease.job, sequence).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Makes one attempt, which is idempotent.
    async fn try_append_file(
        self,
        lease: &Lease,
        piece: &Piece,
        sequence: i64,
    ) -> Result<(), StoreError> {
        let mut transaction = self.database.begin(Access::Write).await?;
        hold(&mut transaction, lease).await?;
        transaction
            .execute(
                "DELETE FROM job_files WHERE job = $1 AND name = $2 AND sequence >= $3",
                [
                    lease.job.into(),
                    piece.name.as_str().into(),
                    sequence.into(),
                ],
            )
            .await?;
        piece.insert(&mut transaction, lease.job, sequence).await?;
        transaction.commit().await
    }

    /// The files of a job by name, and their bytes.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::file_sizes", level = "debug", skip_all, fields(job = %id))]
    #[doc(hidden)]
    pub async fn sizes(self, id: &JobId) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "SELECT name, max(size) FROM job_files \
                   WHERE job = (SELECT number FROM jobs WHERE id = $1) GROUP BY name";
        let rows = self.database.fetch(sql, [id.as_str().into()]).await?;
        let sizes = rows.iter().map(|row| {
            let size = u64::try_from(row.int(1)?).unwrap_or_default();
            Ok((row.text(0)?, size))
        });
        let sizes = sizes.collect::<Result<_, _>>();
        sizes.map_err(|source| self.database.failed(source))
    }

    /// The files of a job, sorted by name.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or is damaged.
    #[tracing::instrument(name = "store::files", level = "debug", skip_all, fields(job = %id))]
    pub async fn list(self, id: &JobId) -> Result<Vec<JobFile>, StoreError> {
        let sql = "SELECT name, size, content FROM job_files \
                   WHERE job = (SELECT number FROM jobs WHERE id = $1) ORDER BY name, sequence";
        let database = self.database.unhurried();
        let rows = database.fetch(sql, [id.as_str().into()]).await?;
        let pieces = rows
            .iter()
            .map(Piece::from_row)
            .collect::<Result<Vec<_>, _>>();
        let pieces = pieces.map_err(|source| database.failed(source))?;
        let same = |one: &Piece, other: &Piece| one.name == other.name;
        let file = |pieces: &[Piece]| {
            let name = pieces[0].name.clone();
            let mut content = Vec::new();
            for piece in pieces {
                piece.read_into(&mut content).map_err(|reason| {
                    damaged(
                        &database.name,
                        format!("the file {name} of job {id}"),
                        &reason,
                    )
                })?;
            }
            Ok(JobFile {
                known: KnownFile {
                    name,
                    size: content.len() as u64,
                    pieces: pieces.len() as u64,
                },
                content,
            })
        };
        pieces.chunk_by(same).map(file).collect()
    }
}

/// Locks the holder of the job until the commit.
async fn hold(transaction: &mut Transaction, lease: &Lease) -> Result<(), StoreError> {
    let held = transaction
        .execute(
            "UPDATE jobs SET lease = lease WHERE number = $1 AND lease = $2",
            [lease.job.into(), lease.token.into()],
        )
        .await?;
    match held {
        0 => Err(StoreError::LeaseLost {
            id: lease.id.clone(),
        }),
        _ => Ok(()),
    }
}

/// A file of a job, as known to a writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    /// Its name, unique in the job.
    pub name: String,
    /// Its bytes.
    pub size: u64,
    /// The number of pieces in which it was written.
    pub pieces: u64,
}

/// A file of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobFile {
    /// Its name and sizes.
    pub known: KnownFile,
    /// All of it.
    pub content: Vec<u8>,
}
