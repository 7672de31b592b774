//! Taking files of results.

use std::collections::{BTreeMap, HashSet};

use pinpoint_store::sql::{Access, Transaction, Value};
use pinpoint_traces::{CommitName, CommitNumber, Links, ResultFile, TraceId};
use serde::{Deserialize, Serialize};

use super::append::Arrived;
use super::rows::{fetch_of_list, insert, number};
use super::source::{digest, rank};
use super::store::DatasetRow;
use super::{History, TraceStoreError};

/// The fate of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Ingested {
    /// Files whose values are part of the history now.
    pub taken: u64,
    /// Files of tries.
    pub tries: u64,
    /// Files that wait until their commit is known.
    pub waiting: u64,
    /// Files that the store had already.
    pub known: u64,
    /// Files of branches that are not listed.
    pub other_branches: u64,
    /// Values that came to the history.
    pub values: u64,
}

/// A value of a file that waits, or of a try.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredPoint {
    pub(super) trace: TraceId,
    pub(super) value: f64,
    #[serde(default, skip_serializing_if = "Links::is_empty")]
    pub(super) links: Links,
}

/// A file with a number.
struct Numbered {
    source: u32,
    points: Vec<StoredPoint>,
}

impl History {
    /// Takes files, all of them or none: when this returns, they are on the disk.
    ///
    /// Where a trace has a value at a commit already, that of the later file stays. A file whose
    /// commit is not known waits until [`History::add_commits`] adds it. A file that is there already
    /// changes nothing. If branches are listed, files of others are skipped. Tries are kept apart
    /// from the history.
    ///
    /// Then it seals the tiles that are due; an error of that leaves the values safe, and the next
    /// ingest seals.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NotFinite`]; when the store cannot be written.
    pub async fn ingest(
        &self,
        files: &[ResultFile],
        branches: &[String],
    ) -> Result<Ingested, TraceStoreError> {
        for file in files {
            if let Some(point) = file.points.iter().find(|it| !it.value.is_finite()) {
                return Err(TraceStoreError::NotFinite {
                    path: file.source.path.clone(),
                    trace: point.trace.to_string(),
                    value: point.value,
                });
            }
        }
        let mut tries = self.store.database.tries(None);
        let ingested = loop {
            match self.try_ingest(files, branches).await {
                Err(TraceStoreError::Database(error)) if tries.again(&error).await => {}
                done => break done?,
            }
        };
        self.seal_due().await?;
        Ok(ingested)
    }

    async fn try_ingest(
        &self,
        files: &[ResultFile],
        branches: &[String],
    ) -> Result<Ingested, TraceStoreError> {
        let mut ingested = Ingested::default();
        let mut transaction = self.store.database.begin(Access::Write).await?;
        let mut dataset = self.locked_row(&mut transaction).await?;
        let digests: Vec<Vec<u8>> = files.iter().map(digest).collect();
        let list: Vec<Value> = digests.iter().map(|it| it.clone().into()).collect();
        let sql = "SELECT digest FROM sources WHERE dataset = $1 AND digest IN ({list})";
        let first = [dataset.number.into()];
        let mut known = HashSet::new();
        for row in fetch_of_list(&mut transaction, sql, &first, &list).await? {
            known.insert(row.bytes(0)?);
        }
        let (mut sources, mut waiting, mut tries) = (Vec::new(), Vec::new(), Vec::new());
        let mut taken = Vec::new();
        let mut resolved: BTreeMap<&CommitName, _> = BTreeMap::new();
        for (file, digest) in files.iter().zip(digests) {
            if !file.is_of_branches(branches) {
                ingested.other_branches += 1;
                continue;
            }
            if !known.insert(digest.clone()) {
                ingested.known += 1;
                continue;
            }
            let source = dataset.sources;
            dataset.sources =
                (source.checked_add(1)).ok_or(TraceStoreError::Exhausted("sources"))?;
            let points = points(file);
            sources.push(vec![
                dataset.number.into(),
                i64::from(source).into(),
                digest.clone().into(),
                rank(&file.source, &digest).into(),
                file.source.path.as_str().into(),
                file.source.modified.into(),
                json(&file.links)?.into(),
            ]);
            if let Some(tried) = &file.tried {
                ingested.tries += 1;
                tries.push(vec![
                    dataset.number.into(),
                    tried.issue.as_str().into(),
                    tried.patchset.as_str().into(),
                    i64::from(source).into(),
                    json(&points)?.into_bytes().into(),
                ]);
                continue;
            }
            let commit = match resolved.get(&file.commit) {
                Some(commit) => *commit,
                None => {
                    let commit = self
                        .resolve(&mut transaction, &dataset, &file.commit)
                        .await?;
                    resolved.insert(&file.commit, commit);
                    commit
                }
            };
            match commit {
                Some(commit) => {
                    ingested.taken += 1;
                    taken.push((commit, Numbered { source, points }));
                }
                None => {
                    ingested.waiting += 1;
                    waiting.push(vec![
                        dataset.number.into(),
                        i64::from(source).into(),
                        file.commit.to_string().into(),
                        json(&points)?.into_bytes().into(),
                    ]);
                }
            }
        }
        let sql = "INSERT INTO sources (dataset, number, digest, rank, path, modified, links)";
        insert(&mut transaction, sql, sources, "").await?;
        let sql = "INSERT INTO waiting (dataset, source, hash, content)";
        insert(&mut transaction, sql, waiting, "").await?;
        let sql = "INSERT INTO tries (dataset, issue, patchset, source, content)";
        insert(&mut transaction, sql, tries, "").await?;
        let sql = "UPDATE datasets SET sources = $2 WHERE number = $1";
        let values = [dataset.number.into(), i64::from(dataset.sources).into()];
        transaction.execute(sql, values).await?;
        ingested.values = self.take(&mut transaction, &mut dataset, taken).await?;
        transaction.commit().await?;
        Ok(ingested)
    }

