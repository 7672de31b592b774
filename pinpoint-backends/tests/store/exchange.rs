//! Export and import: everything, or nothing and why.

use pinpoint_backends::store::{Imported, JobFilter, JobStore, NewJob, StoreError};
use pinpoint_core::{Event, JobState, Journal};

use crate::a_run::run;
use crate::common::{Backend, Fixture, all, append_all, new_job, ticks};
use crate::on_both;

on_both! {
    everything_comes_back_from_the_other_database,
    what_is_there_already_is_left_alone,
    only_what_is_asked_for_is_exported,
    damaged_input_is_refused_with_its_line,
}

/// Jobs in every state, with all that a job can have.
async fn fill(store: &JobStore) {
    for state in JobState::ALL {
        let job = NewJob {
            name: "é \"quoted\"".into(),
            benchmark: state.to_string(),
            bot: "m".into(),
            user: "ada".into(),
            // As text: a number that changes when it is read and written again.
            config: serde_json::json!({ "tiny": 5e-324, "zero": -0.0, "text": "\u{0}" }),
            ..new_job("a job")
        };
        let id = store.create(&job).await.unwrap();
        let mut journal = store.journal(&id).await.unwrap();
        append_all(&mut journal, &ticks(2)).await;
        append_all(
            &mut journal,
            &[run(2), Event::CancelRequested.into(), run(3)],
        )
        .await;
        if state == JobState::Canceled {
            assert_eq!(store.withdraw_cancellation(&id).await.unwrap(), 2);
        }
        if state != JobState::Pending {
            store
                .set_state(&id, JobState::Running, None, None)
                .await
                .unwrap();
        }
        if ![JobState::Pending, JobState::Running].contains(&state) {
            let outcome = serde_json::json!({ "culprits": [1] });
            let (error, outcome) = (Some("for a reason"), Some(&outcome));
            store.set_state(&id, state, error, outcome).await.unwrap();
        }
        store.request_cancel(&id).await.unwrap();
    }
    let id = store.create(&new_job("without a journal")).await.unwrap();
    store
        .set_state(&id, JobState::Running, None, None)
        .await
        .unwrap();
}

async fn export(store: &JobStore) -> String {
    let mut output = Vec::new();
    store
        .export(&JobFilter::default(), &mut output)
        .await
        .unwrap();
    String::from_utf8(output).unwrap()
}

async fn import(store: &JobStore, text: &str) -> Result<Imported, StoreError> {
    store.import(&mut text.as_bytes()).await
}

async fn everything_comes_back_from_the_other_database(fixture: Fixture) {
    let store = &fixture.store;
    fill(store).await;
    let exported = export(store).await;
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let other = Fixture::of(backend).await;
        let imported = import(&other.store, &exported).await.unwrap();
        assert_eq!(imported, Imported { added: 6, there: 0 });
        assert_eq!(export(&other.store).await, exported);
        let jobs = all(store).await;
        assert_eq!(all(&other.store).await, jobs);
        for job in jobs {
            let id = job.id.as_str();
            let (left, right) = (
                store.get(id).await.unwrap(),
                other.store.get(id).await.unwrap(),
            );
            assert_eq!(left, right);
            let mut left = store.journal(&job.id).await.unwrap();
            let mut right = other.store.journal(&job.id).await.unwrap();
            assert_eq!(
                left.records().await.unwrap(),
                right.records().await.unwrap()
            );
            // And it goes on there.
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
    assert_eq!(
        import(store, &before).await.unwrap(),
        Imported { added: 0, there: 6 }
    );
    assert_eq!(export(store).await, before);
    fixture
        .behind_its_back("DELETE FROM jobs WHERE benchmark = 'failed'")
        .await;
    assert_eq!(
        import(store, &before).await.unwrap(),
        Imported { added: 1, there: 5 }
    );
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
    assert_eq!(store.export(&filter, &mut output).await.unwrap(), 1);
    // A first line, a job, five records, a last line.
    assert_eq!(output.iter().filter(|byte| **byte == b'\n').count(), 8);
    let nothing = JobFilter {
        kind: Some("none".into()),
        ..JobFilter::default()
    };
    let mut output = Vec::new();
    assert_eq!(store.export(&nothing, &mut output).await.unwrap(), 0);
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
    // A line is missing, or is there twice.
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
    refused(lines[1..].join("\n"), 1, "no export of jobs").await;
    refused(changed("\"version\":1", "\"version\":2"), 1, "version 2").await;
    refused(changed("\"id\":\"0", "\"id\":\"x"), 2, "whole name").await;
    refused(
        changed("\"journal_version\":1", "\"journal_version\":8"),
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
    refused(changed("time_passed", "time_flown"), 4, "no event").await;
    refused(format!("{whole}\n"), lines.len() + 1, "").await;
    refused(format!("{whole}{whole}"), lines.len() + 1, "follows").await;
    assert_eq!(import(store, whole.trim_end()).await.unwrap().added, 6);
}
