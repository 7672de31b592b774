//! REST: each route of the table becomes a call of its RPC in this process, so that both
//! ways into the service go through the same checks.

mod codec;
pub(crate) mod events;
mod json;
mod message;
mod problem;
mod report;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::uri::PathAndQuery;
use prost::Message;
use prost_reflect::{DynamicMessage, MethodDescriptor};
use tonic::Status;
use tonic::client::Grpc;

use self::codec::RawCodec;
pub(crate) use self::json::to_json;
use self::message::{FieldProblem, Fields, MessageError};
pub(crate) use self::problem::Problem;
pub(crate) use self::report::HTML;
use crate::api::descriptors::method_of;
use crate::api::grpc::errors;
use crate::api::operations::{Access, CREATE_JOB, GET_REPORT, OPERATIONS};
use crate::auth::caller::Context;
use crate::state::Service;
use crate::transport::arriving;

/// A method, and the route to it.
struct Call {
    rpc: &'static str,
    method: MethodDescriptor,
    path: PathAndQuery,
    access: Access,
    grpc: Router,
}

/// The parts of a path, unless they are not UTF-8.
type PathParts = Result<RawPathParams, RawPathParamsRejection>;

/// All routes of the table, over these methods.
pub(crate) fn routes(service: &Service, grpc: &Router) -> Router {
    let mut router = Router::new();
    for operation in OPERATIONS {
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

/// The fields of a request that could not be read, each with its problem.
#[derive(Debug, Clone)]
pub(crate) struct Misread(pub(crate) Vec<FieldProblem>);

fn sound(wrong: Vec<FieldProblem>) -> Result<(), Problem> {
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(errors::bad_request(wrong).into()),
    }
}

/// The message of a request, with wrong fields as an error.
async fn message_of(
    call: &Call,
    path: &RawPathParams,
    parts: &Parts,
    body: Body,
) -> Result<DynamicMessage, Problem> {
    let (message, wrong) = read(call, path, parts, body).await?;
    sound(wrong).map(|()| message)
}

/// The message of a request: the parts of its path, its query, and its body, as JSON or as a form.
/// Wrong fields are left out, and returned.
async fn read(
    call: &Call,
    path: &RawPathParams,
    parts: &Parts,
    body: Body,
) -> Result<(DynamicMessage, Vec<FieldProblem>), Problem> {
    let mut fields = Fields::new(call.method.input());
    let body = arriving::whole(body).await?;
    let query = parts.uri.query().unwrap_or_default().as_bytes();
    let mut form: &[u8] = &[];
    if !body.is_empty() {
        let kind = parts
            .headers
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        let kind = kind
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default();
        match kind.trim().to_ascii_lowercase().as_str() {
            "application/json" | "" => fields.add_json(&body)?,
            "application/x-www-form-urlencoded" => form = &body,
            other => return Err(Problem::media_type(other)),
        }
    }
    for (name, value) in path {
        fields.add_text(name, value)?;
    }
    let pairs = form_urlencoded::parse(query).chain(form_urlencoded::parse(form));
    for (name, value) in pairs {
        fields.add_text(&name, &value)?;
    }
    Ok(fields.message()?)
}

impl From<MessageError> for Problem {
    fn from(error: MessageError) -> Self {
        Status::invalid_argument(error.to_string()).into()
    }
}
