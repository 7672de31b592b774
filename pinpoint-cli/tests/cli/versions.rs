//! Jobs that an earlier version of pinpoint began.

use std::fs;

use pinpoint_core::{
    Action, Applied, DetailVersion1, Engine, JobMachine, JobSpec, Metric, Position, Record,
    RecordVersion1, Report, Task,
};
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::pairs::{culprit, pairwise};
use crate::world::{BENCHMARK, World};

/// An event and its detail as version 1 wrote them, and the runs in them.
type Row = (String, Option<String>, u64);

fn row(record: &Record, meaning: Applied) -> Row {
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

/// The journal of a job whose metric was found before its search began, as its metric, its
/// spec and the rows of version 1, with the runs in each.
fn without_preparation(world: &World, job: &str) -> (Metric, JobSpec, Vec<Row>) {
    // The numbers of the search begin there.
    const FIRST: u64 = 16;
    let (mut found, records) = world.stored(job);
    for record in &records {
        found.apply(record).unwrap();
    }
    let spec = found.machine().spec().clone();
    let mut engine = Engine::new(found.job().clone(), JobMachine::new(spec.clone()).unwrap());
    let mut rows = Vec::new();
    let mut add = |engine: &mut Engine<JobMachine>, record: Record| {
        let applied = engine.apply(&record).unwrap();
        rows.push(row(&record, applied));
    };
    let mut built = None;
    for record in records {
        // The end that was built early is built when the search asks for it.
        let end = (engine.outstanding().into_iter()).find(is_build_of_end);
        if let (Some(action), Some(report)) = (end, built.take_if(|_| true)) {
            let action = action.number;
            add(&mut engine, Record::Reported { action, report });
        }
        match record {
            Record::Reported { action, report } if action < FIRST => {
                built = Some(report)
                    .filter(|report| matches!(report, Report::Built(_)))
                    .or(built);
            }
            Record::Reported { action, report } => {
                let action = action - FIRST;
                add(&mut engine, Record::Reported { action, report });
            }
            record => panic!("{record:?}"),
        }
    }
    (found.metric().unwrap().clone(), spec, rows)
}

fn is_build_of_end(action: &Action) -> bool {
    let end = Position::Higher;
    matches!(action.task, Task::Build { commit } if commit == end)
}

/// Makes a finished job one that version 1 began and that was killed halfway. Returns
/// how many runs it had made.
fn begun_by_version_1(world: &World, job: &str) -> u64 {
    let (metric, spec, mut rows) = without_preparation(world, job);
    let half = rows.len() / 2;
    rows.truncate(half);
    let mut spec = serde_json::to_value(spec).unwrap();
    spec.as_object_mut().unwrap().remove("kind").unwrap();
    let search = match spec.pointer_mut("/bisection") {
        Some(search) => search,
        None => &mut spec,
    };
    for field in ["aggregate", "limits", "bots"] {
        assert!(search.as_object_mut().unwrap().remove(field).is_some());
    }
    search["version"] = json!(1);
    spec["version"] = json!(1);
    let show = world.pinpoint(&["jobs", "show", job, "--output", "json"]);
    let mut config = show.ends_with(0).document()["config"].clone();
    let find = config.as_object_mut().unwrap().remove("find_metric");
    // The aggregate of values was not in the spec but here, and null for the default.
    config["local"]["aggregate"] = Value::Null;
    config["direction_by_unit"] = find.unwrap()["directions"].clone();
    let metric = serde_json::to_vec(&metric).unwrap();
    let job_dir = world.state_dir().join("jobs").join(job);
    fs::write(job_dir.join("metric.json"), metric).unwrap();

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
        sqlx::query(
            "UPDATE jobs SET state = 'running', outcome = NULL, journal_version = 1, spec = $1, \
             config = $2",
        )
        .bind(spec.to_string())
        .bind(config.to_string())
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

/// A bisection of version 1 knows no memory of the noise: its certainty, the sizes of changes, and
/// the number of runs differ a little. Nor did it record how the direction was chosen, and how the
/// values of a run were combined; and its pairs are compared as they were then.
fn without_estimates(document: &mut Value) {
    if let Some(object) = document.as_object_mut() {
        object.remove("posterior");
        object.remove("probability");
        object.remove("effect");
        object.remove("runs");
        object.remove("aggregate");
        object.remove("direction_source");
        object.remove("original");
        object.remove("p_value");
        object.remove("adjusted_p_value");
        object.values_mut().for_each(without_estimates);
    } else if let Some(values) = document.as_array_mut() {
        values.iter_mut().for_each(without_estimates);
    }
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
        let made = format!("Not finished: {runs} runs");
        assert!(page.contains(&made), "{made}");
        assert!(!page.contains("This report is not complete"));

        let resume = world.pinpoint(&["jobs", "resume", job, "--output", "json"]);
        let resumed = resume.ends_with(0);
        let [found, wanted] = [resumed.document(), expected.clone()].map(|document| {
            let mut document = without_duration(document);
            without_estimates(&mut document);
            document
        });
        assert_eq!(found, wanted, "{resumed}");
        world.recorded_runs(job);
        // And the finished job is shown.
        let show = world.pinpoint(&["jobs", "show", job, "--output", "json"]);
        let shown = show.ends_with(0).document();
        assert_eq!(shown["outcome"]["status"], outcome);
    }
}
