//! A store with a job of each kind and state, in whose every text is markup, and a name of a
//! thousand characters.

use std::time::Duration;

use pinpoint_backends::store::{Announcement, JobId, JobStore, NewJob, NewToken};
use pinpoint_core::{BisectionSpec, CulpritFinderSpec, JobState, PairwiseSpec, Range, RunReport};
use serde_json::{Value, json};

use super::simulated::{Runs, commit, ended_with, report};
use crate::scene::{Running, Scene};
use crate::world::World;

/// Markup, and characters that turn the text around them.
pub(super) const HOSTILE: &str = "</script><img src=x onerror=hacked=1>\" \u{202e}'";

/// Letters of scripts that are written from the left, from the right, above each other and
/// without blanks.
const SCRIPTS: &str = "Bisect שלום مرحبا हिन्दी ไทย 测量性能回归 ሰላም Ελλάδα Қазақ 한국어 👩‍🔬 Z̸͑a̴l̵g̶o ";

/// The jobs that are there.
pub(super) struct Prepared {
    pub(super) bisection: JobId,
    pub(super) comparison: JobId,
    pub(super) wide: JobId,
    pub(super) finder: JobId,
    pub(super) failed: JobId,
    pub(super) canceled: String,
    pub(super) paused: String,
    pub(super) pending: String,
}

impl Prepared {
    /// The addresses of pages with the jobs, each in the states that it has.
    pub(super) fn pages(&self) -> Vec<String> {
        let Self {
            bisection,
            comparison,
            wide,
            finder,
            failed,
            canceled,
            paused,
            pending,
        } = self;
        let chart: String = form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect();
        vec![
            "/?size=25".into(),
            "/?sort=name&size=10".into(),
            "/?sort=-runs&columns=runs%2Cname%2Cstatus&size=10".into(),
            "/?text=nothing+like+it&from=2020-01-01&to=2020-01-02&size=25".into(),
            format!("/jobs/{bisection}"),
            format!("/jobs/{bisection}?at=9"),
            format!("/jobs/{comparison}"),
            format!("/jobs/{comparison}?chart={chart}&sort=change&order=descending&find=img"),
            format!("/jobs/{comparison}?run=1#run"),
            format!("/jobs/{wide}?page=7"),
            format!("/jobs/{finder}"),
            format!("/jobs/{finder}?at=8"),
            format!("/jobs/{failed}"),
            format!("/jobs/{canceled}"),
            format!("/jobs/{paused}"),
            format!("/jobs/{pending}"),
            format!("/jobs/{pending}/cancel"),
            format!("/compare?jobs={comparison},{wide}&page=2"),
            format!("/compare?jobs={bisection},{finder}"),
            format!("/compare?jobs={comparison},{bisection}"),
            format!("/commits/{:040x}", 21),
            format!("/new?from={pending}"),
            "/new?kind=try".into(),
            "/new?kind=culprit".into(),
            "/bots".into(),
            "/workers".into(),
            "/account".into(),
            "/admin".into(),
        ]
    }
}

/// Commit number 21 is slower, in each chart.
fn level(number: u64, index: u32) -> f64 {
    let level = if number < 21 { 100.0 } else { 110.0 };
    level + f64::from((index * 7 + number as u32 * 3) % 11) / 4.0
}

fn search() -> BisectionSpec {
    BisectionSpec {
        chart: Some("time".into()),
        ..BisectionSpec::new(Range::Between {
            good: commit(0),
            bad: commit(32),
        })
    }
}

/// A comparison around the slower commit.
fn pairs() -> PairwiseSpec {
    PairwiseSpec {
        pairs: 6,
        ..PairwiseSpec::new(commit(20), commit(21))
    }
}

