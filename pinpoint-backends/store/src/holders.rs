//! The processes that hold running jobs.

use super::database::{Row, Value};
use super::views::Leases;
use super::{JobId, StoreError};

/// The process that took a running job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The job.
    pub job: JobId,
    /// The owner of its lease.
    pub owner: String,
    /// The lease has expired: the process is dead, suspended or cut off.
    pub expired: bool,
    /// It is a job for the workers of its bot.
    pub by_workers: bool,
}

impl Leases<'_> {
    /// The holders of the running ones among these jobs, in no particular order. One statement,
    /// whatever their number; a list queries its page.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::holders", level = "debug", skip_all)]
    pub async fn holders(self, jobs: &[JobId]) -> Result<Vec<Holder>, StoreError> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let places: Vec<_> = (1..=jobs.len()).map(|place| format!("${place}")).collect();
        let sql = format!(
            "SELECT id, lease_owner, CAST(CASE WHEN lease_expires < {} THEN 1 ELSE 0 END AS BIGINT), by_workers \
             FROM jobs WHERE state = 'running' AND lease_owner IS NOT NULL AND id IN ({})",
            self.database.dialect().now(),
            places.join(", "),
        );
        let values = jobs.iter().map(|job| Value::from(job.as_str()));
        let rows = self.database.fetch(&sql, values).await?;
        let holder = |row: &Row| {
            Ok(Holder {
                job: JobId(row.text(0)?),
                owner: row.text(1)?,
                expired: row.int(2)? != 0,
                by_workers: row.int(3)? != 0,
            })
        };
        let holders = rows.iter().map(holder).collect::<Result<_, _>>();
        holders.map_err(|source| self.database.failed(source))
    }
}
