//! A job's journal: one row a record.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use pinpoint_core::{Detail, Event, Journal, JournalError, Record};
use serde::de::DeserializeOwned;
use sqlx::{Connection, SqliteConnection};

use super::{JobId, StoreError, now};

/// The version of the records that this program writes and reads.
pub const JOURNAL_VERSION: u32 = 1;

/// The journal of one job, on a connection of its own.
///
/// Whoever writes first after reading wins: a second writer is refused with
/// [`StoreError::SecondWriter`] at its next record, and has to read again.
/// [`JobLock`](super::JobLock) keeps it from coming to that.
#[derive(Debug)]
pub struct SqliteJournal {
    connection: SqliteConnection,
    path: PathBuf,
    id: JobId,
    /// The job's row.
    job: i64,
    next: Next,
}

/// The sequence number of the next record.
#[derive(Debug, Clone, Copy)]
enum Next {
    /// To be read from the file.
    Unread,
    Known(i64),
    /// An append was begun and its end not seen.
    BrokenOff,
}

impl SqliteJournal {
    pub(super) fn new(connection: SqliteConnection, path: PathBuf, id: JobId, job: i64) -> Self {
        Self {
            connection,
            path,
            id,
            job,
            next: Next::Unread,
        }
    }

    /// Closes the connection. Dropping a journal is as safe; this waits until it
    /// is done, as a process must that is about to fork.
    pub async fn close(self) {
        // Nothing is left to write, so that nothing is lost if this fails.
        drop(self.connection.close().await);
    }

    async fn next(&mut self) -> Result<i64, StoreError> {
        match self.next {
            Next::Known(next) => Ok(next),
            Next::BrokenOff => Err(StoreError::BrokenOff {
                id: self.id.clone(),
            }),
            Next::Unread => sqlx::query_scalar(
                "SELECT coalesce(max(sequence) + 1, 0) FROM records WHERE job = ?",
            )
            .bind(self.job)
            .fetch_one(&mut self.connection)
            .await
            .map_err(|source| StoreError::from_database(&self.path, source)),
        }
    }

    async fn write(&mut self, record: &Record) -> Result<(), StoreError> {
        let id = &self.id;
        check_finite(record).map_err(|(place, value)| StoreError::NotFinite {
            id: id.clone(),
            place,
            value,
        })?;
        let json = |source| StoreError::NotJson {
            what: format!("a record for job {id}"),
            source,
        };
        let event = serde_json::to_string(&record.event).map_err(json)?;
        let detail = record
            .detail
            .as_ref()
            .map(serde_json::to_string)
            .transpose()
            .map_err(json)?;
        let sequence = self.next().await?;
        // Stays so when this future is dropped before the insert has answered.
        self.next = Next::BrokenOff;
        let inserted = sqlx::query(
            "INSERT INTO records (job, sequence, recorded, kind, event, detail) \
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(self.job)
        .bind(sequence)
        .bind(now())
        .bind(kind(&record.event))
        .bind(event)
        .bind(detail)
        .execute(&mut self.connection)
        .await;
        self.next = Next::Known(sequence);
        match inserted {
            Ok(_) => {
                self.next = Next::Known(sequence + 1);
                Ok(())
            }
            Err(error) if is_taken(&error) => Err(StoreError::SecondWriter {
                id: self.id.clone(),
                sequence,
            }),
            Err(error) => Err(StoreError::from_database(&self.path, error)),
        }
    }

    async fn read(&mut self) -> Result<Vec<Record>, StoreError> {
        // One statement sees one state of the file, so that the number of the
        // next record goes with the records that were seen.
        let rows: Vec<(i64, bool, String, Option<String>)> = sqlx::query_as(
            "SELECT sequence, withdrawn, event, detail FROM records WHERE job = ? ORDER BY sequence",
        )
        .bind(self.job)
        .fetch_all(&mut self.connection)
        .await
        .map_err(|source| StoreError::from_database(&self.path, source))?;
        self.next = Next::Known(rows.last().map_or(0, |(sequence, ..)| sequence + 1));
        rows.into_iter()
            .filter(|(_, withdrawn, ..)| !withdrawn)
            .map(|(sequence, _, event, detail)| {
                let place = || format!("record {sequence} of job {}", self.id);
                Ok(Record {
                    event: parsed(&self.path, place, &event)?,
                    detail: detail
                        .map(|detail| parsed(&self.path, place, &detail))
                        .transpose()?,
                })
            })
            .collect()
    }
}

#[async_trait]
impl Journal for SqliteJournal {
    fn job(&self) -> &str {
        self.id.as_str()
    }

