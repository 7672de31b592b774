//! The user's settings of git count: trust and filters.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::world::{BENCHMARK, World, git};

/// The repository of the world again, without a work tree.
fn bare(world: &World) -> PathBuf {
    let bare = world.path("bare.git");
    let to = bare.to_str().unwrap();
    git(&world.repository, &["clone", "-q", "--bare", ".", to]);
    bare
}

fn configure(world: &World, text: &str) {
    let home = world.path("home");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join(".gitconfig"), text).unwrap();
}

/// A directory with a `git` for which every repository belongs to another user.
fn of_somebody_else(world: &World) -> String {
    let programs = world.path("programs");
    fs::create_dir_all(&programs).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nexport GIT_TEST_ASSUME_DIFFERENT_OWNER=1\nPATH='{path}' exec git \"$@\"\n"
    );
    let program = programs.join("git");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{path}", programs.display())
}

#[test]
fn a_repository_of_somebody_else_is_refused_whatever_its_form() {
    let world = World::with_step(4, 2);
    let bare = bare(&world);
    let path = of_somebody_else(&world);
    let git_dir = world.repository.join(".git");
    for place in [&bare, &git_dir, &world.repository] {
        let options = ["--repo", place.to_str().unwrap()];
        let refused = world.bisect(&options, BENCHMARK).env("PATH", &path);
        let told = refused.ends_with(2).stderr;
        assert!(told.contains("dubious ownership"), "{told}");
        assert!(told.contains("safe.directory"), "{told}");
    }
    // The user trusts it, under the name that git gives it.
    configure(
        &world,
        &format!("[safe]\ndirectory = {}\n", world.repository.display()),
    );
    for place in [&git_dir, &world.repository] {
        let options = ["--repo", place.to_str().unwrap()];
        let asked = world.pinpoint(&["midpoint"]).and(&options);
        let asked = asked.and(&[world.good(), world.bad()]);
        asked.env("PATH", &path).ends_with(0);
    }
}

#[test]
fn a_bare_repository_has_to_be_named_where_the_user_wants_that() {
    let world = World::with_step(6, 3);
    let bare = bare(&world);
    configure(&world, "[safe]\nbareRepository = explicit\n");
    let named = ["--repo", bare.to_str().unwrap(), "--build", "git status"];
    world.bisect(&named, BENCHMARK).ends_with(0);
    // As it is here.
    let found = world.bisect(&[], BENCHMARK).in_dir(&bare);
    let told = found.ends_with(2).stderr;
    assert!(told.contains("safe.bareRepository"), "{told}");
}

#[test]
fn a_filter_that_is_required_and_not_there_is_in_nobodys_way() {
    let mut world = World::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\n\
                   oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n\
                   size 12345\n";
    let commits: Vec<_> = [1, 1, 2, 2]
        .iter()
        .enumerate()
        .map(|(number, value)| {
            [
                ("value", format!("{value}\n")),
                ("number", number.to_string()),
                ("data.bin", pointer.to_owned()),
                (".gitattributes", "*.bin filter=lfs -text\n".to_owned()),
            ]
            .into()
        })
        .collect();
    world.add(&commits);
    configure(
        &world,
        "[filter \"lfs\"]\nclean = no-such-lfs clean -- %f\nsmudge = no-such-lfs smudge -- %f\n\
         process = no-such-lfs filter-process\nrequired = true\n",
    );
    // Git looks at files that are newer than its index.
    let build = "touch data.bin && git status && git diff --exit-code";
    world.bisect(&["--build", build], BENCHMARK).ends_with(0);
}

#[test]
fn only_the_owner_reads_the_state_directory() {
    let world = World::with_step(4, 2);
    world.pinpoint(&["jobs", "list"]).ends_with(0);
    let state = world.state_dir();
    assert_eq!(
        fs::metadata(&state).unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn a_state_directory_whose_name_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;

    let world = World::with_step(4, 2);
    let name = std::ffi::OsStr::from_bytes(b"/tmp/st\xffate");
    let refused = world
        .pinpoint(&["jobs", "list", "--state-dir"])
        .and(&[name]);
    let told = refused.ends_with(2).stderr;
    assert!(told.contains("UTF-8"), "{told}");
}
