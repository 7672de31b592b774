//! Clusters of traces of one shape, by Lloyd's k-means.

use std::collections::BTreeMap;

use super::error::{StepError, check_finite, check_floor};
use super::fit::{StepFit, fit, mean_and_squares};
use super::generator::Generator;
use super::statistic::Statistic;

/// The members of a cluster that are kept with it.
pub const MEMBERS_KEPT: usize = 50;

/// The largest number of clusters that may be asked for.
pub const MOST_CLUSTERS: usize = 200;

const MOST_ROUNDS: usize = 100;

/// A change of the total distance below this ends the rounds.
const LEAST_CHANGE: f64 = 1.0;

/// Options of [`clusters`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusterOptions {
    /// The number of clusters to start from, 1 to 200; `None`: ⌊40·n/30000 + 10⌋ of n traces.
    pub k: Option<usize>,
    /// Chooses the traces to start from.
    pub seed: u64,
    /// The statistic of the centroids.
    pub statistic: Statistic,
    /// Its threshold.
    pub threshold: f64,
    /// The least deviation to divide by.
    pub floor: f64,
}

/// Traces of one shape.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Cluster {
    /// The mean of the normalized members.
    pub centroid: Vec<f64>,
    /// The centroid's step.
    pub fit: StepFit,
    /// The indices of all members, nearest first; of equal distances the lower index first.
    pub members: Vec<usize>,
}

impl Cluster {
    /// The members that are kept: at most [`MEMBERS_KEPT`], nearest first.
    pub fn nearest(&self) -> &[usize] {
        &self.members[..self.members.len().min(MEMBERS_KEPT)]
    }
}

/// The result of [`clusters`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Clustering {
    /// The clusters that have members, in the order of the traces from which they started.
    pub clusters: Vec<Cluster>,
    /// The rounds made.
    pub rounds: usize,
    /// The sum of the distances of all traces to their centroids.
    pub total_distance: f64,
}

/// ⌊40·n/30000 + 10⌋, the number of clusters for n traces.
pub const fn cluster_count(traces: usize) -> usize {
    traces.saturating_mul(40) / 30_000 + 10
}

/// A trace minus its mean, over its population deviation if that is above the floor.
pub fn normalized(values: &[f64], floor: f64) -> Vec<f64> {
    let center = values.first().copied().unwrap_or_default();
    let (mean, squares) = mean_and_squares(values, center);
    let deviation = (squares / values.len().max(1) as f64).sqrt();
    let scale = if deviation > floor { deviation } else { 1.0 };
    values
        .iter()
        .map(|v| ((v - center) - mean) / scale)
        .collect()
}

/// Clusters traces of one length by their shapes: each is normalized first.
///
/// Lloyd's algorithm with Euclidean distances starts from k different traces chosen by the seed. It
/// ends after 100 rounds, or when the total distance changes by less than 1. A cluster without
/// members vanishes.
///
/// # Errors
///
/// [`StepError::TooShort`] without a trace, [`StepError::LengthsDiffer`],
/// [`StepError::NotFinite`], [`StepError::BadClusterCount`], and those of [`fit`](super::fit()).
///
/// # Cost
///
/// O(n·length·k) for each round, on all cores with the feature `rayon`.
pub fn clusters<T: AsRef<[f64]>>(
    traces: &[T],
    options: &ClusterOptions,
) -> Result<Clustering, StepError> {
    check_floor(options.floor)?;
    options.statistic.check_threshold(options.threshold)?;
    if let Some(k) = options.k
        && !(1..=MOST_CLUSTERS).contains(&k)
    {
        return Err(StepError::BadClusterCount {
            k,
            most: MOST_CLUSTERS,
        });
    }
    let Some(first) = traces.first() else {
        return Err(StepError::TooShort {
            argument: "traces",
            found: 0,
            needed: 1,
        });
    };
    let length = first.as_ref().len();
    let mut points = Vec::with_capacity(traces.len() * length);
    for (index, trace) in traces.iter().enumerate() {
        let trace = trace.as_ref();
        if trace.len() != length {
            return Err(StepError::LengthsDiffer {
                argument: "traces",
                index,
                found: trace.len(),
                expected: length,
            });
        }
        check_finite("traces", trace)?;
        points.extend(normalized(trace, options.floor));
    }
    let k = options.k.unwrap_or_else(|| cluster_count(traces.len()));
    let mut centroids = chosen(traces.len(), k, options.seed)
        .into_iter()
        .map(|i| points[i * length..(i + 1) * length].to_vec())
        .collect::<Vec<_>>();
    let mut before = f64::INFINITY;
    let mut rounds = 0;
    let mut nearest = vec![(0_u32, 0.0); traces.len()];
    let total_distance = loop {
        let total = assign(&points, length, &centroids, &mut nearest);
        rounds += 1;
        if rounds >= MOST_ROUNDS || (before - total).abs() < LEAST_CHANGE {
            break total;
        }
        before = total;
        centroids = means(&points, length, centroids.len(), &nearest);
    };
    let mut members = vec![Vec::new(); centroids.len()];
    for (i, (cluster, _)) in nearest.iter().enumerate() {
        members[*cluster as usize].push(i);
    }
    let mut found = Vec::new();
    for mut members in members {
        if members.is_empty() {
            continue;
        }
        let rows = members
            .iter()
            .map(|&i| &points[i * length..(i + 1) * length]);
        let centroid = mean_of(rows, length);
        members.sort_by(|&a, &b| nearest[a].1.total_cmp(&nearest[b].1));
        let fit = fit(
            &centroid,
            options.statistic,
            options.threshold,
            options.floor,
        )?;
        found.push(Cluster {
            centroid,
            fit,
            members,
        });
    }
    Ok(Clustering {
        clusters: found,
        rounds,
        total_distance,
    })
}

