//! Repositories by their URL.

use std::fs;
use std::path::{Path, PathBuf};

use pinpoint_backends::local::{LocalRepositories, Repository};
use pinpoint_midpoint::{HistoryError, Repositories};

use crate::world::{World, git};

fn repository(path: &Path) -> String {
    fs::create_dir_all(path).unwrap();
    git(path, &["init", "-q", "-b", "main"]);
    git(
        path,
        &[
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            path.to_str().unwrap(),
        ],
    );
    git(path, &["rev-parse", "HEAD"])
}

fn submodule(superproject: &Path, url: &str, path: &str) {
    let allowed = "protocol.file.allow=always";
    git(
        superproject,
        &["-c", allowed, "submodule", "--quiet", "add", url, path],
    );
    git(superproject, &["commit", "-q", "-m", "Add a submodule"]);
}

fn around(world: &World, named: &[(&str, &Path)]) -> LocalRepositories {
    let main = Repository::discover(&world.repository).unwrap();
    let named = named
        .iter()
        .map(|(url, place)| ((*url).into(), PathBuf::from(place)));
    LocalRepositories::new(main, named, &world.path("state"))
}

async fn head(repositories: &LocalRepositories, name: &str) -> String {
    let history = repositories.open(name).await.unwrap();
    history.resolve("main").await.unwrap()
}

