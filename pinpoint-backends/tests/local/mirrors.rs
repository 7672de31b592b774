//! Jobs on a machine without a clone of their creator's.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pinpoint_backends::local::{
    CleanOptions, LocalConfig, LocalError, LocalExecutor, Location, MirrorError, Mirrors,
    Provisions, Repository, RepositoryError, clean,
};
use pinpoint_core::{CombinedCommit, InProcess, ListRequest, Located};
use serde_json::json;

use crate::world::{World, build, git, key, refusal, run, until};

/// A repository, `upstream`, and a user's clone of it.
fn published() -> World {
    let world = World::new();
    world.commit("file", "0");
    git(
        &world.path(""),
        &["clone", "-q", "--bare", "repository", "upstream"],
    );
    let upstream = world.path("upstream").display().to_string();
    git(&world.repository, &["remote", "add", "origin", &upstream]);
    git(&world.repository, &["fetch", "-q", "origin"]);
    world
}

fn push(world: &World) {
    git(&world.repository, &["push", "-q", "origin", "HEAD:main"]);
}

/// The configuration of a job from its creator.
fn config(world: &World, good: &str, build: &str) -> LocalConfig {
    let repository = Repository::discover(&world.repository).unwrap();
    LocalConfig {
        urls: repository.urls(&Default::default(), &[]).unwrap(),
        build: Some(build.into()),
        command: vec![
            "sh".into(),
            "-c".into(),
            "echo \"v: $(cat built) x\"".into(),
        ],
        ..world.config(good, "true")
    }
}

/// Takes a job on another machine, which may fetch from below this directory.
async fn take(
    world: &World,
    config: LocalConfig,
    permitted: &str,
    given: &[(String, PathBuf)],
) -> Result<LocalExecutor, LocalError> {
    let location = Location {
        state_dir: world.path("other/state"),
        job_dir: world.path("other/job"),
        machine_dir: world.path("other/machine"),
    };
    let permitted = world.path(permitted).join("*").display().to_string();
    let mirrors = Mirrors::open(
        &location.state_dir,
        &location.machine_dir,
        given.to_vec(),
        vec![permitted.parse().unwrap()],
    )?;
    let provisions = Provisions {
        mirrors: Some(mirrors),
        ..Provisions::default()
    };
    LocalExecutor::open_with(config, location, "job", provisions).await
}

fn mirrors(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.path("other/state/mirrors")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.is_dir()).collect();
    paths.sort();
    paths
}

fn away(world: &World, name: &str) -> PathBuf {
    let away = world.path(name).with_extension("away");
    fs::rename(world.path(name), &away).unwrap();
    away
}

#[tokio::test]
async fn a_job_is_carried_out_without_its_creators_clone() {
    let world = published();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    let third = world.commit("file", "3");
    push(&world);
    let states = [&first, &second, &third].map(|hash| world.combined(hash));
    let config = config(&world, &first, "cp file built");
    let here = world.open(config.clone(), "here");
    let request = ListRequest {
        range: 0,
        key: key(1),
        lower: states[0].clone(),
        higher: states[2].clone(),
    };
    let expected = here.list(&request).await.unwrap();
    away(&world, "repository");

    let executor = take(&world, config, "", &[]).await.unwrap();
    let listing = executor.list(&request).await.unwrap();
    assert_eq!((listing.count, &listing), (1, &expected));
    let middle = Located::Offset {
        listing: Box::new(listing),
        offset: 0,
    };
    let named = executor.resolve(&middle).await.unwrap();
    assert_eq!(named, states[1]);
    assert_eq!(named.main.subject.as_deref(), Some("Change file"));
    for (number, state) in (0..).zip(&states) {
        let made = build(&executor, 10 + number, state).await.unwrap();
        assert_eq!(made.failure, None);
        let report = run(&executor, 20 + number, state, 0).await;
        assert_eq!(report.charts["v"].values, [number as f64 + 1.0]);
    }
}

