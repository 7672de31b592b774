//! Generates the high thresholds of performance comparisons.
//!
//!     cargo run --release -p pinpoint-compare --example thresholds -- DIRECTORY
//!
//! One row for each magnitude from 0.3 to 4.0, one entry for each sample size: the 99th percentile
//! of `mann_whitney_pinpoint`'s p between two samples of that size from normal distributions that
//! many interquartile ranges apart. A true difference of that magnitude has a p above the entry
//! once in a hundred times.
//!
//! Each simulated pair of samples grows one value a side at a time, and every size on the way is
//! counted. So a replicate costs one comparison of the new values with the old ones, and no sort.
//! Entries of one row are therefore correlated with their neighbors; each by itself is estimated
//! from independent replicates, and its error is as stated.
//!
//! Only |2U - n²| matters to p, and U is an integer, so that a histogram for each sample size is
//! kept and the percentiles are those of all replicates, not approximations. Replicates come in
//! blocks; a block's random numbers depend on the seed, the row and the block's number alone, so
//! that the result does not depend on the number of threads.
//!
//! A finished row is written to DIRECTORY as `row-<tenths>.txt` (size, threshold, standard error),
//! and rows found there are not computed again: an interrupted run continues where it was. When all
//! rows exist, `thresholds_table.rs` is written to the same directory, to be copied to `src/`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use pinpoint_compare::{Alternative, MannWhitneyOptions, Method, Scratch, mann_whitney_u_with};

const SEED: u64 = 0x5069_6e70_6f69_6e74;
const BLOCK: usize = 1 << 14;
/// Interquartile range of the standard normal distribution: 2·qnorm(0.75).
const QUARTILES_APART: f64 = 1.348_979_500_392_163_5;

/// Sample sizes of a row, as in the published table.
fn sizes(tenths: u32) -> usize {
    match tenths {
        3 => 360,
        4 => 240,
        5 => 120,
        6 => 90,
        7 => 70,
        8 => 50,
        9 => 40,
        10 => 35,
        11 | 12 => 25,
        13 | 14 => 20,
        15..=18 => 15,
        _ => 10,
    }
}

/// Replicates of a row: more where they are cheap.
fn replicates(tenths: u32) -> usize {
    if sizes(tenths) > 100 {
        1 << 22
    } else {
        1 << 24
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args()
        .nth(1)
        .ok_or("usage: thresholds DIRECTORY [THREADS]")?;
    let threads = match std::env::args().nth(2) {
        Some(n) => n.parse()?,
        None => std::thread::available_parallelism()?.get(),
    };
    let directory = Path::new(&directory);
    fs::create_dir_all(directory)?;
    for tenths in (3..=40).rev() {
        let file = directory.join(format!("row-{tenths}.txt"));
        if file.exists() {
            continue;
        }
        let text = row_text(&simulate(tenths, threads), replicates(tenths))?;
        // Written aside and moved, so that a row is either complete or missing.
        let aside = file.with_extension("part");
        fs::write(&aside, text)?;
        fs::rename(&aside, &file)?;
    }
    let mut out = fs::File::create(directory.join("thresholds_table.rs"))?;
    out.write_all(table(directory)?.as_bytes())?;
    Ok(())
}

/// Histograms of |2U - n²| for every sample size n.
type Histograms = Vec<Vec<u32>>;

fn simulate(tenths: u32, threads: usize) -> Histograms {
    let n = sizes(tenths);
    let blocks = replicates(tenths) / BLOCK;
    let next = AtomicUsize::new(0);
    let empty = || -> Histograms { (1..=n).map(|size| vec![0; size * size + 1]).collect() };
    std::thread::scope(|scope| {
        let work = || {
            let mut histograms = empty();
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= blocks {
                    return histograms;
                }
                run_block(tenths, n, block, &mut histograms);
            }
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut total = empty();
        for handle in handles {
            let Ok(part) = handle.join() else { continue };
            for (sum, counts) in total.iter_mut().flatten().zip(part.into_iter().flatten()) {
                *sum += counts;
            }
        }
        total
    })
}

fn run_block(tenths: u32, n: usize, block: usize, histograms: &mut Histograms) {
    let mut random = Random::new(SEED ^ (u64::from(tenths) << 48) ^ block as u64);
    let apart = f64::from(tenths) / 10.0 * QUARTILES_APART;
    let (mut xs, mut ys) = (vec![0.0; n], vec![0.0; n]);
    for _ in 0..BLOCK {
        let mut u = 0_u64;
        for k in 0..n {
            let (x, y) = random.normals();
            let y = y + apart;
            // Pairs with the control above the treatment.
            u += xs[..k].iter().map(|&v| u64::from(v > y)).sum::<u64>();
            u += ys[..k].iter().map(|&v| u64::from(x > v)).sum::<u64>();
            u += u64::from(x > y);
            xs[k] = x;
            ys[k] = y;
            let pairs = ((k + 1) * (k + 1)) as u64;
            histograms[k][(2 * u).abs_diff(pairs) as usize] += 1;
        }
    }
}

fn row_text(
    histograms: &Histograms,
    replicates: usize,
) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    for (i, histogram) in histograms.iter().enumerate() {
        let n = i + 1;
        let total: u64 = histogram.iter().map(|&c| u64::from(c)).sum();
        if total != replicates as u64 {
            return Err(format!("size {n}: {total} replicates instead of {replicates}").into());
        }
        let at = |rank: f64| percentile(histogram, n, rank);
        let rank = 0.99 * (replicates - 1) as f64;
        let deviation = (0.99 * 0.01 * replicates as f64).sqrt();
        let p = at(rank)?;
        let error = (at(rank + deviation)? - at(rank - deviation)?) / 2.0;
        let threshold = (p * 10_000.0 - 1e-9).ceil();
        text.push_str(&format!("{n} {threshold} {error:.3e}\n"));
    }
    Ok(text)
}

