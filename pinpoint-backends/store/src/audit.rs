//! The audit log: every change that users requested, and every refusal.
//!
//! Rows are only added. Each has the SHA-256 of its fields and of the hash of the row before, so
//! that a row that is altered, removed or inserted later does not fit. Anyone who can write to the
//! database can also recompute all hashes: the hash of the last row, as [`JobStore::verify_audit`]
//! returns it, is worth keeping elsewhere.
//!
//! A change of the store and its row are one transaction. Writers come one after the other,
//! by the lock of the one row of the table `audit_head`, which they take last.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::database::{Access, Database, Row, Transaction, Tries, Value, storable};
use super::journal::{damaged, parsed};
use super::secret::sha256;
use super::{JobId, JobStore, StoreError, now};

/// The columns that [`Stored::from_row`] reads.
const COLUMNS: &str =
    "number, time, username, address, operation, job, result, request, details, hash";

/// The rows that are verified at once.
const PAGE: i64 = 1000;

/// An entry of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The user who asked.
    pub user: String,
    /// The network address that the request came from.
    pub address: String,
    /// The name of the operation.
    pub operation: String,
    /// The job that it is about, if any.
    pub job: Option<JobId>,
    /// `ok`, or a short code such as `permission_denied`.
    pub result: String,
    /// The id of the request.
    pub request: String,
    /// More about it: a few fields, none of them secret.
    pub details: Map<String, Json>,
}

/// A row of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Its number: from 1, without gaps.
    pub number: i64,
    /// The time at which it was written, in milliseconds since 1970.
    pub time: i64,
    /// The entry.
    #[serde(flatten)]
    pub entry: AuditEntry,
    /// The SHA-256 of its fields and of the hash of the row before, in hexadecimal.
    pub hash: String,
}

/// The conditions on rows of the audit log; absent ones match any row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// The user who asked.
    pub user: Option<String>,
    /// The job.
    pub job: Option<JobId>,
    /// The name of the operation.
    pub operation: Option<String>,
    /// Written then or later, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Written before then, in milliseconds since 1970.
    pub until: Option<i64>,
}

/// The result of checking that the rows of the audit log fit each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditCheck {
    /// All rows fit.
    Whole {
        /// Their number.
        rows: u64,
        /// The hash of the last one, in hexadecimal; empty without rows.
        hash: String,
    },
    /// The first row that does not fit.
    Broken {
        /// Its number.
        number: i64,
        /// The problem with it.
        fault: AuditFault,
    },
}

/// The problem with a row of the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditFault {
    /// Its hash does not fit its fields and the row before.
    Altered,
    /// It is missing.
    Missing,
    /// Its number is impossible.
    Inserted,
}

