//! The statistics against their limit: sorting the pooled sample once.
//!
//!     cargo bench -p pinpoint-benches --bench compare

#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pinpoint_compare::{
    Alternative, Direction, MannWhitneyOptions, Method, Scratch, SequentialComparison, Verdict,
    compare_pairwise_with, compare_performance_with, hodges_lehmann_with, ks_2samp_with,
    mann_whitney_u_with, wilcoxon_with,
};
use std::hint::black_box;

/// Roughly normal values, different at every call with another seed.
fn sample(n: usize, seed: u64, shift: f64) -> Vec<f64> {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..n)
        .map(|_| 100.0 + shift + (0..6).map(|_| uniform()).sum::<f64>())
        .collect()
}

/// As many different inputs as keep the branch predictor from learning them.
fn inputs(n: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
    let count = (40_000 / n).clamp(1, 200) as u64;
    (0..count)
        .map(|i| (sample(n, 2 * i, 0.0), sample(n, 2 * i + 1, 0.2)))
        .collect()
}

fn performance(c: &mut Criterion) {
    let mut group = c.benchmark_group("compare_performance");
    for n in [10, 160, 1_000, 100_000] {
        let inputs = inputs(n);
        // The result is checked before it is timed.
        let mut scratch = Scratch::new();
        let (x, y) = &inputs[0];
        let result = compare_performance_with(x, y, None, Direction::Unknown, &mut scratch);
        assert!(result.is_ok_and(|r| r.verdict != Verdict::Nil && r.tested()));
        if n >= 10_000 {
            group.sample_size(20);
        }
        let mut turn = inputs.iter().cycle();
        group.bench_function(BenchmarkId::new("whole", n), |b| {
            b.iter(|| {
                let Some((x, y)) = turn.next() else { return };
                let _ = black_box(compare_performance_with(
                    x,
                    y,
                    None,
                    Direction::Unknown,
                    &mut scratch,
                ));
            });
        });
        let mut pooled = Vec::new();
        group.bench_function(BenchmarkId::new("one_sort_of_the_pooled_sample", n), |b| {
            b.iter(|| {
                let Some((x, y)) = turn.next() else { return };
                pooled.clear();
                pooled.extend_from_slice(x);
                pooled.extend_from_slice(y);
                pooled.sort_unstable_by(f64::total_cmp);
                black_box(&pooled);
            });
        });
        // The same values as integers in the same order, for which std's sort has
        // no comparison of floats to make.
        let mut keys: Vec<u64> = Vec::new();
        group.bench_function(BenchmarkId::new("one_sort_as_integers", n), |b| {
            b.iter(|| {
                let Some((x, y)) = turn.next() else { return };
                keys.clear();
                // All values are positive: their bits are in order.
                keys.extend(x.iter().chain(y).map(|v| v.to_bits()));
                keys.sort_unstable();
                black_box(&keys);
            });
        });
    }
    group.finish();
}

fn signed_rank(c: &mut Criterion) {
    let mut group = c.benchmark_group("wilcoxon_with_interval");
    for n in [49, 500, 2_000] {
        let inputs = inputs(n);
        let mut scratch = Scratch::new();
        let mut turn = inputs.iter().cycle();
        group.bench_function(BenchmarkId::from_parameter(n), |b| {
            b.iter(|| {
                let Some((x, y)) = turn.next() else { return };
                let _ = black_box(wilcoxon_with(
                    x,
                    Some(y),
                    Alternative::TwoSided,
                    0.95,
                    &mut scratch,
                ));
            });
        });
    }
    group.finish();
    let inputs = inputs(30);
    let mut scratch = Scratch::new();
    let mut turn = inputs.iter().cycle();
    c.bench_function("compare_pairwise/30", |b| {
        b.iter(|| {
            let Some((x, y)) = turn.next() else { return };
            let _ = black_box(compare_pairwise_with(
                x,
                y,
                Direction::Unknown,
                &mut scratch,
            ));
        });
    });
}

fn rank_tests(c: &mut Criterion) {
    let mut group = c.benchmark_group("tests");
    let mut scratch = Scratch::new();
    for n in [8, 160] {
        let inputs = inputs(n);
        let mut turn = inputs.iter().cycle();
        let options = MannWhitneyOptions {
            confidence: None,
            ..MannWhitneyOptions::default()
        };
        group.bench_function(BenchmarkId::new("mann_whitney_auto", n), |b| {
            b.iter(|| {
                let Some((x, y)) = turn.next() else { return };
                let _ = black_box(mann_whitney_u_with(x, y, &options, &mut scratch));
            });
        });
        for method in [Method::Exact, Method::Pinpoint] {
            group.bench_function(BenchmarkId::new(format!("ks_{method}"), n), |b| {
                b.iter(|| {
                    let Some((x, y)) = turn.next() else { return };
                    let _ = black_box(ks_2samp_with(x, y, method, &mut scratch));
                });
            });
        }
    }
    for n in [160, 100_000] {
        let inputs = inputs(n);
        let mut turn = inputs.iter().cycle();
        group.sample_size(20);
        group.bench_function(BenchmarkId::new("hodges_lehmann", n), |b| {
            b.iter(|| {
                let Some((x, y)) = turn.next() else { return };
                let _ = black_box(hodges_lehmann_with(x, y, 0.95, &mut scratch));
            });
        });
    }
    let values = sample(500, 3, 0.0);
    group.bench_function("sequential_500_values", |b| {
        b.iter(|| {
            let Ok(mut comparison) = SequentialComparison::new(0.05, 1) else {
                return;
            };
            for pair in values.chunks(2) {
                let _ = comparison.push_control(pair[0]);
                let _ = comparison.push_treatment(pair[1]);
            }
            black_box(comparison.p_value());
        });
    });
    group.finish();
}

criterion_group!(benches, performance, signed_rank, rank_tests);
criterion_main!(benches);
