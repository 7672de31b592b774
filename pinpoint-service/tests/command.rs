//! The command `pinpoint-service`: the real binary, with a state directory of its own.

// Clippy's exception for tests knows functions marked as tests only, not what they share.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

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
        let mut child = self
            .command(&["serve"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .unwrap()
            .to_owned();
        Running {
            child,
            address,
            _log: log,
        }
    }
}

/// A service that answers requests; one that is dropped is killed.
struct Running {
    child: Child,
    address: String,
    /// Kept, so that it can go on writing.
    _log: BufReader<ChildStderr>,
}

impl Running {
    /// The status and the body of the answer to a GET.
    fn get(&self, path: &str, token: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n",
            self.address
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.rsplit("\r\n\r\n").next().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    /// Its exit code after SIGTERM.
    fn stop(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
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
