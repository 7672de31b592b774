//! A session that ends in the middle of a form: the input comes back after the sign-in.

use std::convert::Infallible;

use axum::body::Body;
use futures_util::stream;
use http::Request;

use super::people::Person;
use super::{BROWSER, Page, get, sent};
use crate::provider::Provider;
use crate::sign_in::{oidc, ways};
use crate::world::World;

const EDITOR: &str = "editor@example.org";

/// Sends a form without a session, as a browser does after its end.
async fn without_session(world: &World, path: &str, fields: &[(&str, &str)]) -> Page {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("form_token", "of a session that has ended");
    form.extend_pairs(fields);
    let request = Request::post(path)
        .header("accept", BROWSER)
        .header("host", "pinpoint.example.org")
        // Of a long address, a browser sends the host alone.
        .header("referer", "https://pinpoint.example.org/")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin");
    sent(world, request.body(form.finish().into()).unwrap()).await
}

/// The value of a hidden field.
fn field<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let field = format!(r#"<input type="hidden" name="{name}" value=""#);
    page.split(&field).nth(1)?.split('"').next()
}

#[tokio::test]
async fn what_was_typed_is_in_the_form_again() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let person = Person::new(&world, EDITOR).await;
    let name = "Since <Monday> & \u{5d0}\u{5d1} \u{1f600}";
    let form = person.get("/new").await.ok();
    assert_eq!(field(&form, "form_user"), Some(EDITOR));
    for (path, typed, shown) in [
        (
            "/new?kind=try&name=old",
            [("kind", "try"), ("name", name), ("base", "HEAD")],
            "value=\"Since &lt;Monday&gt; &amp; \u{5d0}\u{5d1} \u{1f600}\"",
        ),
        (
            "/account/tokens",
            [("name", "nightly"), ("may_see", "on"), ("days", "90")],
            "name=\"may_see\" checked",
        ),
    ] {
        let fields = [
            &[("form_user", EDITOR), ("key", "k"), ("do", "make")],
            &typed[..],
        ]
        .concat();
        let refused = without_session(&world, path, &fields).await;
        assert_eq!(refused.status, 401);
        assert!(
            refused.text.contains("What you typed is kept"),
            "{}",
            refused.text
        );
        // The values go in the body of a form, which is not logged.
        assert!(
            refused
                .text
                .contains(r#"<form method="post" action="/sign-in">"#)
        );
        assert_eq!(field(&refused.text, "form_user"), Some(EDITOR));
        let back = field(&refused.text, "return_to")
            .unwrap()
            .replace("&amp;", "&");
        for secret in ["form_token", "key=", "do=make"] {
            assert!(!back.contains(secret), "{back}");
        }
        let filled = person.get(&back).await.ok();
        assert!(filled.contains(shown), "{shown}: {filled}");
    }
}

#[tokio::test]
async fn a_form_of_an_earlier_session_has_what_was_typed_too() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let person = Person::new(&world, EDITOR).await;
    let send = async |user: &str| {
        let fields = [
            ("form_user", user),
            ("name", "typed"),
            ("form_token", "stale"),
        ];
        person.post("/new", &fields).await
    };
    let refused = send(EDITOR).await;
    assert_eq!(refused.status, 403);
    assert!(!refused.text.contains("administrator"), "{}", refused.text);
    assert!(
        refused.text.contains(r#"href="/new?name=typed""#),
        "{}",
        refused.text
    );
    // Another user's.
    let other = send("bo@example.org").await;
    assert_eq!(other.status, 403);
    assert!(!other.text.contains("name=typed"), "{}", other.text);
}

#[tokio::test]
async fn what_is_too_long_is_not_kept_and_the_page_says_so() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let send = async |name: &str| {
        let fields = [("form_user", EDITOR), ("name", name)];
        without_session(&world, "/new", &fields).await
    };
    // A thousand characters of any script.
    let longest = "\u{5d0}".repeat(1000);
    assert!(send(&longest).await.text.contains("What you typed is kept"));
    for too_long in [12_000, 50_000, 2_000_000] {
        let refused = send(&"a".repeat(too_long)).await;
        assert_eq!(refused.status, 401);
        assert!(
            refused.text.contains(r#"href="/sign-in?return_to=%2Fnew""#),
            "{}",
            refused.text
        );
        assert!(!refused.text.contains("is kept"), "{}", refused.text);
    }
    // A page with a long address can be returned to as well.
    let long = format!("/new?name={}", "a".repeat(5000));
    let refused = get(&world, &long).await;
    assert_eq!(field(&refused.text, "return_to"), Some(&*long));
    assert_eq!(field(&refused.text, "form_user"), None);
}

/// Other bodies, or forms without a length, are passed on as they are.
#[tokio::test]
async fn what_is_no_form_is_passed_on() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let pieces = ["form_user=", EDITOR, "&name=typed"].map(Ok::<_, Infallible>);
    for (path, kind, body) in [
        (
            "/api/v2/jobs",
            "application/json",
            Body::from(r#"{"form_user": "ada"}"#),
        ),
        (
            "/new",
            "application/x-www-form-urlencoded",
            Body::from_stream(stream::iter(pieces)),
        ),
    ] {
        let request = Request::post(path)
            .header("accept", BROWSER)
            .header("content-type", kind);
        let refused = sent(&world, request.body(body).unwrap()).await;
        assert_eq!(refused.status, 401);
        assert!(!refused.text.contains("is kept"), "{}", refused.text);
        assert!(!refused.text.contains("typed\""), "{}", refused.text);
    }
}
