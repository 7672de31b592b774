//! Which traces match, and the parameters that they have.

use std::collections::BTreeMap;
use std::sync::Arc;

use pinpoint_store::sql::Transaction;
use pinpoint_traces::{KeyQuery, ParamSet, Query, TraceId, UnknownName, unknown_names};
use roaring::RoaringBitmap;

use super::column::{Column, SEGMENT};
use super::rows::number;
use super::store::DatasetRow;
use super::{History, TraceStoreError};

/// The number of traces of each value of each key.
pub(super) type ParamCounts = BTreeMap<String, BTreeMap<String, u64>>;

/// Texts of values, by their number.
type Texts = Arc<Vec<Box<str>>>;

impl History {
    /// The keys of all traces and their numbers.
    pub(super) async fn keys(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
    ) -> Result<BTreeMap<String, i64>, TraceStoreError> {
        let sql = "SELECT text, number FROM param_keys WHERE dataset = $1";
        let rows = transaction.fetch(sql, [dataset.number.into()]).await?;
        rows.iter()
            .map(|row| Ok((row.text(0)?, row.int(1)?)))
            .collect()
    }

    /// The values of a key, by their number.
    async fn values_of(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        key: i64,
    ) -> Result<Texts, TraceStoreError> {
        let cache = &self.store.cache;
        let known = cache.values(dataset.number, key);
        if known.traces >= dataset.traces {
            return Ok(known.texts);
        }
        let known = known.texts;
        // One row: many would take longer to come than to be read. No value has a comma.
        let sql = "SELECT count(*), coalesce(string_agg(text, ',' ORDER BY number), '') \
                   FROM param_values WHERE dataset = $1 AND param_key = $2 AND number >= $3";
        let values = [
            dataset.number.into(),
            key.into(),
            i64::try_from(known.len()).unwrap_or(i64::MAX).into(),
        ];
        let rows = transaction.fetch(sql, values).await?;
        let (count, added) = match rows.first() {
            Some(row) => (number(row, 0)? as usize, row.text(1)?),
            None => (0, String::new()),
        };
        let all = match count {
            0 => known,
            _ => {
                let added = added.split(',').map(Box::from);
                let all: Vec<Box<str>> = known.iter().cloned().chain(added).collect();
                if all.len() != known.len() + count {
                    let error = self.store.damaged("the values of a key", "one has a comma");
                    return Err(error);
                }
                Arc::new(all)
            }
        };
        cache.put_values((dataset.number, key), all.clone(), dataset.traces);
        Ok(all)
    }

    /// The columns of a key for these segments, which ascend.
    async fn columns_of(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        key: i64,
        segments: &[u32],
    ) -> Result<BTreeMap<u32, Arc<Column>>, TraceStoreError> {
        let cache = &self.store.cache;
        let mut columns = BTreeMap::new();
        let mut missing = Vec::new();
        for segment in segments {
            // A column is complete once its segment is, or nothing came since.
            let end = (segment + 1).saturating_mul(SEGMENT).min(dataset.traces);
            match cache.column(dataset.number, key, *segment) {
                Some((column, traces)) if traces >= end => {
                    columns.insert(*segment, column);
                }
                _ => missing.push(*segment),
            }
        }
        let (Some(first), Some(last)) = (missing.first(), missing.last()) else {
            return Ok(columns);
        };
        let sql = "SELECT segment, content FROM param_columns \
                   WHERE dataset = $1 AND param_key = $2 AND segment BETWEEN $3 AND $4";
        let values = [
            dataset.number.into(),
            key.into(),
            i64::from(*first).into(),
            i64::from(*last).into(),
        ];
        let mut found = BTreeMap::new();
        for row in transaction.fetch(sql, values).await? {
            found.insert(number(&row, 0)?, row.bytes(1)?);
        }
        for segment in missing {
            // No trace of the segment has the key.
            let column = match found.get(&segment) {
                Some(content) => Column::decode(content)
                    .map_err(|error| self.store.damaged("a column of parameters", error))?,
                None => Column::default(),
            };
            let column = Arc::new(column);
            let place = (dataset.number, key, segment);
            cache.put_column(place, column.clone(), dataset.traces);
            columns.insert(segment, column);
        }
        Ok(columns)
    }

