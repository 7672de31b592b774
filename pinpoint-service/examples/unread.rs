//! A service whose clients take nothing of their answers, or send slowly: measures the memory that
//! it needs, whether it serves others, and how much it gives back.
//!
//!     cargo build --release -p pinpoint-service
//!     cargo run -p pinpoint-service --example unread -- target/release/pinpoint-service
//!
//! A thousand connections, unless another number follows, ask for a report of 6 MiB and for
//! events: over HTTP/1 and HTTP/2, and take nothing or a byte a second. One of eight sends a
//! request instead: most of a MiB at once, over HTTP/2 several, and then a byte a second. More
//! than a thousand files are open here: see `ulimit -n`.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "it waits on its own thread")]

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use http::Request;
use pinpoint_backends::job::{CommandLine, JobConfig, JobRequest};
use pinpoint_backends::store::JobStore;
use pinpoint_core::{CombinedCommit, Commit, PairwiseSpec, Variant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Failure = Box<dyn Error + Send + Sync>;

/// Requests of a connection.
const REQUESTS: usize = 20;

/// The time for which it is watched.
const SECONDS: u64 = 60;

const CONFIG: &str = "[limits]\naddress_requests_a_minute = 'none'\nrequests_a_minute = 'none'\n\
                      streams = 'none'\n";

struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// MB that it has now (`VmRSS:`), or had at most (`VmHWM:`).
    fn memory(&self, which: &str) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(which));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        Ok(kilobytes.ok_or("the kernel does not say")? / 1000)
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let program = words.next().ok_or("name the program pinpoint-service")?;
    let connections = words.next().map_or(Ok(1_000), |number| number.parse())?;
    let place = tempfile::tempdir()?;
    let job = job(place.path()).await?;
    let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let service = start(&program, place.path(), address)?;
    while served(address, "/readyz").await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let report = format!("/api/v2/jobs/{job}/report");
    let events = format!("/api/v2/jobs/{job}/events");
    served(address, &report).await?;
    println!("{:>4} MB after one report", service.memory("VmRSS:")?);

    let open = Arc::new(AtomicUsize::new(0));
    for number in 0..connections {
        let path = match number % 8 {
            6 | 7 => events.clone(),
            _ => report.clone(),
        };
        let open = open.clone();
        open.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let _ = match number % 4 {
                _ if number % 16 == 4 => send_slowly(address).await,
                _ if number % 16 == 11 => send_slowly_over_http_2(address).await,
                0 => take_nothing(address, &path).await,
                1 => drip(address, &path).await,
                _ => take_nothing_over_http_2(address, &path).await,
            };
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(SECONDS) {
        let asked = Instant::now();
        let mut failed = 0;
        for path in ["/healthz", "/api/v2/jobs", "/"] {
            failed += usize::from(served(address, path).await.is_err());
        }
        println!(
            "{:>4} s: {:>4} MB, {:>4} connections open; others: {failed} of 3 refused, {:>5} ms for all",
            began.elapsed().as_secs(),
            service.memory("VmRSS:")?,
            open.load(Ordering::Relaxed),
            asked.elapsed().as_millis(),
        );
        tokio::time::sleep(Duration::from_secs(4)).await;
    }
    served(address, &report).await?;
    println!(
        "{:>4} MB at most, {} MB after another report",
        service.memory("VmHWM:")?,
        service.memory("VmRSS:")?
    );
    Ok(())
}

/// A job with a long command, and so with a long report.
async fn job(place: &Path) -> Result<String, Failure> {
    let store = JobStore::open(place).await?;
    let config = JobConfig {
        command_line: Some(CommandLine {
            words: vec!["x".repeat(6 << 20)],
            ends: None,
        }),
        ..JobConfig::default()
    };
    let side = |hash| Variant::from(CombinedCommit::from(Commit::new("app", hash)));
    let spec = PairwiseSpec::new(side("a"), side("b"));
    let id = store
        .jobs()
        .create(&JobRequest::new(spec, config).into_job()?)
        .await?;
    store.close().await;
    Ok(id.to_string())
}

fn start(program: &str, place: &Path, address: SocketAddr) -> Result<Program, Failure> {
    let (bots, config) = (place.join("bots.toml"), place.join("service.toml"));
    std::fs::write(&bots, "[bots.lab]\nlocal = true\n")?;
    let (state, bots) = (place.display(), bots.display());
    let text = format!("listen = '{address}'\nstate_dir = '{state}'\nbots = ['{bots}']\n{CONFIG}");
    std::fs::write(&config, text)?;
    let child = Command::new(program)
        .args(["serve", "--config"])
        .arg(config)
        .env("RUST_LOG", "warn")
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Program(child))
}

fn get(path: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n")
}

/// Serves a client that reads.
async fn served(address: SocketAddr, path: &str) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(address).await?;
    stream
        .write_all(get(path, "Connection: close\r\n").as_bytes())
        .await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let is_served = ["HTTP/1.1 200", "HTTP/1.1 303"]
        .iter()
        .any(|it| answer.starts_with(it.as_bytes()));
    is_served
        .then_some(())
        .ok_or_else(|| "it was refused".into())
}

/// Asks again and again, and reads nothing.
async fn take_nothing(address: SocketAddr, path: &str) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(address).await?;
    let request = get(path, "");
    for _ in 0..REQUESTS {
        stream.write_all(request.as_bytes()).await?;
    }
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stream.write_all(b"\r\n").await?;
    }
}

/// The bytes of a request that is sent slowly.
const LENGTH: usize = 1 << 20;

/// Sends most of a request, and then a byte a second.
async fn send_slowly(address: SocketAddr) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST /api/v2/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {LENGTH}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&vec![b' '; LENGTH - 1_000]).await?;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stream.write_all(b" ").await?;
    }
}

/// Sends most of several requests, and then nothing.
async fn send_slowly_over_http_2(address: SocketAddr) -> Result<(), Failure> {
    let stream = TcpStream::connect(address).await?;
    let (mut requests, connection) = h2::client::handshake(stream).await?;
    let connection = tokio::spawn(connection);
    let mut sent = Vec::new();
    for _ in 0..REQUESTS {
        requests = requests.ready().await?;
        let request = Request::post(format!("http://{address}/api/v2/jobs"))
            .header("content-type", "application/json")
            .body(())?;
        let (answer, mut body) = requests.send_request(request, false)?;
        body.send_data(Bytes::from(vec![b' '; LENGTH - 1_000]), false)?;
        sent.push((answer, body));
    }
    connection.await??;
    Ok(())
}

/// Reads a byte a second.
async fn drip(address: SocketAddr, path: &str) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(address).await?;
    stream
        .write_all(get(path, "").repeat(REQUESTS).as_bytes())
        .await?;
    while stream.read_u8().await.is_ok() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

/// Gives no answer any room.
async fn take_nothing_over_http_2(address: SocketAddr, path: &str) -> Result<(), Failure> {
    let stream = TcpStream::connect(address).await?;
    let mut client = h2::client::Builder::new();
    let client = client
        .initial_window_size(0)
        .handshake::<_, Bytes>(stream)
        .await?;
    let (mut requests, connection) = client;
    let connection = tokio::spawn(connection);
    let mut asked = Vec::new();
    for _ in 0..REQUESTS {
        requests = requests.ready().await?;
        let request = Request::get(format!("http://{address}{path}")).body(())?;
        asked.push(requests.send_request(request, true)?);
    }
    connection.await??;
    Ok(())
}
