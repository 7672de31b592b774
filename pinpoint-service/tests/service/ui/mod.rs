//! The web page, as the HTML that a browser gets.

mod account;
mod admin;
mod bots;
mod commits;
mod compare;
mod compressed;
mod job;
mod jobs;
mod live;
mod live_list;
pub(crate) mod new;
mod people;
mod problems;
mod search;
mod simulated;
mod unsent;

use axum::body::{Body, to_bytes};
use http::{HeaderMap, Request, StatusCode};

use crate::world::World;

/// An answer to a browser.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Page {
    /// The text of a successful page.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        assert_eq!(self.headers["content-type"], "text/html; charset=utf-8");
        self.text
    }

    /// The place that it leads to.
    #[track_caller]
    pub(crate) fn leads_to(&self) -> &str {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.text);
        self.headers["location"].to_str().unwrap()
    }
}

pub(crate) const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// Asks as a browser asks for a page.
pub(crate) async fn get(world: &World, path: &str) -> Page {
    let request = Request::get(path).header("accept", BROWSER);
    sent(world, request.body(Body::empty()).unwrap()).await
}

/// Sends a form, as a browser sends it.
pub(crate) async fn post(world: &World, path: &str, fields: &[(&str, &str)]) -> Page {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    let request = Request::post(path)
        .header("accept", BROWSER)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin");
    sent(world, request.body(form.finish().into()).unwrap()).await
}

pub(crate) async fn sent(world: &World, request: Request<Body>) -> Page {
    let response = world.send(request).await;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    Page {
        status,
        headers,
        text: String::from_utf8(body.into()).unwrap(),
    }
}
