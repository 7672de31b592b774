//! The files that belong to jobs.

use std::time::Duration;

use pinpoint_backends::store::{
    Creation, JobFile, JobId, JobStore, KnownFile, Lease, MOST_FILE_BYTES, StoreError,
};
use pinpoint_core::JobState;

use crate::common::{Fixture, new_job};
use crate::on_both;

on_both! {
    a_job_has_files_from_its_beginning,
    a_file_grows_under_the_lease_alone,
    a_file_is_bounded,
    files_go_away_with_their_job,
    files_are_exported_and_imported,
    a_piece_that_was_changed_is_damage,
}

const LONG: Duration = Duration::from_secs(3600);

fn known(name: &str, size: u64, pieces: u64) -> KnownFile {
    KnownFile {
        name: name.into(),
        size,
        pieces,
    }
}

async fn contents(store: &JobStore, id: &JobId) -> Vec<(String, Vec<u8>)> {
    let files = store.files().list(id).await.unwrap().into_iter();
    files
        .map(|JobFile { known, content, .. }| {
            assert_eq!(known.size, content.len() as u64);
            (known.name, content)
        })
        .collect()
}

fn with<'a>(files: &'a [(&'a str, &'a [u8])]) -> Creation<'a> {
    Creation {
        files,
        ..Creation::default()
    }
}

async fn append(store: &JobStore, lease: &Lease, known: &KnownFile, content: &[u8]) {
    assert!(store.files().append(lease, known, content).await.unwrap());
}

async fn a_job_has_files_from_its_beginning(fixture: Fixture) {
    let store = &fixture.store;
    let (patch, empty) = (b"--- a\n+++ b\n\0\xff", b"");
    let files = [("patch", &patch[..]), ("empty", &empty[..])];
    let id = store
        .jobs()
        .create_with(&new_job("a job"), &with(&files))
        .await
        .unwrap()
        .id;
    let found = contents(store, &id).await;
    assert_eq!(
        found,
        [
            ("empty".into(), Vec::new()),
            ("patch".into(), patch.to_vec())
        ]
    );
    assert_eq!(contents(store, &fixture.job().await).await, []);
    let large = vec![0; MOST_FILE_BYTES as usize + 1];
    let refused = store
        .jobs()
        .create_with(&new_job("a job"), &with(&[("patch", &large)]))
        .await;
    assert!(matches!(refused, Err(StoreError::FileTooLarge { .. })));
}

async fn a_file_grows_under_the_lease_alone(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let lease = store.leases().grant(&id, "ada", LONG).await.unwrap();
    append(store, &lease, &known("tails", 0, 0), b"one ").await;
    append(store, &lease, &known("tails", 4, 1), b"two ").await;
    append(store, &lease, &known("waits", 0, 0), b"1").await;
    append(store, &lease, &known("waits", 0, 0), b"22").await;
    // Once more, as after a broken connection.
    append(store, &lease, &known("tails", 4, 1), b"two ").await;
    let all = [
        ("tails".to_owned(), b"one two ".to_vec()),
        ("waits".to_owned(), b"22".to_vec()),
    ];
    assert_eq!(contents(store, &id).await, all);

    let other = store.leases().grant(&id, "ada", LONG).await.unwrap();
    let late = store
        .files()
        .append(&lease, &known("tails", 8, 2), b"three")
        .await;
    assert!(
        matches!(late, Err(StoreError::LeaseLost { .. })),
        "{late:?}"
    );
    assert_eq!(contents(store, &id).await, all);
    append(store, &other, &known("tails", 8, 2), b"three").await;
    assert_eq!(contents(store, &id).await[0].1, b"one two three");
}

async fn a_file_is_bounded(fixture: Fixture) {
    let store = &fixture.store;
    let id = fixture.job().await;
    let lease = store.leases().grant(&id, "ada", LONG).await.unwrap();
    let half = vec![b'x'; MOST_FILE_BYTES as usize / 2 + 1];
    append(store, &lease, &known("tails", 0, 0), &half).await;
    let size = half.len() as u64;
    let more = store
        .files()
        .append(&lease, &known("tails", size, 1), &half)
        .await;
    assert!(!more.unwrap());
    append(store, &lease, &known("tails", size, 1), b"end").await;
    assert_eq!(contents(store, &id).await[0].1.len(), half.len() + 3);
}

