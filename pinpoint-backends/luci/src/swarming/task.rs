//! The request of a task.

use pinpoint_core::bots::Dimension;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::messages::{CasReference, NewTaskRequest, StringPair, TaskProperties, TaskSlice};

/// The settings shared by all tasks. By default those of Chromium's Pinpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskSettings {
    /// The realm whose rules apply.
    pub realm: String,
    /// The account of tasks.
    pub service_account: String,
    /// The topic that announces the ends of tasks; none when empty.
    pub pubsub_topic: String,
    /// The requester.
    pub user: String,
}

impl Default for TaskSettings {
    fn default() -> Self {
        Self {
            realm: "chrome:pinpoint".into(),
            service_account: "chrome-tester@chops-service-accounts.iam.gserviceaccount.com".into(),
            pubsub_topic: "projects/chromeperf/topics/pinpoint-swarming-updates".into(),
            user: "Pinpoint".into(),
        }
    }
}

/// The inputs that determine a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskPlan<'a> {
    /// The job.
    pub job: &'a str,
    /// The key of the action, `JOB/ACTION`.
    pub key: &'a str,
    /// The task among those of the action, such as `1` or `second.2`.
    pub part: &'a str,
    /// The build.
    pub build: &'a CasReference,
    /// The program and its arguments.
    pub command: &'a [String],
    /// The properties that the bot must have.
    pub dimensions: &'a [Dimension],
    /// The bot; any with the dimensions when absent.
    pub bot: Option<&'a str>,
}

/// The tag by which the tasks of an action are found.
pub fn key_tag(key: &str) -> String {
    format!("pinpoint_key:{key}")
}

/// The prefix of the tag that names the build of a task.
pub(crate) const BUILD_TAG: &str = "build_cas:";

/// The tag that names the build of a task.
pub(crate) fn build_tag(build: &CasReference) -> String {
    format!("{BUILD_TAG}{}", build.digest)
}

/// The prefix of the tag that distinguishes the tasks of an action.
pub(crate) const PART_TAG: &str = "pinpoint_part:";

impl TaskPlan<'_> {
    /// The request for the task. The same plan is the same request, with the same id.
    pub fn request(&self, settings: &TaskSettings) -> NewTaskRequest {
        let id = self.bot.map(|bot| ("id", bot));
        let dimensions = self
            .dimensions
            .iter()
            .map(|it| (&*it.key, &*it.value))
            .chain(id);
        let dimensions = dimensions.map(|(key, value)| StringPair {
            key: key.into(),
            value: value.into(),
        });
        NewTaskRequest {
            name: "Pinpoint bisection run benchmark task".into(),
            priority: 100,
            bot_ping_tolerance_secs: 1200,
            realm: settings.realm.clone(),
            service_account: settings.service_account.clone(),
            user: settings.user.clone(),
            pubsub_topic: settings.pubsub_topic.clone(),
            pubsub_userdata: match settings.pubsub_topic.is_empty() {
                true => String::new(),
                false => "UNUSED".into(),
            },
            tags: vec![
                format!("pinpoint_job_id:{}", self.job),
                build_tag(self.build),
                key_tag(self.key),
                format!("{PART_TAG}{}", self.part),
            ],
            task_slices: vec![TaskSlice {
                expiration_secs: 86_400,
                properties: TaskProperties {
                    cas_input_root: self.build.clone(),
                    command: self.command.to_vec(),
                    dimensions: dimensions.collect(),
                    execution_timeout_secs: 2700,
                    io_timeout_secs: 2700,
                    relative_cwd: "out/Release".into(),
                },
            }],
            request_uuid: uuid(&[self.key, self.part]),
        }
    }
}

/// An id in the form of a UUID, always the same for the same words: version 8 of RFC 9562.
pub(crate) fn uuid(words: &[&str]) -> String {
    let mut digest = Sha256::new_with_prefix("request, 1");
    for word in words {
        digest.update((word.len() as u64).to_le_bytes());
        digest.update(word);
    }
    let digest = digest.finalize();
    let mut bits = digest
        .iter()
        .take(16)
        .fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
    bits = bits & !(0xf << 76) | 8 << 76;
    bits = bits & !(0b11 << 62) | 0b10 << 62;
    let hex = format!("{bits:032x}");
    let part = |from, to| hex.get(from..to).unwrap_or_default();
    [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ]
    .join("-")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_is_asked_for_as_published() {
        let hash = "ab".repeat(32);
        let build = format!("projects/chrome-swarming/instances/default_instance/{hash}/12");
        let dimension = Dimension {
            key: "pool".into(),
            value: "chrome.tests.pinpoint".into(),
        };
        let plan = TaskPlan {
            job: "job",
            key: "job/7",
            part: "1",
            build: &build.parse().unwrap(),
            command: &["true".into()],
            dimensions: &[dimension],
            bot: Some("build12-h7"),
        };
        let asked = plan.request(&TaskSettings::default());
        let expected = json!({
            "name": "Pinpoint bisection run benchmark task",
            "priority": 100,
            "botPingToleranceSecs": 1200,
            "realm": "chrome:pinpoint",
            "serviceAccount": "chrome-tester@chops-service-accounts.iam.gserviceaccount.com",
            "user": "Pinpoint",
            "pubsubTopic": "projects/chromeperf/topics/pinpoint-swarming-updates",
            "pubsubUserdata": "UNUSED",
            "tags": [
                "pinpoint_job_id:job",
                format!("build_cas:{hash}/12"),
                "pinpoint_key:job/7",
                "pinpoint_part:1",
            ],
            "taskSlices": [{
                "expirationSecs": 86400,
                "properties": {
                    "casInputRoot": {
                        "casInstance": "projects/chrome-swarming/instances/default_instance",
                        "digest": {"hash": hash, "sizeBytes": "12"},
                    },
                    "command": ["true"],
                    "dimensions": [
                        {"key": "pool", "value": "chrome.tests.pinpoint"},
                        {"key": "id", "value": "build12-h7"},
                    ],
                    "executionTimeoutSecs": 2700,
                    "ioTimeoutSecs": 2700,
                    "relativeCwd": "out/Release",
                },
            }],
            "requestUuid": asked.request_uuid,
        });
        assert_eq!(serde_json::to_value(&asked).unwrap(), expected);
        assert_eq!(asked, plan.request(&TaskSettings::default()));
        let other = TaskPlan { part: "2", ..plan };
        assert_ne!(
            other.request(&TaskSettings::default()).request_uuid,
            asked.request_uuid
        );
    }

    #[test]
    fn an_id_has_the_form_of_a_uuid() {
        let id = uuid(&["job/7", "1"]);
        let lengths: Vec<_> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(id.as_bytes()[14], b'8');
        assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
        assert_ne!(uuid(&["a", "b"]), uuid(&["ab", ""]));
    }

    #[test]
    fn digests_are_read_and_written() {
        let text = format!("a/b/{}/7", "0f".repeat(32));
        let reference: CasReference = text.parse().unwrap();
        assert_eq!(reference.cas_instance, "a/b");
        assert_eq!(reference.to_string(), text);
        for text in [
            "",
            "a/b",
            &"0f".repeat(32),
            "x/00/7",
            &format!("a/{}/-7", "0f".repeat(32)),
        ] {
            assert!(text.parse::<CasReference>().is_err(), "{text}");
        }
    }
}
