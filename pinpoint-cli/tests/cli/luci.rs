//! Jobs in LUCI: the command against services on loopback that are those of the crate
//! `fake-luci`, over real git, in time that runs faster.

mod explain;
mod reports;
mod tables;
mod write_back;

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use fake_luci::{FakeLuci, Faults, Folder, Shape, Slower, World as Chrome};
use libc::{SIGINT, SIGKILL};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::world::{Finished, Pinpoint, World, until};

/// A day of the services takes 1.4 s.
const FAST: u64 = 60_000;

/// The repositories of a small Chrome, and the folder that they are in.
struct Place {
    chrome: Chrome,
    _dir: Folder,
}

impl Place {
    fn new(slower: Slower) -> Self {
        let dir = Folder::new(Path::new(env!("CARGO_TARGET_TMPDIR")), "chrome");
        Self {
            chrome: Chrome::make(dir.path(), &Shape::small(slower)),
            _dir: dir,
        }
    }
}

static IN_MAIN: LazyLock<Place> = LazyLock::new(|| Place::new(Slower::Main(17)));
static IN_ROLL: LazyLock<Place> = LazyLock::new(|| Place::new(Slower::Dependency(4)));

/// A user of the services.
struct Scene {
    world: World,
    place: &'static Place,
    luci: FakeLuci,
    address: String,
    _runtime: Runtime,
}

impl Scene {
    fn new(place: &'static Place, speed: u64) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let luci = FakeLuci::with(place.chrome.repositories(), 1, Faults::default(), speed);
        let bound = tokio::net::TcpListener::bind("127.0.0.1:0");
        let listener = runtime.block_on(bound).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let routes = luci.routes();
        runtime.spawn(async move { axum::serve(listener, routes).await });
        let world = World::new();
        let settings = format!(
            "[addresses]\n\
             gitiles = \"{address}/gitiles/{{host}}\"\n\
             gitiles_per_second = 1000\n\
             crrev = \"{address}\"\n\
             gerrit = \"{address}/gerrit/{{host}}\"\n\
             buildbucket = \"{address}\"\n\
             swarming = \"{address}\"\n\
             cas = \"{address}\"\n\
             issue_tracker = \"{address}\"\n\
             bigquery = \"{address}\"\n\
             catapult = \"{address}\"\n\
             [intervals]\n\
             tasks = 10\n\
             builds = 10\n\
             first_of_pair = 1\n"
        );
        fs::write(world.path("luci.toml"), settings).unwrap();
        Self {
            world,
            place,
            luci,
            address,
            _runtime: runtime,
        }
    }

    /// A file with the settings of these services, and more.
    fn settings(&self, more: &str) -> String {
        let settings = fs::read_to_string(self.world.path("luci.toml")).unwrap();
        let file = self.world.path("reports.toml");
        fs::write(&file, settings + more).unwrap();
        file.display().to_string()
    }

    fn main(&self, index: usize) -> &str {
        &self.place.chrome.main_hashes[index]
    }

    /// A command that asks these services.
    fn pinpoint(&self, arguments: &[&str]) -> Pinpoint {
        self.world
            .pinpoint(arguments)
            .env("PINPOINT_LUCI_CONFIG", self.world.path("luci.toml"))
            .env("PINPOINT_LUCI_TOKENS", format!("metadata:{}", self.address))
    }

    /// A job of the kind, on the bot and with the benchmark that these tests have.
    fn job(&self, kind: &str, more: &[&str]) -> Pinpoint {
        let job = [
            kind,
            "--executor",
            "luci",
            "--bot",
            "linux-perf",
            "--benchmark",
            "speedometer3.crossbench",
            "--output",
            "json",
        ];
        self.pinpoint(&[&job, more].concat())
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        assert_eq!(self.luci.left_over(), Vec::<String>::new());
    }

