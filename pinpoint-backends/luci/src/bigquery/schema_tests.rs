use super::super::Timestamp;
use super::*;

#[derive(Deserialize)]
#[allow(dead_code, reason = "it is only asked what it is")]
struct Row {
    job: String,
    #[serde(rename = "runCount")]
    runs: i64,
    is_regression: bool,
    samples: Vec<f64>,
    effect: Option<f64>,
    made: Timestamp,
    state: State,
    culprits: Vec<Culprit>,
    #[serde(default)]
    best: Option<Culprit>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "it is only asked what it is")]
struct Culprit {
    hash: String,
    position: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code, reason = "it is only asked what it is")]
enum State {
    Found,
    NotFound,
}

#[test]
fn every_field_has_its_column() {
    let columns = schema::<Row>().unwrap();
    let short = |field: &Field| (field.name.clone(), field.kind, field.mode);
    let expected = [
        ("job", ColumnType::String, ColumnMode::Required),
        ("runCount", ColumnType::Integer, ColumnMode::Required),
        ("is_regression", ColumnType::Boolean, ColumnMode::Required),
        ("samples", ColumnType::Float, ColumnMode::Repeated),
        ("effect", ColumnType::Float, ColumnMode::Nullable),
        ("made", ColumnType::Timestamp, ColumnMode::Required),
        ("state", ColumnType::String, ColumnMode::Required),
        ("culprits", ColumnType::Record, ColumnMode::Repeated),
        ("best", ColumnType::Record, ColumnMode::Nullable),
    ];
    let expected = expected.map(|(name, kind, mode)| (name.to_owned(), kind, mode));
    assert_eq!(columns.iter().map(short).collect::<Vec<_>>(), expected);
    let inner: Vec<_> = columns[7].fields.iter().map(short).collect();
    assert_eq!(
        inner,
        [
            ("hash".to_owned(), ColumnType::String, ColumnMode::Required),
            (
                "position".to_owned(),
                ColumnType::Integer,
                ColumnMode::Required
            )
        ]
    );
    assert_eq!(columns[8].fields, columns[7].fields);
    assert_eq!(
        serde_json::to_value(&columns[3]).unwrap(),
        serde_json::json!({"name": "samples", "type": "FLOAT", "mode": "REPEATED"})
    );
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "it is only asked what it is")]
struct With<T> {
    field: T,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "it is only asked what it is")]
struct Endless {
    inner: Vec<Endless>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "it is only asked what it is")]
enum Data {
    Some(i64),
}

#[test]
fn what_has_no_column_is_an_error() {
    fn problem<T: DeserializeOwned>() -> String {
        schema::<T>().unwrap_err().to_string()
    }
    assert_eq!(problem::<i64>(), "the rows of a table are structs");
    assert_eq!(problem::<Vec<Culprit>>(), "the rows of a table are structs");
    assert!(problem::<With<u64>>().starts_with("field: there is no column for u64"));
    assert!(problem::<With<(i64, i64)>>().contains("a tuple"));
    assert!(problem::<With<Vec<Vec<i64>>>>().contains("no lists of lists"));
    assert!(problem::<With<Option<Vec<i64>>>>().contains("no lists of lists"));
    assert!(problem::<With<Vec<Option<i64>>>>().contains("no lists of lists"));
    assert!(problem::<With<std::collections::BTreeMap<String, i64>>>().contains("a map"));
    assert!(problem::<With<serde_json::Value>>().contains("of any kind"));
    assert!(problem::<With<Data>>().contains("an enum with data"));
    assert!(problem::<With<()>>().contains("()"));
    assert!(problem::<Endless>().ends_with("or contains itself"));
}
