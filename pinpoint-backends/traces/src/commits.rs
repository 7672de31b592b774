//! The commits of a dataset: their numbers and hashes.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use pinpoint_store::sql::{Access, Row, Transaction, Value};
use pinpoint_traces::{CommitName, CommitNumber};

use super::rows::{fetch_of_list, insert, number};
use super::store::DatasetRow;
use super::{History, TraceStoreError};

/// A commit that has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedCommit {
    /// Its number.
    pub number: CommitNumber,
    /// Its hash in git, in full and lowercase.
    pub hash: String,
    /// When it was made: seconds of Unix time.
    pub time: i64,
    /// The person who made it.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
}

const COLUMNS: &str = "SELECT number, hash, time, author, subject FROM commits";

fn commit(row: &Row) -> Result<NumberedCommit, TraceStoreError> {
    Ok(NumberedCommit {
        number: CommitNumber(number(row, 0)?),
        hash: row.text(1)?,
        time: row.int(2)?,
        author: row.text(3)?,
        subject: row.text(4)?,
    })
}

impl History {
    /// Adds commits, and takes the files that waited for them. Those that are known are left out.
    /// Returns the number of values that came in.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::OtherCommit`] where a number or a hash is taken: then nothing is added.
    pub async fn add_commits(&self, commits: &[NumberedCommit]) -> Result<u64, TraceStoreError> {
        let mut tries = self.store.database.tries(None);
        loop {
            match self.try_add_commits(commits).await {
                Err(TraceStoreError::Database(error)) if tries.again(&error).await => {}
                done => return done,
            }
        }
    }

    async fn try_add_commits(&self, commits: &[NumberedCommit]) -> Result<u64, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Write).await?;
        let mut dataset = self.locked_row(&mut transaction).await?;
        let first = [dataset.number.into()];
        let numbers: Vec<Value> = commits
            .iter()
            .map(|it| i64::from(it.number.0).into())
            .collect();
        let hashes: Vec<Value> = commits.iter().map(|it| it.hash.as_str().into()).collect();
        let sql = format!("{COLUMNS} WHERE dataset = $1 AND number IN ({{list}})");
        let mut rows = fetch_of_list(&mut transaction, &sql, &first, &numbers).await?;
        let sql = format!("{COLUMNS} WHERE dataset = $1 AND hash IN ({{list}})");
        rows.extend(fetch_of_list(&mut transaction, &sql, &first, &hashes).await?);
        let mut by_number: HashMap<CommitNumber, String> = HashMap::new();
        let mut by_hash: HashMap<String, CommitNumber> = HashMap::new();
        for row in &rows {
            let known = commit(row)?;
            by_number.insert(known.number, known.hash.clone());
            by_hash.insert(known.hash, known.number);
        }
        let mut lines = Vec::new();
        for commit in commits {
            let other = |reason: String| TraceStoreError::OtherCommit {
                hash: commit.hash.clone(),
                number: commit.number,
                reason,
            };
            match (by_number.get(&commit.number), by_hash.get(&commit.hash)) {
                (Some(hash), Some(number)) if *hash == commit.hash && *number == commit.number => {}
                (_, Some(number)) => return Err(other(format!("it has the number {number}"))),
                (Some(hash), None) => return Err(other(format!("{hash} has that number"))),
                (None, None) => {
                    by_number.insert(commit.number, commit.hash.clone());
                    by_hash.insert(commit.hash.clone(), commit.number);
                    lines.push(vec![
                        dataset.number.into(),
                        i64::from(commit.number.0).into(),
                        commit.hash.as_str().into(),
                        commit.time.into(),
                        commit.author.as_str().into(),
                        commit.subject.as_str().into(),
                    ]);
                }
            }
        }
        let sql = "INSERT INTO commits (dataset, number, hash, time, author, subject)";
        insert(&mut transaction, sql, lines, "").await?;
        let taken = self.take_waiting(&mut transaction, &mut dataset).await?;
        transaction.commit().await?;
        self.seal_due().await?;
        Ok(taken)
    }

    /// The commits of a range that are known, ascending.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`].
    pub async fn commits(
        &self,
        range: RangeInclusive<CommitNumber>,
    ) -> Result<Vec<NumberedCommit>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql =
            format!("{COLUMNS} WHERE dataset = $1 AND number BETWEEN $2 AND $3 ORDER BY number");
        let values = [
            dataset.number.into(),
            i64::from(range.start().0).into(),
            i64::from(range.end().0).into(),
        ];
        let rows = transaction.fetch(&sql, values).await?;
        transaction.roll_back().await?;
        rows.iter().map(commit).collect()
    }

    /// The known commit with the greatest number.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`].
    pub async fn newest_commit(&self) -> Result<Option<NumberedCommit>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = format!("{COLUMNS} WHERE dataset = $1 ORDER BY number DESC LIMIT 1");
        let rows = transaction.fetch(&sql, [dataset.number.into()]).await?;
        transaction.roll_back().await?;
        rows.first().map(commit).transpose()
    }

    /// The greatest number of a commit that is known or has a value.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`].
    pub async fn newest_number(&self) -> Result<Option<CommitNumber>, TraceStoreError> {
        let known = self.newest_commit().await?.map(|it| it.number);
        Ok(known.max(self.tiles().await?.last().map(|it| it.last)))
    }

    /// The number of a commit: `None` for a hash that is not known, or begins several. A number is
    /// itself.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`].
    pub async fn find_commit(
        &self,
        name: &CommitName,
    ) -> Result<Option<CommitNumber>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let found = self.resolve(&mut transaction, &dataset, name).await?;
        transaction.roll_back().await?;
        Ok(found)
    }

    pub(super) async fn resolve(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        name: &CommitName,
    ) -> Result<Option<CommitNumber>, TraceStoreError> {
        let hash = match name {
            CommitName::Number(number) => return Ok(Some(*number)),
            CommitName::Hash(hash) => hash,
        };
        // `g` comes after all hexadecimal digits.
        let sql = "SELECT number FROM commits \
                   WHERE dataset = $1 AND hash >= $2 AND hash < $3 ORDER BY hash LIMIT 2";
        let values = [
            dataset.number.into(),
            hash.as_str().into(),
            format!("{hash}g").into(),
        ];
        match transaction.fetch(sql, values).await?.as_slice() {
            [row] => Ok(Some(CommitNumber(number(row, 0)?))),
            _ => Ok(None),
        }
    }
}
