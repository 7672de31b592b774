//! The answers of published workflows, and the notice of culprits.

use pinpoint_core::api::{
    self, BisectExecution, CulpritFinderExecution, NotCarried, PairwiseExecution, from_json,
    to_plain_json,
};
use pinpoint_core::job::JobResult;
use serde::Serialize;
use serde_json::{Value, json};
use temporalio_common::data_converters::RawValue;
use temporalio_common::protos::temporal::api::common::v1::Payload;

use super::parameters::{Name, Parameters};

/// The API message of a result, in JSON.
pub(super) fn message_of(result: &JobResult) -> Result<Value, NotCarried> {
    fn written(message: impl Serialize) -> Result<Value, NotCarried> {
        serde_json::to_value(message).map_err(|_| NotCarried("an invalid number"))
    }
    match result {
        JobResult::Bisection(result) => written(BisectExecution::try_from(result)?),
        JobResult::Pairwise(result) => written(PairwiseExecution::from(result)),
        JobResult::CulpritFinder(result) => written(CulpritFinderExecution::try_from(&**result)?),
        _ => Err(NotCarried("this kind of job")),
    }
}

/// The answer of a published workflow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PublishedWorkflowResult {
    /// The type of the message; absent for plain JSON.
    message_type: Option<&'static str>,
    body: Value,
    /// The commits of its culprits, in plain JSON.
    culprits: Vec<Value>,
}

impl PublishedWorkflowResult {
    /// The answer to these parameters, from the message of the result.
    pub(super) fn new(parameters: &Parameters, message: Value) -> Result<Self, serde_json::Error> {
        let text = message.to_string();
        let mut answer = Self {
            message_type: None,
            body: Value::Null,
            culprits: Vec::new(),
        };
        match parameters.name {
            Name::Bisect | Name::CatapultBisect => {
                let mut execution: BisectExecution = from_json(&text)?;
                if let Some(id) = &parameters.job_id {
                    execution.job_id.clone_from(id);
                }
                if parameters.name == Name::Bisect {
                    answer.body = json!({
                        "JobId": execution.job_id,
                        "Culprits": to_plain_json(&execution.culprits)?,
                        "DetailedCulprits": to_plain_json(&execution.detailed_culprits)?,
                    });
                } else {
                    answer.message_type = Some("pinpoint.v1.BisectExecution");
                    answer.body = serde_json::to_value(execution)?;
                }
            }
            Name::Pairwise => {
                let mut execution: PairwiseExecution = from_json(&text)?;
                execution
                    .culprit_candidate
                    .clone_from(&parameters.candidate);
                answer.message_type = Some("pinpoint.v1.PairwiseExecution");
                answer.body = serde_json::to_value(execution)?;
            }
            Name::CulpritFinder => {
                let execution: CulpritFinderExecution = from_json(&text)?;
                let commits = execution
                    .culprits
                    .iter()
                    .filter_map(api::CombinedCommit::last);
                answer.culprits = commits.map(to_plain_json).collect::<Result<_, _>>()?;
                answer.message_type = Some("pinpoint.v1.CulpritFinderExecution");
                answer.body = message;
            }
        }
        Ok(answer)
    }

    /// The queue in which the notice of culprits is put, and the notice; absent without culprits or
    /// a recipient.
    pub(super) fn notice(&self, parameters: &Parameters) -> Option<(String, RawValue)> {
        let callback = parameters.callback.as_ref()?;
        let (url, queue) = (
            &callback.culprit_service_url,
            &callback.temporal_task_queue_name,
        );
        if self.culprits.is_empty() || url.is_empty() || queue.is_empty() {
            return None;
        }
        let notice = json!({
            "CulpritServiceUrl": url,
            "Commits": self.culprits,
            "AnomalyGroupId": callback.anomaly_group_id,
        });
        Some((queue.clone(), payload("json/plain", None, &notice)))
    }

    /// The answer in the form for other programs.
    pub(super) fn payload(&self) -> RawValue {
        let encoding = match self.message_type {
            Some(_) => "json/protobuf",
            None => "json/plain",
        };
        payload(encoding, self.message_type, &self.body)
    }
}

