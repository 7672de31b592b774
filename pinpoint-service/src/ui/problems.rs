//! Errors as pages, for people: what is wrong, what to do next, and the name of the request.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, Uri, header};
use maud::{Markup, html};
use pinpoint_report::{Foreign, clean};
use tonic::Status;

use super::frame;
use super::unsent::{self, Unsent};
use crate::requests::{Arrival, User};
use crate::{Service, rest};

/// The longest address of a page that a link to the sign-in has in its own.
const LONGEST_IN_LINK: usize = 2048;

/// Turns an error into a page where somebody looks at it with a browser.
pub(crate) async fn as_pages(
    State(service): State<Service>,
    request: Request,
    next: Next,
) -> Response {
    if !wants_page(request.headers()) {
        return next.run(request).await;
    }
    let read = tokio::time::timeout(service.limits.deadline(), unsent::of(request));
    let Ok(Some((request, unsent))) = read.await else {
        let lost = Status::invalid_argument("the form did not arrive as a whole");
        return rest::Problem::from(lost).into_response();
    };
    let (parts, body) = request.into_parts();
    let id = parts.extensions.get::<Arrival>().map(|it| it.id.clone());
    let is_form = parts.method == Method::POST;
    let here = page_of(&parts);
    let response = next.run(Request::from_parts(parts, body)).await;
    let Some(told) = response.extensions().get::<Status>().cloned() else {
        return response;
    };
    let status = response.status();
    let user = response.extensions().get::<User>();
    let unsent = unsent.filter(|it| it.is_for(user.map(|user| &*user.0)));
    let (mut parts, _) = response.into_parts();
    let wait = parts.headers.get(header::RETRY_AFTER);
    let wait = wait.and_then(|wait| wait.to_str().ok()).map(str::to_owned);
    let problem = Problem {
        status,
        message: told.message(),
        wait: wait.as_deref(),
        filled: unsent.as_ref().and_then(|it| it.address(&here)),
        unsent: unsent.as_ref(),
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
    /// What was typed into the form that was sent.
    unsent: Option<&'a Unsent>,
    /// The page to come back to with what was typed.
    filled: Option<String>,
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
                    p { "Nothing was changed. " (self.kept()) }
                } @else if self.is_form {
                    p { "Check whether it went through before you send the form again." }
                }
                @if can_sign_in {
                    (self.sign_in())
                } @else {
                    p { (advice) }
                    p.bar {
                        @if self.status != StatusCode::NOT_FOUND {
                            a.button href=(self.back()) { (if self.is_form { "Back to the form" } else { "Load again" }) }
                        }
                        a.button href="/" { "List of jobs" }
                    }
                }
                p.soft { "Request " code { (Foreign(self.request)) } }
            }
        };
        (title, page)
    }

    /// The page to come back to, as it was left.
    fn back(&self) -> &str {
        self.filled.as_deref().unwrap_or(self.here)
    }

    fn kept(&self) -> &'static str {
        match (self.status.as_u16(), self.unsent, &self.filled) {
            (401, _, Some(_)) => "What you typed is kept: sign in, and the form has it again.",
            (_, _, Some(_)) => "What you typed is kept: the form has it again.",
            (_, Some(_), None) => {
                "What you typed is too long to be kept; your browser may still have it if you go back."
            }
            (_, None, None) => "Your browser may still have what you typed if you go back.",
        }
    }

    /// The way to the sign-in. A form can't lead there: the content security policy holds for the
    /// redirects after it, too. What an address should not have is sent, and another page leads on.
    fn sign_in(&self) -> Markup {
        let back = self.back();
        if self.filled.is_none() && back.len() <= LONGEST_IN_LINK {
            let mut query = form_urlencoded::Serializer::new(String::new());
            let link = query.append_pair("return_to", back).finish();
            return html! { p { a.button.primary href=(format!("/sign-in?{link}")) { "Sign in" } } };
        }
        html! {
            form method="post" action="/sign-in" {
                input type="hidden" name="return_to" value=(back);
                @if let Some(unsent) = self.unsent {
                    input type="hidden" name=(unsent::USER) value=(clean(&unsent.user));
                }
                button.primary { "Sign in" }
            }
        }
    }
}
