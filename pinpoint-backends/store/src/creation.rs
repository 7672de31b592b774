//! New jobs, each made once.

use std::time::Duration;

use pinpoint_core::JobState;

use super::audit_chain::Fields;
use super::change::append;
use super::commits::hashes;
use super::database::{Access, Transaction, Value};
use super::files::Piece;
use super::job::Request;
use super::jobs::by_workers;
use super::order::{NameKeys, name_key};
use super::quotas;
use super::text::{Names, words};
use super::views::Jobs;
use super::{AuditEntry, JOURNAL_VERSION, JobId, NewJob, Quota, SigningKey, StoreError};

/// The time for which an idempotency key is known.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// The most old idempotency keys that one creation forgets.
const FORGOTTEN_AT_ONCE: u32 = 100;

/// The circumstances of the creation of a job.
#[derive(Debug, Clone, Copy, Default)]
pub struct Creation<'a> {
    /// Files, by name, that the job has from its beginning.
    pub files: &'a [(&'a str, &'a [u8])],
    /// The key that signs it.
    pub key: Option<&'a SigningKey>,
    /// The entry of the audit log about it, to which the store adds the job.
    pub entry: Option<&'a AuditEntry>,
    /// The key by which a repeated request is recognized.
    pub once: Option<IdempotencyKey<'a>>,
    /// The limits of the user of the job.
    pub quota: Option<Quota>,
}

/// Distinguishes a request from all others of its user: the same key is the same job, for a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdempotencyKey<'a> {
    /// The user who asks.
    pub user: &'a str,
    /// The key.
    pub key: &'a str,
    /// The SHA-256 of the request.
    pub digest: [u8; 32],
}

/// The job of a creation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Created {
    /// The job.
    pub id: JobId,
    /// True if it is new, and not made by an earlier request with the same idempotency key.
    pub is_new: bool,
}

/// The end of an attempt to make a job.
enum Attempt {
    Made,
    /// Another job has this number.
    NumberTaken,
    /// An earlier request with the same idempotency key has made this one.
    Repeated(JobId),
}

