//! The outermost layer: each request has an id, is counted, and is logged once, when its answer
//! begins or its client has left.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{HeaderName, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, StatusCode};
use pinpoint_backends::job::TraceParent;
use tonic::{Code, Status};
use uuid::Uuid;

use crate::api::operations;
use crate::auth::caller::code_name;
use crate::transport::metrics::METRICS;

/// The header with the id of a request, in both directions.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The time for which browsers use the service only with TLS.
const A_YEAR: &str = "max-age=31536000";

/// The most characters of an id that a client gives.
const LONGEST_ID: usize = 128;

/// The facts about a request before its sender is identified.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    /// The id, the client's own if it has one.
    pub(crate) id: String,
    /// The address that it came from.
    pub(crate) from: Option<IpAddr>,
    /// The span that it belongs to.
    pub(crate) trace: Option<TraceParent>,
}

/// The user of a request, which the answer carries as far as this layer.
#[derive(Debug, Clone)]
pub(crate) struct User(pub(crate) String);

/// Gives the path back if the table of pages has it, and so is the name of an operation. The table
/// lists handlers, which import this module.
pub(crate) type PathOf = fn(&str) -> Option<&'static str>;

/// Passes a request on, with these facts.
pub(crate) async fn watch(
    State(path_of): State<PathOf>,
    mut request: Request,
    next: Next,
) -> Response {
    let from = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map(|peer| peer.0.ip().to_canonical());
    let given = request.headers().get(&REQUEST_ID).and_then(id_of);
    let arrival = Arrival {
        id: given.unwrap_or_else(|| Uuid::now_v7().to_string()),
        from,
        trace: trace_of(request.headers()),
    };
    let mut watched = Watched::new(arrival.clone(), operation_of(&request, path_of));
    request.extensions_mut().insert(arrival);
    let has_tls = request.extensions().get() == Some(&Scheme::HTTPS);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if has_tls {
        // Without TLS, browsers ignore it.
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(A_YEAR));
    }
    watched.code = code_of(&response);
    watched.user = response.extensions_mut().remove();
    if let Ok(id) = HeaderValue::from_str(&watched.arrival.id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// A request that has no answer yet.
struct Watched {
    arrival: Arrival,
    operation: &'static str,
    began: Instant,
    user: Option<User>,
    /// Until there is an answer, the client may leave.
    code: Code,
}

impl Watched {
    fn new(arrival: Arrival, operation: &'static str) -> Self {
        METRICS.under_way.inc();
        Self {
            arrival,
            operation,
            began: Instant::now(),
            user: None,
            code: Code::Cancelled,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let (took, code) = (self.began.elapsed(), code_name(self.code));
        METRICS.under_way.dec();
        METRICS.answered(self.operation, code, took.as_secs_f64());
        let Arrival { id, from, trace } = &self.arrival;
        tracing::info!(
            id,
            from = from.map(tracing::field::display),
            user = self.user.as_ref().map(|user| &*user.0),
            operation = self.operation,
            code,
            milliseconds = took.as_secs_f64() * 1000.0,
            trace = trace.map(|trace| trace.trace_id()),
            "answered"
        );
    }
}

fn id_of(value: &HeaderValue) -> Option<String> {
    let id = value.to_str().ok()?;
    let is_sound =
        (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_graphic());
    is_sound.then(|| id.to_owned())
}

/// Unreadable headers are ignored, as the standard demands.
fn trace_of(headers: &HeaderMap) -> Option<TraceParent> {
    let mut given = headers.get_all("traceparent").iter();
    let parent = given.next()?.to_str().ok()?.parse().ok()?;
    given.next().is_none().then_some(parent)
}

/// The name of the operation or path: one of the tables'.
fn operation_of(request: &Request, path_of: PathOf) -> &'static str {
    let (method, uri) = (request.method(), request.uri());
    let found = match request.extensions().get::<MatchedPath>() {
        Some(path) => operations::of_route(method, path.as_str())
            .map(|operation| operation.rpc)
            .or_else(|| path_of(path.as_str())),
        None => operations::of_rpc(uri.path()).map(|operation| operation.rpc),
    };
    found.unwrap_or("other")
}

/// The code of an answer: of gRPC in its headers, of REST in its extensions.
fn code_of(response: &Response) -> Code {
    if let Some(status) = response.extensions().get::<Status>() {
        return status.code();
    }
    if let Some(status) = Status::from_header_map(response.headers()) {
        return status.code();
    }
    match response.status() {
        status if status.as_u16() < 400 => Code::Ok,
        StatusCode::BAD_REQUEST => Code::InvalidArgument,
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        _ => Code::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_and_visible() {
        let id = |text: &str| HeaderValue::from_str(text).ok().and_then(|it| id_of(&it));
        assert_eq!(id("build-4711/a"), Some("build-4711/a".into()));
        for bad in ["", "with space", "é", &"x".repeat(LONGEST_ID + 1)] {
            assert_eq!(id(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_request_belongs_to_one_trace_at_most() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let mut headers = HeaderMap::new();
        assert_eq!(trace_of(&headers), None);
        headers.insert("traceparent", parent.parse().unwrap());
        assert_eq!(trace_of(&headers).unwrap().to_string(), parent);
        headers.append("traceparent", parent.parse().unwrap());
        assert_eq!(trace_of(&headers), None);
        headers.insert("traceparent", "none".parse().unwrap());
        assert_eq!(trace_of(&headers), None);
    }
}
