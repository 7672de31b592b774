//! Signs of life of an activity.
//!
//! A stalled worker itself detects that its work was given to another one: it did not beat for as
//! long as Temporal waits. Its measurements since then are discarded.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use pinpoint_core::Ticket;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::messages::Tried;

/// Sends signs of life, with the state for the next worker.
pub(crate) struct Beating {
    ctx: ActivityContext,
    /// The time between two signs of life.
    every: Duration,
    /// The number of consecutive workers that died of this.
    pub(crate) deaths: u32,
    state: Mutex<State>,
}

struct State {
    tried: Tried,
    /// By two clocks: one of them continues while the machine is suspended.
    last: (Instant, SystemTime),
    stalled: bool,
}

impl Beating {
    pub(super) fn start(ctx: ActivityContext) -> Result<Self, ActivityError> {
        let tried = ctx.heartbeat_details().deserialize::<Tried>();
        let tried = tried.map_err(ApplicationFailure::new)?.unwrap_or_default();
        let before = ctx.info().attempt.saturating_sub(1);
        let limit = ctx.info().heartbeat_timeout.unwrap_or(Duration::MAX);
        Ok(Self {
            ctx,
            deaths: before.saturating_sub(tried.ended),
            every: limit / 3,
            state: Mutex::new(State {
                tried,
                last: (Instant::now(), SystemTime::now()),
                stalled: false,
            }),
        })
    }

    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn tried(&self) -> Tried {
        self.with(|state| state.tried.clone())
    }

    /// Records that the work continues elsewhere under this ticket, for the next worker.
    pub(crate) async fn goes_on(&self, ticket: Option<Ticket>) {
        self.with(|state| state.tried.ticket = ticket);
        self.beat().await;
    }

    /// Counts one more failed try, and returns their number.
    pub(crate) fn failed(&self) -> u32 {
        self.with(|state| {
            state.tried.failed += 1;
            state.tried.failed
        })
    }

    /// Records that this machine can't do it; returns the state of all machines.
    pub(crate) fn unable(&self, machine: &str, reason: &str) -> Tried {
        self.with(|state| {
            state.tried.attempts += 1;
            (state.tried.unable).insert(machine.to_owned(), reason.to_owned());
            state.tried.clone()
        })
    }

    /// Records that this try ends without an answer, but its worker survives.
    pub(crate) async fn ends(&self) {
        self.with(|state| state.tried.ended = self.ctx.info().attempt);
        self.beat().await;
    }

    /// The failure after which Temporal retries it.
    pub(crate) fn again_after(wait: Duration, reason: impl ToString) -> ActivityError {
        ApplicationFailure::builder(reason.to_string())
            .next_retry_delay(wait)
            .build()
            .into()
    }

    pub(crate) fn has_stalled(&self) -> bool {
        self.with(|state| {
            let (instant, time) = state.last;
            let since = instant.elapsed().max(time.elapsed().unwrap_or_default());
            // Before Temporal considers the work lost.
            state.stalled |= since > self.every * 2;
            state.last = (Instant::now(), SystemTime::now());
            state.stalled
        })
    }

    async fn beat(&self) {
        // It can always be serialized as JSON.
        let _ = self.ctx.record_heartbeat(self.tried()).await;
    }

    /// Beats for as long as it is polled. Not at once: most activities take long, and the shortest
    /// would otherwise cost the server two calls.
    pub(crate) async fn keep(&self) -> Infallible {
        loop {
            tokio::time::sleep(self.every).await;
            self.has_stalled();
            self.beat().await;
        }
    }
}
