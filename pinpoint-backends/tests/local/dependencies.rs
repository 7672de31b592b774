//! Dependencies, laid out as named by the manifests or as held by the state.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pinpoint_backends::local::{CleanOptions, LocalConfig, LocalExecutor, clean};
use pinpoint_core::{CombinedCommit, Commit, ExecutorError, InProcess, ModifiedDependency};
use sha2::{Digest, Sha256};

use crate::world::{World, build, git, key, refusal, snapshot, until};

/// A repository that others depend on.
struct Upstream {
    path: PathBuf,
    url: String,
    /// Its commits, oldest first. The file `value` holds the number of each.
    commits: Vec<String>,
}

/// Commits files, and commits of other repositories at paths.
fn commit(repository: &Path, files: &[(&str, &str)], gitlinks: &[(&str, &str)]) -> String {
    for (path, content) in files {
        let path = repository.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    git(repository, &["add", "-A"]);
    for (path, hash) in gitlinks {
        fs::create_dir_all(repository.join(path)).unwrap();
        let entry = format!("160000,{hash},{path}");
        git(
            repository,
            &["update-index", "--add", "--cacheinfo", &entry],
        );
    }
    git(
        repository,
        &["commit", "-q", "--allow-empty", "-m", "Change"],
    );
    git(repository, &["rev-parse", "HEAD"])
}

impl Upstream {
    /// At a URL that only the configuration resolves.
    fn new(world: &World, name: &str, commits: usize) -> Self {
        let mut upstream = Self {
            path: world.path(name),
            url: format!("https://host.example/{name}.git"),
            commits: Vec::new(),
        };
        fs::create_dir(&upstream.path).unwrap();
        git(&upstream.path, &["init", "-q", "-b", "main"]);
        for number in 0..commits {
            upstream.commit(&[("value", &number.to_string())], &[]);
        }
        upstream
    }

    fn commit(&mut self, files: &[(&str, &str)], gitlinks: &[(&str, &str)]) {
        self.commits.push(commit(&self.path, files, gitlinks));
    }

    fn at(&self, number: usize, named_by: impl Into<String>) -> ModifiedDependency {
        ModifiedDependency {
            commit: Commit::new(&self.url, &self.commits[number]),
            named_by: named_by.into(),
        }
    }

    fn submodule(&self, path: &str) -> String {
        format!(
            "[submodule \"{path}\"]\n\tpath = {path}\n\turl = {}\n",
            self.url
        )
    }
}

fn main_name(world: &World) -> String {
    world.repository.to_str().unwrap().into()
}

/// The commit, with dependencies held elsewhere.
fn holding(world: &World, hash: &str, held: &[ModifiedDependency]) -> CombinedCommit {
    CombinedCommit {
        modified_deps: held.to_vec(),
        ..world.combined(hash)
    }
}

fn config(world: &World, good: &str, at_hand: &[&Upstream], build: &str) -> LocalConfig {
    LocalConfig {
        build: Some(build.into()),
        repositories: at_hand
            .iter()
            .map(|upstream| (upstream.url.clone(), upstream.path.clone()))
            .collect(),
        ..world.config(good, "true")
    }
}

/// The output of a build script that prints something.
async fn printed(executor: &LocalExecutor, action: u64, commit: &CombinedCommit) -> String {
    let report = build(executor, action, commit).await.unwrap();
    assert_eq!(report.failure, None);
    fs::read_to_string(report.log.unwrap())
        .unwrap()
        .trim()
        .into()
}

async fn failure(executor: &LocalExecutor, action: u64, commit: &CombinedCommit) -> String {
    let report = build(executor, action, commit).await.unwrap();
    report.failure.expect("it does not build")
}

/// The files of a build's work tree, without git's own.
fn tree_of(world: &World, directory: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let builds: Vec<_> = fs::read_dir(world.path(directory).join("builds"))
        .unwrap()
        .collect();
    assert_eq!(builds.len(), 1);
    let tree = builds[0].as_ref().unwrap().path().join("tree");
    snapshot(&tree)
        .into_iter()
        .map(|(path, _, content)| (path.strip_prefix(&tree).unwrap().to_owned(), content))
        .filter(|(path, _)| !path.ends_with(".git"))
        .collect()
}

#[tokio::test]
async fn submodules_at_hand_are_filled_and_theirs_too() {
    let world = World::new();
    let inner = Upstream::new(&world, "inner", 2);
    let mut outer = Upstream::new(&world, "outer", 1);
    outer.commit(
        &[
            ("value", "1"),
            (".gitmodules", &inner.submodule("deep/inner")),
        ],
        &[("deep/inner", &inner.commits[0])],
    );
    let elsewhere = Upstream::new(&world, "elsewhere", 1);
    let modules = outer.submodule("third party/outer") + &elsewhere.submodule("elsewhere");
    let first = commit(
        &world.repository,
        &[(".gitmodules", &modules)],
        &[
            ("third party/outer", &outer.commits[1]),
            ("elsewhere", &elsewhere.commits[0]),
        ],
    );
    let script = "cat 'third party/outer/value' 'third party/outer/deep/inner/value'
        git -C 'third party/outer' rev-parse HEAD
        git status --porcelain
        ls elsewhere";
    let executor = world.open(config(&world, &first, &[&inner, &outer], script), "job");
    let expected = |inner: usize, outer: &str| format!("1{inner}{outer}");
    let plain = printed(&executor, 1, &world.combined(&first)).await;
    assert_eq!(plain, expected(0, &outer.commits[1]));

    // A dependency of a dependency, held at another commit.
    let held = [inner.at(1, &outer.url)];
    let told = printed(&executor, 2, &holding(&world, &first, &held)).await;
    assert!(told.starts_with(&expected(1, &outer.commits[1])), "{told}");
    // The outer one at a commit that has no such dependency yet.
    let held = [outer.at(0, main_name(&world)), inner.at(1, &outer.url)];
    let reason = failure(&executor, 3, &holding(&world, &first, &held)).await;
    assert!(
        reason.contains(&inner.url) && reason.contains("no manifest"),
        "{reason}"
    );
}

#[tokio::test]
async fn holding_what_is_named_anyway_gives_the_same_tree() {
    let world = World::new();
    let outer = Upstream::new(&world, "outer", 2);
    let deps = format!("deps = {{'src/lib': '{}@{}'}}", outer.url, outer.commits[1]);
    let first = commit(&world.repository, &[("DEPS", &deps)], &[]);
    let mut trees = Vec::new();
    for (state, held) in [
        ("state", vec![]),
        ("other", vec![outer.at(1, main_name(&world))]),
    ] {
        let mut location = world.location("job");
        location.state_dir = world.path(state);
        location.job_dir = world.path("jobs").join(state);
        let executor =
            LocalExecutor::open(config(&world, &first, &[&outer], "true"), location, "job")
                .unwrap();
        printed(&executor, 1, &holding(&world, &first, &held)).await;
        trees.push(tree_of(&world, state));
    }
    assert_eq!(trees[0], trees[1]);
    assert!(trees[0].contains_key(Path::new("lib/value")), "{trees:?}");
}

#[tokio::test]
async fn an_update_of_submodules_leaves_them_where_they_are_held() {
    let world = World::new();
    let outer = Upstream::new(&world, "outer", 3);
    let first = commit(
        &world.repository,
        &[(".gitmodules", &outer.submodule("outer"))],
        &[("outer", &outer.commits[1])],
    );
    let script = "git submodule --quiet update --init --recursive && cat outer/value";
    let executor = world.open(config(&world, &first, &[&outer], script), "job");
    for (number, value) in [(0, "0"), (1, "1"), (2, "2")] {
        let commit = holding(&world, &first, &[outer.at(number, main_name(&world))]);
        assert_eq!(printed(&executor, number as u64, &commit).await, value);
    }
}

#[tokio::test]
async fn deps_are_laid_out_from_the_directory_of_the_checkout() {
    let world = World::new();
    let inner = Upstream::new(&world, "inner", 2);
    let beside = Upstream::new(&world, "beside", 1);
    let mut relative = Upstream::new(&world, "relative", 0);
    let deps = format!(
        "use_relative_paths = True\ndeps = {{'deep/inner': '{}@{}'}}",
        inner.url, inner.commits[0]
    );
    relative.commit(&[("DEPS", &deps)], &[]);
    let mut rooted = Upstream::new(&world, "rooted", 0);
    let deps = format!(
        "deps = {{'src/by_rooted': '{}@{}', 'src/relative': '{}@{}'}}",
        inner.url, inner.commits[1], beside.url, beside.commits[0]
    );
    rooted.commit(&[("DEPS", &deps)], &[]);
    let ignored = &relative;
    let deps = format!(
        "deps = {{
           'src/relative': '{0}@{1}',
           'src/rooted': {{'url': '{2}@{3}', 'condition': 'checkout_linux'}},
           'src/windows': {{'url': '{2}@{4}', 'condition': 'checkout_win'}},
           'src/not_recursed': '{5}@{6}',
           'src/nowhere': 'https://nowhere.example/a.git@{3}',
           'beside': '{7}@{8}',
         }}\n\
         recursedeps = ['src/relative', 'src/rooted']",
        relative.url,
        relative.commits[0],
        rooted.url,
        rooted.commits[0],
        "0".repeat(40),
        ignored.url,
        ignored.commits[0],
        beside.url,
        beside.commits[0],
    );
    let first = commit(&world.repository, &[("DEPS", &deps), ("file", "")], &[]);
    let at_hand = [&inner, &beside, &relative, &rooted];
    let script = "find . -name value -o -name DEPS | sort; cat by_rooted/value relative/deep/inner/value; ls ..";
    let executor = world.open(config(&world, &first, &at_hand, script), "job");
    assert_eq!(
        printed(&executor, 1, &world.combined(&first)).await,
        "./DEPS\n./by_rooted/value\n./not_recursed/DEPS\n./relative/DEPS\n./relative/deep/inner/value\n./rooted/DEPS\n10tree"
    );
    let held = [inner.at(1, &relative.url)];
    let told = printed(&executor, 2, &holding(&world, &first, &held)).await;
    assert!(told.ends_with("\n11tree"), "{told}");
    let held = [beside.at(0, main_name(&world))];
    let reason = failure(&executor, 3, &holding(&world, &first, &held)).await;
    assert!(reason.contains("is outside the work tree"), "{reason}");
}