fn payload(encoding: &str, message_type: Option<&str>, body: &Value) -> RawValue {
    let metadata = [("encoding", Some(encoding)), ("messageType", message_type)];
    let metadata = metadata
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.as_bytes().to_vec())));
    RawValue::new(vec![Payload {
        metadata: metadata.collect(),
        data: body.to_string().into_bytes(),
        ..Payload::default()
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn culprit() -> Value {
        json!({
            "main": {
                "gitHash": "b", "repository": "r", "created": "1970-01-01T00:05:00.005Z",
            },
            "modifiedDeps": [{ "gitHash": "c", "repository": "d" }],
        })
    }

    fn plain_culprit() -> Value {
        json!({
            "main": {
                "git_hash": "b", "repository": "r",
                "created": { "seconds": 300, "nanos": 5_000_000 },
            },
            "modified_deps": [{ "git_hash": "c", "repository": "d" }],
        })
    }

    fn parts(raw: &RawValue) -> (String, Option<String>, Value) {
        let [payload] = &raw.payloads[..] else {
            panic!("{raw:?}");
        };
        let text = |name: &str| {
            let value = payload.metadata.get(name)?;
            Some(String::from_utf8(value.clone()).unwrap())
        };
        let body = serde_json::from_slice(&payload.data).unwrap();
        (text("encoding").unwrap(), text("messageType"), body)
    }

    fn parameters(name: Name, input: Value) -> Parameters {
        Parameters::read(name, &input).unwrap()
    }

    #[test]
    fn a_bisection_answers_in_plain_json_or_as_a_message() {
        let input = json!({ "Request": {}, "JobID": "theirs" });
        let message = json!({
            "jobId": "ours",
            "culprits": [culprit()],
            "detailedCulprits": [{ "prior": { "main": { "gitHash": "a" } }, "culprit": culprit() }],
        });
        let answer =
            PublishedWorkflowResult::new(&parameters(Name::Bisect, input.clone()), message.clone());
        let expected = json!({
            "JobId": "theirs",
            "Culprits": [plain_culprit()],
            "DetailedCulprits": [
                { "prior": { "main": { "git_hash": "a" } }, "culprit": plain_culprit() },
            ],
        });
        assert_eq!(
            parts(&answer.unwrap().payload()),
            ("json/plain".into(), None, expected)
        );

        let answer =
            PublishedWorkflowResult::new(&parameters(Name::CatapultBisect, input), message.clone());
        let mut expected = message.clone();
        expected["jobId"] = json!("theirs");
        let message_type = Some("pinpoint.v1.BisectExecution".to_owned());
        assert_eq!(
            parts(&answer.unwrap().payload()),
            ("json/protobuf".into(), message_type, expected)
        );

        let unnamed = parameters(Name::Bisect, json!({ "Request": {} }));
        let answer = PublishedWorkflowResult::new(&unnamed, json!({ "jobId": "ours" })).unwrap();
        let expected = json!({ "JobId": "ours", "Culprits": [], "DetailedCulprits": [] });
        assert_eq!(parts(&answer.payload()).2, expected);
    }

    #[test]
    fn a_comparison_names_its_candidate() {
        let input = json!({
            "Request": { "end_commit": plain_culprit() }, "CulpritVerify": true,
        });
        let message = json!({
            "jobId": "ours",
            "results": { "time": { "pValue": 0.01, "significant": true } },
        });
        let answer =
            PublishedWorkflowResult::new(&parameters(Name::Pairwise, input), message.clone())
                .unwrap();
        let (encoding, message_type, body) = parts(&answer.payload());
        assert_eq!(encoding, "json/protobuf");
        assert_eq!(
            message_type.as_deref(),
            Some("pinpoint.v1.PairwiseExecution")
        );
        let mut expected = message;
        expected["culpritCandidate"] = culprit();
        assert_eq!(body, expected);
    }

    #[test]
    fn culprits_are_handed_on_to_the_queue_that_is_named() {
        let callback = |url: &str, queue: &str| {
            let input = json!({
                "Request": {},
                "CallbackParams": {
                    "anomaly_group_id": "g", "culprit_service_url": url,
                    "temporal_task_queue_name": queue,
                },
            });
            parameters(Name::CulpritFinder, input)
        };
        let alone = json!({ "main": { "gitHash": "e" } });
        let message = json!({
            "jobId": "ours", "regressionVerified": true, "culprits": [culprit(), alone],
        });
        let whole = callback("http://culprits", "perf.grouping");
        let answer = PublishedWorkflowResult::new(&whole, message.clone()).unwrap();
        let (encoding, message_type, body) = parts(&answer.payload());
        assert_eq!(encoding, "json/protobuf");
        assert_eq!(
            message_type.as_deref(),
            Some("pinpoint.v1.CulpritFinderExecution")
        );
        assert_eq!(body, message);
        let (queue, notice) = answer.notice(&whole).unwrap();
        assert_eq!(queue, "perf.grouping");
        let expected = json!({
            "CulpritServiceUrl": "http://culprits",
            "Commits": [{ "git_hash": "c", "repository": "d" }, { "git_hash": "e" }],
            "AnomalyGroupId": "g",
        });
        assert_eq!(parts(&notice), ("json/plain".into(), None, expected));

        let nobody = parameters(Name::CulpritFinder, json!({ "Request": {} }));
        for parameters in [callback("", "q"), callback("u", ""), nobody] {
            assert_eq!(answer.notice(&parameters).map(|(queue, _)| queue), None);
        }
        let none = json!({ "jobId": "ours", "regressionVerified": true });
        let answer = PublishedWorkflowResult::new(&whole, none).unwrap();
        assert_eq!(answer.notice(&whole).map(|(queue, _)| queue), None);
    }
}
