//! The store of the history of values at a million traces: opening, queries, reading, streaming and
//! ingesting. Prints a table. Takes some minutes, and a gigabyte of disk.
//!
//! `cargo bench --bench trace_store -- full` stores full doubles instead of numbers of five digits;
//! `TRACES=100000` makes fewer traces.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not reach benchmarks"
)]

use std::collections::BTreeMap;
use std::time::Instant;

use pinpoint_backends::traces::{LoadedRow, Select, TraceStore, ValueAt};
use pinpoint_traces::{
    CommitName, CommitNumber, Links, Params, Point, Query, ResultFile, Source, Tile, TraceId,
};
use sqlx::{Connection, SqliteConnection};

/// The traces that are loaded at once.
const PART: usize = 50_000;

/// A reproducible sequence (Marsaglia, Xorshift RNGs, 2003).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A trace of eight keys: 100 configurations of each test.
fn id(number: usize) -> TraceId {
    let (test, config) = (number / 100, number % 100);
    let arch = config % 5;
    let text = format!(
        ",arch=a{arch},bot=b{arch},compiler=clang,config=c{},os=o{},stat=s{},sub=u{},test=t{test},",
        config / 5 % 5,
        arch % 3,
        config / 25,
        test % 50,
    );
    text.parse().unwrap()
}

fn row(number: usize, is_full: bool, numbers: &mut Numbers) -> LoadedRow {
    let level = 10.0 + 1e4 * numbers.unit();
    let values = (0..128).map(|_| {
        let value = level * (1.0 + 0.02 * (numbers.unit() + numbers.unit() - 1.0));
        match numbers.next().is_multiple_of(2) {
            true => f64::NAN,
            false if is_full => value,
            // As a tool writes it.
            false => format!("{value:.4e}").parse().unwrap(),
        }
    });
    LoadedRow {
        trace: id(number),
        values: values.collect(),
    }
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

/// The largest size of this process so far, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|it| it.starts_with("VmHWM")).unwrap();
    let digits = line.split_whitespace().nth(1).unwrap();
    digits.parse::<u64>().unwrap() / 1024
}

fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

#[tokio::main]
async fn main() {
    let is_full = std::env::args().any(|it| it == "full");
    let traces: usize = std::env::var("TRACES").map_or(1_000_000, |it| it.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let dataset = "bench".parse().unwrap();
    let store = TraceStore::open(directory.path()).await.unwrap();
    let history = store.history(&dataset);
    let mut numbers = Numbers(88_172_645_463_325_252);
    let (mut count, mut seconds) = (0, 0.0);
    for first in (0..traces).step_by(PART) {
        let part = first..(first + PART).min(traces);
        let rows: Vec<LoadedRow> = part.map(|it| row(it, is_full, &mut numbers)).collect();
        let began = Instant::now();
        count += history
            .load(0, &Source::new("made", 0), &rows)
            .await
            .unwrap();
        seconds += began.elapsed().as_secs_f64();
    }
    store.close().await;
    println!("{traces} traces, {count} values loaded in {seconds:.1} s");
    let url = format!("sqlite://{}/traces.db", directory.path().display());
    let mut raw = SqliteConnection::connect(&url).await.unwrap();
    let bytes = async |raw: &mut SqliteConnection, sql: &'static str| -> i64 {
        sqlx::query_scalar(sql).fetch_one(raw).await.unwrap()
    };
    let blocks = bytes(&mut raw, "SELECT sum(length(content)) FROM blocks").await;
    let pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let all = bytes(&mut raw, pages).await;
    println!(
        "blocks: {:.3} bytes a value, with its source",
        blocks as f64 / count as f64
    );
    println!("whole file: {:.3} bytes a value", all as f64 / count as f64);

    let began = Instant::now();
    let store = TraceStore::open(directory.path()).await.unwrap();
    let history = store.history(&dataset);
    println!("open: {:.1} ms", milliseconds(began));
    for text in [
        "arch=a1&config=c1&stat=s1",
        "arch=a1&config=c1&test=~^t1.*7$",
        "sub=u7&config=~c[01]",
    ] {
        let query: Query = text.parse().unwrap();
        for run in ["first", "again"] {
            let began = Instant::now();
            let survey = history.survey(&query, None).await.unwrap();
            let took = milliseconds(began);
            println!(
                "survey {text}, {run}: {} traces, {took:.1} ms",
                survey.count
            );
        }
    }
    for text in ["arch=a1&config=c1&stat=s1", "sub=u7&config=~c[01]"] {
        let query: Query = text.parse().unwrap();
        for run in ["first", "again"] {
            let began = Instant::now();
            let (select, tile) = (Select::Query(&query), Tile::new(0, 0).unwrap());
            let frame = history.tile_frame(select, tile, 50_000).await.unwrap();
            let took = milliseconds(began);
            println!("read {text}, {run}: {} traces, {took:.1} ms", frame.len());
        }
    }
    let query: Query = "arch=a1&config=c1&stat=s1".parse().unwrap();
    let began = Instant::now();
    let latest = history
        .values_at(Select::Query(&query), ValueAt::Latest, 50_000)
        .await;
    println!(
        "latest of {}: {:.1} ms",
        latest.unwrap().len(),
        milliseconds(began)
    );
    forget_peak();
    let before = peak();
    let began = Instant::now();
    let mut stream = history.stream(0, None).await.unwrap();
    let mut streamed = 0;
    while let Some(rows) = stream.next().await.unwrap() {
        streamed += rows.iter().map(|row| row.values.len() as u64).sum::<u64>();
    }
    let took = milliseconds(began);
    assert_eq!(streamed, count);
    println!(
        "stream: {took:.0} ms, process {before} MiB before and {} at most",
        peak()
    );
    drop(directory);

    ingest("one call", 1000, false).await;
    ingest("a call for each 10 files", 10, false).await;
    ingest("a call for each file", 1, false).await;
    ingest("one call, each trace new", 1000, true).await;
}

/// A thousand files of a thousand values.
async fn ingest(name: &str, at_once: usize, new: bool) {
    let mut numbers = Numbers(2_463_534_242);
    let file = |commit: u32| ResultFile {
        source: Source::new(format!("file-{commit}"), 0),
        commit: CommitName::Number(CommitNumber(if new { commit % 10 } else { commit })),
        tried: None,
        key: Params::default(),
        links: Links::new(),
        points: (0..1000)
            .map(|it| Point {
                trace: id(if new { commit as usize * 1000 + it } else { it }),
                value: numbers.unit(),
                links: Links::new(),
            })
            .collect(),
        samples: BTreeMap::new(),
    };
    let files: Vec<ResultFile> = (0..1000).map(file).collect();
    let directory = tempfile::tempdir().unwrap();
    let store = TraceStore::open(directory.path()).await.unwrap();
    let history = store.history(&"bench".parse().unwrap());
    let began = Instant::now();
    for files in files.chunks(at_once) {
        history.ingest(files, &[]).await.unwrap();
    }
    println!("ingest, {name}: {:.1} s", began.elapsed().as_secs_f64());
}
