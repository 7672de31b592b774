//! The table of the paths outside of RPCs: each with its method, the right that it needs, and its
//! handler. A path that is neither here nor among the operations leads nowhere.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use http::Method;
use pinpoint_backends::store::{JobFilter, Order, Place, SCHEMA_VERSION};
use serde_json::json;

use crate::api::grpc::errors;
use crate::api::operations::{Access, Right};
use crate::api::rest::Problem;
use crate::auth::caller::Context;
use crate::auth::sign_in;
use crate::compat::older_page;
use crate::state::{Phase, Service};
use crate::transport::metrics::METRICS;
use crate::ui;

/// A path that is not an RPC.
pub(crate) struct Page {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) handler: fn() -> MethodRouter<Service>,
}

pub(crate) const PAGES: &[Page] = &[
    open("/healthz", || get(async || "ok\n")),
    open("/readyz", || get(ready)),
    seen("/json/jobs/list", || get(older_page::list)),
    seen("/json/job/{id}", || get(older_page::job)),
    seen("/benchmarks", || get(older_page::benchmarks)),
    // A page for people, and names for programs.
    seen("/bots", || get(ui::bots)),
    seen("/stories", || get(older_page::stories)),
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
    seen("/openapi.json", || get(crate::api::openapi::answer)),
];

/// All paths, including pages for people.
pub(crate) fn all() -> impl Iterator<Item = &'static Page> {
    PAGES.iter().chain(ui::PAGES)
}

/// The page at a path of the table.
pub(crate) fn of_route(path: &str) -> Option<&'static Page> {
    all().find(|page| page.path == path)
}

/// Returns true if a page of the table can be opened at this path.
pub(crate) fn is_shown(path: &str) -> bool {
    all().any(|page| page.path == path && page.method == Method::GET)
}

/// A path for those who may see jobs.
pub(crate) const fn seen(path: &'static str, handler: fn() -> MethodRouter<Service>) -> Page {
    given(path, Right::See, handler)
}

/// A path that those with a right may get.
pub(crate) const fn given(
    path: &'static str,
    right: Right,
    handler: fn() -> MethodRouter<Service>,
) -> Page {
    Page {
        method: Method::GET,
        path,
        access: Access::With(right),
        handler,
    }
}

/// A path that everybody may ask for.
pub(crate) const fn open(path: &'static str, handler: fn() -> MethodRouter<Service>) -> Page {
    Page {
        method: Method::GET,
        path,
        access: Access::Anyone,
        handler,
    }
}

/// A path that those with a right may send a form to.
pub(crate) const fn posted(
    path: &'static str,
    right: Right,
    handler: fn() -> MethodRouter<Service>,
) -> Page {
    Page {
        method: Method::POST,
        path,
        access: Access::With(right),
        handler,
    }
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
    match context.admit(&service, page.access).await {
        Ok(()) => next.run(request).await,
        Err(refused) => Problem::from(refused).into_response(),
    }
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
            .list(&JobFilter::default(), Order::default(), &Place::First, 1)
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
