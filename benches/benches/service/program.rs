//! The program `pinpoint-service` while it runs, connections to it, and figures with their limits.

use std::error::Error;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The program, as users build it.
pub(crate) fn built() -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let output = Command::new(cargo)
        .args(["build", "--release", "--locked", "-p", "pinpoint-service"])
        .args(["--message-format", "json-render-diagnostics"])
        .arg("--manifest-path")
        .arg(manifest)
        .stderr(Stdio::inherit())
        .output()?;
    let messages = String::from_utf8(output.stdout)?;
    let mut executables = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    let built = executables.next_back();
    built.ok_or_else(|| "pinpoint-service can't be built".into())
}

/// The program while it runs.
pub(crate) struct Service {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Service {
    /// Starts it, and returns the time until it was ready.
    pub(crate) async fn start(
        program: &Path,
        state_dir: &Path,
        store: Option<&str>,
    ) -> Result<(Self, Duration), Failure> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let bots = state_dir.join("bots.toml");
        std::fs::write(
            &bots,
            "[bots.lab]\nlocal = true\nrepository = 'https://example.org/tool.git'\n\
             [benchmarks.parsing]\nstories = ['small']\nbots = ['lab']\ncommand = ['./bench']\n",
        )?;
        let config = state_dir.join("service.toml");
        let store = store.map_or(String::new(), |url| format!("store = '{url}'\n"));
        let (state, bots) = (state_dir.display(), bots.display());
        std::fs::write(
            &config,
            format!(
                "listen = '{address}'\nstate_dir = '{state}'\nbots = ['{bots}']\n{store}{LIMITS}"
            ),
        )?;
        let began = Instant::now();
        let process = Command::new(program)
            .arg("serve")
            .arg("--config")
            .arg(config)
            .env("RUST_LOG", "warn")
            .stderr(Stdio::null())
            .spawn()?;
        let service = Self { process, address };
        while began.elapsed() < Duration::from_secs(30) {
            if let Ok(mut connection) = Connection::open(address).await
                && connection.get("/readyz").await.is_ok()
            {
                return Ok((service, began.elapsed()));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Err("pinpoint-service does not answer".into())
    }

    /// MB that it has now (`VmRSS`), or had at most (`VmHWM`).
    pub(crate) fn memory(&self, which: &str) -> Result<f64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(which));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        Ok(kilobytes.ok_or("the kernel does not say")? * 1024.0 / 1e6)
    }

    /// The processor time that it has taken so far.
    pub(crate) fn processor_time(&self) -> Result<Duration, Failure> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        // The name, in parentheses, may have spaces.
        let (_, fields) = stat.rsplit_once(')').ok_or("the kernel does not say")?;
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.map(str::parse::<u64>).sum::<Result<_, _>>()?;
        // Linux counts hundredths of a second here, on all machines.
        Ok(Duration::from_millis(10 * ticks))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Without those that would refuse this load.
pub(crate) const LIMITS: &str = "[limits]\naddress_requests_a_minute = 'none'\nrequests_a_minute = 'none'\n\
                      jobs_an_hour = 'none'\njobs_under_way = 'none'\nstreams = 'none'\n";

/// A connection that is kept.
pub(crate) struct Connection {
    address: SocketAddr,
    requests: SendRequest<Full<Bytes>>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (requests, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { address, requests })
    }

    pub(crate) async fn begin(
        &mut self,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<Incoming, Failure> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.address.to_string())
            .header("content-type", "application/json")
            .body(Full::from(body))?;
        self.requests.ready().await?;
        let response = self.requests.send_request(request).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response.into_body());
        }
        let body = response.into_body().collect().await?.to_bytes();
        Err(format!("{path}: {status} {}", String::from_utf8_lossy(&body)).into())
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Bytes, Failure> {
        let body = self.begin(Method::GET, path, String::new()).await?;
        Ok(body.collect().await?.to_bytes())
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Result<Value, Failure> {
        let body = self.begin(Method::POST, path, body.to_string()).await?;
        Ok(serde_json::from_slice(&body.collect().await?.to_bytes())?)
    }
}

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Checks a time, at this share of all of them, against its limit.
pub(crate) fn limit(what: &str, times: &mut [Duration], share: f64, limit: f64) {
    times.sort_unstable();
    let at = |share: f64| ms(times[((times.len() - 1) as f64 * share) as usize]);
    println!("{what:<46} {:>9.2} ms, 99 % {:>8.2} ms", at(0.5), at(0.99));
    ratio(at(share), limit, at(share) / limit);
}

/// Prints a figure with its limit.
pub(crate) fn below(what: &str, figure: f64, unit: &str, limit: f64) {
    println!("{what:<46} {figure:>9.2} {unit}");
    ratio(figure, limit, figure / limit);
}

pub(crate) fn ratio(figure: f64, limit: f64, ratio: f64) {
    let verdict = if ratio <= 1.0 { "" } else { "  MISSED" };
    println!(
        "{:<46} {figure:>9.2}, limit {limit:>6.0}, ratio {ratio:.2}{verdict}",
        ""
    );
}
