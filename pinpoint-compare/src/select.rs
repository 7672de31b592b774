//! Order statistics of all pairwise sums, without storing the sums.
//!
//! The Hodges-Lehmann shift is the median of the n·m differences between two samples, the
//! pseudomedian that of the n(n+1)/2 Walsh averages of one, and both confidence intervals are order
//! statistics of the same sets. With the samples sorted, the sums a[i] + b[j] form a matrix whose
//! rows and columns ascend (rounding keeps that order), so that one walk along its staircase counts
//! the sums up to any value in O(n + m). A value is bracketed by such counts until few sums are
//! left between the ends; those are stored and selected from. Memory stays O(n + m).
//!
//! Several ranks are looked for at once, with two values tried for each in every round, because a
//! walk is a chain of dependent steps and three walks take hardly longer than one. The first values
//! tried come from the quartiles of the samples; then the count is interpolated between the ends of
//! the bracket. Where that stalls, as it does for values on many scales, the bracket is halved in
//! the order of the floats themselves, so that no input needs more than some 64 rounds.

use crate::sorted::{key, value};

/// The sums a[i] + b[j] of two ascending lists, over all i and j or, for one
/// list paired with itself, over i <= j.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sums<'a> {
    a: &'a [f64],
    b: &'a [f64],
    triangle: bool,
}

impl<'a> Sums<'a> {
    /// Every sum of an element of `a` and one of `b`, both ascending and not empty.
    pub(crate) fn new(a: &'a [f64], b: &'a [f64]) -> Self {
        Self {
            a,
            b,
            triangle: false,
        }
    }

    /// The sums of every unordered pair in `a`, each element also with itself.
    pub(crate) fn within(a: &'a [f64]) -> Self {
        Self {
            a,
            b: a,
            triangle: true,
        }
    }

    /// The number of sums.
    pub(crate) fn len(&self) -> u64 {
        let (n, m) = (self.a.len() as u64, self.b.len() as u64);
        if self.triangle {
            n * (n + 1) / 2
        } else {
            n * m
        }
    }

    /// The number of sums that are at most each of `v`.
    ///
    /// A walk starts at the first row's end and steps down a row when the sum there is at most v,
    /// counting the sums to the left of it, or else to the left. It has no branches, and a known
    /// number of steps.
    fn count_up_to<const N: usize>(&self, v: [f64; N]) -> [u64; N] {
        let (a, b) = (self.a, self.b);
        let mut counts = [0_u64; N];
        let mut columns = [b.len(); N];
        let mut rows = [0_usize; N];
        if self.triangle {
            // Down to the diagonal: a.len() steps.
            for _ in 0..a.len() {
                for k in 0..N {
                    let (row, column) = (rows[k], columns[k]);
                    let down = a[row] + b[column - 1] <= v[k];
                    counts[k] += if down { (column - row) as u64 } else { 0 };
                    rows[k] = row + usize::from(down);
                    columns[k] = column - usize::from(!down);
                }
            }
        } else {
            // Down to the last row or left to the first column. A finished walk stays in place: its
            // column is then 0 or its row the last.
            let last = a.len();
            for _ in 0..a.len() + b.len() {
                for k in 0..N {
                    let (row, column) = (rows[k], columns[k]);
                    let on = row < last && column > 0;
                    let sum = a[row.min(last - 1)] + b[column.saturating_sub(1)];
                    let down = sum <= v[k];
                    counts[k] += if on & down { column as u64 } else { 0 };
                    rows[k] = row + usize::from(on & down);
                    columns[k] = column - usize::from(on & !down);
                }
            }
        }
        counts
    }

    /// Writes the sums above `low` and up to `high` to `out`.
    fn list(&self, low: f64, high: f64, out: &mut Vec<f64>) {
        out.clear();
        let (a, b) = (self.a, self.b);
        let (mut start, mut end) = (b.len(), b.len());
        for (i, &x) in a.iter().enumerate() {
            while end > 0 && x + b[end - 1] > high {
                end -= 1;
            }
            start = start.min(end);
            while start > 0 && x + b[start - 1] > low {
                start -= 1;
            }
            let first = if self.triangle { start.max(i) } else { start };
            if first < end {
                out.extend(b[first..end].iter().map(|&y| x + y));
            }
        }
    }

