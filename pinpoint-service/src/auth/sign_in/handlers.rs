//! The pages of a sign-in: its start, the way back from the provider, and the end of a session.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, header};
use pinpoint_backends::store::SIGN_IN;
use reqwest::Url;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use tonic::{Code, Status};

use super::cookies::{self, BROWSER, SESSION};
use super::local_path::is_local;
use super::oidc::{Oidc, strange};
use crate::api::grpc::errors;
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::auth::caller::{Context, is_same};
use crate::state::Service;
use crate::ui;

/// The default path that a sign-in leads to.
const HOME: &str = "/";

/// The state of a sign-in under way.
#[derive(Serialize, Deserialize)]
struct UnderWay {
    /// The hash of the browser's cookie.
    browser: String,
    /// PKCE's secret.
    verifier: String,
    nonce: String,
    return_to: String,
    /// The user whose form the query of that path fills in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    form_user: Option<String>,
}

impl UnderWay {
    /// The path for the user who has signed in, without input of another user.
    fn leads_to(&self, user: &str) -> &str {
        match &self.form_user {
            Some(other) if !is_same(other, user) => {
                let path = self.return_to.split('?').next();
                path.unwrap_or(HOME)
            }
            _ => &self.return_to,
        }
    }
}

/// GET `/sign-in`: sends the browser to the provider.
pub(crate) async fn begin(State(service): State<Service>, parts: Parts) -> Response {
    let begun = async {
        let query = Query::from_uri(&parts.uri)?;
        let (url, cookie) = begun(&service, &parts.headers, query).await?;
        Ok(redirect(url.as_str(), cookie))
    };
    answer(begun.await)
}

/// POST `/sign-in`: the same, for a path that should not be in an address.
pub(crate) async fn begin_from_form(
    State(service): State<Service>,
    headers: HeaderMap,
    form: Bytes,
) -> Response {
    let begun = async {
        let form = Query::read(&form)?;
        let (url, cookie) = begun(&service, &headers, form).await?;
        let headers = [(header::SET_COOKIE, cookie)];
        Ok((headers, ui::signing_in(url.as_str())).into_response())
    };
    answer(begun.await)
}

/// Begins a sign-in that leads where a form says: the provider's page, and the cookie for the
/// browser that is sent there.
async fn begun(
    service: &Service,
    headers: &HeaderMap,
    mut form: Query,
) -> Result<(Url, HeaderValue), Status> {
    let oidc = oidc(service)?;
    let return_to = form.take("return_to").unwrap_or_else(|| HOME.to_owned());
    if !is_local(&return_to) {
        return Err(Status::invalid_argument(
            "`return_to` must be a path of this service",
        ));
    }
    let metadata = oidc.provider.metadata().await?;
    let mut url = metadata.endpoint("authorization_endpoint")?;
    // Several sign-ins of a browser may be under way, in its tabs.
    let browser = match cookies::read(headers, BROWSER) {
        Some(known)
            if BASE64_URL_SAFE_NO_PAD
                .decode(known)
                .is_ok_and(|it| it.len() == 32) =>
        {
            known.to_owned()
        }
        _ => random()?,
    };
    let (verifier, nonce) = (random()?, random()?);
    let under_way = UnderWay {
        browser: hash(&browser),
        verifier,
        nonce,
        return_to,
        form_user: form.take(ui::FORM_USER),
    };
    let kept = serde_json::to_value(&under_way).unwrap_or_default();
    let state = service.store.sessions().begin_sign_in(&kept).await;
    let state = state.map_err(errors::store)?;
    url.query_pairs_mut().extend_pairs([
        ("response_type", "code"),
        ("client_id", &oidc.client),
        ("redirect_uri", oidc.callback.as_str()),
        ("scope", &oidc.scopes),
        ("state", state.as_str()),
        ("nonce", &under_way.nonce),
        ("code_challenge", &hash(&under_way.verifier)),
        ("code_challenge_method", "S256"),
    ]);
    Ok((url, cookies::set(BROWSER, &browser, SIGN_IN)))
}