async fn refusal(repositories: &LocalRepositories, name: &str) -> String {
    match repositories.open(name).await {
        Err(error @ HistoryError::UnknownRepository { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{name} is known"),
    }
}

#[tokio::test]
async fn the_main_repository_has_the_names_of_its_remotes() {
    let world = World::new();
    let commit = world.commit("file", "1");
    for (remote, url) in [
        ("origin", "https://host.example/team/tool.git"),
        ("fork", "git@host.example:me/tool"),
    ] {
        git(&world.repository, &["remote", "add", remote, url]);
    }
    let repositories = around(&world, &[]);
    let path = world.repository.to_str().unwrap();
    for name in [
        path,
        &format!("file://{path}/"),
        &format!("{path}/.git"),
        "https://HOST.example/team/tool",
        "ssh://git@host.example/me/tool.git",
    ] {
        assert_eq!(head(&repositories, name).await, commit, "{name}");
    }
    for name in [
        "ssh://host.example/team/tool",
        "https://host.example/team/other",
        "tool",
        "",
    ] {
        let error = refusal(&repositories, name).await;
        assert!(
            error.contains(&format!("{name} is not available locally")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn directories_and_urls_that_the_user_named() {
    let world = World::new();
    let (one, two) = (world.path("one"), world.path("two"));
    let (first, second) = (repository(&one), repository(&two));
    let url = "https://host.example/one";
    git(&world.repository, &["remote", "add", "origin", url]);
    let missing = world.path("missing");
    let mut named = vec![
        ("https://host.example/one.git", &*one),
        ("https://host.example/no", &*missing),
    ];
    let repositories = around(&world, &named);
    // Before a remote of the same URL.
    assert_eq!(head(&repositories, url).await, first);
    // A path opens nothing by itself: any commit may name one.
    let path = two.to_str().unwrap();
    for name in [path, &format!("file://{path}"), &format!("{path}/.git")] {
        let error = refusal(&repositories, name).await;
        assert!(error.contains(path), "{error}");
        assert!(error.contains("is opened only if it is named"), "{error}");
    }
    named.push((path, &*two));
    let repositories = around(&world, &named);
    assert_eq!(head(&repositories, path).await, second);
    assert_eq!(head(&repositories, &format!("file://{path}")).await, second);
    let error = refusal(&repositories, "https://host.example/no").await;
    assert!(error.contains(missing.to_str().unwrap()), "{error}");
    assert!(error.contains("is not in a git repository"), "{error}");
    refusal(&repositories, missing.to_str().unwrap()).await;
}

#[tokio::test]
async fn submodules_of_submodules_by_any_of_their_urls() {
    let world = World::new();
    let upstream = world.path("upstream");
    let inner = repository(&upstream.join("inner"));
    let unused = repository(&upstream.join("unused"));
    repository(&upstream.join("middle"));
    submodule(&upstream.join("middle"), "../inner", "deps/inner");
    let middle = git(&upstream.join("middle"), &["rev-parse", "HEAD"]);
    let origin = upstream.join("main");
    git(
        &world.repository,
        &["remote", "add", "origin", origin.to_str().unwrap()],
    );
    world.commit("file", "1");
    submodule(&world.repository, "../middle", "deps/middle");
    let allowed = "protocol.file.allow=always";
    let update = [
        "-c",
        allowed,
        "submodule",
        "--quiet",
        "update",
        "--init",
        "--recursive",
    ];
    git(&world.repository, &update);
    // The clone of the inner one comes from a mirror.
    let clone = world
        .repository
        .join(".git/modules/deps/middle/modules/deps/inner");
    git(&clone, &["config", "--unset", "core.worktree"]);
    git(
        &clone,
        &[
            "remote",
            "set-url",
            "origin",
            "https://mirror.example/inner",
        ],
    );

    let repositories = around(&world, &[]);
    assert_eq!(
        head(&repositories, "https://mirror.example/inner.git").await,
        inner
    );
    assert_eq!(head(&repositories, "../middle").await, middle);
    // Also relative to the main repository's own location, where nothing exists.
    for (name, commit) in [("middle", &middle), ("inner", &inner)] {
        let beside = world.repository.with_file_name(name);
        assert_eq!(head(&repositories, beside.to_str().unwrap()).await, *commit);
    }
    let path = |name: &str| upstream.join(name).to_str().unwrap().to_owned();
    assert_eq!(head(&repositories, &path("middle")).await, middle);
    // When upstream is gone, the clones remain.
    fs::remove_dir_all(&upstream).unwrap();
    let repositories = around(&world, &[]);
    assert_eq!(head(&repositories, &path("middle")).await, middle);
    assert_eq!(head(&repositories, &path("inner")).await, inner);
    refusal(&repositories, &path("unused")).await;
    assert_ne!(unused, inner);
}

#[tokio::test]
async fn names_of_one_repository_have_one_identity() {
    let world = World::new();
    world.commit("file", "1");
    let remotes = ["https://host.example/tool", "git@host.example:me/tool"];
    for (remote, url) in ["origin", "fork"].iter().zip(remotes) {
        git(&world.repository, &["remote", "add", remote, url]);
    }
    let library = world.path("library");
    repository(&library);
    fs::create_dir(library.join("in")).unwrap();
    let inside = library.join("in");
    let repositories = around(
        &world,
        &[
            ("https://host.example/library", &library),
            ("https://mirror.example/library", &inside),
        ],
    );
    let main = world.repository.to_str().unwrap();
    let same: [&[&str]; 3] = [
        &[
            main,
            remotes[0],
            "https://host.example/tool.git/",
            remotes[1],
        ],
        &[
            "https://host.example/library",
            "https://mirror.example/library.git",
        ],
        &[
            "https://host.example/unknown",
            "https://HOST.example/unknown.git",
        ],
    ];
    let names = same.iter().flat_map(|names| names.iter());
    let names = names.map(|name| (*name).to_owned()).collect();
    let identities = repositories.identities(names).await.unwrap();
    for names in same {
        for name in names {
            assert_eq!(identities[*name], identities[names[0]], "{name}");
        }
    }
    let different: std::collections::BTreeSet<_> = identities.values().collect();
    assert_eq!(different.len(), same.len(), "{identities:?}");
}

#[tokio::test]
async fn more_repositories_than_stay_open() {
    let world = World::new();
    let mut commits = Vec::new();
    for number in 0..18 {
        let path = world.path(&format!("repository{number}"));
        commits.push((repository(&path), path));
    }
    let named = commits.iter();
    let named: Vec<(&str, &Path)> = named
        .map(|(_, path)| (path.to_str().unwrap(), &**path))
        .collect();
    let repositories = around(&world, &named);
    for (commit, path) in commits.iter().chain(&commits) {
        assert_eq!(head(&repositories, path.to_str().unwrap()).await, *commit);
    }
}
