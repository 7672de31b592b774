//! Calls of git: the view of a work tree, forbidden actions, incomplete clones.

use std::fs;
use std::path::{Path, PathBuf};

use pinpoint_backends::local::{LocalConfig, LocalExecutor, Repository};
use pinpoint_core::CombinedCommit;

use crate::world::{World, build, git, refusal, snapshot};

fn config(world: &World, good: &str, build: &str) -> LocalConfig {
    LocalConfig {
        build: Some(build.into()),
        ..world.config(good, "true")
    }
}

/// The output of the build command.
async fn printed(executor: &LocalExecutor, action: u64, commit: &CombinedCommit) -> String {
    let report = build(executor, action, commit).await.unwrap();
    let log = fs::read_to_string(report.log.unwrap()).unwrap();
    assert_eq!(report.failure, None, "{log}");
    log.trim().into()
}

/// A clone without the content of files, which would be fetched when it is needed.
fn partial_clone(world: &World) -> PathBuf {
    let clone = world.path("partial");
    git(
        &world.repository,
        &["config", "uploadpack.allowFilter", "true"],
    );
    let origin = format!("file://{}", world.repository.display());
    let clone_to = clone.to_str().unwrap();
    git(
        &world.repository,
        &[
            "clone",
            "-q",
            "--no-checkout",
            "--filter=blob:none",
            &origin,
            clone_to,
        ],
    );
    clone
}

#[tokio::test]
async fn a_partial_clone_is_told_what_it_lacks_and_nothing_is_fetched() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("other", "2");
    let clone = partial_clone(&world);
    let before = snapshot(&clone);
    let repository = Repository::discover(&clone).unwrap();
    let mut config = config(&world, &first, "true");
    config.repository = clone.clone().into();
    config.good = repository.resolve_revision(&first).unwrap().into();
    let executor = world.open(config, "job");
    let commit: CombinedCommit = repository.resolve_revision(&second).unwrap().into();
    let message = refusal(build(&executor, 1, &commit).await);
    assert!(
        message.contains("2 objects") && message.contains("(file)") && message.contains(&second),
        "{message}"
    );
    // Listing the changes of this commit would fetch the files.
    repository.changed_files(&second).unwrap_err();
    assert!(snapshot(&clone) == before, "something was fetched");

    // The advice works.
    let advice = message.rsplit_once('`').unwrap().0;
    let advice = advice.rsplit_once('`').unwrap().1;
    let words: Vec<&str> = advice.split(' ').collect();
    git(Path::new(words[2]), &words[3..]);
    assert_eq!(build(&executor, 2, &commit).await.unwrap().failure, None);
}

#[tokio::test]
async fn git_describe_answers_in_a_work_tree() {
    let world = World::new();
    let first = world.commit("file", "1");
    git(&world.repository, &["tag", "-a", "v1", "-m", "one"]);
    let second = world.commit("file", "2");
    let executor = world.open(config(&world, &first, "git describe"), "job");
    assert_eq!(printed(&executor, 1, &world.combined(&first)).await, "v1");
    git(&world.repository, &["pack-refs", "--all"]);
    git(&world.repository, &["tag", "-a", "v2", "-m", "two"]);
    assert_eq!(printed(&executor, 2, &world.combined(&second)).await, "v2");
}

#[test]
fn names_are_read_whatever_encoding_the_user_likes_in_logs() {
    let world = World::new();
    world.commit("file", "1");
    let author = [
        "-c",
        "user.name=Zoë Ångström",
        "-c",
        "user.email=zoe@example.org",
    ];
    let commit = ["commit", "-q", "--allow-empty", "-m", "Größe", "--author"];
    git(
        &world.repository,
        &[
            &author[..],
            &commit[..],
            &["Zoë Ångström <zoe@example.org>"],
        ]
        .concat(),
    );
    for encoding in ["ISO-8859-1", "UTF-16"] {
        git(
            &world.repository,
            &["config", "i18n.logOutputEncoding", encoding],
        );
        let commit = world.combined("HEAD").main;
        assert_eq!(
            commit.author.as_deref(),
            Some("Zoë Ångström <zoe@example.org>")
        );
        assert_eq!(commit.subject.as_deref(), Some("Größe"));
    }
}

