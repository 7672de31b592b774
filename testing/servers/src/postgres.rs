//! A real PostgreSQL server for the tests, of their own.
//!
//! The first test that needs one starts it, in its own directory and reached through a socket
//! there, never through the network. A small shell process holds a pipe from this one: when this
//! process ends in any way, it stops the server and removes the directory.
//! `PINPOINT_TEST_POSTGRES=URL` names a running server instead, on which databases may be created.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;

/// The server's address, before and after the name of a database.
static SERVER: OnceCell<(String, String)> = OnceCell::const_new();

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A database of one test.
pub struct Database {
    url: String,
    name: String,
}

impl Database {
    /// Creates a database on the server of this process, which is started first.
    pub async fn new() -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("pinpoint_test_{}_{number}", std::process::id());
        let mut connection = PgConnection::connect(&url("postgres").await).await.unwrap();
        let create = AssertSqlSafe(format!("CREATE DATABASE {name}"));
        sqlx::query(create).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        Self {
            url: url(&name).await,
            name,
        }
    }

    /// Its address, for a store.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Database {
    /// On a server that stays. One of ours is removed as a whole.
    fn drop(&mut self) {
        if std::env::var_os("PINPOINT_TEST_POSTGRES").is_some() {
            let name = self.name.clone();
            let dropped = std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    let mut connection =
                        PgConnection::connect(&url("postgres").await).await.unwrap();
                    let drop = AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"));
                    sqlx::query(drop).execute(&mut connection).await.unwrap();
                });
            });
            dropped.join().unwrap();
        }
    }
}

/// The address of a database on the server.
async fn url(database: &str) -> String {
    let (before, after) = SERVER
        .get_or_init(|| async {
            match std::env::var("PINPOINT_TEST_POSTGRES") {
                Ok(url) => {
                    let (address, options) = match url.split_once('?') {
                        Some((address, options)) => (address.to_owned(), format!("?{options}")),
                        None => (url, String::new()),
                    };
                    let host = address.find("://").unwrap() + 3;
                    let end = address[host..]
                        .find('/')
                        .map_or(address.len(), |end| host + end);
                    (address[..end].to_owned(), options)
                }
                Err(_) => {
                    let directory = start(false);
                    let host = directory.to_str().unwrap().replace('/', "%2F");
                    (
                        "postgres://postgres@localhost".to_owned(),
                        format!("?host={host}"),
                    )
                }
            }
        })
        .await;
    format!("{before}/{database}{after}")
}

/// The programs of the newest installed version.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    versions
        .map(|version| version.unwrap().path())
        .filter(|path| path.join("bin/initdb").exists())
        .max_by_key(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.parse::<u32>().unwrap_or(0)
        })
        .expect(
            "no PostgreSQL server is installed in /usr/lib/postgresql: `apt-get install postgresql`, \
             or name a running one with PINPOINT_TEST_POSTGRES=postgres://USER@HOST",
        )
        .join("bin")
}

/// A command as a user who may run a server, which root may not.
fn command(program: &Path) -> Command {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| {
        use std::os::unix::fs::MetadataExt;
        process.uid() == 0
    });
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command
}

/// Starts a server, and returns the directory with its socket. One that is not durable
/// does not wait for the disk.
pub fn start(durable: bool) -> PathBuf {
    Server::start(durable).directory
}

/// A server that a test may end and start again.
pub struct Server {
    directory: PathBuf,
    durable: bool,
}

impl Server {
    /// Starts a server; only a durable one survives `kill -9` with what it has acknowledged.
    pub fn start(durable: bool) -> Self {
        let programs = programs();
        let made = command(Path::new("mktemp"))
            .args(["-d", "/tmp/pinpoint-postgres-XXXXXX"])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let directory = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        // Ends the server and cleans up when the other end of its input is closed. Before the
        // server is started, to leave no gap.
        let watch = command(Path::new("sh"))
            .arg("-c")
            .arg("trap '' INT TERM HUP; cat; \"$1/pg_ctl\" -D \"$2/data\" -m immediate stop; rm -rf \"$2\"")
            .args([Path::new("watch"), &programs, &directory])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // As long as this process lives, the pipe is open.
        std::mem::forget(watch);
        let server = Self { directory, durable };
        let made = server.run(
            "initdb",
            &[
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C.UTF-8",
                "--no-sync",
            ],
        );
        assert!(made.status.success(), "{made:?}");
        let started = server.launch();
        assert!(started.status.success(), "{started:?}");
        server
    }

    fn run(&self, name: &str, arguments: &[&str]) -> Output {
        command(&programs().join(name))
            .args(arguments)
            .arg("-D")
            .arg(self.directory.join("data"))
            .current_dir("/")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn launch(&self) -> Output {
        let options = format!(
            "-c listen_addresses= -c unix_socket_directories={} -c fsync={} -c max_connections=500",
            self.directory.display(),
            if self.durable { "on" } else { "off" },
        );
        let log = self.directory.join("log");
        let log = log.to_str().unwrap();
        self.run(
            "pg_ctl",
            &["start", "-w", "-t", "60", "-o", &options, "-l", log],
        )
    }

    /// The socket on which it listens.
    pub fn socket(&self) -> PathBuf {
        self.directory.join(".s.PGSQL.5432")
    }

    /// The address of a database on it.
    pub fn url(&self, database: &str) -> String {
        let host = self.directory.to_str().unwrap().replace('/', "%2F");
        format!("postgres://postgres@localhost/{database}?host={host}")
    }

    /// Ends it without a chance to clean up.
    pub fn kill(&self) {
        let process = fs::read_to_string(self.directory.join("data/postmaster.pid")).unwrap();
        let number = process.lines().next().unwrap();
        let killed = Command::new("kill").args(["-9", number]).status().unwrap();
        assert!(killed.success());
    }

    /// Restarts it, as soon as its earlier processes are gone.
    pub fn restart(&self) {
        for _ in 0..600 {
            if self.launch().status.success() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the server can't be started again");
    }
}