#[tokio::test]
async fn a_lock_file_of_cargo_is_given_the_commit_that_is_held() {
    let world = World::new();
    let mut library = Upstream::new(&world, "library", 0);
    library.url = format!("file://{}", library.path.display());
    for number in 0..2 {
        let manifest = "[package]\nname = \"library\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
        let code = format!("pub const VALUE: u32 = {number};\n");
        library.commit(&[("Cargo.toml", manifest), ("src/lib.rs", &code)], &[]);
    }
    let manifest = format!(
        "[package]\nname = \"tool\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
         [dependencies]\nlibrary = {{ git = \"{}\", rev = \"{}\" }}\n",
        library.url,
        &library.commits[0][..10]
    );
    let lock = format!(
        "version = 4\n\n\
         [[package]]\nname = \"library\"\nversion = \"0.1.0\"\nsource = \"git+{}?rev={}#{}\"\n\n\
         [[package]]\nname = \"tool\"\nversion = \"0.1.0\"\ndependencies = [\n \"library\",\n]\n",
        library.url,
        &library.commits[0][..10],
        library.commits[0]
    );
    let first = commit(
        &world.repository,
        &[
            ("Cargo.toml", &manifest),
            ("Cargo.lock", &lock),
            (
                "src/main.rs",
                "fn main() { println!(\"{}\", library::VALUE) }",
            ),
        ],
        &[],
    );
    let mut config = config(&world, &first, &[], "cargo run --quiet --locked");
    for (name, value) in [("CARGO_HOME", "cargo"), ("CARGO_TARGET_DIR", "target")] {
        let value = world.path(value).display().to_string();
        config.env.insert(name.into(), value);
    }
    let executor = world.open(config, "job");
    assert_eq!(printed(&executor, 1, &world.combined(&first)).await, "0");
    for (action, number) in [(2, 1), (3, 0)] {
        let held = [library.at(number, main_name(&world))];
        let state = holding(&world, &first, &held);
        assert_eq!(printed(&executor, action, &state).await, number.to_string());
    }
    let mut held = [library.at(1, main_name(&world))];
    held[0].commit.merged.push(library.commits[0].clone());
    let reason = failure(&executor, 4, &holding(&world, &first, &held)).await;
    assert!(reason.contains("has no merge"), "{reason}");
}

/// Go, where it is installed.
fn go() -> Option<PathBuf> {
    let usual = [PathBuf::from("/usr/local/go/bin")];
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(usual)
        .map(|directory| directory.join("go"))
        .find(|program| program.is_file())
}

#[tokio::test]
async fn a_module_of_go_is_replaced_by_a_checkout() {
    let world = World::new();
    let mut library = Upstream::new(&world, "library", 0);
    library.url = "https://github.com/team/library".into();
    let code = |value: &str| format!("package library\n\nconst Value = \"{value}\"\n");
    library.commit(&[("library.go", &code("0"))], &[]);
    library.commit(
        &[
            ("library.go", &code("1")),
            ("go.mod", "module github.com/team/library\n\ngo 1.17\n"),
            (
                "inner/go.mod",
                "module github.com/team/library/inner\n\ngo 1.17\n",
            ),
            (
                "inner/inner.go",
                "package inner\n\nconst Value = \"inner\"\n",
            ),
        ],
        &[],
    );
    let module = "module example.org/tool\n\ngo 1.17\n\n\
        require github.com/team/library v0.0.0-20210101000000-0123456789ab\n";
    let module_with_inner = format!(
        "{module}require github.com/team/library/inner v0.0.0-20210101000000-0123456789ab\n"
    );
    let program = |import: &str, name: &str| {
        format!("package main\n\nimport \"{import}\"\n\nfunc main() {{ print({name}.Value) }}\n")
    };
    let first = commit(
        &world.repository,
        &[
            ("go.mod", module),
            ("main.go", &program("github.com/team/library", "library")),
        ],
        &[],
    );
    let second = commit(
        &world.repository,
        &[
            ("go.mod", &module_with_inner),
            (
                "main.go",
                &program("github.com/team/library/inner", "inner"),
            ),
        ],
        &[],
    );
    // The place where Go finds the package, which requires no compiler.
    let script = "tail -n 1 go.mod; ! test -x \"$GO\" \\
        || cat \"$($GO list -f '{{.Dir}}' \"$(sed -n 's/^import \"\\(.*\\)\"/\\1/p' main.go)\")\"/*.go";
    let mut config = config(&world, &first, &[&library], script);
    let go = go();
    for (name, value) in [
        (
            "GO",
            go.as_deref().map_or("none".into(), Path::to_string_lossy),
        ),
        ("GOFLAGS", "-mod=mod".into()),
        ("GOPROXY", "off".into()),
        ("GOTOOLCHAIN", "local".into()),
        ("GOPATH", world.path("go").to_string_lossy()),
        ("GOCACHE", world.path("go-cache").to_string_lossy()),
    ] {
        config.env.insert(name.into(), value.into_owned());
    }
    let executor = world.open(config, "job");
    for (action, hash, number, module, value) in [
        (1, &first, 0, "github.com/team/library", "0"),
        (2, &first, 1, "github.com/team/library", "1"),
        (3, &second, 1, "github.com/team/library/inner", "inner"),
    ] {
        let held = [library.at(number, main_name(&world))];
        let told = printed(&executor, action, &holding(&world, hash, &held)).await;
        assert!(
            told.starts_with(&format!("replace {module} => \"/")),
            "{told}"
        );
        assert!(told.contains("/modules/0"), "{told}");
        if go.is_some() {
            assert!(
                told.ends_with(&format!("\nconst Value = \"{value}\"")),
                "{told}"
            );
        }
    }
    let held = [library.at(0, main_name(&world))];
    let reason = failure(&executor, 4, &holding(&world, &second, &held)).await;
    assert!(
        reason.contains("holds no module github.com/team/library/inner"),
        "{reason}"
    );
}

#[tokio::test]
async fn what_cannot_be_laid_out_does_not_build_and_says_why() {
    let world = World::new();
    let outer = Upstream::new(&world, "outer", 1);
    std::os::unix::fs::symlink("/tmp", world.repository.join("link")).unwrap();
    let head = outer.commits[0].clone();
    let lacking = "1".repeat(40);
    let cases: Vec<(&str, &str, &str)> = vec![
        ("../out", &head, "leads out of the work tree"),
        ("/tmp/out", &head, "leads out of the work tree"),
        ("src/../../out", &head, "leads out of the work tree"),
        ("src/link/out", &head, "leads through a symbolic link"),
        ("src/link", &head, "leads through a symbolic link"),
        ("src/.git/hooks", &head, "leads into git's own files"),
        ("src/DEPS", &head, "leads to a file of the commit"),
        ("src/kept", &head, "leads to a directory of the commit"),
        ("src/outer", &lacking, "git fetch"),
        ("src/outer", "main", "has no commit \"refs/tags/main\""),
    ];
    let mut executor = None;
    for (action, (path, revision, expected)) in (1..).zip(cases) {
        let deps = format!(
            "deps = {{'{path}': '{}@{revision}', 'src/a:b': 'https://a.example/@1', 'src/c': 'https://a.example/@1'}}",
            outer.url
        );
        let files = [("DEPS", deps.as_str()), ("kept/file", "")];
        let hash = commit(&world.repository, &files, &[]);
        let executor = executor
            .get_or_insert_with(|| world.open(config(&world, &hash, &[&outer], "true"), "job"));
        let reason = failure(executor, action, &world.combined(&hash)).await;
        assert!(reason.contains(expected), "{path}: {reason}");
    }
    assert!(!Path::new("/tmp/out").exists());
    let builds = fs::read_dir(world.path("state/builds")).unwrap();
    assert_eq!(builds.count(), 0);
}

#[tokio::test]
async fn a_manifest_that_cannot_be_read_matters_where_something_is_at_hand() {
    let world = World::new();
    let outer = Upstream::new(&world, "outer", 1);
    let first = commit(
        &world.repository,
        &[("DEPS", "what we need: a compiler\n")],
        &[],
    );
    let open =
        |at_hand: &[&Upstream], job| world.open(config(&world, &first, at_hand, "true"), job);
    let alone = open(&[], "alone");
    assert_eq!(printed(&alone, 1, &world.combined(&first)).await, "");
    let held = [outer.at(0, main_name(&world))];
    let reason = failure(&alone, 2, &holding(&world, &first, &held)).await;
    assert!(reason.contains("no manifest of"), "{reason}");
    let reason = failure(&open(&[&outer], "both"), 1, &world.combined(&first)).await;
    assert!(reason.contains("DEPS, line 1, column"), "{reason}");
}

#[tokio::test]
async fn the_submodules_of_the_users_clone_are_at_hand() {
    let world = World::new();
    let mut outer = Upstream::new(&world, "outer", 1);
    outer.url = outer.path.display().to_string();
    let first = commit(
        &world.repository,
        &[(".gitmodules", &outer.submodule("outer"))],
        &[("outer", &outer.commits[0])],
    );
    let without = commit(&world.repository, &[("file", "")], &[]);
    let script = "cat outer/value || echo none";
    let config = config(&world, &first, &[], script);
    fs::rename(&outer.path, world.path("moved")).unwrap();
    let executor = world.open(config.clone(), "before");
    let told = printed(&executor, 1, &world.combined(&first)).await;
    assert!(told.ends_with("none"), "{told}");
    drop(executor);

    fs::rename(world.path("moved"), &outer.path).unwrap();
    let allowed = "protocol.file.allow=always";
    git(
        &world.repository,
        &["-c", allowed, "submodule", "--quiet", "update", "--init"],
    );
    fs::rename(&outer.path, world.path("moved")).unwrap();
    // The clone stays when its work tree is removed.
    git(&world.repository, &["rm", "-q", "outer"]);
    fs::remove_dir_all(world.repository.join("outer")).unwrap_or_default();
    let before = snapshot(&world.repository);
    let executor = world.open(config, "after");
    assert_eq!(printed(&executor, 1, &world.combined(&first)).await, "0");
    assert_eq!(printed(&executor, 2, &world.combined(&without)).await, "0");
    assert_eq!(snapshot(&world.repository), before);
}

/// Two branches of a repository that both change files: neither conflicts with
/// the other in `left` and `right`, and a third conflicts with the second.
fn fork(repository: &Path) -> [String; 3] {
    let base = commit(repository, &[("left", "0"), ("right", "0")], &[]);
    let on_branch = |files| {
        git(repository, &["checkout", "-q", "--detach", &base]);
        commit(repository, files, &[])
    };
    [
        on_branch(&[("left", "1")]),
        on_branch(&[("right", "1")]),
        on_branch(&[("right", "2")]),
    ]
}

#[tokio::test]
async fn merges_that_no_branch_holds_are_built() {
    let world = World::new();
    let mut library = Upstream::new(&world, "library", 1);
    library.commits.extend(fork(&library.path));
    let deps = format!(
        "deps = {{'src/lib': '{}@{}'}}",
        library.url, library.commits[0]
    );
    commit(&world.repository, &[("DEPS", &deps)], &[]);
    let [left, right, other] = fork(&world.repository);
    let before = snapshot(&world.repository);

    let script = "cat left right lib/left lib/right; git -C lib log -1 --format=%P";
    let executor = world.open(config(&world, &left, &[&library], script), "job");
    let mut held = library.at(1, main_name(&world));
    held.commit.merged.push(library.commits[2].clone());
    let mut state = holding(&world, &left, &[held]);
    state.main.merged.push(right.clone());
    let parents = format!("{} {}", library.commits[1], library.commits[2]);
    assert_eq!(
        printed(&executor, 1, &state).await,
        format!("1111{parents}")
    );
    // It differs from the state of the commit alone.
    let mut alone = state.clone();
    alone.main.merged.clear();
    assert_eq!(
        printed(&executor, 2, &alone).await,
        format!("1011{parents}")
    );

    let mut conflict = state.clone();
    conflict.main.merged.push(other.clone());
    let reason = failure(&executor, 3, &conflict).await;
    assert!(
        reason.contains("conflicts") && reason.contains(&other),
        "{reason}"
    );
    state.modified_deps[0]
        .commit
        .merged
        .push(library.commits[3].clone());
    let reason = failure(&executor, 4, &state).await;
    assert!(
        reason.contains("conflicts") && reason.contains(&library.url),
        "{reason}"
    );
    assert_eq!(snapshot(&world.repository), before);
}

#[tokio::test]
async fn a_layout_can_be_canceled_in_the_middle() {
    let world = World::new();
    let mut outer = Upstream::new(&world, "outer", 0);
    outer.commit(&[("value", "1")], &[]);
    let deps = format!(
        "deps = {{'src/outer': '{}@{}'}}",
        outer.url, outer.commits[0]
    );
    let first = commit(&world.repository, &[("DEPS", &deps)], &[]);
    let executor = world.open(config(&world, &first, &[&outer], "cat outer/value"), "job");
    let commit = world.combined(&first);
    // The layout has to wait for this.
    let lock = world
        .path("state/repositories")
        .join(format!("{}.lock", name_of(&outer)));
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let held = fs::File::create(&lock).unwrap();
    held.lock().unwrap();
    let tree = || {
        let mut builds = fs::read_dir(world.path("state/builds")).unwrap();
        builds
            .next()
            .map(|build| build.unwrap().path().join("tree"))
    };
    let (built, ()) = tokio::join!(build(&executor, 1, &commit), async {
        until("the tree", || {
            tree().is_some_and(|tree| tree.join("DEPS").exists())
        })
        .await;
        executor.ended(&key(1)).await.unwrap();
    });
    assert!(
        matches!(built, Err(ExecutorError::Unavailable(_))),
        "{built:?}"
    );
    assert!(!tree().unwrap().join("outer").exists());
    drop(held);
    assert_eq!(printed(&executor, 2, &commit).await, "1");
}

/// The name of our repository for a clone.
fn name_of(upstream: &Upstream) -> String {
    let path = upstream.path.to_str().unwrap();
    Sha256::digest(format!("2 {path}"))
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[tokio::test]
async fn a_repository_that_is_not_at_hand_is_asked_for() {
    let world = World::new();
    let outer = Upstream::new(&world, "outer", 1);
    let deps = format!(
        "deps = {{'src/outer': '{}@{}'}}",
        outer.url, outer.commits[0]
    );
    let first = commit(&world.repository, &[("DEPS", &deps)], &[]);
    let executor = world.open(config(&world, &first, &[], "true"), "job");
    assert_eq!(printed(&executor, 1, &world.combined(&first)).await, "");
    let held = holding(&world, &first, &[outer.at(0, main_name(&world))]);
    let message = refusal(build(&executor, 2, &held).await);
    assert!(
        message.contains(&format!("{} is not available locally", outer.url)),
        "{message}"
    );
}

#[tokio::test]
async fn the_clones_stay_as_they_are_and_cleaning_removes_all_of_ours() {
    let world = World::new();
    let outer = Upstream::new(&world, "outer", 2);
    let first = commit(
        &world.repository,
        &[(".gitmodules", &outer.submodule("outer"))],
        &[("outer", &outer.commits[0])],
    );
    let before = (snapshot(&world.repository), snapshot(&outer.path));
    // The build calls git itself, which would write to any repository that it finds.
    let script = "cd outer && head -c 300000 /dev/urandom > value \
        && git -c user.name=A -c user.email=a@example.org commit -qam x && git tag -f seen > made";
    let mut config = config(&world, &first, &[&outer], script);
    config.cache_size = 450_000;
    let executor = world.open(config.clone(), "job");
    let held = holding(&world, &first, &[outer.at(1, main_name(&world))]);
    assert_eq!(printed(&executor, 1, &held).await, "");
    drop(executor);
    // Changes made in a dependency count, so the two do not fit.
    let executor = world.open(config, "other");
    assert_eq!(printed(&executor, 1, &world.combined(&first)).await, "");
    let count = |name: &str| fs::read_dir(world.path(name)).unwrap().count();
    assert_eq!(count("state/builds"), 1);
    let report = clean(&world.path("state"), CleanOptions::default()).unwrap();
    assert_eq!(report.removed, Vec::<PathBuf>::new(), "{report:?}");
    drop(executor);
    let report = clean(&world.path("state"), CleanOptions::default()).unwrap();
    assert_eq!(report.removed.len(), 3, "{report:?}");
    assert_eq!(count("state/builds"), 0);
    assert_eq!((snapshot(&world.repository), snapshot(&outer.path)), before);
}
