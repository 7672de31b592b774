//! Reads jobs from lines.

use std::collections::BTreeSet;
use std::io::{BufRead, Read};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde_json::value::RawValue;

use super::commits::hashes;
use super::database::{Access, Row, Transaction};
use super::error::brief;
use super::exchange::{FileLine, JobLine, Line, RecordLine, VERSION};
use super::files::Piece;
use super::job::Request;
use super::order::{NameKeys, name_key};
use super::records::{NewRow, insert, kind, record_of};
use super::views::Exchange;
use super::{JOURNAL_VERSION, Job, JobAnswer, JobId, StoreError, jobs, rows, text};

/// The end of the year 9999, in milliseconds since 1970.
const LAST_TIME: i64 = 253_402_300_799_999;

/// The longest line that is read, in bytes: a record with all its values.
const LONGEST_LINE: usize = 64 << 20;

/// The longest line of a job that is read: its contents are held as a tree.
const LONGEST_JOB: usize = 16 << 20;

/// Records are written when there are this many, or this many bytes of them.
const RECORDS: usize = 1000;
const BYTES: usize = 16 << 20;

/// Checks an imported job, and returns the problem with it, if any.
pub type Check<'a> = dyn Fn(&Job) -> Result<(), String> + Send + Sync + 'a;

/// The counts of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Jobs that were added.
    pub added: u64,
    /// Jobs that existed already, and were not changed.
    pub there: u64,
}

impl Exchange<'_> {
    /// Adds the jobs of an export, all of them or none. A job that exists already is left as it is.
    /// A job that was added is [`imported`](Job::imported) until
    /// [`Jobs::trust`](super::views::Jobs::trust); `check` decides which specs, configurations and
    /// outcomes are valid.
    ///
    /// # Errors
    ///
    /// [`StoreError::Import`] names the first line that is invalid, is too long, or fails the
    /// check; then nothing has changed.
    #[tracing::instrument(name = "store::import", level = "debug", skip_all)]
    pub async fn import(
        self,
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
    let count = |rows: &[Row]| rows.len();
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
