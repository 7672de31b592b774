//! Reads trees of files from a content-addressed store: our client against the SDK of the Remote
//! Execution API, in Go.
//!
//! 300 trees of 40 files, 8 trees at a time, are read from bazel-remote on loopback to the
//! disk, by either in turn and in processes of their own. Printed are the medians of the times,
//! their ratio and the peaks of memory, each with its limit.
//!
//! `cargo bench -p pinpoint-benches --features cas --bench cas`, with the programs
//! `PINPOINT_TEST_BAZEL_REMOTE` (see `pinpoint-backends/luci/tests/google/cas/bazel_remote.rs`) and
//! `PINPOINT_BENCH_CAS_SDK`: in `benches/benches/cas/sdk`, `go build -o PROGRAM .`.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "it waits on its own thread")]

use std::env;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use pinpoint_backends::cas::{Cas, CasOptions, Digest};
use pinpoint_backends::google::{TokenSource, Tokens, Web};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Trees that are read at a time.
const AT_A_TIME: usize = 8;
const ROUNDS: usize = 5;

/// Our time, as a multiple of the SDK's.
const RATIO: f64 = 1.5;
/// Our memory in MB, not counting the files in flight: at most 8 batches of 4 MiB, and as much
/// again while they are decompressed.
const MEMORY: f64 = 64.0;
const IN_FLIGHT: f64 = 2.0 * 8.0 * 4.0;

/// Names the store in a child that reads.
const CHILD: &str = "PINPOINT_BENCH_CAS";

fn main() -> Result<()> {
    if let Ok(address) = env::var(CHILD) {
        let folder = env::args().nth(1).ok_or("no folder")?;
        return read(&address, Path::new(&folder));
    }
    let sdk = env::var("PINPOINT_BENCH_CAS_SDK")
        .map_err(|_| "PINPOINT_BENCH_CAS_SDK must name the program of the SDK; see the source")?;
    let place = tempfile::tempdir()?;
    let store = Store::start(place.path())?;
    let address = format!("127.0.0.1:{}", store.port);
    let roots = output(Command::new(&sdk).args(["fill", &address]), "")?;
    println!("{} trees are stored", roots.lines().count());
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for round in 0..ROUNDS {
        for name in ["ours", "theirs"] {
            let folder = place.path().join(format!("{name}-{round}"));
            fs::create_dir(&folder)?;
            let (mut command, measured) = match name {
                "ours" => (Command::new(env::current_exe()?), &mut ours),
                _ => (Command::new(&sdk), &mut theirs),
            };
            match name {
                "ours" => command.env(CHILD, &address),
                _ => command.args(["read", &address]),
            };
            measured.push(measure(command.arg(&folder), &roots)?);
            fs::remove_dir_all(&folder)?;
        }
    }
    let ours = [median(&ours, 0), median(&ours, 1)];
    let theirs = [median(&theirs, 0), median(&theirs, 1)];
    let ratio = ours[0] / theirs[0];
    println!(
        "time: ours {:.2} s, the SDK's {:.2} s: {ratio:.2} times it (at most {RATIO})",
        ours[0], theirs[0]
    );
    println!(
        "memory: ours {:.0} MB (at most {MEMORY}, and {IN_FLIGHT} in flight), the SDK's {:.0} MB",
        ours[1], theirs[1]
    );
    if ratio > RATIO || ours[1] > MEMORY + IN_FLIGHT {
        return Err("a limit is exceeded".into());
    }
    Ok(())
}

/// Reads the trees whose roots come on standard input, as the SDK's program does.
fn read(address: &str, folder: &Path) -> Result<()> {
    let roots = std::io::read_to_string(std::io::stdin())?;
    let roots: Vec<Digest> = roots
        .lines()
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let began = Instant::now();
    runtime.block_on(async {
        let tokens = Tokens::new(TokenSource::None, &[], Arc::new(Web::new()?));
        let options = CasOptions::at(&format!("http://{address}"), "instance");
        let cas = Cas::new(options, tokens)?;
        let (cas, folder) = (&cas, &folder);
        stream::iter(roots.iter().enumerate())
            .map(|(index, root)| async move {
                let folder = folder.join(index.to_string());
                cas.download(root, &folder).await.map(drop)
            })
            .buffer_unordered(AT_A_TIME)
            .try_collect::<()>()
            .await?;
        Ok::<(), Box<dyn Error>>(())
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|rest| rest.split_whitespace().next());
    println!("{seconds} {}", peak.ok_or("no VmHWM")?);
    Ok(())
}

/// Seconds and MB.
fn measure(command: &mut Command, roots: &str) -> Result<[f64; 2]> {
    let printed = output(command, roots)?;
    let (seconds, kilobytes) = printed.trim().split_once(' ').ok_or("no figures")?;
    Ok([seconds.parse()?, kilobytes.parse::<f64>()? / 1024.0])
}

fn median(measured: &[[f64; 2]], figure: usize) -> f64 {
    let mut figures: Vec<f64> = measured.iter().map(|it| it[figure]).collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn output(command: &mut Command, input: &str) -> Result<String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A bazel-remote, which ends with this value.
struct Store {
    child: Child,
    port: u16,
}

impl Store {
    fn start(place: &Path) -> Result<Self> {
        let program = env::var("PINPOINT_TEST_BAZEL_REMOTE")
            .map_err(|_| "PINPOINT_TEST_BAZEL_REMOTE must name the program; see the source")?;
        let free =
            || Ok::<u16, std::io::Error>(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port());
        let (http, port) = (free()?, free()?);
        let child = Command::new(program)
            .arg("--dir")
            .arg(place.join("store"))
            .args(["--max_size", "4", "--access_log_level", "none"])
            .args(["--http_address", &format!("127.0.0.1:{http}")])
            .args(["--grpc_address", &format!("127.0.0.1:{port}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut store = Self { child, port };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = store.child.try_wait()? {
                return Err(format!("bazel-remote ended: {status}").into());
            }
            sleep(Duration::from_millis(50));
        }
        Ok(store)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
