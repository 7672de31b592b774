//! A call of a method over REST, and the message that it is called with.

use axum::Router;
use axum::body::Body;
use axum::extract::RawPathParams;
use axum::extract::rejection::RawPathParamsRejection;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::uri::PathAndQuery;
use prost_reflect::{DynamicMessage, MethodDescriptor};
use tonic::Status;

use super::message::{FieldProblem, Fields, MessageError};
use super::problem::Problem;
use crate::api::access::Access;
use crate::api::grpc::errors;
use crate::transport::arriving;

/// A method, and the route to it.
pub(super) struct Call {
    pub(super) rpc: &'static str,
    pub(super) method: MethodDescriptor,
    pub(super) path: PathAndQuery,
    pub(super) access: Access,
    pub(super) grpc: Router,
}

/// The parts of a path, unless they are not UTF-8.
pub(super) type PathParts = Result<RawPathParams, RawPathParamsRejection>;

/// The fields of a request that could not be read, each with its problem.
#[derive(Debug, Clone)]
pub(crate) struct Misread(pub(crate) Vec<FieldProblem>);

pub(super) fn sound(wrong: Vec<FieldProblem>) -> Result<(), Problem> {
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(errors::bad_request(wrong).into()),
    }
}

/// The message of a request, with wrong fields as an error.
pub(super) async fn message_of(
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
pub(super) async fn read(
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
