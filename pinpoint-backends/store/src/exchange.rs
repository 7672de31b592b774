//! Exports and imports jobs as JSON Lines.
//!
//! The first line names the format. Each job is a line, followed by a line for each of its records
//! and for each piece of its files, and the last line counts jobs and records, so that a truncation
//! is noticed. The store's JSON is passed on as text: no number changes.
//!
//! Imports come from anywhere: they are checked line by line while they are read, within
//! limits, and nothing of a refused import is kept.

use std::collections::BTreeSet;
use std::io::{BufRead, Read, Write};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use pinpoint_core::JobState;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::commits::hashes;
use super::database::{Access, Database, Row, Transaction};
use super::error::brief;
use super::files::Piece;
use super::job::Request;
use super::journal::{NewRow, insert, kind, parsed, record_of};
use super::order::{NameKeys, name_key};
use super::{
    CancelRequest, JOURNAL_VERSION, Job, JobAnswer, JobFilter, JobId, JobStore, Order, Place,
    StoreError, jobs, rows, text,
};

/// The version of the lines that this program writes. It reads earlier ones, too: in the first one
/// jobs have no files, and in the second one requests to end them no reasons.
const VERSION: u32 = 3;

/// The end of the year 9999, in milliseconds since 1970.
const LAST_TIME: i64 = 253_402_300_799_999;

/// The longest line that is read, in bytes: a record with all its values.
const LONGEST_LINE: usize = 64 << 20;

/// The longest line of a job that is read: its contents are held as a tree.
const LONGEST_JOB: usize = 16 << 20;

/// Records are written when there are this many, or this many bytes of them.
const RECORDS: usize = 1000;
const BYTES: usize = 16 << 20;