    /// The smallest sums of three ranks (counting from 1) or, for each, of that
    /// rank and the next. `ranks` must lie in 1..=len.
    pub(crate) fn nth<const T: usize>(
        &self,
        ranks: [(u64, u64); T],
        spare: &mut Vec<f64>,
    ) -> [(f64, f64); T] {
        let (Some(a0), Some(a1), Some(b0), Some(b1)) =
            (self.a.first(), self.a.last(), self.b.first(), self.b.last())
        else {
            return [(f64::NAN, f64::NAN); T];
        };
        let (smallest, largest) = (a0 + b0, a1 + b1);
        let mut brackets = ranks.map(|(first, last)| Bracket {
            first,
            last,
            low: None,
            low_count: 0,
            high: largest,
            high_count: self.len(),
            parted: None,
        });
        let enough = (self.a.len() + self.b.len()) as u64 / 2 + 32;
        let (center, spread) = self.middle();
        let mut round = 0_u32;
        while brackets.iter().any(|b| b.open(smallest, enough)) {
            let tries = brackets.map(|b| {
                b.tries(
                    smallest,
                    enough,
                    round,
                    |rank| {
                        let share = rank as f64 / self.len() as f64 - 0.5;
                        // Near the middle, half of all sums lie within the spread.
                        center + 2.0 * share * spread * 0.93
                    },
                    spread,
                )
            });
            let lower = tries.map(|t| t.0);
            let upper = tries.map(|t| t.1);
            let lower_counts = self.count_up_to(lower);
            let upper_counts = self.count_up_to(upper);
            for (k, bracket) in brackets.iter_mut().enumerate() {
                bracket.narrow(lower[k], lower_counts[k]);
                bracket.narrow(upper[k], upper_counts[k]);
            }
            round += 1;
        }
        brackets.map(|b| {
            if let Some(v) = b.parted {
                return self.around(v);
            }
            if b.one_value(smallest) {
                return (b.high, b.high);
            }
            self.list(b.low.unwrap_or(f64::NEG_INFINITY), b.high, spare);
            let index = (b.first - b.low_count - 1) as usize;
            let (_, nth, above) = spare.select_nth_unstable_by(index, f64::total_cmp);
            let first = *nth;
            let last = if b.last == b.first {
                first
            } else {
                above.iter().copied().fold(f64::INFINITY, f64::min)
            };
            (first, last)
        })
    }

    /// The largest sum up to `v` and the smallest above it.
    fn around(&self, v: f64) -> (f64, f64) {
        let (mut below, mut above) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut column = self.b.len();
        for (row, &x) in self.a.iter().enumerate() {
            let start = if self.triangle { row } else { 0 };
            while column > start && x + self.b[column - 1] > v {
                column -= 1;
            }
            // Left of the diagonal all sums belong to earlier rows.
            let first_above = column.max(start);
            if column > start {
                below = below.max(x + self.b[column - 1]);
            }
            if let Some(y) = self.b.get(first_above) {
                above = above.min(x + y);
            }
        }
        (below, above)
    }

    /// The largest sum below `v` and the smallest above it.
    pub(crate) fn neighbors(&self, v: f64) -> (Option<f64>, Option<f64>) {
        let finite = |sum: f64| sum.is_finite().then_some(sum);
        // No float lies between the next one down and `v`; -0.0 equals 0.0.
        let below = if v == 0.0 {
            -f64::from_bits(1)
        } else {
            v.next_down()
        };
        (finite(self.around(below).0), finite(self.around(v).1))
    }

    /// A guess at the median of the sums, and at the distance between their quartiles.
    fn middle(&self) -> (f64, f64) {
        let quartiles = |v: &[f64]| (v[v.len() / 4], v[v.len() / 2], v[3 * (v.len() / 4)]);
        let ((a1, a2, a3), (b1, b2, b3)) = (quartiles(self.a), quartiles(self.b));
        let (a, b) = (a3 - a1, b3 - b1);
        // Spreads of independent parts add as squares; the larger is taken out, so
        // that nothing overflows.
        let (small, large) = (a.min(b), a.max(b));
        let ratio = if large > 0.0 { small / large } else { 0.0 };
        (a2 + b2, large * (1.0 + ratio * ratio).sqrt())
    }
}

/// The known bounds of a rank: `low_count` sums, fewer than `first`, are at most `low`,
/// and `high_count`, at least `last`, are at most `high`.
#[derive(Debug, Clone, Copy)]
struct Bracket {
    /// The rank, and it or the next.
    first: u64,
    last: u64,
    low: Option<f64>,
    low_count: u64,
    high: f64,
    high_count: u64,
    /// A value with `first` sums up to it, which parts the two ranks.
    parted: Option<f64>,
}

impl Bracket {
    /// Returns true if every sum in the bracket equals `high`.
    fn one_value(&self, smallest: f64) -> bool {
        match self.low {
            // The key below 0.0 belongs to -0.0, which is not a number in between.
            Some(low) => {
                let (low, high) = (key(low), key(self.high));
                low + 1 >= high || low + 2 == high && high == key(0.0)
            }
            None => smallest >= self.high,
        }
    }

    fn open(&self, smallest: f64, enough: u64) -> bool {
        self.parted.is_none()
            && self.high_count - self.low_count > enough
            && !self.one_value(smallest)
    }

