//! Finds the existing build that fits a commit, and the outputs of a build.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::messages::{Build, BuildStatus};
use super::plan::BuildPlan;
use crate::gitiles::{RepositoryUrl, is_full_hash};
use crate::google::unix_milliseconds;

/// A build that takes longer is trouble with its builder, and not waited for. It says nothing about
/// its commit.
pub const MAX_BUILD_TIME: Duration = Duration::from_secs(4 * 3600);

/// The time after its end for which a build is used: CAS keeps its outputs for 32 days.
pub const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// The first of these builds, newest first, that matches the plan, and that holds the target if it
/// has ended. `now` is milliseconds since 1970.
pub fn build_of<'a>(
    plan: &BuildPlan,
    target: &str,
    builds: &'a [Build],
    now: u64,
) -> Option<&'a Build> {
    builds.iter().find(|build| fits(plan, target, build, now))
}

/// The commit of the first of these builds, newest first, that can be used: it is of the repository,
/// plain, holds the target, and CAS has its files. `now` is milliseconds since 1970.
pub fn newest_commit(
    repository: &RepositoryUrl,
    target: &str,
    builds: &[Build],
    now: u64,
) -> Option<String> {
    let usable = builds.iter().filter(|build| {
        build.status == BuildStatus::Success
            && is_within(&build.end_time, KEPT, now)
            && build.input.gerrit_changes.is_empty()
            && overrides(build).is_empty()
            && targets(build).contains_key(target)
    });
    let commit = |build: &Build| {
        let commit = build.input.gitiles_commit.as_ref()?;
        let is_of = commit.host == repository.host && commit.project == repository.project;
        (is_of && is_full_hash(&commit.id)).then(|| commit.id.clone())
    };
    usable.filter_map(commit).next()
}

fn fits(plan: &BuildPlan, target: &str, build: &Build, now: u64) -> bool {
    let is_usable = match build.status {
        BuildStatus::Scheduled | BuildStatus::Started => {
            is_within(&build.create_time, MAX_BUILD_TIME, now)
        }
        // One that does not say when it ended may have been forgotten by CAS.
        BuildStatus::Success => {
            is_within(&build.end_time, KEPT, now) && targets(build).contains_key(target)
        }
        _ => false,
    };
    let changes: BTreeSet<_> = build.input.gerrit_changes.iter().collect();
    is_usable && overrides(build) == plan.overrides && changes == plan.changes.iter().collect()
}

/// Returns whether this time is known, and no longer ago than `longest`.
fn is_within(time: &Option<String>, longest: Duration, now: u64) -> bool {
    let time = time.as_deref().and_then(unix_milliseconds);
    time.is_some_and(|time| now.saturating_sub(time) <= longest.as_millis() as u64)
}

/// The dependencies that a build pinned elsewhere: hashes by URL.
fn overrides(build: &Build) -> BTreeMap<String, String> {
    let held = build.input.properties.get("deps_revision_overrides");
    let held = held.and_then(Value::as_object).into_iter().flatten();
    let normal = |url: &String| match url.parse::<crate::gitiles::RepositoryUrl>() {
        Ok(url) => url.to_string(),
        Err(_) => url.clone(),
    };
    held.map(|(url, hash)| (normal(url), hash.as_str().unwrap_or_default().to_owned()))
        .collect()
}

