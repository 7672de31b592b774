//! The pages at the beginning of a session, and after its end.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use maud::html;

use super::frame;

/// The page that leads to the provider's. A form can't: the content security policy holds for the
/// redirects after it, too, and a provider may lead to any other.
pub(crate) fn signing_in(provider: &str) -> Response {
    let main = html! {
        section.problem {
            h1 { "Sign in" }
            p { "Your browser will open the sign-in page." }
            p { a.button.primary href=(provider) { "Continue" } }
        }
    };
    let mut page = frame::bare(StatusCode::OK, None, "Sign in", &main);
    if let Ok(to) = HeaderValue::try_from(format!("0; url={provider}")) {
        page.headers_mut().insert(header::REFRESH, to);
    }
    page
}

/// The page after a sign-out, in the theme of the former user.
pub(crate) fn signed_out(theme: Option<&str>) -> Response {
    let main = html! {
        section.problem {
            h1 { "Signed out" }
            p { "You have signed out in this browser." }
            p { a.button href="/sign-in" { "Sign in again" } }
        }
    };
    frame::bare(StatusCode::OK, theme, "Signed out", &main)
}