#[tokio::test]
async fn a_mirror_is_fetched_when_a_commit_is_missing_and_only_then() {
    let world = published();
    let first = world.commit("file", "1");
    push(&world);
    let job = config(&world, &first, "cp file built");
    let executor = take(&world, job.clone(), "", &[]).await.unwrap();
    let made = build(&executor, 1, &world.combined(&first)).await.unwrap();
    assert_eq!(made.failure, None);
    let [mirror] = <[PathBuf; 1]>::try_from(mirrors(&world)).unwrap();

    // Of another job, on another branch, and of one that is no longer on a branch.
    let second = world.commit("file", "2");
    git(
        &world.repository,
        &["push", "-q", "origin", "HEAD:refs/heads/topic/a"],
    );
    let state = world.combined(&second);
    let made = build(&executor, 2, &state).await.unwrap();
    assert_eq!(made.failure, None);
    let third = world.commit("file", "3");
    git(
        &world.repository,
        &["push", "-q", "origin", "HEAD:refs/changes/1"],
    );
    git(&world.repository, &["push", "-q", "origin", ":topic/a"]);
    // Remains of killed processes do no harm.
    for name in [
        "packed-refs.lock",
        "refs/heads/main.lock",
        "objects/pack/tmp_pack_1",
    ] {
        fs::write(mirror.join(name), "").unwrap();
    }
    let third = world.combined(&third);
    let request = ListRequest {
        range: 0,
        key: key(3),
        lower: world.combined(&first),
        higher: third.clone(),
    };
    assert_eq!(executor.list(&request).await.unwrap().count, 1);
    assert!(!mirror.join("packed-refs.lock").exists());
    assert_eq!(build(&executor, 4, &third).await.unwrap().failure, None);

    // Everything exists now: the remote is not needed.
    away(&world, "upstream");
    drop(executor);
    let executor = take(&world, job, "", &[]).await.unwrap();
    assert_eq!(executor.list(&request).await.unwrap().count, 1);
    assert_eq!(
        executor
            .resolve(&Located::Commit(state.clone()))
            .await
            .unwrap(),
        state
    );
}

#[tokio::test]
async fn half_a_clone_is_thrown_away() {
    let world = published();
    let first = world.commit("file", "1");
    push(&world);
    let job = config(&world, &first, "cp file built");
    drop(take(&world, job.clone(), "", &[]).await.unwrap());
    let [mirror] = <[PathBuf; 1]>::try_from(mirrors(&world)).unwrap();
    // As a killed clone leaves it.
    fs::rename(&mirror, mirror.with_extension("new")).unwrap();
    fs::remove_file(mirror.with_extension("new").join("HEAD")).unwrap();
    let executor = take(&world, job, "", &[]).await.unwrap();
    let made = build(&executor, 1, &world.combined(&first)).await.unwrap();
    assert_eq!(made.failure, None);
    assert_eq!(mirrors(&world), [mirror]);
}