#[tokio::test]
async fn paths_in_gitmodules_that_no_command_line_holds() {
    let world = World::new();
    let library = world.path("library");
    git(
        &world.repository,
        &[
            "clone",
            "-q",
            world.repository.to_str().unwrap(),
            library.to_str().unwrap(),
        ],
    );
    let submodule = |path: &str| {
        format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = https://host.example/library\n")
    };
    let mut modules = submodule(&"long".repeat(50_000));
    for number in 0..15_000 {
        modules += &submodule(&format!("{}{number}", "some/where/".repeat(5)));
    }
    let first = world.commit(".gitmodules", &modules);
    let mut config = config(&world, &first, "true");
    let url = "https://host.example/library".into();
    config.repositories = [(url, library)].into();
    let executor = world.open(config, "job");
    let report = build(&executor, 1, &world.combined(&first)).await.unwrap();
    assert_eq!(report.failure, None);
}

#[tokio::test]
async fn a_manifest_of_a_size_that_none_has_is_not_read() {
    let world = World::new();
    let first = world.commit("DEPS", &" ".repeat(17 << 20));
    let mut config = config(&world, &first, "true");
    let url = "https://host.example/library".into();
    config.repositories = [(url, world.repository.clone())].into();
    let executor = world.open(config, "job");
    let report = build(&executor, 1, &world.combined(&first)).await.unwrap();
    let failure = report.failure.unwrap();
    assert!(failure.contains("DEPS has more than"), "{failure}");
}

#[tokio::test]
async fn a_build_without_a_submodule_is_made_again_once_it_is_fetched() {
    let world = World::new();
    let library = World::new();
    library.commit("value", "old");
    let clone = world.path("clone");
    git(
        &library.repository,
        &[
            "clone",
            "-q",
            library.repository.to_str().unwrap(),
            clone.to_str().unwrap(),
        ],
    );
    let new = library.commit("value", "new");
    let modules = "[submodule \"lib\"]\n\tpath = lib\n\turl = https://host.example/library\n";
    let entry = format!("160000,{new},lib");
    git(
        &world.repository,
        &["update-index", "--add", "--cacheinfo", &entry],
    );
    fs::create_dir(world.repository.join("lib")).unwrap();
    let first = world.commit(".gitmodules", modules);
    let mut config = config(&world, &first, "cat lib/value || echo none");
    let url = "https://host.example/library".into();
    config.repositories = [(url, clone.clone())].into();
    let commit = world.combined(&first);
    for job in ["one", "two"] {
        let executor = world.open(config.clone(), job);
        let report = build(&executor, 1, &commit).await.unwrap();
        assert_eq!((report.failure, report.cached), (None, job == "two"));
    }
    git(&clone, &["fetch", "-q"]);
    let executor = world.open(config, "three");
    assert_eq!(printed(&executor, 1, &commit).await, "new");
}

#[tokio::test]
async fn a_manifest_opens_no_directory_that_the_user_did_not_name() {
    let world = World::new();
    let secret = World::new();
    let hash = secret.commit("value", "secret");
    let url = format!("file://{}", secret.repository.display());
    let deps = format!("deps = {{'src/lib': '{url}@{hash}'}}");
    let first = world.commit("DEPS", &deps);
    let mut config = config(&world, &first, "cat lib/value || echo none");
    let executor = world.open(config.clone(), "job");
    let told = printed(&executor, 1, &world.combined(&first)).await;
    assert!(told.ends_with("none"), "{told}");
    // Named by the user.
    config.repositories = [(url, secret.repository.clone())].into();
    let executor = world.open(config, "named");
    let told = printed(&executor, 1, &world.combined(&first)).await;
    assert_eq!(told, "secret");
}

#[tokio::test]
async fn a_link_called_go_mod_is_not_written_through() {
    // Held at another commit, a module without a `go.mod` gets one.
    let world = World::new();
    let library = World::new();
    let outside = world.path("outside");
    std::os::unix::fs::symlink(&outside, library.repository.join("go.mod")).unwrap();
    let hash = library.commit("value", "1");
    let file = format!(
        "module example.org/main\n\nrequire github.com/team/library v0.0.0-20240203030405-{}\n",
        &hash[..12]
    );
    let first = world.commit("go.mod", &file);
    let url = "https://github.com/team/library";
    let mut config = config(&world, &first, "true");
    config.repositories = [(url.into(), library.repository.clone())].into();
    let mut commit = world.combined(&first);
    commit.modified_deps = vec![pinpoint_core::ModifiedDependency {
        commit: pinpoint_core::Commit::new(url, &hash),
        named_by: world.repository.to_str().unwrap().into(),
    }];
    let executor = world.open(config, "job");
    let report = build(&executor, 1, &commit).await.unwrap();
    let failure = report.failure.unwrap();
    assert!(failure.contains("holds no module"), "{failure}");
    assert!(!outside.exists());
}
