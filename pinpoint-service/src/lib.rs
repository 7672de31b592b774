//! Pinpoint for a team: Chromium's Pinpoint API, and our own with live events, over gRPC, gRPC-Web
//! and REST on one port.
//!
//! [`router`] gives an [`axum::Router`] that a Rust service can mount; the command
//! `pinpoint-service` serves it. Jobs are kept in a [`JobStore`], and carried out by the
//! workers of their bots: this crate makes, shows and ends them. It keeps nothing in memory
//! that another process of the same store would need.
//!
//! Each request passes the same way: the layer of [`router`] identifies the caller, REST becomes a
//! call of gRPC (`rest`), the gate of `grpc` looks the operation up in the table of `operations`,
//! and a method does the work.

#![forbid(unsafe_code)]

mod api;
mod auth;
mod compat;
pub mod config;
mod jobs;
mod pages;
mod router;
mod state;
mod transport;
mod ui;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use pinpoint_backends::store::JobStore;
use pinpoint_core::bots::Bots;
use tokio::sync::watch;
use tonic::Status;
use tonic_health::ServingStatus;
use tonic_web::GrpcWebLayer;
use tower::{ServiceBuilder, ServiceExt};
use tracing::Instrument;

pub use caller::Caller;
pub use commits::Commits;
pub use connections::{Connection, ConnectionGuard, Guarded};
pub use gerrit::{Gerrit, GerritError};
pub use limits::Limits;
pub use metrics::metrics;
pub use operations::{ROLES, Right, rights_of};
pub use sign_in::{ClientCertificate, SignIn, SignInError, form_token};
pub use users::user_name;
pub use watching::Watches;

use caller::Context;
use config::Preset;
use grpc::v2::CursorKey;
use machines::MeasuredJobs;
use operations::Access;
use requests::Arrival;
use sign_in::Sender;

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
    fn gerrit_hosts(&self) -> &[String] {
        self.gerrit
            .as_ref()
            .map_or(&[][..], |gerrit| gerrit.hosts())
    }
}

/// A part of the life of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It answers.
    #[default]
    Serving,
    /// It answers, and says that it is not ready: clients should send nothing more.
    Leaving,
    /// It answers what is under way. Streams end.
    Ending,
}

/// Per-process caches. Losing them costs only time.
#[derive(Debug, Default)]
pub struct Caches {
    cursor_key: CursorKey,
    watches: Watches,
    measured_jobs: MeasuredJobs,
    kept: ui::Kept,
    feeds: ui::Feeds,
}

impl From<Watches> for Caches {
    fn from(watches: Watches) -> Self {
        Self {
            watches,
            ..Self::default()
        }
    }
}

/// The routes of the service: gRPC, gRPC-Web, REST, `/healthz` and `/readyz`. Serve it with
/// `into_make_service_with_connect_info::<SocketAddr>()`, so that the addresses of callers are
/// known.
pub async fn router(service: Service) -> Router {
    let (mut reporter, health) = tonic_health::server::health_reporter();
    reporter
        .set_service_status("", ServingStatus::Serving)
        .await;
    let mut phase = service.phase.clone();
    tokio::spawn(async move {
        // No sender is left where the service never ends.
        if phase.wait_for(|it| *it >= Phase::Leaving).await.is_err() {
            return;
        }
        let not_serving = ServingStatus::NotServing;
        reporter.set_service_status("", not_serving).await;
        let _ = phase.wait_for(|it| *it == Phase::Ending).await;
        // Its watchers have seen it.
        reporter.clear_service_status("").await;
    });
    let limits = service.limits.clone();
    limits.outbox().watch();
    let grpc = grpc::router(&service, health);
    let rest = rest::routes(&service, &grpc)
        .merge(pages::routes(&service))
        .method_not_allowed_fallback(async || rest::Problem::method());
    let methods = ServiceBuilder::new()
        .layer(GrpcWebLayer::new())
        .service(grpc);
    rest.fallback(async move |request: Request| match is_grpc(&request) {
        true => methods.oneshot(request).await.into_response(),
        false => rest::Problem::path(request.uri().path()).into_response(),
    })
    .layer(from_fn_with_state(service.clone(), identify))
    .layer(from_fn_with_state(service.clone(), ui::as_pages))
    .layer(from_fn(ui::compressed))
    .layer(from_fn_with_state(limits.clone(), sending::counted))
    .layer(from_fn_with_state(limits, arriving::counted))
    .layer(from_fn(requests::watch))
}

