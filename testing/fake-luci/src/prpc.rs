//! pRPC: how requests arrive and answers leave.

use axum::body::Bytes;
use axum::response::{IntoResponse as _, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The code of an error and what it says.
pub(crate) type Refusal = (u32, String);

/// The codes of gRPC that are used here.
pub(crate) const INVALID_ARGUMENT: u32 = 3;
pub(crate) const NOT_FOUND: u32 = 5;
pub(crate) const PERMISSION_DENIED: u32 = 7;
pub(crate) const UNIMPLEMENTED: u32 = 12;

/// A request, every field of which must be known.
pub(crate) fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| (INVALID_ARGUMENT, error.to_string()))
}

pub(crate) fn not_found(what: impl std::fmt::Display) -> Refusal {
    (NOT_FOUND, format!("no such thing: {what}"))
}

/// The answer of a method.
pub(crate) fn answer(result: Result<Value, Refusal>) -> Response {
    let json = [("content-type", "application/json")];
    match result {
        Ok(message) => {
            let headers = [("x-prpc-grpc-code", "0")];
            (headers, json, format!(")]}}'\n{message}")).into_response()
        }
        Err((code, text)) => {
            let headers = [("x-prpc-grpc-code", code.to_string())];
            (headers, format!("{text}\n")).into_response()
        }
    }
}
