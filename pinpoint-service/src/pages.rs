//! The table of the paths outside of RPCs: each with its method, the right that it needs, and its
//! handler. A path that is neither here nor among the operations leads nowhere.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::Method;
use http::header::CONTENT_TYPE;
use pinpoint_backends::store::{JobFilter, ListOrder, PagePosition, SCHEMA_VERSION};
use serde_json::json;

use crate::api::access::Access;
use crate::api::grpc::errors;
use crate::api::openapi;
use crate::api::rest::Problem;
use crate::auth::caller::Context;
use crate::auth::sign_in;
#[cfg(feature = "published")]
use crate::compat;
use crate::page::{Page, open, seen};
use crate::phase::Phase;
use crate::state::Service;
use crate::transport::metrics::METRICS;
use crate::ui;

static PAGES: &[Page] = &[
    open("/healthz", || get(async || "ok\n")),
    open("/readyz", || get(ready)),
    open("/sign-in", || get(sign_in::begin)),
    Page {
        method: Method::POST,
        path: "/sign-in",
        access: Access::Anyone,
        handler: || post(sign_in::begin_from_form),
    },
    open("/sign-in/callback", || get(sign_in::finish)),
    Page {
        method: Method::POST,
        path: "/sign-out",
        access: Access::Anyone,
        handler: || post(sign_in::end),
    },
    seen("/openapi.json", || get(described)),
];

/// All paths for programs.
pub(crate) fn for_programs() -> impl Iterator<Item = &'static Page> {
    let pages = PAGES.iter();
    #[cfg(feature = "published")]
    let pages = pages.chain(compat::PAGES);
    pages
}

/// All paths, including pages for people.
pub(crate) fn all() -> impl Iterator<Item = &'static Page> {
    let pages = for_programs().chain(ui::PAGES);
    #[cfg(feature = "published")]
    let pages = pages.chain(compat::LINKS);
    pages
}

/// The page at a path of the table.
pub(crate) fn of_route(path: &str) -> Option<&'static Page> {
    all().find(|page| page.path == path)
}

/// The path itself, if it is one of the table.
pub(crate) fn path_of(path: &str) -> Option<&'static str> {
    of_route(path).map(|page| page.path)
}

/// Returns true if a page of the table can be opened at this path.
pub(crate) fn is_shown(path: &str) -> bool {
    all().any(|page| page.path == path && page.method == Method::GET)
}

/// All pages, each after its check.
pub(crate) fn routes(service: &Service) -> Router {
    let mut router = Router::new();
    for page in all() {
        let gate = {
            let service = service.clone();
            move |request: Request, next: Next| gate(service.clone(), page, request, next)
        };
        router = router.route(page.path, (page.handler)().layer(from_fn(gate)));
    }
    router.with_state(service.clone())
}

async fn gate(service: Service, page: &'static Page, mut request: Request, next: Next) -> Response {
    let Some(context) = request.extensions_mut().get_mut::<Context>() else {
        return Problem::from(errors::no_context()).into_response();
    };
    context.operation = page.path;
    match service.admit(context, page.access).await {
        Ok(()) => next.run(request).await,
        Err(refused) => Problem::from(refused).into_response(),
    }
}

/// Describes the REST interface, these paths included.
async fn described() -> Response {
    static DOCUMENT: LazyLock<Bytes> =
        LazyLock::new(|| openapi::document(for_programs()).to_string().into());
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.clone()).into_response()
}

/// Reports whether jobs can be read, and the service is not about to end.
async fn ready(State(service): State<Service>) -> Response {
    let answer = |status, problem: Option<&str>, version: Option<u32>| {
        let body = json!({
            "ready": problem.is_none(),
            "problem": problem,
            "store": { "version": version, "supported": SCHEMA_VERSION },
        });
        (status, Json(body)).into_response()
    };
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    if *service.phase.borrow() != Phase::Serving {
        return answer(unavailable, Some("the service is about to end"), None);
    }
    let looked = async {
        let store = &service.store;
        store
            .jobs()
            .list(
                &JobFilter::default(),
                ListOrder::default(),
                &PagePosition::First,
                1,
            )
            .await?;
        store.version().await
    };
    match looked.await {
        Ok(version) => answer(StatusCode::OK, None, Some(version)),
        Err(error) => {
            METRICS.store_errors.inc();
            tracing::warn!(error = &error as &dyn std::error::Error, "not ready");
            answer(unavailable, Some("the job store can't be used"), None)
        }
    }
}
