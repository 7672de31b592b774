//! External programs that tests of clients and stand-ins need.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The path of a program: in the folder of build outputs, unless a variable overrides it.
pub(crate) fn program(name: &str, variable: &str) -> PathBuf {
    let target = || match env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"),
    };
    env::var_os(variable).map_or_else(|| target().join(name), PathBuf::from)
}

/// One of the programs in `tests/google/go`.
#[allow(clippy::disallowed_methods, reason = "tests wait on their own threads")]
fn go(name: &str, arguments: &[&str]) -> Command {
    let program = program("go", "PINPOINT_TEST_GO").join(name);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command
}

const NEEDED: &str = "at the root, `bash .ci/go \"$PWD/target/go\" luci bigquery buildbucket`; or the folder \
                      of these programs in PINPOINT_TEST_GO";

/// The output of a program in Go: JSON, a line each.
pub(crate) async fn printed(name: &str, arguments: &[&str]) -> Vec<serde_json::Value> {
    let output = tokio::process::Command::from(go(name, arguments)).output();
    let output = output
        .await
        .unwrap_or_else(|error| panic!("{name}: {error}; {NEEDED}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {arguments:?}: {errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A program in Go that serves until this value is dropped.
pub(crate) struct Serving {
    child: Child,
    _output: BufReader<ChildStdout>,
    pub(crate) address: String,
}

impl Serving {
    /// Starts it; it prints its address.
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        let child = go(name, arguments).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{name}: {error}; {NEEDED}"));
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut address = String::new();
        output.read_line(&mut address).unwrap();
        Self {
            child,
            _output: output,
            address: address.trim().to_owned(),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        #[allow(clippy::disallowed_methods, reason = "it was killed")]
        let _ = self.child.wait();
    }
}
