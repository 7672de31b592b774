//! Errors as JSON: `{code, message, details}` with the code of gRPC, and the HTTP status that
//! gRPC gateways give it.

use axum::Json;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::auth::reached::whole_seconds;

/// An error, on its way to a client of REST.
#[derive(Debug)]
pub(crate) struct Problem {
    status: Status,
    /// Set where it is more specific than the code.
    http: Option<StatusCode>,
}

impl Problem {
    pub(crate) fn too_large() -> Self {
        Self {
            status: Status::resource_exhausted("the body of the request is too large"),
            http: Some(StatusCode::PAYLOAD_TOO_LARGE),
        }
    }

    pub(crate) fn media_type(found: &str) -> Self {
        Self {
            status: Status::invalid_argument(format!(
                "a body of type {found:?} can't be read; send application/json"
            )),
            http: Some(StatusCode::UNSUPPORTED_MEDIA_TYPE),
        }
    }

    pub(crate) fn path(path: &str) -> Self {
        Status::not_found(format!("there is no page or method at {path}")).into()
    }

    pub(crate) fn method() -> Self {
        Self {
            status: Status::unimplemented("this address doesn't support that method"),
            http: Some(StatusCode::METHOD_NOT_ALLOWED),
        }
    }
}

impl From<Status> for Problem {
    fn from(status: Status) -> Self {
        Self { status, http: None }
    }
}

impl Problem {
    pub(crate) fn json(&self) -> Value {
        let given = self.status.get_error_details();
        let mut details = Vec::new();
        if let Some(bad) = given.bad_request() {
            let fields: Vec<_> = (bad.field_violations.iter())
                .map(|violation| json!({ "field": violation.field, "description": violation.description }))
                .collect();
            details.push(json!({ "@type": type_of("BadRequest"), "fieldViolations": fields }));
        }
        if let Some(quota) = given.quota_failure() {
            let limits: Vec<_> = (quota.violations.iter())
                .map(|violation| json!({ "subject": violation.subject, "description": violation.description }))
                .collect();
            details.push(json!({ "@type": type_of("QuotaFailure"), "violations": limits }));
        }
        if let Some(seconds) = self.wait() {
            let delay = format!("{seconds}s");
            details.push(json!({ "@type": type_of("RetryInfo"), "retryDelay": delay }));
        }
        json!({
            "code": self.status.code() as i32,
            "message": self.status.message(),
            "details": details,
        })
    }

    /// The seconds after which the same request may succeed.
    fn wait(&self) -> Option<u64> {
        let given = self.status.get_error_details();
        let wait = given.retry_info().and_then(|retry| retry.retry_delay);
        wait.map(whole_seconds)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let http = self.http.unwrap_or(http_status(self.status.code()));
        let wait = self.wait();
        let mut response = (http, Json(self.json())).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = wait {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if http == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // For the layers that log, count, and show pages.
        response.extensions_mut().insert(self.status);
        response
    }
}

/// An error, for a client of gRPC in the headers of HTTP.
pub(crate) fn refused(is_grpc: bool, status: Status) -> Response {
    match is_grpc {
        true => status.into_http(),
        false => Problem::from(status).into_response(),
    }
}

/// Returns true for a request of gRPC or gRPC-Web.
pub(crate) fn is_grpc(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

fn type_of(message: &str) -> String {
    format!("type.googleapis.com/google.rpc.{message}")
}

/// The status of HTTP for a code, by
/// [google/rpc/code.proto](https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto);
/// 499 is the status of nginx for a client that has left.
pub(crate) fn http_status(code: Code) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => {
            StatusCode::BAD_REQUEST
        }
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Cancelled => StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST),
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_status_of_gateways() {
        let status: Vec<_> = (0..17)
            .map(|code| http_status(Code::from(code)).as_u16())
            .collect();
        let expected = [
            200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401,
        ];
        assert_eq!(status, expected);
    }
}
