//! BigQuery: tables that are made and filled, and one question about them.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::services::FakeLuci;

/// A table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    columns: Vec<Value>,
    rows: Vec<Value>,
    /// Rows that were inserted lately, by which others are known to be the same.
    ids: BTreeSet<String>,
    /// The number of requests about it that are still answered as if it did not exist.
    unseen_for: u32,
}

impl Table {
    /// Does a request find the table?
    fn is_seen(&mut self) -> bool {
        let is_seen = self.unseen_for == 0;
        self.unseen_for = self.unseen_for.saturating_sub(1);
        is_seen
    }
}

fn bad(problem: &str) -> Response {
    let error = json!({"error": {"code": 400, "message": problem}});
    (StatusCode::BAD_REQUEST, Json(error)).into_response()
}

/// Answers `tables.insert`.
pub(crate) async fn create(
    State(luci): State<FakeLuci>,
    Path((project, dataset)): Path<(String, String)>,
    Json(asked): Json<Value>,
) -> Response {
    let table = asked["tableReference"]["tableId"]
        .as_str()
        .unwrap_or_default();
    let name = format!("{project}.{dataset}.{table}");
    let mut state = luci.state();
    if state.tables.contains_key(&name) {
        return StatusCode::CONFLICT.into_response();
    }
    let Some(columns) = asked["schema"]["fields"].as_array() else {
        return bad("no columns");
    };
    let table = Table {
        columns: columns.clone(),
        unseen_for: state.unseen_for,
        ..Table::default()
    };
    state.tables.insert(name, table);
    Json(json!({"kind": "bigquery#table"})).into_response()
}

/// Answers `tabledata.insertAll`. A table has no other columns than those that it was made with.
pub(crate) async fn insert(
    State(luci): State<FakeLuci>,
    Path((project, dataset, table)): Path<(String, String, String)>,
    Json(asked): Json<Value>,
) -> Response {
    let mut state = luci.state();
    let loses_rows = state.loses_rows;
    let name = format!("{project}.{dataset}.{table}");
    let (Some(table), Some(rows)) = (state.tables.get_mut(&name), asked["rows"].as_array()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if !table.is_seen() {
        return StatusCode::NOT_FOUND.into_response();
    }
    for row in rows {
        let values = row["json"].as_object();
        let known = |name: &String| table.columns.iter().any(|column| column["name"] == **name);
        let missing = |column: &&Value| {
            let name = column["name"].as_str().unwrap_or_default();
            column["mode"] == "REQUIRED" && row["json"][name].is_null()
        };
        if !values.is_some_and(|values| values.keys().all(known)) {
            return bad("a column that the table does not have");
        }
        if let Some(column) = table.columns.iter().find(missing) {
            return bad(&format!("no value for {}", column["name"]));
        }
    }
    for row in rows.iter().filter(|_| !loses_rows) {
        if table.ids.insert(row["insertId"].to_string()) {
            table.rows.push(row["json"].clone());
        }
    }
    Json(json!({"kind": "bigquery#tableDataInsertAllResponse"})).into_response()
}

/// `SELECT COLUMNS FROM TABLE WHERE COLUMN = @NAME`, taken apart.
struct Question<'a> {
    columns: Vec<&'a str>,
    table: &'a str,
    column: &'a str,
    parameter: &'a str,
}

fn question(sql: &str) -> Option<Question<'_>> {
    let (columns, rest) = sql.strip_prefix("SELECT ")?.split_once(" FROM `")?;
    let (table, rest) = rest.split_once("` WHERE ")?;
    let (column, parameter) = rest.split_once(" = @")?;
    Some(Question {
        columns: columns.split(", ").collect(),
        table,
        column,
        parameter,
    })
}

/// Answers `jobs.query`: the rows of a table whose column has a value.
pub(crate) async fn query(
    State(luci): State<FakeLuci>,
    Path(project): Path<String>,
    Json(asked): Json<Value>,
) -> Response {
    let sql = asked["query"].as_str().unwrap_or_default();
    let Some(question) = question(sql) else {
        return bad("another question");
    };
    let mut state = luci.state();
    let Some(table) = state
        .tables
        .get_mut(&format!("{project}.{}", question.table))
    else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if !table.is_seen() {
        return StatusCode::NOT_FOUND.into_response();
    }
    let parameter = &asked["queryParameters"][0];
    let value = &parameter["parameterValue"]["value"];
    let is_plain = asked["useLegacySql"] == false && asked["useQueryCache"] == false;
    if parameter["name"] != question.parameter || !is_plain {
        return bad("the parameter");
    }
    let column = |name: &&str| table.columns.iter().find(|column| column["name"] == **name);
    let columns: Option<Vec<&Value>> = question.columns.iter().map(column).collect();
    let Some(columns) = columns else {
        return bad("a column that the table does not have");
    };
    // All values are texts.
    let cell = |value: &Value| match value {
        Value::Null => json!({"v": null}),
        Value::String(text) => json!({"v": text}),
        value => json!({"v": value.to_string()}),
    };
    let rows = table
        .rows
        .iter()
        .filter(|row| row[question.column] == *value);
    let rows = rows.map(|row| {
        let cells = question.columns.iter().map(|name| cell(&row[*name]));
        json!({"f": cells.collect::<Vec<_>>()})
    });
    let rows: Vec<Value> = rows.collect();
    Json(json!({
        "jobComplete": true,
        "jobReference": {"projectId": project, "jobId": "job", "location": "US"},
        "schema": {"fields": columns},
        "totalRows": rows.len().to_string(),
        "rows": rows,
    }))
    .into_response()
}

impl FakeLuci {
    /// Hides each table that is made from now on from this many requests about it.
    pub fn hide_new_tables(&self, requests: u32) {
        self.state().unseen_for = requests;
    }

    /// Takes rows that no table shows, as the service may with a table that was just made; or ends
    /// that.
    pub fn lose_rows(&self, loses: bool) {
        self.state().loses_rows = loses;
    }

    /// Makes a table of this name with columns of texts.
    pub fn make_table(&self, name: &str, columns: &[&str]) {
        let columns = columns.iter();
        let columns = columns.map(|name| json!({"name": name, "type": "STRING"}));
        let table = Table {
            columns: columns.collect(),
            ..Table::default()
        };
        self.state().tables.insert(name.into(), table);
    }

    /// The rows of a table, by the name `PROJECT.DATASET.TABLE`; none when there is no such table.
    pub fn rows(&self, table: &str) -> Vec<Value> {
        let state = self.state();
        let table = state.tables.get(table);
        table.map(|table| table.rows.clone()).unwrap_or_default()
    }

    /// Lets all tables forget by which ids rows were inserted, as the service does after minutes.
    pub fn forget_inserts(&self) {
        for table in self.state().tables.values_mut() {
            table.ids.clear();
        }
    }
}
