//! The service's command, with a separate configuration.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

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
pub(crate) struct Scene {
    pub(crate) directory: TempDir,
    config: PathBuf,
}

impl Scene {
    pub(crate) fn new(more: &str) -> Self {
        Self::on(0, more)
    }

    /// A scene that listens on this port.
    pub(crate) fn on(port: u16, more: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("bots.toml"), BOTS).unwrap();
        let config = format!(
            "listen = '127.0.0.1:{port}'\nstate_dir = '{}'\nbots = ['{}']\n{more}",
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

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        // A command that should end, and does not, fails its test.
        let mut command = Command::new("timeout");
        command.args([
            "--foreground",
            "1200",
            env!("CARGO_BIN_EXE_pinpoint-service"),
        ]);
        command.args(words).arg("--config").arg(&self.config);
        // Locks of machines, apart from those of other tests.
        command.env("XDG_RUNTIME_DIR", self.directory.path());
        command
    }

    #[track_caller]
    pub(crate) fn says(&self, words: &[&str], expected: &str) -> Output {
        let output = self.command(words).output().unwrap();
        let text = [&output.stdout[..], &output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains(expected), "{text}");
        output
    }

    pub(crate) fn serve(&self) -> Running {
        let mut command = self.command(&["serve"]);
        // The most detailed log.
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
        let address = said("listening on http");
        let (_, address) = address.split_once("://").unwrap();
        let address = address.to_owned();
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

/// A service that answers requests; one that is dropped ends.
pub(crate) struct Running {
    child: Child,
    pub(crate) address: String,
    /// The address of `/metrics`, if it has one.
    pub(crate) metrics: String,
    log: Option<JoinHandle<String>>,
}

impl Running {
    /// Sends bytes, and reads until the service ends the connection.
    pub(crate) fn send(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // Forever, in a test.
        let patience = Some(Duration::from_secs(300));
        stream.set_read_timeout(patience).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Ok(_) => {}
            // Unread bytes are thrown away with the connection.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("{error}"),
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The status and the body of the answer to a GET.
    pub(crate) fn get(&self, path: &str, token: &str) -> (u16, Value) {
        let answer = self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             X-Request-Id: id-of-{token:.9}\r\nConnection: close\r\n\r\n",
            self.address
        ));
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.rsplit("\r\n\r\n").next().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    /// The status of the answer to a POST.
    pub(crate) fn post(&self, path: &str, token: &str, body: &Value) -> u16 {
        let body = body.to_string();
        let answer = self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        ));
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// The metrics at this place.
    pub(crate) fn scrape(place: &str) -> String {
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

    pub(crate) fn terminate(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
    }

    /// Kills it without a chance to tidy up.
    pub(crate) fn kill(&self) {
        // `timeout` has one child, the service.
        let id = self.child.id();
        let child = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        let killed = Command::new("kill").args(["-9", child.trim()]).status();
        assert!(killed.unwrap().success());
    }

    /// Its exit code after SIGTERM.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.terminate();
        self.child.wait().unwrap().code()
    }

    /// Its log, once it has ended.
    pub(crate) fn log(mut self) -> String {
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
