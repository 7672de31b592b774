//! A report as a file.

use axum::response::{IntoResponse, Response};
use http::header::{
    CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use pinpoint_report::content_security_policy;
use prost::Message;
use tonic::Status;

use super::Problem;
use crate::grpc::v2::messages::GetReportResponse;

/// The media type of a report.
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// The answer that is the file of an encoded report.
pub(super) fn answer(report: &[u8]) -> Result<Response, Problem> {
    let report = GetReportResponse::decode(report);
    let report = report.map_err(|_| Status::internal("the answer can't be read"))?;
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