/// GET `/sign-in/callback`: the provider has sent the browser back.
pub(crate) async fn finish(State(service): State<Service>, parts: Parts) -> Response {
    let finished = async {
        let oidc = oidc(&service)?;
        let mut query = Query::from_uri(&parts.uri)?;
        let state = query.take("state").ok_or_else(strange)?;
        // Once, whatever the outcome.
        let taken = service.store.sessions().take_sign_in(&state).await;
        let under_way = taken.map_err(errors::store)?.ok_or_else(strange)?;
        let under_way: UnderWay = serde_json::from_value(under_way).map_err(|_| strange())?;
        let browser = cookies::read(&parts.headers, BROWSER);
        if browser.map(hash) != Some(under_way.browser.clone()) {
            return Err(strange());
        }
        // Another provider must not answer in this one's name (RFC 9207).
        let metadata = oidc.provider.metadata().await?;
        match query.take("iss") {
            Some(issuer) if issuer != oidc.provider.issuer() => return Err(strange()),
            None if metadata.says("authorization_response_iss_parameter_supported") => {
                return Err(strange());
            }
            _ => {}
        }
        if let Some(error) = query.take("error") {
            let error: String = error
                .chars()
                .filter(char::is_ascii_graphic)
                .take(50)
                .collect();
            return Err(Status::unauthenticated(format!(
                "the identity provider refuses the sign-in ({error}); begin again at /sign-in"
            )));
        }
        let code = query.take("code").ok_or_else(strange)?;
        let person = oidc
            .person(&under_way.verifier, &under_way.nonce, &code)
            .await?;
        let context = parts.extensions.get::<Context>();
        let mut entry = context.ok_or_else(errors::no_context)?.entry(Code::Ok);
        entry.user.clone_from(&person.user);
        let begun = service.store.sessions().begin(
            &person.user,
            &person.groups,
            oidc.session,
            cookies::read(&parts.headers, SESSION),
            Some(&entry),
        );
        let session = begun.await.map_err(errors::store)?;
        let cookie = cookies::set(SESSION, session.as_str(), oidc.session);
        Ok(redirect(under_way.leads_to(&person.user), cookie))
    };
    answer(finished.await)
}

/// POST `/sign-out`: ends the session.
pub(crate) async fn end(State(service): State<Service>, parts: Parts) -> Response {
    let theme = ui::theme(&service, &parts.extensions).await;
    let ended = async {
        oidc(&service)?;
        let Some(session) = cookies::read(&parts.headers, SESSION) else {
            return Ok(());
        };
        let context = parts.extensions.get::<Context>();
        let context = context.ok_or_else(errors::no_context)?;
        // An expired session has no known user.
        let entry = (context.caller.as_ref()).map(|_| context.entry(Code::Ok));
        let ended = service.store.sessions().end(session, entry.as_ref());
        ended.await.map_err(errors::store)
    };
    let ended = ended.await;
    answer(ended.map(|()| {
        let cookie = cookies::set(SESSION, "", Duration::ZERO);
        let headers = [(header::SET_COOKIE, cookie)];
        match ui::wants_page(&parts.headers) {
            true => (headers, ui::signed_out(theme)).into_response(),
            false => (headers, "signed out\n").into_response(),
        }
    }))
}

fn oidc(service: &Service) -> Result<&Oidc, Status> {
    service.sign_in.oidc().ok_or_else(|| {
        Status::not_found("nobody signs in here with a browser: `[sign_in.oidc]` is not configured")
    })
}

/// 32 random bytes, in Base64.
fn random() -> Result<String, Status> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Status::internal("the operating system gives no random numbers"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

fn hash(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

fn redirect(to: &str, cookie: HeaderValue) -> Response {
    let headers = [(header::SET_COOKIE, cookie)];
    (headers, Redirect::to(to)).into_response()
}

/// An answer that no cache keeps, and whose address browsers do not pass on.
fn answer(result: Result<Response, Status>) -> Response {
    let mut response = match result {
        Ok(response) => response,
        Err(status) => Problem::from(status).into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nowhere = HeaderValue::from_static("no-referrer");
    headers.insert(header::REFERRER_POLICY, nowhere);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn a_challenge_is_that_of_the_specification() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(
            hash(verifier),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }
}
