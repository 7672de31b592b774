//! Values: what comes back, at all scales, sealed and not.

use pinpoint_trace_store::{LoadedRow, Select, TraceStoreError, ValueAt};
use pinpoint_traces::{CommitNumber, Query, Source, Tile, TraceName, coarser_values};

use crate::common::{Fixture, all_values, file, id, query, same};

crate::on_both! {
    values_come_back_bit_for_bit,
    a_full_tile_is_sealed_and_takes_late_values,
    a_tile_of_each_scale_has_the_last_values,
    one_value_of_each_trace_is_found,
    a_tile_is_streamed,
    old_tiles_are_removed,
    a_damaged_block_is_an_error,
    values_are_loaded_trace_by_trace,
}

const A: &str = ",arch=arm,";
const B: &str = ",arch=x86,";

/// Values of many shapes, by their commit: a different one for each trace and commit.
fn odd_values() -> Vec<f64> {
    let mut values = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        1e-300,
        5e-324,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        1e22,
        1e23,
        1e32,
        123.456,
        -123.456,
        1.0 / 3.0,
        9_007_199_254_740_993.0,
        1.2345e-12,
        12_345e15,
    ];
    values.extend((0..81).map(|it| f64::from(it) * 0.001));
    values
}

async fn values_come_back_bit_for_bit(fixture: Fixture) {
    let history = &fixture.history;
    let values = odd_values();
    let files: Vec<_> = (values.iter().enumerate())
        .map(|(commit, value)| {
            let points = [(A, *value), (B, values[commit / 2])];
            file(&commit.to_string(), 0, commit as u32, &points)
        })
        .collect();
    history.ingest(&files, &[]).await.unwrap();
    for _ in 0..2 {
        let found = all_values(history, 0, values.len() as u32 - 1).await;
        assert!(same(&found[0].1, &values), "{found:?}");
        let halves: Vec<f64> = (0..values.len()).map(|it| values[it / 2]).collect();
        assert!(same(&found[1].1, &halves));
        history.seal(0).await.unwrap();
    }
    assert!(history.tiles().await.unwrap()[0].is_sealed);
}

async fn a_full_tile_is_sealed_and_takes_late_values(fixture: Fixture) {
    let history = &fixture.history;
    let early: Vec<_> = (0..128)
        .map(|commit| {
            file(
                &format!("{commit:03}"),
                5,
                commit,
                &[(A, f64::from(commit))],
            )
        })
        .collect();
    history.ingest(&early, &[]).await.unwrap();
    assert!(!history.tiles().await.unwrap()[0].is_sealed);
    history
        .ingest(&[file("next", 5, 128, &[(A, 128.0)])], &[])
        .await
        .unwrap();
    let tiles = history.tiles().await.unwrap();
    assert_eq!((tiles[0].is_sealed, tiles[1].is_sealed), (true, false));
    // A later file, an earlier one, and another trace.
    let late = [
        file("late", 6, 7, &[(A, -7.0)]),
        file("late", 4, 8, &[(A, -8.0), (B, 8.0)]),
    ];
    history.ingest(&late, &[]).await.unwrap();
    let tiles = history.tiles().await.unwrap();
    assert!(tiles[0].is_sealed && tiles[0].version == 2, "{tiles:?}");
    let values = all_values(history, 6, 9).await;
    assert!(same(&values[0].1, &[6.0, -7.0, 8.0, 9.0]), "{values:?}");
    assert!(same(&values[1].1, &[f64::NAN, f64::NAN, 8.0, f64::NAN]));
}