    /// Takes values of known commits. Returns how many.
    async fn take(
        &self,
        transaction: &mut Transaction,
        dataset: &mut DatasetRow,
        files: Vec<(CommitNumber, Numbered)>,
    ) -> Result<u64, TraceStoreError> {
        let traces = files.iter().flat_map(|(_, file)| &file.points);
        let traces = traces.map(|point| &point.trace);
        let numbers = self.number_traces(transaction, dataset, traces).await?;
        let mut links = Vec::new();
        let mut arrived = Vec::with_capacity(files.len());
        for (commit, file) in files {
            // Of a trace that a file has twice, the last value counts.
            let mut values = BTreeMap::new();
            for point in file.points {
                let number = numbers.get(&point.trace.trace_hash()).copied();
                let number = number.ok_or(TraceStoreError::Exhausted("traces"))?;
                values.insert(number, (point.value, point.links));
            }
            for (trace, (_, of_value)) in values.iter().filter(|(_, (_, it))| !it.is_empty()) {
                links.push(vec![
                    dataset.number.into(),
                    i64::from(file.source).into(),
                    i64::from(*trace).into(),
                    json(of_value)?.into(),
                ]);
            }
            let values = values.into_iter().map(|(trace, (value, _))| (trace, value));
            arrived.push(Arrived {
                source: file.source,
                commit,
                values: values.collect(),
            });
        }
        let sql = "INSERT INTO value_links (dataset, source, trace, links)";
        insert(transaction, sql, links, "").await?;
        self.append(transaction, dataset, &arrived).await
    }

    /// Takes the files whose commit is known now. Returns the number of their values.
    pub(super) async fn take_waiting(
        &self,
        transaction: &mut Transaction,
        dataset: &mut DatasetRow,
    ) -> Result<u64, TraceStoreError> {
        let sql = "SELECT DISTINCT hash FROM waiting WHERE dataset = $1";
        let rows = transaction.fetch(sql, [dataset.number.into()]).await?;
        let mut values = 0;
        for row in rows {
            let hash = row.text(0)?;
            let name = CommitName::Hash(hash.clone());
            let Some(commit) = self.resolve(transaction, dataset, &name).await? else {
                continue;
            };
            let of_hash = [dataset.number.into(), hash.into()];
            let sql = "SELECT source, content FROM waiting WHERE dataset = $1 AND hash = $2";
            let mut files = Vec::new();
            for row in transaction.fetch(sql, of_hash.clone()).await? {
                let points = serde_json::from_slice(&row.bytes(1)?);
                let points =
                    points.map_err(|error| self.store.damaged("a file that waits", error))?;
                let source = number(&row, 0)?;
                files.push((commit, Numbered { source, points }));
            }
            values += self.take(transaction, dataset, files).await?;
            let sql = "DELETE FROM waiting WHERE dataset = $1 AND hash = $2";
            transaction.execute(sql, of_hash).await?;
        }
        Ok(values)
    }

    /// The files that wait for a commit: their paths, and the commits as they name them.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`].
    pub async fn waiting(&self) -> Result<Vec<(String, String)>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "SELECT path, hash FROM waiting JOIN sources \
                   ON sources.dataset = waiting.dataset AND sources.number = waiting.source \
                   WHERE waiting.dataset = $1 ORDER BY path, hash";
        let rows = transaction.fetch(sql, [dataset.number.into()]).await?;
        transaction.roll_back().await?;
        rows.iter()
            .map(|row| Ok((row.text(0)?, row.text(1)?)))
            .collect()
    }
}

fn points(file: &ResultFile) -> Vec<StoredPoint> {
    let points = file.points.iter().map(|point| StoredPoint {
        trace: point.trace.clone(),
        value: point.value,
        links: point.links.clone(),
    });
    points.collect()
}

pub(super) fn json(content: &impl Serialize) -> Result<String, TraceStoreError> {
    serde_json::to_string(content).map_err(|error| TraceStoreError::Row(error.to_string()))
}
