//! Signatures of jobs. One shows who requested exactly its job.
//!
//! A signature is made with Ed25519 (RFC 8032) over the id of a job and all of its creator's input,
//! so that it fits no other job, and this one only unaltered. The patch is covered by its digest,
//! which the spec names. Signatures are kept as files of the job, under names that begin with
//! [`PREFIX`] and end with the key; they go through exports with it.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::database::Access;
use super::files::Piece;
use super::views::Signatures;
use super::{Job, JobId, NewJob, StoreError};

/// The beginning of the name of a signature among the files of a job.
const PREFIX: &str = "signature ";

/// The beginning of a public key in text.
const PUBLIC: &str = "ed25519:";

/// The beginning of a signing key in text.
const SIGNING: &str = "ed25519-signing-key:";

/// The longest file of keys that is read, in bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// The key by which a signature is checked: `ed25519:`, and 32 bytes in Base64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PublicKey([u8; 32]);

/// A key that signs jobs. It is never shown.
pub struct SigningKey(Ed25519KeyPair);

/// A key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is not a public key.
    #[error("{:?} is not a public key, which begins with {PUBLIC:?}", super::error::brief(.0))]
    NotPublic(String),
    /// A file cannot be read or written.
    #[error("cannot use the key file {}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file holds something else.
    #[error("{} holds no {expected}{}", .path.display(), .found)]
    Other {
        /// The file.
        path: PathBuf,
        /// The expected kind of key.
        expected: &'static str,
        /// Its actual content, if known.
        found: &'static str,
    },
    /// A line of a file is not a public key.
    #[error("{}, line {line}: {source}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The reason.
        source: Box<KeyError>,
    },
    /// Other users have access to a signing key.
    #[error(
        "other users have access to the signing key {} (mode {mode:03o}); make it private with `chmod 600`",
        .path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The operating system's random number generator failed.
    #[error("the operating system's random number generator failed")]
    NoRandomness,
}

/// A signature of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signature {
    /// The key that it names.
    pub key: PublicKey,
    /// True if it fits the job as it is. If not, the job was altered after it was signed, or the
    /// signature is another job's.
    pub fits: bool,
}

impl PublicKey {
    /// Reads the public keys of a file: one at the beginning of each line, which may continue with
    /// a remark. Empty lines, and those that begin with `#`, are skipped.
    ///
    /// # Errors
    ///
    /// [`KeyError`], also when the file holds no key.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, KeyError> {
        let text = read(path)?;
        let lines = text.lines().map(str::trim).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let keys = lines.map(|(number, line)| {
            let key = line.split_whitespace().next().unwrap_or_default();
            key.parse().map_err(|source| KeyError::Line {
                path: path.to_owned(),
                line: number + 1,
                source: Box::new(source),
            })
        });
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() {
            return Err(other(path, "public key", ""));
        }
        Ok(keys)
    }

    /// The name of this key's signature among the files of a job.
    fn file_name(&self) -> String {
        format!("{PREFIX}{self}")
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let key = text.strip_prefix(PUBLIC).and_then(bytes_of);
        // A signing key must not be repeated in a message.
        let shown = || match text.starts_with(SIGNING) {
            true => format!("{SIGNING}…"),
            false => text.to_owned(),
        };
        key.map(Self).ok_or_else(|| KeyError::NotPublic(shown()))
    }
}

impl TryFrom<String> for PublicKey {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PUBLIC}{}", BASE64.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl SigningKey {
    /// Makes a key and writes it to a new file, which only its owner can read.
    ///
    /// # Errors
    ///
    /// [`KeyError::File`] when the file already exists, or cannot be written.
    pub fn create(path: &Path) -> Result<Self, KeyError> {
        let failed = |source| file_error(path, source);
        let mut seed = [0; 32];
        SystemRandom::new()
            .fill(&mut seed)
            .map_err(|_| KeyError::NoRandomness)?;
        let key = Self::of_seed(&seed).ok_or(KeyError::NoRandomness)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        writeln!(file, "{SIGNING}{}", BASE64.encode(seed))
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        Ok(key)
    }

    /// Reads a key from the file that [`create`](Self::create) wrote.
    ///
    /// # Errors
    ///
    /// [`KeyError`], also when other users can read or write the file.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let metadata = fs::metadata(path).map_err(|source| file_error(path, source))?;
        let text = read(path)?;
        let expected = "signing key";
        if text.starts_with(PUBLIC) {
            return Err(other(path, expected, ", but a public key"));
        }
        let key = text.trim_end().strip_prefix(SIGNING).and_then(bytes_of);
        let key = key.and_then(|seed| Self::of_seed(&seed));
        let key = key.ok_or_else(|| other(path, expected, ""))?;
        let mode = metadata.mode() & 0o777;
        if mode & 0o077 != 0 {
            let path = path.to_owned();
            return Err(KeyError::Exposed { path, mode });
        }
        Ok(key)
    }

    fn of_seed(seed: &[u8; 32]) -> Option<Self> {
        Ed25519KeyPair::from_seed_unchecked(seed).ok().map(Self)
    }

    /// The key by which its signatures are checked.
    pub fn public(&self) -> PublicKey {
        let mut public = [0; 32];
        public.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(public)
    }

    /// The signature of a job with this id, as a file of the job.
    pub(super) fn sign(&self, id: &JobId, job: &NewJob) -> Piece {
        let signature = self.0.sign(&signed(id, id.created(), job));
        Piece::new(&self.public().file_name(), 0, signature.as_ref())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SigningKey({})", self.public())
    }
}

