//! "Machines" that share a store: each has a separate state directory and machine locks.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use libc::{SIGCONT, SIGSTOP, SIGTERM};
use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};

use crate::world::{BENCHMARK, Finished, Pinpoint, Running, World, until};

/// The usual wait for a lock of the store's file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

const BOTS: &str = r#"
[bots.desk]
local = true

[bots.lab]
machines = ["rack-1", "rack-2"]

[bots.nightly]
alias = "lab"

[bots.phones]
browser = "release"
bucket = "try"
builder = "Android Builder"
repository = "https://example.org/src.git"
swarming_server = "https://example.org"
dimensions = [{ key = "pool", value = "phones" }]
"#;

/// Machines that share a store.
pub(crate) struct Pool {
    pub(crate) world: World,
    pub(crate) store: String,
}

impl Pool {
    pub(crate) fn new(world: World) -> Self {
        let store = format!("sqlite:{}", world.state_dir().display());
        Self::with_store(world, store)
    }

    pub(crate) fn with_store(world: World, store: String) -> Self {
        fs::write(world.path("bots.toml"), BOTS).unwrap();
        Self { world, store }
    }

    /// The command on the machine of this name.
    pub(crate) fn on(&self, machine: &str, arguments: &[&str]) -> Pinpoint {
        self.at(machine, self.world.pinpoint(arguments))
    }

    pub(crate) fn at(&self, machine: &str, pinpoint: Pinpoint) -> Pinpoint {
        pinpoint
            .env("XDG_STATE_HOME", self.world.path(machine).join("state"))
            .env("XDG_RUNTIME_DIR", self.world.path(machine).join("runtime"))
            .env("PINPOINT_STORE", &self.store)
            .env("PINPOINT_BOT_CONFIG", self.world.path("bots.toml"))
    }

    /// A worker of `lab`, whose job others may take soon after its death.
    pub(crate) fn worker(&self, machine: &str) -> Running {
        self.quick_worker(machine).start()
    }

    pub(crate) fn quick_worker(&self, machine: &str) -> Pinpoint {
        let options = ["worker", "--bot", "lab", "--lease", "2s", "--machine"];
        self.on(machine, &options).and(&[machine])
    }

    /// Leaves a bisection to the workers, and returns its id.
    pub(crate) fn detach(&self, options: &[&str], script: &str) -> String {
        let bisect = ["--bot", "lab", "--detach"];
        let bisect = self.world.bisect(&[&bisect[..], options].concat(), script);
        let detached = self.at("desk", bisect).ends_with(0);
        detached.stdout.trim().to_owned()
    }

    pub(crate) fn wait(&self, job: &str) -> Pinpoint {
        self.on("desk", &["jobs", "wait", job])
    }

    pub(crate) fn show(&self, job: &str) -> Value {
        let show = self.on("desk", &["jobs", "show", job, "--output", "json"]);
        show.ends_with(0).document()
    }

    /// Stalls a worker, but not while it writes to the store: a process that stalls then holds up
    /// all others until it wakes, as SQLite has one lock for all writes.
    pub(crate) fn stall(&self, worker: &Running) {
        until("a moment at which nothing is written", || {
            worker.signal(SIGSTOP);
            worker.has_stalled();
            let free = self.can_be_written();
            if !free {
                worker.signal(SIGCONT);
            }
            free
        });
    }

    pub(crate) fn can_be_written(&self) -> bool {
        self.on_file(Duration::ZERO, async |store| {
            let begun = sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK").execute(store);
            begun.await.is_ok()
        })
    }

    /// Changes the store behind its back.
    pub(crate) fn alter(&self, sql: &str) {
        self.on_file(LOCK_TIMEOUT, async |store| {
            let sql = AssertSqlSafe(sql.to_owned());
            sqlx::raw_sql(sql).execute(store).await.unwrap();
        });
    }

