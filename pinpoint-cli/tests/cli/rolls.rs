//! Culprits in rolled dependencies and in merged branches.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::world::{World, fast_import, git};

/// The entry of a commit at a path.
enum Entry {
    File(String),
    /// A commit of another repository.
    Link(String),
}

/// Makes a repository with these commits, one on top of the other, and returns their hashes.
fn line(directory: &Path, commits: &[Vec<(&str, Entry)>]) -> Vec<String> {
    fs::create_dir_all(directory).unwrap();
    git(directory, &["init", "-q", "-b", "main"]);
    let name = directory.file_name().unwrap().to_str().unwrap();
    let mut stream = String::new();
    for (number, entries) in commits.iter().enumerate() {
        let time = 1_700_000_000 + number * 3600;
        let subject = format!("{name} {number}");
        let _ = writeln!(
            stream,
            "commit refs/heads/main\ncommitter Ada Lovelace <ada@example.org> {time} +0000\n\
             data {}\n{subject}",
            subject.len()
        );
        for (path, entry) in entries {
            let _ = match entry {
                Entry::File(text) => {
                    writeln!(
                        stream,
                        "M 100644 inline {path}\ndata {}\n{text}",
                        text.len()
                    )
                }
                Entry::Link(hash) => writeln!(stream, "M 160000 {hash} {path}"),
            };
        }
    }
    fast_import(directory, &stream);
    let listed = git(directory, &["rev-list", "--reverse", "main"]);
    listed.lines().map(str::to_owned).collect()
}

fn number(number: usize) -> Entry {
    Entry::File(format!("{number}\n"))
}

fn modules(path: &str, url: &Path) -> Entry {
    Entry::File(format!(
        "[submodule \"{path}\"]\n\tpath = {path}\n\turl = {}\n",
        url.display()
    ))
}

/// A benchmark that is slow where the innermost repository is.
const BENCHMARK: &str = "echo \"latency: $(($(cat middle/inner/speed) * 100 \
                         + ${PINPOINT_RUN:-0} * 7 % 10)) ms\"";

/// `outer` rolls `middle` from 1 to 4 in its commit 5; `middle` rolls `inner`
/// from 0 to 3 in its commit 3; `inner` is slow from its commit 2 on.
struct Nested {
    world: World,
    outer: Vec<String>,
    middle: Vec<String>,
    inner: Vec<String>,
    inner_path: PathBuf,
}

