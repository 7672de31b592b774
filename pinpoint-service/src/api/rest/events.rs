//! WatchJob as server-sent events, which browsers read and resume without help: see
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html>.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{RawPathParams, Request};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use http::{HeaderName, HeaderValue, StatusCode, header};
use prost::Message;
use tonic::Status;

use super::call::{Call, message_of};
use super::problem::Problem;
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::WatchJobRequest;
use crate::auth::caller::Context;
use crate::state::Service;

/// The time after which a comment says that the connection is alive.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// Streams the events of a job. They are written once for all watchers, and so bypass gRPC: the
/// check is the same.
pub(super) async fn answer(
    call: &Call,
    service: &Service,
    path: &RawPathParams,
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let context = parts.extensions.get_mut::<Context>();
    let context = context.ok_or_else(errors::no_context)?;
    context.operation = call.rpc;
    service.admit(context, call.access).await?;
    // The place is free again when the stream is dropped.
    let place = service.limits.stream(&context.name())?;
    let message = message_of(call, path, &parts, body).await?;
    let unreadable = |_| Status::internal("the request can't be read");
    let request = WatchJobRequest::decode(&*message.encode_to_vec());
    let mut request = request.map_err(unreadable)?;
    if let Some(id) = parts.headers.get("last-event-id") {
        let id = id.to_str().ok().map(str::trim);
        match id.map(|id| (id, id.parse())) {
            Some((_, Ok(id))) => {
                let mark = service.mark(&request.job_id).await?;
                if mark.state.has_ended() && mark.last.is_none_or(|last| last <= id) {
                    // Tells a browser not to reconnect.
                    return Ok(StatusCode::NO_CONTENT.into_response());
                }
                request.after = Some(id);
            }
            Some(("", _)) => {}
            _ => {
                let problem = "`Last-Event-ID` is the id of an event, a whole number";
                return Err(Status::invalid_argument(problem).into());
            }
        }
    }
    let told = service.watch(&request).await?;
    let events = stream::unfold(Some((told, place)), async |told| {
        let (mut told, place) = told?;
        match tokio::time::timeout(HEARTBEAT, told.recv()).await {
            Err(_) => Some((Bytes::from_static(b":\n\n"), Some((told, place)))),
            Ok(Some(Ok(batch))) => Some((batch.text(), Some((told, place)))),
            Ok(Some(Err(status))) => {
                let json = Problem::from(status).json();
                Some((format!("event: error\ndata: {json}\n\n").into(), None))
            }
            Ok(None) => None,
        }
    });
    Ok(stream_of(events))
}

/// An answer whose events come as they happen.
pub(crate) fn stream_of(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let events = futures_util::StreamExt::map(events, Ok::<_, std::convert::Infallible>);
    let mut response = Body::from_stream(events).into_response();
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // A reverse proxy must not buffer events.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in headers {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}
