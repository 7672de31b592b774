//! Messages in plain JSON, as a general encoder writes their fields.
//!
//! Workflows of Chromium's Pinpoint get messages inside of structures that Go's
//! `encoding/json` writes. That knows nothing of the [proto3 mapping]: fields have the
//! names of the `.proto` file, 64-bit integers are numbers, and a timestamp is an object of
//! `seconds` and `nanos`.
//!
//! [proto3 mapping]: https://protobuf.dev/programming-guides/json/

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Map, Value, json};

use super::Timestamp;
use super::json::from_value;

/// The field of a timestamp, and those of 64-bit integers, in all messages that are read or
/// written in this way.
const TIMESTAMP: &str = "created";
const INTEGERS: [&str; 3] = ["change", "patchset", "size_bytes"];

/// Reads a message from plain JSON, and from that of [`from_json`](super::from_json).
///
/// ```
/// use pinpoint_core::api::{Commit, from_plain_json};
/// use serde_json::json;
///
/// let commit: Commit = from_plain_json(json!({
///     "git_hash": "1b0a99f2", "created": { "seconds": 1_709_204_400, "nanos": 500_000_000 }
/// }))?;
/// assert_eq!(commit.created.unwrap().to_string(), "2024-02-29T11:00:00.500Z");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
///
/// A field is of another type than the message's.
pub fn from_plain_json<M: DeserializeOwned>(message: Value) -> Result<M, serde_json::Error> {
    let mut message = message;
    each_object(&mut message, &mut |fields| {
        if let Some(Value::Object(created)) = fields.get(TIMESTAMP) {
            let part = |name: &str| created.get(name).map_or(Some(0), Value::as_i64);
            let timestamp = || {
                Some(Timestamp {
                    seconds: part("seconds")?,
                    nanos: part("nanos")?.try_into().ok()?,
                })
            };
            let read = timestamp().and_then(|timestamp| serde_json::to_value(timestamp).ok());
            let text = read.ok_or_else(|| {
                serde_json::Error::custom(format!(
                    "`{TIMESTAMP}` is not a time of the years 1 to 9999"
                ))
            })?;
            fields.insert(TIMESTAMP.into(), text);
        }
        Ok(())
    })?;
    from_value(message)
}

/// Writes a commit, a state or a culprit as plain JSON.
///
/// # Errors
///
/// Contains an invalid timestamp.
pub fn to_plain_json(message: &impl Serialize) -> Result<Value, serde_json::Error> {
    let mut message = serde_json::to_value(message)?;
    each_object(&mut message, &mut |fields| {
        *fields = std::mem::take(fields)
            .into_iter()
            .map(|(name, value)| {
                let name = in_snake_case(&name);
                let value = plain(&name, value)?;
                Ok((name, value))
            })
            .collect::<Result<Map<_, _>, serde_json::Error>>()?;
        Ok(())
    })?;
    Ok(message)
}

/// The value of a field, whose text may stand for something else.
fn plain(name: &str, value: Value) -> Result<Value, serde_json::Error> {
    let Value::String(text) = &value else {
        return Ok(value);
    };
    if INTEGERS.contains(&name) {
        let number: i64 = text.parse().map_err(serde_json::Error::custom)?;
        return Ok(number.into());
    }
    if name == TIMESTAMP {
        let time: Timestamp = text.parse().map_err(serde_json::Error::custom)?;
        // Zeros are left out.
        let parts = [("seconds", time.seconds), ("nanos", time.nanos.into())];
        let parts = parts.into_iter().filter(|(_, part)| *part != 0);
        return Ok(parts
            .map(|(name, part)| (name.to_owned(), json!(part)))
            .collect());
    }
    Ok(value)
}

fn each_object(
    value: &mut Value,
    change: &mut impl FnMut(&mut Map<String, Value>) -> Result<(), serde_json::Error>,
) -> Result<(), serde_json::Error> {
    match value {
        Value::Object(fields) => {
            for value in fields.values_mut() {
                each_object(value, change)?;
            }
            change(fields)
        }
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| each_object(item, change)),
        _ => Ok(()),
    }
}

