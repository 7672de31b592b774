//! The rows of the audit log as they are stored, each with the hash of the row before.

use serde_json::Value as Json;

use super::audit::{AuditEntry, AuditFault, AuditRow};
use super::damage::{damaged, parsed};
use super::database::{Database, Row, storable};
use super::secret::sha256;
use super::{JobId, StoreError, now};

/// The columns that [`Stored::from_row`] reads.
pub(super) const COLUMNS: &str =
    "number, time, username, address, operation, job, result, request, details, hash";

/// An entry as it is stored, with the time of its first attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) time: i64,
    pub(super) user: String,
    pub(super) address: String,
    pub(super) operation: String,
    pub(super) job: Option<String>,
    pub(super) result: String,
    pub(super) request: String,
    pub(super) details: String,
}

impl Fields {
    pub(super) fn new(entry: &AuditEntry) -> Self {
        let text = |text: &String| storable(text.clone());
        Self {
            time: now(),
            user: text(&entry.user),
            address: text(&entry.address),
            operation: text(&entry.operation),
            job: entry.job.as_ref().map(JobId::to_string),
            result: text(&entry.result),
            request: text(&entry.request),
            details: Json::from(entry.details.clone()).to_string(),
        }
    }

    /// The same, about this job.
    pub(super) fn about(&self, job: &JobId) -> Self {
        Self {
            job: Some(job.to_string()),
            ..self.clone()
        }
    }

    /// The hash of a row with these fields. Each text is preceded by its length, so that no
    /// two rows give the same bytes.
    pub(super) fn hash(&self, number: i64, before: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut add = |part: &[u8]| {
            bytes.extend((part.len() as u64).to_be_bytes());
            bytes.extend(part);
        };
        add(before);
        add(&number.to_be_bytes());
        add(&self.time.to_be_bytes());
        add(self.user.as_bytes());
        add(self.address.as_bytes());
        add(self.operation.as_bytes());
        add(&[u8::from(self.job.is_some())]);
        add(self.job.as_deref().unwrap_or_default().as_bytes());
        add(self.result.as_bytes());
        add(self.request.as_bytes());
        add(self.details.as_bytes());
        sha256(&bytes)
    }
}

/// A row as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) number: i64,
    pub(super) fields: Fields,
    pub(super) hash: Vec<u8>,
}

impl Stored {
    pub(super) fn from_row(row: &Row) -> Result<Self, sqlx::Error> {
        Ok(Self {
            number: row.int(0)?,
            fields: Fields {
                time: row.int(1)?,
                user: row.text(2)?,
                address: row.text(3)?,
                operation: row.text(4)?,
                job: row.optional_text(5)?,
                result: row.text(6)?,
                request: row.text(7)?,
                details: row.text(8)?,
            },
            hash: row.bytes(9)?,
        })
    }

    pub(super) fn read(self, store: &str) -> Result<AuditRow, StoreError> {
        let place = || format!("row {} of the audit log", self.number);
        let fields = self.fields;
        Ok(AuditRow {
            entry: AuditEntry {
                details: parsed(store, place, &fields.details)?,
                user: fields.user,
                address: fields.address,
                operation: fields.operation,
                job: fields.job.map(JobId),
                result: fields.result,
                request: fields.request,
            },
            number: self.number,
            time: fields.time,
            hash: hex::encode(self.hash),
        })
    }
}

/// The end of the log, as far as it has been checked or written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) number: i64,
    pub(super) hash: Vec<u8>,
}

impl Head {
    pub(super) fn from_rows(database: &Database, rows: &[Row]) -> Result<Self, StoreError> {
        let failed = |source| database.failed(source);
        let place = || "the head of the audit log".to_owned();
        let row = (rows.first()).ok_or_else(|| damaged(&database.name, place(), "no row"))?;
        Ok(Self {
            number: row.int(0).map_err(failed)?,
            hash: row.bytes(1).map_err(failed)?,
        })
    }