/// All routes: each with its method, its path, and the right that it needs; no right for public
/// ones.
pub fn operations() -> impl Iterator<Item = (&'static str, &'static str, Option<Right>)> {
    let rest = operations::OPERATIONS.iter().flat_map(|operation| {
        let routes = operation.routes.iter();
        routes.map(|(method, path)| (method, *path, operation.access))
    });
    let pages = pages::all();
    let all = rest.chain(pages.map(|page| (&page.method, page.path, page.access)));
    all.map(|(method, path, access)| (method.as_str(), path, access.right()))
}

/// Identifies the caller, and keeps it with the request. Anonymous requests are passed on, for
/// public operations.
async fn identify(State(service): State<Service>, request: Request, next: Next) -> Response {
    let is_grpc = is_grpc(&request);
    let Some(Arrival { id, from, trace }) = request.extensions().get().cloned() else {
        return refused(is_grpc, grpc::errors::no_context());
    };
    if let Err(status) = from.map_or(Ok(()), |from| service.limits.address(from)) {
        return refused(is_grpc, status);
    }
    let (parts, body) = request.into_parts();
    let is_open = matches!(*service.sign_in, SignIn::Nobody(_));
    if let Err(status) = browsers::check(&parts, is_open) {
        return refused(is_grpc, status);
    }
    let sender = match is_for_all(&parts) {
        true => Ok(Sender::default()),
        false => service.sign_in.sender(&service.store, &parts).await,
    };
    let (sender, failure) = match sender {
        Ok(sender) => (sender, None),
        Err(status) => (Sender::default(), Some(status)),
    };
    let Sender {
        caller,
        session,
        by_token,
    } = sender;
    let user = caller.as_ref().map(|caller| caller.user.clone());
    let span = tracing::info_span!("request", id, user);
    let context = Context {
        caller,
        failure,
        from,
        request: id,
        trace,
        operation: "",
        ask: service.sign_in.ask().map(Into::into),
        form_token: session.as_deref().map(|it| form_token(it).into()),
        by_token,
    };
    if let Some(user) = &user
        && let Err(status) = service.limits.user(user)
    {
        return of_user(refused(is_grpc, status), user, context);
    }
    let mut request = Request::from_parts(parts, body);
    request.extensions_mut().insert(context.clone());
    let answered = async move {
        let request = match session {
            Some(session) => sign_in::check_form(&session, request).await,
            None => Ok(request),
        };
        match request {
            Ok(request) => next.run(request).await,
            Err(refused) => refused,
        }
    };
    let answered = answered.instrument(span);
    let response = match tokio::time::timeout(service.limits.deadline(), answered).await {
        Ok(response) => response,
        Err(_) => refused(
            is_grpc,
            Status::deadline_exceeded("the answer took too long"),
        ),
    };
    match user {
        Some(user) => of_user(response, &user, context),
        None => response,
    }
}

/// Returns true if the answer is the same for everybody. Then the caller is not looked up, so that
/// it comes at once while the store or an identity provider is away.
fn is_for_all(parts: &Parts) -> bool {
    let route = parts.extensions.get::<MatchedPath>();
    let path = route.map_or(parts.uri.path(), MatchedPath::as_str);
    let access = match pages::of_route(path) {
        Some(page) => Some(page.access),
        None => operations::of_rpc(path).map(|operation| operation.access),
    };
    // Signing out needs the user of the session.
    access == Some(Access::Anyone) && path != "/sign-out"
}

/// An answer that tells the outer layers whose request it answers.
fn of_user(mut response: Response, user: &str, context: Context) -> Response {
    let user = requests::User(user.to_owned());
    response.extensions_mut().insert(user);
    response.extensions_mut().insert(context);
    response
}

/// An error, for a client of gRPC in the headers of HTTP.
pub(crate) fn refused(is_grpc: bool, status: Status) -> Response {
    match is_grpc {
        true => status.into_http(),
        false => rest::Problem::from(status).into_response(),
    }
}

pub(crate) fn is_grpc(request: &Request) -> bool {
    let kind = request.headers().get(http::header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}
