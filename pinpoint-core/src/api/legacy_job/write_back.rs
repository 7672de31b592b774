//! The body that Catapult's database is sent.
//!
//! It is JSON with the names of the `.proto` file and times as objects, as Go's `encoding/json`
//! writes the message. That leaves zeros out, and Catapult takes a missing direction for an unknown
//! one; and it looks for the number of differences under another name. So both are always there,
//! by both names.

use serde_json::{Map, Value, json};

use super::super::{LegacyJobResponse, Timestamp, to_plain_json};

/// Catapult would store nothing, without a word, since a field is missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Catapult stores no job without `{0}`")]
pub struct MissingInBody(pub String);

/// The body for this job.
///
/// # Errors
///
/// When Catapult would store nothing of it.
pub fn write_back_body(job: &LegacyJobResponse) -> Result<Value, MissingInBody> {
    let missing = |field: &str| MissingInBody(field.into());
    let created = job.created.as_ref().ok_or_else(|| missing("created"))?;
    let updated = job.updated.as_ref().ok_or_else(|| missing("updated"))?;
    let arguments = job.arguments.as_ref();
    let arguments = arguments.filter(|it| !it.comparison_mode.is_empty());
    let arguments = arguments.ok_or_else(|| missing("arguments.comparison_mode"))?;
    for (state, place) in job.state.iter().zip(0..) {
        let change = state.change.as_ref();
        let field = || missing(&format!("state[{place}].change"));
        for (commit, number) in change.ok_or_else(field)?.commits.iter().zip(0..) {
            if commit.created.is_none() {
                let field = format!("state[{place}].change.commits[{number}].created");
                return Err(MissingInBody(field));
            }
        }
    }
    let shown = LegacyJobResponse {
        created: None,
        updated: None,
        // These are for those who ask for the job.
        started_time: None,
        status: String::new(),
        exception: String::new(),
        cancel_reason: String::new(),
        arguments: None,
        ..job.clone()
    };
    let mut body = plain(&shown)?;
    let tags = json!(arguments.tags);
    let mut words = plain(&super::super::legacy_job_response::Argument {
        tags: Default::default(),
        ..arguments.clone()
    })?;
    if !arguments.tags.is_empty() {
        words.insert("tags".into(), tags);
    }
    let differences = job.difference_count;
    let direction = job.improvement_direction;
    for (name, value) in [
        ("arguments", Value::Object(words)),
        ("created", time(created)),
        ("updated", time(updated)),
        ("improvement_direction", json!(direction)),
        ("improvementDirection", json!(direction)),
        ("difference_count", json!(differences)),
        ("differenceCount", json!(differences)),
    ] {
        body.insert(name.into(), value);
    }
    Ok(Value::Object(body))
}

/// A message in plain JSON. Its times are valid, since they were read as such.
fn plain(message: &impl serde::Serialize) -> Result<Map<String, Value>, MissingInBody> {
    match to_plain_json(message) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(MissingInBody("a valid time".into())),
    }
}

fn time(time: &Timestamp) -> Value {
    json!({"seconds": time.seconds, "nanos": time.nanos})
}