fn nested(named: impl Fn(&str, &Path, &str) -> Vec<(&'static str, Entry)>) -> Nested {
    let mut world = World::new();
    let (middle_path, inner_path) = (world.path("repos/middle"), world.path("repos/inner"));
    let inner: Vec<_> = (0..5)
        .map(|at| {
            vec![
                ("number", number(at)),
                ("speed", number(1 + usize::from(at >= 2))),
            ]
        })
        .collect();
    let inner = line(&inner_path, &inner);
    let middle: Vec<_> = (0..6)
        .map(|at| {
            let mut entries = named("inner", &inner_path, &inner[if at < 3 { 0 } else { 3 }]);
            entries.push(("number", number(at)));
            entries
        })
        .collect();
    let middle = line(&middle_path, &middle);
    let outer: Vec<_> = (0..8)
        .map(|at| {
            let mut entries = named("middle", &middle_path, &middle[if at < 5 { 1 } else { 4 }]);
            entries.push(("number", number(at)));
            entries
        })
        .collect();
    let path = world.path("repos/outer");
    let outer = line(&path, &outer);
    world.repository = path;
    world.commits.clone_from(&outer);
    Nested {
        world,
        outer,
        middle,
        inner,
        inner_path,
    }
}

/// Says where repositories are that a manifest names by their paths.
fn allow<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<String> {
    let named = paths.into_iter().map(|path| path.display());
    named
        .flat_map(|path| ["--repository".to_owned(), format!("{path}={path}")])
        .collect()
}

/// Options of which the first are allowed paths.
fn with<'a>(allowed: &'a [String], options: &[&'a str]) -> Vec<&'a str> {
    let allowed = allowed.iter().map(String::as_str);
    allowed.chain(options.iter().copied()).collect()
}

impl Nested {
    fn allowed(&self) -> Vec<String> {
        let middle = self.world.path("repos/middle");
        allow([&*middle, &*self.inner_path])
    }

    /// The culprit is the commit 2 of the innermost repository, found at the
    /// outer commit before the roll.
    #[track_caller]
    fn assert_found(&self, document: &Value) {
        assert_eq!(document["status"], "culprit_found", "{document:#}");
        let culprits = document["culprits"].as_array().unwrap();
        assert_eq!(culprits.len(), 1, "{document:#}");
        let found = &culprits[0];
        assert_eq!(found["blamed"]["git_hash"], *self.inner[2], "{found:#}");
        assert_eq!(found["blamed"]["subject"], "inner 2");
        let repository = found["blamed"]["repository"].as_str().unwrap();
        assert_eq!(
            repository.trim_start_matches("file://"),
            self.inner_path.to_str().unwrap()
        );
        assert_eq!(found["undone"], false);
        assert_eq!(found["rolled_by"]["git_hash"], *self.outer[5]);
        let commit = &found["commit"];
        assert_eq!(commit["main"]["git_hash"], *self.outer[4]);
        let held = commit["modified_deps"].as_array().unwrap();
        assert_eq!(held[0]["commit"]["git_hash"], *self.middle[2]);
        assert_eq!(held[1]["commit"]["git_hash"], *self.inner[2]);
        let estimate = found["effect"]["estimate"].as_f64().unwrap();
        assert!((99.9..100.1).contains(&estimate), "{found}");
    }
}

fn submodule(path: &str, url: &Path, hash: &str) -> Vec<(&'static str, Entry)> {
    let path: &'static str = if path == "inner" { "inner" } else { "middle" };
    vec![
        (".gitmodules", modules(path, url)),
        (path, Entry::Link(hash.into())),
    ]
}

fn deps(path: &str, url: &Path, hash: &str) -> Vec<(&'static str, Entry)> {
    // The innermost is inside the middle one, in both of their trees.
    let path = if path == "inner" { "inner" } else { "middle" };
    vec![(
        "DEPS",
        Entry::File(format!(
            "use_relative_paths = True\ndeps = {{'{path}': 'file://{}@{hash}'}}\n\
             recursedeps = ['{path}']\n",
            url.display()
        )),
    )]
}

#[test]
fn a_culprit_in_a_submodule_of_a_submodule() {
    let nested = nested(submodule);
    let allowed = nested.allowed();
    let options = with(&allowed, &["--format", "lines", "--output", "json"]);
    let before = nested.world.snapshot();
    let finished = nested.world.bisect(&options, BENCHMARK).ends_with(0);
    nested.assert_found(&finished.document());
    assert!(
        nested.world.snapshot() == before,
        "the repository was changed"
    );

    // For people, the commit to blame and where it was found.
    let shown = nested
        .world
        .pinpoint(&[
            "jobs",
            "show",
            nested.world.only_job()["id"].as_str().unwrap(),
        ])
        .ends_with(0);
    let text = &shown.stdout;
    assert!(
        text.contains(&format!("culprit {}", nested.inner[2])),
        "{text}"
    );
    let place = format!(
        "{} middle@{} inner@{}",
        &nested.outer[4][..10],
        &nested.middle[2][..10],
        &nested.inner[2][..10]
    );
    assert!(text.contains(&place), "{text}");
}

#[test]
fn a_culprit_in_a_recursed_dependency_of_deps() {
    let nested = nested(deps);
    let allowed = nested.allowed();
    let options = with(&allowed, &["--format", "lines", "--output", "json"]);
    let finished = nested.world.bisect(&options, BENCHMARK).ends_with(0);
    nested.assert_found(&finished.document());
}

#[test]
fn a_file_that_only_happens_to_be_called_deps_is_in_nobodys_way() {
    let nested = nested(|path, url, hash| {
        let mut entries = submodule(path, url, hash);
        entries.push(("DEPS", Entry::File("see the wiki\n".into())));
        entries
    });
    // As `git submodule update` leaves it.
    let middle = nested.world.path("repos/middle");
    let clone = ["clone", "-q", "--bare", middle.to_str().unwrap()];
    git(
        &nested.world.repository,
        &[&clone[..], &[".git/modules/middle"]].concat(),
    );
    let clone = ["clone", "-q", "--bare", nested.inner_path.to_str().unwrap()];
    git(
        &nested.world.repository,
        &[&clone[..], &[".git/modules/middle/modules/inner"]].concat(),
    );
    let options = ["--format", "lines", "--output", "json"];
    let finished = nested.world.bisect(&options, BENCHMARK).ends_with(0);
    let document = finished.document();
    let found = &document["culprits"][0];
    assert_eq!(found["blamed"]["git_hash"], *nested.inner[2], "{found:#}");
}

#[test]
fn midpoint_shows_what_lies_between() {
    let nested = nested(submodule);
    let allowed = nested.allowed();
    let ask = |options: &[&str]| {
        let options = with(&allowed, options);
        nested.world.pinpoint(&["midpoint"]).and(&options)
    };
    let [lower, higher] = [&nested.outer[4], &nested.outer[5]];
    let finished = ask(&[lower, higher, "--all", "--output", "json"]).ends_with(0);
    let document = finished.document();
    assert_eq!(document["count"], 3, "{document:#}");
    let held = |state: &Value| state["modified_deps"][0]["commit"]["git_hash"].clone();
    let between = document["between"].as_array().unwrap();
    let hashes: Vec<Value> = between.iter().map(held).collect();
    assert_eq!(hashes, nested.middle[2..5]);
    assert_eq!(held(&document["midpoint"]), *nested.middle[3]);
    assert_eq!(document["changes"][0]["path"], "middle");
    assert_eq!(document["changes"][0]["followed"], "forward");

    // Every displayed state can be given on its command line.
    let lower = format!("{lower},middle@{}", &nested.middle[2][..12]);
    let higher = format!("{},middle@{}", &nested.outer[4], &nested.middle[3]);
    let finished = ask(&[&lower, &higher, "--all"]).ends_with(0);
    let text = &finished.stdout;
    for hash in &nested.inner[1..4] {
        assert!(text.contains(&format!("inner@{}", &hash[..10])), "{text}");
    }
    let finished = ask(&[&nested.outer[5], &nested.outer[6]]).ends_with(3);
    assert!(finished.stdout.contains("nothing"), "{finished}");
}

#[test]
fn a_midpoint_of_nothing_is_refused_with_a_reason() {
    let nested = nested(submodule);
    let allowed = nested.allowed();
    let ask = |lower: &str, higher: &str| {
        let options = with(&allowed, &[lower, higher]);
        let finished = nested.world.pinpoint(&["midpoint"]).and(&options);
        finished.ends_with(2).stderr
    };
    let (first, second) = (&*nested.outer[1], &*nested.outer[2]);
    assert!(ask(first, first).contains("choose two commits"));
    assert!(ask(second, first).contains("swap them"));
    assert!(ask("no-such-branch", first).contains("no commit no-such-branch"));
    let excluded = format!("^{second}");
    assert!(ask(first, &excluded).contains(&format!("no commit {excluded}")));
    let unknown = format!("{first},nowhere@{}", nested.inner[0]);
    assert!(ask(first, &unknown).contains("names no dependency nowhere"));
    let unknown = format!("{first},middle@{}", "0".repeat(40));
    assert!(ask(first, &unknown).contains("no commit \"0000"));
}

#[test]
fn a_manifest_opens_no_directory_by_itself() {
    let nested = nested(deps);
    let ends = [&*nested.outer[4], &*nested.outer[5]];
    let command = [&["midpoint", "--output", "json"], &ends[..]].concat();
    let document = nested.world.pinpoint(&command).ends_with(3).document();
    let not_followed = &document["changes"][0]["followed"]["no"];
    assert_eq!(not_followed["unavailable"], true);
    let reason = not_followed["reason"].as_str().unwrap();
    let path = nested.world.path("repos/middle").display().to_string();
    let only = format!("{path} is opened only if it is named");
    assert!(reason.contains(&only), "{reason}");
    let shown = nested.world.pinpoint(&["midpoint"]).and(&ends).ends_with(3);
    shown.says(&format!("(--repository file://{path}=DIR)"));
}

/// `main` with a branch merged at its end: 0, 1, 2, and then the merge of
/// b1 … b5, of which one makes it slow.
fn merged(slow: usize, conflict: bool) -> (World, Vec<String>) {
    let mut world = World::with_values([1, 1, 1]);
    let repository = world.repository.clone();
    let commit = |file: &str, text: &str, subject: &str| {
        fs::write(repository.join(file), text).unwrap();
        git(&repository, &["add", "."]);
        let author = [
            "-c",
            "user.name=Ada Lovelace",
            "-c",
            "user.email=ada@example.org",
        ];
        git(
            &repository,
            &[&author[..], &["commit", "-q", "-m", subject]].concat(),
        );
        git(&repository, &["rev-parse", "HEAD"])
    };
    git(&repository, &["checkout", "-q", "-b", "branch", "HEAD~1"]);
    let mut branch = Vec::new();
    for at in 1..=5 {
        let (file, text) = if at == slow {
            ("value", "2\n".to_owned())
        } else {
            ("other", format!("{at}\n"))
        };
        branch.push(commit(file, &text, &format!("b{at}")));
    }
    git(&repository, &["checkout", "-q", "main"]);
    if conflict {
        commit("other", "mine\n", "Conflict with b1 to b5");
    }
    let author = [
        "-c",
        "user.name=Ada Lovelace",
        "-c",
        "user.email=ada@example.org",
    ];
    let merge = [
        "merge", "-q", "--no-ff", "-X", "ours", "-m", "Merge", "branch",
    ];
    git(&repository, &[&author[..], &merge[..]].concat());
    let listed = git(
        &repository,
        &["rev-list", "--reverse", "--first-parent", "main"],
    );
    world.commits = listed.lines().map(str::to_owned).collect();
    (world, branch)
}

#[test]
fn a_culprit_in_a_merged_branch() {
    let (world, branch) = merged(3, false);
    // Git may note that it has met an object again, in the time of its file.
    let content = |world: &World| -> Vec<_> {
        let files = world.snapshot().into_iter();
        files.map(|(path, _, content)| (path, content)).collect()
    };
    let before = content(&world);
    let options = ["--format", "lines", "--output", "json"];
    let finished = world.bisect(&options, crate::world::BENCHMARK).ends_with(0);
    let document = finished.document();
    let found = &document["culprits"][0];
    assert_eq!(found["blamed"]["subject"], "b3", "{document:#}");
    assert_eq!(found["blamed"]["git_hash"], *branch[2], "{document:#}");
    assert_eq!(found["commit"]["main"]["merged"][0], *branch[2]);
    assert_eq!(found["prior"]["main"]["merged"][0], *branch[1]);
    assert_eq!(found["commit"]["main"]["git_hash"], *world.commits[2]);
    assert!(content(&world) == before, "the repository was changed");
}

#[test]
fn commits_of_a_merged_branch_are_skipped_on_request() {
    let (world, branch) = merged(3, false);
    let options = [
        "--format", "lines", "--output", "json", "--skip", &branch[2],
    ];
    let finished = world.bisect(&options, crate::world::BENCHMARK).ends_with(4);
    let document = finished.document();
    let skipped = &document["skipped"][0];
    assert_eq!(skipped["commit"]["main"]["merged"][0], *branch[2]);
    assert_eq!(skipped["reason"], "skipped on request", "{document:#}");
}

#[test]
fn the_last_commit_of_a_merged_branch_is_to_blame_and_not_the_merge() {
    let (world, branch) = merged(5, false);
    let options = ["--format", "lines", "--output", "json"];
    let finished = world.bisect(&options, crate::world::BENCHMARK).ends_with(0);
    let document = finished.document();
    let found = &document["culprits"][0];
    assert_eq!(found["blamed"]["git_hash"], *branch[4], "{document:#}");
    assert_eq!(found["blamed"]["subject"], "b5");
    assert_eq!(found["commit"]["main"]["git_hash"], *world.bad());
}

#[test]
fn a_merge_of_which_nothing_can_be_made_is_named_with_all_that_it_merges() {
    let (world, branch) = merged(3, true);
    let options = ["--format", "lines", "--output", "json"];
    let finished = world.bisect(&options, crate::world::BENCHMARK).ends_with(0);
    let document = finished.document();
    let found = &document["culprits"][0];
    assert_eq!(found["blamed"]["subject"], "Merge", "{document:#}");
    assert_eq!(found["commit"]["main"]["git_hash"], *world.bad());
    let others = found["alternatives"].as_array().unwrap().iter();
    let others: Vec<&str> = others.map(|it| it["git_hash"].as_str().unwrap()).collect();
    assert_eq!(others, branch, "{document:#}");
}

const OF_DEPENDENCY: &str = "echo \"latency: $(($(cat middle/speed) * 100 \
                             + ${PINPOINT_RUN:-0} * 7 % 10)) ms\"";

/// A dependency that is slow from its commit 1 on.
fn slow_dependency(world: &World) -> (PathBuf, Vec<String>) {
    let path = world.path("repos/middle");
    let commits = [1, 2, 2, 2].into_iter().enumerate();
    let commits: Vec<_> = commits
        .map(|(at, speed)| vec![("number", number(at)), ("speed", number(speed))])
        .collect();
    let commits = line(&path, &commits);
    (path, commits)
}

#[test]
fn the_first_commit_of_a_roll_that_other_commits_precede_outside_of_the_paths() {
    let mut world = World::new();
    let (path, middle) = slow_dependency(&world);
    let commits: Vec<_> = (0..6)
        .map(|at| {
            let mut entries = submodule("middle", &path, &middle[if at < 4 { 0 } else { 3 }]);
            entries.push(("number", number(at)));
            entries
        })
        .collect();
    world.repository = world.path("repos/outer");
    world.commits = line(&world.repository, &commits);
    let allowed = allow([&*path]);
    let options = ["--format", "lines", "--output", "json", "--path", "middle"];
    let options = with(&allowed, &options);
    let finished = world.bisect(&options, OF_DEPENDENCY).ends_with(0);
    let document = finished.document();
    let found = &document["culprits"][0];
    assert_eq!(found["prior"]["main"]["git_hash"], *world.commits[0]);
    assert_eq!(found["commit"]["main"]["git_hash"], *world.commits[3]);
    assert_eq!(found["blamed"]["git_hash"], *middle[1], "{document:#}");
}

#[test]
fn a_dependency_that_is_set_back_is_blamed_for_the_commit_that_it_lost() {
    let mut world = World::new();
    let path = world.path("repos/middle");
    let commits = [2, 2, 1, 1].into_iter().enumerate();
    let commits: Vec<_> = commits
        .map(|(at, speed)| vec![("number", number(at)), ("speed", number(speed))])
        .collect();
    let middle = line(&path, &commits);
    let commits: Vec<_> = (0..6)
        .map(|at| {
            let mut entries = submodule("middle", &path, &middle[if at < 4 { 3 } else { 0 }]);
            entries.push(("number", number(at)));
            entries
        })
        .collect();
    world.repository = world.path("repos/outer");
    world.commits = line(&world.repository, &commits);
    let allowed = allow([&*path]);
    let options = with(&allowed, &["--format", "lines", "--output", "json"]);
    let finished = world.bisect(&options, OF_DEPENDENCY).ends_with(0);
    let document = finished.document();
    let found = &document["culprits"][0];
    assert_eq!(found["blamed"]["git_hash"], *middle[2], "{document:#}");
    assert_eq!(found["undone"], true, "{document:#}");
    let rolled_by = &found["rolled_by"]["git_hash"];
    assert_eq!(*rolled_by, *world.commits[4], "{document:#}");
}

/// The good end is on a branch that was merged later; the culprit is the first commit that only the
/// main branch has:
///
/// ```text
/// fork ─ first ─ second ─ merge
///     ╲                 ╱
///      ─────── good ───
/// ```
fn beside(world: &mut World, before: &str, first: &str) {
    let file = |name: &str, text: &str| format!("M 100644 inline {name}\ndata 2\n{text}\n");
    let commits = [
        ("main", format!("{before}\n")),
        ("side", format!("from :1\n{}", file("other", "1"))),
        ("main", format!("from :1\n{first}\n")),
        ("main", format!("from :3\n{}", file("number", "1"))),
        ("main", format!("from :4\nmerge :2\n{}", file("other", "1"))),
    ];
    let mut stream = String::new();
    for (at, (branch, changes)) in (1..).zip(commits) {
        let time = 1_700_000_000 + at * 3600;
        let _ = writeln!(
            stream,
            "commit refs/heads/{branch}\nmark :{at}\n\
             committer Ada Lovelace <ada@example.org> {time} +0000\n\
             data 6\ntest {at}\n{changes}"
        );
    }
    fast_import(&world.repository, &stream);
    let names = ["side", "main~2", "main~1", "main"];
    let hashes = names.map(|name| git(&world.repository, &["rev-parse", name]));
    world.commits = hashes.into();
}

#[test]
fn a_good_end_that_came_in_by_a_merge() {
    let mut world = World::new();
    let value = |value: &str| format!("M 100644 inline value\ndata 2\n{value}\n");
    beside(&mut world, &value("1"), &value("2"));
    let options = ["--format", "lines", "--output", "json"];
    let finished = world.bisect(&options, crate::world::BENCHMARK).ends_with(0);
    let document = finished.document();
    let found = &document["culprits"][0];
    assert_eq!(found["blamed"]["git_hash"], *world.commits[1]);
    assert_eq!(found["prior"]["main"]["git_hash"], *world.good());
}

#[test]
fn a_roll_next_to_a_good_end_that_came_in_by_a_merge() {
    let mut world = World::new();
    let (path, middle) = slow_dependency(&world);
    let Entry::File(text) = modules("middle", &path) else {
        unreachable!("it is a file")
    };
    let names = |hash: &str| {
        let length = text.len();
        format!("M 160000 {hash} middle\nM 100644 inline .gitmodules\ndata {length}\n{text}")
    };
    beside(&mut world, &names(&middle[0]), &names(&middle[3]));
    let allowed = allow([&*path]);
    let options = with(&allowed, &["--format", "lines", "--output", "json"]);
    let finished = world.bisect(&options, OF_DEPENDENCY).ends_with(0);
    let document = finished.document();
    let found = &document["culprits"][0];
    assert_eq!(found["blamed"]["git_hash"], *middle[1], "{document:#}");
    assert_eq!(found["prior"]["main"]["git_hash"], *world.good());
}
