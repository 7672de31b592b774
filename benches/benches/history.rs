//! The midpoint of a million commits, compared with `git`.
//!
//! The steps of a bisection to its next commit: counting the commits between two others,
//! and finding the one in the middle. Measured on a generated history of a
//! million commits with a commit-graph, every fiftieth of them a merge, with the
//! files in the page cache:
//!
//! - in a fresh process, from its start to its end, as git's processes are;
//! - in a process that has walked the range before;
//! - the memory of the fresh process, above its memory before it opens the
//!   repository and above the size of the commit-graph;
//! - git: `rev-list --first-parent --count` and then `rev-list --first-parent
//!   --skip … --max-count 1`.
//!
//! The history is kept in cargo's target directory for the next time.
//!
//! `cargo bench -p pinpoint-benches --bench history`

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::disallowed_methods, reason = "it waits on its own thread")]

use std::error::Error;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pinpoint_backends::local::{LocalHistory, Repository};
use pinpoint_midpoint::History;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Commits on the line of first parents.
const COMMITS: u64 = 1_000_000;
const REPEATS: usize = 15;
/// The limits for each.
const FRESH: Duration = Duration::from_millis(60);
const OPENED: Duration = Duration::from_millis(1);
const MEMORY: f64 = 64.0;
const TIMES_FASTER: f64 = 5.0;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, path, lower, higher] = &arguments[..]
        && mode == "fresh"
    {
        return fresh(Path::new(path), lower, higher);
    }
    let path = repository()?;
    let [lower, higher] = ["first", "main"].map(|name| git(&path, &["rev-parse", name]));
    let (lower, higher) = (lower?, higher?);

    let mut fresh = Vec::new();
    let mut gits = Vec::new();
    let mut memory = Vec::new();
    // Taken by turns, so that whatever else the machine does hits both.
    for _ in 0..REPEATS {
        let began = Instant::now();
        let mut command = Command::new(std::env::current_exe()?);
        let command = command.arg("fresh").arg(&path).args([&lower, &higher]);
        let output = command.stderr(Stdio::inherit()).output()?;
        fresh.push(began.elapsed());
        let output = String::from_utf8(output.stdout)?;
        let (ours, above) = output.trim().split_once(' ').ok_or("no answer")?;
        memory.push(above.parse::<f64>()?);

        let began = Instant::now();
        let theirs = git_midpoint(&path, &lower, &higher)?;
        gits.push(began.elapsed());
        assert_eq!(ours, theirs, "the midpoints differ");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let opened = runtime.block_on(opened(&path, &lower, &higher))?;

    let (fresh, gits) = (median(fresh), median(gits));
    memory.sort_by(f64::total_cmp);
    let memory = memory[memory.len() / 2];
    let faster = gits.as_secs_f64() / fresh.as_secs_f64();
    let ms = |duration: Duration| 1000.0 * duration.as_secs_f64();
    println!("                                 measured       limit   share of it");
    for (name, measured, limit, unit) in [
        ("fresh process", ms(fresh), ms(FRESH), "ms"),
        ("opened before", ms(opened), ms(OPENED), "ms"),
        ("memory above the index", memory, MEMORY, "MB"),
    ] {
        let share = measured / limit;
        println!("{name:28}{measured:10.3} {unit}{limit:9.0} {unit}{share:10.2}");
    }
    println!("{:28}{:10.3} ms", "git's two commands", ms(gits));
    println!(
        "{:28}{faster:10.1}  {TIMES_FASTER:10.0}",
        "times faster than git"
    );
    Ok(())
}

/// The work of a fresh process: prints the midpoint, and its memory.
fn fresh(path: &Path, lower: &str, higher: &str) -> Result<()> {
    let before = peak_memory()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let history = LocalHistory::open(&Repository::discover(path)?, &path.join("state"))?;
    let midpoint = runtime.block_on(midpoint(&history, lower, higher))?;
    let index = fs::metadata(path.join("objects/info/commit-graph"))?.len();
    let above = peak_memory()? - before - index as f64 / 1e6;
    println!("{midpoint} {above}");
    Ok(())
}

async fn midpoint(history: &LocalHistory, lower: &str, higher: &str) -> Result<String> {
    let count = history.count(lower, higher).await?;
    Ok(history.nth(lower, higher, (count - 1) / 2).await?)
}

/// The same, where the range was walked before.
async fn opened(path: &Path, lower: &str, higher: &str) -> Result<Duration> {
    let history = LocalHistory::open(&Repository::discover(path)?, &path.join("state"))?;
    midpoint(&history, lower, higher).await?;
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let began = Instant::now();
        midpoint(&history, lower, higher).await?;
        times.push(began.elapsed());
    }
    Ok(median(times))
}

fn git_midpoint(path: &Path, lower: &str, higher: &str) -> Result<String> {
    let range = format!("{lower}..{higher}");
    let count = git(path, &["rev-list", "--first-parent", "--count", &range])?;
    let count: u64 = count.parse()?;
    // Counted from the newest.
    let skip = format!("--skip={}", count - 1 - (count - 1) / 2);
    git(
        path,
        &["rev-list", "--first-parent", &skip, "--max-count=1", &range],
    )
}

fn git(path: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(path)
        .args(arguments)
        .output()?;
    assert!(output.status.success(), "git {arguments:?}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// The most memory that this process had, in megabytes.
fn peak_memory() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kilobytes.ok_or("no VmHWM")?.parse::<f64>()? * 1024.0 / 1e6)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The generated history, made the first time.
fn repository() -> Result<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = directory.join(format!("history-{COMMITS}.git"));
    if path.exists() {
        return Ok(path);
    }
    let unfinished = path.with_extension("new");
    fs::create_dir_all(&unfinished)?;
    for entry in fs::read_dir(&unfinished)? {
        let entry = entry?.path();
        if entry.is_dir() {
            fs::remove_dir_all(entry)?;
        } else {
            fs::remove_file(entry)?;
        }
    }
    git(&unfinished, &["init", "-q", "--bare", "-b", "main"])?;
    let mut import = Command::new("git")
        .arg("-C")
        .arg(&unfinished)
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()?;
    let mut stream = BufWriter::new(import.stdin.take().ok_or("no pipe")?);
    let mut mark = 0;
    for number in 0..COMMITS {
        let tip = mark;
        // Every fiftieth merges a branch of two commits.
        let branch = if number % 50 == 49 { 2 } else { 0 };
        for place in 0..=branch {
            let parent = if place == branch { tip } else { mark };
            mark += 1;
            write!(
                stream,
                "commit refs/heads/main\nmark :{mark}\n\
                 committer Bench <bench@example.invalid> {} +0000\ndata 0\n",
                1_000_000_000 + mark
            )?;
            if parent > 0 {
                writeln!(stream, "from :{parent}")?;
            }
            if place > 0 && place == branch {
                writeln!(stream, "merge :{}", mark - 1)?;
            }
            if number == 0 {
                writeln!(
                    stream,
                    "M 644 inline file\ndata 0\n\nreset refs/tags/first\nfrom :1\n"
                )?;
            }
        }
    }
    stream.flush()?;
    drop(stream);
    assert!(import.wait()?.success(), "git fast-import");
    git(&unfinished, &["commit-graph", "write", "--reachable"])?;
    fs::rename(&unfinished, &path)?;
    Ok(path)
}