impl Jobs<'_> {
    /// Adds a pending job.
    ///
    /// # Errors
    ///
    /// When the job does not exist afterwards.
    pub async fn create(self, job: &NewJob) -> Result<JobId, StoreError> {
        Ok(self.create_with(job, &Creation::default()).await?.id)
    }

    /// Adds a pending job with its files and entries, unless an earlier request with the same
    /// idempotency key has: then nothing changes.
    ///
    /// # Errors
    ///
    /// [`StoreError::FileTooLarge`]; [`StoreError::KeyReused`]; [`StoreError::QuotaReached`]; the
    /// same.
    #[tracing::instrument(name = "store::create", level = "debug", skip_all)]
    pub async fn create_with(
        self,
        job: &NewJob,
        creation: &Creation<'_>,
    ) -> Result<Created, StoreError> {
        let files = creation.files.iter();
        let files = files
            .map(|(name, content)| Piece::first(name, content))
            .collect::<Result<Vec<_>, _>>()?;
        let entry = creation.entry.map(Fields::new);
        let mut tries = self.database.tries(None);
        let mut id = JobId::new();
        loop {
            let signature = creation.key.map(|key| key.sign(&id, job));
            let files = files.iter().chain(&signature);
            let attempt = self.try_create(&id, job, files, creation, entry.as_ref());
            let is_new = match attempt.await {
                Err(error) if tries.again(&error).await => continue,
                Err(error) => return Err(error),
                Ok(Attempt::Made) => true,
                // By an attempt that was not acknowledged.
                Ok(Attempt::NumberTaken) if self.has(&id).await? => true,
                // Another process made one in the same quarter of a microsecond.
                Ok(Attempt::NumberTaken) => {
                    id = JobId::new();
                    continue;
                }
                Ok(Attempt::Repeated(there)) => {
                    let is_new = there == id;
                    id = there;
                    is_new
                }
            };
            return Ok(Created { id, is_new });
        }
    }

    /// Adds a pending job with this id, unless it exists. False when another job has its number.
    ///
    /// # Errors
    ///
    /// When the job does not exist afterwards.
    #[tracing::instrument(name = "store::create_once", level = "debug", skip_all, fields(job = %id))]
    #[doc(hidden)]
    pub async fn create_once(self, id: &JobId, job: &NewJob) -> Result<bool, StoreError> {
        let mut tries = self.database.tries(None);
        loop {
            let creation = Creation::default();
            match self.try_create(id, job, [].iter(), &creation, None).await {
                Err(error) if tries.again(&error).await => {}
                Err(error) => return Err(error),
                Ok(Attempt::Made | Attempt::Repeated(_)) => return Ok(true),
                Ok(Attempt::NumberTaken) => return self.has(id).await,
            }
        }
    }

    async fn has(self, id: &JobId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM jobs WHERE id = $1";
        let there = self.database.fetch(sql, [id.as_str().into()]).await?;
        Ok(!there.is_empty())
    }

    async fn try_create(
        self,
        id: &JobId,
        job: &NewJob,
        files: impl Iterator<Item = &Piece>,
        creation: &Creation<'_>,
        entry: Option<&Fields>,
    ) -> Result<Attempt, StoreError> {
        let names = Names {
            name: &job.name,
            benchmark: &job.benchmark,
            bot: &job.bot,
            user: &job.user,
        };
        let keys = NameKeys::new(&job.name, &job.title, &job.benchmark, &job.bot, &job.user);
        let request = Request::from_config(&job.config).unwrap_or_default();
        let spec = job.spec.to_string();
        let commits = hashes(&spec);
        let texts = [&job.repository, &job.title].into_iter().chain(&commits);
        let texts = texts.map(String::as_str);
        let mut transaction = self.database.begin(Access::Write).await?;
        if let Some(once) = creation.once {
            let (there, digest) = self.claim(&mut transaction, once, id).await?;
            if there != *id {
                transaction.commit().await?;
                return match digest == once.digest {
                    true => Ok(Attempt::Repeated(there)),
                    false => Err(StoreError::KeyReused {
                        key: once.key.into(),
                    }),
                };
            }
        }
        let added = transaction
            .execute(
                "INSERT INTO jobs (number, id, kind, state, created, updated, name, benchmark, \
                 bot, username, repository, title, words, spec, config, journal_version, \
                 written_by, by_workers, name_key, benchmark_key, bot_key, user_key, story, bug, \
                 story_key) \
                 VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, \
                 $16, $17, $18, $19, $20, $21, $22, $23, $24) ON CONFLICT DO NOTHING",
                [
                    id.number().into(),
                    id.as_str().into(),
                    job.kind.as_str().into(),
                    JobState::Pending.as_str().into(),
                    id.created().into(),
                    job.name.as_str().into(),
                    job.benchmark.as_str().into(),
                    job.bot.as_str().into(),
                    job.user.as_str().into(),
                    job.repository.as_str().into(),
                    job.title.as_str().into(),
                    words(names, texts).into(),
                    spec.into(),
                    job.config.to_string().into(),
                    i64::from(JOURNAL_VERSION).into(),
                    env!("CARGO_PKG_VERSION").into(),
                    by_workers(&job.config).into(),
                    keys.name.into(),
                    keys.benchmark.into(),
                    keys.bot.into(),
                    keys.user.into(),
                    request.story.as_str().into(),
                    request.bug.into(),
                    name_key(&request.story).into(),
                ],
            )
            .await?;
        if added == 0 {
            return Ok(Attempt::NumberTaken);
        }
        if let Some(quota) = &creation.quota
            && let Err(error) = quotas::check(&mut transaction, &job.user, quota).await
        {
            if matches!(error, StoreError::QuotaReached { .. }) {
                transaction.roll_back().await?;
            }
            return Err(error);
        }
        for file in files {
            file.insert(&mut transaction, id.number(), 0).await?;
        }
        let entry = entry.map(|entry| entry.about(id));
        append(self.database, &mut transaction, entry.as_ref()).await?;
        transaction.commit().await?;
        Ok(Attempt::Made)
    }

    /// Claims an idempotency key for a job, and returns the job and the digest of the request that
    /// have it. Of two concurrent claims, the second waits for the end of the first.
    async fn claim(
        self,
        transaction: &mut Transaction,
        once: IdempotencyKey<'_>,
        id: &JobId,
    ) -> Result<(JobId, Vec<u8>), StoreError> {
        let dialect = self.database.dialect();
        let is_old = format!(
            "idempotency_keys.created < (SELECT {} - {})",
            dialect.now(),
            REMEMBERED.as_millis()
        );
        let insert = format!(
            "INSERT INTO idempotency_keys (username, name, digest, job, created) \
             VALUES ($1, $2, $3, $4, {}) ON CONFLICT (username, name) DO UPDATE \
             SET digest = excluded.digest, job = excluded.job, created = excluded.created \
             WHERE {is_old}",
            dialect.now()
        );
        let values: [Value; 4] = [
            once.user.into(),
            once.key.into(),
            once.digest.to_vec().into(),
            id.as_str().into(),
        ];
        loop {
            if transaction.execute(&insert, values.clone()).await? > 0 {
                let sql = format!(
                    "DELETE FROM idempotency_keys WHERE (username, name) IN \
                     (SELECT username, name FROM idempotency_keys WHERE {is_old} \
                      ORDER BY created LIMIT {FORGOTTEN_AT_ONCE}{})",
                    dialect.skip_locked()
                );
                transaction.execute(&sql, []).await?;
                return Ok((id.clone(), once.digest.to_vec()));
            }
            let sql = "SELECT job, digest FROM idempotency_keys WHERE username = $1 AND name = $2";
            let rows = transaction
                .fetch(sql, [once.user.into(), once.key.into()])
                .await?;
            // None when a day has just ended.
            if let Some(row) = rows.first() {
                let failed = |source| self.database.failed(source);
                let job = JobId(row.text(0).map_err(failed)?);
                return Ok((job, row.bytes(1).map_err(failed)?));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobStore;

    #[tokio::test]
    async fn a_job_of_an_id_is_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let store = JobStore::open(directory.path()).await.unwrap();
        let titled = |title: &str| NewJob {
            title: title.into(),
            ..NewJob::default()
        };
        let id = JobId::at(1_700_000_000_000, [7, 8]);
        assert_eq!(JobId::parse(id.as_str()).unwrap(), id);
        assert_eq!(id.created(), 1_700_000_000_000);
        for title in ["first", "second"] {
            assert!(store.jobs().create_once(&id, &titled(title)).await.unwrap());
        }
        assert_eq!(store.jobs().get(&id).await.unwrap().title, "first");

        // The numbers of these two are the same, but not the ids.
        let other = JobId::at(1_700_000_000_000, [7, 9]);
        assert_eq!((other.number(), other == id), (id.number(), false));
        assert!(
            !store
                .jobs()
                .create_once(&other, &titled("third"))
                .await
                .unwrap()
        );
        let later = JobId::at(1_700_000_000_001, [7, 9]);
        assert!(
            store
                .jobs()
                .create_once(&later, &titled("third"))
                .await
                .unwrap()
        );
    }
}