    /// Each action has one task that ended with values.
    fn nothing_ran_twice(&self) {
        let mut keys: Vec<_> = { self.luci.all_tasks().into_iter() }
            .filter(|task| task.state == "COMPLETED")
            .flat_map(|task| task.tags)
            .filter(|tag| tag.starts_with("pinpoint_key:"))
            .collect();
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}

/// The one culprit of a search.
#[track_caller]
fn culprit(finished: &Finished) -> Value {
    let document = finished.document();
    assert_eq!(document["status"], "culprit_found", "{finished}");
    let culprits = document["culprits"].as_array().unwrap();
    assert_eq!(culprits.len(), 1, "{finished}");
    culprits[0].clone()
}

#[test]
fn a_commit_of_a_rolled_dependency_is_found_by_positions() {
    let scene = Scene::new(&IN_ROLL, FAST);
    let finished = scene.job("bisect", &["1", "24"]).ends_with(0);
    let culprit = culprit(&finished);
    let slower = &scene.place.chrome.dependency_hashes[4];
    assert_eq!(culprit["commit"]["main"]["git_hash"], scene.main(8));
    let held = &culprit["commit"]["modified_deps"][0];
    assert_eq!(held["commit"]["git_hash"], **slower, "{finished}");
    assert_eq!(culprit["blamed"]["subject"], "Change v8 4", "{finished}");
    scene.nothing_is_left();
    scene.nothing_ran_twice();
    let job = scene.world.only_job();
    assert_eq!(job["bot"], "linux-perf");
    assert_eq!(job["repository"], fake_luci::MAIN);
    assert_eq!(job["benchmark"], "speedometer3.crossbench");
    // Showing it needs no services.
    let id = job["id"].as_str().unwrap();
    scene.world.pinpoint(&["jobs", "show", id]).ends_with(0);
    let report = scene.world.path("report.html");
    let written = ["jobs", "report", id, report.to_str().unwrap()];
    scene.world.pinpoint(&written).ends_with(0);
    let report = fs::read_to_string(report).unwrap();
    assert!(report.contains("Change v8 4") && !report.contains("hidden-"));
}

#[test]
fn a_patch_at_gerrit_is_tried() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let patch = "https://chromium-review.googlesource.com/c/chromium/src/+/7/2";
    let more = ["--pairs", "12", "--patch", patch, "main"];
    let finished = scene.job("pairwise", &more).ends_with(0);
    assert_eq!(finished.document()["status"], "different", "{finished}");
    // One shows the charts and their directions.
    assert_eq!(scene.luci.all_tasks().len(), 25);
    scene.nothing_is_left();
}

#[test]
fn the_newest_patch_set_is_tried_on_the_newest_build() {
    let scene = Scene::new(&IN_MAIN, FAST);
    scene.luci.add_change(7, "chromium/src", 3);
    for index in [3, 5] {
        let hash = scene.main(index);
        scene.luci.made_by_waterfall("linux-builder-perf", hash);
    }
    let more = [
        "--pairs",
        "12",
        "--patch",
        "crrev.com/c/7",
        "--story",
        "default",
    ];
    let finished = scene.job("pairwise", &[&more[..], &["recent"]].concat());
    let finished = finished.ends_with(0);
    let document = finished.document();
    assert_eq!(
        document["base"]["commit"]["main"]["git_hash"],
        scene.main(5),
        "{finished}"
    );
    let patch = &document["experiment"]["commit"]["patch"];
    assert!(patch.to_string().contains("\"patchset\":3"), "{finished}");
    // The base was built already.
    assert_eq!(scene.luci.calls("ScheduleBuild"), 1);
}

#[test]
fn two_builds_are_compared_by_their_digests() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let digest = |index| {
        scene
            .luci
            .made_by_waterfall("linux-builder-perf", scene.main(index));
        let builds = scene.luci.all_builds();
        builds.last().unwrap().digest().unwrap().to_owned()
    };
    let (base, experiment) = (digest(3), digest(20));
    let builds = [
        "--pairs",
        "8",
        "--base-build",
        &base,
        "--experiment-build",
        &experiment,
    ];
    let finished = scene.job("pairwise", &builds).ends_with(0);
    assert_eq!(finished.document()["status"], "different", "{finished}");
    assert_eq!(scene.luci.calls("ScheduleBuild"), 0);
    let wrong = ["--base-build", "here", "--experiment-build", "there"];
    let refused = scene.job("pairwise", &wrong).ends_with(2);
    refused.tells("HASH/SIZE");
}

#[test]
fn what_chromes_bots_can_not_run_is_refused_before_anything_is_asked() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let ends = [scene.main(0), scene.main(23)];
    let asked = |kind, bot, benchmark| {
        let words = [
            kind,
            "--executor",
            "luci",
            "--bot",
            bot,
            "--benchmark",
            benchmark,
        ];
        scene.pinpoint(&[&words, &ends[..]].concat()).ends_with(2)
    };
    asked("bisect", "linux-perf", "speedometr3.crossbench").tells("speedometer3.crossbench");
    asked("culprit", "mac-m1-pro-perf", "jetstream2").tells("too few machines");
    asked("bisect", "android-pixel-fold-perf", "jetstream2").tells("out of resources");
    assert_eq!(scene.luci.requests(), 0);
}

