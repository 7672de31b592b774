//! The state that all requests share: the store, the configuration and the caches.

use std::path::PathBuf;
use std::sync::Arc;

use pinpoint_backends::store::JobStore;
use pinpoint_core::bots::Bots;
use tokio::sync::watch;

use crate::api::grpc::v2::CursorKey;
use crate::auth::limits::Limits;
use crate::auth::sign_in::SignIn;
use crate::config::Preset;
use crate::jobs::commits::Commits;
use crate::jobs::gerrit::Gerrit;
use crate::jobs::machines::MeasuredJobs;
use crate::jobs::watching::Watches;
use crate::phase::Phase;
use crate::ui::job::feeds::Feeds;
use crate::ui::job::job_cache::JobCache;

/// The store, the bots and the rest that requests are answered from. Clones share it.
#[derive(Debug, Clone)]
pub struct Service {
    /// The jobs.
    pub store: JobStore,
    /// The bots and benchmarks that requests may name.
    pub bots: Arc<Bots>,
    /// The directory in which jobs that no worker has are ended.
    pub state_dir: PathBuf,
    /// The owner of their leases until then (see [`pinpoint_backends::owner`]).
    pub owner: String,
    /// The ways in which callers say who they are.
    pub sign_in: Arc<SignIn>,
    /// The limits of callers, and their use.
    pub limits: Arc<Limits>,
    /// The phase of the service. Without a sender it serves for good.
    pub phase: watch::Receiver<Phase>,
    /// The mirrors in which commits are looked up that requests name by less than a full hash.
    pub commits: Option<Arc<Commits>>,
    /// The hosts of Gerrit that may be asked for changes.
    pub gerrit: Option<Arc<Gerrit>>,
    /// Arguments that the form of a new job can begin with.
    pub presets: Arc<[Preset]>,
    /// The caches of this process.
    pub caches: Arc<Caches>,
}

impl Service {
    /// The hosts of Gerrit that may be asked; none where there is no Gerrit.
    pub(crate) fn gerrit_hosts(&self) -> &[String] {
        self.gerrit
            .as_ref()
            .map_or(&[][..], |gerrit| gerrit.hosts())
    }
}

/// Per-process caches. Losing them costs only time.
#[derive(Debug, Default)]
pub struct Caches {
    pub(crate) cursor_key: CursorKey,
    pub(crate) watches: Watches,
    pub(crate) measured_jobs: MeasuredJobs,
    pub(crate) kept: JobCache,
    pub(crate) feeds: Feeds,
}

impl From<Watches> for Caches {
    fn from(watches: Watches) -> Self {
        Self {
            watches,
            ..Self::default()
        }
    }
}
