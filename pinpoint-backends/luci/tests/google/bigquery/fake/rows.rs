//! Rows: against the columns of a table, chosen by a query, and in the form of an answer.

use std::collections::BTreeMap;

use pinpoint_backends::google::unix_milliseconds;
use serde_json::{Value, json};

use super::{Table, members};

/// Makes a column without a mode nullable.
pub(super) fn name_modes(fields: &mut [Value]) {
    for field in fields {
        if let Some(inner) = field.get_mut("fields").and_then(Value::as_array_mut) {
            name_modes(inner);
        }
        if let Some(field) = field.as_object_mut() {
            field.entry("mode").or_insert_with(|| "NULLABLE".into());
        }
    }
}

pub(super) fn check_fields(fields: &[Value]) -> Result<(), String> {
    for field in fields {
        let field = members(field, &["name", "type", "mode", "fields"])?;
        let name = field["name"].as_str().unwrap_or_default();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(plain) {
            return Err(format!("field {name:?}"));
        }
        let is_record = field["type"] == "RECORD";
        match field.get("fields").and_then(Value::as_array) {
            Some(inner) if is_record => check_fields(inner)?,
            None if !is_record => {}
            _ => return Err(format!("the fields of {name}")),
        }
        let kinds = [
            "BOOLEAN",
            "INTEGER",
            "FLOAT",
            "STRING",
            "TIMESTAMP",
            "RECORD",
        ];
        let modes = ["REQUIRED", "NULLABLE", "REPEATED"];
        let is_one = |value: &Value, names: &[&str]| names.iter().any(|it| value == it);
        if !is_one(&field["type"], &kinds) || !is_one(&field["mode"], &modes) {
            return Err(format!("the type or mode of {name}"));
        }
    }
    Ok(())
}

/// A row against its columns.
pub(super) fn check_record(fields: &[Value], row: &Value) -> Result<(), String> {
    let names: Vec<&str> = fields
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    let row = members(row, &names).map_err(|problem| format!("no such field: {problem}"))?;
    for field in fields {
        let name = field["name"].as_str().unwrap();
        let value = row.get(name).unwrap_or(&Value::Null);
        match (field["mode"].as_str().unwrap(), value) {
            ("REQUIRED", Value::Null) => return Err(format!("Missing required field: {name}")),
            ("REPEATED", Value::Array(list)) => {
                list.iter()
                    .try_for_each(|value| check_value(field, value))?;
            }
            ("REPEATED", Value::Null) if !row.contains_key(name) => {}
            ("REPEATED", _) => return Err(format!("{name} is not a list")),
            (_, Value::Null) => {}
            (_, value) => check_value(field, value)?,
        }
    }
    Ok(())
}

fn check_value(field: &Value, value: &Value) -> Result<(), String> {
    let fits = match field["type"].as_str().unwrap() {
        "BOOLEAN" => value.is_boolean(),
        "INTEGER" => value.is_i64(),
        "FLOAT" => value.is_number(),
        "RECORD" => return check_record(field["fields"].as_array().unwrap(), value),
        _ => value.is_string(),
    };
    match fits {
        true => Ok(()),
        false => Err(format!(
            "Cannot convert value: {value} to {}",
            field["type"]
        )),
    }
}

/// The name of a parameter and its values.
pub(super) fn parameter(value: &Value) -> Result<(String, Vec<String>), String> {
    let parts = members(value, &["name", "parameterType", "parameterValue"])?;
    let name = parts["name"].as_str().ok_or("no name")?.to_owned();
    let kind = members(&parts["parameterType"], &["type", "arrayType"])?;
    let text = |value: &Value| {
        let value = members(value, &["value"])?;
        value["value"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| "a value is not text".to_owned())
    };
    if kind["type"] != "ARRAY" {
        return Ok((name, vec![text(&parts["parameterValue"])?]));
    }
    members(&kind["arrayType"], &["type"])?;
    let values = members(&parts["parameterValue"], &["arrayValues"])?;
    let values = values["arrayValues"].as_array().ok_or("no list")?;
    Ok((name, values.iter().map(text).collect::<Result<_, _>>()?))
}

pub(super) fn select(
    tables: &BTreeMap<String, Table>,
    sql: &str,
    parameters: &BTreeMap<String, Vec<String>>,
) -> Result<(Vec<Value>, Vec<Value>), String> {
    let unknown = || format!("Syntax error: {sql}");
    let rest = sql.strip_prefix("SELECT * FROM d.").ok_or_else(unknown)?;
    let (table, condition) = match rest.split_once(" WHERE ") {
        Some((table, condition)) => (table, Some(condition)),
        None => (rest, None),
    };
    let table = tables
        .get(table)
        .ok_or_else(|| format!("Not found: Table {table}"))?;
    let mut rows = table.rows.clone();
    if let Some(condition) = condition {
        let (column, name) = condition
            .split_once(" = @")
            .or_else(|| condition.strip_suffix(')')?.split_once(" IN UNNEST(@"))
            .ok_or_else(unknown)?;
        let wanted = parameters
            .get(name)
            .ok_or_else(|| format!("no parameter {name}"))?;
        rows.retain(|row| {
            let value = match &row[column] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            wanted.contains(&value)
        });
    }
    Ok((table.fields.clone(), rows))
}

/// A row as answers have it, perhaps with moments in microseconds since 1970.
pub(super) fn record(fields: &[Value], row: &Value, microseconds: bool) -> Value {
    let cells = fields.iter().map(|field| {
        let value = &row[field["name"].as_str().unwrap()];
        let single = |value: &Value| match value {
            Value::Null => Value::Null,
            Value::Object(_) => record(field["fields"].as_array().unwrap(), value, microseconds),
            Value::String(text) if microseconds && field["type"] == "TIMESTAMP" => {
                let milliseconds = unix_milliseconds(text).unwrap();
                (milliseconds * 1000).to_string().into()
            }
            Value::String(text) => text.clone().into(),
            other => other.to_string().into(),
        };
        match value {
            Value::Null if field["mode"] == "REPEATED" => json!({"v": []}),
            Value::Array(list) => {
                json!({"v": list.iter().map(|it| json!({"v": single(it)})).collect::<Vec<_>>()})
            }
            value => json!({"v": single(value)}),
        }
    });
    json!({"f": cells.collect::<Vec<_>>()})
}
