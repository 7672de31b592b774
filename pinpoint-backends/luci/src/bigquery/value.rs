//! The values of an answer.
//!
//! A row comes as `{"f": [{"v": …}, …]}`, a value for each column, and every scalar is text. The
//! schema says what it is.

use serde_json::{Map, Number, Value};

use super::{ColumnMode, ColumnType, Field};

/// A row as an object with a member for each column.
pub(super) fn object(fields: &[Field], row: Value) -> Result<Value, String> {
    let Value::Object(mut row) = row else {
        return Err("it is not an object".into());
    };
    let Some(Value::Array(cells)) = row.remove("f") else {
        return Err("it has no list `f`".into());
    };
    if cells.len() != fields.len() {
        return Err(format!(
            "{} values for {} columns",
            cells.len(),
            fields.len()
        ));
    }
    let mut object = Map::new();
    for (field, cell) in fields.iter().zip(cells) {
        let read = content(cell).and_then(|content| value(field, content));
        let read = read.map_err(|problem| format!("{}: {problem}", field.name))?;
        object.insert(field.name.clone(), read);
    }
    Ok(Value::Object(object))
}

/// `{"v": …}`
fn content(cell: Value) -> Result<Value, String> {
    match cell {
        Value::Object(mut cell) => cell.remove("v").ok_or_else(|| "it has no `v`".into()),
        _ => Err("it has no `v`".into()),
    }
}

fn value(field: &Field, value: Value) -> Result<Value, String> {
    if field.mode == ColumnMode::Repeated {
        return match value {
            // An empty list is kept as nothing.
            Value::Null => Ok(Value::Array(Vec::new())),
            Value::Array(list) => list
                .into_iter()
                .map(|cell| content(cell).and_then(|content| single(field, content)))
                .collect(),
            _ => Err("it is not a list".into()),
        };
    }
    single(field, value)
}

fn single(field: &Field, value: Value) -> Result<Value, String> {
    let text = match value {
        Value::Null => return Ok(Value::Null),
        Value::Object(_) if field.kind == ColumnType::Record => {
            return object(&field.fields, value);
        }
        Value::String(text) => text,
        other => return Err(format!("{other} is not text")),
    };
    let wrong = || format!("{text:?} is no {:?}", field.kind);
    Ok(match field.kind {
        ColumnType::Integer => Value::from(text.parse::<i64>().map_err(|_| wrong())?),
        // NaN and infinities have no number in JSON: they stay text.
        ColumnType::Float => match text.parse::<f64>().map_err(|_| wrong())? {
            number if number.is_finite() => {
                Value::Number(Number::from_f64(number).ok_or_else(wrong)?)
            }
            _ => Value::String(text),
        },
        ColumnType::Boolean => match text.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Err(wrong()),
        },
        ColumnType::Record => return Err(wrong()),
        ColumnType::String | ColumnType::Timestamp | ColumnType::Other => Value::String(text),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(name: &str, kind: ColumnType, mode: ColumnMode) -> Field {
        Field {
            name: name.into(),
            kind,
            mode,
            fields: Vec::new(),
        }
    }

    fn fields() -> Vec<Field> {
        let mut record = field("r", ColumnType::Record, ColumnMode::Repeated);
        record.fields = vec![field("x", ColumnType::Float, ColumnMode::Nullable)];
        vec![
            field("i", ColumnType::Integer, ColumnMode::Required),
            field("b", ColumnType::Boolean, ColumnMode::Nullable),
            field("l", ColumnType::Integer, ColumnMode::Repeated),
            record,
            field("s", ColumnType::Other, ColumnMode::Nullable),
        ]
    }

    #[test]
    fn values_are_read_by_their_columns() {
        let row = json!({"f": [
            {"v": "9223372036854775807"},
            {"v": "true"},
            {"v": [{"v": "1"}, {"v": "2"}]},
            {"v": [{"v": {"f": [{"v": "1.5E-3"}]}}, {"v": {"f": [{"v": "NaN"}]}}, {"v": {"f": [{"v": null}]}}]},
            {"v": null},
        ]});
        assert_eq!(
            object(&fields(), row).unwrap(),
            json!({
                "i": i64::MAX, "b": true, "l": [1, 2],
                "r": [{"x": 0.0015}, {"x": "NaN"}, {"x": null}], "s": null,
            })
        );
    }

    #[test]
    fn what_does_not_fit_its_column_is_an_error() {
        let sound = json!([
            {"v": "1"}, {"v": "true"}, {"v": []}, {"v": null}, {"v": "x"}
        ]);
        assert!(object(&fields(), json!({"f": sound.clone()})).is_ok());
        for (column, bad) in [
            (0, json!({"v": "1.5"})),
            (0, json!({"v": 1})),
            (0, json!({})),
            (0, json!("1")),
            (1, json!({"v": "TRUE"})),
            (2, json!({"v": "1"})),
            (2, json!({"v": [1]})),
            (3, json!({"v": [{"v": "x"}]})),
            (3, json!({"v": [{"v": {"f": []}}]})),
            (4, json!({"v": {"f": []}})),
        ] {
            let mut row = sound.clone();
            row[column] = bad.clone();
            assert!(object(&fields(), json!({"f": row})).is_err(), "{bad}");
        }
        assert!(object(&fields(), json!({"f": []})).is_err());
        assert!(object(&fields(), json!([])).is_err());
    }
}
