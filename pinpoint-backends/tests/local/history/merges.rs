//! Commits merged into others.

use std::collections::BTreeMap;
use std::fs;

use pinpoint_midpoint::History;

use crate::world::{World, git, snapshot};

/// A line of two commits, and a branch of three that leaves it after the first: the second of them
/// conflicts with the line, the third reverts that.
fn world() -> (World, [String; 2], [String; 3]) {
    let world = World::new();
    let first = world.commit("both", "1\n");
    git(&world.repository, &["switch", "-q", "-c", "branch"]);
    let x = world.commit("x", "x");
    let y = world.commit("both", "branch\n");
    let z = world.commit("both", "1\n");
    git(&world.repository, &["switch", "-q", "main"]);
    let second = world.commit("both", "line\n");
    (world, [first, second], [x, y, z])
}

#[tokio::test]
async fn what_merges_is_what_git_makes_of_it() {
    let (world, [_, second], [x, _, z]) = world();
    let history = world.history();
    git(&world.repository, &["switch", "-q", "--detach", &second]);
    for merged in [vec![x.clone()], vec![z.clone()], vec![x.clone(), z]] {
        git(&world.repository, &["reset", "-q", "--hard", &second]);
        for merged in &merged {
            git(
                &world.repository,
                &["merge", "-q", "--no-ff", "-m", "m", merged],
            );
        }
        let expected = git(&world.repository, &["rev-parse", "HEAD^{tree}"]);
        let tree = history.merged_tree(&second, &merged).await.unwrap();
        assert_eq!(tree.as_deref(), Some(&*expected), "{merged:?}");
        let file = history.file(&second, &merged, "x", 1_000).await.unwrap();
        assert_eq!(file.as_deref(), Some(&b"x"[..]));
    }
    let tree = git(
        &world.repository,
        &["rev-parse", &format!("{second}^{{tree}}")],
    );
    assert_eq!(history.merged_tree(&second, &[]).await.unwrap(), Some(tree));
    assert_eq!(
        history.merged_commit(&second, &[]).await.unwrap(),
        Some(second)
    );
}

#[tokio::test]
async fn what_conflicts_has_no_tree() {
    let (world, [_, second], [x, y, z]) = world();
    let history = world.history();
    for merged in [vec![y.clone()], vec![x, y.clone()], vec![y.clone(), z]] {
        for _ in 0..2 {
            assert_eq!(history.merged_tree(&second, &merged).await.unwrap(), None);
            assert_eq!(history.merged_commit(&second, &merged).await.unwrap(), None);
        }
    }
    let error = history.file(&second, &[y], "x", 1_000).await.unwrap_err();
    assert!(error.to_string().contains("conflicts"), "{error}");
    // Both change a file whose bytes are not text.
    git(&world.repository, &["switch", "-q", "-c", "left"]);
    let left = world.commit("binary", "\0left");
    git(&world.repository, &["switch", "-q", "-C", "right", "main"]);
    let right = world.commit("binary", "\0right");
    assert_eq!(history.merged_tree(&left, &[right]).await.unwrap(), None);
}

#[tokio::test]
async fn a_merged_commit_is_the_same_wherever_it_is_made() {
    let (world, [_, second], [x, _, z]) = world();
    // A repository's own settings for merging do not matter.
    let elsewhere = world.path("elsewhere");
    let place = world.repository.to_str().unwrap();
    git(
        &world.path("."),
        &["clone", "-q", place, elsewhere.to_str().unwrap()],
    );
    git(&elsewhere, &["config", "merge.renames", "false"]);
    git(&elsewhere, &["config", "user.name", "Somebody Else"]);
    let merged = [x.clone(), z.clone()];
    let commit = world
        .history()
        .merged_commit(&second, &merged)
        .await
        .unwrap();
    let commit = commit.unwrap();
    let again = world
        .history_of(&elsewhere)
        .merged_commit(&second, &merged)
        .await;
    assert_eq!(again.unwrap().as_deref(), Some(&*commit));

    let ours = fs::read_dir(world.path("state/repositories")).unwrap();
    let ours: Vec<_> = ours.map(|entry| entry.unwrap().path()).collect();
    let ours = ours.iter().find(|path| path.is_dir()).unwrap();
    let show = |format: &str, commit: &str| {
        git(ours, &["log", "-1", &format!("--format={format}"), commit])
    };
    let who = "%an <%ae> %ad%n%cn <%ce> %cd%n%B";
    assert_eq!(show(who, &commit), show(who, &z));
    let before = world.history().merged_commit(&second, &[x]).await.unwrap();
    assert_eq!(show("%P", &commit), format!("{} {z}", before.unwrap()));
    git(ours, &["fsck", "--strict", "--no-dangling", &commit]);
    let tree = world.path("tree");
    git(
        ours,
        &["worktree", "add", "-q", tree.to_str().unwrap(), &commit],
    );
    assert_eq!(fs::read_to_string(tree.join("both")).unwrap(), "line\n");
}