    /// The next two values to count up to, both below `high`.
    fn tries(
        &self,
        smallest: f64,
        enough: u64,
        round: u32,
        guess: impl Fn(u64) -> f64,
        spread: f64,
    ) -> (f64, f64) {
        let floor = self.low.unwrap_or(smallest);
        let halfway = value(key(floor).midpoint(key(self.high)));
        // -0.0 and 0.0 are the same number: no value lies between them.
        let halfway = if halfway < self.high { halfway } else { floor };
        let inside = |v: f64| {
            if v >= floor && v < self.high {
                v
            } else {
                halfway
            }
        };
        if round == 0 {
            let middle = guess(self.first);
            return (
                inside(middle - 0.03 * spread),
                inside(middle + 0.03 * spread),
            );
        }
        let inside_count = self.high_count - self.low_count;
        let margin = (inside_count / 24 + enough / 4) as f64;
        let width = self.high - floor;
        let at = |rank: f64| floor + (rank - self.low_count as f64) / inside_count as f64 * width;
        let lower = inside(at(self.first as f64 - margin));
        // Every third round halves the bracket, independent of its shape.
        let upper = if round % 3 == 2 {
            halfway
        } else {
            inside(at(self.last as f64 + margin))
        };
        (lower, upper)
    }

    fn narrow(&mut self, v: f64, count: u64) {
        if count < self.first {
            if self.low.is_none_or(|low| low < v) {
                // As many are at most -0.0 as are at most 0.0.
                self.low = Some(v + 0.0);
                self.low_count = count;
            }
        } else if count >= self.last {
            if v < self.high {
                self.high = v;
                self.high_count = count;
            }
        } else {
            self.parted = Some(v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &[f64], b: &[f64]) {
        let mut spare = Vec::new();
        let mut all: Vec<f64> = a
            .iter()
            .flat_map(|x| b.iter().map(move |y| x + y))
            .collect();
        all.sort_by(f64::total_cmp);
        let sums = Sums::new(a, b);
        assert_eq!(sums.len(), all.len() as u64);
        for (i, expected) in all.iter().enumerate().step_by(7) {
            let rank = i as u64 + 1;
            let next = (rank + 1).min(sums.len());
            let got = sums.nth([(rank, rank), (rank, next)], &mut spare);
            let above = all[next as usize - 1];
            assert_eq!(
                got,
                [(*expected, *expected), (*expected, above)],
                "rank {rank}"
            );
        }
        let mut walsh: Vec<f64> = (0..a.len())
            .flat_map(|i| (i..a.len()).map(move |j| (i, j)))
            .map(|(i, j)| a[i] + a[j])
            .collect();
        walsh.sort_by(f64::total_cmp);
        let sums = Sums::within(a);
        assert_eq!(sums.len(), walsh.len() as u64);
        for (i, expected) in walsh.iter().enumerate().step_by(7) {
            let rank = i as u64 + 1;
            let next = (rank + 1).min(sums.len());
            let got = sums.nth([(rank, rank), (rank, next)], &mut spare);
            let above = walsh[next as usize - 1];
            assert_eq!(
                got,
                [(*expected, *expected), (*expected, above)],
                "rank {rank}"
            );
        }
    }

    #[test]
    fn every_rank_agrees_with_sorting_all_sums() {
        let smooth: Vec<f64> = (0..61).map(|i| f64::from(i * i) * 0.37 - 300.0).collect();
        let ticks: Vec<f64> = (0..70).map(|i| f64::from(i / 9)).collect();
        let scales: Vec<f64> = (-40..40)
            .map(|i| {
                if i < 0 {
                    -libm::exp2(f64::from(-i) * 11.0)
                } else {
                    libm::exp2(f64::from(i) * 11.0)
                }
            })
            .collect();
        let mut scales = scales;
        scales.sort_by(f64::total_cmp);
        let constant = vec![2.5; 64];
        for a in [&smooth, &ticks, &scales, &constant] {
            for b in [&smooth, &ticks, &scales, &constant] {
                check(a, b);
            }
        }
        check(&[1.0], &[2.0]);
    }

    /// -0.0 and 0.0 are two floats but one number.
    #[test]
    fn sums_next_to_zero_come_to_an_end() {
        let least = f64::from_bits(1);
        let of = |counts: [usize; 5]| -> Vec<f64> {
            let values = [-2.0 * least, -least, -0.0, least, 2.0 * least];
            let lists = counts.iter().zip(values);
            lists
                .flat_map(|(count, value)| vec![value; *count])
                .collect()
        };
        let mut lists = Vec::new();
        for first in 0..5 {
            for second in 0..5 {
                for third in 0..5 {
                    let mut counts = [0; 5];
                    for at in [first, second, third] {
                        counts[at] += 20;
                    }
                    lists.push(of(counts));
                    counts[second] += 61;
                    lists.push(of(counts));
                }
            }
        }
        for (at, a) in lists.iter().enumerate() {
            check(a, &lists[(at * 7 + 3) % lists.len()]);
        }
    }
}
