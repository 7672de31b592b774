//! Signs of life of an activity.
//!
//! A worker that was stalled knows by itself that its work was given to another one: it did
//! not beat for as long as Temporal waits. What it measured meanwhile is thrown away.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use pinpoint_core::Ticket;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::messages::Tried;

/// Signs of life, and what the next worker has to know.
pub(crate) struct Beating {
    ctx: ActivityContext,
    /// The time between two of them.
    every: Duration,
    /// Workers that died over this, one after the other.
    pub(crate) deaths: u32,
    state: Mutex<State>,
}

struct State {
    tried: Tried,
    /// By two clocks: one of them goes on while the machine is suspended.
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

    /// The work goes on elsewhere under this ticket: the next worker has to know.
    pub(crate) async fn goes_on(&self, ticket: Option<Ticket>) {
        self.with(|state| state.tried.ticket = ticket);
        self.beat().await;
    }

    /// One more try has failed: how many have.
    pub(crate) fn failed(&self) -> u32 {
        self.with(|state| {
            state.tried.failed += 1;
            state.tried.failed
        })
    }

    /// This machine can't do it: what is known of all of them.
    pub(crate) fn unable(&self, machine: &str, reason: &str) -> Tried {
        self.with(|state| {
            state.tried.attempts += 1;
            (state.tried.unable).insert(machine.to_owned(), reason.to_owned());
            state.tried.clone()
        })
    }

    /// This try ends without an answer, and its worker goes on.
    pub(crate) async fn ends(&self) {
        self.with(|state| state.tried.ended = self.ctx.info().attempt);
        self.beat().await;
    }

    /// The failure after which Temporal has it tried again.
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
            // Before Temporal counts the work as lost.
            state.stalled |= since > self.every * 2;
            state.last = (Instant::now(), SystemTime::now());
            state.stalled
        })
    }

    async fn beat(&self) {
        // It can always be written as JSON.
        let _ = self.ctx.record_heartbeat(self.tried()).await;
    }

    /// Beats for as long as it is polled. Not at once: most of what is done takes long, and
    /// what takes moments would take twice as many of the server.
    pub(crate) async fn keep(&self) -> Infallible {
        loop {
            tokio::time::sleep(self.every).await;
            self.has_stalled();
            self.beat().await;
        }
    }
}
