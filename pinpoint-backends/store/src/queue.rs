//! Jobs that wait for a worker.

use std::collections::BTreeMap;
use std::time::Duration;

use super::database::Value;
use super::leases::without_worker;
use super::query::Query;
use super::signature::has_signature;
use super::views::Queue;
use super::{JobFilter, JobId, PublicKey, StoreError};

impl Queue<'_> {
    /// The number of pending jobs of the same bot that are taken before this one, of those with a
    /// signature by one of these keys where workers take signed jobs only; `None` where this one
    /// needs no worker, by the rules of [`Leases::take`](super::views::Leases::take).
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::waiting_before", level = "debug", skip_all, fields(job = %id))]
    pub async fn waiting_before(
        self,
        id: &JobId,
        trusted: Option<&[PublicKey]>,
    ) -> Result<Option<u64>, StoreError> {
        let now = self.database.dialect().now();
        let [running, pending] = without_worker(now);
        let mut values = vec![id.as_str().into()];
        let (signed, names) = match trusted {
            None => ("1 = 1".to_owned(), Vec::new()),
            Some(keys) => has_signature(keys, values.len() + 1),
        };
        values.extend(names.into_iter().map(Value::from));
        // Those whose worker has gone come first.
        let sql = format!(
            "SELECT CASE WHEN state = 'running' THEN 0 ELSE (SELECT count(*) FROM jobs \
             WHERE number < this.number AND bot = this.bot AND {pending} AND lease >= 0 \
             AND by_workers = 1 AND {signed}) END \
             FROM jobs AS this WHERE id = $1 AND (({running}) OR ({pending}))"
        );
        let rows = self.database.fetch(&sql, values).await?;
        let before = rows.first().map(|row| row.int(0)).transpose();
        let before = before.map_err(|source| self.database.failed(source))?;
        Ok(before.map(|before| u64::try_from(before).unwrap_or_default()))
    }

    /// Returns whether a job needs a worker, by the rules of
    /// [`Leases::take`](super::views::Leases::take).
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::needs_worker", level = "debug", skip_all, fields(job = %id))]
    #[doc(hidden)]
    pub async fn needs_worker(self, id: &JobId) -> Result<bool, StoreError> {
        let [running, pending] = without_worker(self.database.dialect().now());
        let sql = format!("SELECT 1 FROM jobs WHERE id = $1 AND (({running}) OR ({pending}))");
        let rows = self.database.fetch(&sql, [id.as_str().into()]).await?;
        Ok(!rows.is_empty())
    }

    /// The number of jobs of each of these bots that wait for a worker, by the rules of
    /// [`Leases::take`](super::views::Leases::take), and the age of the oldest; bots without
    /// waiting jobs are left out.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::lines", level = "debug", skip_all)]
    #[doc(hidden)]
    pub async fn lengths(
        self,
        bots: &[String],
    ) -> Result<BTreeMap<String, (u64, Duration)>, StoreError> {
        let filter = JobFilter {
            bots: bots.to_owned(),
            by_workers: true,
            ..JobFilter::default()
        };
        let query = Query::new(self.database.dialect(), &filter);
        let now = self.database.dialect().now();
        let [running, pending] = without_worker(now);
        let sql = format!(
            "SELECT bot, count(*), {now} - min(created) FROM jobs WHERE {} AND lease >= 0 \
             AND (({running}) OR ({pending})) GROUP BY bot",
            query.conditions.join(" AND "),
        );
        let rows = self.database.fetch(&sql, query.values).await?;
        let lines = rows.iter().map(|row| {
            let [count, age] = [row.int(1)?, row.int(2)?];
            let [count, age] = [count, age].map(|it| u64::try_from(it).unwrap_or_default());
            Ok((row.text(0)?, (count, Duration::from_millis(age))))
        });
        let lines = lines.collect::<Result<_, _>>();
        lines.map_err(|source| self.database.failed(source))
    }
}
