//! Alerts, under the numbers that the store gives them.

use pinpoint_store::sql::{Access, Row, Transaction};
use pinpoint_traces::watch::{Alert, AlertId, AlertState};

use super::ingest::json;
use super::store::DatasetRow;
use super::{History, TraceStoreError};

impl History {
    /// Adds an alert, and returns the id that it has from now on; the one that it came with does not
    /// count.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::Alert`] for one that can't be; [`TraceStoreError::NoDataset`]; when the
    /// store cannot be written.
    pub async fn add_alert(&self, alert: &Alert) -> Result<AlertId, TraceStoreError> {
        alert.check()?;
        let mut transaction = self.store.database.begin(Access::Write).await?;
        // Nothing is made for a name that is not there.
        self.row(&mut transaction).await?;
        let dataset = self.locked_row(&mut transaction).await?;
        let sql = "SELECT coalesce(max(number), 0) + 1 FROM alerts WHERE dataset = $1";
        let rows = transaction.fetch(sql, [dataset.number.into()]).await?;
        let number = rows.first().map_or(Ok(1), |row| row.int(0))?;
        let alert = Alert {
            id: AlertId(number),
            ..alert.clone()
        };
        let sql = "INSERT INTO alerts (dataset, number, content) VALUES ($1, $2, $3)";
        let values = [dataset.number.into(), number.into(), json(&alert)?.into()];
        transaction.execute(sql, values).await?;
        transaction.commit().await?;
        Ok(alert.id)
    }

    /// All alerts by id, deleted ones among them.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read, or is damaged.
    pub async fn alerts(&self) -> Result<Vec<Alert>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "SELECT number, content FROM alerts WHERE dataset = $1 ORDER BY number";
        let rows = transaction.fetch(sql, [dataset.number.into()]).await?;
        transaction.roll_back().await?;
        rows.iter().map(|row| self.stored_alert(row)).collect()
    }

    /// The alert with this id, also a deleted one.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoAlert`]; those of [`History::alerts`].
    pub async fn alert(&self, id: AlertId) -> Result<Alert, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let found = self.alert_of(&mut transaction, &dataset, id).await;
        transaction.roll_back().await?;
        found
    }

    /// Replaces the alert with the id of this one.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoAlert`], [`TraceStoreError::Alert`]; [`TraceStoreError::NoDataset`]; when
    /// the store cannot be written.
    pub async fn replace_alert(&self, alert: &Alert) -> Result<(), TraceStoreError> {
        alert.check()?;
        let mut transaction = self.store.database.begin(Access::Write).await?;
        self.row(&mut transaction).await?;
        let dataset = self.locked_row(&mut transaction).await?;
        self.write_alert(&mut transaction, &dataset, alert).await?;
        Ok(transaction.commit().await?)
    }

    /// Deletes an alert: it is not watched any more, and is kept, because regressions name it.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoAlert`]; [`TraceStoreError::NoDataset`]; when the store cannot be written.
    pub async fn delete_alert(&self, id: AlertId) -> Result<(), TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Write).await?;
        self.row(&mut transaction).await?;
        let dataset = self.locked_row(&mut transaction).await?;
        let alert = Alert {
            state: AlertState::Deleted,
            ..self.alert_of(&mut transaction, &dataset, id).await?
        };
        self.write_alert(&mut transaction, &dataset, &alert).await?;
        Ok(transaction.commit().await?)
    }

    async fn alert_of(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        id: AlertId,
    ) -> Result<Alert, TraceStoreError> {
        let sql = "SELECT number, content FROM alerts WHERE dataset = $1 AND number = $2";
        let rows = transaction.fetch(sql, [dataset.number.into(), id.0.into()]);
        let rows = rows.await?;
        self.stored_alert(rows.first().ok_or(TraceStoreError::NoAlert(id))?)
    }

    async fn write_alert(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        alert: &Alert,
    ) -> Result<(), TraceStoreError> {
        let sql = "UPDATE alerts SET content = $3 WHERE dataset = $1 AND number = $2";
        let values = [
            dataset.number.into(),
            alert.id.0.into(),
            json(alert)?.into(),
        ];
        match transaction.execute(sql, values).await? {
            0 => Err(TraceStoreError::NoAlert(alert.id)),
            _ => Ok(()),
        }
    }

    fn stored_alert(&self, row: &Row) -> Result<Alert, TraceStoreError> {
        let number = row.int(0)?;
        Alert::from_json(&row.text(1)?)
            .map_err(|error| self.store.damaged(format!("alert {number}"), error))
    }
}
