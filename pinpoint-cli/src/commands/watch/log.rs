//! Writing to the log of the watch, beside others who do.

use pinpoint_backends::traces::{History, TraceStoreError};
use pinpoint_traces::watch::{Event, EventKind, WatchState};

use crate::error::CliError;
use crate::job::clock::now;

/// Appends the events that follow from the state, and returns the state after them. Where another
/// process was faster, it decides anew.
pub(crate) async fn append(
    history: &History,
    by: &str,
    decide: impl Fn(&WatchState) -> Result<Vec<EventKind>, CliError>,
) -> Result<(WatchState, Vec<Event>), CliError> {
    loop {
        let mut state = history.watch_state().await?;
        let at = now();
        let kinds = decide(&state)?.into_iter();
        let events: Vec<Event> = kinds.map(|kind| Event::new(at, by, kind)).collect();
        match history.append_events(&mut state, &events).await {
            Err(TraceStoreError::WatchConflict { .. }) => {}
            Err(TraceStoreError::Watch(error)) => return Err(CliError::Input(error.to_string())),
            done => {
                done?;
                return Ok((state, events));
            }
        }
    }
}
