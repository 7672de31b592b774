//! Pinpoint for a team: Chromium's Pinpoint API over gRPC, gRPC-Web and REST on one port.
//!
//! [`router`] gives an [`axum::Router`] that a Rust service can mount; the command
//! `pinpoint-service` serves it. Jobs are kept in a [`JobStore`], and carried out by the
//! workers of their bots: this crate makes, shows and ends them. It keeps nothing in memory
//! that another process of the same store would need.
//!
//! Each request passes the same way: the layer of [`router`] finds out who calls, REST
//! becomes a call of gRPC (`rest`), the gate of `grpc` looks the operation up in the table of
//! `operations`, and a method does the work.

#![forbid(unsafe_code)]

mod browsers;
mod caller;
pub mod config;
mod descriptors;
mod grpc;
mod limits;
mod operations;
mod pages;
mod rest;
mod sign_in;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use pinpoint_backends::store::JobStore;
use pinpoint_core::bots::Bots;
use tonic::Status;
use tonic_web::GrpcWebLayer;
use tower::{ServiceBuilder, ServiceExt};
use tracing::Instrument;
use uuid::Uuid;

pub use caller::Caller;
pub use operations::{ROLES, Right, rights_of};
pub use sign_in::SignIn;

use caller::Context;

/// The store, the bots and the rest that requests are answered from. Clones share it.
#[derive(Debug, Clone)]
pub struct Service {
    /// The jobs.
    pub store: JobStore,
    /// The bots and benchmarks that requests may name.
    pub bots: Arc<Bots>,
    /// The directory in which jobs that no worker has are ended.
    pub state_dir: PathBuf,
    /// The owner of their leases meanwhile (see [`pinpoint_backends::owner`]).
    pub owner: String,
    /// The ways in which callers say who they are.
    pub sign_in: Arc<SignIn>,
}

/// The routes of the service: gRPC, gRPC-Web, REST, `/healthz` and `/readyz`. Serve it with
/// `into_make_service_with_connect_info::<SocketAddr>()`, so that the addresses of callers are
/// known.
pub async fn router(service: Service) -> Router {
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter
        .set_service_status("", tonic_health::ServingStatus::Serving)
        .await;
    let grpc = grpc::router(&service, health);
    let rest = rest::routes(&grpc)
        .merge(pages::routes(&service))
        .method_not_allowed_fallback(async || rest::Problem::method());
    let methods = ServiceBuilder::new()
        .layer(GrpcWebLayer::new())
        .service(grpc);
    rest.fallback(async move |request: Request| match is_grpc(&request) {
        true => methods.oneshot(request).await.into_response(),
        false => rest::Problem::path(request.uri().path()).into_response(),
    })
    .layer(from_fn_with_state(service, identify))
}

/// All routes: each with its method, its path, and the right that it needs; nothing where
/// everybody may ask.
pub fn operations() -> impl Iterator<Item = (&'static str, &'static str, Option<Right>)> {
    let rest = operations::OPERATIONS.iter().flat_map(|operation| {
        let routes = operation.routes.iter();
        routes.map(|(method, path)| (method, *path, operation.access))
    });
    let pages = pages::PAGES.iter();
    let all = rest.chain(pages.map(|page| (&page.method, page.path, page.access)));
    all.map(|(method, path, access)| (method.as_str(), path, access.right()))
}

/// Finds out who calls, and keeps it with the request.
async fn identify(State(service): State<Service>, request: Request, next: Next) -> Response {
    let peer = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map(|peer| peer.0.ip().to_canonical());
    let (parts, body) = request.into_parts();
    let is_open = matches!(*service.sign_in, SignIn::Nobody(_));
    let caller = match browsers::check(&parts, is_open) {
        Ok(()) => service.sign_in.caller(&service.store, &parts.headers).await,
        Err(refused) => Err(refused),
    };
    let mut request = Request::from_parts(parts, body);
    let is_grpc = is_grpc(&request);
    match caller {
        Ok(caller) => {
            let id = Uuid::now_v7().to_string();
            let span = tracing::info_span!(
                "request",
                id,
                from = peer.map(tracing::field::display),
                user = caller.as_ref().map(|caller| &*caller.user),
                path = request.uri().path(),
            );
            request.extensions_mut().insert(Context {
                caller,
                from: peer,
                request: id,
                operation: "",
            });
            let answered = next.run(request).instrument(span);
            match tokio::time::timeout(limits::DEADLINE, answered).await {
                Ok(response) => response,
                Err(_) => refused(
                    is_grpc,
                    Status::deadline_exceeded("the answer took too long"),
                ),
            }
        }
        Err(status) => refused(is_grpc, status),
    }
}

/// An error, for a client of gRPC in the headers of HTTP.
fn refused(is_grpc: bool, status: Status) -> Response {
    match is_grpc {
        true => status.into_http(),
        false => rest::Problem::from(status).into_response(),
    }
}

fn is_grpc(request: &Request) -> bool {
    let kind = request.headers().get(http::header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}
