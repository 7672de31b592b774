//! Writes jobs as lines.

use std::io::Write;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde_json::value::RawValue;

use super::damage::parsed;
use super::database::{Access, Database, Row};
use super::exchange::{FileLine, JobLine, Line, RecordLine, VERSION};
use super::files::Piece;
use super::rows;
use super::views::{Exchange, Jobs};
use super::{CancelRequest, JobFilter, JobId, ListOrder, PagePosition, StoreError};

/// Jobs looked up at once.
const PAGE: u32 = 500;

/// The counts of an export so far.
struct Written {
    jobs: u64,
    records: u64,
}

impl Written {
    fn begin(output: &mut (dyn Write + Send)) -> Result<Self, StoreError> {
        write_line(output, &Line::PinpointJobs { version: VERSION })?;
        Ok(Self {
            jobs: 0,
            records: 0,
        })
    }

    /// Adds the records of one more job, unless it is gone.
    fn add(&mut self, records: Option<u64>) {
        self.jobs += u64::from(records.is_some());
        self.records += records.unwrap_or_default();
    }

    fn end(self, output: &mut (dyn Write + Send)) -> Result<u64, StoreError> {
        let Self { jobs, records } = self;
        write_line(output, &Line::End { jobs, records })?;
        output
            .flush()
            .map_err(|source| StoreError::Exchange { source })?;
        Ok(jobs)
    }
}

impl Exchange<'_> {
    /// Writes the jobs that match the filter, the newest first, with everything that belongs to
    /// them in the store, and returns their number. Each job is as it was at one instant; jobs that
    /// are added or removed during the export may be left out.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or the output cannot be written.
    #[tracing::instrument(name = "store::export", level = "debug", skip_all)]
    pub async fn export(
        self,
        filter: &JobFilter,
        output: &mut (dyn Write + Send),
    ) -> Result<u64, StoreError> {
        let jobs = Jobs {
            database: self.database,
        };
        let mut written = Written::begin(output)?;
        let mut place = PagePosition::First;
        loop {
            let page = (jobs.list(filter, ListOrder::default(), &place, PAGE)).await?;
            for job in &page.jobs {
                written.add(self.export_job(&job.id, output).await?);
            }
            match page.jobs.into_iter().next_back() {
                Some(last) if page.more => place = PagePosition::After(last.id.into()),
                _ => break,
            }
        }
        written.end(output)
    }

    /// Writes these jobs, like [`Exchange::export`]. Removed ones are left out.
    ///
    /// # Errors
    ///
    /// The same.
    #[tracing::instrument(name = "store::export_jobs", level = "debug", skip_all)]
    pub async fn export_jobs(
        self,
        ids: &[JobId],
        output: &mut (dyn Write + Send),
    ) -> Result<u64, StoreError> {
        let mut written = Written::begin(output)?;
        for id in ids {
            written.add(self.export_job(id, output).await?);
        }
        written.end(output)
    }

    /// Writes one job and returns its number of records; `None` if it is gone.
    async fn export_job(
        self,
        id: &JobId,
        output: &mut (dyn Write + Send),
    ) -> Result<Option<u64>, StoreError> {
        let failed = |source| self.database.failed(source);
        let raw = |what: &str, text: String| -> Result<Box<RawValue>, StoreError> {
            let place = || format!("{what} of job {id}");
            parsed(&self.database.name, place, &text)
        };
        let database = self.database.unhurried();
        let mut tries = database.tries(None);
        let (rows, records, files) = loop {
            match rows_of(&database, id).await {
                Err(error) if tries.again(&error).await => {}
                rows => break rows?,
            }
        };
        let Some(row) = rows.first() else {
            return Ok(None);
        };

        let text = |column| row.text(column).map_err(failed);
        let int = |column| row.int(column).map_err(failed);
        let outcome = row.optional_text(17).map_err(failed)?;
        let line = JobLine {
            id: id.to_string(),
            kind: text(0)?,
            state: rows::state(self.database, id, row, 1)?,
            created: int(2)?,
            updated: int(3)?,
            duration: row.optional_int(4).map_err(failed)?,
            name: text(5)?,
            benchmark: text(6)?,
            bot: text(7)?,
            user: text(8)?,
            repository: text(9)?,
            title: text(10)?,
            error: row.optional_text(11).map_err(failed)?,
            journal_version: rows::version(row, 12).map_err(failed)?,
            written_by: text(13)?,
            cancel_requested: int(14)? != 0,
            cancel: CancelRequest::from_row(row, 19).map_err(failed)?,
            spec: raw("spec", text(15)?)?,
            config: raw("config", text(16)?)?,
            outcome: outcome.map(|text| raw("outcome", text)).transpose()?,
            records: records.len() as u64,
            files: files.len() as u64,
        };
        write_line(output, &Line::Job(Box::new(line)))?;
        for row in &records {
            let detail = row.optional_text(2).map_err(failed)?;
            let line = RecordLine {
                recorded: row.int(0).map_err(failed)?,
                event: raw("a record", row.text(1).map_err(failed)?)?,
                detail: detail.map(|text| raw("a record", text)).transpose()?,
                withdrawn: row.int(3).map_err(failed)? != 0,
            };
            write_line(output, &Line::Record(line))?;
        }
        for row in &files {
            let piece = Piece::from_row(row).map_err(failed)?;
            let line = FileLine {
                name: piece.name,
                size: piece.size,
                content: STANDARD.encode(piece.content),
            };
            write_line(output, &Line::File(line))?;
        }
        Ok(Some(records.len() as u64))
    }
}

/// A job, its records and its files, as they were at one instant.
async fn rows_of(
    database: &Database,
    id: &JobId,
) -> Result<(Vec<Row>, Vec<Row>, Vec<Row>), StoreError> {
    let mut transaction = database.begin(Access::Read).await?;
    let rows = transaction
        .fetch(
            "SELECT kind, state, created, updated, duration, name, benchmark, bot, username, \
             repository, title, error, journal_version, written_by, cancel_requested, spec, \
             config, outcome, number, cancel_by, cancel_reason FROM jobs WHERE id = $1",
            [id.as_str().into()],
        )
        .await?;
    let (mut records, mut files) = (Vec::new(), Vec::new());
    if let Some(row) = rows.first() {
        let number = row.int(18).map_err(|source| database.failed(source))?;
        let sql = "SELECT recorded, event, detail, withdrawn FROM records WHERE job = $1 \
                   ORDER BY sequence";
        records = transaction.fetch(sql, [number.into()]).await?;
        let sql = "SELECT name, size, content FROM job_files WHERE job = $1 \
                   ORDER BY name, sequence";
        files = transaction.fetch(sql, [number.into()]).await?;
    }
    transaction.commit().await?;
    Ok((rows, records, files))
}

fn write_line(output: &mut (dyn Write + Send), line: &Line) -> Result<(), StoreError> {
    let failed = |source| StoreError::Exchange { source };
    serde_json::to_writer(&mut *output, line).map_err(|error| failed(error.into()))?;
    output.write_all(b"\n").map_err(failed)
}
