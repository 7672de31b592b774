//! The executor: implements [`pinpoint_core::Executor`] in LUCI.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use pinpoint_core::{
    CombinedCommit, Commit, Executor, ExecutorError, Heartbeat, Key, Located, Report, Request,
    Ticket,
};
use pinpoint_midpoint::MidpointError;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::bots::Bots;
use super::config::LuciConfig;
use super::error::LuciError;
use super::given::{self, build_given};
use super::handle::Handle;
use super::poll::Poll;
use super::profiles::Profiles;
use super::services::LuciServices;
use super::sources::Sources;
use crate::cas::{Cas, CasOptions};
use crate::gitiles::Gitiles;
use crate::google::{TokenSource, Tokens, Transport, Web, scope};

/// Lists, builds and runs the commits of a job in LUCI. It must be used within
/// a `tokio` runtime that has its clock enabled.
pub struct LuciExecutor {
    pub(super) config: LuciConfig,
    pub(super) services: LuciServices,
    pub(super) sources: Sources,
    pub(super) bots: Bots,
    pub(super) poll: Poll,
    /// For a job whose runs are profiled.
    pub(super) profiles: Option<Profiles>,
    /// Held while a replacement for a lost build is looked for and requested.
    pub(super) rebuilding: Mutex<()>,
    pub(super) clock: WallClock,
}

/// The time of day, as `tokio` counts it: it stands still where a test pauses that.
pub(super) struct WallClock {
    began: u64,
    instant: Instant,
}

impl WallClock {
    fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            began: since.map_or(0, |since| since.as_millis() as u64),
            instant: Instant::now(),
        }
    }

    /// Milliseconds since 1970.
    pub(super) fn now(&self) -> u64 {
        self.began + self.instant.elapsed().as_millis() as u64
    }
}

/// The key of an action in tags.
pub(super) fn key_of(key: &Key) -> String {
    format!("{}/{}", key.job, key.action)
}

impl LuciExecutor {
    /// An executor of one job. Sends no request yet.
    ///
    /// # Errors
    ///
    /// When the target cannot be run or profiled, the bucket's name has an unknown form, or an
    /// interval is out of its bounds.
    pub fn new(config: LuciConfig, services: LuciServices) -> Result<Self, LuciError> {
        config.settings.intervals.check()?;
        config.builder()?;
        config.command("", &[])?;
        Ok(Self {
            sources: Sources::new(services.gitiles.clone()),
            poll: Poll::new(config.settings.intervals.tasks()),
            bots: Bots::default(),
            profiles: None,
            rebuilding: Mutex::default(),
            clock: WallClock::new(),
            config,
            services,
        })
    }

    /// An executor of one job, with clients of the services that its settings name. Sends no
    /// request yet.
    ///
    /// # Arguments
    ///
    /// `source` gives the tokens; `cache_dir` keeps the answers of Gitiles.
    ///
    /// # Errors
    ///
    /// When an address is invalid, and as [`new`](Self::new).
    ///
    /// # Panics
    ///
    /// Outside of a runtime of `tokio`.
    pub fn open(
        config: LuciConfig,
        source: &TokenSource,
        cache_dir: &Path,
    ) -> Result<Self, LuciError> {
        let settings = &config.settings;
        let web: Arc<dyn Transport> = Arc::new(Web::new()?);
        let tokens = Tokens::new(source.clone(), &[scope::CLOUD_PLATFORM], web.clone());
        let options = CasOptions::at(&settings.addresses.cas, &settings.cas_instance);
        let services = LuciServices::new(
            &settings.addresses,
            &config.machines.swarming_server,
            source,
            &web,
            cache_dir,
            Arc::new(Cas::new(options, tokens)?),
            None,
        )?;
        Self::new(config, services)
    }

    /// The histories that commits are looked up in.
    pub fn gitiles(&self) -> &Gitiles {
        &self.services.gitiles
    }

    /// The name of a commit, with author, date and subject.
    ///
    /// # Errors
    ///
    /// When the range has no such offset, or the repository no such commit.
    pub async fn resolve(&self, located: &Located) -> Result<CombinedCommit, LuciError> {
        let commit = self.sources.name(located).await?;
        if build_given(&commit).is_some() {
            return Ok(commit);
        }
        Ok(self.sources.described(commit).await?)
    }

