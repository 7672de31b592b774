//! Changes of the store, each in one transaction with its row of the audit log.

use super::audit::AuditEntry;
use super::audit_chain::{COLUMNS, Fields, Head, stored};
use super::database::{Access, Database, Transaction, Tries, Value};
use super::error::StoreError;

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
