//! Errors as pages, for people: the problem, the next step, and the name of the request.

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};
use maud::{Markup, html};
use pinpoint_report::{Foreign, clean};
use tonic::Status;
use tonic_types::StatusExt;

use super::frame;
use super::unsent::{self, Unsent};
use super::view::{FORM_USER, View};
use crate::api::rest;
use crate::auth::sign_in::{EarlierSession, is_local};
use crate::state::Service;
use crate::transport::requests::{Arrival, User};

/// The longest address of a page that a link to the sign-in has in its own.
const LONGEST_IN_LINK: usize = 2048;

/// Tells whether a page can be opened at a path of the table of pages. That table lists handlers,
/// which import this module.
pub(crate) type IsPage = fn(&str) -> bool;

/// Turns an error into a page if a browser shows it.
pub(crate) async fn as_pages(
    State((service, is_page)): State<(Service, IsPage)>,
    request: Request,
    next: Next,
) -> Response {
    if !wants_page(request.headers()) {
        return next.run(request).await;
    }
    let read = tokio::time::timeout(service.limits.deadline(), unsent::read_form(request));
    let Ok(Some((request, unsent))) = read.await else {
        let lost = Status::invalid_argument("the form was not received completely; send it again");
        return rest::Problem::from(lost).into_response();
    };
    let (parts, body) = request.into_parts();
    let id = parts.extensions.get::<Arrival>().map(|it| it.id.clone());
    let is_form = parts.method == Method::POST;
    let here = page_of(&parts, is_page);
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
        is_of_earlier_session: parts.extensions.get::<EarlierSession>().is_some(),
        request: id.as_deref().unwrap_or_default(),
    };
    let (title, main) = problem.page();
    let view = View::from_extensions(&service, &parts.extensions).await;
    let page = frame::outside(view.as_ref(), status, title, &main);
    let (of_page, body) = page.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    for (name, value) in &of_page.headers {
        // Headers that forbid caching, or hide the address, are kept.
        let is_told = [header::CACHE_CONTROL, header::REFERRER_POLICY].contains(name);
        if !is_told || !parts.headers.contains_key(name) {
            parts.headers.insert(name, value.clone());
        }
    }
    Response::from_parts(parts, body)
}

/// Returns true if HTML is accepted first: browsers do that, and programs accept anything.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.trim_start().starts_with("text/html"))
}

/// The page to return to: for a form, the one that contains it.
fn page_of(parts: &Parts, is_page: IsPage) -> String {
    let page = match parts.method {
        Method::GET | Method::HEAD => parts.uri.path_and_query().map(|it| it.as_str()),
        _ => page_of_form(parts, is_page),
    };
    // Nobody can return to the end of a sign-in.
    let page = page.filter(|page| is_local(page) && !page.starts_with("/sign-"));
    page.unwrap_or("/").to_owned()
}

/// A form is sent to the address of its page, or to one below it. `Referer` would not tell them
/// apart: of a long address, browsers send only the host.
fn page_of_form(parts: &Parts, is_page: IsPage) -> Option<&str> {
    let mut route = parts.extensions.get::<MatchedPath>()?.as_str();
    let mut path = parts.uri.path();
    while !is_page(route) {
        route = route.rsplit_once('/')?.0;
        path = path.rsplit_once('/')?.0;
    }
    Some(path)
}

/// The error of a list, for people, who know nothing of page tokens.
pub(super) fn of_list(status: Status) -> Status {
    let details = status.get_error_details();
    let mut fields = { details.bad_request().into_iter() }.flat_map(|it| &it.field_violations);
    match fields.any(|it| it.field == "page_token") {
        true => Status::invalid_argument(
            "this page of the list no longer exists; start again from the first page",
        ),
        false => status,
    }
}

/// An error's message as a sentence: messages begin in lower case and have no full stop. A first
/// word that is not plain, such as a field, a path or a host, stays as it is.
pub(super) fn sentence(message: &str) -> String {
    let word = message.split(' ').next().unwrap_or_default();
    let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase());
    let mut text: String = match message.split_at_checked(1) {
        Some((first, rest)) if is_plain => first.to_ascii_uppercase() + rest,
        _ => message.to_owned(),
    };
    let is_one_line = !text.contains('\n');
    if is_one_line && text.ends_with(|last: char| !".!?…:".contains(last)) {
        text.push('.');
    }
    text
}

