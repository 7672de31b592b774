//! Requests to end a job, and their withdrawal.

use pinpoint_core::JobState;

use super::cancel_request::{CLEAR, withdraw};
use super::change::Change;
use super::database::{Access, Row, Value};
use super::job::CancelRequest;
use super::rows::{one, state, unknown};
use super::views::Cancellations;
use super::{AuditEntry, JobId, StoreError};

/// The first request is kept until it is withdrawn.
const KEEP: &str = "cancel_reason = CASE WHEN cancel_by IS NULL THEN $3 ELSE cancel_reason END, \
                    cancel_by = coalesce(cancel_by, $2)";

impl Cancellations<'_> {
    /// Asks the worker of a job to end it. Of several requests the first one's reason is
    /// kept.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`]; [`StoreError::Transition`] when it is completed or canceled; or
    /// when the store cannot be written.
    #[tracing::instrument(name = "store::request_cancel", level = "debug", skip_all, fields(job = %id))]
    pub async fn request(
        self,
        id: &JobId,
        request: &CancelRequest,
        entry: Option<&AuditEntry>,
    ) -> Result<(), StoreError> {
        let mut change = Change::new(self.database, entry);
        loop {
            match self.try_request_cancel(&change, id, request).await {
                Err(error) if change.again(&error).await => {}
                done => return done,
            }
        }
    }

    async fn try_request_cancel(
        self,
        change: &Change<'_>,
        id: &JobId,
        request: &CancelRequest,
    ) -> Result<(), StoreError> {
        let Some(mut transaction) = change.begin().await? else {
            return Ok(());
        };
        // One that ended a moment ago did so without this request.
        let sql = format!(
            "UPDATE jobs SET cancel_requested = 1, {KEEP} \
             WHERE id = $1 AND state NOT IN ('completed', 'canceled')"
        );
        let values = values_of(id, request);
        if transaction.execute(&sql, values).await? > 0 {
            return change.commit(transaction).await;
        }
        let sql = "SELECT state FROM jobs WHERE id = $1";
        let rows = transaction.fetch(sql, [id.as_str().into()]).await?;
        transaction.roll_back().await?;
        let row = rows.first().ok_or_else(|| unknown(id))?;
        Err(StoreError::Transition {
            id: id.clone(),
            from: state(self.database, id, row, 0)?,
            to: JobState::Canceled,
        })
    }

    /// Keeps the reason of a request that reached the worker of the job in another way.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the store cannot be written.
    #[doc(hidden)]
    pub async fn keep(self, id: &JobId, request: &CancelRequest) -> Result<(), StoreError> {
        let sql = format!("UPDATE jobs SET {KEEP} WHERE id = $1");
        let values = values_of(id, request);
        one(id, self.database.execute(&sql, values).await?)
    }

    /// Returns whether the job was asked to end. Cheap enough to call several times a second.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the store cannot be read.
    #[tracing::instrument(name = "store::cancel_requested", level = "debug", skip_all, fields(job = %id))]
    pub async fn is_requested(self, id: &JobId) -> Result<bool, StoreError> {
        let sql = "SELECT cancel_requested FROM jobs WHERE id = $1";
        let rows = self.database.fetch(sql, [id.as_str().into()]).await?;
        let row = rows.first().ok_or_else(|| unknown(id))?;
        let asked = row.int(0).map_err(|source| self.database.failed(source))?;
        Ok(asked != 0)
    }

    /// Withdraws the request to end the job, and a pause.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the store cannot be written.
    #[tracing::instrument(name = "store::clear_cancel", level = "debug", skip_all, fields(job = %id))]
    pub async fn clear(self, id: &JobId) -> Result<(), StoreError> {
        one(
            id,
            self.database.execute(CLEAR, [id.as_str().into()]).await?,
        )
    }

    /// Records that the worker of the job knows of the request to end it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the store cannot be written.
    #[tracing::instrument(name = "store::cancel_handed_on", level = "debug", skip_all, fields(job = %id))]
    #[doc(hidden)]
    pub async fn handed_on(self, id: &JobId) -> Result<(), StoreError> {
        let sql = "UPDATE jobs SET cancel_requested = 0 WHERE id = $1";
        one(id, self.database.execute(sql, [id.as_str().into()]).await?)
    }

    /// Returns a canceled job to its previous state: the request, and every record after it, is
    /// kept but no longer replayed. Clears the request of [`Cancellations::request`] in the same
    /// transaction, since a crash between the two would cancel the job again. Returns the number of
    /// withdrawn records.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`], or when the store cannot be written; then
    /// nothing has changed.
    #[tracing::instrument(name = "store::withdraw_cancellation", level = "debug", skip_all, fields(job = %id))]
    pub async fn withdraw(self, id: &JobId) -> Result<u64, StoreError> {
        let mut tries = self.database.tries(None);
        loop {
            match self.try_withdraw_cancellation(id).await {
                Err(error) if tries.again(&error).await => {}
                done => return done,
            }
        }
    }

    async fn try_withdraw_cancellation(self, id: &JobId) -> Result<u64, StoreError> {
        let mut transaction = self.database.begin(Access::Write).await?;
        let withdrawn = withdraw(&mut transaction, id).await?;
        transaction.commit().await?;
        Ok(withdrawn)
    }

    /// The jobs that an owner holds and that were asked to end, with the requests: at most
    /// `limit`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::cancel_requests", level = "debug", skip_all)]
    pub async fn held_by(
        self,
        owner: &str,
        limit: u32,
    ) -> Result<Vec<(JobId, CancelRequest)>, StoreError> {
        let sql = "SELECT id, cancel_by, cancel_reason FROM jobs \
                   WHERE lease_owner = $1 AND cancel_requested = 1 \
                   AND state IN ('pending', 'running') ORDER BY number LIMIT $2";
        let values: [Value; 2] = [owner.into(), i64::from(limit).into()];
        let rows = self.database.fetch(sql, values).await?;
        let request = |row: &Row| {
            let request = CancelRequest::from_row(row, 1)?.unwrap_or_default();
            Ok((JobId(row.text(0)?), request))
        };
        let requests = rows.iter().map(request).collect::<Result<_, _>>();
        requests.map_err(|source| self.database.failed(source))
    }
}

fn values_of(id: &JobId, request: &CancelRequest) -> [Value; 3] {
    [
        id.as_str().into(),
        request.by.as_str().into(),
        request.reason.as_str().into(),
    ]
}
