//! Signs of life of an activity.
//!
//! A worker that was stalled knows by itself that its work was given to another one: it did
//! not beat for as long as Temporal waits. What it measured meanwhile is thrown away.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use pinpoint_core::{ExecutorError, Ticket};
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::failures::again;
use super::messages::Tried;

/// The time between two signs of life.
pub(crate) const BEAT: Duration = Duration::from_secs(10);

/// A worker that did not beat for this long counts its work as lost, before Temporal does.
const STALLED: Duration = Duration::from_secs(20);

/// Signs of life, and what the next worker has to know.
pub(crate) struct Beating {
    ctx: ActivityContext,
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
        let tried = tried.map_err(ApplicationFailure::new)?;
        Ok(Self {
            ctx,
            state: Mutex::new(State {
                tried: tried.unwrap_or_default(),
                last: (Instant::now(), SystemTime::now()),
                stalled: false,
            }),
        })
    }

    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Workers that died over this.
    pub(crate) fn deaths(&self) -> u32 {
        let Tried { failed, let_go, .. } = self.tried();
        self.ctx.info().attempt.saturating_sub(1 + failed + let_go)
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

    /// The worker has to end: the next one tries it again.
    pub(super) async fn let_go(&self) -> ActivityError {
        self.with(|state| state.tried.let_go += 1);
        self.beat().await;
        again("the worker was stopped")
    }

    /// The failure after which Temporal has it tried again.
    pub(crate) async fn again_after(&self, wait: Duration, error: &ExecutorError) -> ActivityError {
        self.beat().await;
        ApplicationFailure::builder(error.to_string())
            .next_retry_delay(wait)
            .build()
            .into()
    }

    pub(crate) fn has_stalled(&self) -> bool {
        self.with(|state| {
            let (instant, time) = state.last;
            let since = instant.elapsed().max(time.elapsed().unwrap_or_default());
            state.stalled |= since > STALLED;
            state.last = (Instant::now(), SystemTime::now());
            state.stalled
        })
    }

    async fn beat(&self) {
        // It can always be written as JSON.
        let _ = self.ctx.record_heartbeat(self.tried()).await;
    }

    /// Beats for as long as it is polled.
    pub(crate) async fn keep(&self) -> Infallible {
        loop {
            self.has_stalled();
            self.beat().await;
            tokio::time::sleep(BEAT).await;
        }
    }
}
