//! Export and import: everything, or nothing and the reason.

use std::io::{BufRead, Read};
use std::time::Duration;

use pinpoint_backends::store::{
    CancelRequest, Imported, Job, JobFilter, JobStore, NewJob, StoreError,
};
use pinpoint_core::{JobState, Record};

use crate::a_run::run;
use crate::common::{Backend, Fixture, all, append_all, new_job, ticks};
use crate::on_both;

on_both! {
    everything_comes_back_from_the_other_database,
    what_is_there_already_is_left_alone,
    only_what_is_asked_for_is_exported,
    damaged_input_is_refused_with_its_line,
    what_cannot_be_read_again_is_not_imported,
    an_imported_job_is_known_until_it_is_trusted,
}

/// Jobs in every state, with all possible contents.
async fn fill(store: &JobStore) {
    for state in JobState::ALL {
        let job = NewJob {
            name: "é \"quoted\"".into(),
            benchmark: state.to_string(),
            bot: "m".into(),
            user: "ada".into(),
            // As text: a number that changes when reread and rewritten.
            config: serde_json::json!({ "tiny": 5e-324, "zero": -0.0, "text": "\u{0}" }),
            ..new_job("a job")
        };
        let id = store.jobs().create(&job).await.unwrap();
        let mut journal = store.journals().open(&id).await.unwrap();
        append_all(&mut journal, &ticks(2)).await;
        append_all(&mut journal, &[run(2), Record::CancelRequested, run(3)]).await;
        if state == JobState::Canceled {
            assert_eq!(store.cancellations().withdraw(&id).await.unwrap(), 2);
        }
        if state != JobState::Pending {
            store
                .jobs()
                .set_state(&id, JobState::Running, None, None)
                .await
                .unwrap();
        }
        let request = CancelRequest {
            reason: "\"wrong\" range".into(),
            by: "ada".into(),
        };
        store
            .cancellations()
            .request(&id, &request, None)
            .await
            .unwrap();
        if ![JobState::Pending, JobState::Running].contains(&state) {
            let outcome = serde_json::json!({ "culprits": [1] });
            let (error, outcome) = (Some("for a reason"), Some(&outcome));
            store
                .jobs()
                .set_state(&id, state, error, outcome)
                .await
                .unwrap();
        }
    }
    let id = store
        .jobs()
        .create(&new_job("without a journal"))
        .await
        .unwrap();
    store
        .jobs()
        .set_state(&id, JobState::Running, None, None)
        .await
        .unwrap();
}

async fn export(store: &JobStore) -> String {
    let mut output = Vec::new();
    store
        .exchange()
        .export(&JobFilter::default(), &mut output)
        .await
        .unwrap();
    String::from_utf8(output).unwrap()
}

async fn import(store: &JobStore, text: &str) -> Result<Imported, StoreError> {
    store
        .exchange()
        .import(&mut text.as_bytes(), &|_| Ok(()))
        .await
}

async fn everything_comes_back_from_the_other_database(fixture: Fixture) {
    let store = &fixture.store;
    fill(store).await;
    let exported = export(store).await;
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let other = Fixture::with_backend(backend).await;
        let imported = import(&other.store, &exported).await.unwrap();
        assert_eq!((imported.added, imported.there), (6, 0));
        assert_eq!(export(&other.store).await, exported);
        let jobs = all(store).await;
        assert_eq!(all(&other.store).await, jobs);
        for job in jobs {
            let id = job.id.as_str();
            let (left, mut right) = (
                store.jobs().find(&id.parse().unwrap()).await.unwrap(),
                other.store.jobs().find(&id.parse().unwrap()).await.unwrap(),
            );
            assert!(right.imported && !left.imported);
            right.imported = false;
            assert_eq!(left, right);
            let mut left = store.journals().open(&job.id).await.unwrap();
            let mut right = other.store.journals().open(&job.id).await.unwrap();
            assert_eq!(
                left.records().await.unwrap(),
                right.records().await.unwrap()
            );
            // And it continues there.
            append_all(&mut right, &[run(9)]).await;
        }
        let words = JobFilter {
            text: Some("reason".into()),
            ..JobFilter::default()
        };
        assert_eq!(crate::common::found(&other.store, words).await.len(), 3);
    }
}