/// An entry as it is stored, with the time of its first attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fields {
    time: i64,
    user: String,
    address: String,
    operation: String,
    job: Option<String>,
    result: String,
    request: String,
    details: String,
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
    fn hash(&self, number: i64, before: &[u8]) -> Vec<u8> {
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
struct Stored {
    number: i64,
    fields: Fields,
    hash: Vec<u8>,
}

impl Stored {
    fn from_row(row: &Row) -> Result<Self, sqlx::Error> {
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

    fn read(self, store: &str) -> Result<AuditRow, StoreError> {
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
struct Head {
    number: i64,
    hash: Vec<u8>,
}

impl Head {
    fn from_rows(database: &Database, rows: &[Row]) -> Result<Self, StoreError> {
        let failed = |source| database.failed(source);
        let place = || "the head of the audit log".to_owned();
        let row = (rows.first()).ok_or_else(|| damaged(&database.name, place(), "no row"))?;
        Ok(Self {
            number: row.int(0).map_err(failed)?,
            hash: row.bytes(1).map_err(failed)?,
        })
    }

    /// Advances to the next row, unless it does not fit.
    fn advance(&mut self, row: &Stored) -> Result<(), (i64, AuditFault)> {
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
    fn is_end(&self, noted: &Self) -> Result<(), (i64, AuditFault)> {
        match self.number < noted.number {
            true => Err((self.number + 1, AuditFault::Missing)),
            false if self == noted => Ok(()),
            false => Err((self.number, AuditFault::Altered)),
        }
    }
}

impl JobStore {
    /// Appends an entry that belongs to no change of the store, such as a refusal.
    ///
    /// # Errors
    ///
    /// When the entry is not in the log afterwards.
    #[tracing::instrument(name = "store::audit", level = "debug", skip_all)]
    pub async fn audit(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        let mut change = Change::new(&self.database, Some(entry));
        loop {
            match try_audit(&change).await {
                Err(error) if change.again(&error).await => {}
                done => return done,
            }
        }
    }

    /// The rows that match the filter after the one of this number, oldest first: at most
    /// `limit`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or is damaged.
    #[tracing::instrument(name = "store::audited", level = "debug", skip_all)]
    pub async fn audited(
        &self,
        filter: &AuditFilter,
        after: i64,
        limit: u32,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let AuditFilter {
            user,
            job,
            operation,
            since,
            until,
        } = filter;
        let conditions: [(&str, Option<Value>); 6] = [
            ("number >", Some(after.into())),
            ("username =", user.as_deref().map(Value::from)),
            ("job =", job.as_ref().map(|job| job.as_str().into())),
            ("operation =", operation.as_deref().map(Value::from)),
            ("time >=", since.map(Value::from)),
            ("time <", until.map(Value::from)),
        ];
        let (mut wanted, mut values) = (Vec::new(), Vec::new());
        for (condition, value) in conditions {
            if let Some(value) = value {
                values.push(value);
                wanted.push(format!("{condition} ${}", values.len()));
            }
        }
        let sql = format!(
            "SELECT {COLUMNS} FROM audit WHERE {} ORDER BY number LIMIT {limit}",
            wanted.join(" AND ")
        );
        let database = self.database.unhurried();
        let rows = stored(&database, &database.fetch(&sql, values).await?)?;
        let rows = rows.into_iter().map(|row| row.read(&database.name));
        rows.collect()
    }

    /// Checks that the rows of the log fit each other, from the first to the last one at the start
    /// of the check.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    #[tracing::instrument(name = "store::verify_audit", level = "debug", skip_all)]
    pub async fn verify_audit(&self) -> Result<AuditCheck, StoreError> {
        let database = self.database.unhurried();
        // One statement sees one state of the store.
        let sql = "SELECT number, hash, (SELECT min(number) FROM audit \
                   WHERE number > audit_head.number) FROM audit_head";
        let rows = database.fetch(sql, []).await?;
        let noted = Head::from_rows(&database, &rows)?;
        let beyond = rows.first().map_or(Ok(None), |row| row.optional_int(2));
        let beyond = beyond.map_err(|source| database.failed(source))?;
        let mut head = Head::default();
        let mut after = i64::MIN;
        loop {
            let sql = format!(
                "SELECT {COLUMNS} FROM audit WHERE number > $1 AND number <= $2 \
                 ORDER BY number LIMIT {PAGE}"
            );
            let values = [after.into(), noted.number.into()];
            let rows = stored(&database, &database.fetch(&sql, values).await?)?;
            let checked = match rows.last() {
                Some(last) => {
                    after = last.number;
                    rows.iter().try_for_each(|row| head.advance(row))
                }
                None => head.is_end(&noted).and(match beyond {
                    Some(number) => Err((number, AuditFault::Inserted)),
                    None => Ok(()),
                }),
            };
            match checked {
                Err((number, fault)) => return Ok(AuditCheck::Broken { number, fault }),
                Ok(()) if rows.is_empty() => break,
                Ok(()) => {}
            }
        }
        Ok(AuditCheck::Whole {
            rows: u64::try_from(head.number).unwrap_or_default(),
            hash: hex::encode(head.hash),
        })
    }
}

/// A change of the store with the entry about it: both or neither, and both once. Where an
/// attempt was not acknowledged, its row shows whether it was made. Without an entry, making
/// the change twice must be the same as once.
pub(super) struct Change<'a> {
    database: &'a Database,
    entry: Option<Fields>,
    tries: Tries<'a>,
    is_repeated: bool,
}

impl<'a> Change<'a> {
    pub(super) fn new(database: &'a Database, entry: Option<&AuditEntry>) -> Self {
        Self {
            database,
            entry: entry.map(Fields::new),
            tries: database.tries(None),
            is_repeated: false,
        }
    }

    /// The transaction for an attempt; `None` when an earlier one is found to have succeeded.
    pub(super) async fn begin(&self) -> Result<Option<Transaction>, StoreError> {
        let mut transaction = self.database.begin(Access::Write).await?;
        if self.is_repeated
            && let Some(entry) = &self.entry
            && is_there(self.database, &mut transaction, entry).await?
        {
            transaction.commit().await?;
            return Ok(None);
        }
        Ok(Some(transaction))
    }

    /// Appends the entry, and makes an attempt last.
    pub(super) async fn commit(&self, mut transaction: Transaction) -> Result<(), StoreError> {
        append(self.database, &mut transaction, self.entry.as_ref()).await?;
        transaction.commit().await
    }

    /// As [`Tries::again`].
    pub(super) async fn again(&mut self, error: &StoreError) -> bool {
        self.is_repeated = true;
        self.tries.again(error).await
    }
}

async fn try_audit(change: &Change<'_>) -> Result<(), StoreError> {
    match change.begin().await? {
        Some(transaction) => change.commit(transaction).await,
        None => Ok(()),
    }
}

/// Adds a row for an entry, if there is one. The other writers wait until the commit.
pub(super) async fn append(
    database: &Database,
    transaction: &mut Transaction,
    entry: Option<&Fields>,
) -> Result<(), StoreError> {
    let Some(entry) = entry else {
        return Ok(());
    };
    let head = lock(database, transaction).await?;
    let number = head.number + 1;
    let hash = entry.hash(number, &head.hash);
    let values: [Value; 10] = [
        number.into(),
        entry.time.into(),
        entry.user.as_str().into(),
        entry.address.as_str().into(),
        entry.operation.as_str().into(),
        entry.job.clone().into(),
        entry.result.as_str().into(),
        entry.request.as_str().into(),
        entry.details.as_str().into(),
        hash.clone().into(),
    ];
    let sql =
        format!("INSERT INTO audit ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)");
    transaction.execute(&sql, values).await?;
    let sql = "UPDATE audit_head SET number = $1, hash = $2";
    let values = [number.into(), hash.into()];
    transaction.execute(sql, values).await?;
    Ok(())
}

/// Returns whether an earlier attempt appended this entry. One whose commit is under way is waited
/// for.
async fn is_there(
    database: &Database,
    transaction: &mut Transaction,
    entry: &Fields,
) -> Result<bool, StoreError> {
    lock(database, transaction).await?;
    let sql = format!("SELECT {COLUMNS} FROM audit WHERE time = $1");
    let rows = transaction.fetch(&sql, [entry.time.into()]).await?;
    let rows = stored(database, &rows)?;
    Ok(rows.iter().any(|row| row.fields == *entry))
}

async fn lock(database: &Database, transaction: &mut Transaction) -> Result<Head, StoreError> {
    let for_update = database.dialect().for_update();
    let sql = format!("SELECT number, hash FROM audit_head{for_update}");
    Head::from_rows(database, &transaction.fetch(&sql, []).await?)
}

fn stored(database: &Database, rows: &[Row]) -> Result<Vec<Stored>, StoreError> {
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
