//! The marks of jobs that are watched: however many watch, a process asks the store one question
//! at a time, for all of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pinpoint_backends::store::{JobId, JobMark, JobStore};
use tokio::sync::watch;

/// The marks that a process asks for.
#[derive(Debug, Clone)]
pub(crate) struct Marks {
    /// The time between two questions.
    interval: Duration,
    watched: Arc<Mutex<Watched>>,
}

#[derive(Debug, Default)]
struct Watched {
    of: BTreeMap<JobId, watch::Sender<ObservedMark>>,
    /// A task asks for them.
    is_asking: bool,
}

/// The last answer about a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum ObservedMark {
    /// Nothing yet.
    #[default]
    Nothing,
    /// Its mark.
    Marked(JobMark),
    /// It is no longer in the store.
    Gone,
}

impl Marks {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            watched: Arc::default(),
        }
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mark of a job, and each change of it, as long as the receiver lives.
    pub(crate) fn of(&self, store: &JobStore, job: &JobId) -> watch::Receiver<ObservedMark> {
        let mut watched = self.watched();
        let mut seen = watched.of.entry(job.clone()).or_default().subscribe();
        // A mark that another watcher asked for counts.
        seen.mark_changed();
        if !watched.is_asking {
            watched.is_asking = true;
            tokio::spawn(ask(store.clone(), self.clone()));
        }
        seen
    }
}

/// Asks periodically which of the watched jobs have changed, until none is watched.
async fn ask(store: JobStore, marks: Marks) {
    let mut ticks = tokio::time::interval(marks.interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let jobs: Vec<JobId> = {
            let mut watched = marks.watched();
            watched.of.retain(|_, seen| seen.receiver_count() > 0);
            if watched.of.is_empty() {
                watched.is_asking = false;
                return;
            }
            watched.of.keys().cloned().collect()
        };
        let found = match store.jobs().marks(&jobs).await {
            Ok(found) => found,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "the watched jobs can't be looked at");
                continue;
            }
        };
        let mut found: BTreeMap<_, _> = (found.into_iter())
            .map(|mark| (mark.id.clone(), mark))
            .collect();
        let watched = marks.watched();
        for job in jobs {
            let now = found
                .remove(&job)
                .map_or(ObservedMark::Gone, ObservedMark::Marked);
            if let Some(seen) = watched.of.get(&job) {
                seen.send_if_modified(|known| {
                    let is_new = *known != now;
                    *known = now;
                    is_new
                });
            }
        }
    }
}
