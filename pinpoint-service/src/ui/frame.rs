//! The frame of each page: its head, the ways to other pages, and the headers of the answer.

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use maud::{DOCTYPE, Markup, html};
use pinpoint_report::clean;

use super::assets::path;
use super::view::View;
use crate::api::access::Right;

/// Nothing from others, and nothing in the page itself: text that slipped through every other net
/// could neither run, nor fetch, nor look like a part of the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// A part of the page that the frame leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Jobs,
    New,
    Bots,
    Workers,
    Account,
    Admin,
}

/// The parts that everybody who may see jobs finds in the frame.
const SECTIONS: [(Section, &str, &str); 3] = [
    (Section::Jobs, "/", "Jobs"),
    (Section::Bots, "/bots", "Bots"),
    (Section::Workers, "/workers", "Workers"),
];

/// A whole page.
pub(super) fn page(view: &View, section: Section, title: &str, main: &Markup) -> Response {
    let header = header(view, Some(section));
    answer(StatusCode::OK, title, view.theme(), &header, main)
}

/// A page outside of all sections, such as an error. Anonymous visitors get no links.
pub(super) fn outside(
    view: Option<&View>,
    status: StatusCode,
    title: &str,
    main: &Markup,
) -> Response {
    match view {
        Some(view) => answer(status, title, view.theme(), &header(view, None), main),
        None => bare(status, None, title, main),
    }
}

fn header(view: &View, section: Option<Section>) -> Markup {
    let link = |its: Section, path: &str, name: &str| {
        html! { a href=(path) aria-current=[(Some(its) == section).then_some("page")] { (name) } }
    };
    html! {
        nav aria-label="Pages" {
            a.home href="/" { "Pinpoint" }
            @if view.may(Right::See) {
                @for (its, path, name) in SECTIONS { (link(its, path, name)) }
            }
            @if view.may(Right::Create) { (link(Section::New, "/new", "New job")) }
            @if view.may(Right::ReadAudit) { (link(Section::Admin, "/admin", "Administration")) }
        }
        @if view.may(Right::See) {
            (link(Section::Account, "/account", &clean(view.user())))
        }
        // Visitors without rights may want to sign in as another user.
        @if view.has_session() {
            form method="post" action="/sign-out" {
                (view.form_token())
                button.link { "Sign out" }
            }
        }
    }
}

/// A page that anybody may see.
pub(super) fn bare(
    status: StatusCode,
    theme: Option<&str>,
    title: &str,
    main: &Markup,
) -> Response {
    let header = html! { nav aria-label="Pages" { a.home href="/" { "Pinpoint" } } };
    answer(status, title, theme, &header, main)
}

/// A page with this header.
fn answer(
    status: StatusCode,
    title: &str,
    theme: Option<&str>,
    header: &Markup,
    main: &Markup,
) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – Pinpoint" }
                link rel="icon" href=(path("icon.svg"));
                link rel="stylesheet" href=(path("style.css"));
                script type="module" src=(path("page.js")) {}
            }
            body {
                a.skip href="#main" { "Skip to content" }
                header.frame { (header) }
                p.soft #connection role="status" {}
                main #main tabindex="-1" { (main) }
            }
        }
    };
    (status, headers(), page.into_string()).into_response()
}

/// A part of a page, which a script puts into it.
pub(super) fn fragment(part: &Markup) -> Response {
    (headers(), part.0.clone()).into_response()
}

fn headers() -> [(HeaderName, HeaderValue); 5] {
    [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        // Pages of one user must not be cached for another.
        (header::CACHE_CONTROL, "private, no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
    ]
    .map(|(name, value)| (name, HeaderValue::from_static(value)))
}
