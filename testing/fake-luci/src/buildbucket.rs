//! Buildbucket: builders in simulated time.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::clock::timestamp;
use crate::prpc::{INVALID_ARGUMENT, Refusal, UNIMPLEMENTED, not_found, read};
use crate::services::{FakeLuci, State};
use crate::world::MAIN;

/// A request with the same id is the same one for this time.
const SAME_REQUEST: u64 = 60_000;

/// A build as the services know it.
#[derive(Debug, Clone)]
pub struct Build {
    /// Its id.
    pub id: i64,
    /// `PROJECT/BUCKET/BUILDER`.
    pub builder: String,
    /// Key and value.
    pub tags: BTreeSet<(String, String)>,
    /// The status in which it ends, or has ended.
    pub status: &'static str,
    created: u64,
    starts: u64,
    pub(crate) ends: u64,
    request_id: String,
    properties: Map<String, Value>,
    changes: Vec<Value>,
    commit: Value,
    /// The digests of what it made.
    pub(crate) target: Option<String>,
    /// Somebody asked for its end.
    pub canceled_by_request: bool,
    /// The files that it made are not kept any more.
    pub is_gone: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BuilderId {
    project: String,
    bucket: String,
    builder: String,
}

impl BuilderId {
    fn name(&self) -> String {
        format!("{}/{}/{}", self.project, self.bucket, self.builder)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tag {
    key: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GitilesCommit {
    host: String,
    project: String,
    id: String,
    r#ref: String,
}

impl GitilesCommit {
    fn json(&self) -> Value {
        let Self {
            host,
            project,
            id,
            r#ref,
        } = self;
        json!({"host": host, "project": project, "id": id, "ref": r#ref})
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GerritChange {
    host: String,
    project: String,
    change: String,
    patchset: String,
}

impl GerritChange {
    fn json(&self) -> Value {
        let Self {
            host,
            project,
            change,
            patchset,
        } = self;
        json!({"host": host, "project": project, "change": change, "patchset": patchset})
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Schedule {
    request_id: String,
    builder: BuilderId,
    properties: Map<String, Value>,
    gitiles_commit: GitilesCommit,
    #[serde(default)]
    gerrit_changes: Vec<GerritChange>,
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mask {
    fields: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Predicate {
    builder: BuilderId,
    #[serde(default)]
    tags: Vec<Tag>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    gerrit_changes: Vec<GerritChange>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Search {
    predicate: Predicate,
    mask: Mask,
    page_size: usize,
    #[serde(default)]
    page_token: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Get {
    id: String,
    mask: Mask,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GetStatus {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Cancel {
    id: String,
    #[expect(dead_code, reason = "it must be there, whatever it says")]
    summary_markdown: String,
}

/// The fields that may be asked for.
const FIELDS: [&str; 10] = [
    "id",
    "number",
    "status",
    "createTime",
    "endTime",
    "input.gerritChanges",
    "input.gitilesCommit",
    "input.properties",
    "output.properties",
    "summaryMarkdown",
];

/// The targets of builders of Android: a suite for each browser.
const ANDROID_TARGETS: &[&str] = &[
    "performance_test_suite_android_trichrome_chrome_google_64_32_bundle",
    "performance_test_suite_android_trichrome_chrome_google_bundle",
    "performance_webview_test_suite",
];

/// The targets of a builder's builds. Programs of GoogleTest are in the suites.
fn targets(builder: &str) -> &'static [&'static str] {
    match builder.to_lowercase().contains("android") {
        true => ANDROID_TARGETS,
        false => &["performance_test_suite"],
    }
}

impl FakeLuci {
    /// A commit of the main repository that a builder of the continuous build has made.
    pub fn made_by_waterfall(&self, builder: &str, revision: &str) {
        let now = self.now();
        let level = self.level(revision, &BTreeMap::new(), false);
        let mut state = self.state();
        let id = 8_700_000_000_000_000_000 - state.builds.len() as i64;
        let target = level.map(|level| {
            let words = json!({"level": level, "build": id.to_string(), "android": false});
            state.store(words.to_string().into_bytes())
        });
        let (host, project) = MAIN
            .trim_start_matches("https://")
            .split_once('/')
            .unwrap_or(("", MAIN));
        state.builds.push(Build {
            id,
            builder: format!("chrome/ci/{builder}"),
            tags: BTreeSet::from([(
                "buildset".into(),
                format!("commit/gitiles/{host}/{project}/+/{revision}"),
            )]),
            status: if target.is_some() {
                "SUCCESS"
            } else {
                "FAILURE"
            },
            created: now,
            starts: now,
            ends: now,
            request_id: String::new(),
            properties: Map::new(),
            changes: Vec::new(),
            commit: json!({
                "host": host, "project": project, "id": revision, "ref": "refs/heads/main",
            }),
            target,
            canceled_by_request: false,
            is_gone: false,
        });
    }
}

impl Build {
    /// The digest of what it made, `HASH/SIZE`.
    pub fn digest(&self) -> Option<&str> {
        self.target.as_deref()
    }

    fn status(&self, now: u64) -> &'static str {
        match () {
            () if now >= self.ends => self.status,
            () if now >= self.starts => "STARTED",
            () => "SCHEDULED",
        }
    }

    /// Has it not ended?
    pub(crate) fn is_live(&self, now: u64) -> bool {
        now < self.ends
    }

    fn json(&self, now: u64) -> Value {
        let status = self.status(now);
        let tags = self
            .tags
            .iter()
            .map(|(key, value)| json!({"key": key, "value": value}));
        let mut build = json!({
            "id": self.id.to_string(),
            "number": 1,
            "status": status,
            "createTime": timestamp(self.created),
            "tags": tags.collect::<Vec<_>>(),
            "input": {
                "properties": self.properties,
                "gerritChanges": self.changes,
                "gitilesCommit": self.commit,
            },
        });
        if !self.is_live(now) {
            build["endTime"] = json!(timestamp(self.ends));
            build["summaryMarkdown"] = json!(format!("It is {status}.\nThat is all."));
        }
        if let ("SUCCESS", Some(digest)) = (status, &self.target) {
            let patched = match self.changes.is_empty() {
                true => "without",
                false => "with",
            };
            let name = format!("swarm_hashes_refs/heads/main(at){{#1}}_{patched}_patch");
            let targets = targets(&self.builder).iter();
            let targets: Map<String, Value> = targets
                .map(|it| ((*it).to_owned(), json!(digest)))
                .collect();
            build["output"] = json!({"properties": {name: targets}});
        }
        build
    }
}

impl Mask {
    fn check(&self) -> Result<(), Refusal> {
        let known = |field: &str| FIELDS.contains(&field) || field == "tags";
        match self.fields.split(',').find(|field| !known(field)) {
            Some(field) => Err((INVALID_ARGUMENT, format!("no field {field}"))),
            None => Ok(()),
        }
    }
}

impl FakeLuci {
    /// A method of `buildbucket.v2.Builds`.
    pub(crate) fn builds(&self, method: &str, body: &Bytes) -> Result<Value, Refusal> {
        let now = self.now();
        let mut state = self.state();
        *state.calls.entry(method.to_owned()).or_default() += 1;
        match method {
            "ScheduleBuild" => {
                let request = read(body)?;
                Ok(self.schedule(&mut state, &request, now)?.json(now))
            }
            "SearchBuilds" => search(&state, &read(body)?, now),
            "GetBuild" => {
                let Get { id, mask } = read(body)?;
                mask.check()?;
                Ok(state.build(&id)?.json(now))
            }
            "GetBuildStatus" => {
                let GetStatus { id } = read(body)?;
                let status = state.build(&id)?.status(now);
                Ok(json!({"id": id, "status": status}))
            }
            "CancelBuild" => {
                let Cancel { id, .. } = read(body)?;
                let build = state.build(&id)?;
                build.canceled_by_request = true;
                if build.is_live(now) {
                    build.status = "CANCELED";
                    // It takes a moment to end.
                    build.ends = build.ends.min(now + 20_000);
                }
                Ok(build.json(now))
            }
            _ => Err((UNIMPLEMENTED, method.into())),
        }
    }

    fn schedule(&self, state: &mut State, request: &Schedule, now: u64) -> Result<Build, Refusal> {
        let same = |build: &&Build| {
            build.request_id == request.request_id && now < build.created + SAME_REQUEST
        };
        if let Some(build) = state.builds.iter().find(same) {
            return Ok(build.clone());
        }
        let revision = request.properties.get("revision").and_then(Value::as_str);
        let revision = revision.filter(|revision| *revision == request.gitiles_commit.id);
        let revision = revision.ok_or((INVALID_ARGUMENT, "no revision".to_owned()))?;
        let overrides = request.properties.get("deps_revision_overrides");
        let overrides: BTreeMap<String, String> = overrides
            .and_then(|held| serde_json::from_value(held.clone()).ok())
            .unwrap_or_default();
        let level = self.level(revision, &overrides, !request.gerrit_changes.is_empty());
        let minutes = 10 + state.random.below(40);
        let faults = state.faults;
        let status = match level {
            _ if state.random.happens(faults.builds) => {
                ["INFRA_FAILURE", "CANCELED", "SLOW"][state.random.below(3) as usize]
            }
            Some(_) => "SUCCESS",
            None => "FAILURE",
        };
        let starts = now + 5_000 + state.random.below(60_000);
        let length = if status == "SLOW" { 24 * 60 } else { minutes };
        let id = 8_700_000_000_000_000_000 - state.builds.len() as i64;
        let target = level.map(|level| {
            // What makes the digest of two builds differ.
            let is_android = targets(&request.builder.builder) == ANDROID_TARGETS;
            let words = json!({"level": level, "build": id.to_string(), "android": is_android});
            state.store(words.to_string().into_bytes())
        });
        let build = Build {
            id,
            builder: request.builder.name(),
            tags: request
                .tags
                .iter()
                .map(|tag| (tag.key.clone(), tag.value.clone()))
                .collect(),
            status: match (status, level) {
                ("SLOW", Some(_)) => "SUCCESS",
                ("SLOW", None) => "FAILURE",
                (status, _) => status,
            },
            created: now,
            starts,
            ends: starts + length * 60_000,
            request_id: request.request_id.clone(),
            properties: request.properties.clone(),
            changes: request
                .gerrit_changes
                .iter()
                .map(GerritChange::json)
                .collect(),
            commit: request.gitiles_commit.json(),
            target,
            canceled_by_request: false,
            is_gone: false,
        };
        if let Some(digest) = build
            .target
            .clone()
            .filter(|_| state.random.happens(faults.expired))
        {
            state.expires.insert(digest, build.ends + 3_600_000);
        }
        state.builds.push(build.clone());
        Ok(build)
    }
}

fn search(state: &State, search: &Search, now: u64) -> Result<Value, Refusal> {
    search.mask.check()?;
    let tags = &search.predicate.tags;
    let changes: Vec<Value> = search
        .predicate
        .gerrit_changes
        .iter()
        .map(GerritChange::json)
        .collect();
    let fits = |build: &&Build| {
        let has = |tag: &Tag| build.tags.contains(&(tag.key.clone(), tag.value.clone()));
        build.builder == search.predicate.builder.name()
            && tags.iter().all(has)
            && search
                .predicate
                .status
                .as_ref()
                .is_none_or(|it| it == build.status(now))
            && changes.iter().all(|change| build.changes.contains(change))
    };
    let start: usize = match &*search.page_token {
        "" => 0,
        token => token
            .parse()
            .map_err(|_| (INVALID_ARGUMENT, "page_token".to_owned()))?,
    };
    let found: Vec<&Build> = state.builds.iter().rev().filter(fits).collect();
    // Few on a page, so that there are several.
    let size = search.page_size.clamp(1, 2);
    let page: Vec<Value> = found
        .iter()
        .skip(start)
        .take(size)
        .map(|it| it.json(now))
        .collect();
    let mut answer = json!({"builds": page});
    if found.len() > start + size {
        answer["nextPageToken"] = json!((start + size).to_string());
    }
    Ok(answer)
}

impl State {
    fn build(&mut self, id: &str) -> Result<&mut Build, Refusal> {
        let build = self
            .builds
            .iter_mut()
            .find(|build| build.id.to_string() == id);
        build.ok_or_else(|| not_found(id))
    }
}
