//! A person with a session, who looks at pages and sends their forms.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use pinpoint_service::form_token;

use super::{BROWSER, Page, sent};
use crate::world::World;

pub(crate) struct Person<'a> {
    world: &'a World,
    session: String,
}

impl<'a> Person<'a> {
    /// A user who has signed in, at a service for browsers.
    pub(crate) async fn new(world: &'a World, user: &str) -> Self {
        let length = Duration::from_secs(600);
        let session = world
            .store
            .sessions()
            .begin(user, &[], length, None, None)
            .await
            .unwrap();
        let session = session.as_str().to_owned();
        Self { world, session }
    }

    pub(crate) async fn get(&self, path: &str) -> Page {
        let request = self.request(Request::get(path));
        sent(self.world, request.body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("form_token", &form_token(&self.session));
        form.extend_pairs(fields);
        let request = self
            .request(Request::post(path))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin");
        sent(self.world, request.body(form.finish().into()).unwrap()).await
    }

    fn request(&self, request: http::request::Builder) -> http::request::Builder {
        let cookie = format!("__Host-pinpoint={}", self.session);
        request.header("accept", BROWSER).header("cookie", cookie)
    }
}