/// k different indices below n, or all of them.
fn chosen(n: usize, k: usize, seed: u64) -> Vec<usize> {
    let mut generator = Generator::new(seed);
    let mut indices: Vec<usize> = (0..n).collect();
    let k = k.min(n);
    for i in 0..k {
        let other = i + generator.below(n - i);
        indices.swap(i, other);
    }
    indices.truncate(k);
    indices
}

/// The centroids that are compared with a point at once.
const LANES: usize = 8;

/// Finds the nearest centroid of each point and its distance, and returns the sum of those.
fn assign(
    points: &[f64],
    length: usize,
    centroids: &[Vec<f64>],
    nearest: &mut [(u32, f64)],
) -> f64 {
    // Blocks of centroids, each dimension of all of them side by side.
    let blocks: Vec<Vec<[f64; LANES]>> = centroids
        .chunks(LANES)
        .map(|block| {
            let of = |d: usize| {
                std::array::from_fn(|lane| block.get(lane).map_or(f64::INFINITY, |c| c[d]))
            };
            (0..length).map(of).collect()
        })
        .collect();
    let one = |point: &[f64]| {
        let (mut best, mut which) = (f64::INFINITY, 0);
        for (b, block) in blocks.iter().enumerate() {
            let mut squares = [0.0_f64; LANES];
            for (x, centers) in point.iter().zip(block) {
                for (square, center) in squares.iter_mut().zip(centers) {
                    let distance = x - center;
                    *square += distance * distance;
                }
            }
            for (lane, &square) in squares.iter().enumerate() {
                if square < best {
                    (best, which) = (square, b * LANES + lane);
                }
            }
        }
        (which as u32, best.sqrt())
    };
    let length = length.max(1);
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        let pairs = nearest.par_iter_mut().zip(points.par_chunks(length));
        pairs
            .with_min_len(256)
            .for_each(|(slot, point)| *slot = one(point));
    }
    #[cfg(not(feature = "rayon"))]
    for (slot, point) in nearest.iter_mut().zip(points.chunks(length)) {
        *slot = one(point);
    }
    nearest.iter().map(|(_, distance)| distance).sum()
}

/// The means of the clusters; one without members is dropped.
fn means(points: &[f64], length: usize, k: usize, nearest: &[(u32, f64)]) -> Vec<Vec<f64>> {
    let mut sums = vec![vec![0.0; length]; k];
    let mut counts = vec![0_usize; k];
    for ((cluster, _), point) in nearest.iter().zip(points.chunks(length.max(1))) {
        let cluster = *cluster as usize;
        counts[cluster] += 1;
        for (sum, value) in sums[cluster].iter_mut().zip(point) {
            *sum += value;
        }
    }
    let filled = sums.into_iter().zip(counts).filter(|(_, count)| *count > 0);
    filled
        .map(|(sum, count)| sum.into_iter().map(|s| s / count as f64).collect())
        .collect()
}

fn mean_of<'a>(rows: impl Iterator<Item = &'a [f64]>, length: usize) -> Vec<f64> {
    let (mut sums, mut count) = (vec![0.0; length], 0_usize);
    for row in rows {
        count += 1;
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
    sums.iter().map(|sum| sum / count.max(1) as f64).collect()
}

/// For each key=value the whole percent of a cluster's members that have it, largest first, then by
/// key and value.
///
/// `parameters[i]` are the keys and values of trace i; an index without any counts as a member
/// that has none.
pub fn percents<'a, T>(parameters: &'a [T], members: &[usize]) -> Vec<(&'a str, &'a str, u32)>
where
    T: AsRef<[(&'a str, &'a str)]>,
{
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for list in members.iter().filter_map(|&i| parameters.get(i)) {
        for pair in list.as_ref() {
            *counts.entry(*pair).or_default() += 1;
        }
    }
    let percent = |count: usize| (100 * count / members.len().max(1)) as u32;
    let mut found: Vec<_> = counts
        .into_iter()
        .map(|((key, value), count)| (key, value, percent(count)))
        .collect();
    found.sort_by_key(|found| std::cmp::Reverse(found.2));
    found
}
