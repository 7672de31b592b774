//! Formulas, verticals, queries and readers of the history, in memory. The limits, on two cores:
//! `ave(norm(fill(filter(…))))` over 100,000 traces of 128 values, half of them missing, in 0.3 s and
//! at least three times as fast as NumPy (`python/formulas.py`); verticals of 20,000 cells in 200 ms.
//!
//!     cargo bench -p pinpoint-benches --bench formulas

#![allow(missing_docs)]

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use pinpoint_traces::{
    Columns, CommitNumber, Formula, Frame, Pivot, Query, Source, TraceId, read_results, verticals,
};

const TRACES: usize = 100_000;
const COMMITS: u32 = 128;

/// A number that looks random, and is the same each time.
fn noise(seed: usize) -> u64 {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 20
}

/// The id of a trace with eight keys.
fn id(index: usize) -> TraceId {
    let (arch, config, os) = (index % 3, index / 3 % 2, index / 6 % 5);
    let text = format!(
        ",arch=a{arch},bot=b{},config=c{config},gpu=g{},model=m{},os=o{os},stat=min,test=t{},",
        index % 7,
        index % 11,
        index % 13,
        index / 30
    );
    text.parse().expect("an id")
}

fn frame() -> Frame {
    let names = (0..TRACES).map(|it| id(it).into()).collect();
    let value = |at: usize| match noise(at) {
        it if it % 2 == 0 => f64::NAN,
        it => 100.0 + (it % 10_000) as f64 / 100.0,
    };
    let values = (0..TRACES * COMMITS as usize).map(value).collect();
    let columns = Columns::range(CommitNumber(0)..=CommitNumber(COMMITS - 1));
    Frame::from_parts(columns, names, values).expect("a frame")
}

fn formulas(criterion: &mut Criterion) {
    let frames = [frame()];
    let mut group = criterion.benchmark_group("formulas of 100,000 traces");
    group.sample_size(10);
    for text in [
        r#"ave(norm(fill(filter("config=*"))))"#,
        r#"geo(filter("config=*"))"#,
        r#"max(iqrr(filter("config=*")))"#,
        r#"norm(fill(filter("config=*")))"#,
    ] {
        let formula: Formula = text.parse().expect("a formula");
        group.bench_function(text, |bencher| {
            bencher.iter(|| black_box(formula.evaluate(&frames).expect("a result").len()));
        });
    }
    let pivot: Pivot =
        serde_json::from_str(r#"{"group_by":["arch","os"],"operation":"sum"}"#).expect("a pivot");
    group.bench_function("pivot by arch and os", |bencher| {
        bencher.iter(|| black_box(pivot.apply(&frames[0]).expect("a table").rows.len()));
    });
    let query: Query = "arch=a1&os=~[13]&stat=!max".parse().expect("a query");
    group.bench_function("a query of 3 keys, trace by trace", |bencher| {
        let names = frames[0].names();
        bencher.iter(|| {
            let ids = names.iter().filter_map(|it| it.stored());
            black_box(ids.filter(|it| query.matches_id(it)).count())
        });
    });
    group.finish();
}

fn cells(criterion: &mut Criterion) {
    let traces: Vec<TraceId> = (0..40_000)
        .map(|it| {
            let (config, os, test) = (["8888", "gpu"][it % 2], it / 2 % 10, it / 20);
            let text = format!(
                ",arch=x86_64,config={config},gpu=g,model=m,os=o{os},stat=min,test=t{test},unit=ms,"
            );
            text.parse().expect("an id")
        })
        .collect();
    criterion.bench_function("verticals of 20,000 cells", |bencher| {
        bencher.iter(|| {
            let values = traces
                .iter()
                .enumerate()
                .map(|(at, it)| (it, 1.0 + (noise(at) % 100) as f64));
            let table = verticals(values, "test", "config", "gpu", "8888").expect("a table");
            assert_eq!(table.rows.len() * table.columns.len(), 20_000);
            black_box(table)
        });
    });
}

fn files(criterion: &mut Criterion) {
    let mut text = String::from(
        r#"{"version":1,"git_hash":"cd5a1e","key":{"arch":"x86","bot":"b","os":"Linux"},"results":["#,
    );
    for test in 0..250 {
        let comma = if test == 0 { "" } else { "," };
        let _ = write!(
            text,
            r#"{comma}{{"key":{{"test":"t{test}","config":"8888","unit":"ms"}},"measurements":{{"stat":["#
        );
        for (at, stat) in ["min", "max", "mean", "median"].iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(
                text,
                r#"{comma}{{"value":"{stat}","measurement":{}.25}}"#,
                noise(test + at) % 1000
            );
        }
        text.push_str("]}}");
    }
    text.push_str("]}");
    criterion.bench_function("a file of 1,000 values", |bencher| {
        bencher.iter(|| {
            let file = read_results(Source::new("a.json", 0), text.as_bytes()).expect("points");
            assert_eq!(file.points.len(), 1000);
            black_box(file)
        });
    });
}

criterion_group!(benches, formulas, cells, files);
criterion_main!(benches);