async fn what_is_there_already_is_left_alone(fixture: Fixture) {
    let store = &fixture.store;
    fill(store).await;
    let before = export(store).await;
    let imported = import(store, &before).await.unwrap();
    assert_eq!((imported.added, imported.there), (0, 6));
    assert_eq!(export(store).await, before);
    fixture
        .behind_its_back("DELETE FROM jobs WHERE benchmark = 'failed'")
        .await;
    let imported = import(store, &before).await.unwrap();
    assert_eq!((imported.added, imported.there), (1, 5));
    assert_eq!(export(store).await, before);
}

async fn only_what_is_asked_for_is_exported(fixture: Fixture) {
    let store = &fixture.store;
    fill(store).await;
    let filter = JobFilter {
        state: Some(JobState::Failed),
        ..JobFilter::default()
    };
    let mut output = Vec::new();
    assert_eq!(
        store.exchange().export(&filter, &mut output).await.unwrap(),
        1
    );
    // A first line, a job, five records, a last line.
    assert_eq!(output.iter().filter(|byte| **byte == b'\n').count(), 8);
    let nothing = JobFilter {
        kinds: vec!["none".into()],
        ..JobFilter::default()
    };
    let mut output = Vec::new();
    assert_eq!(
        store
            .exchange()
            .export(&nothing, &mut output)
            .await
            .unwrap(),
        0
    );
    let text = String::from_utf8(output).unwrap();
    assert_eq!(import(store, &text).await.unwrap(), Imported::default());
}

async fn damaged_input_is_refused_with_its_line(fixture: Fixture) {
    let source = Fixture::new().await;
    fill(&source.store).await;
    let whole = export(&source.store).await;
    let store = &fixture.store;
    let lines: Vec<&str> = whole.lines().collect();
    let refused = async |text: String, line: usize, reason: &str| {
        match import(store, &text).await.unwrap_err() {
            StoreError::Import {
                line: found,
                reason: told,
            } => {
                assert_eq!(found, line as u64, "{told}");
                assert!(told.contains(reason), "{told}");
            }
            other => panic!("{other}"),
        }
        assert_eq!(all(store).await, [], "something was imported");
    };
    // Cut off at any line, and in the middle of any.
    for end in 0..lines.len() {
        refused(lines[..end].join("\n"), end + 1, "").await;
        let half = &lines[end][..lines[end].len() / 2];
        refused([&lines[..end], &[half]].concat().join("\n"), end + 1, "EOF").await;
    }
    // A line is missing, or duplicated.
    for line in 1..lines.len() - 1 {
        let mut fewer = lines.clone();
        fewer.remove(line);
        assert!(
            import(store, &fewer.join("\n")).await.is_err(),
            "without line {line}"
        );
        let mut more = lines.clone();
        more.insert(line, lines[line]);
        assert!(
            import(store, &more.join("\n")).await.is_err(),
            "line {line} twice"
        );
        assert_eq!(all(store).await, []);
    }
    let changed = |from: &str, to: &str| whole.replacen(from, to, 1);
    refused("{}\n".into(), 1, "").await;
    refused("\n".into(), 1, "").await;
    refused(lines[1..].join("\n"), 1, "not an export of jobs").await;
    refused(changed("\"version\":3", "\"version\":4"), 1, "version 4").await;
    refused(changed("\"id\":\"0", "\"id\":\"x"), 2, "whole job id").await;
    refused(
        changed("\"journal_version\":2", "\"journal_version\":8"),
        2,
        "journal version 8",
    )
    .await;
    refused(
        changed("\"state\":\"running\"", "\"state\":\"happy\""),
        2,
        "happy",
    )
    .await;
    refused(changed("\"kind\":", "\"kinds\":"), 2, "kinds").await;
    refused(
        changed("time_passed", "time_flown"),
        4,
        "not a valid record",
    )
    .await;
    refused(format!("{whole}\n"), lines.len() + 1, "").await;
    refused(format!("{whole}{whole}"), lines.len() + 1, "follows").await;
    assert_eq!(import(store, whole.trim_end()).await.unwrap().added, 6);
}

