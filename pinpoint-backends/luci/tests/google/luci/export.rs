//! Runs of one commit in a table at BigQuery.

use fake_luci::Faults;
use pinpoint_backends::google::TokenSource;
use pinpoint_backends::luci::{Collected, ExportError, ExportPlan, ExportTable};
use serde_json::{Value, json};

use super::fixture::{Fixture, NOWHERE};

const TASKS: &str = "p.d.tasks";
const VALUES: &str = "p.d.values";

fn table(fixture: &Fixture, name: &str) -> ExportTable {
    let source = TokenSource::Metadata("http://metadata".into());
    let address = "https://bigquery.example.org";
    ExportTable::new(name, address, &source, fixture.transport()).unwrap()
}

fn plan(fixture: &Fixture) -> ExportPlan {
    ExportPlan {
        workflow: "w1".into(),
        commit: fixture.commit(3),
        iterations: 6,
        bot: "linux-perf-pgo".into(),
        now: 1_700_000_000_000,
    }
}

#[tokio::test(start_paused = true)]
async fn runs_are_started_once_and_their_values_collected_once() {
    let fixture = Fixture::new(&NOWHERE, 1, Faults::default());
    let tasks = table(&fixture, TASKS);
    // The process that began it may have been killed.
    for _ in 0..2 {
        let exported = fixture
            .executor()
            .export(&plan(&fixture), &tasks)
            .await
            .unwrap();
        assert_eq!((exported.tasks.len(), exported.not_started.len()), (6, 0));
    }
    assert_eq!(fixture.luci.all_builds().len(), 1);
    assert_eq!(fixture.luci.all_tasks().len(), 6);
    let rows = fixture.luci.rows(TASKS);
    assert_eq!(rows.len(), 6);
    let first = &rows[0];
    assert_eq!(first["workflow_id"], "w1");
    assert_eq!(first["bot"], "linux-perf-pgo");
    assert_eq!(first["create_time"], "2023-11-14T22:13:20.000Z");
    assert_eq!(
        (&first["pgo_enabled"], &first["task_failed"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(first["chart"], Value::Null);

    // They are still running: they are waited for.
    let values = table(&fixture, VALUES);
    for _ in 0..2 {
        let executor = fixture.executor();
        let collected = executor.collect("w1", &tasks, &values, 1_700_000_900_000);
        let expected = Collected {
            tasks: 6,
            failed: 0,
            rows: 6,
        };
        assert_eq!(collected.await.unwrap(), expected);
    }
    let rows = fixture.luci.rows(VALUES);
    assert_eq!(rows.len(), 6);
    for row in &rows {
        assert_eq!(row["chart"], "Score");
        assert_eq!(row["sample_values"].as_array().unwrap().len(), 1);
        assert_eq!(row["create_time"], "2023-11-14T22:28:20.000Z");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_without_values_has_a_row_that_says_so() {
    let fixture = Fixture::new(&NOWHERE, 1, Faults::default());
    let tasks = table(&fixture, TASKS);
    let failing = Faults {
        tasks: 1_000,
        ..Faults::default()
    };
    let mut plan = plan(&fixture);
    plan.iterations = 2;
    fixture.executor().export(&plan, &tasks).await.unwrap();
    fixture.luci.set_faults(failing);
    plan.iterations = 8;
    fixture.executor().export(&plan, &tasks).await.unwrap();
    let (executor, values) = (fixture.executor(), table(&fixture, VALUES));
    let collected = executor.collect("w1", &tasks, &values, 0);
    let collected = collected.await.unwrap();
    assert_eq!(collected.tasks, 8);
    assert_eq!((collected.failed, collected.rows), (6, 8));
    let rows = fixture.luci.rows(VALUES);
    let failed: Vec<_> = rows
        .iter()
        .filter(|row| row["task_failed"] == true)
        .collect();
    assert_eq!(failed.len(), 6);
    assert!(
        failed
            .iter()
            .all(|row| row["chart"].is_null() && row["sample_values"] == json!([]))
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_that_can_not_start_has_no_row() {
    let fixture = Fixture::new(&NOWHERE, 1, Faults::default());
    let tasks = table(&fixture, TASKS);
    let refusing = Faults {
        no_resource: 1_000,
        ..Faults::default()
    };
    let mut plan = plan(&fixture);
    plan.iterations = 1;
    fixture.executor().export(&plan, &tasks).await.unwrap();
    fixture.luci.set_faults(refusing);
    plan.iterations = 3;
    let exported = fixture.executor().export(&plan, &tasks).await.unwrap();
    assert_eq!((exported.tasks.len(), exported.not_started.len()), (1, 2));
    assert!(exported.not_started[0].contains("no bot takes the run"));
    assert_eq!(fixture.luci.rows(TASKS).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_written_or_read_says_what_to_do() {
    let fixture = Fixture::new(&NOWHERE, 1, Faults::default());
    let executor = fixture.executor();
    // A table of another schema.
    fixture.luci.make_table("p.d.other", &["job"]);
    let refused = executor
        .export(&plan(&fixture), &table(&fixture, "p.d.other"))
        .await;
    let error = refused.unwrap_err();
    assert!(matches!(error, ExportError::Table { .. }), "{error}");
    assert!(
        error.to_string().contains("sample_values FLOAT REPEATED"),
        "{error}"
    );
    // A commit that does not build.
    let mut broken = plan(&fixture);
    broken.commit = fixture.commit(14);
    let refused = executor.export(&broken, &table(&fixture, TASKS)).await;
    assert!(matches!(refused, Err(ExportError::Build(_))), "{refused:?}");
    executor
        .export(&plan(&fixture), &table(&fixture, TASKS))
        .await
        .unwrap();
    // Its rows would not say which commit they are of.
    let mut other = plan(&fixture);
    other.commit = fixture.commit(4);
    let refused = executor.export(&other, &table(&fixture, TASKS)).await;
    assert!(
        matches!(refused, Err(ExportError::OtherBuild(_))),
        "{refused:?}"
    );
    let tasks = table(&fixture, TASKS);
    let refused = executor
        .collect("w2", &tasks, &table(&fixture, VALUES), 0)
        .await;
    assert!(
        matches!(refused, Err(ExportError::NoTasks { .. })),
        "{refused:?}"
    );
}
