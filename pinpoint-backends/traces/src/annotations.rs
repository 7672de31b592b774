//! Annotations: notes of people and programs at commits.

use std::ops::RangeInclusive;

use pinpoint_store::sql::{Access, Transaction};
use pinpoint_traces::{Annotation, CommitNumber};

use super::ingest::json;
use super::store::DatasetRow;
use super::{History, TraceStoreError};

/// An annotation with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedAnnotation {
    /// The number, by which it is edited and deleted.
    pub number: u64,
    /// The annotation.
    pub annotation: Annotation,
}

impl History {
    /// Adds an annotation, and returns its number.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::Annotation`]; when the store cannot be written.
    pub async fn annotate(&self, annotation: &Annotation) -> Result<u64, TraceStoreError> {
        annotation.check()?;
        let mut transaction = self.store.database.begin(Access::Write).await?;
        let dataset = self.locked_row(&mut transaction).await?;
        let number = dataset.annotations + 1;
        let sql = "UPDATE datasets SET annotations = $2 WHERE number = $1";
        transaction
            .execute(sql, [dataset.number.into(), number.into()])
            .await?;
        let sql = "INSERT INTO annotations (dataset, number, commit_number, content) \
                   VALUES ($1, $2, $3, $4)";
        self.write(&mut transaction, &dataset, sql, number, annotation)
            .await?;
        transaction.commit().await?;
        Ok(number.cast_unsigned())
    }

    /// Replaces an annotation.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoAnnotation`], [`TraceStoreError::Annotation`]; when the store cannot be
    /// written.
    pub async fn edit_annotation(
        &self,
        number: u64,
        annotation: &Annotation,
    ) -> Result<(), TraceStoreError> {
        annotation.check()?;
        let mut transaction = self.store.database.begin(Access::Write).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "UPDATE annotations SET commit_number = $3, content = $4 \
                   WHERE dataset = $1 AND number = $2";
        let number_here = i64::try_from(number).unwrap_or(-1);
        let inner = &mut transaction;
        match self
            .write(inner, &dataset, sql, number_here, annotation)
            .await?
        {
            0 => Err(TraceStoreError::NoAnnotation(number)),
            _ => Ok(transaction.commit().await?),
        }
    }

    /// Deletes an annotation.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoAnnotation`]; when the store cannot be written.
    pub async fn delete_annotation(&self, number: u64) -> Result<(), TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Write).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "DELETE FROM annotations WHERE dataset = $1 AND number = $2";
        let values = [
            dataset.number.into(),
            i64::try_from(number).unwrap_or(-1).into(),
        ];
        match transaction.execute(sql, values).await? {
            0 => Err(TraceStoreError::NoAnnotation(number)),
            _ => Ok(transaction.commit().await?),
        }
    }

    /// The annotations at the commits of a range, by commit and number.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read, or is damaged.
    pub async fn annotations(
        &self,
        commits: RangeInclusive<CommitNumber>,
    ) -> Result<Vec<NumberedAnnotation>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "SELECT number, content FROM annotations \
                   WHERE dataset = $1 AND commit_number BETWEEN $2 AND $3 \
                   ORDER BY commit_number, number";
        let values = [
            dataset.number.into(),
            i64::from(commits.start().0).into(),
            i64::from(commits.end().0).into(),
        ];
        let rows = transaction.fetch(sql, values).await?;
        transaction.roll_back().await?;
        let annotations = rows.iter().map(|row| {
            let number = row.int(0)?.cast_unsigned();
            let annotation = serde_json::from_str(&row.text(1)?);
            let damaged = |error| self.store.damaged(format!("annotation {number}"), error);
            Ok(NumberedAnnotation {
                number,
                annotation: annotation.map_err(damaged)?,
            })
        });
        annotations.collect()
    }

    async fn write(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        sql: &str,
        number: i64,
        annotation: &Annotation,
    ) -> Result<u64, TraceStoreError> {
        let values = [
            dataset.number.into(),
            number.into(),
            i64::from(annotation.commit.0).into(),
            json(annotation)?.into(),
        ];
        Ok(transaction.execute(sql, values).await?)
    }
}
