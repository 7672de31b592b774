//! Many traces at one commit: was there a change in any, and in which?

use super::error::StepError;

fn check(p_values: &[f64]) -> Result<(), StepError> {
    let bad = p_values.iter().enumerate();
    match bad.into_iter().find(|(_, p)| !(0.0..=1.0).contains(*p)) {
        Some((index, &value)) => Err(crate::error::CompareError::NotAProbability {
            argument: "p_values",
            index,
            value,
        }
        .into()),
        None => Ok(()),
    }
}

/// Tukey's higher criticism (Donoho, Jin 2004): the largest of √n·(i/n − p)/√(p(1−p)) over the
/// smaller half of the sorted p-values, without those below 1/n, which are too rare to be normal.
///
/// Large when more p-values are small than chance gives, be it a few very small ones or many that
/// are a little small. 0 without p-values. What is large depends on how the traces hang together:
/// see [`CommitTest`].
///
/// # Errors
///
/// [`CompareError::NotAProbability`](crate::CompareError::NotAProbability).
pub fn higher_criticism(p_values: &[f64]) -> Result<f64, StepError> {
    check(p_values)?;
    let mut sorted = p_values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let half = sorted.len().div_ceil(2);
    let scores = sorted[..half].iter().enumerate().map(|(i, &p)| {
        let p = p.max(1.0 / n);
        if p >= 1.0 {
            0.0
        } else {
            n.sqrt() * ((i + 1) as f64 / n - p) / (p * (1.0 - p)).sqrt()
        }
    });
    Ok(scores.fold(0.0, f64::max))
}

/// A test of commits that is calibrated on commits without a change.
///
/// Traces of one machine move together on its bad days, so that higher criticism has no threshold
/// that holds everywhere. Here it is compared with that of quiet commits of the same traces: under
/// exchangeable commits, the p-value is valid whatever the dependence between traces.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitTest {
    quiet: Vec<f64>,
}

impl CommitTest {
    /// A test from the p-values of all traces at each quiet commit.
    ///
    /// # Errors
    ///
    /// Those of [`higher_criticism`]; [`StepError::TooShort`] without a quiet commit.
    pub fn new<T: AsRef<[f64]>>(quiet: &[T]) -> Result<Self, StepError> {
        if quiet.is_empty() {
            return Err(StepError::TooShort {
                argument: "quiet",
                found: 0,
                needed: 1,
            });
        }
        let scores = quiet.iter().map(|it| higher_criticism(it.as_ref()));
        let mut quiet = scores.collect::<Result<Vec<_>, _>>()?;
        quiet.sort_unstable_by(f64::total_cmp);
        Ok(Self { quiet })
    }

    /// The p-value of a commit: (1 + quiet ones at least as extreme) / (1 + quiet ones).
    ///
    /// # Errors
    ///
    /// Those of [`higher_criticism`].
    pub fn p_value(&self, p_values: &[f64]) -> Result<f64, StepError> {
        let score = higher_criticism(p_values)?;
        let below = self.quiet.partition_point(|&it| it < score);
        let n = self.quiet.len();
        Ok((1 + n - below) as f64 / (1 + n) as f64)
    }
}

/// The traces that a commit moved, by their e-values: e-BH (Wang, Ramdas 2022; Xu, Fischer, Ramdas,
/// arXiv 2501.04130). The expected share of false ones is at most `level` under any dependence
/// between the traces. Returns their indices in order.
///
/// The k largest e-values are taken, for the largest k whose smallest one is at least
/// n/(level·k).
///
/// # Errors
///
/// [`StepError::NotFinite`] for NaN, [`StepError::OutOfRange`] for a negative e-value or a level
/// that is not between 0 and 1. An infinite e-value is certain.
pub fn e_bh(e_values: &[f64], level: f64) -> Result<Vec<usize>, StepError> {
    let bad = |argument, value, most| StepError::OutOfRange {
        argument,
        value,
        least: 0.0,
        most,
    };
    if !(level > 0.0 && level < 1.0) {
        return Err(bad("level", level, 1.0));
    }
    if let Some((index, &value)) = e_values.iter().enumerate().find(|(_, e)| e.is_nan()) {
        return Err(StepError::NotFinite {
            argument: "e_values",
            index,
            value,
        });
    }
    if let Some(&value) = e_values.iter().find(|e| **e < 0.0) {
        return Err(bad("e_values", value, f64::INFINITY));
    }
    let mut order: Vec<usize> = (0..e_values.len()).collect();
    order.sort_by(|&a, &b| e_values[b].total_cmp(&e_values[a]));
    let n = e_values.len() as f64;
    let holds = |k: usize| e_values[order[k - 1]] * level * k as f64 >= n;
    let most = (1..=order.len()).rev().find(|&k| holds(k)).unwrap_or(0);
    order.truncate(most);
    order.sort_unstable();
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_e_values_are_kept() {
        let e = [1.0, 100.0, 0.5, 50.0, 30.0, 2.0];
        // n/(level·k): 60, 30, 20, 15, …
        assert_eq!(e_bh(&e, 0.1).unwrap(), [1, 3, 4]);
        assert_eq!(e_bh(&e, 0.01).unwrap(), []);
        assert_eq!(e_bh(&[], 0.1).unwrap(), []);
        assert_eq!(e_bh(&[f64::INFINITY, 1.0], 0.1).unwrap(), [0]);
        assert!(e_bh(&[f64::NAN], 0.1).is_err());
        assert!(e_bh(&[-1.0], 0.1).is_err());
        assert!(e_bh(&[1.0], 1.0).is_err());
    }

    #[test]
    fn many_small_p_values_are_more_than_chance() {
        let even: Vec<f64> = (1..=1000).map(|i| f64::from(i) / 1001.0).collect();
        let mut moved = even.clone();
        for p in moved.iter_mut().step_by(20) {
            *p *= 0.05;
        }
        let (quiet, loud) = (higher_criticism(&even), higher_criticism(&moved));
        assert!(quiet.unwrap() < 1.0 && loud.unwrap() > 4.0);
        assert_eq!(higher_criticism(&[]).unwrap(), 0.0);
        assert!(higher_criticism(&[0.0, 1.0, 1.5]).is_err());
        let test = CommitTest::new(&vec![even.clone(); 49]).unwrap();
        assert_eq!(test.p_value(&moved).unwrap(), 0.02);
        assert_eq!(test.p_value(&even).unwrap(), 1.0);
        assert!(CommitTest::new::<Vec<f64>>(&[]).is_err());
    }
}
