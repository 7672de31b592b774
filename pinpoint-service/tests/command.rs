//! The command `pinpoint-service`: the real binary, with a state directory of its own.

// Clippy's exception for tests knows functions marked as tests only, not what they share.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pinpoint_backends::store::SCHEMA_VERSION;
use serde_json::Value;
use tempfile::TempDir;

const BOTS: &str = r#"
    [bots.lab]
    local = true
    repository = "https://example.org/tool.git"

    [benchmarks.parsing]
    command = ["./bench"]
"#;

/// A state directory, and a configuration that names it.
struct Scene {
    directory: TempDir,
    config: PathBuf,
}

impl Scene {
    fn new(more: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("bots.toml"), BOTS).unwrap();
        let config = format!(
            "listen = '127.0.0.1:0'\nstate_dir = '{}'\nbots = ['{}']\n{more}",
            at("state").display(),
            at("bots.toml").display(),
        );
        let path = at("service.toml");
        fs::write(&path, config).unwrap();
        Self {
            config: path,
            directory,
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        // One that should end, and does not, fails its test.
        let mut command = Command::new("timeout");
        command.args([
            "--foreground",
            "120",
            env!("CARGO_BIN_EXE_pinpoint-service"),
        ]);
        command.args(words).arg("--config").arg(&self.config);
        // Locks of machines, apart from those of other tests.
        command.env("XDG_RUNTIME_DIR", self.directory.path());
        command
    }

    #[track_caller]
    fn says(&self, words: &[&str], expected: &str) -> Output {
        let output = self.command(words).output().unwrap();
        let text = [&output.stdout[..], &output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains(expected), "{text}");
        output
    }

    fn serve(&self) -> Running {
        let mut command = self.command(&["serve"]);
        // All there is to tell.
        command.env("RUST_LOG", "trace");
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut said = |beginning: &str| loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0);
            if let Some(address) = line.trim().strip_prefix(beginning) {
                break address.to_owned();
            }
        };
        let address = said("listening on http://");
        let has_metrics = fs::read_to_string(&self.config)
            .unwrap()
            .contains("metrics");
        let metrics = has_metrics.then(|| said("metrics at http://"));
        let log = thread::spawn(move || {
            let mut text = String::new();
            log.read_to_string(&mut text).unwrap();
            text
        });
        Running {
            child,
            address,
            metrics: metrics.unwrap_or_default(),
            log: Some(log),
        }
    }
}

/// A service that answers requests; one that is dropped is killed.
struct Running {
    child: Child,
    address: String,
    /// The address of `/metrics`, if it has one.
    metrics: String,
    log: Option<JoinHandle<String>>,
}

