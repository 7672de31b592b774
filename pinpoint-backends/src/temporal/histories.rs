//! Histories of workflows that earlier versions of the program started: every later version has to
//! replay them, to continue jobs that are active when it is installed.
//!
//! `tests/histories/VERSION-KIND.json`, one of each kind of job, are written by the ignored test in
//! this file, before a release:
//!
//! ```text
//! PINPOINT_HISTORY_OF=JOB PINPOINT_HISTORY_KIND=KIND TEMPORAL_ADDRESS=HOST:PORT \
//!     cargo test --all-features --lib history_is_written -- --ignored
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use temporalio_client::{WorkflowFetchHistoryOptions, WorkflowHistory};
use temporalio_common::data_converters::{
    DataConverter, DefaultFailureConverter, PayloadConverter,
};
use temporalio_common::protos::temporal::api::history::v1::{History, HistoryEvent};
use temporalio_sdk::workflow_replayer::{
    WorkflowReplayError, WorkflowReplayer, WorkflowReplayerOptions,
};

use super::codec::Codec;
use super::workflow::JobWorkflow;
use super::{Temporal, TemporalAddress};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

fn histories() -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(directory()).unwrap().flatten();
    let files: Vec<_> = files.map(|file| file.path()).collect();
    assert!(!files.is_empty());
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap();
        (path, bytes)
    };
    files.into_iter().map(read).collect()
}

/// The reason why a history can't be replayed.
async fn refusal(history: WorkflowHistory) -> Option<String> {
    let options = WorkflowReplayerOptions::new()
        .data_converter(DataConverter::new(
            PayloadConverter::default(),
            DefaultFailureConverter::default(),
            Codec::default(),
        ))
        .register_workflow::<JobWorkflow>()
        .unwrap()
        .build();
    let replayer = WorkflowReplayer::new(options).unwrap();
    match replayer.replay_workflow(history).await {
        Ok(_) => None,
        Err(WorkflowReplayError::Replay(failure)) => Some(failure.to_string()),
        Err(error) => panic!("{error}"),
    }
}

async fn events_of(bytes: &[u8]) -> Vec<HistoryEvent> {
    let history = WorkflowHistory::from_json(bytes).unwrap();
    history.into_events().await.unwrap()
}

#[tokio::test]
async fn histories_of_all_versions_are_replayed() {
    for (path, bytes) in histories() {
        let history = WorkflowHistory::from_json(&bytes).unwrap();
        assert_eq!(refusal(history).await, None, "{}", path.display());
    }
}

/// Without this, replaying would detect nothing.
#[tokio::test]
async fn histories_that_were_altered_are_refused() {
    use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

    for (path, bytes) in histories() {
        let events = events_of(&bytes).await;
        let scheduled = |event: &HistoryEvent| match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                Some(scheduled.activity_type.clone().unwrap_or_default().name)
            }
            _ => None,
        };
        let asked = (events.iter())
            .rposition(|event| scheduled(event).is_some_and(|name| name == "pinpoint.perform"))
            .unwrap();
        // The last action becomes another one.
        let mut altered = events.clone();
        if let Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) =
            &mut altered[asked].attributes
        {
            scheduled.activity_type.as_mut().unwrap().name = "pinpoint.note".into();
        }
        let refused = refusal(History { events: altered }.into()).await;
        assert!(refused.is_some(), "{}", path.display());
    }
}

#[tokio::test]
#[ignore = "writes a history of a server into the repository"]
async fn a_history_is_written() {
    let [job, kind] = ["OF", "KIND"].map(|name| {
        let name = format!("PINPOINT_HISTORY_{name}");
        std::env::var(name).unwrap()
    });
    let temporal = Temporal::connect(&TemporalAddress::default(), None)
        .await
        .unwrap();
    let handle = temporal.client.get_workflow_handle::<JobWorkflow>(job);
    let history = handle.fetch_history(WorkflowFetchHistoryOptions::default());
    let json = history.to_json().await.unwrap();
    let name = format!("{}-{kind}.json", env!("CARGO_PKG_VERSION"));
    fs::create_dir_all(directory()).unwrap();
    fs::write(directory().join(name), json).unwrap();
}