#[test]
fn two_commits_are_compared() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let ends = [scene.main(12), scene.main(16)];
    let named = ["--pairs", "8", "--chart", "Score", "--direction", "down"];
    let compared = scene.job("pairwise", &[&named, &ends[..]].concat());
    let compared = compared.start().wait();
    // Both are as fast, and scatter by 1 %: one comparison in 25 takes that for a difference.
    assert!(matches!(compared.status.code(), Some(0 | 3)), "{compared}");
    let chart = &compared.document()["charts"][0];
    assert_eq!(chart["chart"], "Score", "{compared}");
    let estimate = chart["comparison"]["estimate"].as_f64().unwrap();
    assert!(estimate.abs() < 2.0, "{compared}");
    // One shows that there is the chart.
    assert_eq!(scene.luci.all_tasks().len(), 17);
}

#[test]
fn a_culprit_is_verified() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let ends = [scene.main(0), scene.main(23)];
    let finished = scene.job("culprit", &[&["--pairs", "8"], &ends[..]].concat());
    let finished = finished.ends_with(0);
    let culprit = culprit(&finished);
    assert_eq!(culprit["commit"]["main"]["git_hash"], scene.main(17));
    scene.nothing_is_left();
}

#[test]
fn a_dry_run_sends_nothing() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let ends = [scene.main(0), scene.main(23)];
    let words = [
        "bisect",
        "--executor",
        "luci",
        "--bot",
        "linux-perf",
        "--benchmark",
        "jetstream2",
        "--dry-run",
    ];
    let shown = scene.pinpoint(&[&words, &ends[..]].concat()).ends_with(0);
    for expected in [
        &*format!("+log/{}..{}?", ends[0], ends[1]),
        "/prpc/buildbucket.v2.Builds/ScheduleBuild",
        "/prpc/swarming.v2.Tasks/NewTask",
        "/prpc/swarming.v2.Tasks/BatchGetResult",
        "ContentAddressableStorage/GetTree",
        "\"jetstream2\"",
    ] {
        shown.says(expected);
    }
    assert!(!shown.stdout.contains("Bearer") && !shown.stdout.contains("hidden-"));
    assert_eq!(scene.luci.requests(), 0);
    assert!(!scene.world.state_dir().exists());
    let variants = [
        "--dry-run",
        "--base-arg=--js-flags=--a",
        "--experiment-arg=--js-flags=--b",
    ];
    let pairs = scene.job("pairwise", &[&variants[..], &ends].concat());
    let pairs = pairs.ends_with(0);
    pairs
        .says("--js-flags=--a")
        .says("--js-flags=--b")
        .says("dry-run/4");
    assert_eq!(scene.luci.requests(), 0);
    // A name has to be looked up.
    let named = scene
        .job("bisect", &["--dry-run", "1", ends[1]])
        .ends_with(0);
    let first = &named.document()["requests"][0];
    assert_eq!(first.as_str(), shown.stdout.lines().next());
    assert_eq!(scene.luci.requests(), 1);
}

/// Waits until the services have this many tasks.
fn until_tasks(scene: &Scene, count: usize) {
    until("tasks", || scene.luci.all_tasks().len() >= count);
}

#[test]
fn a_job_whose_process_is_killed_is_resumed() {
    let scene = Scene::new(&IN_MAIN, 3_000);
    let ends = [scene.main(0), scene.main(23)];
    let mut running = scene.job("bisect", &ends).start();
    let job = running.job();
    for (tasks, signal) in [(1, SIGKILL), (4, SIGINT), (8, SIGKILL)] {
        until_tasks(&scene, tasks);
        running.signal(signal);
        let stopped = running.wait();
        assert!(stopped.was_stopped(), "{stopped}");
        // Work under way continues without it.
        running = scene
            .pinpoint(&["jobs", "resume", &job, "--output", "json"])
            .start();
    }
    let finished = running.ends_with(0);
    assert_eq!(
        culprit(&finished)["commit"]["main"]["git_hash"],
        scene.main(17)
    );
    scene.nothing_is_left();
    scene.nothing_ran_twice();
}

