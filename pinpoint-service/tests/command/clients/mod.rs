//! Real clients of the service: other programs call the command, with TLS and a token. `.ci/run`
//! installs them, and each test says what it lacks:
//!
//! ```text
//! cargo test -p pinpoint-service --test command clients:: -- --ignored
//! ```

mod curl;
mod grpcio;
mod grpcurl;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::authority::Authority;
use crate::scene::{Running, Scene};

const BOTS: &str = r#"
    [bots.lab]
    local = true
    repository = "https://example.org/tool.git"

    [benchmarks.parsing]
    stories = ["small", "large"]
    command = ["./bench", "{story}"]
    allow_extra_args = ["--repeat=*"]
"#;

/// A service with a certificate, and the token of an editor.
struct Service {
    directory: TempDir,
    /// HOST:PORT, with the name that the certificate has.
    address: String,
    token: String,
    _running: Running,
    _scene: Scene,
}

impl Service {
    fn start() -> Self {
        let (authority, directory) = (Authority::new(), tempfile::tempdir().unwrap());
        let tls = authority.tls(directory.path(), "localhost");
        let scene = Scene::new(&format!("sign_in = 'tokens'\n{tls}"));
        fs::write(scene.directory.path().join("bots.toml"), BOTS).unwrap();
        let words = "tokens create t --user ada@example.org --may editor";
        let words: Vec<_> = words.split(' ').collect();
        let token = scene.says(&words, "pinpoint_").stdout;
        let running = scene.serve();
        let port = running.address.rsplit(':').next().unwrap();
        let service = Self {
            address: format!("localhost:{port}"),
            token: String::from_utf8(token).unwrap().trim().to_owned(),
            directory,
            _running: running,
            _scene: scene,
        };
        fs::write(service.authority(), authority.pem()).unwrap();
        service
    }

    /// The certificate of the authority that has signed the service's.
    fn authority(&self) -> PathBuf {
        self.directory.path().join("authority.pem")
    }
}

/// The output of a program that succeeds. `needed` says how to get it.
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
