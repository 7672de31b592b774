//! Bounds the number of requests under way, and their rate.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

/// The bounds of a service.
#[derive(Debug)]
pub struct Pace {
    at_once: Semaphore,
    /// The time from the start of one request to that of the next.
    interval: Duration,
    /// The time at which the next one may start.
    next: Mutex<Option<Instant>>,
}

impl Pace {
    /// At most `at_once` requests under way, and `per_second` of them started in a second; any
    /// number when absent. Zero counts as one.
    pub fn new(at_once: usize, per_second: Option<u32>) -> Self {
        let interval = |per_second: u32| Duration::from_secs(1) / per_second.max(1);
        Self {
            at_once: Semaphore::new(at_once.max(1)),
            interval: per_second.map_or(Duration::ZERO, interval),
            next: Mutex::new(None),
        }
    }

    /// Waits for the turn of a request. It is under way until the answer is dropped.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        let permit = self.at_once.acquire().await.ok();
        if !self.interval.is_zero() {
            sleep_until(self.reserve()).await;
        }
        permit
    }

    fn reserve(&self) -> Instant {
        let mut next = match self.next.lock() {
            Ok(next) => next,
            Err(poisoned) => poisoned.into_inner(),
        };
        let turn = next.unwrap_or_else(Instant::now).max(Instant::now());
        *next = Some(turn + self.interval);
        turn
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_follow_each_other_at_the_interval() {
        let pace = Pace::new(40, Some(4));
        let began = Instant::now();
        let turns = join_all((0..9).map(|_| async {
            let _turn = pace.turn().await;
            began.elapsed().as_millis()
        }));
        let expected: Vec<u128> = (0..9).map(|turn| turn * 250).collect();
        assert_eq!(turns.await, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_the_bound_are_under_way() {
        let pace = Pace::new(2, None);
        let began = Instant::now();
        let ends = join_all((0..6).map(|_| async {
            let _turn = pace.turn().await;
            tokio::time::sleep(Duration::from_secs(10)).await;
            began.elapsed().as_secs()
        }));
        assert_eq!(ends.await, [10, 10, 20, 20, 30, 30]);
    }
}
