//! Opens the journals of jobs.

use super::journal::JobJournal;
use super::rows::{unknown, version};
use super::views::Journals;
use super::{JOURNAL_VERSION, JobId, Lease, StoreError};

impl Journals<'_> {
    /// The journal of a job, until a worker takes the job.
    ///
    /// # Errors
    ///
    /// [`StoreError::JournalVersion`] when this program lacks its version.
    #[tracing::instrument(name = "store::journal", level = "debug", skip_all, fields(job = %id))]
    pub async fn open(self, id: &JobId) -> Result<JobJournal, StoreError> {
        let failed = |source| self.database.failed(source);
        let rows = self
            .database
            .fetch(
                "SELECT number, lease, journal_version, written_by, created FROM jobs \
                 WHERE id = $1",
                [id.as_str().into()],
            )
            .await?;
        let row = rows.first().ok_or_else(|| unknown(id))?;
        let found = version(row, 2).map_err(failed)?;
        if !(1..=JOURNAL_VERSION).contains(&found) {
            return Err(StoreError::JournalVersion {
                id: id.clone(),
                found,
                supported: JOURNAL_VERSION,
                written_by: row.text(3).map_err(failed)?,
            });
        }
        let (job, token) = (row.int(0).map_err(failed)?, row.int(1).map_err(failed)?);
        let lease = Lease::none(id.clone(), job, token);
        let created = u64::try_from(row.int(4).map_err(failed)?).unwrap_or_default();
        Ok(JobJournal::new(self.database.clone(), lease, created))
    }

    /// The journal of a job, while the lease is valid.
    ///
    /// # Errors
    ///
    /// As of [`Journals::open`].
    pub async fn open_leased(self, lease: &Lease) -> Result<JobJournal, StoreError> {
        Ok(self.open(&lease.id).await?.under(lease.clone()))
    }
}
