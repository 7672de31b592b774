//! Messages from JSON.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a message from JSON, as the [proto3 mapping] defines it.
///
/// Fields have their JSON names or those of the `.proto` file; 64-bit integers are strings or
/// numbers; enums are names or numbers. Unknown fields and names of enums are left out, and `null`
/// is the same as no field at all: clients in Python write it for unset fields.
/// (`serde_json::from_str` refuses it.) To write a message, use `serde_json`.
///
/// ```
/// use pinpoint_core::api::{self, ScheduleCulpritFinderRequest};
///
/// let text = r#"{"bot_name": "linux-perf", "measurement": "Score", "bugId": null, "newer": 1}"#;
/// let request: ScheduleCulpritFinderRequest = api::from_json(text)?;
/// assert_eq!((request.configuration, request.chart), ("linux-perf".into(), "Score".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
///
/// The text is not valid JSON, or has a field of another type than the message.
///
/// [proto3 mapping]: https://protobuf.dev/programming-guides/json/
pub fn from_json<M: DeserializeOwned>(text: &str) -> Result<M, serde_json::Error> {
    from_value(serde_json::from_str(text)?)
}

pub(super) fn from_value<M: DeserializeOwned>(value: Value) -> Result<M, serde_json::Error> {
    let mut value = value;
    remove_nulls(&mut value);
    serde_json::from_value(value)
}

/// Recurses no deeper than `serde_json` reads, which is 128 levels.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
