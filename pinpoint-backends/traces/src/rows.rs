//! Rows and lists of parameters in statements.

use pinpoint_store::sql::{Row, Transaction, Value};

use super::TraceStoreError;

/// The most parameters of one statement: SQLite takes 32,766.
const MOST: usize = 4096;

/// A number of 32 bits.
pub(super) fn number(row: &Row, column: usize) -> Result<u32, TraceStoreError> {
    let number = row.int(column)?;
    u32::try_from(number).map_err(|_| TraceStoreError::Row(format!("{number} is out of range")))
}

/// The rows of a statement in which `{list}` stands for a list of values. It is asked for parts of
/// a long list.
///
/// The length of each part is a power of two, the last value repeated: a database prepares few
/// statements, and keeps them.
pub(super) async fn fetch_of_list(
    transaction: &mut Transaction,
    sql: &str,
    first: &[Value],
    list: &[Value],
) -> Result<Vec<Row>, TraceStoreError> {
    let mut rows = Vec::new();
    for part in list.chunks(MOST) {
        let length = part.len().next_power_of_two();
        let places: Vec<String> = (1..=length)
            .map(|place| format!("${}", first.len() + place))
            .collect();
        let sql = sql.replace("{list}", &places.join(", "));
        let last = part.last().into_iter().cycle();
        let values = first.iter().chain(part.iter().chain(last).take(length));
        rows.extend(transaction.fetch(&sql, values.cloned()).await?);
    }
    Ok(rows)
}

/// Inserts rows of the same number of columns; `sql` ends before `VALUES`, `then` follows the rows.
pub(super) async fn insert(
    transaction: &mut Transaction,
    sql: &str,
    rows: Vec<Vec<Value>>,
    then: &str,
) -> Result<(), TraceStoreError> {
    let mut rows = rows.into_iter().peekable();
    while let Some(columns) = rows.peek().map(Vec::len) {
        let most = MOST / columns.max(1);
        // Powers of two, so that few statements are prepared.
        let left = rows.size_hint().0.min(most).max(1);
        let count = 1 << left.ilog2();
        let lines: Vec<String> = (0..count)
            .map(|line| {
                let places = (1..=columns).map(|column| format!("${}", line * columns + column));
                format!("({})", places.collect::<Vec<_>>().join(", "))
            })
            .collect();
        let sql = format!("{sql} VALUES {} {then}", lines.join(", "));
        let values: Vec<Value> = rows.by_ref().take(count).flatten().collect();
        transaction.execute(&sql, values).await?;
    }
    Ok(())
}
