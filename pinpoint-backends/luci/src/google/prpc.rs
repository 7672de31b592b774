//! [pRPC], the protocol of LUCI's services: gRPC's methods over plain HTTP.
//!
//! A request is a POST of JSON to `/prpc/SERVICE/METHOD`. Only the header `X-Prpc-Grpc-Code` says
//! whether it succeeded; an answer without it does not come from the service but from a proxy
//! before it. A body of JSON begins with `)]}'` and a line break, so that no page can run it as a
//! script; the body of an error is text.
//!
//! [pRPC]: https://pkg.go.dev/go.chromium.org/luci/grpc/prpc

use std::sync::Arc;

use http::HeaderValue;
use http::header::ACCEPT;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::{Client, HttpRequest, HttpResponse};
use super::error::{Code, ServiceError, quoted};

/// The header with the code of a call.
const CODE: &str = "X-Prpc-Grpc-Code";

/// The prefix of a body of JSON.
const GUARD: &[u8] = b")]}'\n";

/// The methods of one service.
///
/// Retries are those of the [`Client`]: of the codes 2, 13 and 14, and of trouble on the way.
pub struct Prpc {
    client: Arc<Client>,
    /// With its package: `buildbucket.v2.Builds`.
    service: &'static str,
}

impl Prpc {
    /// A service of pRPC, such as `buildbucket.v2.Builds`, at the client's address.
    pub fn new(client: Client, service: &'static str) -> Self {
        Self::shared(Arc::new(client), service)
    }

    /// Like [`new`](Self::new), with a client shared by other services at its address.
    pub fn shared(client: Arc<Client>, service: &'static str) -> Self {
        Self { client, service }
    }

    /// Calls a method.
    ///
    /// # Errors
    ///
    /// The error of the last try: [`ServiceError::Code`] when the method itself fails.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        message: &impl Serialize,
    ) -> Result<T, ServiceError> {
        let request = self.request(method, message)?;
        let name = self.client.service();
        self.client
            .call(&request, |answer| read(name, answer))
            .await
    }

    /// Calls a method whose request must not arrive twice: it is sent again only where the
    /// service has said that it did nothing.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn call_once<T: DeserializeOwned>(
        &self,
        method: &str,
        message: &impl Serialize,
    ) -> Result<T, ServiceError> {
        let request = self.request(method, message)?.once();
        let name = self.client.service();
        let read = |answer| read(name, answer);
        self.client.call(&request, read).await
    }

    /// The request of a call, as text for `--dry-run`.
    ///
    /// # Errors
    ///
    /// When the message cannot be written as JSON.
    pub fn rendered(&self, method: &str, message: &impl Serialize) -> Result<String, ServiceError> {
        Ok(self.client.rendered(&self.request(method, message)?))
    }

    fn request(&self, method: &str, message: &impl Serialize) -> Result<HttpRequest, ServiceError> {
        let body = serde_json::to_vec(message).map_err(|error| ServiceError::Unreadable {
            service: self.client.service(),
            reason: format!("the request itself is not JSON: {error}"),
        })?;
        let path = format!("/prpc/{}/{method}", self.service);
        let json = HeaderValue::from_static("application/json");
        Ok(HttpRequest::post_json(path, body).header(ACCEPT.as_str(), json))
    }
}

/// The message of an answer, or its error.
fn read<T: DeserializeOwned>(
    service: &'static str,
    answer: HttpResponse,
) -> Result<T, ServiceError> {
    let unreadable = |reason: &str| ServiceError::Unreadable {
        service,
        reason: reason.into(),
    };
    let Some(code) = answer.headers.get(CODE) else {
        return Err(match answer.status.is_success() {
            true => unreadable("it does not come from a pRPC server"),
            false => answer.refusal(service),
        });
    };
    let code = code.to_str().ok().and_then(|text| text.trim().parse().ok());
    match code.map(Code) {
        None => Err(unreadable("its code is not a number")),
        Some(Code::OK) => {
            let json = answer.body.strip_prefix(GUARD);
            let json = json.ok_or_else(|| unreadable("its body does not begin with )]}'"))?;
            serde_json::from_slice(json).map_err(|error| unreadable(&error.to_string()))
        }
        Some(code) => Err(ServiceError::Code {
            service,
            code,
            text: quoted(&answer.body),
        }),
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn answer(status: u16, code: Option<&str>, body: &[u8]) -> HttpResponse {
        let mut headers = HeaderMap::new();
        if let Some(code) = code.and_then(|code| HeaderValue::from_str(code).ok()) {
            headers.insert(CODE, code);
        }
        HttpResponse {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body: body.to_vec(),
        }
    }

    fn read_json(answer: HttpResponse) -> Result<Value, ServiceError> {
        read("Service", answer)
    }

    #[test]
    fn the_code_decides_whatever_the_status() {
        let found = read_json(answer(500, Some("0"), b")]}'\n{\"id\": \"1\"}"));
        assert_eq!(found.unwrap(), json!({"id": "1"}));
        let failed = read_json(answer(200, Some("5"), b"no build 1\n")).unwrap_err();
        assert_eq!(failed.to_string(), "Service answers NOT_FOUND: no build 1");
        assert!(failed.is_not_found() && !failed.is_transient());
    }

    #[test]
    fn without_a_code_it_is_trouble_on_the_way() {
        let away = read_json(answer(502, None, b"<html>Bad gateway</html>")).unwrap_err();
        assert!(matches!(away, ServiceError::Status { status: 502, .. }));
        assert!(away.is_transient());
        let other = read_json(answer(404, None, b"")).unwrap_err();
        assert!(!other.is_transient(), "{other}");
        let page = read_json(answer(200, None, b")]}'\n{}")).unwrap_err();
        assert!(matches!(page, ServiceError::Unreadable { .. }));
    }

    proptest! {
        #[test]
        fn any_message_comes_back(text in ".*", number: i64, codeless: bool) {
            let message = json!({"text": text, "number": number});
            let mut body = GUARD.to_vec();
            body.extend(serde_json::to_vec(&message).unwrap());
            let read = read_json(answer(200, (!codeless).then_some("0"), &body));
            prop_assert_eq!(read.ok(), (!codeless).then_some(message));
        }

        #[test]
        fn any_answer_has_a_meaning(
            status in 100_u16..1000, code in proptest::option::of("[ -~]{0,4}"),
            body in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let is_ok = code.as_deref().is_some_and(|code| code.trim().parse() == Ok(0_u32));
            match read_json(answer(status, code.as_deref(), &body)) {
                Ok(_) => prop_assert!(is_ok && body.starts_with(GUARD)),
                // One line, and short.
                Err(error) => {
                    let text = error.to_string();
                    prop_assert!(!text.contains('\n') && text.chars().count() < 600, "{text}");
                }
            }
        }

        #[test]
        fn only_three_codes_are_transient(code in 1_u32..40, status in 200_u16..600) {
            let error = read_json(answer(status, Some(&code.to_string()), b"why")).unwrap_err();
            prop_assert_eq!(error.is_transient(), [2, 13, 14].contains(&code));
        }
    }
}