/// Fills the store of a scene that runs; one comparison has a report of `many` for each run.
pub(super) async fn prepare(scene: &Scene, running: &Running, many: Runs) -> Prepared {
    let state_dir = scene.directory.path().join("state");
    let store = JobStore::open(&state_dir).await.unwrap();
    let world = &World { store };
    let names = |name: &str| NewJob {
        name: name.into(),
        benchmark: HOSTILE.into(),
        bot: HOSTILE.into(),
        user: HOSTILE.into(),
        repository: HOSTILE.into(),
        title: HOSTILE.into(),
        config: json!({ "request": { "story": HOSTILE, "bugId": 17 } }),
        ..NewJob::default()
    };
    let long: String = SCRIPTS.chars().cycle().take(1000).collect();
    let one = |number: u64, index: u32| report(&[("time", "ms", level(number, index))]);
    let few = |number: u64, index: u32| match (number, index) {
        (21, 1) => RunReport::failed(0, HOSTILE),
        _ => report(&[
            (HOSTILE, HOSTILE, level(number, index)),
            ("size", "bytes", 2048.0),
            ("a metric that nothing moves", "ms", level(0, index)),
        ]),
    };
    let bisection = ended_with(world, search(), one, &[16], names(&long)).await;
    let comparison = ended_with(world, pairs(), few, &[], names(HOSTILE)).await;
    let wide = ended_with(world, pairs(), many, &[], names("Many charts")).await;
    let mut finder = CulpritFinderSpec::new(search().range);
    finder.bisection = search();
    finder.pairs = 10;
    let finder = ended_with(world, finder, one, &[], names("Verified")).await;
    let failed = failed(&world.store, names("Failed")).await;
    let [canceled, paused, pending] =
        ["Canceled", "Paused", "Pending"].map(|name| made(running, &format!("{name} {HOSTILE}")));
    let reason = json!({ "reason": HOSTILE });
    let path = |id: &str, action: &str| format!("/api/v2/jobs/{id}/{action}");
    assert_eq!(running.post(&path(&canceled, "cancel"), "", &reason), 200);
    assert_eq!(running.post(&path(&paused, "pause"), "", &json!({})), 200);
    announced(&world.store, &pending).await;
    Prepared {
        bisection,
        comparison,
        wide,
        finder,
        failed,
        canceled,
        paused,
        pending,
    }
}

/// The report of a run with this many charts.
pub(super) fn with_charts<const CHARTS: usize>(number: u64, index: u32) -> RunReport {
    let names: Vec<_> = (0..CHARTS).map(|it| format!("chart/{it:05}")).collect();
    let charts = names.iter().enumerate().map(|(at, name)| {
        let index = index + at as u32 % 5;
        (name.as_str(), "ms", level(number, index) + at as f64)
    });
    report(&charts.collect::<Vec<_>>())
}

/// Makes a job that no worker takes.
pub(super) fn made(running: &Running, name: &str) -> String {
    let job = json!({
        "bot": "lab", "benchmark": "parsing", "name": name,
        "bisection": { "good": "a".repeat(40), "bad": "b".repeat(40) },
    });
    assert_eq!(running.post("/api/v2/jobs", "", &job), 200);
    let (_, listed) = running.get("/api/v2/jobs?page_size=1", "");
    listed["jobs"][0]["jobId"].as_str().unwrap().to_owned()
}

/// A job that ended with an error.
async fn failed(store: &JobStore, names: NewJob) -> JobId {
    let job = NewJob::new(search()).unwrap();
    let job = NewJob {
        kind: job.kind,
        spec: job.spec,
        ..names
    };
    let id = store.jobs().create(&job).await.unwrap();
    let lease = store.leases().grant(&id, "test", Duration::from_secs(600));
    let lease = lease.await.unwrap();
    for (state, error) in [(JobState::Running, None), (JobState::Failed, Some(HOSTILE))] {
        let set = store
            .leases()
            .set_state(&lease, state, error, None::<&Value>);
        set.await.unwrap();
    }
    store.leases().release(&lease).await.unwrap();
    id
}

/// A worker and a token.
async fn announced(store: &JobStore, job: &str) {
    let worker = Announcement {
        id: "rack-1".into(),
        name: format!("rack-1 {HOSTILE}"),
        machine: HOSTILE.into(),
        bots: vec!["lab".into()],
        trusted: None,
        host: json!({ "kernel": HOSTILE }),
        started: 1_700_000_000_000,
        job: JobId::parse(job).ok(),
        activity: HOSTILE.into(),
    };
    let hour = Duration::from_secs(3600);
    store.workers().announce(&worker, hour).await.unwrap();
    let token = NewToken {
        name: "nightly <b>".into(),
        user: whoami::username().unwrap_or_else(|_| "nobody".into()),
        rights: vec!["see".into()],
        expires: None,
    };
    store.tokens().create(&token, None).await.unwrap();
}
