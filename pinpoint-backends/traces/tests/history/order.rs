//! The order of files makes no difference, nor does it how often they come.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::{Backend, Fixture, all_values, file};

/// One file: when it was made, its commit, and values of traces.
type Said = (i64, u32, Vec<(usize, u8)>);

const TRACES: [&str; 3] = [",arch=a,", ",arch=b,", ",arch=c,"];

/// The slow way: of all values of a place, that of the greatest source.
fn expected(files: &[Said]) -> Vec<Vec<Option<f64>>> {
    let mut sorted: Vec<(usize, &Said)> = files.iter().enumerate().collect();
    sorted.sort_by_key(|(number, (time, ..))| (*time, path(*number)));
    let mut values = vec![vec![None; 140]; TRACES.len()];
    for (_, (_, commit, points)) in sorted {
        for (trace, value) in points {
            values[*trace][*commit as usize] = Some(f64::from(*value));
        }
    }
    values
}

fn path(number: usize) -> String {
    format!("file-{number}")
}

#[test]
fn any_order_of_files_gives_the_same_store() {
    let points = prop::collection::vec((0..TRACES.len(), any::<u8>()), 1..4);
    // Few times and commits, so that files meet; some in the next tile, which seals the first.
    let commit = prop_oneof![0..4_u32, 126..132_u32];
    let said = (0..3_i64, commit, points);
    let files = prop::collection::vec(said, 1..12);
    let order = files.prop_flat_map(|files| {
        let numbers: Vec<usize> = (0..files.len()).chain(0..files.len() / 2).collect();
        let shuffled = Just(numbers).prop_shuffle();
        (Just(files), shuffled, 1..5_usize, any::<bool>())
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let config = Config {
            cases: 24,
            failure_persistence: None,
            ..Config::default()
        };
        let done = TestRunner::new(config).run(&order, |(files, order, at_once, seal)| {
            let found = runtime.block_on(async {
                let fixture = Fixture::new(backend).await;
                let made: Vec<_> = (files.iter().enumerate())
                    .map(|(number, (time, commit, points))| {
                        let points: Vec<_> = (points.iter())
                            .map(|(trace, value)| (TRACES[*trace], f64::from(*value)))
                            .collect();
                        file(&path(number), *time, *commit, &points)
                    })
                    .collect();
                for part in order.chunks(at_once) {
                    let part: Vec<_> = part.iter().map(|it| made[*it].clone()).collect();
                    fixture.history.ingest(&part, &[]).await.unwrap();
                    if seal {
                        fixture.history.seal(0).await.unwrap();
                    }
                }
                all_values(&fixture.history, 0, 139).await
            });
            let present = |value: &f64| (!value.is_nan()).then_some(*value);
            let expected = expected(&files);
            for (trace, id) in TRACES.iter().enumerate() {
                let row = found.iter().find(|(name, _)| name == id);
                let row = row.map_or(vec![None; 140], |(_, row)| {
                    row.iter().map(present).collect()
                });
                prop_assert_eq!(&row, &expected[trace]);
            }
            Ok(())
        });
        done.unwrap();
    }
}