impl Running {
    /// Sends bytes, and reads until the service ends the connection.
    fn send(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // Forever, in a test.
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Ok(_) => {}
            // What was not read is thrown away with the connection.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("{error}"),
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The status and the body of the answer to a GET.
    fn get(&self, path: &str, token: &str) -> (u16, Value) {
        let answer = self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             X-Request-Id: id-of-{token:.9}\r\nConnection: close\r\n\r\n",
            self.address
        ));
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.rsplit("\r\n\r\n").next().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    /// What Prometheus reads at this place.
    fn scrape(place: &str) -> String {
        let (address, path) = place.split_once('/').unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn terminate(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
    }

    /// Its exit code after SIGTERM.
    fn stop(mut self) -> Option<i32> {
        self.terminate();
        self.child.wait().unwrap().code()
    }

    /// Its log, once it has ended.
    fn log(mut self) -> String {
        self.terminate();
        self.log.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Not killed: that would end `timeout` alone. A second signal ends it at once.
        for _ in 0..2 {
            if let Ok(None) = self.child.try_wait() {
                let id = self.child.id().to_string();
                let _ = Command::new("kill").arg(id).status();
            }
        }
        let _ = self.child.wait();
    }
}

#[test]
fn a_token_opens_the_service_until_it_is_revoked() {
    let scene = Scene::new("sign_in = 'tokens'");
    scene.says(&["serve", "--check"], "the configuration can be used");
    let create = [
        "tokens",
        "create",
        "ci",
        "--user",
        "ada@example.org",
        "--may",
        "viewer",
    ];
    let made = scene.says(&create, "pinpoint_");
    // Only the secret, for scripts.
    let secret = String::from_utf8(made.stdout).unwrap();
    let secret = secret.trim();
    assert!(secret.starts_with("pinpoint_"), "{secret}");
    let running = scene.serve();
    let user = |secret: &str| running.get("/pinpoint/v1/user", secret);
    assert_eq!(
        user(secret),
        (200, serde_json::json!({ "email": "ada@example.org" }))
    );
    assert_eq!(user("pinpoint_other").0, 401);
    scene.says(
        &["tokens", "list"],
        "ci  ada@example.org  viewer  does not expire  used ",
    );
    scene.says(&["tokens", "revoke", "ci"], "ci is revoked");
    assert_eq!(user(secret).0, 401);
    assert_eq!(running.stop(), Some(0));
    scene.says(&["audit", "list"], "\"operation\":\"tokens revoke\"");
    scene.says(&["audit", "verify"], "2 rows, all of which fit");
    for bad in [
        &["tokens", "create", "x", "--user", " ", "--may", "viewer"][..],
        &["tokens", "create", "x", "--user", "a", "--may", "root"],
        &["tokens", "create", "ci", "--user", "a", "--may", "viewer"],
        &["tokens", "revoke", "unheard"],
    ] {
        assert!(!scene.says(bad, "error: ").status.success());
    }
}

/// It would take jobs that nobody carries out.
#[test]
fn a_service_whose_worker_can_not_begin_ends() {
    let scene = Scene::new("[worker]\nbots = ['lab']");
    // Where workers that share a state directory have their places.
    let places = scene.directory.path().join("state/workers");
    fs::create_dir_all(places.parent().unwrap()).unwrap();
    fs::write(&places, "").unwrap();
    let mut serve = scene.command(&["serve"]);
    let mut child = serve.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut log = child.stderr.take().unwrap();
    // Until it has ended.
    log.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(said.contains("Not a directory"), "{said}");
}

#[test]
fn a_configuration_that_can_not_be_used_says_why() {
    for (more, expected) in [
        ("bots_ = 1", "unknown field `bots_`"),
        ("[worker]\nbots = ['unheard']", "unheard"),
        (
            "[tls]\ncertificate = '/nowhere'\nkey = '/nowhere'",
            "/nowhere: ",
        ),
        ("store = 'mysql://a'", "is not the address of a store"),
    ] {
        let output = Scene::new(more).says(&["serve", "--check"], expected);
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn senders_that_are_slow_or_send_too_much_are_cut_off() {
    let scene = Scene::new("[limits]\ndeadline = '3s'\nheaders = '3s'");
    let service = scene.serve();
    let running = &service;
    thread::scope(|scope| {
        // Each of these would stay for good.
        scope.spawn(|| assert_eq!(running.send(""), ""));
        scope.spawn(|| {
            let half = running.send("GET /healthz HTTP/1.1\r\nHost: loc");
            assert!(!half.contains(" 200 "), "{half}");
        });
        scope.spawn(|| {
            let body = running.send(
                "POST /pinpoint/v1/bisection HTTP/1.1\r\nHost: localhost\r\n\
                 Content-Type: application/json\r\nContent-Length: 100\r\n\
                 Connection: close\r\n\r\n{",
            );
            assert!(body.starts_with("HTTP/1.1 504 "), "{body}");
        });
        // The beginning of HTTP/2, with empty settings and without an answer to a ping.
        scope.spawn(|| running.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"));
    });
    let get = |filling: usize| {
        let filling = "x".repeat(filling);
        let get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
        running.send(&format!("{get}X-Filling: {filling}\r\n\r\n"))
    };
    let large = get(17 << 10);
    assert!(!large.contains(" 200 "), "{large}");
    // In time, and short enough.
    let sound = get(15 << 10);
    assert!(sound.starts_with("HTTP/1.1 200 "), "{sound}");
    assert_eq!(service.stop(), Some(0));
}

#[test]
fn what_happens_is_counted_and_logged_without_secrets() {
    let scene = Scene::new("sign_in = 'tokens'\nmetrics = '127.0.0.1:0'");
    let create = ["tokens", "create", "ci", "--user", "ada", "--may", "viewer"];
    let made = scene.says(&create, "pinpoint_");
    let secret = String::from_utf8(made.stdout).unwrap();
    let secret = secret.trim();
    let running = scene.serve();
    let path = "/pinpoint/v1/user";
    assert_eq!(running.get(path, secret).0, 200);
    assert_eq!(running.get(path, "guessed-at-random").0, 401);
    assert_eq!(running.get("/nowhere/ada", secret).0, 404);
    let metrics = Running::scrape(&running.metrics);
    let operation = "operation=\"pinpoint.v1.PinpointGateway/GetUserInfo\"";
    for line in [
        format!("pinpoint_requests_total{{code=\"ok\",{operation}}} 1"),
        format!("pinpoint_requests_total{{code=\"unauthenticated\",{operation}}} 1"),
        "pinpoint_requests_total{code=\"not_found\",operation=\"other\"} 1".into(),
        format!("pinpoint_request_seconds_count{{{operation}}} 2"),
        "pinpoint_requests_under_way 0".into(),
    ] {
        assert!(metrics.contains(&line), "{line}\n{metrics}");
    }
    // Nothing that a client chooses is a label.
    assert!(!metrics.contains("ada"), "{metrics}");
    // They have a port of their own.
    assert_eq!(running.get("/metrics", secret).0, 404);
    let log = running.log();
    for hidden in [secret, &secret["pinpoint_".len()..], "guessed-at-random"] {
        assert!(!log.contains(hidden), "{log}");
    }
    let lines = log.lines().map(serde_json::from_str::<Value>);
    let lines: Vec<_> = (lines.map(Result::unwrap))
        .filter(|line| line["fields"]["message"] == "answered")
        .map(|line| line["fields"].clone())
        .collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    let expected = serde_json::json!({
        "message": "answered",
        "id": "id-of-pinpoint_",
        "from": "127.0.0.1",
        "user": "ada",
        "operation": "pinpoint.v1.PinpointGateway/GetUserInfo",
        "code": "ok",
        "milliseconds": lines[0]["milliseconds"],
    });
    assert_eq!(lines[0], expected);
    assert!(lines[0]["milliseconds"].is_f64());
    assert_eq!(lines[1]["code"], "unauthenticated");
}

#[test]
fn a_service_that_is_to_end_says_so_first() {
    let scene = Scene::new("notice = '1h'");
    let running = scene.serve();
    let ready = || running.get("/readyz", "none");
    assert_eq!(ready().0, 200);
    running.terminate();
    // The signal takes a moment.
    let (_, body) = loop {
        match ready() {
            (200, _) => thread::sleep(Duration::from_millis(10)),
            unready => break unready,
        }
    };
    assert_eq!(body["problem"], "the service is about to end");
    assert_eq!(running.get("/pinpoint/v1/user", "none").0, 200);
    // A second signal ends it at once.
    assert_eq!(running.stop(), Some(130));
}

/// Processes of the version before may still use it.
#[test]
fn a_check_leaves_the_store_as_it_is() {
    let scene = Scene::new("");
    let check = ["serve", "--check"];
    scene.says(&check, "`serve` makes its store");
    let state = scene.directory.path().join("state");
    assert!(!state.exists());
    scene.says(&["tokens", "list"], "");
    scene.says(&check, "the configuration can be used\n");
    // The version is the number at this place of the file.
    let file = state.join("pinpoint.db");
    let mut bytes = fs::read(&file).unwrap();
    bytes[60..64].copy_from_slice(&3_u32.to_be_bytes());
    fs::write(&file, &bytes).unwrap();
    let upgrade = format!("brings its store from version 3 to {SCHEMA_VERSION}");
    scene.says(&check, &upgrade);
    assert_eq!(fs::read(&file).unwrap()[60..64], [0, 0, 0, 3]);
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&file, &bytes).unwrap();
    let newer = scene.says(&check, "has version 99");
    assert_eq!(newer.status.code(), Some(1));
}
