//! Histories at a Gitiles over real git.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use fake_luci::{DEPENDENCY, FakeLuci, Faults, MAIN, Repository, Shape, Slower, World};
use pinpoint_backends::crrev::Crrev;
use pinpoint_backends::gitiles::{Gitiles, GitilesConfig, GitilesHistory};
use pinpoint_backends::google::TokenSource;
use pinpoint_core::{CombinedCommit, Commit};
use pinpoint_midpoint::{History as _, HistoryError, Midpoints};
use tempfile::TempDir;

use crate::server::InProcess;

const ADDRESS: &str = "https://gitiles.example.org/gitiles/{host}";

fn config(dir: &Path) -> GitilesConfig {
    GitilesConfig {
        address: ADDRESS.into(),
        per_second: None,
        ..GitilesConfig::new(dir.join("cache"))
    }
}

struct Setup {
    dir: TempDir,
    world: World,
    server: InProcess,
}

impl Setup {
    fn new(main: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let shape = Shape {
            main,
            dependency: 8,
            rolls: vec![(2, 6)],
            broken: Vec::new(),
            slower: Slower::Never,
        };
        let world = World::make(dir.path(), &shape);
        let server = InProcess::new(FakeLuci::new(world.repositories()).routes());
        Self { dir, world, server }
    }

    fn gitiles(&self) -> Gitiles {
        let transport = Arc::new(self.server.clone());
        let crrev = Crrev::new("https://crrev.example.org", transport.clone()).unwrap();
        let gitiles = Gitiles::new(config(self.dir.path()), TokenSource::None, transport);
        gitiles.unwrap().with_crrev(Arc::new(crrev))
    }

    fn history(&self) -> GitilesHistory {
        self.gitiles().history(MAIN).unwrap()
    }

