//! A report as a file.

use axum::extract::{RawPathParams, Request};
use axum::response::{IntoResponse, Response};
use http::header::{
    CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use pinpoint_report::content_security_policy;
use prost::Message;
use tonic::Status;

use super::call::{Call, message_of};
use super::problem::Problem;
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::GetReportRequest;
use crate::auth::caller::Context;
use crate::state::Service;

/// The media type of a report.
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// Sends the report as a file, unchanged: gRPC would copy its text three times.
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
    let message = message_of(call, path, &parts, body).await?;
    let unreadable = |_| Status::internal("the request can't be read");
    let request = GetReportRequest::decode(&*message.encode_to_vec()).map_err(unreadable)?;
    let report = service.report(request).await?;
    let headers = [
        (CONTENT_TYPE, HTML.to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{}\"", report.file_name),
        ),
        (CONTENT_SECURITY_POLICY, content_security_policy()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    Ok((headers, report.html).into_response())
}
