//! `pinpoint-service serve`.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::map_request;
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use pinpoint_backends::local::{Mirrors, Provisions, RepositoryPattern, default_machine_dir};
use pinpoint_backends::store::{JobStore, Patience, SCHEMA_VERSION, version_at, version_in};
use pinpoint_backends::worker::{LEASE, WorkerEvent, WorkerOptions};
use pinpoint_backends::{create_state_dir, give_memory_back, owner, worker};
use pinpoint_core::bots::{Bots, ConfigFile};
use pinpoint_service::config::{Config, Limit, LimitsConfig, Preset};
use pinpoint_service::{
    Commits, ConnectionGuard, Gerrit, Limits, Phase, Service, SignIn, metrics, router,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::Failure;
use crate::tls::{self, Files};

/// The configuration in a file.
pub(crate) fn config(path: &Path) -> Result<Config, Failure> {
    Ok(Config::read(&text(path)?).map_err(|error| named(path, error))?)
}

/// The store of a configuration.
pub(crate) async fn store(config: &Config) -> Result<JobStore, Failure> {
    store_with(config, Patience::default()).await
}

async fn store_with(config: &Config, patience: Patience) -> Result<JobStore, Failure> {
    create_state_dir(&config.state_dir).map_err(|error| named(&config.state_dir, error))?;
    Ok(match &config.store {
        Some(url) => JobStore::connect_with(url, patience).await?,
        None => JobStore::open(&config.state_dir).await?,
    })
}

/// The patience of requests with a database that is away: a client waits for the answer, and can
/// ask again.
fn patience_of_requests() -> Patience {
    Patience {
        connect: Duration::from_secs(2),
        retry: Duration::from_secs(5),
        ..Patience::default()
    }
}

pub(crate) async fn run(config: Config, check: bool) -> Result<(), Failure> {
    let bots = Arc::new(bots(&config.bots)?);
    for bot in config.worker.iter().flat_map(|worker| &worker.bots) {
        bots.get(bot)?;
    }
    for preset in &config.presets {
        bots.get(&preset.bot)?;
        if !bots.benchmarks().contains_key(&preset.benchmark) {
            let Preset {
                name, benchmark, ..
            } = preset;
            return Err(format!("preset `{name}`: there is no benchmark `{benchmark}`").into());
        }
    }
    let tls = match Files::from_config(&config) {
        Some(files) => Some((files.read()?, files)),
        None => None,
    };
    let user = whoami::username().unwrap_or_else(|_| "nobody".into());
    let sign_in = SignIn::new(&config.sign_in, &user)?;
    if check {
        return checked(&config).await;
    }
    let ending = ending()?;
    let (tell, phase) = watch::channel(Phase::Serving);
    let commits = config.commits.as_ref().map(|commits| {
        let allowed = commits.allow_repositories.clone();
        let mirrors = mirrors(&config, allowed)?;
        let commits = Commits::new(mirrors, commits.main_repository.clone());
        Ok::<_, Failure>(Arc::new(commits))
    });
    let limits = within_open_files(config.limits.clone());
    let host = whoami::hostname().unwrap_or_else(|_| "localhost".into());
    let service = Service {
        store: store_with(&config, patience_of_requests()).await?,
        bots: bots.clone(),
        owner: owner(&config.state_dir, &host).map_err(|error| named(&config.state_dir, error))?,
        state_dir: config.state_dir.clone(),
        sign_in: Arc::new(sign_in),
        limits: Arc::new(Limits::new(limits)),
        phase,
        commits: commits.transpose()?,
        gerrit: match &config.gerrit_hosts[..] {
            [] => None,
            hosts => Some(Arc::new(Gerrit::new(hosts.to_vec())?)),
        },
        presets: config.presets.as_slice().into(),
        caches: Arc::default(),
    };
    tokio::spawn(give_back());
    // A process takes jobs only if it can also be asked for them.
    let listener = bind(config.listen)?;
    let measured = match config.metrics {
        Some(address) => Some(bind(address)?),
        None => None,
    };
    crate::say(&format!(
        "listening on {}://{}",
        if tls.is_some() { "https" } else { "http" },
        listener.local_addr()?
    ));
    if let Some(listener) = measured {
        crate::say(&format!(
            "metrics at http://{}/metrics",
            listener.local_addr()?
        ));
        let server = axum_server::from_tcp(listener)?;
        // Until the process ends.
        tokio::spawn(server.serve(metrics().into_make_service()));
    }
    let Some(worker) = &config.worker else {
        return serve(&config, listener, service, tls, tell, ending).await;
    };
    let options = options(&config, worker, &host)?;
    // Work under way outlasts a database that is away for a while.
    let patient = store(&config).await?;
    let mut worker = tokio::spawn(work(patient, options, ending.clone()));
    let serving = serve(&config, listener, service, tls, tell, ending);
    tokio::pin!(serving);
    tokio::select! {
        // Without its worker, the service would accept jobs that nobody carries out.
        worked = &mut worker => {
            worked??;
            serving.await
        }
        served = &mut serving => {
            served?;
            // Its run may take longer than the requests.
            Ok(worker.await??)
        }
    }
}

/// The time between two attempts to free memory.
const GIVE_BACK: Duration = Duration::from_secs(30);

/// Gives the memory that requests no longer need back to the system.
async fn give_back() {
    loop {
        tokio::time::sleep(GIVE_BACK).await;
        // The next attempt will do.
        let _ = tokio::task::spawn_blocking(give_memory_back).await;
    }
}

/// Rejects a configuration that can't be used. The store stays as it is: processes of the version
/// before may still use it.
async fn checked(config: &Config) -> Result<(), Failure> {
    let found = match &config.store {
        Some(url) => version_at(url).await?,
        None => version_in(&config.state_dir).await?,
    };
    crate::say(&match found {
        Some(SCHEMA_VERSION) => "the configuration can be used".to_owned(),
        Some(found) => format!(
            "the configuration can be used; `serve` brings its store from version {found} to \
             {SCHEMA_VERSION}, which programs that support at most {found} can no longer open"
        ),
        None => "the configuration can be used; `serve` makes its store".to_owned(),
    });
    Ok(())
}

fn bind(address: SocketAddr) -> Result<TcpListener, Unbound> {
    TcpListener::bind(address).map_err(|source| Unbound { address, source })
}

async fn serve(
    config: &Config,
    listener: TcpListener,
    service: Service,
    tls: Option<(RustlsConfig, Files)>,
    tell: watch::Sender<Phase>,
    mut ending: watch::Receiver<bool>,
) -> Result<(), Failure> {
    let guard = ConnectionGuard::new(service.limits.clone());
    let routes = router(service)
        .await
        .layer(map_request(tls::tell))
        .into_make_service_with_connect_info::<SocketAddr>();
    let handle = Handle::new();
    let (notice, drain) = (config.notice, config.drain);
    tokio::spawn({
        let handle = handle.clone();
        async move {
            // The sender is gone once the process ends.
            let _ = ending.wait_for(|ending| *ending).await;
            tell.send_replace(Phase::Leaving);
            tokio::time::sleep(notice).await;
            tell.send_replace(Phase::Ending);
            handle.graceful_shutdown(Some(drain));
        }
    });
    match tls {
        Some((tls, files)) => {
            tokio::spawn(files.reread(tls.clone()));
            let server = axum_server::from_tcp_rustls(listener, tls)?;
            let server = guard.server(server).map(|tls| tls.acceptor(guard));
            server.handle(handle).serve(routes).await?;
        }
        None => {
            let server = guard.server(axum_server::from_tcp(listener)?);
            server.acceptor(guard).handle(handle).serve(routes).await?;
        }
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
#[error(
    "can't listen on {address}: {source}; choose another `listen`, or end the program that uses it"
)]
struct Unbound {
    address: SocketAddr,
    source: std::io::Error,
}

#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", .path.display())]
pub(crate) struct PathError {
    path: PathBuf,
    source: Failure,
}

pub(crate) fn named(path: &Path, source: impl Into<Failure>) -> PathError {
    PathError {
        path: path.to_owned(),
        source: source.into(),
    }
}

fn text(path: &Path) -> Result<String, PathError> {
    std::fs::read_to_string(path).map_err(|error| named(path, error))
}

fn bots(files: &[PathBuf]) -> Result<Bots, Failure> {
    let read = files
        .iter()
        .map(|path| Ok((path.display().to_string(), text(path)?)));
    let read = read.collect::<Result<Vec<_>, PathError>>()?;
    let files: Vec<_> = read
        .iter()
        .map(|(name, text)| ConfigFile { name, text })
        .collect();
    Ok(Bots::read(&files)?)
}

/// Files that are open, without connections.
const OTHER_FILES: u64 = 256;

/// The limits, with connections reduced to the number of files that may be open: a service that
/// can't open one more accepts nobody. The number is raised as needed, and no further, since
/// benchmarks of a worker in this process inherit it.
fn within_open_files(limits: LimitsConfig) -> LimitsConfig {
    let open = getrlimit(Resource::Nofile);
    let wanted = limits.connections.get().map_or(u32::MAX, NonZeroU32::get);
    let needed = u64::from(wanted) + OTHER_FILES;
    let possible = open.maximum.map_or(needed, |maximum| maximum.min(needed));
    let mut current = open.current.unwrap_or(u64::MAX);
    let raised = Rlimit {
        current: Some(possible),
        maximum: open.maximum,
    };
    if current < possible && setrlimit(Resource::Nofile, raised).is_ok() {
        current = possible;
    }
    let most = current.saturating_sub(OTHER_FILES).max(OTHER_FILES);
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    LimitsConfig {
        connections: Limit::new(most.min(wanted)),
        ..limits
    }
}

/// The time after the first signal in which others are the same.
const SAME_SIGNAL: Duration = Duration::from_secs(1);

/// True once a signal has come that ends the process: Ctrl-C, or `kill`.
fn ending() -> Result<watch::Receiver<bool>, Failure> {
    let (tell, ending) = watch::channel(false);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tell.send_replace(true);
        // A signal right after it is the same: `timeout` sends it to the process and to its group.
        let mut is_same = pin!(tokio::time::sleep(SAME_SIGNAL));
        loop {
            tokio::select! {
                biased;
                () = &mut is_same => break,
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(130);
    });
    Ok(ending)
}

fn mirrors(config: &Config, allowed: Vec<RepositoryPattern>) -> Result<Mirrors, Failure> {
    let (state_dir, machine_dir) = (&config.state_dir, default_machine_dir());
    Ok(Mirrors::open(state_dir, &machine_dir, Vec::new(), allowed)?)
}

fn options(
    config: &Config,
    worker: &pinpoint_service::config::Worker,
    host: &str,
) -> Result<WorkerOptions, Failure> {
    let mirrors = mirrors(config, worker.allow_repositories.clone())?;
    Ok(WorkerOptions {
        bots: worker.bots.clone(),
        trusted: None,
        machine: host.to_owned(),
        state_dir: config.state_dir.clone(),
        build_jobs: None,
        drain: config.drain,
        lease: LEASE,
        diagnose: true,
        provisions: Provisions {
            mirrors: Some(mirrors),
            build_store: None,
        },
    })
}

async fn work(
    store: JobStore,
    options: WorkerOptions,
    mut ending: watch::Receiver<bool>,
) -> Result<(), worker::WorkerError> {
    let interrupted = async move {
        let _ = ending.wait_for(|ending| *ending).await;
    };
    let tell = |event: WorkerEvent<'_>| match event {
        WorkerEvent::Took(job) => tracing::info!(job = %job.id, "a job begins"),
        WorkerEvent::Ended(job, Ok(_)) => tracing::info!(%job, "a job has ended"),
        WorkerEvent::Ended(job, Err(error)) => tracing::warn!(%job, %error, "a job was left"),
        WorkerEvent::NotTaken(error) => tracing::warn!(%error, "a job can't be taken"),
        _ => {}
    };
    worker::serve(&store, &options, interrupted, tell).await
}