async fn a_tile_of_each_scale_has_the_last_values(fixture: Fixture) {
    let history = &fixture.history;
    let commits = (0..2000_u32).filter(|it| it % 7 < 2 || it % 100 == 99);
    let files: Vec<_> = commits
        .map(|commit| {
            file(
                &format!("{commit:04}"),
                5,
                commit,
                &[(A, f64::from(commit))],
            )
        })
        .collect();
    history.ingest(&files, &[]).await.unwrap();
    let mut expected = all_values(history, 0, 2047).await.remove(0).1;
    let everything = Query::default();
    for scale in 0..=5 {
        for number in 0..(2048_u32 >> 7 >> (2 * scale)).max(1) {
            let tile = Tile::new(number, scale).unwrap();
            let select = Select::Query(&everything);
            let frame = history.tile_frame(select, tile, 10).await.unwrap();
            assert_eq!(frame.columns().len(), 128);
            assert_eq!(
                frame.columns().get(1),
                tile.commits_of_point(1).map(|it| *it.start())
            );
            let mut part: Vec<f64> = expected
                .iter()
                .copied()
                .skip(number as usize * 128)
                .collect();
            part.resize(128.max(part.len()), f64::NAN);
            assert!(same(frame.row(0).unwrap(), &part[..128]), "{tile}");
        }
        expected = coarser_values(&expected);
    }
    let tile = Tile::new(99, 0).unwrap();
    let error = history
        .tile_frame(Select::Query(&everything), tile, 10)
        .await
        .unwrap_err();
    assert!(matches!(error, TraceStoreError::NoTile { .. }), "{error}");
}

async fn one_value_of_each_trace_is_found(fixture: Fixture) {
    let history = &fixture.history;
    let files = [
        file("a", 0, 10, &[(A, 10.0), (B, 0.5)]),
        file("b", 0, 20, &[(A, 20.0)]),
        file("c", 0, 400, &[(A, 400.0)]),
    ];
    history.ingest(&files, &[]).await.unwrap();
    let everything = Query::default();
    let found = async |moment| {
        let points = history
            .values_at(Select::Query(&everything), moment, 10)
            .await
            .unwrap();
        let point =
            |it: pinpoint_trace_store::TracePoint| (it.trace.to_string(), it.commit.0, it.value);
        points.into_iter().map(point).collect::<Vec<_>>()
    };
    let a = |commit, value| (A.to_owned(), commit, value);
    let b = (B.to_owned(), 10, 0.5);
    assert_eq!(found(ValueAt::Latest).await, [a(400, 400.0), b.clone()]);
    assert_eq!(
        found(ValueAt::UpTo(CommitNumber(399))).await,
        [a(20, 20.0), b.clone()]
    );
    assert_eq!(found(ValueAt::UpTo(CommitNumber(9))).await, []);
    assert_eq!(found(ValueAt::At(CommitNumber(20))).await, [a(20, 20.0)]);
    assert_eq!(found(ValueAt::At(CommitNumber(21))).await, []);
    // The earlier one of two that are as near.
    assert_eq!(
        found(ValueAt::Nearest(CommitNumber(15))).await,
        [a(10, 10.0), b.clone()]
    );
    assert_eq!(
        found(ValueAt::Nearest(CommitNumber(16))).await,
        [a(20, 20.0), b.clone()]
    );
    assert_eq!(
        found(ValueAt::Nearest(CommitNumber(211))).await,
        [a(400, 400.0), b.clone()]
    );
    assert_eq!(
        found(ValueAt::Nearest(CommitNumber(210))).await,
        [a(20, 20.0), b.clone()]
    );
    assert_eq!(
        found(ValueAt::Nearest(CommitNumber(0))).await,
        [a(10, 10.0), b]
    );
}

async fn a_tile_is_streamed(fixture: Fixture) {
    let history = &fixture.history;
    let ids: Vec<String> = (0..9000)
        .map(|it| format!(",kind=k{},test=t{it},", it % 2))
        .collect();
    let points: Vec<(&str, f64)> = ids.iter().map(|it| (it.as_str(), 1.5)).collect();
    history
        .ingest(&[file("a", 0, 1, &points)], &[])
        .await
        .unwrap();
    history.seal(0).await.unwrap();
    history
        .ingest(&[file("b", 0, 3, &points[..5])], &[])
        .await
        .unwrap();
    let mut stream = history.stream(0, None).await.unwrap();
    assert_eq!(stream.len(), 9000);
    let (mut seen, mut values) = (Vec::new(), 0);
    while let Some(rows) = stream.next().await.unwrap() {
        assert!(rows.len() <= 4096);
        for row in rows {
            values += row.values.len();
            assert_eq!(row.commits.count_ones() as usize, row.values.len());
            let file = history.source(row.sources[0]).await;
            if values < 10 {
                assert_eq!(file.unwrap().unwrap().source.path, "a");
            }
            seen.push(row.trace.to_string());
        }
    }
    assert_eq!((seen.len(), values), (9000, 9005));
    seen.sort_unstable();
    let mut ids = ids;
    ids.sort_unstable();
    assert_eq!(seen, ids);
    let half = query("kind=k1");
    let stream = history.stream(0, Some(Select::Query(&half))).await.unwrap();
    assert_eq!(stream.len(), 4500);
    let error = history.stream(5, None).await.unwrap_err();
    assert!(matches!(error, TraceStoreError::NoTile { .. }), "{error}");
}

