//! Records as they are stored.

use pinpoint_core::{Event, Record, RecordVersion1, Report, RunReport};

use super::database::{Transaction, Value};
use super::{Lease, StoreError, now};

/// The rows written by one statement: fewer take longer, more save hardly any time.
const ROWS: usize = 100;

/// The record of a row of any version. `created` is the time at which its job was created.
pub(super) fn record_of(
    event: &str,
    detail: Option<&str>,
    created: u64,
) -> Result<Record, serde_json::Error> {
    let version_1 = |detail| {
        let event: Event = serde_json::from_str(event)?;
        Ok(RecordVersion1 { event, detail }.upgrade(created))
    };
    // Only rows of version 1 have details.
    if let Some(detail) = detail {
        return version_1(Some(serde_json::from_str(detail)?));
    }
    serde_json::from_str(event).or_else(|error| {
        version_1(None).map_err(|older: serde_json::Error| {
            // The version of the row was read, but not the name of the
            // record.
            let place = |error: &serde_json::Error| (error.line(), error.column());
            if place(&older) > place(&error) {
                older
            } else {
                error
            }
        })
    })
}

/// A record in its written form.
#[derive(Debug)]
pub(super) struct NewRow {
    pub(super) kind: &'static str,
    pub(super) event: String,
    pub(super) detail: Option<String>,
    pub(super) recorded: i64,
    pub(super) withdrawn: bool,
}

impl NewRow {
    pub(super) fn from_record(record: &Record, lease: &Lease) -> Result<Self, StoreError> {
        let id = &lease.id;
        check_finite(record).map_err(|(place, value)| StoreError::NotFinite {
            id: id.clone(),
            place,
            value,
        })?;
        let json = |source| StoreError::NotJson {
            what: format!("a record for job {id}"),
            source,
        };
        Ok(Self {
            kind: kind(record),
            event: serde_json::to_string(record).map_err(json)?,
            detail: None,
            recorded: now(),
            withdrawn: false,
        })
    }
}

/// Counts the runs and builds of records that are added to the journal of a job.
pub(super) const COUNT: &str = "UPDATE jobs SET runs = runs + $3, builds = builds + $4, deaths = 0, \
     runs_key = CASE WHEN runs_key < 0 THEN -1 ELSE runs + $3 END \
     WHERE number = $1 AND lease = $2";

/// Appends records to those of a job.
pub(super) async fn insert(
    transaction: &mut Transaction,
    job: i64,
    sequence: i64,
    rows: &[NewRow],
) -> Result<(), sqlx::Error> {
    const COLUMNS: usize = 7;
    for (chunk, sequence) in rows.chunks(ROWS).zip((sequence..).step_by(ROWS)) {
        let rows: Vec<String> = (0..chunk.len())
            .map(|row| {
                let parameters = (1..=COLUMNS).map(|column| format!("${}", row * COLUMNS + column));
                format!("({})", parameters.collect::<Vec<_>>().join(", "))
            })
            .collect();
        let sql = format!(
            "INSERT INTO records (job, sequence, recorded, kind, event, detail, withdrawn) VALUES {}",
            rows.join(", ")
        );
        let values = chunk.iter().zip(sequence..).flat_map(|(row, sequence)| {
            let values: [Value; COLUMNS] = [
                job.into(),
                sequence.into(),
                row.recorded.into(),
                row.kind.into(),
                row.event.as_str().into(),
                row.detail.clone().into(),
                i64::from(row.withdrawn).into(),
            ];
            values
        });
        transaction.try_execute(&sql, values).await?;
    }
    Ok(())
}

pub(super) fn is_taken(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.is_unique_violation())
}

/// Executions of the benchmark in a record of this name.
pub(super) fn runs(kind: &str) -> i64 {
    match kind {
        "ran" | "run_failed" => 1,
        "ran_pair" => 2,
        _ => 0,
    }
}

/// Builds in a record of this name.
pub(super) fn builds(kind: &str) -> i64 {
    i64::from(kind == "built")
}

/// The kind under which a record is counted. Kinds of version 1 keep their names.
pub(super) fn kind(record: &Record) -> &'static str {
    match record {
        Record::Started { .. } => "started",
        Record::Reported { report, .. } => match report {
            Report::Metric(_) => "metric",
            Report::Listed(_) => "listed",
            Report::Built(report) if report.failure.is_some() => "build_failed",
            Report::Built(report) if report.same_as.is_some() => "not_built",
            Report::Built(_) => "built",
            Report::Ran(report) if report.failure.is_some() => "run_failed",
            Report::Ran(_) => "ran",
            Report::RanPair(_) => "ran_pair",
            _ => "reported",
        },
        Record::GaveUp { .. } => "gave_up",
        Record::Canceled { .. } => "cancelled",
        Record::CancelRequested => "cancel_requested",
        Record::TimePassed { .. } => "time_passed",
        _ => "other",
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
    let reports: Vec<&RunReport> = match record {
        Record::Reported { report, .. } => match report {
            Report::Ran(report) => vec![report],
            Report::RanPair(pair) => vec![&pair.first, &pair.second],
            _ => Vec::new(),
        },
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