/// The digests (`HASH/SIZE`) of a build's outputs, by target. The property is called
/// `swarm_hashes_refs/heads/main(at){#N}_without_patch`, or `_with_patch`; the one that fits
/// whether the build was patched counts first.
pub fn targets(build: &Build) -> BTreeMap<String, String> {
    let suffix = match build.input.gerrit_changes.is_empty() {
        true => "_without_patch",
        false => "_with_patch",
    };
    let properties = &build.output.properties;
    let hashes = || {
        properties
            .iter()
            .filter(|(name, _)| name.starts_with("swarm_hashes_"))
    };
    let found = hashes()
        .find(|(name, _)| name.ends_with(suffix))
        .or_else(|| hashes().next());
    let found = found
        .and_then(|(_, targets)| targets.as_object())
        .into_iter()
        .flatten();
    found
        .filter_map(|(target, digest)| Some((target.clone(), digest.as_str()?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use pinpoint_core::{CombinedCommit, Commit, Patch};
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    fn build(json: Value) -> Build {
        serde_json::from_value(json).unwrap()
    }

    fn plan(patch: Option<Patch>) -> BuildPlan {
        let main = Commit::new("https://chromium.googlesource.com/chromium/src", "a1");
        let commit = CombinedCommit {
            patch,
            ..main.into()
        };
        BuildPlan::new(&commit).unwrap()
    }

    fn made(status: &str, end_time: &str) -> Value {
        json!({
            "id": "8700000000000000001",
            "number": 3,
            "status": status,
            "endTime": end_time,
            "output": {"properties": {
                "other": 1,
                "swarm_hashes_refs/heads/main(at){#7}_without_patch": {"suite": "ab/12"},
            }},
        })
    }

    fn live(status: &str, create_time: &str) -> Value {
        json!({"id": "1", "status": status, "createTime": create_time})
    }

    #[test]
    fn only_a_build_of_the_same_fits() {
        let recent = "2023-11-01T00:00:00.123456789Z";
        let with = |change: &dyn Fn(&mut Value)| {
            let mut build = made("SUCCESS", recent);
            change(&mut build);
            build
        };
        let change = |change, patchset| json!({"host": "h", "project": "p", "change": change, "patchset": patchset});
        let cases: Vec<(Value, bool)> = vec![
            (made("SUCCESS", recent), true),
            // It takes too long, and its start is unknown.
            (live("STARTED", "2023-11-14T18:13:21Z"), true),
            (live("STARTED", "2023-11-14T18:13:19Z"), false),
            (live("SCHEDULED", "2023-11-14T18:13:21Z"), true),
            (live("SCHEDULED", "2023-11-10T18:13:21Z"), false),
            (json!({"id": "1", "status": "SCHEDULED"}), false),
            (made("FAILURE", recent), false),
            (made("INFRA_FAILURE", recent), false),
            (made("CANCELED", recent), false),
            (made("PAUSED", recent), false),
            // More than 30 days ago, at an unknown time.
            (made("SUCCESS", "2023-10-15T22:13:19Z"), false),
            (made("SUCCESS", "2023-10-15T22:13:21Z"), true),
            (made("SUCCESS", "yesterday"), false),
            (with(&|build| build["output"] = json!({})), false),
            (
                with(&|build| build["input"] = json!({"gerritChanges": [change("1", "1")]})),
                false,
            ),
            (
                with(&|build| {
                    build["input"] = json!({"properties": {"deps_revision_overrides": {"u": "h"}}});
                }),
                false,
            ),
            (
                with(&|build| {
                    build["input"] = json!({"properties": {"deps_revision_overrides": {}}});
                }),
                true,
            ),
        ];
        for (json, expected) in cases {
            let builds = [build(json.clone())];
            let found = build_of(&plan(None), "suite", &builds, NOW);
            assert_eq!(found.is_some(), expected, "{json}");
        }
        assert_eq!(
            build_of(&plan(None), "other", &[build(made("SUCCESS", recent))], NOW),
            None
        );
    }

    #[test]
    fn the_newest_commit_that_can_be_used_is_found() {
        let repository = "https://chromium.googlesource.com/chromium/src";
        let repository = repository.parse().unwrap();
        let recent = "2023-11-01T00:00:00Z";
        let of = |hash: &str, project: &str, change: &dyn Fn(&mut Value)| {
            let mut build = made("SUCCESS", recent);
            build["input"] = json!({"gitilesCommit": {
                "host": "chromium.googlesource.com",
                "project": project,
                "id": hash.repeat(40),
                "ref": "refs/heads/main",
            }});
            change(&mut build);
            self::build(build)
        };
        let src = "chromium/src";
        let builds = [
            of("1", "v8/v8", &|_| {}),
            of("2", src, &|build| build["status"] = json!("STARTED")),
            of("3", src, &|build| {
                build["endTime"] = json!("2023-10-01T00:00:00Z")
            }),
            of("4", src, &|build| build["output"] = json!({})),
            of("5", src, &|build| {
                build["input"]["gerritChanges"] =
                    json!([{"host": "h", "project": "p", "change": "1", "patchset": "1"}]);
            }),
            of("6", src, &|_| {}),
            of("7", src, &|_| {}),
        ];
        let newest = |builds| newest_commit(&repository, "suite", builds, NOW);
        assert_eq!(newest(&builds), Some("6".repeat(40)));
        assert_eq!(newest(&builds[..5]), None);
    }

    #[test]
    fn more_changes_than_asked_for_do_not_fit() {
        let patch = Patch::Gerrit {
            host: "h".into(),
            project: "p".into(),
            change: 7,
            patchset: 1,
            hash: None,
        };
        let plan = plan(Some(patch));
        let one = json!({"host": "h", "project": "p", "change": "7", "patchset": 1});
        let other = json!({"host": "h", "project": "p", "change": "8", "patchset": "1"});
        let with = |changes: Value| {
            let mut live = live("STARTED", "2023-11-14T22:00:00Z");
            live["input"] = json!({"gerritChanges": changes});
            build(live)
        };
        let builds = [
            with(json!([])),
            with(json!([one, other])),
            with(json!([one])),
        ];
        let found = build_of(&plan, "suite", &builds, NOW).unwrap();
        assert_eq!(found.input.gerrit_changes.len(), 1);
    }

    #[test]
    fn the_property_that_fits_the_patch_counts() {
        let property = |suffix: &str| format!("swarm_hashes_refs/heads/main(at){{#7}}{suffix}");
        let mut both = build(json!({"input": {"gerritChanges": [{"host": "h"}]}}));
        for (suffix, digest) in [("_without_patch", "a/1"), ("_with_patch", "b/2")] {
            let targets = json!({"suite": digest, "odd": 3});
            both.output.properties.insert(property(suffix), targets);
        }
        assert_eq!(
            targets(&both),
            [("suite".to_owned(), "b/2".to_owned())].into()
        );
        both.output.properties.remove(&property("_with_patch"));
        assert_eq!(targets(&both)["suite"], "a/1");
        assert!(targets(&Build::default()).is_empty());
    }
}
