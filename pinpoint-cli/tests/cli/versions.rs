//! Jobs that an earlier version of pinpoint began.

use std::fs;

use pinpoint_core::{Applied, DetailVersion1, Record, RecordVersion1, Report, Task};
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::pairs::{culprit, pairwise};
use crate::world::{BENCHMARK, World};

/// A record as version 1 wrote it, and the runs in it.
fn row(record: &Record, meaning: Applied) -> (String, Option<String>, u64) {
    let detail = match record {
        Record::Reported { report, .. } => Some(match report.clone() {
            Report::Listed(listing) => DetailVersion1::Listed(listing),
            Report::Built(mut build) => {
                build.artifact = None;
                DetailVersion1::Build(build)
            }
            Report::Ran(run) => DetailVersion1::Run(run),
            Report::RanPair(pair) => DetailVersion1::RunPair(pair),
            report => panic!("{report:?}"),
        }),
        _ => None,
    };
    let runs = match meaning.task {
        Some(Task::Run { .. }) => 1,
        Some(Task::RunPair { .. }) => 2,
        _ => 0,
    };
    let row = RecordVersion1 {
        event: meaning.event.unwrap(),
        detail,
    };
    let mut row = serde_json::to_value(row).unwrap();
    let detail = row["detail"].take();
    let detail = (!detail.is_null()).then(|| detail.to_string());
    (row["event"].to_string(), detail, runs)
}

/// Makes a finished job one that version 1 began and that was killed halfway. Returns
/// how many runs it had made.
fn begun_by_version_1(world: &World, job: &str) -> u64 {
    let (mut engine, records) = world.stored(job);
    let half = records.len() / 2;
    let rows: Vec<_> = (records[..half].iter())
        .map(|record| row(record, engine.apply(record).unwrap()))
        .collect();
    let show = world.pinpoint(&["jobs", "show", job, "--output", "json"]);
    let mut spec = show.ends_with(0).document()["spec"].clone();
    let search = match spec.pointer_mut("/bisection") {
        Some(search) => search,
        None => &mut spec,
    };
    for field in ["aggregate", "limits", "bots"] {
        assert!(search.as_object_mut().unwrap().remove(field).is_some());
    }
    search["version"] = json!(1);
    spec["version"] = json!(1);

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let file = world.state_dir().join("pinpoint.db");
        let file = format!("sqlite://{}", file.display());
        let mut store = SqliteConnection::connect(&file).await.unwrap();
        for (sequence, (event, detail, _)) in rows.iter().enumerate() {
            sqlx::query("UPDATE records SET event = $1, detail = $2 WHERE sequence = $3")
                .bind(event)
                .bind(detail)
                .bind(sequence as i64)
                .execute(&mut store)
                .await
                .unwrap();
        }
        sqlx::query("DELETE FROM records WHERE sequence >= $1")
            .bind(half as i64)
            .execute(&mut store)
            .await
            .unwrap();
        // What became of the values of a run was not in the spec but in the configuration,
        // and null for the default.
        sqlx::query(
            "UPDATE jobs SET state = 'running', outcome = NULL, journal_version = 1, spec = $1,
                 config = json_set(config, '$.local.aggregate', json('null'))",
        )
        .bind(spec.to_string())
        .execute(&mut store)
        .await
        .unwrap();
        store.close().await.unwrap();
    });
    rows.iter().map(|(.., runs)| runs).sum()
}

fn without_duration(mut document: Value) -> Value {
    let duration = document.as_object_mut().unwrap().remove("duration_s");
    assert!(duration.is_some(), "{document}");
    document
}

#[test]
fn a_job_that_version_1_began_is_reported_and_comes_to_the_same_end() {
    let json = ["--output", "json"];
    let of_chart = ["--output", "json", "--chart", "latency"];
    let bisect = |world: &World| world.bisect(&json, BENCHMARK);
    let compare = |world: &World| pairwise(world, &json, &[world.good(), world.bad()], BENCHMARK);
    let find = |world: &World| culprit(world, &of_chart, BENCHMARK);
    for (command, outcome) in [
        (
            &bisect as &dyn Fn(&World) -> crate::world::Pinpoint,
            "culprit_found",
        ),
        (&compare, "different"),
        (&find, "culprit_found"),
    ] {
        let world = World::with_step(8, 5);
        let expected = command(&world).ends_with(0).document();
        assert_eq!(expected["status"], outcome);
        let job = expected["job_id"].as_str().unwrap();
        let runs = begun_by_version_1(&world, job);
        assert!(runs > 0);

        let page = world.path("report.html");
        let report = ["jobs", "report", job, page.to_str().unwrap()];
        world.pinpoint(&report).ends_with(0);
        let page = fs::read_to_string(page).unwrap();
        let made = format!("This job is not finished; it has made {runs} runs");
        assert!(page.contains(&made), "{made}");
        assert!(!page.contains("This report is not complete"));

        let resume = world.pinpoint(&["jobs", "resume", job, "--output", "json"]);
        let resumed = resume.ends_with(0);
        assert_eq!(
            without_duration(resumed.document()),
            without_duration(expected.clone()),
            "{resumed}"
        );
        world.recorded_runs(job);
        // And what is finished is shown.
        let show = world.pinpoint(&["jobs", "show", job, "--output", "json"]);
        let shown = show.ends_with(0).document();
        assert_eq!(shown["outcome"]["status"], outcome);
    }
}