/// The p-value of a fractional rank (from 0), linearly interpolated.
fn percentile(histogram: &[u32], n: usize, rank: f64) -> Result<f64, Box<dyn std::error::Error>> {
    let below = p_of_rank(histogram, n, rank.floor() as u64)?;
    let above = p_of_rank(histogram, n, rank.floor() as u64 + 1)?;
    Ok(below + (above - below) * (rank - rank.floor()))
}

/// The p-value of a rank among the ascending p-values of all replicates.
fn p_of_rank(histogram: &[u32], n: usize, rank: u64) -> Result<f64, Box<dyn std::error::Error>> {
    // With p(0) and p(2) of an even n equal (|z| is 1/2 deviation for both), the
    // order of the p-values is that of ||2U - n²| - 1|, descending.
    let key = |distance: usize| (distance as i64 - 1).unsigned_abs();
    let mut order: Vec<usize> = (0..histogram.len()).filter(|&d| histogram[d] > 0).collect();
    order.sort_by_key(|&d| std::cmp::Reverse(key(d)));
    let mut seen = 0_u64;
    for distance in order {
        seen += u64::from(histogram[distance]);
        if seen > rank {
            return p_value((n * n - distance) / 2, n);
        }
    }
    Err("rank beyond the last replicate".into())
}

/// p of the smaller U, from two samples that have it.
fn p_value(u: usize, n: usize) -> Result<f64, Box<dyn std::error::Error>> {
    let control: Vec<f64> = (0..n).map(|i| i as f64).collect();
    // Each of the first u / n treatments is below all controls, the next below
    // u % n of them, the others above all; no two values are equal.
    let treatment: Vec<f64> = (0..n)
        .map(|i| {
            let fraction = 0.5 + i as f64 / (4 * n) as f64;
            let above = if i < u / n {
                n
            } else if i == u / n {
                u % n
            } else {
                0
            };
            n as f64 - 1.0 - above as f64 + fraction
        })
        .collect();
    let options = MannWhitneyOptions {
        alternative: Alternative::TwoSided,
        method: Method::Pinpoint,
        confidence: None,
    };
    let result = mann_whitney_u_with(&control, &treatment, &options, &mut Scratch::new())?;
    if result.statistic != u as f64 {
        return Err(format!("U is {} instead of {u}", result.statistic).into());
    }
    Ok(result.p_value)
}

fn table(directory: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut thresholds = String::new();
    let mut errors = String::new();
    for tenths in 3..=40 {
        let text = fs::read_to_string(directory.join(format!("row-{tenths}.txt")))?;
        let column = |i: usize| -> Vec<&str> {
            text.lines()
                .filter_map(|line| line.split(' ').nth(i))
                .collect()
        };
        let line = |values: Vec<&str>| {
            let rows: Vec<String> = values
                .chunks(16)
                .map(|c| format!("        {},\n", c.join(", ")))
                .collect();
            format!("    &[\n{}    ],\n", rows.concat())
        };
        thresholds.push_str(&line(column(1)));
        errors.push_str(&line(column(2)));
    }
    Ok(format!(
        "//! Written by `examples/thresholds.rs`; not to be edited.\n\
         \n\
         /// Row i: magnitude (i + 3) / 10; entry j: sample size j + 1; in ten-thousandths.\n\
         #[rustfmt::skip]\n\
         pub(crate) static PERFORMANCE: [&[u16]; 38] = [\n{thresholds}];\n\
         \n\
         /// Monte-Carlo standard error of each p before it was rounded up; 0 where\n\
         /// the neighboring ranks have the same p.\n\
         #[rustfmt::skip]\n\
         pub(crate) static STANDARD_ERROR: [&[f32]; 38] = [\n{errors}];\n"
    ))
}

/// xoshiro256++ (Blackman & Vigna 2019), seeded by SplitMix64.
struct Random([u64; 4]);

impl Random {
    fn new(seed: u64) -> Self {
        let mut state = seed;
        Self([(); 4].map(|()| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Two independent standard normal numbers (Marsaglia's polar method).
    fn normals(&mut self) -> (f64, f64) {
        loop {
            let unit = |bits: u64| (bits >> 11) as f64 * (2.0 / (1_u64 << 53) as f64) - 1.0;
            let (a, b) = (unit(self.next()), unit(self.next()));
            let s = a * a + b * b;
            if s < 1.0 && s > 0.0 {
                let scale = (-2.0 * libm::log(s) / s).sqrt();
                return (a * scale, b * scale);
            }
        }
    }
}
