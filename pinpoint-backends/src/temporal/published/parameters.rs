//! The inputs of published workflows, as Go's `encoding/json` writes them.

use pinpoint_core::api::{CombinedCommit, CulpritProcessingCallbackParams, from_plain_json};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporalio_common::protos::temporal::api::common::v1::Payload;

use crate::job::ScheduleRequest;

/// A published workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Name {
    Bisect,
    CatapultBisect,
    Pairwise,
    CulpritFinder,
}

/// The input of a published workflow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parameters {
    pub(super) name: Name,
    pub(super) request: ScheduleRequest,
    /// The id by which the caller knows the job.
    pub(super) job_id: Option<String>,
    /// The treatment of a comparison that verifies a culprit.
    pub(super) candidate: Option<CombinedCommit>,
    /// The recipient of culprits.
    pub(super) callback: Option<CulpritProcessingCallbackParams>,
}

/// The reason why an input does not fit a published workflow.
#[derive(Debug, thiserror::Error)]
pub(super) enum ParametersError {
    #[error("there are {0} arguments, and the workflow takes one")]
    Count(usize),
    #[error("the argument has the encoding {0:?}, and the workflow takes json/plain")]
    Encoding(String),
    #[error("the argument is not valid: {0}")]
    Json(#[from] serde_json::Error),
    #[error("Request is missing")]
    NoRequest,
    #[error("{0} is not valid: {1}")]
    Field(&'static str, serde_json::Error),
    #[error("ExtraArgs: requests can't add arguments to a benchmark")]
    ExtraArguments,
}

/// The only argument of a workflow.
pub(super) fn parameters_in(payloads: &[Payload]) -> Result<Value, ParametersError> {
    let [payload] = payloads else {
        return Err(ParametersError::Count(payloads.len()));
    };
    let encoding = payload
        .metadata
        .get("encoding")
        .map_or(&b""[..], Vec::as_slice);
    if encoding != b"json/plain" {
        let encoding = String::from_utf8_lossy(encoding).into_owned();
        return Err(ParametersError::Encoding(encoding));
    }
    Ok(serde_json::from_slice(&payload.data)?)
}

/// The fields of all inputs. `BotIds` are looked up by the workflow in the original, too, and
/// `Production` names a database that does not exist here: both are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Fields {
    request: Option<Value>,
    #[serde(default, rename = "JobID")]
    job_id: Option<String>,
    #[serde(default)]
    extra_args: Option<Value>,
    #[serde(default)]
    culprit_verify: bool,
    #[serde(default)]
    callback_params: Option<Value>,
}

impl Parameters {
    pub(super) fn read(name: Name, input: &Value) -> Result<Self, ParametersError> {
        let fields = Fields::deserialize(input)?;
        let request = fields.request.ok_or(ParametersError::NoRequest)?;
        let is_empty = |value: &Value| {
            value.as_array().is_some_and(Vec::is_empty) || value.as_str().is_some_and(str::is_empty)
        };
        if !fields.extra_args.as_ref().is_none_or(is_empty) {
            return Err(ParametersError::ExtraArguments);
        }
        let request = match name {
            Name::Bisect | Name::CatapultBisect => {
                ScheduleRequest::Bisection(message("Request", request)?)
            }
            Name::Pairwise => ScheduleRequest::Pairwise(message("Request", request)?),
            Name::CulpritFinder => ScheduleRequest::CulpritFinder(message("Request", request)?),
        };
        let candidate = match &request {
            ScheduleRequest::Pairwise(request) if fields.culprit_verify => {
                request.end_commit.clone()
            }
            _ => None,
        };
        let callback = { fields.callback_params }
            .map(|callback| message("CallbackParams", callback))
            .transpose()?;
        Ok(Self {
            name,
            request,
            job_id: fields.job_id.filter(|id| !id.is_empty()),
            candidate,
            callback,
        })
    }
}

fn message<M: DeserializeOwned>(field: &'static str, value: Value) -> Result<M, ParametersError> {
    from_plain_json(value).map_err(|error| ParametersError::Field(field, error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn payload(encoding: &str, data: &str) -> Payload {
        Payload {
            metadata: [("encoding".to_owned(), encoding.into())].into(),
            data: data.into(),
            ..Payload::default()
        }
    }

    #[test]
    fn a_bisection() {
        // As Go writes workflows.BisectParams.
        let input = r#"{
            "Request": {
                "comparison_mode": "performance",
                "start_git_hash": "8f2037564966f83e53701d157622dd42b931a13f",
                "end_git_hash": "049ab03450dd980d3afc27f13edfef9f510ed819",
                "configuration": "win-11-perf", "benchmark": "system_health.memory_desktop",
                "story": "load:chrome:blank", "chart": "cc:effective_size",
                "comparison_magnitude": "786432.0", "aggregation_method": "mean",
                "project": "chromium", "improvement_direction": "DOWN"
            },
            "BotIds": null, "Production": true, "JobID": "179a34b2be0000", "ExtraArgs": null
        }"#;
        let input = parameters_in(&[payload("json/plain", input)]).unwrap();
        for name in [Name::Bisect, Name::CatapultBisect] {
            let read = Parameters::read(name, &input).unwrap();
            assert_eq!(read.job_id.as_deref(), Some("179a34b2be0000"));
            let ScheduleRequest::Bisection(request) = read.request else {
                panic!("{:?}", read.request);
            };
            assert_eq!(request.chart, "cc:effective_size");
            assert_eq!(request.comparison_magnitude, "786432.0");
            assert_eq!(request.start_git_hash.len(), 40);
        }
    }

    #[test]
    fn a_comparison() {
        // As Go writes workflows.PairwiseParams.
        let mut input = json!({
            "Request": {
                "start_commit": { "main": {
                    "git_hash": "573a5065", "repository": "https://example.org/src",
                    "created": { "seconds": 1_713_000_000, "nanos": 7 },
                } },
                "end_commit": { "main": { "git_hash": "a633e198", "commit_position": 1_284_449 } },
                "configuration": "android-pixel4-perf", "initial_attempt_count": "30",
            },
            "CulpritVerify": true,
        });
        let read = Parameters::read(Name::Pairwise, &input).unwrap();
        let ScheduleRequest::Pairwise(request) = read.request else {
            panic!("{:?}", read.request);
        };
        let start = request.start_commit.unwrap().main.unwrap();
        assert_eq!(start.created.unwrap().nanos, 7);
        assert_eq!(request.initial_attempt_count, "30");
        assert_eq!(read.candidate, request.end_commit);
        let main = read.candidate.unwrap().main.unwrap();
        assert_eq!(main.commit_position, 1_284_449);

        input["CulpritVerify"] = json!(false);
        let read = Parameters::read(Name::Pairwise, &input).unwrap();
        assert_eq!(read.candidate, None);
    }

    #[test]
    fn a_culprit_finder() {
        // As Go writes workflows.CulpritFinderParams.
        let input = json!({
            "Request": { "start_git_hash": "a", "bug_id": "7" },
            "Production": false,
            "CallbackParams": {
                "anomaly_group_id": "g", "culprit_service_url": "http://culprits",
                "temporal_task_queue_name": "perf.grouping",
            },
        });
        let read = Parameters::read(Name::CulpritFinder, &input).unwrap();
        let callback = read.callback.unwrap();
        assert_eq!(callback.temporal_task_queue_name, "perf.grouping");
        assert_eq!(callback.anomaly_group_id, "g");
        assert_eq!(callback.culprit_service_url, "http://culprits");
        let ScheduleRequest::CulpritFinder(request) = read.request else {
            panic!("{:?}", read.request);
        };
        assert_eq!((&*request.start_git_hash, &*request.bug_id), ("a", "7"));
    }

    #[test]
    fn wrong_inputs_are_refused() {
        let refused = |payloads: &[Payload]| {
            let read = parameters_in(payloads)
                .and_then(|input| Parameters::read(Name::CatapultBisect, &input));
            read.unwrap_err().to_string()
        };
        let one = |data: &str| refused(&[payload("json/plain", data)]);
        assert_eq!(
            refused(&[]),
            "there are 0 arguments, and the workflow takes one"
        );
        let two = [payload("json/plain", "{}"), payload("json/plain", "{}")];
        assert_eq!(
            refused(&two),
            "there are 2 arguments, and the workflow takes one"
        );
        assert_eq!(
            refused(&[payload("binary/plain", "{}")]),
            "the argument has the encoding \"binary/plain\", and the workflow takes json/plain"
        );
        for data in ["", "{", "null", "7", "[]", r#"{"Request": {}, "JobID": 7}"#] {
            let error = one(data);
            assert!(
                error.starts_with("the argument is not valid: "),
                "{data}: {error}"
            );
        }
        assert_eq!(one("{}"), "Request is missing");
        assert_eq!(one(r#"{"Request": null}"#), "Request is missing");
        let error = one(r#"{"Request": {"chart": ["x"]}}"#);
        assert!(error.starts_with("Request is not valid: "), "{error}");
        let error = one(r#"{"Request": {}, "CallbackParams": 7}"#);
        assert!(
            error.starts_with("CallbackParams is not valid: "),
            "{error}"
        );
        let error = one(r#"{"Request": {}, "ExtraArgs": ["--x"]}"#);
        assert!(error.starts_with("ExtraArgs: "), "{error}");
    }
}