/// The contents of a line of an export, without irrelevant fields.
fn lines(spec: &str, record: &str) -> String {
    let first = r#"{"pinpoint_jobs":{"version":1}}"#;
    let job = format!(
        r#"{{"job":{{"id":"01900000000170008000000000000001","kind":"bisection","state":"pending",
        "created":1,"updated":1,"duration":null,"name":"","benchmark":"","bot":"","user":"",
        "repository":"","title":"","error":null,"journal_version":1,"written_by":"0.1.0",
        "cancel_requested":false,"spec":{spec},"config":{{}},"outcome":null,"records":1}}}}"#
    );
    let record = format!(
        r#"{{"record":{{"recorded":1,"event":{record},"detail":null,"withdrawn":false}}}}"#
    );
    let last = r#"{"end":{"jobs":1,"records":1}}"#;
    let job = job.replace('\n', " ");
    [first, &job, &record, last].join("\n")
}

const TICK: &str = r#"{"time_passed":{"elapsed":1}}"#;

async fn what_cannot_be_read_again_is_not_imported(fixture: Fixture) {
    let store = &fixture.store;
    let nested = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let number = "9".repeat(3_000_000);
    let long = format!("\"{}\"", "x".repeat(17 << 20));
    for (spec, record, line, reason) in [
        (&*nested, TICK, 2, "recursion limit"),
        ("{}", &*nested, 3, ""),
        (&number, TICK, 2, "spec"),
        (
            "{}",
            &format!("{{\"{number}\":1}}"),
            3,
            "not a valid record",
        ),
        (&long, TICK, 2, "16 MiB"),
    ] {
        let error = import(store, &lines(spec, record)).await.unwrap_err();
        assert!(
            error.to_string().len() < 1000,
            "{}",
            error.to_string().len()
        );
        match error {
            StoreError::Import {
                line: found,
                reason: told,
            } => {
                assert_eq!(found, line, "{told}");
                assert!(told.contains(reason), "{told}");
            }
            other => panic!("{other}"),
        }
    }
    let check = |job: &Job| match job.spec["seed"].as_u64() {
        Some(_) => Ok(()),
        None => Err("it has no seed".to_owned()),
    };
    let refused = store
        .exchange()
        .import(&mut lines("{}", TICK).as_bytes(), &check)
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("it has no seed"), "{refused}");
    assert_eq!(all(store).await, [], "something was imported");
    let seeded = lines(r#"{"seed":1}"#, TICK);
    let imported = store
        .exchange()
        .import(&mut seeded.as_bytes(), &check)
        .await
        .unwrap();
    assert_eq!(imported.added, 1);
}

/// A line without an end.
struct Endless {
    read: u64,
}

impl Read for Endless {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        unreachable!("it is read by its buffer")
    }
}

impl BufRead for Endless {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        Ok(&[b' '; 1 << 16])
    }

    fn consume(&mut self, amount: usize) {
        self.read += amount as u64;
    }
}

#[tokio::test]
async fn a_line_without_an_end_is_not_read_to_it() {
    let fixture = Fixture::new().await;
    let mut endless = Endless { read: 0 };
    let error = fixture
        .store
        .exchange()
        .import(&mut endless, &|_| Ok(()))
        .await;
    let error = error.unwrap_err();
    assert!(error.to_string().contains("64 MiB"), "{error}");
    assert!(endless.read <= (64 << 20) + 1, "{}", endless.read);
}

async fn an_imported_job_is_known_until_it_is_trusted(fixture: Fixture) {
    let store = &fixture.store;
    import(store, &lines("{}", TICK)).await.unwrap();
    let id = all(store).await[0].id.clone();
    let is_imported = async || store.jobs().get(&id).await.unwrap().imported;
    assert!(is_imported().await);
    // Work on it does not change it.
    let time = Duration::from_secs(60);
    for owner in ["ada", "bob"] {
        let lease = store.leases().grant(&id, owner, time).await.unwrap();
        store.leases().renew(&lease, time).await.unwrap();
        store.leases().release(&lease).await.unwrap();
    }
    assert!(is_imported().await);
    let lease = store.leases().grant(&id, "ada", time).await.unwrap();
    store.jobs().trust(&id).await.unwrap();
    assert!(!is_imported().await);
    // Earlier leases are worthless.
    let error = store.leases().renew(&lease, time).await.unwrap_err();
    assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
    let lease = store.leases().grant(&id, "ada", time).await.unwrap();
    store.jobs().trust(&id).await.unwrap();
    store.leases().renew(&lease, time).await.unwrap();
    // It comes with the job.
    let exported = export(store).await;
    let other = Fixture::new().await;
    import(&other.store, &exported).await.unwrap();
    assert!(other.store.jobs().get(&id).await.unwrap().imported);
}