async fn files_go_away_with_their_job(fixture: Fixture) {
    let store = &fixture.store;
    let id = store
        .jobs()
        .create_with(&new_job("a job"), &with(&[("patch", b"x")]))
        .await;
    id.unwrap();
    assert_eq!(store.jobs().purge(i64::MAX, 10).await.unwrap().len(), 1);
    let left = "SELECT name, name FROM job_files";
    assert_eq!(fixture.seen_behind_its_back(left).await, []);
}

async fn files_are_exported_and_imported(fixture: Fixture) {
    let store = &fixture.store;
    let id = store
        .jobs()
        .create_with(&new_job("a job"), &with(&[("patch", b"\0\xff")]))
        .await;
    let id = id.unwrap().id;
    let lease = store.leases().grant(&id, "ada", LONG).await.unwrap();
    append(store, &lease, &known("tails", 0, 0), b"one").await;
    append(store, &lease, &known("tails", 3, 1), b"two").await;
    store.leases().release(&lease).await.unwrap();
    let before = store.files().list(&id).await.unwrap();
    let mut exported = Vec::new();
    store
        .exchange()
        .export(&Default::default(), &mut exported)
        .await
        .unwrap();
    let text = String::from_utf8(exported).unwrap();
    let import = async |text: &str| {
        let check = |_: &_| Ok(());
        store.exchange().import(&mut text.as_bytes(), &check).await
    };
    store.jobs().purge(i64::MAX, 10).await.unwrap();

    let lines: Vec<&str> = text.lines().collect();
    let files: Vec<_> = (0..lines.len())
        .filter(|line| lines[*line].contains("{\"file\":"))
        .collect();
    assert_eq!(files.len(), 3, "{text}");
    let without = |line: usize| {
        let kept = lines
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != line);
        kept.map(|(_, line)| format!("{line}\n"))
            .collect::<String>()
    };
    for (changed, told) in [
        (without(files[0]), "a file of job"),
        (text.replace("\"files\":3", "\"files\":2"), "fewer files"),
        (text.replacen("\"size\":3", "\"size\":2", 1), "another size"),
        (
            text.replacen("\"size\":6", "\"size\":99999999", 1),
            "ends at 99999999",
        ),
        (
            text.replacen("\"content\":\"", "\"content\":\"?", 1),
            "not a valid file",
        ),
    ] {
        assert_ne!(changed, text);
        let refused = import(&changed).await.unwrap_err().to_string();
        assert!(refused.contains(told), "{refused}");
        assert!(crate::common::all(store).await.is_empty());
    }
    assert_eq!(import(&text).await.unwrap().added, 1);
    assert_eq!(store.files().list(&id).await.unwrap(), before);
    assert_eq!(import(&text).await.unwrap().there, 1);
    assert_eq!(
        store.jobs().get(&id).await.unwrap().state,
        JobState::Pending
    );

    // As version 1 wrote it.
    store.jobs().purge(i64::MAX, 10).await.unwrap();
    let old: String = (lines.iter().filter(|line| !line.contains("{\"file\":")))
        .map(|line| format!("{line}\n"))
        .collect();
    let old = old
        .replace("\"version\":2}", "\"version\":1}")
        .replace(",\"files\":3", "");
    assert_eq!(import(&old).await.unwrap().added, 1, "{old}");
    assert_eq!(store.files().list(&id).await.unwrap(), []);
}

async fn a_piece_that_was_changed_is_damage(fixture: Fixture) {
    let store = &fixture.store;
    let id = store
        .jobs()
        .create_with(&new_job("a job"), &with(&[("patch", b"abc")]))
        .await;
    let id = id.unwrap().id;
    fixture
        .behind_its_back("UPDATE job_files SET size = 2")
        .await;
    let damaged = store.files().list(&id).await.unwrap_err();
    assert!(matches!(damaged, StoreError::Damaged { .. }), "{damaged}");
    assert!(
        damaged.to_string().contains("the file patch of job"),
        "{damaged}"
    );
}
