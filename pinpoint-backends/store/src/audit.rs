//! The audit log: every change that users requested, and every refusal.
//!
//! Rows are only added. Each has the SHA-256 of its fields and of the hash of the row before, so
//! that a row that is altered, removed or inserted later does not fit. Anyone who can write to the
//! database can also recompute all hashes: the hash of the last row, as [`AuditLog::verify`]
//! returns it, is worth keeping elsewhere.
//!
//! A change of the store and its row are one transaction. Writers come one after the other,
//! by the lock of the one row of the table `audit_head`, which they take last.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::audit_chain::{COLUMNS, Head, stored};
use super::change::Change;
use super::database::Value;
use super::views::AuditLog;
use super::{JobId, StoreError};

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
#[non_exhaustive]
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

impl AuditLog<'_> {
    /// Appends an entry that belongs to no change of the store, such as a refusal.
    ///
    /// # Errors
    ///
    /// When the entry is not in the log afterwards.
    #[tracing::instrument(name = "store::audit", level = "debug", skip_all)]
    pub async fn append(self, entry: &AuditEntry) -> Result<(), StoreError> {
        let mut change = Change::new(self.database, Some(entry));
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
    pub async fn list(
        self,
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
    pub async fn verify(self) -> Result<AuditCheck, StoreError> {
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

async fn try_audit(change: &Change<'_>) -> Result<(), StoreError> {
    match change.begin().await? {
        Some(transaction) => change.commit(transaction).await,
        None => Ok(()),
    }
}