#[test]
fn cancel_ends_what_goes_on_in_luci() {
    for is_killed in [false, true] {
        let scene = Scene::new(&IN_MAIN, 200);
        let running = scene
            .job("bisect", &[scene.main(0), scene.main(23)])
            .start();
        let job = running.job();
        until("builds", || scene.luci.all_builds().len() >= 2);
        if is_killed {
            running.signal(SIGKILL);
            running.wait();
            assert!(!scene.luci.left_over().is_empty());
            scene.pinpoint(&["jobs", "cancel", &job]).ends_with(0);
        } else {
            scene.pinpoint(&["jobs", "cancel", &job]).ends_with(0);
            running.ends_with(130);
        }
        scene.nothing_is_left();
        assert!(!scene.luci.all_builds().is_empty());
    }
}

/// Its addresses may belong to anyone.
#[test]
fn the_services_of_an_imported_job_hear_nothing_until_it_is_resumed() {
    let scene = Scene::new(&IN_MAIN, 200);
    let reported = scene.settings("[reports]\nculprits = \"p.d.culprits\"\n");
    let named = ["--bug", "7", "--luci-config", &reported];
    let ends = [scene.main(0), scene.main(23)];
    let running = scene.job("bisect", &[&named, &ends[..]].concat()).start();
    let job = running.job();
    until("builds", || scene.luci.all_builds().len() >= 2);
    running.signal(SIGKILL);
    running.wait();
    let [file, other] = ["job.jsonl", "other"].map(|it| scene.world.path(it).display().to_string());
    scene.pinpoint(&["jobs", "export", &file]).ends_with(0);
    let there = ["--state-dir", &other];
    let requests = scene.luci.requests();
    for (command, code) in [
        (&["jobs", "import", &file][..], 0),
        (&["jobs", "resume", &job], 2),
        (&["jobs", "cancel", &job], 0),
    ] {
        let ended = scene.pinpoint(&[&there, command].concat());
        let ended = ended.ends_with(code);
        if command[1] == "resume" {
            ended
                .tells("with your tokens and your API key")
                .tells("  comments on   issue 7\n")
                .tells("  adds rows to  p.d.culprits\n")
                .tells(&format!("\"issue_tracker\":\"{}\"", scene.address));
        }
    }
    assert_eq!(scene.luci.requests(), requests);
    assert!(!scene.luci.left_over().is_empty());
    scene.pinpoint(&["jobs", "cancel", &job]).ends_with(0);
    scene.nothing_is_left();
}

#[test]
fn what_is_wrong_is_said_with_what_helps() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let ends = [scene.main(0), scene.main(23)];
    let wrong: [(&[&str], i32, &str); 8] = [
        (&["--build", "make"], 2, "cannot be used with"),
        (
            &["--bot-config", "/nonexistent"],
            2,
            "can't read the bot configurations",
        ),
        (
            &["--luci-config", "/nonexistent"],
            2,
            "can't read the settings of LUCI",
        ),
        (&["--luci-tokens", "none"], 1, "--luci-tokens SOURCE"),
        (&["--luci-tokens", "key:/nonexistent"], 2, "can't be read"),
        (&["--patch", "fix.diff"], 2, "names no change"),
        (&["--story", "TodoMVC"], 2, "has no story but"),
        (
            &["--luci-tokens", "command:true"],
            1,
            "\"true\" prints no token",
        ),
    ];
    for (more, code, expected) in wrong {
        let finished = scene
            .job("bisect", &[more, &ends[..]].concat())
            .ends_with(code);
        finished.tells(expected);
    }
    let reversed = scene.job("bisect", &["24", "1"]).ends_with(2);
    assert!(reversed.command("bisect").ends_with(" 1 24"), "{reversed}");
    scene
        .job("bisect", &["1", "99"])
        .ends_with(2)
        .tells("crrev has no such number");
    let without = [
        "bisect",
        "--executor",
        "luci",
        "--bot",
        "linux-perf",
        "1",
        "24",
    ];
    scene
        .pinpoint(&without)
        .ends_with(2)
        .tells("--benchmark <NAME>");
    let lab = scene
        .job("bisect", &["--chart", "score", ends[0], ends[1]])
        .ends_with(2);
    lab.tells("it gives `Score`").tells("--chart NAME");
    let tasks = scene.luci.all_tasks().len();
    let named = ["--chart", "score", "--direction", "down", ends[0], ends[1]];
    scene
        .job("pairwise", &named)
        .ends_with(2)
        .tells("it gives `Score`");
    // Another build of the same has shown the charts.
    assert_eq!(scene.luci.all_tasks().len(), tasks + 1);
    scene.nothing_is_left();
}

