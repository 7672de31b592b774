//! Differences that tracing has to notice between two builds.
//!
//! They need `strace` and a C compiler.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pinpoint_core::BuildReport;

use crate::world::{World, build};

/// The builds of two commits that differ, traced with these commands.
async fn builds(world: &World, hashes: [&str; 2], script: &str, run: &str) -> [BuildReport; 2] {
    let mut config = world.config(hashes[0], run);
    config.trace = true;
    config.build = (!script.is_empty()).then(|| script.into());
    let name = format!("job-{}", fs::read_dir(world.path("")).unwrap().count());
    fs::create_dir_all(world.path(&name)).unwrap();
    let executor = world.open(config, &name);
    let mut reports = Vec::new();
    for (action, hash) in (1..).zip(hashes) {
        let report = build(&executor, action, &world.combined(hash))
            .await
            .unwrap();
        assert_eq!(report.failure, None, "{script}; {run}");
        reports.push(report);
    }
    reports.try_into().unwrap()
}

/// Checks whether the two count as the same.
fn are_same([one, other]: &[BuildReport; 2]) -> bool {
    let is_proved = one.unproved.is_none() && other.unproved.is_none();
    other.same_as.is_some() || (is_proved && one.digest == other.digest)
}

fn write_script(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn what_is_reached_through_links_elsewhere_is_not_the_same() {
    let world = World::new();
    write_script(&world.repository.join("m"), "#!/bin/sh\necho v: 1 x\n");
    std::os::unix::fs::symlink("m", world.repository.join("tracked")).unwrap();
    let first = world.commit("file", "1");
    write_script(&world.repository.join("m"), "#!/bin/sh\necho v: 20 x\n");
    let second = world.commit("file", "1");
    let root = world.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let link = format!("ln -sfn \"$PWD\" {root}/current");
    let size = "python3 -c 'import os; print(\"v:\", os.path.getsize(\"ROOT/current/m\"), \"x\")'";
    for (script, run) in [
        (&*link, "ROOT/current/m"),
        (&*link, "PATH=ROOT/current:$PATH m"),
        (&*link, "cd ROOT/current && ./m"),
        (&*link, "[ -e ROOT/current/m ] && echo v: 1 x"),
        (&*link, size),
        ("cp m n && ln -f n ROOT/hard", "ROOT/hard"),
        ("cp m ROOT/copy", "ROOT/copy"),
        ("cp m ROOT/new && mv ROOT/new ROOT/moved", "ROOT/moved"),
    ] {
        let (script, run) = (script.replace("ROOT", root), run.replace("ROOT", root));
        let reports = builds(&world, [&first, &second], &script, &run).await;
        assert!(!are_same(&reports), "{script}; {run}: {reports:?}");
    }
    // The link leads to another file when the trace is read.
    let script = "./tracked > out && ln -sf out tracked";
    let reports = builds(&world, [&first, &second], script, "cat out").await;
    assert!(!are_same(&reports), "{reports:?}");
    let reason = reports[0].unproved.as_ref().unwrap();
    assert!(reason.contains("the link tree/tracked"), "{reason}");
}

#[tokio::test]
async fn what_is_seen_of_a_program_besides_running_it_is_not_the_same() {
    let world = World::new();
    let main = |name: &str| {
        format!(
            "#include <stdio.h>\nstatic __attribute__((noinline)) int {name}(void) {{ return 1; }}\n\
             int main(void) {{ return printf(\"v: %d x\\n\", {name}()) < 0; }}\n"
        )
    };
    let first = world.commit("main.c", &main("helper"));
    let second = world.commit("main.c", &main("helper_with_another_longer_name"));
    let script = "cc -O1 -o bench main.c";
    let same = builds(&world, [&first, &second], script, "./bench").await;
    assert!(are_same(&same), "{same:?}");
    let loader = "$(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-*.so.* 2>/dev/null | head -n 1)";
    for run in [
        "stat -c 'v: %s x' bench",
        "echo v: $(wc -c < bench) x",
        "echo v: $(cat bench | wc -c) x",
        "ln -s bench l && stat -L -c 'v: %s x' l && rm l",
        "cd / && echo v: $(stat -L -c %s \"$OLDPWD/bench\") x",
    ] {
        let reports = builds(
            &world,
            [&first, &second],
            script,
            &format!("./bench; {run}"),
        )
        .await;
        assert!(!are_same(&reports), "{run}: {reports:?}");
    }
    // The loader maps it, and reads nothing else of it.
    let reports = builds(
        &world,
        [&first, &second],
        script,
        &format!("{loader} ./bench"),
    )
    .await;
    assert!(are_same(&reports), "{reports:?}");
}