/// The name of a field in the `.proto` file, by its name in JSON.
fn in_snake_case(name: &str) -> String {
    let mut field = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            field.push('_');
        }
        field.push(letter.to_ascii_lowercase());
    }
    field
}

#[cfg(test)]
mod tests {
    use super::super::{CombinedCommit, Commit, GerritChange, SchedulePairwiseRequest};
    use super::*;

    /// As Go's `encoding/json` writes it: zeros and empty values are left out.
    fn plain_state() -> Value {
        json!({
            "main": {
                "git_hash": "1", "repository": "2", "url": "3", "author": "4",
                "created": { "seconds": 300, "nanos": 5_000_000 }, "subject": "6",
                "message": "7", "commit_branch": "8", "commit_position": 300,
                "review_url": "10", "change_id": "11",
            },
            "modified_deps": [{ "git_hash": "a", "created": {} }],
            "patch": {
                "host": "h", "project": "p", "change": 4_503_599_627_370_497_i64,
                "patchset": 2, "patchset_hash": "d",
            },
        })
    }

    fn state() -> CombinedCommit {
        let time = |seconds, nanos| Some(Timestamp { seconds, nanos });
        CombinedCommit {
            main: Some(Commit {
                git_hash: "1".into(),
                repository: "2".into(),
                url: "3".into(),
                author: "4".into(),
                created: time(300, 5_000_000),
                subject: "6".into(),
                message: "7".into(),
                commit_branch: "8".into(),
                commit_position: 300,
                review_url: "10".into(),
                change_id: "11".into(),
            }),
            modified_deps: vec![Commit {
                git_hash: "a".into(),
                created: time(0, 0),
                ..Commit::default()
            }],
            patch: Some(GerritChange {
                host: "h".into(),
                project: "p".into(),
                change: 4_503_599_627_370_497,
                patchset: 2,
                patchset_hash: "d".into(),
            }),
        }
    }

    #[test]
    fn a_state_is_written_and_read() {
        assert_eq!(to_plain_json(&state()).unwrap(), plain_state());
        let read: CombinedCommit = from_plain_json(plain_state()).unwrap();
        assert_eq!(read, state());
    }

    #[test]
    fn a_request_has_states_and_names_of_its_own() {
        let request: SchedulePairwiseRequest = from_plain_json(json!({
            "start_commit": plain_state(),
            "end_build": { "cas_instance": "i", "digest": { "hash": "d", "size_bytes": 810 } },
            "configuration": "linux-perf",
            "improvement_direction": "UP",
            "chart": null,
        }))
        .unwrap();
        assert_eq!(request.start_commit, Some(state()));
        let digest = request.end_build.unwrap().digest.unwrap();
        assert_eq!((&*digest.hash, digest.size_bytes), ("d", 810));
        assert_eq!(request.configuration, "linux-perf");
        assert_eq!(request.improvement_direction, "UP");
        assert_eq!(request.chart, "");
        // The JSON of protobuf is read, too.
        let mapped =
            json!({ "bot_name": "b", "startCommit": serde_json::to_value(state()).unwrap() });
        let request: SchedulePairwiseRequest = from_plain_json(mapped).unwrap();
        assert_eq!(request.start_commit, Some(state()));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for wrong in [
            json!({ "main": { "created": { "seconds": "x" } } }),
            json!({ "main": { "created": { "seconds": 253_402_300_800_i64 } } }),
            json!({ "main": { "created": { "nanos": -1 } } }),
            json!({ "main": { "git_hash": 1 } }),
            json!({ "main": [] }),
            json!([]),
        ] {
            let refused = from_plain_json::<CombinedCommit>(wrong.clone());
            assert!(refused.is_err(), "{wrong}");
        }
    }
}
