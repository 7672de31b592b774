//! Builds that machines share.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pinpoint_backends::local::{
    BuildStore, LocalConfig, LocalExecutor, Location, Mirrors, Provisions, Repository,
};
use pinpoint_core::{Artifact, BuildReport, CombinedCommit};
use sha2::{Digest, Sha256};

use crate::world::{World, build, git};

/// A repository with a remote, and a store.
struct Machines {
    world: World,
    commit: CombinedCommit,
    most: u64,
}

const BUILD: &str = "echo made >> $COUNTER; mkdir out; echo program > out/bench; chmod 755 out/bench; \
    ln -s bench out/link; mkdir out/empty; rm removed; echo changed > file; \
    chmod 555 out/empty; cp -p file older; sleep 0.02; touch newer";

impl Machines {
    fn new() -> Self {
        let world = World::new();
        world.commit("removed", "");
        world.commit("kept", "");
        let first = world.commit("file", "1");
        let commit = world.combined(&first);
        Self::in_world(world, commit)
    }

    /// Those of a world whose repository has no remote yet.
    fn in_world(world: World, commit: CombinedCommit) -> Self {
        let upstream = world.path("upstream").display().to_string();
        git(
            &world.path(""),
            &["clone", "-q", "--bare", "repository", "upstream"],
        );
        git(&world.repository, &["remote", "add", "origin", &upstream]);
        Self {
            world,
            commit,
            most: 1 << 30,
        }
    }

    fn config(&self, build: &str) -> LocalConfig {
        let counter = self.world.path("made").display().to_string();
        LocalConfig {
            build: Some(build.replace("$COUNTER", &counter)),
            urls: [(
                self.world.repository.display().to_string(),
                self.world.path("upstream").display().to_string(),
            )]
            .into(),
            ..self.world.config(&self.commit.main.git_hash, "true")
        }
    }

    fn store(&self) -> PathBuf {
        self.world.path("store")
    }

    fn location(&self, machine: &str) -> Location {
        let place = |name: &str| self.world.path(machine).join(name);
        Location {
            state_dir: place("state"),
            job_dir: place("job"),
            machine_dir: place("machine"),
        }
    }

    /// The job of this configuration, on a machine of this name.
    async fn open(&self, config: &LocalConfig, machine: &str) -> LocalExecutor {
        self.open_with(config, machine, None).await
    }

    /// The same on a machine without a clone of the creator's.
    async fn open_elsewhere(&self, config: &LocalConfig, machine: &str) -> LocalExecutor {
        let location = self.location(machine);
        let permitted = self.world.path("*").display().to_string();
        let mirrors = Mirrors::open(
            &location.state_dir,
            &location.machine_dir,
            Vec::new(),
            vec![permitted.parse().unwrap()],
        );
        self.open_with(config, machine, Some(mirrors.unwrap()))
            .await
    }

    async fn open_with(
        &self,
        config: &LocalConfig,
        machine: &str,
        mirrors: Option<Mirrors>,
    ) -> LocalExecutor {
        let provisions = Provisions {
            build_store: Some(BuildStore::open(&self.store(), self.most).unwrap()),
            mirrors,
        };
        let location = self.location(machine);
        let opened = LocalExecutor::open_with(config.clone(), location, "job", provisions);
        opened.await.unwrap()
    }

    async fn build(&self, config: &LocalConfig, machine: &str) -> (BuildReport, Vec<String>) {
        let executor = self.open(config, machine).await;
        let report = build(&executor, 1, &self.commit).await.unwrap();
        assert_eq!(report.failure, None);
        (report, executor.warnings().unwrap())
    }

    fn made(&self) -> usize {
        fs::read_to_string(self.world.path("made")).map_or(0, |made| made.lines().count())
    }
}

fn tree(report: &BuildReport) -> PathBuf {
    match &report.artifact {
        Some(Artifact::Directory(tree)) => tree.into(),
        other => panic!("{other:?}"),
    }
}

