//! The routes of the service and the layers around them.

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use tonic::Status;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_web::GrpcWebLayer;
use tower::{ServiceBuilder, ServiceExt};
use tracing::Instrument;

use crate::api::access::{Access, Right};
use crate::api::grpc::{self, errors};
use crate::api::operations;
use crate::api::rest::{self, is_grpc, refused};
use crate::auth::browsers;
use crate::auth::caller::Context;
use crate::auth::sign_in::{self, Sender, SignIn, form_token};
#[cfg(feature = "published")]
use crate::compat;
use crate::phase::Phase;
use crate::state::Service;
use crate::transport::requests::{self, Arrival};
use crate::transport::{arriving, sending};
use crate::{pages, ui};

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
    let others = Routes::new(health);
    #[cfg(feature = "published")]
    let others = compat::add_services(others, &service);
    let grpc = grpc::router(&service, others);
    let rest = rest::routes(&service, &grpc)
        .merge(pages::routes(&service))
        .method_not_allowed_fallback(async || rest::Problem::method());
    let methods = ServiceBuilder::new()
        .layer(GrpcWebLayer::new())
        .service(grpc);
    let is_page: ui::IsPage = pages::is_shown;
    let path_of: requests::PathOf = pages::path_of;
    rest.fallback(async move |request: Request| match is_grpc(&request) {
        true => methods.oneshot(request).await.into_response(),
        false => rest::Problem::path(request.uri().path()).into_response(),
    })
    .layer(from_fn_with_state(service.clone(), identify))
    .layer(from_fn_with_state((service, is_page), ui::as_pages))
    .layer(from_fn(ui::compressed))
    .layer(from_fn_with_state(
        limits.outbox().clone(),
        sending::counted,
    ))
    .layer(from_fn_with_state(
        limits.inbox().clone(),
        arriving::counted,
    ))
    .layer(from_fn_with_state(path_of, requests::watch))
}

/// All routes: each with its method, its path, and the right that it needs; no right for public
/// ones.
pub fn operations() -> impl Iterator<Item = (&'static str, &'static str, Option<Right>)> {
    let rest = operations::all().flat_map(|operation| {
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
        return refused(is_grpc, errors::no_context());
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
    // The end of a session looks up whose it is.
    access == Some(Access::Anyone) && path != "/sign-out"
}

/// An answer that tells the outer layers whose request it answers.
fn of_user(mut response: Response, user: &str, context: Context) -> Response {
    let user = requests::User(user.to_owned());
    response.extensions_mut().insert(user);
    response.extensions_mut().insert(context);
    response
}

#[cfg(test)]
mod tests {
    use super::operations;

    #[test]
    fn the_published_pinpoint_is_offered_with_its_feature() {
        let paths: Vec<_> = operations().map(|(_, path, _)| path).collect();
        let published = [
            "/pinpoint/v1/",
            "/json/",
            "/benchmarks",
            "/stories",
            "/results/",
        ];
        for beginning in published {
            let is_offered = paths.iter().any(|path| path.starts_with(beginning));
            assert_eq!(is_offered, cfg!(feature = "published"), "{beginning}");
        }
        assert_eq!(paths.iter().filter(|path| **path == "/bots").count(), 1);
    }
}