    /// A commit of any repository at Gitiles, with author, date and subject.
    ///
    /// # Errors
    ///
    /// When the repository has no such commit.
    pub async fn describe_commit(&self, commit: Commit) -> Result<Commit, LuciError> {
        Ok(self.sources.described(commit.into()).await?.main)
    }

    async fn begin(&self, request: &Request) -> Result<Option<Handle>, LuciError> {
        Ok(Some(match request {
            Request::List(_) => return Ok(None),
            Request::Build(request) => {
                let commit = self.sources.name(&request.commit).await?;
                if build_given(&commit).is_some() {
                    return Ok(None);
                }
                self.start_build(&commit, &key_of(&request.key)).await?
            }
            Request::Run(request) => self.start_run(request).await?,
            Request::RunPair(request) => self.start_pair(request).await?,
            Request::FindMetric(request) if build_given(&request.commit).is_some() => {
                return Ok(None);
            }
            Request::FindMetric(request) => self.start_metric(request).await?,
            _ => {
                return Err(LuciError::Unsupported(
                    "a later version made this request: resume the job with that",
                ));
            }
        }))
    }

    async fn report(
        &self,
        request: &Request,
        handle: Option<Handle>,
        heartbeat: &Heartbeat,
    ) -> Result<Report, LuciError> {
        Ok(match (request, handle) {
            (Request::List(request), _) => Report::Listed(self.sources.list(request).await?),
            (Request::Build(request), Some(handle @ (Handle::Build(id) | Handle::Reused(id)))) => {
                let is_ours = matches!(handle, Handle::Build(_));
                let key = key_of(&request.key);
                let build = self.build_ended(id, &key, heartbeat).await?;
                let commit = self.resolve(&request.commit).await?;
                Report::Built(self.built(&build, commit, !is_ours))
            }
            (Request::Build(request), None) => {
                let commit = self.sources.name(&request.commit).await?;
                let build = build_given(&commit).ok_or(LuciError::Lost)?;
                Report::Built(given::report(&build))
            }
            (Request::Run(request), Some(Handle::Task(id))) => {
                Report::Ran(self.run_ended(request, &id, heartbeat).await?)
            }
            (Request::Run(request), Some(Handle::Rebuild(id))) => {
                Report::Ran(self.rebuilt_run_ended(request, id, heartbeat).await?)
            }
            (Request::RunPair(request), Some(Handle::Pair(first, second))) => {
                let pair = self
                    .pair_ended(request, [&first, &second], heartbeat)
                    .await?;
                Report::RanPair(Box::new(pair))
            }
            (Request::FindMetric(request), Some(Handle::Metric(build))) => {
                let artifact = self.metric_built(request, build, heartbeat).await?;
                Report::Metric(self.metric_found(request, &artifact, heartbeat).await?)
            }
            (Request::FindMetric(request), None) => {
                let build = build_given(&request.commit).ok_or(LuciError::Lost)?;
                Report::Metric(self.metric_found(request, &build, heartbeat).await?)
            }
            _ => return Err(LuciError::Lost),
        })
    }
}

impl From<pinpoint_midpoint::HistoryError> for LuciError {
    fn from(error: pinpoint_midpoint::HistoryError) -> Self {
        Self::Midpoint(MidpointError::History(error))
    }
}

#[async_trait]
impl Executor for LuciExecutor {
    async fn start(&self, request: &Request) -> Result<Ticket, ExecutorError> {
        let key = request.key().clone();
        Ok(match self.begin(request).await? {
            Some(handle) => Ticket::durable(key, handle.to_string()),
            None => Ticket::in_process(key),
        })
    }

    async fn wait(
        &self,
        request: &Request,
        ticket: &Ticket,
        heartbeat: &Heartbeat,
    ) -> Result<Report, ExecutorError> {
        let handle = ticket.handle.as_deref().map(str::parse).transpose()?;
        Ok(self.report(request, handle, heartbeat).await?)
    }

    /// Ends the action's own builds and tasks, and none that belong to others.
    async fn cancel(&self, ticket: &Ticket) -> Result<(), ExecutorError> {
        let key = key_of(&ticket.key);
        let handle = ticket.handle.as_deref().map(str::parse).transpose()?;
        if !matches!(handle, Some(Handle::Build(_) | Handle::Reused(_))) {
            self.cancel_tasks(&key).await?;
        }
        if !matches!(handle, Some(Handle::Task(_) | Handle::Pair(..))) {
            self.cancel_builds(&key).await?;
        }
        Ok(())
    }
}
