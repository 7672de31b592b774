//! Repositories of every shape, with and without a commit-graph.

use std::fs;

use pinpoint_midpoint::History;

use super::{Truth, between};
use crate::world::{World, git};

/// The ways in which a repository's commits are indexed.
const INDEXES: [&str; 6] = ["none", "whole", "stale", "chain", "packed", "chain, packed"];

/// Writes the index, where half of the commits are known before the rest.
fn index(world: &World, how: &str, half: &str) {
    let repository = &world.repository;
    let write = |options: &[&str], tip: &str| {
        let tips = world.path("tips");
        fs::write(&tips, format!("{tip}\n")).unwrap();
        let mut arguments = vec!["commit-graph", "write", "--stdin-commits"];
        arguments.extend(options);
        let status = std::process::Command::new("git")
            .arg("-C")
            .arg(repository)
            .args(&arguments)
            .stdin(fs::File::open(&tips).unwrap())
            .status()
            .unwrap();
        assert!(status.success());
    };
    let main = git(repository, &["rev-parse", "main"]);
    match how {
        "none" => {}
        "whole" => {
            git(repository, &["commit-graph", "write", "--reachable"]);
        }
        "stale" => write(&[], half),
        "packed" => {
            git(repository, &["repack", "-adq"]);
        }
        chain => {
            write(&["--split=no-merge"], half);
            write(&["--split=no-merge"], &main);
            let path = repository.join(".git/objects/info/commit-graphs/commit-graph-chain");
            assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 2);
            if chain.ends_with("packed") {
                git(repository, &["repack", "-adq"]);
            }
        }
    }
}

async fn check(parents: &[Vec<usize>]) {
    let mut truth = None;
    for how in INDEXES {
        let world = World::new();
        let commits = world.make(parents);
        // The hashes are the same every time.
        let truth = truth.get_or_insert_with(|| Truth::new(&world.repository, &commits));
        index(&world, how, &commits[commits.len() / 2]);
        truth.holds_for(&world.history()).await;
    }
}

#[tokio::test]
async fn a_line() {
    check(&[vec![], vec![0], vec![1], vec![2], vec![3]]).await;
}

#[tokio::test]
async fn a_branch_that_is_merged() {
    // 0 - 1 - 2 - 5 - 6, with 3 - 4 from 1 into 5.
    check(&[
        vec![],
        vec![0],
        vec![1],
        vec![1],
        vec![3],
        vec![2, 4],
        vec![5],
    ])
    .await;
}

#[tokio::test]
async fn branches_that_merge_one_another() {
    check(&[
        vec![],
        vec![0],
        vec![0],
        vec![1, 2],
        vec![2, 1],
        vec![3, 4],
        vec![4, 3],
        vec![5, 6],
    ])
    .await;
}

#[tokio::test]
async fn a_merge_of_many_and_a_second_root() {
    check(&[
        vec![],
        vec![0],
        vec![0],
        vec![0],
        vec![],
        vec![1, 2, 3, 4],
        vec![5],
        vec![4],
        vec![6, 7],
    ])
    .await;
}

#[tokio::test]
async fn commits_made_while_the_history_is_open() {
    let world = World::new();
    let mut commits = world.make(&[vec![], vec![0]]);
    git(&world.repository, &["commit-graph", "write", "--reachable"]);
    let history = world.history();
    assert_eq!(history.count(&commits[0], &commits[1]).await.unwrap(), 1);
    git(&world.repository, &["reset", "-q", "--hard"]);
    commits.push(world.commit("file", "1"));
    git(&world.repository, &["repack", "-adq"]);
    commits.push(world.commit("file", "2"));
    Truth::new(&world.repository, &commits)
        .holds_for(&history)
        .await;
}

#[tokio::test]
async fn a_damaged_commit_graph_is_left_alone() {
    let world = World::new();
    let commits = world.make(&[vec![], vec![0], vec![1]]);
    git(&world.repository, &["commit-graph", "write", "--reachable"]);
    let path = world.repository.join(".git/objects/info/commit-graph");
    let graph = fs::read(&path).unwrap();
    let mut writable = fs::metadata(&path).unwrap().permissions();
    #[allow(clippy::permissions_set_readonly_false)]
    writable.set_readonly(false);
    fs::set_permissions(&path, writable).unwrap();
    fs::write(&path, &graph[..graph.len() / 2]).unwrap();
    let history = world.history();
    let (first, last) = (&commits[0], &commits[2]);
    assert_eq!(between(&history, first, last).await, commits[1..]);
}

