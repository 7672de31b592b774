//! Errors as pages, for people: what is wrong, what to do next, and the name of the request.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
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
    let id = request
        .extensions()
        .get::<Arrival>()
        .map(|it| it.id.clone());
    let here = request
        .uri()
        .path_and_query()
        .map(|it| it.as_str().to_owned());
    let response = next.run(request).await;
    let Some(told) = response.extensions().get::<Status>().cloned() else {
        return response;
    };
    let status = response.status();
    let (mut parts, _) = response.into_parts();
    let wait = parts.headers.get(header::RETRY_AFTER);
    let wait = wait.and_then(|wait| wait.to_str().ok()).map(str::to_owned);
    let sign_in = (status == StatusCode::UNAUTHORIZED && service.sign_in.has_page())
        .then(|| here.unwrap_or_else(|| "/".into()));
    let problem = Problem {
        status,
        message: told.message(),
        wait: wait.as_deref(),
        sign_in: sign_in.as_deref(),
        request: id.as_deref().unwrap_or_default(),
    };
    let (title, main) = problem.page();
    let header = html! { nav aria-label="Pages" { a.home href="/" { "Pinpoint" } } };
    let page = frame::answer(status, title, &header, &main);
    let (of_page, body) = page.into_parts();
    for gone in [
        header::CONTENT_TYPE,
        header::CONTENT_LENGTH,
        header::CACHE_CONTROL,
    ] {
        parts.headers.remove(gone);
    }
    parts.headers.extend(of_page.headers);
    Response::from_parts(parts, body)
}

/// Browsers ask for pages first, and programs for anything.
fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.trim_start().starts_with("text/html"))
}

struct Problem<'a> {
    status: StatusCode,
    message: &'a str,
    /// Seconds until it is worth another try.
    wait: Option<&'a str>,
    /// The page to come back to after a sign-in, where people sign in with a browser.
    sign_in: Option<&'a str>,
    request: &'a str,
}

impl Problem<'_> {
    fn page(&self) -> (&'static str, Markup) {
        let (title, advice) = match self.status.as_u16() {
            401 => ("Sign in", "This page is for people who have signed in."),
            403 => (
                "Not allowed",
                "Ask somebody who may, or an administrator for the right.",
            ),
            404 => ("Not found", "Look for it in the list of jobs."),
            405 => ("Not that way", "Go back, and use the buttons of the page."),
            429 => ("Too much", "Wait, and reload the page."),
            400 | 409 | 413 | 415 => ("Not possible", "Go back, and change what was sent."),
            _ => (
                "Not now",
                "Reload the page. If that does not help, tell the operator.",
            ),
        };
        let page = html! {
            section.problem {
                h1 { (title) }
                p { (Foreign(self.message)) }
                @if let Some(wait) = self.wait {
                    p { "Try again in " (wait) " s." }
                }
                @match self.sign_in {
                    Some(here) => {
                        form method="get" action="/sign-in" {
                            input type="hidden" name="return_to" value=(here);
                            button { "Sign in" }
                        }
                    }
                    None => p { (advice) }
                }
                p.soft { "Request " code { (Foreign(self.request)) } }
            }
        };
        (title, page)
    }
}
