//! The routes of all services, and the trouble before and after them.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};

use crate::faults::Faults;
use crate::services::FakeLuci;
use crate::{bigquery, cas, catapult, crrev, gerrit, gitiles, issue_tracker, prpc};

/// The body of a request, at most.
const MOST_BYTES: usize = 8 << 20;

impl FakeLuci {
    /// The answers to requests. Gitiles is at `/gitiles/HOST`, Gerrit at `/gerrit/HOST`; the others are at the root. The
    /// store of files speaks gRPC; it has no trouble.
    pub fn routes(&self) -> Router {
        Router::new()
            .route("/gitiles/{host}/{*path}", get(gitiles::answer))
            .route("/api/job", post(catapult::store))
            .route("/gerrit/{host}/changes/{change}", get(gerrit::change))
            .route("/gerrit/{host}/a/changes/{change}", get(gerrit::change))
            .route("/_ah/api/crrev/v1/redirect/{asked}", get(crrev::redirect))
            .route("/prpc/{service}/{method}", post(method))
            .route("/v1/issues/{issue}", post(issue_tracker::modify))
            .route(
                "/v1/issues/{issue}/issueUpdates",
                get(issue_tracker::updates),
            )
            .route(
                "/bigquery/v2/projects/{project}/datasets/{dataset}/tables",
                post(bigquery::create),
            )
            .route(
                "/bigquery/v2/projects/{project}/datasets/{dataset}/tables/{table}/insertAll",
                post(bigquery::insert),
            )
            .route(
                "/bigquery/v2/projects/{project}/queries",
                post(bigquery::query),
            )
            .route(
                "/computeMetadata/v1/instance/service-accounts/default/token",
                get(token),
            )
            .layer(from_fn_with_state(self.clone(), trouble))
            .with_state(self.clone())
            .merge(cas::server::routes(self))
    }

    /// Is this one of the metadata server's tokens, that has not expired?
    fn is_signed_in(&self, request: &Request) -> bool {
        let header = request.headers().get("authorization");
        let header = header.and_then(|header| header.to_str().ok());
        let made = header.and_then(|header| header.strip_prefix("Bearer hidden-")?.parse().ok());
        made.is_some_and(|made: u64| self.unhurried() < made + 3_600_000)
    }
}

/// A token of the metadata server, good for an hour.
async fn token(State(luci): State<FakeLuci>) -> Response {
    let token = format!("hidden-{}", luci.unhurried());
    axum::Json(serde_json::json!({"access_token": token, "expires_in": 3600})).into_response()
}

async fn method(
    State(luci): State<FakeLuci>,
    Path((service, method)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    prpc::answer(match &*service {
        "buildbucket.v2.Builds" => luci.builds(&method, &body),
        "swarming.v2.Tasks" => luci.swarming(&format!("Tasks/{method}"), &body),
        "swarming.v2.Bots" => luci.swarming(&format!("Bots/{method}"), &body),
        _ => Err((prpc::UNIMPLEMENTED, service)),
    })
}

/// Trouble before and after a request is carried out.
async fn trouble(State(luci): State<FakeLuci>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_prpc = path.starts_with("/prpc/");
    let is_report = ["/v1/issues/", "/bigquery/", "/api/job"]
        .iter()
        .any(|beginning| path.starts_with(beginning));
    let (faults, refusal, draws) = {
        let mut state = luci.state();
        state.requests += 1;
        let faults = state.faults;
        let kinds = [
            faults.refused,
            faults.duplicates,
            faults.lost_answers,
            faults.garbage,
            faults.slow,
        ];
        let refusal = state.random.below(10);
        let draws = kinds.map(|kind| state.random.happens(kind));
        (faults, refusal, draws)
    };
    if is_prpc && !luci.is_signed_in(&request) {
        return prpc::answer(Err((16, "the token has expired".into())));
    }
    if is_report && !luci.is_signed_in(&request) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if faults == Faults::default() {
        return next.run(request).await;
    }
    let [is_refused, is_duplicate, is_lost, is_garbage, is_slow] = draws;
    if is_refused {
        return refused(refusal, is_prpc);
    }
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MOST_BYTES)
        .await
        .unwrap_or_default();
    let copy = || Request::from_parts(parts.clone(), Body::from(body.clone()));
    if is_duplicate {
        next.clone().run(copy()).await;
    }
    let answer = next.run(copy()).await;
    if is_slow {
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
    match () {
        () if is_lost => StatusCode::BAD_GATEWAY.into_response(),
        () if is_garbage => ([("x-prpc-grpc-code", "0")], "<html>\u{0}garbage").into_response(),
        () => answer,
    }
}

fn refused(kind: u64, is_prpc: bool) -> Response {
    match (kind, is_prpc) {
        (0, _) => StatusCode::UNAUTHORIZED.into_response(),
        (1, _) => StatusCode::TOO_MANY_REQUESTS.into_response(),
        (2, _) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        (3, _) => StatusCode::GATEWAY_TIMEOUT.into_response(),
        (4, true) => prpc::answer(Err((2, "unknown".into()))),
        (5, true) => prpc::answer(Err((13, "internal".into()))),
        (6, true) => prpc::answer(Err((14, "unavailable".into()))),
        (7, true) => prpc::answer(Err((16, "the token has expired".into()))),
        _ => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
