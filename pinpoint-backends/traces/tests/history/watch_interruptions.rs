//! A watch that ends between any two statements has seen each value once.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use pinpoint_trace_store::History;
use pinpoint_traces::ResultFile;
use pinpoint_traces::watch::{AlertId, Event, EventKind, WatchState};

use crate::common::{Backend, Fixture, all_values, file, open};

fn nth(number: u32) -> ResultFile {
    let points = [(",test=a,", 1.0), (",test=b,", f64::from(number))];
    file(&format!("file-{number}"), 0, number, &points)
}

/// The values that the history has.
async fn count(history: &History) -> u64 {
    let rows = all_values(history, 0, 2000).await;
    let values = rows.into_iter().flat_map(|(_, row)| row);
    values.filter(|it| !it.is_nan()).count() as u64
}

/// Sees what is new: an event counts it.
async fn see(history: &History) -> Result<(), pinpoint_trace_store::TraceStoreError> {
    let mut state = history.watch_state().await?;
    let unseen = history.unseen().await?;
    let values = match unseen.is_all {
        true => count(history).await,
        false => unseen.values.values().map(|it| it.len() as u64).sum(),
    };
    let alert = AlertId(1);
    let event = Event::new(0, "", EventKind::Tested { alert, values });
    history.append_seen(&mut state, &[event], &unseen).await
}

fn tested(state: &WatchState) -> u64 {
    state.tested.values().flat_map(|it| it.values()).sum()
}

/// Not a test by itself: the process that a test kills.
#[tokio::test]
#[ignore = "the process of another test"]
async fn watches_until_it_is_killed() {
    let Ok(place) = std::env::var("PINPOINT_TEST_HISTORY") else {
        return;
    };
    let first: u32 = std::env::var("PINPOINT_TEST_FIRST")
        .unwrap()
        .parse()
        .unwrap();
    let history = open(&place).await.history(&"nano".parse().unwrap());
    for number in first.. {
        println!("round {number}");
        history.ingest(&[nth(number)], &[]).await.unwrap();
        see(&history).await.unwrap();
    }
}

async fn a_killed_watch_sees_each_value_once(fixture: Fixture) {
    let mut reached = 0;
    for round in 0..6_u32 {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "--test-threads=1"])
            .arg("watch_interruptions::watches_until_it_is_killed")
            .env("PINPOINT_TEST_HISTORY", fixture.place())
            .env("PINPOINT_TEST_FIRST", reached.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut wanted = 1 + i64::from(round);
        for line in lines {
            let line = line.unwrap();
            let Some((_, number)) = line.split_once("round ") else {
                continue;
            };
            reached = number.parse::<u32>().unwrap();
            // Lines that it had written before its end may follow.
            wanted -= 1;
            if wanted == 0 {
                // In the middle of an ingest, or of what follows.
                std::thread::sleep(std::time::Duration::from_millis(u64::from(round) * 2));
                process.kill().unwrap();
            }
        }
        process.wait().unwrap();
        let Ok(state) = fixture.history.watch_state().await else {
            continue;
        };
        assert!(tested(&state) <= count(&fixture.history).await);
    }
    fixture.history.ingest(&[nth(reached)], &[]).await.unwrap();
    see(&fixture.history).await.unwrap();
    let state = fixture.history.watch_state().await.unwrap();
    assert_eq!(tested(&state), count(&fixture.history).await);
    assert!(fixture.history.unseen().await.unwrap().is_empty());
}

crate::on_both! {
    a_killed_watch_sees_each_value_once,
}

/// Every statement of an ingest and of a run fails once; the same call then succeeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_fails_loses_and_repeats_nothing() {
    for table in ["watches", "watch_events", "arrivals"] {
        for moment in ["INSERT", "UPDATE", "DELETE"] {
            for begins in [true, false] {
                let fixture = Fixture::new(Backend::Sqlite).await;
                let history = &fixture.history;
                history.ingest(&[nth(0)], &[]).await.unwrap();
                if !begins {
                    see(history).await.unwrap();
                    history.ingest(&[nth(1)], &[]).await.unwrap();
                }
                let trigger = format!(
                    "CREATE TRIGGER fails AFTER {moment} ON {table} \
                     BEGIN SELECT RAISE(ABORT, 'it fails'); END"
                );
                fixture.behind_its_back(&trigger).await;
                // Both or one of them may fail.
                let _ = see(history).await;
                let _ = history.ingest(&[nth(2)], &[]).await;
                fixture.behind_its_back("DROP TRIGGER fails").await;
                see(history).await.unwrap();
                history.ingest(&[nth(2), nth(3)], &[]).await.unwrap();
                see(history).await.unwrap();
                let state = history.watch_state().await.unwrap();
                let name = format!("{table} {moment} {begins}");
                assert_eq!(tested(&state), count(history).await, "{name}");
                assert!(history.unseen().await.unwrap().is_empty(), "{name}");
            }
        }
    }
}
