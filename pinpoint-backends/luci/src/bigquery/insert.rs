//! Inserts rows into a table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::{BigQuery, BigQueryError, RejectedRow, Table};
use crate::google::HttpRequest;

/// The most rows in a request. The reference says that more are slower.
const MOST_ROWS: usize = 500;

/// The most bytes in a request. 10 MB are the service's limit.
const MOST_BYTES: usize = 9_000_000;

/// The bytes of a request in addition to its rows.
const AROUND: usize = 64;

/// A row to insert.
#[derive(Debug, Clone)]
pub struct Row<T> {
    /// The same text is the same row: sent twice within some minutes, it is there once.
    pub insert_id: String,
    /// The values.
    pub row: T,
}

impl<T> Row<T> {
    /// A row and the id that identifies it.
    pub fn new(insert_id: impl Into<String>, row: T) -> Self {
        Self {
            insert_id: insert_id.into(),
            row,
        }
    }
}

/// A row as it is sent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SentRow<'a> {
    insert_id: &'a str,
    json: &'a RawValue,
}

#[derive(Serialize)]
struct InsertRequest<'a> {
    rows: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InsertAnswer {
    #[serde(default)]
    insert_errors: Vec<InsertError>,
}

#[derive(Deserialize)]
struct InsertError {
    #[serde(default)]
    index: usize,
    #[serde(default)]
    errors: Vec<Problem>,
}

#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    location: String,
    #[serde(default)]
    message: String,
}

/// A pending row, already serialized.
struct Waiting {
    index: usize,
    insert_id: String,
    json: Box<RawValue>,
}

impl BigQuery {
    /// Inserts rows, 500 or 9 MB in a request, in their order.
    ///
    /// A request with a wrong row inserts none of its rows; the others are sent again without it,
    /// so that one row never keeps others out.
    ///
    /// # Errors
    ///
    /// [`BigQueryError::Rejected`] with every row that was refused, once all others are in the
    /// table. With any other error, some rows may be in the table: inserting all of them again,
    /// with the same `insert_id` and soon, inserts the rest.
    pub async fn insert<T: Serialize>(
        &self,
        table: &Table,
        rows: impl IntoIterator<Item = Row<T>>,
    ) -> Result<(), BigQueryError> {
        let path = table.path(&format!("/{}/insertAll", table.table));
        let mut rejected = Vec::new();
        let mut batch = Vec::new();
        let mut bytes = AROUND;
        for (index, row) in rows.into_iter().enumerate() {
            let waiting = Waiting::new(index, row)?;
            // And a comma.
            let more = waiting.json.get().len() + 1;
            if batch.len() == MOST_ROWS || (!batch.is_empty() && bytes + more > MOST_BYTES) {
                let full = std::mem::take(&mut batch);
                self.insert_batch(&path, full, &mut rejected).await?;
                bytes = AROUND;
            }
            bytes += more;
            batch.push(waiting);
        }
        if !batch.is_empty() {
            self.insert_batch(&path, batch, &mut rejected).await?;
        }
        if rejected.is_empty() {
            return Ok(());
        }
        rejected.sort_by_key(|row| row.index);
        Err(BigQueryError::Rejected(rejected))
    }

    async fn insert_batch(
        &self,
        path: &str,
        mut batch: Vec<Waiting>,
        rejected: &mut Vec<RejectedRow>,
    ) -> Result<(), BigQueryError> {
        while !batch.is_empty() {
            let rows = batch.iter().map(|row| &*row.json).collect();
            let body = super::json(&InsertRequest { rows })?;
            let answer: InsertAnswer = self.ask(&HttpRequest::post_json(path, body)).await?;
            if answer.insert_errors.is_empty() {
                return Ok(());
            }
            let faulty = faulty(answer.insert_errors, batch.len());
            let mut others = Vec::new();
            for (place, waiting) in batch.into_iter().enumerate() {
                match faulty.get(&place) {
                    Some(problems) => rejected.push(RejectedRow {
                        index: waiting.index,
                        insert_id: waiting.insert_id,
                        problems: problems.clone(),
                    }),
                    None => others.push(waiting),
                }
            }
            batch = others;
        }
        Ok(())
    }
}

/// The problems of the rows that are wrong themselves, by their indexes. A `stopped` row is not:
/// another one was wrong. Where no row is wrong itself, all that were named are returned.
fn faulty(errors: Vec<InsertError>, rows: usize) -> BTreeMap<usize, Vec<String>> {
    let mut wrong: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut stopped: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for InsertError { index, errors } in errors {
        // An answer that names no row of ours is about all of them.
        let places = if index < rows {
            index..index + 1
        } else {
            0..rows
        };
        let was_stopped = errors.iter().all(|problem| problem.reason == "stopped");
        let list = if was_stopped && !errors.is_empty() {
            &mut stopped
        } else {
            &mut wrong
        };
        for place in places {
            let problems = errors.iter().map(Problem::text);
            list.entry(place).or_default().extend(problems);
        }
    }
    if wrong.is_empty() { stopped } else { wrong }
}

impl Problem {
    fn text(&self) -> String {
        let mut text = self.reason.clone();
        if !self.location.is_empty() {
            text = format!("{text} at {}", self.location);
        }
        if !self.message.is_empty() {
            text = format!("{text}: {}", self.message);
        }
        text.chars().take(500).collect()
    }
}

impl Waiting {
    fn new<T: Serialize>(index: usize, row: Row<T>) -> Result<Self, BigQueryError> {
        let Row { insert_id, row } = row;
        let values = to_raw_value(&row).map_err(BigQueryError::Unwritable)?;
        let sent = SentRow {
            insert_id: &insert_id,
            json: &values,
        };
        let json = to_raw_value(&sent).map_err(BigQueryError::Unwritable)?;
        let bytes = json.get().len();
        if AROUND + bytes > MOST_BYTES {
            return Err(BigQueryError::TooLarge {
                insert_id,
                bytes,
                limit: MOST_BYTES,
            });
        }
        Ok(Self {
            index,
            insert_id,
            json,
        })
    }
}
