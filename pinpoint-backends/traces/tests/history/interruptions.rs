//! A process that ends between any two statements loses nothing that was acknowledged.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use pinpoint_traces::ResultFile;

use crate::common::{Backend, Fixture, all_values, file, open};

const TRACES: u32 = 40;

/// File `number` of a run that fills tile after tile, two commits to the tile.
fn nth(number: u32) -> ResultFile {
    let ids: Vec<String> = (0..TRACES).map(|it| format!(",test=t{it},")).collect();
    let points: Vec<(&str, f64)> = (ids.iter())
        .map(|it| (it.as_str(), f64::from(number)))
        .collect();
    file(&format!("file-{number}"), 0, number * 64, &points)
}

/// The numbers of the files whose values are all there. Values are there of whole files only.
async fn whole_files(fixture: &Fixture) -> BTreeSet<u32> {
    let history = open(&fixture.place())
        .await
        .history(fixture.history.dataset());
    if open(&fixture.place())
        .await
        .datasets()
        .await
        .unwrap()
        .is_empty()
    {
        return BTreeSet::new();
    }
    let rows = all_values(&history, 0, 64 * 400).await;
    let mut found: Option<BTreeSet<u32>> = None;
    for (name, row) in rows {
        let of_row: BTreeSet<u32> = (row.iter().enumerate())
            .filter(|(_, value)| !value.is_nan())
            .map(|(commit, value)| {
                assert_eq!(*value, commit as f64 / 64.0, "{name}");
                commit as u32 / 64
            })
            .collect();
        let first = found.get_or_insert_with(|| of_row.clone());
        assert_eq!(*first, of_row, "{name}");
    }
    found.unwrap_or_default()
}

/// Not a test by itself: the process that a test kills.
#[tokio::test]
#[ignore = "the process of another test"]
async fn ingests_until_it_is_killed() {
    let Ok(place) = std::env::var("PINPOINT_TEST_HISTORY") else {
        return;
    };
    let first: u32 = std::env::var("PINPOINT_TEST_FIRST")
        .unwrap()
        .parse()
        .unwrap();
    let history = open(&place).await.history(&"nano".parse().unwrap());
    for number in first.. {
        history.ingest(&[nth(number)], &[]).await.unwrap();
        println!("acknowledged {number}");
    }
}

/// Kills such a process after it has acknowledged some files, again and again.
async fn killed(fixture: Fixture) {
    let mut acknowledged = BTreeSet::new();
    for round in 0..6 {
        let first = acknowledged.last().map_or(0, |last| last + 1);
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "--test-threads=1"])
            .arg("interruptions::ingests_until_it_is_killed")
            .env("PINPOINT_TEST_HISTORY", fixture.place())
            .env("PINPOINT_TEST_FIRST", first.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut wanted = 3 + round;
        for line in lines {
            let line = line.unwrap();
            let Some((_, number)) = line.split_once("acknowledged ") else {
                continue;
            };
            acknowledged.insert(number.parse::<u32>().unwrap());
            wanted -= 1;
            if wanted == 0 {
                // In the middle of the next one.
                process.kill().unwrap();
            }
        }
        process.wait().unwrap();
        let found = whole_files(&fixture).await;
        assert!(
            found.is_superset(&acknowledged),
            "{found:?} {acknowledged:?}"
        );
        // What was written and not acknowledged may be there, and comes again.
        acknowledged.extend(found);
    }
    fixture.history.seal_due().await.unwrap();
    assert_eq!(whole_files(&fixture).await, acknowledged);
}

crate::on_both! {
    killed,
}

/// Every statement of an ingest and of sealing fails once; the same call then succeeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_fails_changes_nothing() {
    const TABLES: [&str; 9] = [
        "datasets",
        "sources",
        "param_keys",
        "param_values",
        "traces",
        "param_columns",
        "parts",
        "tiles",
        "tile_traces",
    ];
    for table in TABLES.into_iter().chain(["blocks"]) {
        for moment in ["INSERT", "UPDATE", "DELETE"] {
            let fixture = Fixture::new(Backend::Sqlite).await;
            fixture.history.ingest(&[nth(0)], &[]).await.unwrap();
            fixture
                .behind_its_back(&format!(
                    "CREATE TRIGGER fails AFTER {moment} ON {table} \
                     BEGIN SELECT RAISE(ABORT, 'it fails'); END"
                ))
                .await;
            // The second begins a tile, so that the first is sealed; the last has a new trace.
            let mut last = nth(3);
            last.points
                .extend(file("", 0, 0, &[(",more=x,test=new,", 3.0)]).points);
            let mut acknowledged = BTreeSet::from([0]);
            for (number, made) in [(1, nth(1)), (2, nth(2)), (3, last.clone())] {
                match fixture.history.ingest(&[made], &[]).await {
                    Ok(_) => {
                        acknowledged.insert(number);
                    }
                    // Values that are safe may be sealed later.
                    Err(_) => acknowledged.extend(files_of_traces(&fixture, &acknowledged).await),
                }
            }
            fixture.behind_its_back("DROP TRIGGER fails").await;
            let files = [nth(1), nth(2), last];
            fixture.history.ingest(&files, &[]).await.unwrap();
            let rows = all_values(&fixture.history, 0, 64 * 3).await;
            assert_eq!(rows.len(), TRACES as usize + 1, "{table} {moment}");
            for (name, row) in rows {
                let present: Vec<f64> = row.into_iter().filter(|it| !it.is_nan()).collect();
                let wanted: &[f64] = match name.contains("new") {
                    true => &[3.0],
                    false => &[0.0, 1.0, 2.0, 3.0],
                };
                assert_eq!(present, wanted, "{table} {moment} {name}");
            }
            assert!(fixture.history.tiles().await.unwrap()[0].is_sealed);
        }
    }
}

/// The files that are there after a failure: at least those that were acknowledged before.
async fn files_of_traces(fixture: &Fixture, acknowledged: &BTreeSet<u32>) -> BTreeSet<u32> {
    let rows = all_values(&fixture.history, 0, 64 * 3).await;
    let row = rows.iter().find(|(name, _)| name == ",test=t0,");
    let row = row.map(|(_, row)| row.iter().enumerate());
    let found: BTreeSet<u32> = (row.into_iter().flatten())
        .filter(|(_, value)| !value.is_nan())
        .map(|(commit, _)| commit as u32 / 64)
        .collect();
    assert!(
        found.is_superset(acknowledged),
        "{found:?} {acknowledged:?}"
    );
    found
}
