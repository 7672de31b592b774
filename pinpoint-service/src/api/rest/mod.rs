//! REST: each route of the table becomes a call of its RPC in this process, so that both
//! ways into the service go through the same checks.

mod call;
mod codec;
pub(crate) mod events;
mod json;
mod message;
mod problem;
mod report;

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use http::header::CONTENT_TYPE;
use http::uri::PathAndQuery;
use prost::Message;
use tonic::Status;
use tonic::client::Grpc;

pub(crate) use self::call::Misread;
use self::call::{Call, PathParts, read, sound};
use self::codec::RawCodec;
pub(crate) use self::json::to_json;
pub(crate) use self::problem::{Problem, is_grpc, refused};
pub(crate) use self::report::HTML;
use crate::api::descriptors::method_of;
use crate::api::grpc::errors;
use crate::api::operations::{self, CREATE_JOB, GET_REPORT};
use crate::auth::caller::Context;
use crate::state::Service;

/// All routes of the table, over these methods.
pub(crate) fn routes(service: &Service, grpc: &Router) -> Router {
    let mut router = Router::new();
    for operation in operations::all() {
        let Some(method) = method_of(operation.rpc) else {
            continue;
        };
        let call = Arc::new(Call {
            rpc: operation.rpc,
            method,
            path: PathAndQuery::from_maybe_shared(format!("/{}", operation.rpc))
                .expect("the names of methods are paths"),
            access: operation.access,
            grpc: grpc.clone(),
        });
        for (verb, path) in operation.routes {
            let filter = MethodFilter::try_from(verb.clone()).expect("a verb of the table");
            let (call, service) = (call.clone(), service.clone());
            let handler = move |path: PathParts, request: Request| async move {
                let answer = match path {
                    Err(error) => Err(Status::invalid_argument(error.to_string()).into()),
                    Ok(path) if call.method.is_server_streaming() => {
                        events::answer(&call, &service, &path, request).await
                    }
                    Ok(path) if call.rpc == GET_REPORT => {
                        report::answer(&call, &service, &path, request).await
                    }
                    Ok(path) => answer(&call, &path, request).await,
                };
                answer.map_or_else(
                    |problem| problem.into_response(),
                    IntoResponse::into_response,
                )
            };
            router = router.route(path, on(filter, handler));
        }
    }
    router
}

async fn answer(call: &Call, path: &RawPathParams, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let context = parts.extensions.get::<Context>();
    let context = context.ok_or_else(errors::no_context)?;
    // The gate checks the rest; the body of an anonymous request is not read.
    if context.caller.is_none() {
        context.allow(call.access)?;
    }
    let (message, wrong) = read(call, path, &parts, body).await?;
    // Other problems of a job are reported together with these.
    let wrong = match call.rpc == CREATE_JOB {
        true => Some(Misread(wrong)),
        false => sound(wrong).map(|()| None)?,
    };
    let mut request = tonic::Request::new(message.encode_to_vec());
    for key in parts.headers.get_all("idempotency-key") {
        let wrong =
            |_| Status::invalid_argument("`Idempotency-Key` has characters that are not visible");
        let key = key.as_bytes().try_into().map_err(wrong)?;
        request.metadata_mut().append("idempotency-key", key);
    }
    *request.extensions_mut() = parts.extensions;
    if let Some(wrong) = wrong {
        request.extensions_mut().insert(wrong);
    }
    let mut client = Grpc::new(call.grpc.clone()).max_decoding_message_size(usize::MAX);
    // A router is always ready, and can't fail.
    let _ = client.ready().await;
    let answered = client.unary(request, call.path.clone(), RawCodec).await?;
    let answered = answered.into_inner();
    let json = to_json(call.method.output().full_name(), &answered);
    let unwritable = |_| Status::internal("the answer can't be written as JSON");
    let json = json.map_err(unwritable)?;
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}