impl Signatures<'_> {
    /// The signatures of a job, and whether they fit it.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::signatures", level = "debug", skip_all, fields(job = %job.id))]
    pub async fn list(self, job: &Job) -> Result<Vec<Signature>, StoreError> {
        let sql = "SELECT name, size, content FROM job_files \
                   WHERE job = (SELECT number FROM jobs WHERE id = $1) \
                   AND name LIKE $2 AND sequence = 0 ORDER BY name";
        let values = [job.id.as_str().into(), format!("{PREFIX}%").into()];
        let rows = self.database.fetch(sql, values).await?;
        let message = signed(&job.id, job.created, &job.asked());
        let mut signatures = Vec::new();
        for row in &rows {
            let piece = Piece::from_row(row).map_err(|source| self.database.failed(source))?;
            let name = piece.name.strip_prefix(PREFIX).unwrap_or_default();
            let Ok(key) = name.parse::<PublicKey>() else {
                continue;
            };
            let mut signature = Vec::new();
            let public = UnparsedPublicKey::new(&ED25519, key.0);
            let fits = piece.read_into(&mut signature).is_ok()
                && public.verify(&message, &signature).is_ok();
            signatures.push(Signature { key, fits });
        }
        Ok(signatures)
    }

    /// Signs a job as it was read, in place of an earlier signature with this key.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[tracing::instrument(name = "store::sign", level = "debug", skip_all, fields(job = %job.id))]
    pub async fn sign(self, job: &Job, key: &SigningKey) -> Result<(), StoreError> {
        let piece = key.sign(&job.id, &job.asked());
        let mut tries = self.database.tries(None);
        loop {
            match self.try_sign(&job.id, &piece).await {
                Err(error) if tries.again(&error).await => {}
                signed => return signed,
            }
        }
    }

    async fn try_sign(self, id: &JobId, piece: &Piece) -> Result<(), StoreError> {
        let failed = |source| self.database.failed(source);
        let mut transaction = self.database.begin(Access::Write).await?;
        let sql = "SELECT number FROM jobs WHERE id = $1";
        let rows = transaction.fetch(sql, [id.as_str().into()]).await?;
        let row = rows.first().ok_or_else(|| super::rows::unknown(id))?;
        let number = row.int(0).map_err(failed)?;
        let sql = "DELETE FROM job_files WHERE job = $1 AND name = $2";
        let values = [number.into(), piece.name.as_str().into()];
        transaction.execute(sql, values).await?;
        piece.insert(&mut transaction, number, 0).await?;
        transaction.commit().await
    }

    /// Returns whether one of these keys has signed the job as it is.
    pub(super) async fn is_signed(
        self,
        job: &Job,
        trusted: &[PublicKey],
    ) -> Result<bool, StoreError> {
        let signatures = self.list(job).await?;
        Ok((signatures.iter()).any(|signature| signature.fits && trusted.contains(&signature.key)))
    }
}

/// The condition that jobs have a signature, and the values at its places. The signature is not
/// checked yet.
pub(super) fn has_signature(keys: &[PublicKey], first_place: usize) -> (String, Vec<String>) {
    let places = (first_place..).take(keys.len());
    let places: Vec<_> = places.map(|place| format!("${place}")).collect();
    let condition = match places.is_empty() {
        true => "1 = 0".into(),
        false => format!(
            "EXISTS (SELECT 1 FROM job_files WHERE job_files.job = jobs.number \
             AND job_files.name IN ({}))",
            places.join(", ")
        ),
    };
    (condition, keys.iter().map(PublicKey::file_name).collect())
}

impl Job {
    /// All of its creator's input.
    fn asked(&self) -> NewJob {
        NewJob {
            kind: self.kind.clone(),
            title: self.title.clone(),
            repository: self.repository.clone(),
            name: self.name.clone(),
            benchmark: self.benchmark.clone(),
            bot: self.bot.clone(),
            user: self.user.clone(),
            spec: self.spec.clone(),
            config: self.config.clone(),
        }
    }
}

/// The bytes that are signed: JSON without spaces, the fields in this order, and those of objects
/// sorted by name.
fn signed(id: &JobId, created: i64, job: &NewJob) -> Vec<u8> {
    let mut job = job.clone();
    job.spec.sort_all_objects();
    job.config.sort_all_objects();
    let fields = json!([
        "pinpoint job 1",
        id,
        created,
        job.kind,
        job.title,
        job.repository,
        job.name,
        job.benchmark,
        job.bot,
        job.user,
        job.spec,
        job.config,
    ]);
    fields.to_string().into_bytes()
}

fn bytes_of(base64: &str) -> Option<[u8; 32]> {
    BASE64.decode(base64).ok()?.try_into().ok()
}

fn read(path: &Path) -> Result<String, KeyError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_FILE).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(other(path, "key", "")),
        Err(source) => Err(file_error(path, source)),
    }
}

fn file_error(path: &Path, source: io::Error) -> KeyError {
    KeyError::File {
        path: path.to_owned(),
        source,
    }
}

fn other(path: &Path, expected: &'static str, found: &'static str) -> KeyError {
    KeyError::Other {
        path: path.to_owned(),
        expected,
        found,
    }
}