    fn commit(&self, index: usize) -> CombinedCommit {
        Commit::new(MAIN, &self.world.main_hashes[index]).into()
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_came_as_garbage_is_not_kept() {
    let mut setup = Setup::new(3);
    let luci = FakeLuci::new(setup.world.repositories());
    setup.server = InProcess::new(luci.routes());
    let tip = &setup.world.main_hashes[2];
    let history = setup.history();
    luci.set_faults(Faults {
        garbage: 1_000,
        ..Faults::default()
    });
    let garbage = history.file(tip, &[], "DEPS", 1_000).await.unwrap_err();
    assert!(
        matches!(garbage, HistoryError::Unreadable { .. }),
        "{garbage}"
    );
    luci.set_faults(Faults::default());
    let file = history.file(tip, &[], "DEPS", 1_000).await.unwrap();
    assert!(file.is_some_and(|file| file.starts_with(b"deps = {")));
}

#[tokio::test]
async fn names_lead_to_full_hashes() {
    let setup = Setup::new(5);
    let history = setup.history();
    let hashes = &setup.world.main_hashes;
    for (name, index) in [
        ("main", 4),
        ("refs/heads/main", 4),
        ("main~1", 3),
        (&*hashes[2], 2),
        (&hashes[2].to_uppercase(), 2),
        (&hashes[2][..12], 2),
        ("main@{#1}", 0),
        ("refs/heads/main@{#5}", 4),
        ("3", 2),
    ] {
        assert_eq!(
            history.resolve(name).await.unwrap(),
            hashes[index],
            "{name}"
        );
    }
    let zero = "0".repeat(40);
    for name in [
        "elsewhere",
        "9999",
        "refs/heads/other@{#1}",
        "a..b",
        "",
        &zero,
    ] {
        let unknown = history.resolve(name).await.unwrap_err();
        assert!(
            matches!(unknown, HistoryError::UnknownRevision { .. }),
            "{name}: {unknown}"
        );
    }
    let commit = history.commit(&hashes[2]).await.unwrap();
    assert_eq!(commit.subject(), "Roll v8 2");
    assert_eq!(commit.author, "Ada <ada@example.org>");
    assert_eq!(commit.created.as_deref(), Some("2023-11-14T22:15:20+00:00"));
}

#[tokio::test]
async fn a_range_of_several_pages_is_whole() {
    let setup = Setup::new(2_345);
    let history = setup.history();
    let hashes = &setup.world.main_hashes;
    let (lower, higher) = (&hashes[3], &hashes[2_344]);
    assert_eq!(history.count(lower, higher).await.unwrap(), 2_341);
    assert_eq!(setup.server.asked().len(), 3);
    for offset in [0, 1, 999, 1_000, 1_001, 2_340] {
        let nth = history.nth(lower, higher, offset).await.unwrap();
        assert_eq!(nth, hashes[offset as usize + 4]);
    }
    let past = history.nth(lower, higher, 2_341).await.unwrap_err();
    assert!(matches!(
        past,
        HistoryError::NoSuchOffset { count: 2_341, .. }
    ));
    assert_eq!(history.count(higher, lower).await.unwrap(), 0);
    // All of it is known, except for the question in the other direction.
    assert_eq!(setup.server.asked().len(), 1);
}

#[tokio::test]
async fn what_was_answered_is_not_asked_again_by_another_process() {
    let setup = Setup::new(5);
    let hashes = &setup.world.main_hashes;
    let mut answers = Vec::new();
    for _ in 0..2 {
        let history = setup.history();
        let (lower, higher) = (&hashes[0], &hashes[4]);
        answers.push((
            history.commit(higher).await.unwrap(),
            history.count(lower, higher).await.unwrap(),
            history.is_ancestor(lower, higher).await.unwrap(),
            history.is_ancestor(higher, lower).await.unwrap(),
            history.parents(higher).await.unwrap(),
            history.file(higher, &[], "DEPS", 1_000).await.unwrap(),
            history
                .gitlinks(higher, &[], &["x/y".into()])
                .await
                .unwrap(),
        ));
        if answers.len() == 1 {
            assert!(!setup.server.asked().is_empty());
        }
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(setup.server.asked(), Vec::<String>::new());
}

/// Two branches that are merged, and one that is merged into a branch, with a gitlink.
fn merges(dir: &Path) -> Repository {
    let mut stream = String::new();
    for (mark, branch, from, merge) in [
        (1, "main", None, None),
        (2, "main", Some(1), None),
        (3, "side", Some(1), None),
        (4, "side", Some(3), None),
        (5, "inner", Some(3), None),
        (6, "side", Some(4), Some(5)),
        (7, "main", Some(2), None),
        (8, "main", Some(7), Some(6)),
        (9, "main", Some(8), None),
    ] {
        let time = 1_700_000_000 + mark * 60;
        write!(
            stream,
            "commit refs/heads/{branch}\nmark :{mark}\ncommitter Ada <a@b.c> {time} +0000\n\
             data 1\n{mark}\n"
        )
        .unwrap();
        for (word, other) in [("from", from), ("merge", merge)] {
            if let Some(other) = other {
                writeln!(stream, "{word} :{other}").unwrap();
            }
        }
        write!(stream, "M 100644 inline file{mark}\ndata 1\n{mark}\n").unwrap();
    }
    let link = "1".repeat(40);
    write!(
        stream,
        "commit refs/heads/main\nmark :10\ncommitter Ada <a@b.c> 1700001000 +0000\ndata 2\n10\n\
         from :9\nM 160000 {link} deep/er/lib\nM 120000 inline link\ndata 5\nfile1\n"
    )
    .unwrap();
    Repository::import(dir, &stream)
}

fn git(dir: &Path, arguments: &[&str]) -> Vec<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(arguments)
        .output();
    let output = output.unwrap();
    assert!(
        output.status.success() || arguments[0] == "merge-base",
        "{arguments:?}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
async fn ranges_and_ancestry_are_those_of_git() {
    let dir = tempfile::tempdir().unwrap();
    let repository = dir.path().join("src.git");
    let luci = FakeLuci::new([(MAIN, Arc::new(merges(&repository)))]);
    let transport = Arc::new(InProcess::new(luci.routes()));
    let gitiles = Gitiles::new(config(dir.path()), TokenSource::None, transport).unwrap();
    let history = gitiles.history(MAIN).unwrap();
    let all = git(&repository, &["rev-list", "--all"]);
    assert_eq!(all.len(), 10);
    for lower in &all {
        for higher in &all {
            let range = format!("{lower}..{higher}");
            let line = git(
                &repository,
                &["rev-list", "--first-parent", "--reverse", &range],
            );
            let count = history.count(lower, higher).await.unwrap();
            assert_eq!(count, line.len() as u64, "{range}");
            for (offset, expected) in line.iter().enumerate() {
                let nth = history.nth(lower, higher, offset as u64).await.unwrap();
                assert_eq!(nth, *expected, "{range}");
            }
            let without = git(&repository, &["rev-list", &format!("{higher}..{lower}")]);
            let is_ancestor = history.is_ancestor(lower, higher).await.unwrap();
            assert_eq!(is_ancestor, without.is_empty(), "{range}");
        }
        let parents = git(&repository, &["log", "-1", "--format=%P", lower]);
        assert_eq!(history.parents(lower).await.unwrap(), parents);
    }
    let tip = history.resolve("main").await.unwrap();
    let paths = ["deep/er/lib", "deep/er", "file1", "none/at/all"].map(str::to_owned);
    let links = history.gitlinks(&tip, &[], &paths).await.unwrap();
    assert_eq!(links, [("deep/er/lib".to_owned(), "1".repeat(40))].into());
    for (path, expected) in [
        ("file1", Some(&b"1"[..])),
        ("file11", None),
        ("deep", None),
        ("deep/er/lib", None),
        ("link", None),
    ] {
        let file = history.file(&tip, &[], path, 10).await.unwrap();
        assert_eq!(file.as_deref(), expected, "{path}");
    }
    let large = history.file(&tip, &[], "file1", 0).await.unwrap_err();
    assert!(matches!(large, HistoryError::TooLarge { size: 1, .. }));
    // Gitiles cannot merge.
    let merged = history.merged_tree(&tip, &all[..1]).await.unwrap();
    assert_eq!(merged, None);
}

#[tokio::test]
async fn a_roll_is_opened_by_the_file_that_names_it() {
    let setup = Setup::new(5);
    let midpoints = Midpoints::new(Arc::new(setup.gitiles()));
    let between = midpoints
        .between(&setup.commit(1), &setup.commit(2))
        .await
        .unwrap();
    // From the oldest commit of the dependency, which was held before, to the seventh.
    assert_eq!(between.count(), 6);
    let held: Vec<String> = {
        let mut held = Vec::new();
        for offset in 0..between.count() {
            let state = midpoints.nth(&between, offset).await.unwrap();
            assert_eq!(
                state.modified_deps[0].commit.repository,
                format!("{DEPENDENCY}.git")
            );
            held.push(state.modified_deps[0].commit.git_hash.clone());
        }
        held
    };
    assert_eq!(held, setup.world.dependency_hashes[1..=6]);
    let described = setup
        .gitiles()
        .describe(midpoints.nth(&between, 2).await.unwrap())
        .await;
    let described = described.unwrap();
    assert_eq!(described.main.subject.as_deref(), Some("Change 1"));
    let dependency = &described.modified_deps[0].commit;
    assert_eq!(dependency.subject.as_deref(), Some("Change v8 3"));
}

#[tokio::test]
async fn trouble_says_nothing_about_the_commit() {
    let dir = tempfile::tempdir().unwrap();
    let routes = axum::Router::new()
        .fallback(|| async { (StatusCode::FORBIDDEN, "not you").into_response() });
    let transport = Arc::new(InProcess::new(routes));
    let gitiles = Gitiles::new(config(dir.path()), TokenSource::None, transport).unwrap();
    let history = gitiles.history(MAIN).unwrap();
    let error = history.resolve("main").await.unwrap_err();
    assert!(matches!(error, HistoryError::Unreadable { .. }), "{error}");
    assert!(error.to_string().contains("403: not you"), "{error}");
    for elsewhere in [
        "https://example.org/x",
        "/home/ada/src",
        "https://evilgooglesource.com/x",
    ] {
        let error = gitiles.history(elsewhere).err().unwrap();
        assert!(
            matches!(error, HistoryError::UnknownRepository { .. }),
            "{error}"
        );
    }
}

#[tokio::test]
async fn who_is_signed_in_asks_below_another_path() {
    let setup = Setup::new(3);
    let source = TokenSource::Command(["echo", "token"].map(str::to_owned).into());
    let transport = Arc::new(setup.server.clone());
    let gitiles = Gitiles::new(config(setup.dir.path()), source, transport).unwrap();
    gitiles
        .history(MAIN)
        .unwrap()
        .resolve("main")
        .await
        .unwrap();
    let expected = "/gitiles/chromium.googlesource.com/a/chromium/src/+log/main?format=JSON&n=1";
    assert_eq!(setup.server.asked(), [expected]);
}
