//! Jobs in the file of the state directory, and in a PostgreSQL database: the same
//! commands do the same.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use libc::SIGKILL;
use serde_json::{Value, json};

use crate::postgres::{Database, Server};
use crate::proxy::Proxy;
use crate::world::{BENCHMARK, Finished, Pinpoint, World, until};

/// A world whose jobs are in one of the two.
struct Stored {
    world: World,
    store: Option<Database>,
}

impl Stored {
    fn pinpoint(&self, arguments: &[&str]) -> Pinpoint {
        self.kept(self.world.pinpoint(arguments))
    }

    fn kept(&self, pinpoint: Pinpoint) -> Pinpoint {
        match &self.store {
            Some(database) => pinpoint.env("PINPOINT_STORE", database.url()),
            None => pinpoint,
        }
    }

    fn bisect(&self, options: &[&str], script: &str) -> Pinpoint {
        self.kept(self.world.bisect(options, script))
    }

    /// The titles of the jobs listed with these options, newest first.
    fn list(&self, options: &[&str]) -> Vec<Value> {
        let list = self.pinpoint(&["jobs", "list", "--output", "json"]);
        let list = list.and(options).ends_with(0);
        list.document()["jobs"].as_array().unwrap().clone()
    }

    fn names(&self, options: &[&str]) -> Vec<String> {
        let names = self.list(options).into_iter();
        names
            .map(|job| job["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// The tests for both; the databases are made on a runtime that is only for that.
fn on_both(test: impl Fn(&Stored)) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for store in [None, Some(runtime.block_on(Database::new()))] {
        let world = World::with_step(4, 2);
        test(&Stored { world, store });
    }
}

fn id(job: &Value) -> &str {
    job["id"].as_str().unwrap()
}

#[test]
fn jobs_are_listed_by_what_they_are() {
    on_both(|stored| {
        let benchmark = ["--name", "first", "--benchmark", "sort"];
        stored.bisect(&benchmark, BENCHMARK).ends_with(0);
        stored.bisect(&["--name", "second"], "exit 3").ends_with(1);
        let pairwise = [
            "pairwise", "main~1", "main", "--pairs", "6", "--name", "third",
        ];
        stored
            .pinpoint(&pairwise)
            .and(&["--", "sh", "-c", "echo v: 1 ms"])
            .ends_with(3);
        assert_eq!(stored.names(&[]), ["third", "second", "first"]);

        let jobs = stored.list(&[]);
        let of = |job: usize, field: &str| jobs[job][field].as_str().unwrap().to_owned();
        assert_eq!(of(2, "benchmark"), "sort");
        assert_eq!(of(1, "benchmark"), "sh", "the program, when nobody says");
        let (bot, user) = (of(0, "bot"), of(0, "user"));
        assert!(!bot.is_empty() && !user.is_empty());
        let id = |job: usize| jobs[job]["id"].as_str().unwrap();
        for (options, expected) in [
            (&["--benchmark", "sort"][..], &["first"][..]),
            (
                &["--benchmark", "sh", "--since", "1h", "--state", "failed"],
                &["second"],
            ),
            (&["--benchmark", "nothing"], &[]),
            (&["--name", "third"], &["third"]),
            (&["--kind", "bisection"], &["second", "first"]),
            (
                &["--bot", &bot, "--user", &user],
                &["third", "second", "first"],
            ),
            (&["--bot", "nobody"], &[]),
            (&["--until", "1h"], &[]),
            (
                &["--since", "2020-01-01", "--until", "2999-01-01T00:00:00Z"],
                &["third", "second", "first"],
            ),
            (&["--text", "EXIT code 3"], &["second"]),
            (&["--text", "benchm* sor*"], &["first"]),
            (&["--limit", "1"], &["third"]),
            (&["--after", id(0)], &["second", "first"]),
            (&["--after", id(0), "--limit", "1"], &["second"]),
            (&["--before", id(2), "--limit", "1"], &["second"]),
        ] {
            assert_eq!(stored.names(options), expected, "{options:?}");
        }
        let count = |options: &[&str]| -> Finished {
            let count = stored.pinpoint(&["jobs", "list", "--count"]).and(options);
            count.ends_with(0)
        };
        assert_eq!(count(&[]).stdout, "3\n");
        let document = count(&["--kind", "pairwise", "--output", "json"]).document();
        assert_eq!(document, serde_json::json!({ "jobs": 1, "more": false }));

        let page = stored
            .pinpoint(&["jobs", "list", "--limit", "2"])
            .ends_with(0);
        page.tells(&format!("--after {}", id(1)));
        let page = |options: &[&str]| {
            let list = stored.pinpoint(&["jobs", "list", "--output", "json"]);
            let document = list.and(options).ends_with(0).document();
            (
                document["jobs"].as_array().unwrap().len(),
                document["more"].clone(),
            )
        };
        assert_eq!(page(&["--limit", "2"]), (2, json!(true)));
        assert_eq!(page(&["--limit", "3"]), (3, json!(false)));
        let show = stored.pinpoint(&["jobs", "show", id(2)]).ends_with(0);
        show.says("benchmark sort").says(&format!("bot {bot}"));
        // A finished job releases its lease.
        let again = stored.pinpoint(&["jobs", "resume", id(2)]).ends_with(0);
        again.says("culprit");
    });
}

#[test]
fn what_a_list_cannot_be_asked_is_refused() {
    let world = World::with_values([1, 1]);
    for (options, told) in [
        (&["--kind", "try"][..], "possible values: bisection"),
        (&["--since", "yesterday"], "2026-01-31"),
        (&["--after", "0190"], "not a whole job id"),
        (&["--count", "--limit", "3"], "cannot be used with"),
        (&["--store", "jobs.db"], "postgres://USER@HOST/DATABASE"),
    ] {
        let list = world.pinpoint(&["jobs", "list"]).and(options);
        list.ends_with(2).says_nothing().tells(told);
    }
    let unreachable = ["--store", "postgres://ada:secret@localhost/x?host=/nowhere"];
    let refused = world.bisect(&unreachable, BENCHMARK).ends_with(1);
    refused
        .says_nothing()
        .tells("cannot reach postgres://ada@localhost/x");
    assert!(!refused.stderr.contains("secret"), "{refused}");
}

#[test]
fn a_job_that_was_killed_goes_on_in_either_store() {
    on_both(|stored| {
        let gate = stored.world.path("gate");
        let script = format!(
            "until [ -e {0} ] || [ ${{PINPOINT_RUN:-0}} -lt 1 ]; do touch {0}.waits; sleep 0.01; done; \
             {BENCHMARK}",
            gate.display()
        );
        let running = stored.bisect(&[], &script).start();
        until("the gate", || stored.world.path("gate.waits").exists());
        let jobs = stored.list(&["--state", "running"]);
        let job = id(&jobs[0]).to_owned();
        // By the same machine at once, by others when the lease has run out.
        let elsewhere = stored.world.path("elsewhere");
        let resume = stored.pinpoint(&["jobs", "resume", &job]);
        if stored.store.is_some() {
            let resume = resume.env("PINPOINT_STATE_DIR", &elsewhere).ends_with(1);
            resume.says_nothing().tells("is leased by");
        }
        running.signal(SIGKILL);
        running.wait();
        fs::write(&gate, "").unwrap();
        let resumed = stored.pinpoint(&["jobs", "resume", &job]).ends_with(0);
        resumed.says(&format!("culprit {}", stored.world.commits[2]));
        let shown = stored.pinpoint(&["jobs", "show", &job, "--output", "json"]);
        let shown = shown.ends_with(0).document();
        assert_eq!(shown["state"], "completed");
        assert!(shown["duration"].as_i64().unwrap() > 0);
    });
}

#[test]
fn jobs_move_from_store_to_store_and_go_away() {
    on_both(|stored| {
        stored.bisect(&["--name", "moved"], BENCHMARK).ends_with(0);
        let jobs = stored.list(&[]);
        let job = id(&jobs[0]);
        let show = |pinpoint: Pinpoint| pinpoint.ends_with(0).document();
        let before = show(stored.pinpoint(&["jobs", "show", job, "--output", "json"]));
        let file = stored.world.path("jobs.jsonl");
        let file = file.to_str().unwrap();
        let exported = stored.pinpoint(&["jobs", "export", file]).ends_with(0);
        exported.says(&format!("1 job in {file}"));
        let printed = stored.pinpoint(&["jobs", "export"]).ends_with(0);
        assert_eq!(printed.stdout, fs::read_to_string(file).unwrap());

        let imported = stored.pinpoint(&["jobs", "import", file]).ends_with(0);
        imported.says("0 jobs imported, 1 already there");
        let directory = stored.world.state_dir().join("jobs").join(job);
        assert!(directory.exists());
        stored
            .pinpoint(&["jobs", "purge"])
            .ends_with(0)
            .says("0 jobs removed");
        let purge = ["jobs", "purge", "--older-than", "0s"];
        stored.pinpoint(&purge).ends_with(0).says("1 job removed");
        assert_eq!(stored.list(&[]), [] as [Value; 0]);
        assert!(!directory.exists());

        stored
            .pinpoint(&["jobs", "import", file])
            .ends_with(0)
            .says("1 job imported");
        let mut after = show(stored.pinpoint(&["jobs", "show", job, "--output", "json"]));
        assert_eq!(
            (&before["imported"], &after["imported"]),
            (&json!(false), &json!(true))
        );
        after["imported"] = json!(false);
        assert_eq!(after, before);

        let damaged = printed.stdout.replacen("\"ran\"", "\"walked\"", 1);
        let line = damaged
            .lines()
            .position(|line| line.contains("walked"))
            .unwrap()
            + 1;
        fs::write(file, damaged).unwrap();
        let refused = stored.pinpoint(&["jobs", "import", file]).ends_with(2);
        refused
            .says_nothing()
            .tells(&format!("line {line}: "))
            .tells("nothing was imported");
    });
}

#[test]
fn an_export_is_private_and_replaces_nothing_unasked() {
    let world = World::with_step(4, 2);
    world
        .bisect(&["--env", "TOKEN=hunter2"], BENCHMARK)
        .ends_with(0);
    world.bisect(&[], BENCHMARK).ends_with(0);
    let jobs = world.jobs();
    let (job, file) = (id(&jobs[0]), world.path("jobs.jsonl"));
    let file = file.to_str().unwrap();
    let export = |arguments: &[&str]| world.pinpoint(&["jobs", "export"]).and(arguments);
    export(&["--job", &job[..20], file])
        .ends_with(0)
        .says("1 job in");
    let mode = fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = fs::read(file).unwrap();
    export(&[file])
        .ends_with(2)
        .tells("is there already")
        .tells("--force");
    assert_eq!(fs::read(file).unwrap(), before);
    export(&["--force", file]).ends_with(0).says("2 jobs in");
    export(&["--job", job, "--job", job]).ends_with(0).says(job);

    // An id is not a name of a file, nor is its beginning.
    for name in [job, &job[..20]] {
        let refused = export(&[name]).ends_with(2);
        refused.says_nothing().tells(&format!("--job {name}"));
        assert!(!world.repository.join(name).exists());
    }
}

#[test]
fn a_job_that_was_killed_is_shown_as_interrupted_at_once() {
    let world = World::with_step(4, 2);
    let (gate, begun) = (world.path("gate"), world.path("begun"));
    fs::write(&gate, "").unwrap();
    let script = format!(
        ": > {}; while [ -e {} ]; do sleep 0.01; done; {BENCHMARK}",
        begun.display(),
        gate.display()
    );
    let running = world.bisect(&[], &script).start();
    until("the run", || begun.exists());
    let list = || world.pinpoint(&["jobs", "list"]).ends_with(0);
    list().says("running");
    assert_eq!(world.only_job().get("interrupted"), None);
    running.signal(SIGKILL);
    assert!(running.wait().was_killed());
    let job = world.only_job();
    assert_eq!(job["interrupted"], true, "{job}");
    let id = id(&job);
    list()
        .says("interrupted")
        .tells(&format!("jobs resume {id}"));
    let show = world.pinpoint(&["jobs", "show", id]).ends_with(0);
    show.says("no process is running it anymore")
        .says("jobs resume");
    fs::remove_file(&gate).unwrap();
    world.pinpoint(&["jobs", "resume", id]).ends_with(0);
    list().says("completed");
}

#[test]
fn a_password_is_not_kept_with_the_job() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(Database::new());
    let world = World::with_step(4, 2);
    let url = database.url().replace("postgres@", "postgres:secret@");
    world.bisect(&["--store", &url], BENCHMARK).ends_with(0);
    let list = ["jobs", "export", "--store", &url];
    let exported = world.pinpoint(&list).ends_with(0);
    assert!(exported.stdout.contains("postgres@localhost"), "{exported}");
    assert!(!exported.stdout.contains("secret"), "{exported}");
}

#[test]
fn a_password_on_the_command_line_is_warned_of() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(Database::new());
    let world = World::with_values([1, 1]);
    let url = database.url().replace("postgres@", "postgres:secret@");
    let list = ["jobs", "list"];
    let told = world.pinpoint(&list).and(&["--store", &url]).ends_with(0);
    told.tells("warning: ")
        .tells("PINPOINT_STORE")
        .tells("PGPASSWORD");
    assert!(!told.stderr.contains("secret"), "{told}");
    for quiet in [
        world.pinpoint(&list).env("PINPOINT_STORE", &url),
        world.pinpoint(&list).and(&["--store", database.url()]),
    ] {
        let told = quiet.ends_with(0);
        assert!(!told.stderr.contains("warning"), "{told}");
    }
    let help = world
        .pinpoint(&["jobs", "list", "--help"])
        .env("PINPOINT_STORE", &url);
    let help = help.ends_with(0);
    help.says("PGPASSWORD");
    assert!(!help.stdout.contains("secret"), "{help}");
}

#[test]
fn an_imported_job_runs_only_when_that_is_confirmed() {
    on_both(|stored| {
        // A job that has something left to do.
        let script = format!("touch {}; {BENCHMARK}", stored.world.path("ran").display());
        let failing = format!("exit 3; {script}");
        stored.bisect(&[], &failing).ends_with(1);
        let jobs = stored.list(&[]);
        let job = id(&jobs[0]);
        let exported = stored.pinpoint(&["jobs", "export"]).ends_with(0).stdout;
        stored
            .pinpoint(&["jobs", "purge", "--older-than", "0s"])
            .ends_with(0);
        let [file, report] = ["foreign.jsonl", "precious"].map(|name| stored.world.path(name));
        fs::write(&report, "precious").unwrap();
        let import = ["jobs", "import", file.to_str().unwrap()];
        let config = format!(r#""config":{{"report":"{}","#, report.display());
        let foreign = exported.replace("exit 3; ", "");
        fs::write(&file, foreign.replacen(r#""config":{"#, &config, 1)).unwrap();
        stored.pinpoint(&import).ends_with(0);

        let show = stored.pinpoint(&["jobs", "show", job]).ends_with(0);
        show.says("imported");
        let refused = stored.pinpoint(&["jobs", "resume", job]).ends_with(2);
        refused
            .says_nothing()
            .tells("It runs on this machine")
            .tells("touch ")
            .tells("--yes");
        // To end it for now does not confirm it.
        stored.pinpoint(&["jobs", "cancel", job]).ends_with(0);
        stored.pinpoint(&["jobs", "resume", job]).ends_with(2);
        assert!(!stored.world.path("ran").exists(), "it has run");
        assert_eq!(fs::read_to_string(report).unwrap(), "precious");
        let confirmed = stored
            .pinpoint(&["jobs", "resume", job, "--yes"])
            .start()
            .wait();
        assert!(confirmed.stderr.contains("touch "), "{confirmed}");
        let shown = stored.pinpoint(&["jobs", "show", job, "--output", "json"]);
        assert_eq!(shown.ends_with(0).document()["imported"], false);
    });
}

#[test]
fn what_can_not_be_resumed_is_not_imported() {
    on_both(|stored| {
        stored.bisect(&[], BENCHMARK).ends_with(0);
        let exported = stored.pinpoint(&["jobs", "export"]).ends_with(0).stdout;
        stored
            .pinpoint(&["jobs", "purge", "--older-than", "0s"])
            .ends_with(0);
        let file = stored.world.path("jobs.jsonl");
        let import = ["jobs", "import", file.to_str().unwrap()];
        let nested = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let lines: Vec<&str> = exported.lines().collect();
        let with = |field: &str, value: Value| {
            let mut line: Value = serde_json::from_str(lines[1]).unwrap();
            line["job"][field] = value;
            exported.replacen(lines[1], &line.to_string(), 1)
        };
        let deep = exported.replacen("\"spec\":{", &format!("\"spec\":{{\"x\":{nested},"), 1);
        for (changed, told) in [
            (with("kind", json!("guess")), "guess"),
            (with("spec", json!({ "magnitude": "much" })), "the spec"),
            (
                with("config", json!({ "command_line": 7 })),
                "the configuration of job",
            ),
            // The shown and confirmed commands would differ from the executed ones.
            (
                exported.replacen(r#""config":{"#, r#""config":{"luci":{},"#, 1),
                "by one of the two",
            ),
            (with("outcome", json!({ "status": 7 })), "its outcome"),
            (deep, "the spec"),
        ] {
            assert_ne!(changed, exported);
            fs::write(&file, changed).unwrap();
            let refused = stored.pinpoint(&import).ends_with(2);
            refused.says_nothing().tells("line 2: ").tells(told);
            assert!(refused.stderr.len() < 2000, "{}", refused.stderr.len());
            assert_eq!(stored.list(&[]), [] as [Value; 0]);
        }
        fs::write(&file, exported).unwrap();
        stored.pinpoint(&import).ends_with(0);
    });
}

/// A benchmark that takes its time, so that the network has an opportunity.
fn slow() -> String {
    format!("sleep 0.3; {BENCHMARK}")
}

#[test]
fn a_bisection_over_connections_that_are_reset_every_two_seconds_finds_the_culprit() {
    let server = Server::start(false);
    let proxy = Proxy::start(&server.socket());
    let world = World::with_step(8, 5);
    // A slow machine takes longer than two seconds to make the tables.
    let list = world.pinpoint(&["jobs", "list"]);
    list.env("PINPOINT_STORE", proxy.url("postgres"))
        .ends_with(0);
    let before = proxy.connections();
    proxy.reset_every(Duration::from_secs(2));
    let job = world.bisect(&[], &slow());
    let job = job
        .env("PINPOINT_STORE", proxy.url("postgres"))
        .ends_with(0);
    job.says(&format!("culprit {}", world.commits[5]));
    // One opens the store, and one works when nothing is reset.
    let connections = proxy.connections() - before;
    assert!(connections > 3, "{connections}");
}

#[test]
fn a_wait_that_begins_while_the_store_is_away_waits_for_it() {
    let server = Server::start(false);
    let world = World::with_step(4, 2);
    let on = |pinpoint: Pinpoint| pinpoint.env("PINPOINT_STORE", server.url("postgres"));
    on(world.bisect(&[], BENCHMARK)).ends_with(0);
    let listed = on(world.pinpoint(&["jobs", "list", "--output", "json"])).ends_with(0);
    let job = listed.document()["jobs"][0]["id"].clone();
    let job = job.as_str().unwrap();
    server.kill();
    let brief = ["jobs", "wait", job, "--timeout", "1s"];
    let brief = on(world.pinpoint(&brief)).ends_with(124);
    brief.says_nothing().tells("the store has not answered yet");
    let waiting = on(world.pinpoint(&["jobs", "wait", job])).start();
    until("the reason", || waiting.stderr().contains("waiting for it"));
    server.restart();
    let ended = waiting.ends_with(0);
    ended.tells("the store answers again");
    ended.says(&format!("culprit {}", world.commits[2]));
}

/// Takes half a minute: `cargo test --workspace --test cli silent -- --ignored`.
#[test]
#[ignore = "waits for twenty seconds"]
fn a_bisection_over_a_network_that_is_silent_for_twenty_seconds_finds_the_culprit() {
    let server = Server::start(false);
    let proxy = Proxy::start(&server.socket());
    let world = World::with_step(8, 5);
    let begun = world.path("begun");
    let script = format!("touch {}; {}", begun.display(), slow());
    let job = world.bisect(&[], &script);
    let job = job.env("PINPOINT_STORE", proxy.url("postgres")).start();
    until("the first run", || begun.exists());
    proxy.silence(true);
    std::thread::sleep(Duration::from_secs(20));
    proxy.silence(false);
    let job = job.wait();
    job.says(&format!("culprit {}", world.commits[5]));
}
