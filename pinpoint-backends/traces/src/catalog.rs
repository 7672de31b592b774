//! Numbers for traces, and for their keys and values: how the catalog grows.

use std::collections::{BTreeMap, HashMap};

use pinpoint_store::sql::{Transaction, Value};
use pinpoint_traces::{TraceHash, TraceId};

use super::column::{Column, SEGMENT};
use super::rows::{fetch_of_list, insert, number};
use super::store::DatasetRow;
use super::{History, TraceStoreError};

/// Values of one key: the trace's number, and the text.
type OfKey<'a> = Vec<(u32, &'a str)>;

impl History {
    /// The numbers of those among these traces that have one.
    pub(super) async fn known_traces(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        hashes: &[TraceHash],
    ) -> Result<HashMap<TraceHash, u32>, TraceStoreError> {
        let sql = "SELECT hash, number FROM traces WHERE dataset = $1 AND hash IN ({list})";
        let hashes: Vec<Value> = hashes.iter().map(|it| it.0.to_vec().into()).collect();
        let rows = fetch_of_list(transaction, sql, &[dataset.number.into()], &hashes).await?;
        let mut known = HashMap::with_capacity(rows.len());
        for row in rows {
            let hash: [u8; 16] = (row.bytes(0)?.try_into())
                .map_err(|_| self.store.damaged("a trace's hash", "it has not 16 bytes"))?;
            known.insert(TraceHash(hash), number(&row, 1)?);
        }
        Ok(known)
    }

    /// The numbers of these traces; those that are new get one. The dataset must be locked.
    pub(super) async fn number_traces(
        &self,
        transaction: &mut Transaction,
        dataset: &mut DatasetRow,
        traces: impl IntoIterator<Item = &TraceId>,
    ) -> Result<HashMap<TraceHash, u32>, TraceStoreError> {
        let traces: HashMap<TraceHash, &TraceId> = (traces.into_iter())
            .map(|trace| (trace.trace_hash(), trace))
            .collect();
        let hashes: Vec<TraceHash> = traces.keys().copied().collect();
        let mut known = self.known_traces(transaction, dataset, &hashes).await?;
        let mut new: Vec<(&TraceId, TraceHash)> = (traces.into_iter())
            .filter(|(hash, _)| !known.contains_key(hash))
            .map(|(hash, trace)| (trace, hash))
            .collect();
        if new.is_empty() {
            return Ok(known);
        }
        // Neighbors in this order resemble each other, and are read together.
        new.sort_unstable();
        let first = dataset.traces;
        let count = u32::try_from(new.len()).ok();
        dataset.traces = count
            .and_then(|count| first.checked_add(count))
            .ok_or(TraceStoreError::Exhausted("traces"))?;
        let mut keys: BTreeMap<&str, OfKey<'_>> = BTreeMap::new();
        let mut lines = Vec::with_capacity(new.len());
        for (number, (trace, hash)) in (first..).zip(new) {
            for (key, value) in trace.iter() {
                keys.entry(key).or_default().push((number, value));
            }
            lines.push(vec![
                dataset.number.into(),
                hash.0.to_vec().into(),
                i64::from(number).into(),
            ]);
            known.insert(hash, number);
        }
        let sql = "INSERT INTO traces (dataset, hash, number)";
        insert(transaction, sql, lines, "").await?;
        let numbers = self.number_keys(transaction, dataset, &keys).await?;
        for (key, values) in keys {
            let key = numbers.get(key).copied().unwrap_or_default();
            self.add_values(transaction, dataset, key, &values).await?;
        }
        let sql = "UPDATE datasets SET traces = $2 WHERE number = $1";
        let values = [dataset.number.into(), i64::from(dataset.traces).into()];
        transaction.execute(sql, values).await?;
        Ok(known)
    }