    /// The numbers of the traces that match.
    pub(super) async fn matching(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        query: &Query,
    ) -> Result<RoaringBitmap, TraceStoreError> {
        let mut matching = RoaringBitmap::new();
        matching.insert_range(0..dataset.traces);
        let keys = self.keys(transaction, dataset).await?;
        for conditions in query.keys() {
            let Some(key) = keys.get(conditions.key()) else {
                match conditions.accepts_absent() {
                    true => continue,
                    false => return Ok(RoaringBitmap::new()),
                }
            };
            let texts = self.values_of(transaction, dataset, *key).await?;
            let allowed = allowed(conditions, &texts);
            let segments = segments_of(&matching);
            let columns = self
                .columns_of(transaction, dataset, *key, &segments)
                .await?;
            let mut of_key = RoaringBitmap::new();
            for (segment, column) in columns {
                let first = segment * SEGMENT;
                let traces = (dataset.traces - first).min(SEGMENT) as usize;
                let bits = column.select(&allowed, traces);
                of_key |= RoaringBitmap::from_lsb0_bytes(first, &bits);
            }
            matching &= of_key;
        }
        Ok(matching)
    }

    /// The keys and values that these traces have, with the number of traces of each.
    pub(super) async fn counts_of(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        traces: &RoaringBitmap,
    ) -> Result<ParamCounts, TraceStoreError> {
        let mut counts = ParamCounts::new();
        let segments = segments_of(traces);
        for (text, key) in self.keys(transaction, dataset).await? {
            let columns = self
                .columns_of(transaction, dataset, key, &segments)
                .await?;
            let texts = self.values_of(transaction, dataset, key).await?;
            let mut seen = vec![0_u64; texts.len()];
            for (segment, column) in columns {
                for trace in of_segment(traces, segment) {
                    let value = column.get((trace % SEGMENT) as usize);
                    if let Some(seen) = value.and_then(|value| seen.get_mut(value as usize)) {
                        *seen += 1;
                    }
                }
            }
            let seen = texts.iter().zip(seen).filter(|(_, seen)| *seen > 0);
            let seen: BTreeMap<String, u64> = seen
                .map(|(value, seen)| (value.to_string(), seen))
                .collect();
            if !seen.is_empty() {
                counts.insert(text, seen);
            }
        }
        Ok(counts)
    }

    /// Every parameter of the keys of a query, and what of the query no trace has.
    pub(super) async fn unknown(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        query: &Query,
    ) -> Result<Vec<UnknownName>, TraceStoreError> {
        let mut known = ParamSet::default();
        for (text, key) in self.keys(transaction, dataset).await? {
            let values = match query.keys().iter().any(|it| it.key() == text) {
                true => self.values_of(transaction, dataset, key).await?,
                // Its name is enough.
                false => Arc::new(vec!["_".into()]),
            };
            values.iter().for_each(|value| known.insert(&text, value));
        }
        Ok(unknown_names(query, &known))
    }

    /// The ids of these traces, in the order of their numbers.
    pub(super) async fn ids_of(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        traces: &RoaringBitmap,
    ) -> Result<Vec<TraceId>, TraceStoreError> {
        let segments = segments_of(traces);
        let mut texts = vec![String::from(","); traces.len() as usize];
        for (key, of_key) in self.keys(transaction, dataset).await? {
            let columns = self
                .columns_of(transaction, dataset, of_key, &segments)
                .await?;
            let values = self.values_of(transaction, dataset, of_key).await?;
            let mut texts = texts.iter_mut();
            for (segment, column) in columns {
                for (trace, text) in of_segment(traces, segment).zip(&mut texts) {
                    let value = column.get((trace % SEGMENT) as usize);
                    if let Some(value) = value.and_then(|value| values.get(value as usize)) {
                        text.extend([&key, "=", value, ","]);
                    }
                }
            }
        }
        let parsed = texts.into_iter().map(|text| {
            let parsed = text.parse();
            parsed.map_err(|_| self.store.damaged("the parameters of a trace", text))
        });
        parsed.collect()
    }
}

/// Which values of a key are accepted, by their number + 1; the first is for traces without it.
fn allowed(conditions: &KeyQuery, texts: &[Box<str>]) -> Vec<bool> {
    let values = texts.iter().map(|text| conditions.accepts(text));
    std::iter::once(conditions.accepts_absent())
        .chain(values)
        .collect()
}

/// The segments with any of these traces, ascending.
fn segments_of(traces: &RoaringBitmap) -> Vec<u32> {
    let (Some(first), Some(last)) = (traces.min(), traces.max()) else {
        return Vec::new();
    };
    let segments = first / SEGMENT..=last / SEGMENT;
    let has_any = |segment: &u32| of_segment(traces, *segment).next().is_some();
    segments.filter(has_any).collect()
}

/// Those of the traces that are in a segment, ascending.
fn of_segment(traces: &RoaringBitmap, segment: u32) -> impl Iterator<Item = u32> {
    let first = segment * SEGMENT;
    traces.range(first..=first + (SEGMENT - 1))
}