#[test]
fn a_user_who_cancels_is_told_what_is_waited_for() {
    let scene = Scene::new(&IN_MAIN, 200);
    let ends = [scene.main(0), scene.main(23)];
    let running = scene.job("bisect", &ends).start();
    let job = running.job();
    until("builds", || scene.luci.all_builds().len() >= 2);
    running.signal(SIGKILL);
    running.wait();
    scene.luci.set_faults(Faults {
        lost_answers: 1000,
        ..Faults::default()
    });
    let canceling = scene.pinpoint(&["jobs", "cancel", &job]).start();
    until("a word", || {
        canceling
            .stderr()
            .contains("waiting for the builds and tasks of the job in LUCI")
    });
    scene.luci.set_faults(Faults::default());
    canceling.ends_with(0);
    scene.nothing_is_left();
}

#[test]
fn what_needs_no_service_is_found_out_before_one_is_asked() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let file = scene.world.path("luci.toml");
    let no_directory = ["--state-dir", file.to_str().unwrap(), "1", "24"];
    let [no_table, no_status, no_hotlist] = [
        "culprits = \"culprits\"",
        "status = \"Assigned\"",
        "hotlists = [5, 0]",
    ]
    .map(|wrong| {
        let name = wrong.split(' ').next().unwrap();
        let file = scene.world.path(&format!("{name}.toml"));
        fs::write(&file, format!("[reports]\n{wrong}\n")).unwrap();
        file.display().to_string()
    });
    let [no_table, no_status, no_hotlist] =
        [&no_table, &no_status, &no_hotlist].map(|file| ["--luci-config", file, "1", "24"]);
    let no_issue = ["--bug", "0", "1", "24"];
    let google = scene.world.path("google.toml");
    fs::write(&google, "").unwrap();
    let no_key = [
        "--luci-config",
        google.to_str().unwrap(),
        "--bug",
        "7",
        "1",
        "24",
    ];
    for key in ["a b", "é"] {
        let job = scene.job("bisect", &no_key);
        let refused = job.env("PINPOINT_ISSUE_TRACKER_KEY", key).ends_with(2);
        refused.tells("PINPOINT_ISSUE_TRACKER_KEY is not a valid API key");
    }
    for (kind, more, expected) in [
        ("culprit", &["--pairs", "3", "1", "24"][..], "even"),
        ("pairwise", &["--pairs", "3", "1", "24"], "even"),
        ("bisect", &["--confidence", "2", "1", "24"], "confidence"),
        ("bisect", &no_directory, "--state-dir"),
        ("bisect", &no_table, "PROJECT.DATASET.TABLE"),
        ("culprit", &no_status, "choose one of NEW, ASSIGNED"),
        ("bisect", &no_hotlist, "reports.hotlists has 0"),
        ("bisect", &no_issue, "0 is not in 1.."),
        ("bisect", &no_key, "set PINPOINT_ISSUE_TRACKER_KEY"),
    ] {
        let refused = scene.job(kind, more).start().wait();
        assert!(!refused.stderr.is_empty(), "{refused}");
        refused.tells(expected);
        assert_eq!(scene.luci.requests(), 0, "{refused}");
    }
}

#[test]
fn a_user_who_waits_for_a_service_is_told_which_and_why() {
    let scene = Scene::new(&IN_MAIN, FAST);
    scene.luci.set_faults(Faults {
        garbage: 1000,
        ..Faults::default()
    });
    let stopped = scene.job("bisect", &["1", "24"]).ends_with(1);
    stopped.tells("warning: the request is sent again: crrev gave an answer that can't be read");
    assert_eq!(scene.luci.requests(), 3);
    let settings = scene.world.path("zero.toml");
    fs::write(&settings, "[intervals]\nbuilds = 0\n").unwrap();
    let ends = [scene.main(0), scene.main(23)];
    let named = [
        "--luci-config",
        settings.to_str().unwrap(),
        ends[0],
        ends[1],
    ];
    scene
        .job("bisect", &named)
        .ends_with(2)
        .tells("intervals.builds is 0");
    // An option without effect is refused; a variable is not.
    let alone = ["bisect", "--luci-config", "x.toml", "a", "b", "--", "true"];
    scene.pinpoint(&alone).ends_with(2).tells("--executor luci");
}