async fn old_tiles_are_removed(fixture: Fixture) {
    let history = &fixture.history;
    let files: Vec<_> = (0..4)
        .map(|tile| file(&tile.to_string(), 0, tile * 128, &[(A, f64::from(tile))]))
        .collect();
    history.ingest(&files, &[]).await.unwrap();
    assert_eq!(history.remove_tiles_before(2).await.unwrap(), 2);
    assert_eq!(history.remove_tiles_before(1).await.unwrap(), 0);
    // What comes late for them stays out.
    let late = history
        .ingest(&[file("late", 9, 1, &[(A, 9.0), (B, 9.0)])], &[])
        .await
        .unwrap();
    assert_eq!((late.taken, late.values), (1, 0));
    let tiles = history.tiles().await.unwrap();
    assert_eq!(tiles.iter().map(|it| it.number).collect::<Vec<_>>(), [2, 3]);
    let everything = Query::default();
    let frame = history
        .frame(
            Select::Query(&everything),
            CommitNumber(0)..=CommitNumber(511),
            10,
        )
        .await
        .unwrap();
    let present = frame.row(0).unwrap().iter().filter(|it| !it.is_nan());
    assert_eq!(present.copied().collect::<Vec<_>>(), [2.0, 3.0]);
    let rows = [LoadedRow {
        trace: id(A),
        values: vec![1.0],
    }];
    let error = history
        .load(1, &Source::new("x", 0), &rows)
        .await
        .unwrap_err();
    assert!(matches!(error, TraceStoreError::NoTile { .. }), "{error}");
}

async fn a_damaged_block_is_an_error(fixture: Fixture) {
    let history = &fixture.history;
    history
        .ingest(&[file("a", 0, 1, &[(A, 1.0)])], &[])
        .await
        .unwrap();
    history.seal(0).await.unwrap();
    let everything = Query::default();
    let range = CommitNumber(0)..=CommitNumber(9);
    let read = async || {
        history
            .frame(Select::Query(&everything), range.clone(), 10)
            .await
    };
    read().await.unwrap();
    let cut = "UPDATE blocks SET content = substr(content, 1, length(content) - 1)";
    fixture.behind_its_back(cut).await;
    let error = read().await.unwrap_err();
    let message = error.to_string();
    assert!(
        matches!(error, TraceStoreError::Damaged { .. }),
        "{message}"
    );
    assert!(message.contains("block 0 of tile 0"), "{message}");
    // A late value does not overwrite what may be repaired.
    history
        .ingest(&[file("b", 0, 2, &[(A, 2.0)])], &[])
        .await
        .unwrap();
    assert!(history.seal(0).await.is_err());
    fixture.behind_its_back("DELETE FROM blocks").await;
    let values = all_values(history, 1, 2).await;
    assert!(same(&values[0].1, &[f64::NAN, 2.0]), "{values:?}");
}

async fn values_are_loaded_trace_by_trace(fixture: Fixture) {
    let history = &fixture.history;
    history
        .ingest(&[file("older", 1, 129, &[(A, 1.0)])], &[])
        .await
        .unwrap();
    history
        .ingest(&[file("newer", 9, 130, &[(A, 2.0)])], &[])
        .await
        .unwrap();
    let rows = [
        LoadedRow {
            trace: id(A),
            values: vec![f64::NAN, 10.0, 11.0, 12.0],
        },
        LoadedRow {
            trace: id(B),
            values: vec![5.0],
        },
    ];
    let source = Source::new("table", 5);
    for _ in 0..2 {
        assert_eq!(history.load(1, &source, &rows).await.unwrap(), 4);
        let values = all_values(history, 128, 131).await;
        assert_eq!(values.len(), 2);
        assert!(
            same(&values[0].1, &[f64::NAN, 10.0, 2.0, 12.0]),
            "{values:?}"
        );
        let name: TraceName = B.parse().unwrap();
        assert_eq!(values[1].0, name.to_string());
        history.seal(1).await.unwrap();
    }
}
