//! The common input of both rank tests, from one merge of two samples.

/// Counts taken while merging two sorted samples. All are exact integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pooled {
    /// Size of the first sample.
    pub(crate) n1: usize,
    /// Size of the second sample.
    pub(crate) n2: usize,
    /// Twice the number of pairs with first > second, ties counting half: 2·U1.
    pub(crate) twice_u1: u128,
    /// Σ (t³ - t) over groups of t equal values in the pooled sample.
    pub(crate) ties: u128,
    /// max |F1 - F2| · n1·n2.
    pub(crate) distance: u128,
}

impl Pooled {
    /// Merges two sorted samples.
    pub(crate) fn merge(a: &[u64], b: &[u64]) -> Self {
        let (n1, n2) = (a.len(), b.len());
        if let Some(pooled) = merge_distinct(a, b) {
            return pooled;
        }
        let (step1, step2) = (n2 as i128, n1 as i128);
        let (mut i, mut j) = (0, 0);
        let (mut twice_u2, mut ties, mut gap, mut distance) = (0_u128, 0_u128, 0_i128, 0_u128);
        while i < n1 || j < n2 {
            let v = match (a.get(i), b.get(j)) {
                (Some(&x), Some(&y)) => x.min(y),
                (Some(&x), None) => x,
                (None, Some(&y)) => y,
                (None, None) => break,
            };
            let t1 = a[i..].iter().take_while(|&&x| x == v).count();
            let t2 = b[j..].iter().take_while(|&&y| y == v).count();
            // Each of the t2 values beats the i before it and half of the t1 equal ones.
            twice_u2 += t2 as u128 * (2 * i + t1) as u128;
            let t = (t1 + t2) as u128;
            ties += t * t * t - t;
            i += t1;
            j += t2;
            gap += t1 as i128 * step1 - t2 as i128 * step2;
            distance = distance.max(gap.unsigned_abs());
        }
        let twice_u1 = 2 * n1 as u128 * n2 as u128 - twice_u2;
        Self {
            n1,
            n2,
            twice_u1,
            ties,
            distance,
        }
    }

    /// U of the first sample.
    pub(crate) fn u1(&self) -> f64 {
        self.twice_u1 as f64 / 2.0
    }

    /// n1·n2, the number of pairs.
    pub(crate) fn pairs(&self) -> u128 {
        self.n1 as u128 * self.n2 as u128
    }

    /// The largest distance between the two empirical distribution functions.
    pub(crate) fn d(&self) -> f64 {
        self.distance as f64 / self.pairs() as f64
    }

    /// Standard deviation of U under the null hypothesis, corrected for ties; 0
    /// when all values are equal.
    pub(crate) fn u_deviation(&self) -> f64 {
        let n = (self.n1 + self.n2) as u128;
        let cube = n * n * n - n;
        // n1·n2/12 · ((n+1) - Σ(t³-t)/(n(n-1))) = n1·n2/12 · ((n³-n) - Σ(t³-t)) / (n(n-1))
        let left = (cube - self.ties) as f64;
        (self.pairs() as f64 / 12.0 * (left / (n * (n - 1)) as f64)).sqrt()
    }
}

/// The merge for samples without any equal values, which needs no branches;
/// `None` as soon as two values turn out to be equal.
fn merge_distinct(a: &[u64], b: &[u64]) -> Option<Pooled> {
    let (n1, n2) = (a.len(), b.len());
    // Counts must fit the narrow integers used here.
    if n1 as u128 * n2 as u128 > 1 << 60 {
        return None;
    }
    if has_equal_neighbors(a) || has_equal_neighbors(b) {
        return None;
    }
    let (step1, step2) = (n2 as i64, n1 as i64);
    let (mut i, mut j) = (0, 0);
    let (mut u2, mut gap, mut top, mut bottom) = (0_u64, 0_i64, 0_i64, 0_i64);
    let mut equal = false;
    while i < n1 && j < n2 {
        let (x, y) = (a[i], b[j]);
        equal |= x == y;
        let first = x < y;
        u2 += if first { 0 } else { i as u64 };
        gap += if first { step1 } else { -step2 };
        i += usize::from(first);
        j += usize::from(!first);
        top = top.max(gap);
        bottom = bottom.min(gap);
    }
    if equal {
        return None;
    }
    u2 += (n2 - j) as u64 * n1 as u64;
    let pairs = n1 as u128 * n2 as u128;
    Some(Pooled {
        n1,
        n2,
        twice_u1: 2 * (pairs - u128::from(u2)),
        ties: 0,
        // The rest of one list only brings the gap back to 0.
        distance: top.unsigned_abs().max(bottom.unsigned_abs()).into(),
    })
}

/// Returns true if a sorted list holds a value twice.
pub(crate) fn has_equal_neighbors(keys: &[u64]) -> bool {
    match keys.get(1..) {
        Some(shifted) => keys
            .iter()
            .zip(shifted)
            .fold(false, |equal, (x, y)| equal | (x == y)),
        None => false,
    }
}