#[tokio::test]
async fn linked_work_trees_submodules_and_bare_repositories() {
    let world = World::new();
    let commits = world.make(&[vec![], vec![0], vec![1]]);
    let linked = world.path("linked");
    let bare = world.path("bare.git");
    let outer = world.path("outer");
    let place = world.repository.to_str().unwrap();
    git(
        &world.repository,
        &["worktree", "add", "-q", linked.to_str().unwrap(), "main~1"],
    );
    git(
        &world.repository,
        &["clone", "-q", "--bare", ".", bare.to_str().unwrap()],
    );
    fs::create_dir(&outer).unwrap();
    git(&outer, &["init", "-q"]);
    let allowed = "protocol.file.allow=always";
    git(
        &outer,
        &["-c", allowed, "submodule", "--quiet", "add", place, "inner"],
    );
    let truth = Truth::new(&world.repository, &commits);
    for place in [&linked, &bare, &outer.join("inner")] {
        truth.holds_for(&world.history_of(place)).await;
    }
    let head = world.history_of(&linked).resolve("HEAD").await.unwrap();
    assert_eq!(head, commits[1]);
}

#[tokio::test]
async fn a_shallow_clone_ends_where_it_was_cut_off() {
    let world = World::new();
    let commits = world.make(&[vec![], vec![0], vec![1], vec![2]]);
    let shallow = world.path("shallow");
    let origin = format!("file://{}", world.repository.display());
    let arguments = [
        "clone",
        "-q",
        "--depth",
        "2",
        &origin,
        shallow.to_str().unwrap(),
    ];
    git(&world.repository, &arguments);
    let history = world.history_of(&shallow);
    Truth::new(&shallow, &commits[2..])
        .holds_for(&history)
        .await;
    assert!(history.parents(&commits[2]).await.unwrap().is_empty());
    let error = history.count(&commits[0], &commits[3]).await.unwrap_err();
    assert!(
        error.to_string().contains("git fetch --unshallow"),
        "{error}"
    );
    assert!(error.to_string().contains(&commits[0]), "{error}");
}

#[tokio::test]
async fn replaced_and_grafted_commits_have_their_new_parents() {
    for how in ["replace", "graft"] {
        let world = World::new();
        let commits = world.make(&[vec![], vec![0], vec![1], vec![2]]);
        git(&world.repository, &["commit-graph", "write", "--reachable"]);
        // The last but one now follows the first.
        if how == "replace" {
            git(
                &world.repository,
                &["replace", "--graft", &commits[2], &commits[0]],
            );
        } else {
            git(
                &world.repository,
                &["config", "advice.graftFileDeprecated", "false"],
            );
            let line = format!("# a comment\n{} {}\n", commits[2], commits[0]);
            fs::create_dir_all(world.repository.join(".git/info")).unwrap();
            fs::write(world.repository.join(".git/info/grafts"), line).unwrap();
        }
        let history = world.history();
        assert_eq!(
            history.parents(&commits[2]).await.unwrap(),
            [commits[0].clone()]
        );
        Truth::new(&world.repository, &commits)
            .holds_for(&history)
            .await;
    }
}

#[tokio::test]
async fn hashes_of_256_bits() {
    let world = World::new();
    fs::remove_dir_all(world.repository.join(".git")).unwrap();
    git(
        &world.repository,
        &["init", "-q", "-b", "main", "--object-format=sha256"],
    );
    let commits = world.make(&[vec![], vec![0], vec![0], vec![1, 2], vec![3]]);
    assert_eq!(commits[0].len(), 64);
    let truth = Truth::new(&world.repository, &commits);
    truth.holds_for(&world.history()).await;
    git(&world.repository, &["commit-graph", "write", "--reachable"]);
    truth.holds_for(&world.history()).await;
    let merged = world
        .history()
        .merged_commit(&commits[1], &commits[2..3])
        .await
        .unwrap();
    assert_eq!(merged.unwrap().len(), 64);
}
