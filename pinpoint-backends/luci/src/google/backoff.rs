//! The waits before a request is sent again.

use std::time::Duration;

use pinpoint_core::SplitMix64;

/// Tries and the waits between them: each wait is twice the one before, up to the longest,
/// and a random half of it is left out, so that clients that failed together do not come back
/// together.
///
/// ```
/// use std::time::Duration;
/// use pinpoint_luci::google::Backoff;
///
/// let backoff = Backoff::default();
/// let wait = backoff.wait(3, 7).unwrap();
/// assert!(wait >= Duration::from_secs(4) && wait <= Duration::from_secs(8));
/// assert_eq!(backoff.wait(10, 7), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    /// Repetitions after the first try.
    pub retries: u32,
    /// The wait before the first repetition.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
}

/// Those of the original's pRPC client.
impl Default for Backoff {
    fn default() -> Self {
        Self {
            retries: 10,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
        }
    }
}

impl Backoff {
    /// Each request once.
    pub const NEVER: Self = Self {
        retries: 0,
        first: Duration::ZERO,
        longest: Duration::ZERO,
    };

    /// The wait before repetition number `retry`, from 0 on; `None` when it is not allowed. The
    /// same seed gives the same wait.
    pub fn wait(&self, retry: u32, seed: u64) -> Option<Duration> {
        if retry >= self.retries {
            return None;
        }
        let factor = 1_u32.checked_shl(retry).unwrap_or(u32::MAX);
        let whole = self.first.saturating_mul(factor).min(self.longest);
        let half = u64::try_from((whole / 2).as_nanos()).unwrap_or(u64::MAX - 1);
        let mut random = SplitMix64::new(seed ^ u64::from(retry).rotate_right(8));
        Some(whole - Duration::from_nanos(random.below(half + 1)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let backoff = Backoff::default();
        let bounds: Vec<u64> = (0..10)
            .map(|retry| {
                // The longest of many: close to the whole wait.
                let longest = (0..2_000)
                    .filter_map(|seed| backoff.wait(retry, seed))
                    .max();
                longest.unwrap().as_secs_f64().ceil() as u64
            })
            .collect();
        assert_eq!(bounds, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
    }

    proptest! {
        #[test]
        fn a_wait_is_within_its_bounds_and_repeats(
            retries in 0_u32..100, retry in 0_u32..100, first in 0_u64..1 << 40,
            longest in 0_u64..1 << 40, seed: u64,
        ) {
            let backoff = Backoff {
                retries,
                first: Duration::from_nanos(first),
                longest: Duration::from_nanos(longest),
            };
            match backoff.wait(retry, seed) {
                None => prop_assert!(retry >= retries),
                Some(wait) => {
                    let factor = 1_u64.checked_shl(retry).filter(|_| retry < 23).unwrap_or(1 << 23);
                    let whole = first.saturating_mul(factor).min(longest);
                    prop_assert!(retry < retries);
                    prop_assert!(wait <= backoff.longest);
                    prop_assert!(wait >= Duration::from_nanos(whole / 2));
                    prop_assert_eq!(backoff.wait(retry, seed), Some(wait));
                }
            }
        }
    }
}
