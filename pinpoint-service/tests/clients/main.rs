//! Real clients of the service: other programs call the real command, with TLS and a token.
//! They are installed by `.ci/run`:
//!
//! ```text
//! cargo test -p pinpoint-service --test clients -- --ignored
//! ```
//!
//! What a client needs is said by the test that lacks it.

// Clippy's exception for tests knows functions marked as tests only, not what they share.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]

mod curl;
mod grpcio;
mod grpcurl;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

const BOTS: &str = r#"
    [bots.lab]
    local = true
    repository = "https://example.org/tool.git"

    [benchmarks.parsing]
    stories = ["small", "large"]
    command = ["./bench", "{story}"]
    allow_extra_args = ["--repeat=*"]
"#;

/// A service with a certificate of its own, and the token of an editor.
struct Service {
    child: Child,
    directory: TempDir,
    /// HOST:PORT, with the name that the certificate has.
    address: String,
    token: String,
    /// Kept, so that it can go on writing.
    _log: BufReader<ChildStderr>,
}

impl Service {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).display().to_string();
        fs::write(at("bots.toml"), BOTS).unwrap();
        let mut certificate = Command::new("openssl");
        certificate
            .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "1"])
            .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
            .args(["-keyout", &at("key.pem"), "-out", &at("certificate.pem")]);
        succeeded("openssl (Debian: openssl)", &mut certificate);
        let config = format!(
            "listen = '127.0.0.1:0'\nstate_dir = '{}'\nbots = ['{}']\nsign_in = 'tokens'\n\
             [tls]\ncertificate = '{}'\nkey = '{}'\n",
            at("state"),
            at("bots.toml"),
            at("certificate.pem"),
            at("key.pem"),
        );
        fs::write(at("service.toml"), config).unwrap();
        let command = |words: &[&str]| {
            // One that should end, and does not, fails its test.
            let mut command = Command::new("timeout");
            command.args([
                "--foreground",
                "300",
                env!("CARGO_BIN_EXE_pinpoint-service"),
            ]);
            command.args(words).args(["--config", &at("service.toml")]);
            command.env("XDG_RUNTIME_DIR", directory.path());
            command
        };
        let create = [
            "tokens",
            "create",
            "t",
            "--user",
            "ada@example.org",
            "--may",
            "editor",
        ];
        let token = succeeded("pinpoint-service", &mut command(&create));
        let mut child = command(&["serve"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let port = line.trim().rsplit_once(':').unwrap().1;
        assert!(
            line.starts_with("listening on https://127.0.0.1:"),
            "{line}"
        );
        Self {
            address: format!("localhost:{port}"),
            token: token.trim().to_owned(),
            child,
            directory,
            _log: log,
        }
    }

    fn certificate(&self) -> PathBuf {
        self.directory.path().join("certificate.pem")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // `timeout` would leave what it started when it is killed.
        let id = self.child.id().to_string();
        let _ = Command::new("kill").arg(id).status();
        let _ = self.child.wait();
    }
}

/// What a program prints that succeeds. `needed` says how to get it.
#[track_caller]
fn succeeded(needed: &str, command: &mut Command) -> String {
    let output = ran(needed, command);
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn ran(needed: &str, command: &mut Command) -> Output {
    let started = command.stdin(Stdio::null()).output();
    started.unwrap_or_else(|error| panic!("{command:?}: {error}; this test needs {needed}"))
}

/// The directory of the `.proto` files.
fn protos() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../pinpoint-core/proto")
}

fn bisection() -> Value {
    json!({
        "start_git_hash": "a".repeat(40),
        "end_git_hash": "b".repeat(40),
        "configuration": "lab",
        "benchmark": "parsing",
        "story": "small",
        "chart": "time",
    })
}