    /// Advances to the next row, unless it does not fit.
    pub(super) fn advance(&mut self, row: &Stored) -> Result<(), (i64, AuditFault)> {
        let expected = self.number + 1;
        if row.number != expected {
            return Err(match row.number < expected {
                true => (row.number, AuditFault::Inserted),
                false => (expected, AuditFault::Missing),
            });
        }
        if row.fields.hash(row.number, &self.hash) != row.hash {
            return Err((row.number, AuditFault::Altered));
        }
        self.number = row.number;
        self.hash.clone_from(&row.hash);
        Ok(())
    }

    /// Checks that this is the end that the store has noted. All rows up to that one were checked.
    pub(super) fn is_end(&self, noted: &Self) -> Result<(), (i64, AuditFault)> {
        match self.number < noted.number {
            true => Err((self.number + 1, AuditFault::Missing)),
            false if self == noted => Ok(()),
            false => Err((self.number, AuditFault::Altered)),
        }
    }
}

pub(super) fn stored(database: &Database, rows: &[Row]) -> Result<Vec<Stored>, StoreError> {
    let rows = rows.iter().map(Stored::from_row).collect::<Result<_, _>>();
    rows.map_err(|source| database.failed(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a log, and its head.
    fn log(rows: i64) -> (Vec<Stored>, Head) {
        let mut head = Head::default();
        let mut log = Vec::new();
        for number in 1..=rows {
            let fields = Fields {
                time: 1000 + number,
                user: "ada".into(),
                address: "192.0.2.1".into(),
                operation: "CancelJob".into(),
                job: Some("0190".into()),
                result: "ok".into(),
                request: number.to_string(),
                details: "{}".into(),
            };
            let hash = fields.hash(number, &head.hash);
            let row = Stored {
                number,
                fields,
                hash,
            };
            head.advance(&row).unwrap();
            log.push(row);
        }
        (log, head)
    }

    fn check(rows: &[Stored], noted: &Head) -> Result<(), (i64, AuditFault)> {
        let mut head = Head::default();
        rows.iter().try_for_each(|row| head.advance(row))?;
        head.is_end(noted)
    }

    #[test]
    fn every_altered_field_is_found() {
        let (log, head) = log(3);
        assert_eq!(check(&log, &head), Ok(()));
        let alterations: [fn(&mut Stored); 11] = [
            |row| row.fields.time += 1,
            |row| row.fields.user.push('x'),
            |row| row.fields.address.clear(),
            |row| row.fields.operation = "GetJob".into(),
            |row| row.fields.job = None,
            |row| row.fields.job = Some(String::new()),
            |row| row.fields.result = "denied".into(),
            |row| row.fields.request.push(' '),
            |row| row.fields.details = "{ }".into(),
            |row| row.hash[31] ^= 1,
            // The same letters, cut elsewhere.
            |row| (row.fields.user, row.fields.address) = ("ada1".into(), "92.0.2.1".into()),
        ];
        for (index, alter) in alterations.iter().enumerate() {
            let mut log = log.clone();
            alter(&mut log[1]);
            assert_eq!(
                check(&log, &head),
                Err((2, AuditFault::Altered)),
                "alteration {index}"
            );
        }
    }

    #[test]
    fn missing_and_inserted_rows_are_found() {
        let (whole, head) = log(4);
        for (missing, number) in [(0, 1), (1, 2), (3, 4)] {
            let mut log = whole.clone();
            log.remove(missing);
            assert_eq!(check(&log, &head), Err((number, AuditFault::Missing)));
        }
        // The rows after it are renumbered.
        let mut log = whole.clone();
        log.remove(1);
        (log[1].number, log[2].number) = (2, 3);
        assert_eq!(check(&log, &head), Err((2, AuditFault::Altered)));
        let mut log = whole.clone();
        log.insert(0, whole[2].clone());
        log[0].number = 0;
        assert_eq!(check(&log, &head), Err((0, AuditFault::Inserted)));
        // All hashes after the first row are recomputed.
        let mut log = whole;
        log[1].fields.user = "eve".into();
        for row in 1..4 {
            log[row].hash = log[row].fields.hash(log[row].number, &log[row - 1].hash);
        }
        assert_eq!(check(&log, &head), Err((4, AuditFault::Altered)));
    }
}
