//! The table of the paths that are no RPCs: each with its method, the right that it needs,
//! and its handler. A path that is neither here nor among the operations leads nowhere.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::Method;
use pinpoint_backends::store::{JobFilter, Place};

use crate::Service;
use crate::caller::Context;
use crate::grpc::errors;
use crate::operations::Access;
use crate::rest::Problem;

/// A path that is no RPC.
pub(crate) struct Page {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    handler: fn() -> MethodRouter<Service>,
}

pub(crate) const PAGES: &[Page] = &[
    Page {
        method: Method::GET,
        path: "/healthz",
        access: Access::Anyone,
        handler: || get(async || "ok\n"),
    },
    Page {
        method: Method::GET,
        path: "/readyz",
        access: Access::Anyone,
        handler: || get(ready),
    },
];

/// All pages, each after its check.
pub(crate) fn routes(service: &Service) -> Router {
    let mut router = Router::new();
    for page in PAGES {
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
    match context.admit(&service.store, page.access).await {
        Ok(()) => next.run(request).await,
        Err(refused) => Problem::from(refused).into_response(),
    }
}

/// Can jobs be read?
async fn ready(State(service): State<Service>) -> Response {
    let listed = service
        .store
        .list(&JobFilter::default(), &Place::Newest, 1)
        .await;
    match listed {
        Ok(_) => "ready\n".into_response(),
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "not ready");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "the job store can't be used\n",
            )
                .into_response()
        }
    }
}
