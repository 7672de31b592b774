//! The workers of a store, and the job of each.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::damage::parsed;
use super::database::Row;
use super::leases::milliseconds;
use super::views::Workers;
use super::{JobId, PublicKey, StoreError};

/// The time after its last sign of life for which a worker that has gone is remembered.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The field of the column `host` with the keys that a worker trusts.
const TRUSTED: &str = "trusted_keys";

/// The announcement of a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Announcement {
    /// Identifies its place on its machine: the next worker there takes this one's place
    /// in the list.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// The name of its machine.
    pub machine: String,
    /// The bots whose jobs it takes.
    pub bots: Vec<String>,
    /// The keys that it trusts, if it takes signed jobs only.
    pub trusted: Option<Vec<PublicKey>>,
    /// The machine as it was when the worker began.
    pub host: Value,
    /// The time at which it began, in milliseconds since 1970.
    pub started: i64,
    /// The job that it works on.
    pub job: Option<JobId>,
    /// Its current activity, in a few words.
    pub activity: String,
}

/// A worker of a store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorkerEntry {
    /// Its name, for people.
    pub name: String,
    /// The name of its machine.
    pub machine: String,
    /// The bots whose jobs it takes.
    pub bots: Vec<String>,
    /// The keys that it trusts, if it takes signed jobs only.
    #[serde(default)]
    pub trusted: Option<Vec<PublicKey>>,
    /// The machine as it was when the worker began.
    pub host: Value,
    /// Its version of pinpoint.
    pub version: String,
    /// The time at which it began, in milliseconds since 1970.
    pub started: i64,
    /// Its last sign of life, in milliseconds since 1970, by the store's clock.
    pub seen: i64,
    /// It has ended, or gives no more signs of life.
    pub gone: bool,
    /// The job that it works on.
    pub job: Option<JobId>,
    /// Its current activity, in a few words.
    pub activity: String,
    /// The milliseconds since its last sign of life, by the store's clock.
    #[serde(default)]
    pub silent: i64,
    /// The seconds for which no other may take its job, unless it renews its lease.
    #[serde(default)]
    pub holds: Option<i64>,
}

impl Workers<'_> {
    /// Announces a worker and its activity, for this time unless it is announced again; for no time
    /// when it ends. Forgets workers that have been gone for a week.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    #[tracing::instrument(name = "store::announce", level = "debug", skip_all)]
    pub async fn announce(self, worker: &Announcement, time: Duration) -> Result<(), StoreError> {
        let now = self.database.dialect().now();
        let sql = format!(
            "INSERT INTO workers (id, name, machine, bots, host, version, started, seen, expires, \
             job, activity) VALUES ($1, $2, $3, $4, $5, $6, $7, {now}, {now} + $8, $9, $10) \
             ON CONFLICT (id) DO UPDATE SET name = excluded.name, machine = excluded.machine, \
             bots = excluded.bots, host = excluded.host, version = excluded.version, \
             started = excluded.started, seen = excluded.seen, expires = excluded.expires, \
             job = excluded.job, activity = excluded.activity"
        );
        let mut host = worker.host.clone();
        if let (Some(fields), Some(keys)) = (host.as_object_mut(), &worker.trusted) {
            let keys: Vec<_> = keys.iter().map(PublicKey::to_string).collect();
            fields.insert(TRUSTED.into(), keys.into());
        }
        let values = [
            worker.id.as_str().into(),
            worker.name.as_str().into(),
            worker.machine.as_str().into(),
            Value::from(worker.bots.clone()).to_string().into(),
            host.to_string().into(),
            env!("CARGO_PKG_VERSION").into(),
            worker.started.into(),
            milliseconds(time).into(),
            (worker.job.as_ref().map(JobId::to_string)).into(),
            worker.activity.as_str().into(),
        ];
        self.database.execute(&sql, values).await?;
        let sql = format!("DELETE FROM workers WHERE seen < {now} - $1");
        let values = [milliseconds(REMEMBERED).into()];
        self.database.execute(&sql, values).await?;
        Ok(())
    }

    /// All workers, sorted by name, including those that have gone, for a week.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::workers", level = "debug", skip_all)]
    pub async fn list(self) -> Result<Vec<WorkerEntry>, StoreError> {
        let now = self.database.dialect().now();
        let sql = format!(
            "SELECT workers.name, machine, bots, host, version, started, seen, \
             CAST(CASE WHEN expires <= {now} THEN 1 ELSE 0 END AS BIGINT), job, activity, \
             {now} - seen, (lease_expires - {now} + 999) / 1000 \
             FROM workers LEFT JOIN jobs ON jobs.id = workers.job AND lease_expires >= {now} \
             AND lease_owner = substr(workers.id, 1, length(lease_owner)) \
             ORDER BY workers.name, workers.id"
        );
        let rows = self.database.fetch(&sql, []).await?;
        rows.iter().map(|row| self.worker_of(row)).collect()
    }

    fn worker_of(self, row: &Row) -> Result<WorkerEntry, StoreError> {
        let failed = |source| self.database.failed(source);
        let text = |column| row.text(column).map_err(failed);
        let name = text(0)?;
        let place = || format!("worker {name}");
        let (bots, host) = (text(2)?, text(3)?);
        let mut host: Value = parsed(&self.database.name, place, &host)?;
        let keys = (host.as_object_mut()).and_then(|fields| fields.remove(TRUSTED));
        // No job could be signed with an unreadable key.
        let trusted = keys.map(|keys| {
            let keys = keys.as_array().into_iter().flatten();
            let keys = keys.filter_map(|key| key.as_str()?.parse().ok());
            keys.collect()
        });
        Ok(WorkerEntry {
            machine: text(1)?,
            bots: parsed(&self.database.name, place, &bots)?,
            trusted,
            host,
            version: text(4)?,
            started: row.int(5).map_err(failed)?,
            seen: row.int(6).map_err(failed)?,
            gone: row.int(7).map_err(failed)? != 0,
            job: row.optional_text(8).map_err(failed)?.map(JobId),
            activity: text(9)?,
            silent: row.int(10).map_err(failed)?,
            holds: row.optional_int(11).map_err(failed)?,
            name,
        })
    }
}
