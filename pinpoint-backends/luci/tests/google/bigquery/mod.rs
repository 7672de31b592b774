//! The client of BigQuery, against one on loopback.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use pinpoint_backends::bigquery::{
    BigQuery, BigQueryError, Parameter, Query, Row, Table, Timestamp,
};
use pinpoint_backends::google::{Backoff, ServiceError, TokenSource, Tokens, Web};
use serde::{Deserialize, Serialize};
use serde_json::json;

mod fake;
mod in_go;

use fake::Fake;

use crate::server::InProcess;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Job {
    id: String,
    number: i64,
    ratio: f64,
    is_done: bool,
    made: Timestamp,
    samples: Vec<f64>,
    note: Option<String>,
    culprits: Vec<Culprit>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Culprit {
    hash: String,
    effect: Option<f64>,
}

fn job(number: i64) -> Job {
    Job {
        id: format!("job \"{number}\"\nü"),
        number,
        ratio: 1.0 / (number + 3) as f64,
        is_done: number % 2 == 0,
        made: Timestamp("2026-01-31T12:30:00.5Z".into()),
        samples: (0..number % 4).map(|it| it as f64 + 0.5).collect(),
        note: (number % 3 == 0).then(|| "note".to_owned()),
        culprits: (0..number % 2)
            .map(|it| Culprit {
                hash: it.to_string(),
                effect: None,
            })
            .collect(),
    }
}

fn client(fake: &Fake) -> BigQuery {
    let web = Arc::new(Web::new().unwrap());
    let tokens = Tokens::new(TokenSource::None, &[], web.clone());
    let client = BigQuery::new(&fake.server.address, tokens, web).unwrap();
    client.with_backoff(Backoff {
        retries: 5,
        first: Duration::from_millis(1),
        longest: Duration::from_millis(2),
    })
}

fn table() -> Table {
    Table::new("p", "d", "jobs").unwrap()
}

fn rows(numbers: impl IntoIterator<Item = i64>) -> Vec<Row<Job>> {
    let numbers = numbers.into_iter();
    numbers
        .map(|number| Row::new(format!("row-{number}"), job(number)))
        .collect()
}

#[tokio::test]
async fn a_table_is_made_filled_and_asked() {
    let fake = Fake::start().await;
    let client = client(&fake);
    client.create::<Job>(&table()).await.unwrap();
    // It exists already.
    client.create::<Job>(&table()).await.unwrap();
    client.insert(&table(), rows(0..10)).await.unwrap();
    let all: Vec<Job> = client
        .query("p", &Query::new("SELECT * FROM d.jobs"))
        .await
        .unwrap();
    assert_eq!(all, (0..10).map(job).collect::<Vec<_>>());
    // Its first answer is that the query is still running.
    let one = Query::new("SELECT * FROM d.jobs WHERE id = @id").with("id", job(7).id);
    let found: Vec<Job> = client.query("p", &one).await.unwrap();
    assert_eq!(found, [job(7)]);
    let some = Query::new("SELECT * FROM d.jobs WHERE number IN UNNEST(@numbers)")
        .with("numbers", vec![3_i64, 4, 99])
        .with("unused", Parameter::Float(0.5))
        .at("EU");
    let found: Vec<Job> = client.query("p", &some).await.unwrap();
    assert_eq!(found, [job(3), job(4)]);
    let none = Query::new("SELECT * FROM d.jobs WHERE is_done = @x").with("x", "maybe");
    assert_eq!(client.query::<Job>("p", &none).await.unwrap(), []);
}

#[tokio::test]
async fn what_is_sent_twice_is_there_once() {
    let fake = Fake::start().await;
    let client = client(&fake);
    // Every answer is lost once, or none is.
    fake.state.lock().unwrap().faults = vec![(503, true), (500, false)];
    client.create::<Job>(&table()).await.unwrap();
    fake.state.lock().unwrap().faults = vec![(503, true), (500, false), (429, false), (502, true)];
    client.insert(&table(), rows(0..5)).await.unwrap();
    client.insert(&table(), rows(3..8)).await.unwrap();
    assert_eq!(fake.state.lock().unwrap().tables["jobs"].rows.len(), 8);
    fake.state.lock().unwrap().faults = vec![(503, true), (503, false)];
    let all: Vec<Job> = client
        .query("p", &Query::new("SELECT * FROM d.jobs"))
        .await
        .unwrap();
    assert_eq!(all.len(), 8);
}

#[tokio::test]
async fn rows_are_sent_in_batches() {
    #[derive(Serialize, Deserialize)]
    struct Long {
        text: String,
    }
    let fake = Fake::start().await;
    let client = client(&fake);
    client.create::<Job>(&table()).await.unwrap();
    client.insert(&table(), rows(0..1_201)).await.unwrap();
    assert_eq!(fake.state.lock().unwrap().inserted, [500, 500, 201]);
    client.insert(&table(), rows(0..0)).await.unwrap();

    let long = Table::new("p", "d", "long").unwrap();
    client.create::<Long>(&long).await.unwrap();
    let row = |index: usize, length| {
        Row::new(
            index.to_string(),
            Long {
                text: "x".repeat(length),
            },
        )
    };
    let lengths = [4_000_000, 4_000_000, 1_500_000, 8_999_000, 10];
    client
        .insert(
            &long,
            lengths
                .into_iter()
                .enumerate()
                .map(|(index, length)| row(index, length)),
        )
        .await
        .unwrap();
    let (inserted, largest) = {
        let state = fake.state.lock().unwrap();
        (state.inserted[3..].to_vec(), state.largest)
    };
    assert_eq!(inserted, [2, 1, 2]);
    assert!(largest <= 9_000_000, "{largest}");
    let error = client.insert(&long, [row(0, 9_000_000)]).await.unwrap_err();
    assert!(matches!(error, BigQueryError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn a_row_that_is_wrong_keeps_no_other_out() {
    let fake = Fake::start().await;
    let client = client(&fake);
    client.create::<Job>(&table()).await.unwrap();
    let mut rows: Vec<Row<serde_json::Value>> = (0..600)
        .map(|number| Row::new(format!("row-{number}"), json!(job(number))))
        .collect();
    rows[3].row["number"] = json!("three");
    rows[7].row["unknown"] = json!(1);
    rows[599].row.as_object_mut().unwrap().remove("id");
    let error = client.insert(&table(), rows).await.unwrap_err();
    let BigQueryError::Rejected(rejected) = &error else {
        panic!("{error}");
    };
    let short: Vec<_> = rejected
        .iter()
        .map(|row| (row.index, row.insert_id.as_str()))
        .collect();
    assert_eq!(short, [(3, "row-3"), (7, "row-7"), (599, "row-599")]);
    assert!(
        rejected[0].problems[0].starts_with("invalid: Cannot convert"),
        "{error}"
    );
    assert!(
        error.to_string().starts_with("3 rows were refused"),
        "{error}"
    );
    let state = fake.state.lock().unwrap();
    assert_eq!(state.tables["jobs"].rows.len(), 597);
    assert_eq!(state.inserted, [500, 498, 100, 99]);
}

#[tokio::test]
async fn errors_say_what_is_wrong() {
    let fake = Fake::start().await;
    let client = client(&fake);
    let error = client.insert(&table(), rows(0..1)).await.unwrap_err();
    assert!(
        matches!(
            &error,
            BigQueryError::Service(ServiceError::Status { status: 404, .. })
        ),
        "{error}"
    );
    client.create::<Job>(&table()).await.unwrap();
    client.insert(&table(), rows(0..10)).await.unwrap();
    let wrong = Query::new("SELEKT");
    let error = client.query::<Job>("p", &wrong).await.unwrap_err();
    assert!(
        error.to_string().contains("Syntax error: SELEKT"),
        "{error}"
    );
    let few = Query::new("SELECT * FROM d.jobs").most_rows(9);
    let error = client.query::<Job>("p", &few).await.unwrap_err();
    assert!(matches!(error, BigQueryError::TooManyRows(9)), "{error}");
    let all = Query::new("SELECT * FROM d.jobs");
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it can't be read")]
    struct Other {
        id: i64,
    }
    let error = client.query::<Other>("p", &all).await.unwrap_err();
    assert!(
        matches!(error, BigQueryError::Row { row: 0, .. }),
        "{error}"
    );
    for (project, dataset, table) in [
        ("", "d", "t"),
        ("p/x", "d", "t"),
        ("p", "d-e", "t"),
        ("p", "d", "t`"),
    ] {
        let error = Table::new(project, dataset, table).unwrap_err();
        assert!(matches!(error, BigQueryError::Name(_)), "{error}");
    }
    assert!(client.create::<Vec<i64>>(&table()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_query_that_does_not_end_is_given_up() {
    for (job, expected) in [
        (json!({"jobId": "job"}), "has not ended after 600 s"),
        (json!({}), "no job id"),
    ] {
        let answer = json!({"jobComplete": false, "jobReference": job}).to_string();
        let routes = Router::new().fallback(async move || answer.clone());
        let services = Arc::new(InProcess::new(routes));
        let tokens = Tokens::new(TokenSource::None, &[], services.clone());
        let client = BigQuery::new(BigQuery::GOOGLE, tokens, services).unwrap();
        let asked = client.query::<Job>("p", &Query::new("SELECT 1")).await;
        let error = asked.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
