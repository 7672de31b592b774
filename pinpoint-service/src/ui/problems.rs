//! Errors as pages, for people: what is wrong, what to do next, and the name of the request.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, Uri, header};
use maud::{Markup, html};
use pinpoint_report::Foreign;
use tonic::Status;

use super::frame;
use crate::Service;
use crate::requests::Arrival;

/// Turns an error into a page where somebody looks at it with a browser.
pub(crate) async fn as_pages(
    State(service): State<Service>,
    request: Request,
    next: Next,
) -> Response {
    if !wants_page(request.headers()) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let id = parts.extensions.get::<Arrival>().map(|it| it.id.clone());
    let is_form = parts.method == Method::POST;
    let here = page_of(&parts);
    let response = next.run(Request::from_parts(parts, body)).await;
    let Some(told) = response.extensions().get::<Status>().cloned() else {
        return response;
    };
    let status = response.status();
    let (mut parts, _) = response.into_parts();
    let wait = parts.headers.get(header::RETRY_AFTER);
    let wait = wait.and_then(|wait| wait.to_str().ok()).map(str::to_owned);
    let problem = Problem {
        status,
        message: told.message(),
        wait: wait.as_deref(),
        here: &here,
        can_sign_in: service.sign_in.has_page(),
        is_form,
        request: id.as_deref().unwrap_or_default(),
    };
    let (title, main) = problem.page();
    let (of_page, body) = frame::bare(status, title, &main).into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    for (name, value) in &of_page.headers {
        // An answer that no cache may keep, or whose address is secret, stays so.
        let is_told = [header::CACHE_CONTROL, header::REFERRER_POLICY].contains(name);
        if !is_told || !parts.headers.contains_key(name) {
            parts.headers.insert(name, value.clone());
        }
    }
    Response::from_parts(parts, body)
}

/// Browsers ask for pages first, and programs for anything.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.trim_start().starts_with("text/html"))
}

/// The page to come back to: for a form that was sent, the one that it stands on.
fn page_of(parts: &Parts) -> String {
    let path = |uri: &Uri| uri.path_and_query().map(|it| it.as_str().to_owned());
    let page = match parts.method {
        Method::GET | Method::HEAD => path(&parts.uri),
        _ => {
            let text = |name| parts.headers.get(name).and_then(|it| it.to_str().ok());
            let form = text(header::REFERER).and_then(|it| it.parse::<Uri>().ok());
            let host = (parts.uri.authority().map(|it| it.as_str())).or(text(header::HOST));
            let is_ours = |form: &Uri| form.authority().map(|it| it.as_str()) == host;
            form.filter(is_ours).as_ref().and_then(path)
        }
    };
    // The end of a sign-in can't be come back to.
    let page = page.filter(|page| !page.starts_with("/sign-"));
    page.unwrap_or_else(|| "/".into())
}

struct Problem<'a> {
    status: StatusCode,
    message: &'a str,
    /// Seconds until it is worth another try.
    wait: Option<&'a str>,
    /// The page to come back to.
    here: &'a str,
    /// People sign in with a browser.
    can_sign_in: bool,
    /// A form was sent.
    is_form: bool,
    request: &'a str,
}

impl Problem<'_> {
    fn page(&self) -> (&'static str, Markup) {
        let (title, advice) = match self.status.as_u16() {
            401 => (
                "Sign in",
                "This page is for people who have signed in. Ask the operator how that is done here.",
            ),
            403 => (
                "Not allowed",
                "Ask an administrator for access, or somebody who has it to do this.",
            ),
            404 => ("Not found", "Look for it in the list of jobs."),
            405 => (
                "Method not allowed",
                "Go back and use the buttons on the page.",
            ),
            429 => ("Too many requests", "Wait, and then load the page again."),
            400 | 409 | 413 | 415 => ("Invalid request", "Go back and correct the request."),
            500 => (
                "Something went wrong",
                "The service could not answer. Tell the operator, with the name of the request.",
            ),
            _ => (
                "Temporarily unavailable",
                "Reload the page in a minute. If that does not help, give the operator the request id below.",
            ),
        };
        let can_sign_in = self.status == StatusCode::UNAUTHORIZED && self.can_sign_in;
        let page = html! {
            section.problem {
                h1 { (title) }
                p { (Foreign(self.message)) }
                @if let Some(wait) = self.wait {
                    p { "Try again in " (wait) " s." }
                }
                @if self.is_form && self.status.is_client_error() {
                    p { "Nothing was changed. What you typed was not kept here; your browser may still have it if you go back." }
                } @else if self.is_form {
                    p { "Check whether it went through before you send the form again." }
                }
                @if can_sign_in {
                    form method="get" action="/sign-in" {
                        input type="hidden" name="return_to" value=(self.here);
                        button.primary { "Sign in" }
                    }
                } @else {
                    p { (advice) }
                    p.bar {
                        @if self.status != StatusCode::NOT_FOUND {
                            a.button href=(self.here) { (if self.is_form { "Back to the form" } else { "Load again" }) }
                        }
                        a.button href="/" { "List of jobs" }
                    }
                }
                p.soft { "Request " code { (Foreign(self.request)) } }
            }
        };
        (title, page)
    }
}