    /// Reads a number from the store behind its back.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.on_file(LOCK_TIMEOUT, async |store| {
            let sql = AssertSqlSafe(sql.to_owned());
            sqlx::query_scalar(sql).fetch_one(store).await.unwrap()
        })
    }

    /// Works on the store's file, whose lock it waits for so long.
    fn on_file<T>(
        &self,
        patience: Duration,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> T,
    ) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let file = SqliteConnectOptions::new()
                .filename(self.world.state_dir().join("pinpoint.db"))
                .busy_timeout(patience);
            let mut store = file.connect().await.unwrap();
            let worked = work(&mut store).await;
            store.close().await.unwrap();
            worked
        })
    }

    /// The number of runs whose outputs a machine gets that only makes a report.
    pub(crate) fn outputs(&self, job: &str) -> usize {
        let report = self.world.path("report.html");
        let make = ["jobs", "report", job, report.to_str().unwrap()];
        self.on("elsewhere", &make).ends_with(0);
        let tails = self.world.path("elsewhere/state/pinpoint/jobs").join(job);
        let tails = fs::read_to_string(tails.join("runs/tails.jsonl")).unwrap();
        let named: BTreeMap<String, Value> = tails
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        named.len()
    }

    pub(crate) fn list(&self) -> Vec<Value> {
        let list = self.on("desk", &["workers", "list", "--output", "json"]);
        list.ends_with(0).document()["workers"]
            .as_array()
            .unwrap()
            .clone()
    }
}

/// Ends a worker that has nothing under way.
pub(crate) fn stop(worker: Running) -> Finished {
    worker.signal(SIGTERM);
    worker.ends_with(0)
}

/// The benchmark waits in a run until a file is gone.
pub(crate) struct Gate {
    file: PathBuf,
    pub(crate) reached: PathBuf,
}

impl Gate {
    pub(crate) fn closed(world: &World) -> Self {
        let gate = Self {
            file: world.path("gate"),
            reached: world.path("reached"),
        };
        fs::write(&gate.file, "").unwrap();
        gate
    }

    pub(crate) fn script(&self) -> String {
        format!(
            "if [ \"$PINPOINT_RUN\" = 1 ]; then : > {reached}; \
             while [ -e {gate} ]; do sleep 0.01; done; fi; {BENCHMARK}",
            gate = self.file.display(),
            reached = self.reached.display(),
        )
    }

    pub(crate) fn wait(&self) {
        until("the gate", || self.reached.exists());
    }

    pub(crate) fn open(&self) {
        fs::remove_file(&self.file).unwrap();
    }
}

/// The document that a command printed, without the fields that differ each time.
#[track_caller]
pub(crate) fn comparable(finished: &Finished) -> Value {
    comparable_document(finished.document())
}

/// A document without the fields that differ each time.
#[track_caller]
pub(crate) fn comparable_document(mut document: Value) -> Value {
    let fields = document.as_object_mut().unwrap();
    for field in ["job_id", "duration_s"] {
        assert!(fields.remove(field).is_some(), "{field}\n{fields:#?}");
    }
    // The commands of jobs that were left to workers have other words.
    for culprit in fields
        .get_mut("culprits")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        culprit.as_object_mut().unwrap().remove("reproduce");
    }
    document
}

/// A step in noise that depends on commit and run alone.
pub(crate) struct Noise;

impl Noise {
    pub(crate) const BUILD: [&'static str; 2] = ["--build", "cp value built"];

    /// The benchmark: its noise is below 41, and the step is so large.
    pub(crate) fn script(step: u32) -> String {
        format!(
            "sleep 0.02; n=$(cat built); r=${{PINPOINT_RUN:-0}}; \
             echo \"v: $((n / 100 * {step} + (n * 31 + r * 37) % 41)) ms\""
        )
    }

    /// So many commits, with the step at this one.
    pub(crate) fn world(count: usize, at: usize) -> World {
        // Distinct numbers, so that each commit has noise of its own.
        World::with_values((0..count).map(|number| number + if number < at { 100 } else { 200 }))
    }
}