/// Jobs looked up at once.
const PAGE: u32 = 500;

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    /// The first one.
    PinpointJobs {
        version: u32,
    },
    Job(Box<JobLine>),
    /// Belongs to the last job before it.
    Record(RecordLine),
    /// A piece of a file of the last job before it.
    File(FileLine),
    /// The last one.
    End {
        jobs: u64,
        records: u64,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobLine {
    id: String,
    kind: String,
    state: JobState,
    created: i64,
    updated: i64,
    duration: Option<i64>,
    name: String,
    benchmark: String,
    bot: String,
    user: String,
    repository: String,
    title: String,
    error: Option<String>,
    journal_version: u32,
    written_by: String,
    cancel_requested: bool,
    #[serde(default)]
    cancel: Option<CancelRequest>,
    spec: Box<RawValue>,
    config: Box<RawValue>,
    outcome: Option<Box<RawValue>>,
    records: u64,
    /// Pieces of files.
    #[serde(default)]
    files: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLine {
    name: String,
    /// Of the file up to the end of this piece.
    size: i64,
    /// Compressed, in Base64.
    content: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordLine {
    recorded: i64,
    event: Box<RawValue>,
    detail: Option<Box<RawValue>>,
    withdrawn: bool,
}

/// Checks an imported job, and returns the problem with it, if any.
pub type Check<'a> = dyn Fn(&Job) -> Result<(), String> + Send + Sync + 'a;

/// The counts of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    /// Jobs that were added.
    pub added: u64,
    /// Jobs that existed already, and were not changed.
    pub there: u64,
}

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

impl JobStore {
    /// Writes the jobs that match the filter, the newest first, with everything that belongs to
    /// them in the store, and returns their number. Each job is as it was at one instant; jobs that
    /// are added or removed during the export may be left out.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or the output cannot be written.
    #[tracing::instrument(name = "store::export", level = "debug", skip_all)]
    pub async fn export(
        &self,
        filter: &JobFilter,
        output: &mut (dyn Write + Send),
    ) -> Result<u64, StoreError> {
        let mut written = Written::begin(output)?;
        let mut place = Place::First;
        loop {
            let page = (self.list(filter, Order::default(), &place, PAGE)).await?;
            for job in &page.jobs {
                written.add(self.export_job(&job.id, output).await?);
            }
            match page.jobs.into_iter().next_back() {
                Some(last) if page.more => place = Place::After(last.id.into()),
                _ => break,
            }
        }
        written.end(output)
    }

    /// Writes these jobs, like [`JobStore::export`]. Removed ones are left out.
    ///
    /// # Errors
    ///
    /// The same.
    #[tracing::instrument(name = "store::export_jobs", level = "debug", skip_all)]
    pub async fn export_jobs(
        &self,
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
        &self,
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
            state: rows::state(&self.database, id, row, 1)?,
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

    /// Adds the jobs of an export, all of them or none. A job that exists already is left as it is.
    /// A job that was added is [`imported`](Job::imported) until [`JobStore::trust`]; `check`
    /// decides which specs, configurations and outcomes are valid.
    ///
    /// # Errors
    ///
    /// [`StoreError::Import`] names the first line that is invalid, is too long, or fails the
    /// check; then nothing has changed.
    #[tracing::instrument(name = "store::import", level = "debug", skip_all)]
    pub async fn import(
        &self,
        input: &mut (dyn BufRead + Send),
        check: &Check<'_>,
    ) -> Result<Imported, StoreError> {
        let mut lines = Lines::new(input);
        match lines.next()? {
            Some(Line::PinpointJobs {
                version: 1..=VERSION,
            }) => {}
            Some(Line::PinpointJobs { version }) => {
                return Err(lines.wrong(format!(
                    "the export has version {version}, and this pinpoint reads up to version {VERSION}"
                )));
            }
            _ => return Err(lines.wrong("this is not an export of jobs")),
        }
        let mut imported = Imported::default();
        let mut transaction = self.database.unhurried().begin(Access::Write).await?;
        let mut all_records = 0;
        loop {
            match lines.next()? {
                Some(Line::Job(job)) => {
                    all_records = u64::checked_add(all_records, job.records)
                        .ok_or_else(|| lines.wrong("so many records can't be exported"))?;
                    match import_job(&mut transaction, &mut lines, *job, check).await? {
                        true => imported.added += 1,
                        false => imported.there += 1,
                    }
                }
                Some(Line::End { jobs, records }) => {
                    if (jobs, records) != (imported.added + imported.there, all_records) {
                        return Err(lines.wrong("jobs or records are missing before it"));
                    }
                    break;
                }
                Some(Line::Record(_)) => {
                    return Err(lines.wrong("the job before has fewer records"));
                }
                Some(Line::File(_)) => {
                    return Err(lines.wrong("the job before has fewer files"));
                }
                Some(Line::PinpointJobs { .. }) => {
                    return Err(lines.wrong("a second export begins before the first has ended"));
                }
                None => return Err(lines.wrong("the export is cut off")),
            }
        }
        if lines.next()?.is_some() {
            return Err(lines.wrong("something follows the end of the export"));
        }
        transaction.commit().await?;
        Ok(imported)
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

/// The job of a line, with its contents parsed as JSON.
fn job_of(lines: &Lines<'_>, id: &JobId, line: &JobLine) -> Result<Job, StoreError> {
    if lines.line.len() > LONGEST_JOB {
        return Err(lines.wrong(format!("job {id} has more than {} MiB", LONGEST_JOB >> 20)));
    }
    let json = |what: &str, text: &RawValue| {
        serde_json::from_str::<serde_json::Value>(text.get())
            .map_err(|error| lines.wrong(format!("the {what} of job {id} cannot be read: {error}")))
    };
    let outcome = line.outcome.as_deref();
    Ok(Job {
        id: id.clone(),
        kind: line.kind.clone(),
        state: line.state,
        created: line.created,
        updated: line.updated,
        duration: line.duration,
        name: line.name.clone(),
        benchmark: line.benchmark.clone(),
        bot: line.bot.clone(),
        user: line.user.clone(),
        repository: line.repository.clone(),
        title: line.title.clone(),
        spec: json("spec", &line.spec)?,
        config: json("configuration", &line.config)?,
        outcome: outcome.map(|text| json("outcome", text)).transpose()?,
        error: line.error.clone(),
        runs: 0,
        builds: 0,
        journal_version: line.journal_version,
        written_by: line.written_by.clone(),
        imported: true,
        paused: false,
        cancel: line.cancel.clone(),
    })
}

/// Adds one job with its records, unless it exists.
async fn import_job(
    transaction: &mut Transaction,
    lines: &mut Lines<'_>,
    job: JobLine,
    check: &Check<'_>,
) -> Result<bool, StoreError> {
    let id = JobId::parse(&job.id).map_err(|error| lines.wrong(error))?;
    let count = |rows: &[super::database::Row]| rows.len();
    let sql = "SELECT 1 FROM jobs WHERE id = $1";
    let there = count(&transaction.fetch(sql, [id.as_str().into()]).await?) > 0;
    if !(1..=JOURNAL_VERSION).contains(&job.journal_version) {
        return Err(lines.wrong(format!(
            "job {id} was written by pinpoint {} in journal version {}, and this pinpoint reads \
             up to version {JOURNAL_VERSION}",
            job.written_by, job.journal_version
        )));
    }
    for time in [job.created, job.updated, job.duration.unwrap_or_default()] {
        if !(0..=LAST_TIME).contains(&time) {
            return Err(lines.wrong(format!("job {id} has a time out of range: {time}")));
        }
    }
    let read = job_of(lines, &id, &job)?;
    check(&read).map_err(|reason| lines.wrong(format!("job {id}: {reason}")))?;
    drop(read);
    // Two jobs of the same quarter of a microsecond are in any order.
    let mut number = id.number();
    let sql = "SELECT 1 FROM jobs WHERE number = $1";
    while !there && count(&transaction.fetch(sql, [number.into()]).await?) > 0 {
        number += 1;
    }
    if !there {
        let names = text::Names {
            name: &job.name,
            benchmark: &job.benchmark,
            bot: &job.bot,
            user: &job.user,
        };
        let texts = [&job.repository, &job.title].into_iter().chain(&job.error);
        let mut commits = hashes(job.spec.get());
        commits.extend(job.outcome.iter().flat_map(|outcome| hashes(outcome.get())));
        let texts = texts.chain(&commits).map(String::as_str);
        let outcome = job.outcome.map(|outcome| outcome.get().to_owned());
        let (answer, answer_key) = JobAnswer::columns(outcome.as_deref());
        let keys = NameKeys::new(&job.name, &job.title, &job.benchmark, &job.bot, &job.user);
        let config: serde_json::Value = serde_json::from_str(job.config.get()).unwrap_or_default();
        let request = Request::from_config(&config).unwrap_or_default();
        transaction
            .execute(
                "INSERT INTO jobs (number, id, kind, state, created, updated, duration, name, \
                 benchmark, bot, username, repository, title, error, words, journal_version, \
                 written_by, cancel_requested, spec, config, outcome, lease, by_workers, \
                 cancel_by, cancel_reason, name_key, benchmark_key, bot_key, user_key, story, \
                 bug, answer, story_key, answer_key) VALUES \
                 ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, \
                 $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34)",
                [
                    number.into(),
                    id.as_str().into(),
                    job.kind.as_str().into(),
                    job.state.as_str().into(),
                    job.created.into(),
                    job.updated.into(),
                    job.duration.into(),
                    job.name.as_str().into(),
                    job.benchmark.as_str().into(),
                    job.bot.as_str().into(),
                    job.user.as_str().into(),
                    job.repository.as_str().into(),
                    job.title.as_str().into(),
                    job.error.clone().into(),
                    text::words(names, texts).into(),
                    i64::from(job.journal_version).into(),
                    job.written_by.as_str().into(),
                    i64::from(job.cancel_requested).into(),
                    job.spec.get().into(),
                    job.config.get().into(),
                    outcome.into(),
                    jobs::IMPORTED.into(),
                    jobs::by_workers(&config).into(),
                    (job.cancel.as_ref().map(|it| it.by.clone())).into(),
                    (job.cancel.map(|it| it.reason)).into(),
                    keys.name.into(),
                    keys.benchmark.into(),
                    keys.bot.into(),
                    keys.user.into(),
                    request.story.as_str().into(),
                    request.bug.into(),
                    answer.into(),
                    name_key(&request.story).into(),
                    answer_key.into(),
                ],
            )
            .await?;
    }
    let mut rows = Vec::new();
    let mut bytes = 0;
    let mut sequence = 0;
    for left in (0..job.records).rev() {
        let Some(Line::Record(record)) = lines.next()? else {
            return Err(lines.wrong(format!("a record of job {id} is missing")));
        };
        rows.push(new_row(lines, &record, job.created)?);
        bytes += lines.line.len();
        // Not all of a long job at once.
        if rows.len() == RECORDS || bytes > BYTES || left == 0 {
            if !there {
                let inserted = insert(transaction, number, sequence, &rows).await;
                inserted.map_err(|source| transaction.failed(source))?;
            }
            sequence += rows.len() as i64;
            rows.clear();
            bytes = 0;
        }
    }
    if !there {
        rows::count_anew(transaction, &id).await?;
    }
    let mut names = BTreeSet::new();
    let (mut name, mut file, mut sequence) = (None, Vec::new(), 0);
    for _ in 0..job.files {
        let Some(Line::File(line)) = lines.next()? else {
            return Err(lines.wrong(format!("a file of job {id} is missing")));
        };
        if name.as_ref() != Some(&line.name) {
            if !names.insert(line.name.clone()) {
                return Err(lines.wrong("the pieces of a file are not in one place"));
            }
            (file, sequence) = (Vec::new(), 0);
            name = Some(line.name.clone());
        }
        let piece = piece_of(lines, line, &mut file)?;
        if !there {
            piece.insert(transaction, number, sequence).await?;
        }
        sequence += 1;
    }
    Ok(!there)
}

/// Rejects a piece that could not be read.
fn piece_of(lines: &Lines<'_>, line: FileLine, file: &mut Vec<u8>) -> Result<Piece, StoreError> {
    let content = STANDARD.decode(line.content);
    let piece = Piece {
        name: line.name,
        size: line.size,
        content: content.map_err(|error| lines.wrong(format!("not a valid file: {error}")))?,
    };
    piece
        .read_into(file)
        .map_err(|reason| lines.wrong(format!("not a valid file: {reason}")))?;
    Ok(piece)
}

/// Rejects a record that could not be replayed.
fn new_row(lines: &Lines<'_>, record: &RecordLine, created: i64) -> Result<NewRow, StoreError> {
    let detail = record.detail.as_deref().map(RawValue::get);
    let created = u64::try_from(created).unwrap_or_default();
    let read = record_of(record.event.get(), detail, created)
        .map_err(|error| lines.wrong(format!("not a valid record: {error}")))?;
    if !(0..=LAST_TIME).contains(&record.recorded) {
        return Err(lines.wrong(format!("a time out of range: {}", record.recorded)));
    }
    Ok(NewRow {
        kind: kind(&read),
        event: record.event.get().to_owned(),
        detail: detail.map(str::to_owned),
        recorded: record.recorded,
        withdrawn: record.withdrawn,
    })
}

fn write_line(output: &mut (dyn Write + Send), line: &Line) -> Result<(), StoreError> {
    let failed = |source| StoreError::Exchange { source };
    serde_json::to_writer(&mut *output, line).map_err(|error| failed(error.into()))?;
    output.write_all(b"\n").map_err(failed)
}

/// The lines of an export, counted.
struct Lines<'a> {
    input: &'a mut (dyn BufRead + Send),
    number: u64,
    line: Vec<u8>,
}

impl<'a> Lines<'a> {
    fn new(input: &'a mut (dyn BufRead + Send)) -> Self {
        Self {
            input,
            number: 0,
            line: Vec::new(),
        }
    }

    /// The next line; `None` at the end of the input.
    fn next(&mut self) -> Result<Option<Line>, StoreError> {
        self.line.clear();
        self.number += 1;
        let mut input = (&mut *self.input).take(LONGEST_LINE as u64 + 1);
        let read = input.read_until(b'\n', &mut self.line);
        if self.line.len() > LONGEST_LINE {
            return Err(self.wrong(format!("it is longer than {} MiB", LONGEST_LINE >> 20)));
        }
        match read.map_err(|source| StoreError::Exchange { source })? {
            0 => Ok(None),
            _ => serde_json::from_slice(&self.line)
                .map(Some)
                .map_err(|error| {
                    // To the parser each line is the first one.
                    let reason = error.to_string().replace(" at line 1 column", " at column");
                    match self.number {
                        1 => self.wrong(format!("this is not an export of jobs ({reason})")),
                        _ => self.wrong(reason),
                    }
                }),
        }
    }

    /// The error for an invalid line, the last one read.
    fn wrong(&self, reason: impl std::fmt::Display) -> StoreError {
        StoreError::Import {
            line: self.number,
            reason: brief(&reason.to_string()).into_owned(),
        }
    }
}