/// Files, directories and links of a build: their contents, modes and times.
fn contents(tree: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, Option<SystemTime>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![tree.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".git") {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            let (bytes, time) = if metadata.is_dir() {
                open.push(path.clone());
                (Vec::new(), None)
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                (target.into_os_string().into_encoded_bytes(), None)
            } else {
                (fs::read(&path).unwrap(), metadata.modified().ok())
            };
            let place = path.strip_prefix(tree).unwrap().to_owned();
            found.insert(place, (bytes, metadata.permissions().mode(), time));
        }
    }
    found
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_build_that_one_machine_made_is_used_by_the_others() {
    let machines = Machines::new();
    let config = machines.config(BUILD);
    let (one, _) = machines.build(&config, "one").await;
    let (other, warnings) = machines.build(&config, "other").await;
    assert_eq!((machines.made(), warnings), (1, Vec::new()));
    assert_eq!((one.cached, other.cached), (false, true));
    let [one, other] = [&one, &other].map(tree);
    assert_ne!(one, other);
    let expected = contents(&one);
    assert_eq!(contents(&other), expected);
    assert_eq!(expected[Path::new("out/bench")].1 & 0o777, 0o755);
    assert!(!expected.contains_key(Path::new("removed")));
    // Git also works there, and the files of the checkout are not stored.
    assert!(git(&other, &["status", "--short"]).contains(" D removed"));
    let stored = files(&machines.store().join("blobs"));
    assert_eq!(stored.len(), 3, "{stored:?}");
    assert!(files(&machines.store().join("unfinished")).is_empty());

    // Everything that decides a build distinguishes it.
    let mut env = config.clone();
    env.env.insert("A".into(), "1".into());
    let other_command = machines.config(&format!("{BUILD}; true"));
    for (number, config) in (2..).zip([env, other_command]) {
        machines.build(&config, "one").await;
        assert_eq!(machines.made(), number);
    }
    // Without a URL it can't be shared.
    let mut private = machines.config(&format!("{BUILD}; : private"));
    private.urls.clear();
    machines.build(&private, "one").await;
    machines.build(&private, "other").await;
    assert_eq!(machines.made(), 5);
}

#[tokio::test]
async fn a_build_that_names_its_directory_is_used_in_that_alone() {
    let machines = Machines::new();
    let config = machines.config("echo made >> $COUNTER; pwd > where");
    machines.build(&config, "one").await;
    machines.build(&config, "other").await;
    assert_eq!(machines.made(), 2);
    // The same path on another machine.
    fs::rename(machines.world.path("other"), machines.world.path("away")).unwrap();
    let (report, warnings) = machines.build(&config, "other").await;
    assert_eq!(
        (machines.made(), report.cached, warnings),
        (2, true, Vec::new())
    );
}

#[tokio::test]
async fn damage_to_any_file_is_found_and_mended() {
    let machines = Machines::new();
    let config = machines.config(BUILD);
    let (one, _) = machines.build(&config, "0").await;
    let expected = contents(&tree(&one));
    let mut seed = 7_usize;
    let mut made = 1;
    let mut machine = 0;
    let parts = ["builds", "blobs"].map(|part| files(&machines.store().join(part)));
    for file in parts.concat() {
        for damage in 0..4 {
            let whole = fs::read(&file).unwrap();
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let place = (seed >> 33) % whole.len().max(1);
            let mut bytes = whole.clone();
            match damage {
                0 if whole.is_empty() => bytes.push(1),
                0 => bytes[place] ^= 1 << (seed % 8),
                1 => bytes.push(b'x'),
                2 if whole.is_empty() => continue,
                2 => bytes.truncate(place),
                _ => {}
            }
            match damage {
                3 => fs::remove_file(&file).unwrap(),
                _ => fs::write(&file, &bytes).unwrap(),
            }
            machine += 1;
            let (report, warnings) = machines.build(&config, &machine.to_string()).await;
            made += 1;
            let what = format!("{} damaged in way {damage}", file.display());
            assert_eq!(machines.made(), made, "{what}");
            // A missing list is not damage.
            let is_list = file.parent().unwrap().ends_with("builds");
            assert_eq!(
                warnings.len(),
                usize::from(!(is_list && damage == 3)),
                "{what}: {warnings:?}"
            );
            assert_eq!(
                without_times(&contents(&tree(&report))),
                without_times(&expected)
            );
            machine += 1;
            let (report, warnings) = machines.build(&config, &machine.to_string()).await;
            assert_eq!((machines.made(), warnings), (made, Vec::new()), "{what}");
            assert_eq!(
                without_times(&contents(&tree(&report))),
                without_times(&expected)
            );
        }
    }
    assert!(made > 12, "{made}");
}

