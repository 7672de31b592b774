//! A worker's entry in the store.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tokio::sync::Notify;

use super::{WorkerError, WorkerOptions};
use crate::local::{Host, check_machine_dir};
use crate::owner;
use crate::store::{Announcement, JobId, JobLock, JobStore, LockError, StoreError};

/// The time between two signs of life.
const BEAT: Duration = Duration::from_secs(10);

/// The time after which a worker without a sign of life counts as gone.
const GONE: Duration = Duration::from_secs(35);

/// The least time between two announcements.
const SHORTEST: Duration = Duration::from_secs(1);

/// A place among the workers that share a state directory.
pub(crate) struct WorkerSlot {
    /// The owner of all leases of the state directory.
    pub(crate) owner: String,
    /// Starts at 1.
    number: u32,
    _lock: JobLock,
}

impl WorkerSlot {
    /// Takes the first free place, on a machine whose locks can be used.
    pub(crate) fn take(options: &WorkerOptions) -> Result<Self, WorkerError> {
        check_machine_dir()?;
        let state_dir = &options.state_dir;
        let unusable = |source| WorkerError::StateDir {
            path: state_dir.clone(),
            source,
        };
        let owner = owner(state_dir, &options.machine).map_err(unusable)?;
        let mut number = 1;
        loop {
            let directory = state_dir.join("workers").join(number.to_string());
            std::fs::create_dir_all(&directory).map_err(unusable)?;
            match JobLock::acquire(&directory) {
                Ok(lock) => {
                    return Ok(Self {
                        owner,
                        number,
                        _lock: lock,
                    });
                }
                Err(LockError::Held { .. }) => number += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Announces a worker and its current job to the store.
pub(crate) struct Presence<'a> {
    store: &'a JobStore,
    announcement: Mutex<Announcement>,
    /// Notified when its job differs from the announced one.
    changed: Notify,
}

impl<'a> Presence<'a> {
    pub(crate) fn new(store: &'a JobStore, place: &WorkerSlot, options: &WorkerOptions) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let started = since.unwrap_or_default().as_millis();
        Self {
            store,
            announcement: Mutex::new(Announcement {
                id: format!("{} {}", place.owner, place.number),
                name: match place.number {
                    1 => options.machine.clone(),
                    number => format!("{}.{number}", options.machine),
                },
                machine: options.machine.clone(),
                bots: options.bots.clone(),
                trusted: options.trusted.clone(),
                host: json!(Host::now()),
                started: i64::try_from(started).unwrap_or(i64::MAX),
                job: None,
                activity: String::new(),
            }),
            changed: Notify::new(),
        }
    }

    pub(crate) fn announcement(&self) -> Announcement {
        self.change(|announcement| announcement.clone())
    }

    pub(crate) fn works_on(&self, job: Option<&JobId>) {
        self.change(|announcement| {
            announcement.job = job.cloned();
            announcement.activity.clear();
        });
        self.changed.notify_one();
    }

    pub(crate) fn does(&self, activity: &str) {
        self.change(|announcement| activity.clone_into(&mut announcement.activity));
        self.changed.notify_one();
    }

    pub(crate) async fn announce(&self) -> Result<(), StoreError> {
        self.store
            .workers()
            .announce(&self.announcement(), GONE)
            .await
    }

    /// Announces the worker for as long as it is polled. A store that does not answer gets the next
    /// announcement.
    pub(crate) async fn keep(&self) -> Infallible {
        loop {
            tokio::time::sleep(SHORTEST).await;
            let _ = tokio::time::timeout(BEAT - SHORTEST, self.changed.notified()).await;
            let _ = self.announce().await;
        }
    }

    /// Announces that the worker is gone.
    pub(crate) async fn end(&self) {
        let ended = self.announcement();
        // If this fails, its time expires.
        let _ = self.store.workers().announce(&ended, Duration::ZERO).await;
    }

    fn change<T>(&self, change: impl FnOnce(&mut Announcement) -> T) -> T {
        change(
            &mut self
                .announcement
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}
