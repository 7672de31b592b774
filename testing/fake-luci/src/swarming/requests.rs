//! The requests, every field of which must be known.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StringPair {
    pub(super) key: String,
    pub(super) value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Digest {
    pub(super) hash: String,
    pub(super) size_bytes: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CasReference {
    pub(super) cas_instance: String,
    pub(super) digest: Digest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "fields must be there, whatever they say")]
pub(super) struct Properties {
    pub(super) cas_input_root: CasReference,
    pub(super) command: Vec<String>,
    pub(super) dimensions: Vec<StringPair>,
    pub(super) execution_timeout_secs: i32,
    pub(super) io_timeout_secs: i32,
    pub(super) relative_cwd: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "fields must be there, whatever they say")]
pub(super) struct Slice {
    pub(super) expiration_secs: i32,
    pub(super) properties: Properties,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "fields must be there, whatever they say")]
pub(super) struct NewTask {
    pub(super) name: String,
    pub(super) priority: i32,
    pub(super) bot_ping_tolerance_secs: i32,
    pub(super) realm: String,
    pub(super) service_account: String,
    pub(super) user: String,
    pubsub_topic: String,
    pubsub_userdata: String,
    pub(super) tags: Vec<String>,
    pub(super) task_slices: Vec<Slice>,
    pub(super) request_uuid: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BatchGetResult {
    pub(super) task_ids: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CancelTask {
    pub(super) task_id: String,
    pub(super) kill_running: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListTasks {
    pub(super) limit: usize,
    pub(super) state: String,
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) cursor: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ListBots {
    pub(super) limit: usize,
    pub(super) dimensions: Vec<StringPair>,
    pub(super) quarantined: String,
    pub(super) is_dead: String,
    pub(super) in_maintenance: String,
    #[serde(default)]
    pub(super) cursor: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ListBotTasks {
    pub(super) bot_id: String,
    pub(super) limit: usize,
    pub(super) start: String,
    pub(super) end: String,
    pub(super) state: String,
    pub(super) sort: String,
    #[serde(default)]
    pub(super) cursor: String,
}
