//! The log of a watch: events, and the state that follows from them.

use pinpoint_store::sql::{Access, Transaction, Value};
use pinpoint_traces::watch::{Event, WATCH_STATE_VERSION, WatchState};

use super::arrivals::Unseen;
use super::ingest::json;
use super::rows::insert;
use super::store::DatasetRow;
use super::{History, TraceStoreError};

/// After so many events the state is stored once more.
const EVENTS_OF_SNAPSHOT: u64 = 256;

/// The treatment of values as they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nobody watches.
    None,
    /// They are noted, and all before are new, too.
    First,
    /// They are noted, and all others were seen.
    Watched,
}

/// The row of a watch; that of a dataset without one is empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchRow {
    pub(super) events: u64,
    pub(super) told: u64,
    pub(super) stage: Stage,
    pub(super) arrivals: i64,
    snapshot_events: u64,
}

impl History {
    /// The state that the log of the watch leads to. One stored on the way saves the time to replay
    /// it all.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::Watch`] for a log that a newer program wrote;
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read, or is damaged.
    pub async fn watch_state(&self) -> Result<WatchState, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let watch = self.watch_row(&mut transaction, &dataset).await?;
        let sql = "SELECT snapshot FROM watches WHERE dataset = $1";
        let rows = transaction.fetch(sql, [dataset.number.into()]).await?;
        let snapshot = rows.first().map(|row| row.optional_text(0)).transpose()?;
        // One of an older version, or a damaged one, lacks something that the log has.
        let snapshot = snapshot.flatten().and_then(|text| {
            let state = WatchState::from_json(&text).ok()?;
            let is_whole = state.events == watch.snapshot_events && state.events <= watch.events;
            (is_whole && state.version == WATCH_STATE_VERSION).then_some(state)
        });
        let mut state = snapshot.unwrap_or_default();
        let events = self.log(&mut transaction, &dataset, state.events, watch.events);
        let events = events.await?;
        transaction.roll_back().await?;
        for event in &events {
            let number = state.events;
            state
                .apply(event)
                .map_err(|error| self.store.damaged(format!("event {number}"), error))?;
        }
        Ok(state)
    }

    /// The events of the log from a number on, at most so many.
    ///
    /// # Errors
    ///
    /// Those of [`History::watch_state`].
    pub async fn watch_events(&self, from: u64, most: u64) -> Result<Vec<Event>, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let until = from.saturating_add(most);
        let events = self.log(&mut transaction, &dataset, from, until).await?;
        transaction.roll_back().await?;
        Ok(events)
    }

    /// Appends events to the log, all of them or none, and applies them to the state that its reader
    /// has. If another one has appended since that was read, nothing is written: read the state again,
    /// and decide anew.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::WatchConflict`] if the log is longer than the state knows;
    /// [`TraceStoreError::Watch`] for an event that does not fit; [`TraceStoreError::NoDataset`];
    /// when the store cannot be written.
    pub async fn append_events(
        &self,
        state: &mut WatchState,
        events: &[Event],
    ) -> Result<(), TraceStoreError> {
        self.append_to_log(state, events, None).await
    }

    /// Like [`History::append_events`], and these values were seen, in the same transaction: a
    /// process that ends before has seen none of them, and one that ends afterwards all.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn append_seen(
        &self,
        state: &mut WatchState,
        events: &[Event],
        seen: &Unseen,
    ) -> Result<(), TraceStoreError> {
        self.append_to_log(state, events, Some(seen)).await
    }

    async fn append_to_log(
        &self,
        state: &mut WatchState,
        events: &[Event],
        seen: Option<&Unseen>,
    ) -> Result<(), TraceStoreError> {
        let mut next = state.clone();
        for event in events {
            next.apply(event)?;
        }
        let texts = events.iter().map(json).collect::<Result<Vec<_>, _>>()?;
        let mut tries = self.store.database.tries(None);
        let mut is_again = false;
        loop {
            match self.try_append(state.events, &next, &texts, seen).await {
                Err(TraceStoreError::Database(error)) if tries.again(&error).await => {
                    is_again = true;
                }
                // An attempt that was not acknowledged may have been made.
                Err(TraceStoreError::WatchConflict { .. })
                    if is_again && self.has_in_log(state.events, &texts).await? =>
                {
                    break;
                }
                done => break done?,
            }
        }
        *state = next;
        Ok(())
    }

    async fn try_append(
        &self,
        known: u64,
        next: &WatchState,
        texts: &[String],
        seen: Option<&Unseen>,
    ) -> Result<(), TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Write).await?;
        // Nothing is made for a name that is not there.
        self.row(&mut transaction).await?;
        let dataset = self.locked_row(&mut transaction).await?;
        let watch = self.watch_row(&mut transaction, &dataset).await?;
        if watch.events != known {
            return Err(TraceStoreError::WatchConflict {
                known,
                found: watch.events,
            });
        }
        let lines = (known..).zip(texts).map(|(number, text)| {
            vec![dataset.number.into(), written(number), text.as_str().into()]
        });
        let sql = "INSERT INTO watch_events (dataset, number, content)";
        insert(&mut transaction, sql, lines.collect(), "").await?;
        let sql = "INSERT INTO watches (dataset, events) VALUES ($1, $2) \
                   ON CONFLICT (dataset) DO UPDATE SET events = excluded.events";
        let values = [dataset.number.into(), written(next.events)];
        transaction.execute(sql, values).await?;
        if next.events - watch.snapshot_events.min(next.events) >= EVENTS_OF_SNAPSHOT {
            let sql = "UPDATE watches SET snapshot = $2, snapshot_events = $3 WHERE dataset = $1";
            let values = [
                dataset.number.into(),
                json(next)?.into(),
                written(next.events),
            ];
            transaction.execute(sql, values).await?;
        }
        if let Some(seen) = seen {
            let sql = "DELETE FROM arrivals WHERE dataset = $1 AND number <= $2";
            let values = [dataset.number.into(), seen.last.into()];
            transaction.execute(sql, values).await?;
            let sql = "UPDATE watches SET stage = 2 WHERE dataset = $1";
            transaction.execute(sql, [dataset.number.into()]).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// Returns true if the log has these texts from this number on, and no others.
    async fn has_in_log(&self, from: u64, texts: &[String]) -> Result<bool, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let found = self.log_texts(&mut transaction, &dataset, from, u64::MAX);
        let found = found.await?;
        transaction.roll_back().await?;
        Ok(found == texts)
    }

    /// The number of events that somebody was told of.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be read.
    pub async fn told_events(&self) -> Result<u64, TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Read).await?;
        let dataset = self.row(&mut transaction).await?;
        let watch = self.watch_row(&mut transaction, &dataset).await?;
        transaction.roll_back().await?;
        Ok(watch.told)
    }

    /// Notes that somebody was told of the first events, so many. The number never falls.
    ///
    /// # Errors
    ///
    /// [`TraceStoreError::NoDataset`]; when the store cannot be written.
    pub async fn note_told(&self, events: u64) -> Result<(), TraceStoreError> {
        let mut transaction = self.store.database.begin(Access::Write).await?;
        let dataset = self.row(&mut transaction).await?;
        let sql = "UPDATE watches SET told = $2 WHERE dataset = $1 AND told < $2";
        let values = [dataset.number.into(), written(events)];
        transaction.execute(sql, values).await?;
        Ok(transaction.commit().await?)
    }

    pub(super) async fn watch_row(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
    ) -> Result<WatchRow, TraceStoreError> {
        let sql = "SELECT events, told, stage, arrivals, snapshot_events FROM watches \
                   WHERE dataset = $1";
        let rows = transaction.fetch(sql, [dataset.number.into()]).await?;
        let Some(row) = rows.first() else {
            return Ok(WatchRow {
                events: 0,
                told: 0,
                stage: Stage::None,
                arrivals: 0,
                snapshot_events: 0,
            });
        };
        Ok(WatchRow {
            events: row.int(0)?.cast_unsigned(),
            told: row.int(1)?.cast_unsigned(),
            stage: match row.int(2)? {
                0 => Stage::None,
                1 => Stage::First,
                _ => Stage::Watched,
            },
            arrivals: row.int(3)?,
            snapshot_events: row.int(4)?.cast_unsigned(),
        })
    }

    async fn log(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        from: u64,
        until: u64,
    ) -> Result<Vec<Event>, TraceStoreError> {
        let texts = self.log_texts(transaction, dataset, from, until).await?;
        (texts.iter().map(|text| Ok(Event::from_json(text)?))).collect()
    }

    async fn log_texts(
        &self,
        transaction: &mut Transaction,
        dataset: &DatasetRow,
        from: u64,
        until: u64,
    ) -> Result<Vec<String>, TraceStoreError> {
        let sql = "SELECT content FROM watch_events \
                   WHERE dataset = $1 AND number >= $2 AND number < $3 ORDER BY number";
        let values = [dataset.number.into(), written(from), written(until)];
        let rows = transaction.fetch(sql, values).await?;
        rows.iter().map(|row| Ok(row.text(0)?)).collect()
    }
}

fn written(number: u64) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}