    async fn number_keys<'a>(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        wanted: &BTreeMap<&'a str, OfKey<'_>>,
    ) -> Result<HashMap<&'a str, i64>, TraceStoreError> {
        let sql = "SELECT text, number FROM param_keys WHERE dataset = $1";
        let rows = transaction.fetch(sql, [dataset.number.into()]).await?;
        let mut known = HashMap::new();
        for row in &rows {
            known.insert(row.text(0)?, row.int(1)?);
        }
        let mut next = known.values().max().map_or(0, |last| last + 1);
        let mut numbers = HashMap::new();
        let mut lines: Vec<Vec<Value>> = Vec::new();
        for key in wanted.keys() {
            let number = known.get(*key).copied().unwrap_or_else(|| {
                lines.push(vec![dataset.number.into(), next.into(), (*key).into()]);
                next += 1;
                next - 1
            });
            numbers.insert(*key, number);
        }
        let sql = "INSERT INTO param_keys (dataset, number, text)";
        insert(transaction, sql, lines, "").await?;
        Ok(numbers)
    }

    /// Writes the values of one key.
    async fn add_values(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        key: i64,
        values: &[(u32, &str)],
    ) -> Result<(), TraceStoreError> {
        let mut texts: Vec<&str> = values.iter().map(|(_, text)| *text).collect();
        texts.sort_unstable();
        texts.dedup();
        let of_key = [dataset.number.into(), key.into()];
        let list: Vec<Value> = texts.iter().map(|text| (*text).into()).collect();
        let sql = "SELECT text, number FROM param_values \
                   WHERE dataset = $1 AND param_key = $2 AND text IN ({list})";
        let rows = fetch_of_list(transaction, sql, &of_key, &list).await?;
        let mut numbers: HashMap<String, u32> = HashMap::with_capacity(texts.len());
        for row in &rows {
            numbers.insert(row.text(0)?, number(row, 1)?);
        }
        let sql = "SELECT coalesce(max(number), -1) + 1 FROM param_values \
                   WHERE dataset = $1 AND param_key = $2";
        let rows = transaction.fetch(sql, of_key.clone()).await?;
        let mut next = rows.first().map_or(Ok(0), |row| number(row, 0))?;
        let mut lines = Vec::new();
        for text in texts {
            if !numbers.contains_key(text) {
                lines.push(vec![
                    dataset.number.into(),
                    key.into(),
                    i64::from(next).into(),
                    text.into(),
                ]);
                numbers.insert(text.to_owned(), next);
                next += 1;
            }
        }
        let sql = "INSERT INTO param_values (dataset, param_key, number, text)";
        insert(transaction, sql, lines, "").await?;
        let mut segments: BTreeMap<u32, Vec<(usize, u32)>> = BTreeMap::new();
        for (trace, text) in values {
            let value = numbers.get(*text).copied().unwrap_or_default();
            let offset = (trace % SEGMENT) as usize;
            let segment = segments.entry(trace / SEGMENT).or_default();
            segment.push((offset, value));
        }
        for (segment, values) in segments {
            let sql = "SELECT content FROM param_columns \
                       WHERE dataset = $1 AND param_key = $2 AND segment = $3";
            let [dataset, key] = of_key.clone();
            let place = [dataset, key, i64::from(segment).into()];
            let rows = transaction.fetch(sql, place.clone()).await?;
            let mut column = match rows.first() {
                Some(row) => Column::decode(&row.bytes(0)?)
                    .map_err(|error| self.store.damaged("a column of parameters", error))?,
                None => Column::default(),
            };
            column.extend(&values);
            let sql = "INSERT INTO param_columns (dataset, param_key, segment, content) \
                       VALUES ($1, $2, $3, $4) ON CONFLICT (dataset, param_key, segment) \
                       DO UPDATE SET content = excluded.content";
            let [dataset, key, segment] = place;
            let values = [dataset, key, segment, column.encode().into()];
            transaction.execute(sql, values).await?;
        }
        Ok(())
    }
}
