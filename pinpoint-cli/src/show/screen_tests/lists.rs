//! Lists of jobs, and the head of one.

use pinpoint_backends::job::WaitingReason;
use pinpoint_backends::store::{
    Job, JobFilter, JobId, Page, PagePosition, PublicKey, Signature, WorkerEntry,
};
use serde_json::{Value, json};

use super::{styles_shown, without_styles};
use crate::show::{job_list, worker_list};

const FIRST: &str = "0199f3c1a2b37f0e8d1c2b3a49586776";

fn job(id: &str, state: &str, title: &str) -> Value {
    json!({
        "id": id, "kind": "bisection", "state": state, "created": 1_769_860_800_000_u64,
        "updated": 1_769_860_900_000_u64, "duration": 100_000, "name": "", "benchmark": "bench.sh",
        "bot": "lovelace", "user": "ada", "repository": "/src/app", "title": title,
        "runs": 1, "builds": 12, "error": null,
    })
}

/// Its process was killed.
const KILLED: &str = "0199f3c1a2b37f0c8d1c2b3a49586776";

#[test]
fn jobs_in_a_list() {
    let jobs = [
        job(FIRST, "running", "pinpoint bisect v1 v2 -- ./bench.sh"),
        job(
            "0199f3c1a2b37f0d8d1c2b3a49586776",
            "failed",
            "pinpoint pairwise\nmain -- ./bench.sh",
        ),
        job(KILLED, "running", "pinpoint bisect v1 v2 -- ./bench.sh"),
    ];
    let interrupted = [JobId::parse(KILLED).unwrap()];
    let page = Page {
        jobs: serde_json::from_value(json!(jobs)).unwrap(),
        more: true,
    };
    insta::assert_snapshot!(
        "jobs_list",
        without_styles(&job_list::render(&page, &interrupted))
    );
    insta::assert_snapshot!(
        "jobs_list_in_color",
        styles_shown(&job_list::render(&page, &interrupted))
    );
    let empty = Page {
        jobs: Vec::new(),
        more: false,
    };
    let by_name = JobFilter {
        name: Some("x".into()),
        ..JobFilter::default()
    };
    let all = JobFilter::default();
    let first = || JobId::parse(FIRST).unwrap();
    let notes: Vec<String> = [
        job_list::note(&page, &PagePosition::First, &all),
        job_list::note(&page, &PagePosition::Before(first().into()), &all),
        job_list::note(&empty, &PagePosition::First, &all),
        job_list::note(&empty, &PagePosition::First, &by_name),
        job_list::note(&empty, &PagePosition::After(first().into()), &all),
    ]
    .map(|note| without_styles(&note.unwrap()))
    .into();
    insta::assert_snapshot!("jobs_list_notes", notes.join("\n"));
}

#[test]
fn workers_in_a_list() {
    const NOW: i64 = 1_769_860_900_000;
    let worker = |name: &str, bots: &[&str], ago: i64, gone: bool, job: Option<&str>| {
        json!({
            "name": name, "machine": name, "bots": bots, "host": {}, "version": "0.1.0",
            "started": 0, "seen": NOW - ago, "gone": gone, "job": job,
            "activity": if job.is_some() { "runs" } else { "" },
        })
    };
    let workers: Vec<WorkerEntry> = [
        worker("rack-1", &["lab"], 400, false, None),
        worker("rack-1.2", &["lab", "nightly"], 7_000, false, Some(FIRST)),
        worker("rack-2", &["lab"], 600_000, true, Some(FIRST)),
        worker("rack\u{1b}[31m-3", &["lab"], 200_000_000, true, None),
    ]
    .map(|worker| serde_json::from_value(worker).unwrap())
    .into();
    let list = worker_list::render(&workers, NOW);
    insta::assert_snapshot!("workers_list", without_styles(&list));
    insta::assert_snapshot!("workers_list_in_color", styles_shown(&list));
    let bot = || "lab".to_owned();
    let key = "ed25519:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    let key: PublicKey = key.parse().unwrap();
    let not_trusted = |signatures| WaitingReason::NotTrusted {
        bot: bot(),
        signatures,
    };
    let reasons = [
        WaitingReason::Untrusted,
        WaitingReason::NoWorker {
            bot: bot(),
            last_seen: None,
        },
        WaitingReason::NoWorker {
            bot: bot(),
            last_seen: Some(NOW - 7_300_000),
        },
        WaitingReason::Queued {
            workers: 1,
            place: 1,
        },
        WaitingReason::Queued {
            workers: 5,
            place: 3,
        },
        WaitingReason::AboutToBegin,
        WaitingReason::Stuck {
            reason: "its workflow is paused".into(),
        },
        WaitingReason::Silent {
            worker: "rack-1".into(),
            seen: NOW - 20_000,
            seconds: 9,
        },
        not_trusted(Vec::new()),
        not_trusted(vec![Signature { key, fits: false }]),
        not_trusted(vec![Signature { key, fits: true }]),
    ]
    .map(|waiting| worker_list::in_words(&waiting, NOW));
    insta::assert_snapshot!("waiting", reasons.join("\n"));
}

#[test]
fn a_job_that_is_shown() {
    let members = json!({
        "spec": null, "config": null, "outcome": null, "error": "the disk is full",
        "journal_version": 2, "written_by": "0.1.0", "imported": true, "name": "nightly",
    });
    let mut shown = job(FIRST, "failed", "pinpoint bisect v1 v2 -- ./bench.sh");
    for (name, value) in members.as_object().unwrap() {
        shown[name] = value.clone();
    }
    let job: Job = serde_json::from_value(shown).unwrap();
    insta::assert_snapshot!("jobs_show", without_styles(&job_list::about(&job, false)));
    insta::assert_snapshot!(
        "jobs_show_in_color",
        styles_shown(&job_list::about(&job, false))
    );
}

#[test]
fn a_job_that_was_asked_to_end() {
    let shown = |state: &str, by: &str, reason: &str| {
        let members = json!({
            "spec": null, "config": null, "outcome": null, "journal_version": 2,
            "written_by": "0.1.0", "cancel": { "by": by, "reason": reason },
        });
        let mut shown = job(FIRST, state, "pinpoint bisect v1 v2 -- ./bench.sh");
        for (name, value) in members.as_object().unwrap() {
            shown[name] = value.clone();
        }
        let job: Job = serde_json::from_value(shown).unwrap();
        without_styles(&job_list::about(&job, false))
    };
    let jobs = [
        shown("canceled", "ada", "wrong range\u{1b}[31m"),
        shown("canceled", "ada", ""),
        shown("running", "", "wrong range"),
        // The request came too late.
        shown("completed", "ada", "wrong range"),
    ];
    insta::assert_snapshot!("jobs_show_canceled", jobs.join("\n"));
}