type Contents = BTreeMap<PathBuf, (Vec<u8>, u32, Option<SystemTime>)>;

fn without_times(contents: &Contents) -> Vec<(&Path, &[u8], u32)> {
    let entries = contents.iter();
    entries
        .map(|(path, (bytes, mode, _))| (path.as_path(), bytes.as_slice(), *mode))
        .collect()
}

/// Writes a list with these entries, whose files have this many bytes.
fn write_list(list: &Path, entries: &str, bytes: u64) {
    let key = list.file_name().unwrap().to_str().unwrap();
    let json = format!(r#"{{"version":1,"key":"{key}","directory":null,"entries":{{{entries}}}}}"#);
    let sum = Sha256::digest(&json);
    let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(list, format!("{sum} {bytes}\n{json}")).unwrap();
}

#[tokio::test]
async fn a_dependency_that_not_all_machines_have_tells_builds_apart() {
    let world = World::new();
    let library = world.path("library");
    git(&world.path(""), &["init", "-q", "-b", "main", "library"]);
    fs::write(library.join("value"), "1").unwrap();
    git(&library, &["add", "-A"]);
    git(&library, &["commit", "-q", "-m", "Change"]);
    let allow = ["-c", "protocol.file.allow=always", "submodule", "--quiet"];
    let add = [&allow[..], &["add", library.to_str().unwrap(), "library"]].concat();
    git(&world.repository, &add);
    git(&world.repository, &["commit", "-q", "-m", "Add library"]);
    // The user's clone of it no longer has a remote: the job has no URL for it.
    let clone = world.repository.join("library");
    git(&clone, &["remote", "remove", "origin"]);
    let commit = world.combined("HEAD");
    let machines = Machines::in_world(world, commit);
    let repository = Repository::discover(&machines.world.repository).unwrap();
    let config = LocalConfig {
        urls: repository.urls(&Default::default(), &[]).unwrap(),
        ..machines.config("echo made >> $COUNTER; ls library > built")
    };
    let built = |report: &BuildReport| fs::read_to_string(tree(report).join("built")).unwrap();
    for (machine, made) in [("worker", 1), ("other worker", 1)] {
        let worker = machines.open_elsewhere(&config, machine).await;
        let report = build(&worker, 1, &machines.commit).await.unwrap();
        assert_eq!((built(&report).as_str(), machines.made()), ("", made));
    }
    let (report, _) = machines.build(&config, "creator").await;
    assert_eq!((built(&report).as_str(), machines.made()), ("value\n", 2));
    // Workers can't share its build either.
    let worker = machines.open_elsewhere(&config, "third worker").await;
    let report = build(&worker, 1, &machines.commit).await.unwrap();
    assert_eq!((built(&report).as_str(), machines.made()), ("", 2));

    // With a URL, they all have the same one.
    git(
        &clone,
        &["remote", "add", "origin", library.to_str().unwrap()],
    );
    let config = LocalConfig {
        urls: repository.urls(&Default::default(), &[]).unwrap(),
        ..config
    };
    let (report, _) = machines.build(&config, "creator again").await;
    assert_eq!((built(&report).as_str(), machines.made()), ("value\n", 3));
    let worker = machines.open_elsewhere(&config, "fourth worker").await;
    let report = build(&worker, 1, &machines.commit).await.unwrap();
    assert_eq!((built(&report).as_str(), machines.made()), ("value\n", 3));
}

#[tokio::test]
async fn a_list_that_cannot_be_followed_is_dropped() {
    let machines = Machines::new();
    let config = machines.config(BUILD);
    let (one, _) = machines.build(&config, "one").await;
    let expected = contents(&tree(&one));
    let list = files(&machines.store().join("builds")).remove(0);
    let blob = files(&machines.store().join("blobs")).remove(0);
    let size = fs::metadata(&blob).unwrap().len();
    let digest = blob.file_name().unwrap().to_str().unwrap();
    let file = |modified: &str| {
        format!(
            r#"{{"file":{{"mode":493,"size":{size},"modified":{modified},"sha256":"{digest}"}}}}"#
        )
    };
    let directory = r#"{"directory":{"mode":493}}"#;
    let long = "a".repeat(300);
    // Each name and each path is short enough, but not below a state directory.
    let deep = (0..20).scan("tree".to_owned(), |path, _| {
        *path = format!("{path}/{}", "a".repeat(200));
        Some(format!(r#","{path}":{directory}"#))
    });
    let lists = [
        (
            format!(
                r#""tree":{directory},"tree/a":{}"#,
                file("[18446744073709551615,0]")
            ),
            size,
        ),
        (
            format!(r#""tree":{directory},"tree/{long}":{}"#, file("[1,2]")),
            size,
        ),
        (
            format!(r#""tree":{directory}{}"#, deep.collect::<String>()),
            0,
        ),
        (format!(r#""modules":{directory}"#), 0),
        (r#""tree":{"directory":{"mode":0}}"#.into(), 0),
        (String::new(), 0),
    ];
    for (number, (entries, bytes)) in (1..).zip(lists) {
        write_list(&list, &entries, bytes);
        let (report, warnings) = machines.build(&config, &format!("maker {number}")).await;
        assert_eq!(warnings.len(), 1, "{number}: {warnings:?}");
        let found = contents(&tree(&report));
        assert_eq!(without_times(&found), without_times(&expected), "{number}");
        assert_eq!(machines.made(), number + 1);
        let (report, warnings) = machines.build(&config, &format!("user {number}")).await;
        assert_eq!((report.cached, warnings), (true, Vec::new()), "{number}");
        assert_eq!(machines.made(), number + 1);
    }
}

#[tokio::test]
async fn a_build_without_a_work_tree_is_not_stored() {
    let machines = Machines::new();
    let config = machines.config("echo made >> $COUNTER; rm -rf ../tree");
    for (number, machine) in (1..).zip(["one", "other"]) {
        let executor = machines.open(&config, machine).await;
        let report = build(&executor, 1, &machines.commit).await.unwrap();
        assert!(report.failure.is_some());
        assert_eq!(machines.made(), number);
        assert!(files(&machines.store().join("builds")).is_empty());
    }
}

/// Replaces a file with something unreadable, even for root.
fn make_unreadable(file: &Path) {
    fs::rename(file, file.with_extension("away")).unwrap();
    symlink(file, file).unwrap();
}

fn restore(file: &Path) {
    fs::rename(file.with_extension("away"), file).unwrap();
}

#[tokio::test]
async fn what_cannot_be_read_now_is_kept() {
    let machines = Machines::new();
    let config = machines.config(BUILD);
    machines.build(&config, "one").await;
    let list = files(&machines.store().join("builds")).remove(0);
    let blob = files(&machines.store().join("blobs")).remove(0);
    let unfinished = machines.store().join("unfinished");
    for (number, file) in (2..).zip([&list, &blob]) {
        make_unreadable(file);
        let executor = machines.open(&config, &number.to_string()).await;
        // Nothing new is stored.
        fs::remove_dir(&unfinished).unwrap();
        fs::write(&unfinished, "").unwrap();
        let report = build(&executor, 1, &machines.commit).await.unwrap();
        assert_eq!((report.cached, report.failure), (false, None));
        assert_eq!(executor.warnings().unwrap(), [] as [String; 0]);
        assert_eq!(machines.made(), number);
        let log = fs::read_to_string(report.log.unwrap()).unwrap();
        assert!(log.contains("the stored build can't be read: "), "{log}");
        restore(file);
        fs::remove_file(&unfinished).unwrap();
        let again = machines.build(&config, &format!("{number} again")).await;
        assert_eq!((again.0.cached, again.1), (true, Vec::new()));
    }
    // Nor are files that it may need.
    for file in files(&machines.store()) {
        set_old(&file);
    }
    make_unreadable(&list);
    let blobs = files(&machines.store().join("blobs"));
    let store = || BuildStore::open(&machines.store(), machines.most).unwrap();
    let report = store().shrink().unwrap();
    assert_eq!(report.removed, [] as [PathBuf; 0]);
    assert_eq!(report.failed.len(), 1, "{report:?}");
    assert_eq!(files(&machines.store().join("blobs")), blobs);
    restore(&list);
    // One of another version names them, too.
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, text.replace("\"version\":1", "\"version\":2")).unwrap();
    let report = store().shrink().unwrap();
    assert_eq!((report.removed, report.failed), (Vec::new(), Vec::new()));
    assert_eq!(files(&machines.store().join("blobs")), blobs);
}

/// Makes a file one that was modified two hours ago.
fn set_old(file: &Path) {
    let then = SystemTime::now() - Duration::from_secs(7_200);
    fs::File::open(file).unwrap().set_modified(then).unwrap();
}

#[tokio::test]
async fn what_no_list_has_goes() {
    let machines = Machines::new();
    let (number, config) = ("ab".repeat(32), |name: &str| {
        machines.config(&format!("echo {name} > {name}"))
    });
    let orphans = [
        machines.store().join("blobs").join("ab").join(&number),
        machines.store().join("unfinished").join("left"),
    ];
    let orphan = || {
        for path in &orphans {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
            set_old(path);
        }
    };
    let are_there = || orphans.iter().filter(|path| path.exists()).count();
    // The first build that is stored looks for them, and those of the next hour do not.
    orphan();
    machines.build(&config("a"), "one").await;
    assert_eq!(are_there(), 0);
    orphan();
    machines.build(&config("b"), "one").await;
    assert_eq!(are_there(), 2);
    set_old(&machines.store().join("swept"));
    machines.build(&config("c"), "one").await;
    assert_eq!(are_there(), 0);
    // Cleaning always searches.
    orphan();
    let store = BuildStore::open(&machines.store(), machines.most).unwrap();
    assert_eq!(store.shrink().unwrap().removed.len(), 2);
    assert_eq!(are_there(), 0);
    assert_eq!(files(&machines.store().join("builds")).len(), 3);
    assert_eq!(files(&machines.store().join("blobs")).len(), 3);
}

#[tokio::test]
async fn a_hostile_list_writes_nothing_elsewhere() {
    let machines = Machines::new();
    let config = machines.config(BUILD);
    machines.build(&config, "one").await;
    let list = files(&machines.store().join("builds")).remove(0);
    let blob = files(&machines.store().join("blobs")).remove(0);
    let size = fs::metadata(&blob).unwrap().len();
    let digest = blob.file_name().unwrap().to_str().unwrap();
    let outside = machines.world.path("outside");
    fs::create_dir(&outside).unwrap();
    let file =
        format!(r#"{{"file":{{"mode":493,"size":{size},"modified":[1,2],"sha256":"{digest}"}}}}"#);
    let link = format!(r#"{{"link":{{"target":{outside:?}}}}}"#);
    let tree = r#""tree":{"directory":{"mode":493}}"#;
    let up = "../".repeat(20);
    let outside_name = outside.display();
    for (number, entries) in [
        format!(r#"{tree},"tree/../../../{up}{outside_name}/a":{file}"#),
        format!(r#"{tree},"{outside_name}/a":{file}"#),
        format!(r#"{tree},"tree/a":{link},"tree/a/b":{file}"#),
        format!(r#"{tree},"tree/.git/hooks":{file}"#),
        format!(r#""tree":{link}"#),
        format!(r#"{tree},"finished.json":{file}"#),
    ]
    .into_iter()
    .enumerate()
    {
        let sizes = entries.matches("sha256").count() as u64 * size;
        write_list(&list, &entries, sizes);
        let (_, warnings) = machines.build(&config, &format!("machine {number}")).await;
        assert!(
            warnings[0].contains("is not valid"),
            "{entries}: {warnings:?}"
        );
        assert!(files(&outside).is_empty());
    }
    // A link in the checkout is not followed either.
    symlink(&outside, machines.world.repository.join("link")).unwrap();
    git(&machines.world.repository, &["add", "-A"]);
    git(&machines.world.repository, &["commit", "-q", "-m", "link"]);
    let linked = Machines {
        commit: machines.world.combined("HEAD"),
        ..machines
    };
    let config = linked.config("echo made >> $COUNTER; rm link; mkdir link; echo a > link/a");
    linked.build(&config, "one").await;
    let before = linked.made();
    let (report, _) = linked.build(&config, "other").await;
    assert_eq!((linked.made(), report.cached), (before, true));
    assert!(files(&outside).is_empty());
}

#[tokio::test]
async fn machines_that_store_the_same_build_at_once_do_no_harm() {
    let machines = Machines::new();
    // Not the same twice.
    let config = machines.config("echo made >> $COUNTER; mkdir out; for i in 1 2 3 4 5 6 7 8; do od -An -tx1 -N64 /dev/urandom > out/$i; done; cat out/* > all");
    let [one, two, three] = ["1", "2", "3"].map(|machine| machines.build(&config, machine));
    tokio::join!(one, two, three);
    let made = machines.made();
    assert!((1..=3).contains(&made));
    let (report, warnings) = machines.build(&config, "4").await;
    assert_eq!((machines.made(), warnings), (made, Vec::new()));
    let out = tree(&report);
    let parts = (1..=8).map(|part| fs::read(out.join("out").join(part.to_string())).unwrap());
    assert_eq!(
        fs::read(out.join("all")).unwrap(),
        parts.collect::<Vec<_>>().concat()
    );
}

#[tokio::test]
async fn the_oldest_builds_make_room() {
    let mut machines = Machines::new();
    let config = |machines: &Machines, name: &str| {
        let build = format!(
            "echo made >> $COUNTER; head -c 100000 /dev/zero > {name}; echo {name} >> {name}"
        );
        machines.config(&build)
    };
    machines.most = 250_000;
    let long_ago = SystemTime::now() - Duration::from_secs(7_200);
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        machines.build(&config(&machines, name), name).await;
        for file in files(&machines.store()) {
            // Written one after another, before the grace period of others.
            let then = long_ago + Duration::from_secs(number as u64);
            let file = fs::File::open(file).unwrap();
            if file.metadata().unwrap().modified().unwrap() > then + Duration::from_secs(60) {
                file.set_modified(then).unwrap();
            }
        }
    }
    assert_eq!(files(&machines.store().join("builds")).len(), 2);
    assert_eq!(files(&machines.store().join("blobs")).len(), 2);
    machines.build(&config(&machines, "c"), "other").await;
    assert_eq!(machines.made(), 3);
    machines.build(&config(&machines, "a"), "other").await;
    assert_eq!(machines.made(), 4);
    // One that is larger than the store is not stored.
    machines.most = 1_000;
    machines.build(&config(&machines, "d"), "d").await;
    let emptied = BuildStore::open(&machines.store(), 0)
        .unwrap()
        .shrink()
        .unwrap();
    assert_eq!(emptied.failed, []);
    assert!(files(&machines.store().join("builds")).is_empty());
}

#[tokio::test]
async fn a_store_that_cannot_be_written_stops_nothing() {
    let machines = Machines::new();
    let config = machines.config(BUILD);
    let executor = machines.open(&config, "one").await;
    let unfinished = machines.store().join("unfinished");
    fs::remove_dir(&unfinished).unwrap();
    fs::write(&unfinished, "").unwrap();
    let report = build(&executor, 1, &machines.commit).await.unwrap();
    assert_eq!(report.failure, None);
    let log = fs::read_to_string(report.log.unwrap()).unwrap();
    assert!(log.contains("the build is not stored"), "{log}");
    // Neither does a build that is not a list of files.
    fs::remove_file(&unfinished).unwrap();
    let odd = machines.config("mkfifo pipe");
    let (report, _) = machines.build(&odd, "two").await;
    let log = fs::read_to_string(report.log.unwrap()).unwrap();
    assert!(log.contains("`tree/pipe` is neither"), "{log}");
}