struct Problem<'a> {
    status: StatusCode,
    message: &'a str,
    /// The seconds until another try.
    wait: Option<&'a str>,
    /// The page to return to.
    here: &'a str,
    /// The input of the form that was sent.
    unsent: Option<&'a Unsent>,
    /// The page to return to, with the input.
    filled: Option<String>,
    /// People sign in with a browser.
    can_sign_in: bool,
    /// A form was sent.
    is_form: bool,
    /// Its page is one of an earlier session.
    is_of_earlier_session: bool,
    request: &'a str,
}

impl Problem<'_> {
    fn page(&self) -> (&'static str, Markup) {
        let (title, advice) = match self.status.as_u16() {
            401 => (
                "Sign in",
                "You need to sign in to see this page. Ask the operator how to do that.",
            ),
            403 if self.is_of_earlier_session => (
                "Sent from an older page",
                "You have signed in again since then. Load the page again, and send the form once more.",
            ),
            403 => (
                "Not allowed",
                "Ask an administrator for access, or ask someone who has access to do this for you.",
            ),
            404 => (
                "Not found",
                "Check the address, or look in the list of jobs.",
            ),
            405 => (
                "Method not allowed",
                "Go back and use the buttons on the page.",
            ),
            // Its message says when to try again.
            429 => ("Too many requests", ""),
            400 | 409 | 413 | 415 => (
                "Invalid request",
                match (self.is_form, self.unsent) {
                    (true, Some(_)) => "Correct the form and send it again.",
                    (true, None) => "Reload the page to see its current state.",
                    (false, _) => "Check the address.",
                },
            ),
            500 => (
                "Something went wrong",
                "The service could not answer. Report this to the operator, with the request ID below.",
            ),
            _ => (
                "Temporarily unavailable",
                "Reload the page in a minute. If that does not help, report it to the operator, with the request ID below.",
            ),
        };
        let can_sign_in = self.status == StatusCode::UNAUTHORIZED && self.can_sign_in;
        let page = html! {
            section.problem {
                h1 { (title) }
                p { (Foreign(&sentence(self.message))) }
                @if let Some(wait) = self.wait.filter(|_| !advice.is_empty()) {
                    p { "Try again in " (wait) " s." }
                }
                @if self.is_form && self.status.is_client_error() {
                    p { "Nothing was changed. " (self.kept()) }
                } @else if self.is_form {
                    p { "The form may have been processed. Check that before you send it again." }
                }
                @if can_sign_in {
                    (self.sign_in())
                } @else {
                    @if !advice.is_empty() { p { (advice) } }
                    p.bar {
                        @if self.status != StatusCode::NOT_FOUND {
                            a.button href=(self.back()) { (self.way_back()) }
                        }
                        a.button href="/" { "List of jobs" }
                    }
                }
                p.soft { "Request ID: " code { (Foreign(self.request)) } }
            }
        };
        (title, page)
    }

    /// The page to return to, as it was left.
    fn back(&self) -> &str {
        self.filled.as_deref().unwrap_or(self.here)
    }

    fn way_back(&self) -> &'static str {
        match (self.is_form, self.unsent) {
            (true, Some(_)) => "Back to the form",
            (true, None) => "Back to the page",
            (false, _) => "Reload",
        }
    }

    fn kept(&self) -> &'static str {
        match (self.status.as_u16(), self.unsent, &self.filled) {
            (401, _, Some(_)) => "What you typed is kept. Sign in to continue with the form.",
            (_, _, Some(_)) => "What you typed is kept. Go back to the form to continue.",
            (_, Some(_), None) => {
                "What you typed is too long to keep. Your browser may still have it if you go back."
            }
            (_, None, None) => "",
        }
    }

    /// The link to the sign-in. A form can't lead there: the content security policy holds for the
    /// redirects after it, too. Private input is sent as a form, and another page leads on.
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
                    input type="hidden" name=(FORM_USER) value=(clean(&unsent.user));
                }
                button.primary { "Sign in" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_sentence() {
        for (message, expected) in [
            ("this field is required", "This field is required."),
            ("enter a time like 90s!", "Enter a time like 90s!"),
            ("Written as one.", "Written as one."),
            ("sort: choose one of a, b", "sort: choose one of a, b."),
            ("example.org refuses", "example.org refuses."),
            ("two lines:\na: b", "Two lines:\na: b"),
            ("é is a letter", "é is a letter."),
            ("", ""),
        ] {
            assert_eq!(sentence(message), expected);
        }
    }
}