#[tokio::test]
async fn merges_outlive_the_removal_of_our_repository() {
    let (world, [_, second], [x, ..]) = world();
    let history = world.history();
    let commit = history
        .merged_commit(&second, std::slice::from_ref(&x))
        .await
        .unwrap();
    fs::remove_dir_all(world.path("state")).unwrap();
    assert_eq!(history.merged_commit(&second, &[x]).await.unwrap(), commit);
    assert!(world.path("state/repositories").exists());
}

#[tokio::test]
async fn nothing_is_written_to_the_users_repository() {
    let (world, [first, second], branch) = world();
    // Times apart: git renews the time of an object that a merge makes again.
    let content = || -> BTreeMap<_, _> {
        let files = snapshot(&world.repository).into_iter();
        files.map(|(path, _, content)| (path, content)).collect()
    };
    let before = content();
    let history = world.history();
    for merged in &branch {
        let _ = history
            .merged_tree(&second, std::slice::from_ref(merged))
            .await
            .unwrap();
    }
    history
        .merged_commit(&second, &branch[..1])
        .await
        .unwrap()
        .unwrap();
    history.count(&first, &second).await.unwrap();
    history.resolve("HEAD~1").await.unwrap();
    history
        .gitlinks(&first, &branch[..1], &["x".into()])
        .await
        .unwrap();
    assert_eq!(content(), before);
}

#[tokio::test]
async fn histories_without_a_common_root_and_shallow_ones_merge() {
    let world = World::new();
    let commits = world.make(&[vec![], vec![0], vec![], vec![1]]);
    // They share no file: each number writes a different one.
    let merged = world
        .history()
        .merged_tree(&commits[3], &commits[2..3])
        .await;
    assert!(merged.unwrap().is_some());

    let (world, [_, second], [x, ..]) = self::world();
    let shallow = world.path("shallow");
    let origin = format!("file://{}", world.repository.display());
    let clone = ["clone", "-q", "--depth=1", "--no-single-branch", &origin];
    git(
        &world.path("."),
        &[&clone[..], &[shallow.to_str().unwrap()]].concat(),
    );
    let history = world.history_of(&shallow);
    // Its parents are missing, so it has nothing in common with x, all of which is missing.
    assert!(history.merged_tree(&second, &[x]).await.is_err());
    let tip = git(&shallow, &["rev-parse", "origin/branch"]);
    // Both add the same file with different content.
    assert_eq!(history.merged_tree(&second, &[tip]).await.unwrap(), None);
}

#[tokio::test]
async fn a_branch_of_many_commits() {
    const COMMITS: usize = 30;
    let world = World::new();
    let mut parents = vec![vec![], vec![0]];
    parents.extend((1..=COMMITS).map(|commit| vec![if commit == 1 { 0 } else { commit }]));
    let commits = world.make(&parents);
    let history = world.history();
    let (line, branch) = (&commits[1], &commits[2..]);
    for count in 1..=branch.len() {
        let tree = history.merged_tree(line, &branch[..count]).await.unwrap();
        // Merging the tip alone gives the same.
        if count == branch.len() {
            let whole = history
                .merged_tree(line, &branch[count - 1..])
                .await
                .unwrap();
            assert_eq!(tree, whole);
        }
    }
}