    async fn records(&mut self) -> Result<Vec<Record>, JournalError> {
        Ok(self.read().await?)
    }

    async fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        Ok(self.write(record).await?)
    }
}

/// Reads JSON that this program has written.
pub(super) fn parsed<T: DeserializeOwned>(
    path: &Path,
    place: impl Fn() -> String,
    json: &str,
) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|source| StoreError::Damaged {
        path: path.to_owned(),
        place: place(),
        source: source.into(),
    })
}

fn is_taken(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.is_unique_violation())
}

/// The name of an event, as `serde` writes it.
fn kind(event: &Event) -> &'static str {
    match event {
        Event::Listed { .. } => "listed",
        Event::Built { .. } => "built",
        Event::BuildFailed { .. } => "build_failed",
        Event::Ran { .. } => "ran",
        Event::RunFailed { .. } => "run_failed",
        Event::RanPair { .. } => "ran_pair",
        Event::GaveUp { .. } => "gave_up",
        Event::Cancelled { .. } => "cancelled",
        Event::CancelRequested => "cancel_requested",
        Event::TimePassed { .. } => "time_passed",
    }
}

/// JSON has no NaN and no infinity: they would be written as `null`, and the
/// journal could not be read again.
fn check_finite(record: &Record) -> Result<(), (String, f64)> {
    let check = |place: &dyn Fn() -> String, values: &[f64]| match values
        .iter()
        .find(|value| !value.is_finite())
    {
        Some(value) => Err((place(), *value)),
        None => Ok(()),
    };
    let heard = match &record.event {
        Event::Ran { values, .. } => vec![values],
        Event::RanPair { first, second, .. } => vec![&first.values, &second.values],
        _ => Vec::new(),
    };
    for (chart, values) in heard.into_iter().flatten() {
        check(&|| format!("chart {chart}"), values)?;
    }
    let reports = match &record.detail {
        Some(Detail::Run(report)) => vec![report],
        Some(Detail::RunPair(pair)) => vec![&pair.first, &pair.second],
        _ => Vec::new(),
    };
    for report in reports {
        for (chart, series) in &report.charts {
            check(&|| format!("chart {chart}"), &series.values)?;
        }
        if let Some(usage) = report.usage {
            check(
                &|| "its usage".into(),
                &[usage.wall, usage.user, usage.system],
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::{NewJob, Store};

    async fn limit(journal: &mut SqliteJournal, pages: &'static str) {
        sqlx::query(pages)
            .execute(&mut journal.connection)
            .await
            .unwrap();
    }

    /// SQLite answers a full disk and a full file alike.
    #[tokio::test]
    async fn a_full_disk_loses_nothing_and_is_survived() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).await.unwrap();
        let job = NewJob {
            kind: "bisection".into(),
            title: String::new(),
            repository: String::new(),
            spec: serde_json::Value::Null,
            config: serde_json::Value::Null,
        };
        let id = store.create(&job).await.unwrap();
        let mut journal = store.journal(&id).await.unwrap();
        limit(&mut journal, "PRAGMA max_page_count = 20").await;
        let failed = |action| {
            Record::from(Event::GaveUp {
                action,
                reason: "x".repeat(500),
            })
        };

        let mut written = Vec::new();
        let error = loop {
            let record = failed(written.len() as u64);
            match journal.write(&record).await {
                Ok(()) => written.push(record),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        for words in [
            "disk is full",
            "nothing that was recorded is lost",
            "pinpoint jobs resume",
        ] {
            assert!(error.to_string().contains(words), "{error}");
        }
        assert!(written.len() > 10);
        assert_eq!(journal.read().await.unwrap(), written);

        // With room again, the same journal goes on.
        limit(&mut journal, "PRAGMA max_page_count = 2000").await;
        written.push(failed(99));
        journal.write(&failed(99)).await.unwrap();
        let mut anew = store.journal(&id).await.unwrap();
        assert_eq!(anew.read().await.unwrap(), written);
    }
}