#[tokio::test]
async fn a_damaged_mirror_is_cloned_again() {
    let world = published();
    let first = world.commit("file", "1");
    push(&world);
    let job = config(&world, &first, "cp file built");
    let head = |mirror: &Path| fs::write(mirror.join("HEAD"), "").unwrap();
    let packs = |mirror: &Path| {
        let entries = fs::read_dir(mirror.join("objects/pack")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        for path in paths.filter(|path| path.extension().is_some_and(|it| it == "pack")) {
            fs::remove_file(&path).unwrap();
            fs::write(&path, "PACK").unwrap();
        }
    };
    drop(take(&world, job.clone(), "", &[]).await.unwrap());
    let [mirror] = <[PathBuf; 1]>::try_from(mirrors(&world)).unwrap();
    for damage in [&head as &dyn Fn(&Path), &packs] {
        damage(&mirror);
        let executor = take(&world, job.clone(), "", &[]).await.unwrap();
        let made = build(&executor, 1, &world.combined(&first)).await.unwrap();
        assert_eq!(made.failure, None);
        fs::remove_dir_all(world.path("other/state/builds")).unwrap();
        assert_eq!(mirrors(&world).as_slice(), std::slice::from_ref(&mirror));
        git(&mirror, &["fsck", "--no-dangling"]);
    }
}

#[tokio::test]
async fn a_mirror_gets_the_history_that_its_upstream_lacked() {
    let world = published();
    let hashes = ["1", "2", "3"].map(|text| world.commit("file", text));
    push(&world);
    let upstream = world.path("upstream");
    let whole = away(&world, "upstream");
    let source = format!("file://{}", whole.display());
    let branch = ["--branch", "main"];
    let clone = ["clone", "-q", "--bare", "--depth", "1"];
    let places = [&*source, "upstream"];
    git(&world.path(""), &[&clone[..], &branch, &places].concat());
    let last = config(&world, &hashes[2], "cp file built");
    drop(take(&world, last.clone(), "", &[]).await.unwrap());
    let [mirror] = <[PathBuf; 1]>::try_from(mirrors(&world)).unwrap();
    assert!(mirror.join("shallow").exists());
    // As long as it lacks that itself, it does no harm.
    drop(take(&world, last.clone(), "", &[]).await.unwrap());
    git(&upstream, &["fetch", "-q", "--unshallow"]);
    let executor = take(&world, last, "", &[]).await.unwrap();
    assert!(!mirror.join("shallow").exists());
    let request = ListRequest {
        range: 0,
        key: key(1),
        lower: world.combined(&hashes[0]),
        higher: world.combined(&hashes[2]),
    };
    assert_eq!(executor.list(&request).await.unwrap().count, 1);
}

#[tokio::test]
async fn two_workers_clone_once() {
    let world = published();
    let first = world.commit("file", "1");
    push(&world);
    let job = config(&world, &first, "cp file built");
    let (one, other) = tokio::join!(
        take(&world, job.clone(), "", &[]),
        take(&world, job, "", &[])
    );
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(mirrors(&world).len(), 1);
    let second = world.commit("file", "2");
    push(&world);
    let state = world.combined(&second);
    let (one, other) = tokio::join!(build(&one, 1, &state), build(&other, 1, &state));
    assert_eq!((one.unwrap().failure, other.unwrap().failure), (None, None));
}

#[tokio::test]
async fn the_machine_is_taken_before_a_mirror() {
    let world = published();
    let first = world.commit("file", "1");
    push(&world);
    let job = config(&world, &first, "cp file built");
    let executor = take(&world, job, "", &[]).await.unwrap();
    let [mirror] = <[PathBuf; 1]>::try_from(mirrors(&world)).unwrap();
    let second = world.commit("file", "2");
    push(&world);
    // A build holds the mirror.
    let lock = fs::File::open(mirror.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let request = ListRequest {
        range: 0,
        key: key(1),
        lower: world.combined(&first),
        higher: world.combined(&second),
    };
    let machine = fs::File::open(world.path("other/machine/machine")).unwrap();
    let held = until("the machine", || match machine.try_lock() {
        Ok(()) => {
            machine.unlock().unwrap();
            false
        }
        Err(_) => true,
    });
    let fetched = async { executor.list(&request).await.unwrap().count };
    let released = async {
        held.await;
        lock.unlock().unwrap();
    };
    assert_eq!(tokio::join!(fetched, released).0, 0);
}

#[tokio::test]
async fn what_cannot_be_had_is_named() {
    let world = published();
    let first = world.commit("file", "1");
    let job = config(&world, &first, "cp file built");
    let error = take(&world, job.clone(), "elsewhere", &[])
        .await
        .err()
        .unwrap();
    let upstream = world.path("upstream").display().to_string();
    assert!(
        matches!(&error, LocalError::Mirror(MirrorError::NotPermitted { url }) if *url == upstream),
        "{error}"
    );
    // It was never pushed.
    let error = take(&world, job.clone(), "", &[]).await.err().unwrap();
    assert!(matches!(
        error,
        LocalError::Mirror(MirrorError::NoCommit { .. })
    ));
    assert!(error.to_string().ends_with("push it there"), "{error}");
    // A job of an earlier version.
    let mut old = json!(job);
    old.as_object_mut().unwrap().remove("urls");
    let old: LocalConfig = serde_json::from_value(old).unwrap();
    let error = take(&world, old.clone(), "", &[]).await.err().unwrap();
    assert!(matches!(
        error,
        LocalError::Mirror(MirrorError::NoUrl { .. })
    ));
    let here = world.open(old, "here");
    assert_eq!(
        build(&here, 1, &world.combined(&first))
            .await
            .unwrap()
            .failure,
        None
    );
    // A given clone is used unchanged.
    let given = [(upstream.clone(), world.repository.clone())];
    let executor = take(&world, job.clone(), "elsewhere", &given)
        .await
        .unwrap();
    assert_eq!(
        build(&executor, 1, &world.combined(&first))
            .await
            .unwrap()
            .failure,
        None
    );
    assert_eq!(mirrors(&world).len(), 1, "that of the upstream");
    // An unreachable one may be reachable later.
    push(&world);
    let executor = take(&world, job, "", &[]).await.unwrap();
    let mut missing = world.combined(&first);
    missing.main.git_hash = "1".repeat(40);
    let request = ListRequest {
        range: 0,
        key: key(2),
        lower: world.combined(&first),
        higher: missing,
    };
    let error = executor.list(&request).await.err().unwrap().to_string();
    let expected = format!(
        "{upstream} has no commit {:?}; push it there",
        "1".repeat(40)
    );
    assert!(error.contains(&expected), "{error}");
    let second = world.combined(&world.commit("file", "2"));
    away(&world, "upstream");
    let error = build(&executor, 2, &second).await.err().unwrap();
    let pinpoint_core::ExecutorError::Unavailable(error) = error else {
        panic!("{error}");
    };
    assert!(
        error.to_string().contains("can't be fetched: git failed"),
        "{error}"
    );
    let request = ListRequest {
        range: 0,
        key: key(3),
        lower: world.combined(&first),
        higher: second,
    };
    let error = executor.list(&request).await.err().unwrap();
    assert!(
        matches!(error, pinpoint_core::ExecutorError::Unavailable(_)),
        "{error}"
    );
}

#[tokio::test]
async fn dependencies_are_those_of_the_creator() {
    let world = published();
    for name in ["library", "hidden"] {
        let path = world.path(name);
        fs::create_dir(&path).unwrap();
        git(&path, &["init", "-q", "-b", "main"]);
        fs::write(path.join("value"), name).unwrap();
        git(&path, &["add", "-A"]);
        git(&path, &["commit", "-q", "-m", "Change"]);
    }
    let add = |url: &str, path: &str| {
        let allow = ["-c", "protocol.file.allow=always"];
        let arguments = [&allow[..], &["submodule", "--quiet", "add", url, path]].concat();
        git(&world.repository, &arguments);
    };
    // One by a relative URL, which git resolves against the remote; and the user no longer has a
    // clone of the other.
    add("../library", "parts/library");
    add(&world.path("hidden").display().to_string(), "parts/hidden");
    git(&world.repository, &["commit", "-q", "-m", "Add parts"]);
    fs::remove_dir_all(world.repository.join(".git/modules/parts/hidden")).unwrap();
    let first = git(&world.repository, &["rev-parse", "HEAD"]);
    push(&world);
    let script = "{ cat parts/library/value; ls parts/hidden; } > built";
    let job = config(&world, &first, script);
    let state = world.combined(&first);
    let tree = |made: pinpoint_core::BuildReport| match made.artifact.unwrap() {
        pinpoint_core::Artifact::Directory(tree) => {
            fs::read_to_string(Path::new(&tree).join("built")).unwrap()
        }
        other => panic!("{other:?}"),
    };
    let here = world.open(job.clone(), "here");
    let expected = tree(build(&here, 1, &state).await.unwrap());
    assert_eq!(expected, "library");
    away(&world, "repository");
    let executor = take(&world, job.clone(), "", &[]).await.unwrap();
    let made = build(&executor, 1, &state).await.unwrap();
    assert_eq!(made.failure, None);
    assert_eq!(tree(made), expected);
    assert_eq!(mirrors(&world).len(), 2);
    drop(executor);

    // The repositories that the job names are needed: they are not left out.
    clean(&world.path("other/state"), CleanOptions::default()).unwrap();
    assert_eq!(mirrors(&world).len(), 0);
    away(&world, "library");
    let executor = take(&world, job, "", &[]).await.unwrap();
    let error = build(&executor, 1, &state).await.err().unwrap();
    assert!(error.to_string().contains("library"), "{error}");
}

#[tokio::test]
async fn a_job_names_no_other_directory_of_this_machine() {
    let world = published();
    let first = world.commit("file", "1");
    push(&world);
    let mut job = config(&world, &first, "ls parts > built");
    // As someone other than its creator may write it.
    job.repositories = [("https://host.example/x".into(), world.path("upstream"))].into();
    job.urls
        .insert("https://host.example/x".into(), "ext::sh -c true".into());
    job.urls.insert(
        "https://host.example/y".into(),
        "https://host.example/y".into(),
    );
    let main = world.repository.display().to_string();
    let manifest = "[submodule \"x\"]\n\tpath = x\n\turl = https://host.example/x\n";
    fs::write(world.repository.join(".gitmodules"), manifest).unwrap();
    git(&world.repository, &["add", "-A"]);
    let entry = format!("160000,{first},x");
    git(
        &world.repository,
        &["update-index", "--add", "--cacheinfo", &entry],
    );
    git(&world.repository, &["commit", "-q", "-m", "x"]);
    let second: CombinedCommit = world.combined("HEAD");
    push(&world);
    let executor = take(&world, job.clone(), "", &[]).await.unwrap();
    let error = refusal(build(&executor, 1, &second).await);
    assert!(error.contains("its URL is not valid"), "{error}");
    for wrong in ["ext::sh -c true", "--upload-pack=true", "/etc/../etc"] {
        job.urls.insert(main.clone(), wrong.into());
        let error = take(&world, job.clone(), "", &[]).await.err().unwrap();
        assert!(
            matches!(error, LocalError::Mirror(MirrorError::Url(_))),
            "{error}"
        );
    }
}

#[test]
fn the_url_is_that_of_a_remote_which_has_the_commits() {
    let world = published();
    let first = git(&world.repository, &["rev-parse", "HEAD"]);
    let second = world.commit("file", "1");
    let repository = Repository::discover(&world.repository).unwrap();
    let upstream = world.path("upstream").display().to_string();
    let url = |commits: &[&str]| repository.published(commits).map(|url| url.to_string());
    assert_eq!(url(&[&first]).unwrap(), upstream);
    let error = url(&[&first, &second]).unwrap_err();
    assert!(
        matches!(&error, RepositoryError::NotPublished { commit, .. } if *commit == second),
        "{error}"
    );
    // It is in a fork, which is not the first remote.
    git(
        &world.path(""),
        &["clone", "-q", "--bare", "upstream", "fork"],
    );
    let fork = world.path("fork").display().to_string();
    git(&world.repository, &["remote", "add", "fork", &fork]);
    git(&world.repository, &["push", "-q", "fork", "main"]);
    assert_eq!(url(&[&first, &second]).unwrap(), fork);
    let main = world.repository.display().to_string();
    let noted = |commits: &[&str]| repository.urls(&Default::default(), commits).unwrap();
    assert_eq!(noted(&[&first, &second])[&main], fork);
    assert_eq!(noted(&[&first])[&main], upstream);
    let unpushed = world.commit("file", "2");
    assert_eq!(noted(&[&unpushed])[&main], upstream);
    assert_eq!(url(&[&first]).unwrap(), upstream);
}

#[test]
fn no_credentials_are_kept() {
    let world = World::new();
    world.commit("file", "0");
    let repository = Repository::discover(&world.repository).unwrap();
    let urls = |repository: &Repository| repository.urls(&Default::default(), &[]).unwrap();
    assert!(urls(&repository).is_empty());
    let error = repository.published(&[]).unwrap_err();
    assert!(matches!(error, RepositoryError::NoRemote { .. }), "{error}");
    for (name, url) in [
        ("origin", "https://ada:secret@host.example/a.git"),
        ("other", "ssh://ada:secret@host.example/a.git"),
        ("strange", "ftp://ada:secret@host.example/a.git"),
    ] {
        git(&world.repository, &["remote", "add", name, url]);
    }
    let urls = urls(&repository);
    assert_eq!(
        urls[&world.repository.display().to_string()],
        "https://host.example/a.git"
    );
    assert!(!format!("{urls:?}").contains("secret"), "{urls:?}");
}

/// Answers every connection with a redirection, and counts the connections.
fn redirecting(to: &str) -> (std::net::SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let (counted, to) = (Arc::clone(&connections), to.to_owned());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut connection = connection.unwrap();
            let mut request = [0; 4096];
            let _ = connection.read(&mut request);
            let answer = format!(
                "HTTP/1.1 302 Found\r\nLocation: {to}/info/refs?service=git-upload-pack\r\n\
                 Content-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    (address, connections)
}

#[tokio::test]
async fn a_permitted_url_that_leads_elsewhere_is_not_followed() {
    let world = published();
    let good = world.commit("file", "1");
    let (elsewhere, reached) = redirecting("http://127.0.0.1:1/x");
    let (permitted, asked) = redirecting(&format!("http://{elsewhere}/acme/tool"));
    let mut config = config(&world, &good, "cp file built");
    let url = format!("http://{permitted}/acme/tool");
    let name = config.repository.to_string();
    config.urls.insert(name, url.clone());
    let location = Location {
        state_dir: world.path("other/state"),
        job_dir: world.path("other/job"),
        machine_dir: world.path("other/machine"),
    };
    let pattern = format!("http://{permitted}/**").parse().unwrap();
    let (state_dir, machine_dir) = (&location.state_dir, &location.machine_dir);
    let provisions = Provisions {
        mirrors: Some(Mirrors::open(state_dir, machine_dir, [], vec![pattern]).unwrap()),
        ..Provisions::default()
    };
    let opened = LocalExecutor::open_with(config, location, "job", provisions).await;
    let error = opened.err().unwrap().to_string();
    assert!(error.contains("leads to another URL"), "{error}");
    assert!(asked.load(Ordering::SeqCst) > 0);
    assert_eq!(reached.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn commits_are_looked_up_in_a_mirror_that_is_updated_on_request() {
    let world = published();
    let first = world.commit("file", "1");
    push(&world);
    let url = world.path("upstream").display().to_string();
    let mirrors = Mirrors::open(
        &world.path("other/state"),
        &world.path("other/machine"),
        [],
        vec![url.parse().unwrap()],
    )
    .unwrap();
    let find = async |name: &str| {
        let name = name.parse().unwrap();
        let found = mirrors.find(&url, &name).await.unwrap();
        found.map(|found| found.git_hash)
    };
    // Nothing is fetched to find a commit.
    assert_eq!(find("HEAD").await, None);
    mirrors.update(&url).await.unwrap();
    assert_eq!(find(&first).await, Some(first.clone()));
    let second = world.commit("file", "2");
    push(&world);
    assert_eq!(find(&second[..12]).await, None);
    mirrors.update(&url).await.unwrap();
    assert_eq!(find(&second[..12]).await, Some(second.clone()));
    let name = second.parse().unwrap();
    let found = mirrors.find(&url, &name).await.unwrap().unwrap();
    assert_eq!(
        (&*found.subject, &*found.message),
        ("Change file", "Change file")
    );
    assert_eq!((found.position(), found.footer("Change-Id")), (None, None));
    // Digits alone are a position, and the beginning of a hash where no commit has that position.
    let tree = git(&world.repository, &["rev-parse", "HEAD^{tree}"]);
    let digits = |hash: &str| hash[..7].bytes().all(|digit| digit.is_ascii_digit());
    let commit = |message: &str| {
        let arguments = ["commit-tree", &tree, "-p", &second, "-m", message];
        git(&world.repository, &arguments)
    };
    let mut candidates = (0..).map(|number| commit(&format!("Change {number}")));
    let third = candidates.find(|hash| digits(hash)).unwrap();
    git(&world.repository, &["reset", "-q", "--hard", &third]);
    push(&world);
    mirrors.update(&url).await.unwrap();
    assert_eq!(find(&third[..7]).await, Some(third.clone()));
    let message = format!(
        "Fix\n\nCr-Commit-Position: refs/heads/main@{{#{}}}",
        &third[..7]
    );
    git(
        &world.repository,
        &["commit", "-q", "--allow-empty", "-m", &message],
    );
    push(&world);
    mirrors.update(&url).await.unwrap();
    let fourth = git(&world.repository, &["rev-parse", "HEAD"]);
    assert_eq!(find(&third[..7]).await, Some(fourth.clone()));
    assert_eq!(find(&third).await, Some(third));
    // Repositories that the machine may not fetch are not read.
    let other = world.path("repository").display().to_string();
    let refused = mirrors.find(&other, &name).await;
    assert!(
        matches!(
            refused,
            Err(LocalError::Mirror(MirrorError::NotPermitted { .. }))
        ),
        "{refused:?}"
    );
    // A mirror that git can't open is made again.
    let [mirror] = <[PathBuf; 1]>::try_from(self::mirrors(&world)).unwrap();
    fs::remove_file(mirror.join("HEAD")).unwrap();
    mirrors.update(&url).await.unwrap();
    assert_eq!(find(&second).await, Some(second.clone()));
}
