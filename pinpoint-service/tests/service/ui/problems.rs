//! Errors as pages: advice, and the name of the request.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use http::Request;
use pinpoint_service::SignIn;
use pinpoint_service::config::{Limit, LimitsConfig};

use super::people::Person;
use super::{BROWSER, Page, get, post, sent};
use crate::provider::Provider;
use crate::sign_in::{oidc, ways};
use crate::world::{BOTS, World};

/// Checks for an error with advice, and the name of its request.
#[track_caller]
fn is_problem(page: &Page, status: u16, title: &str, advice: &str) {
    assert_eq!(page.status.as_u16(), status, "{}", page.text);
    let id = page.headers["x-request-id"].to_str().unwrap();
    for shown in [format!("<h1>{title}</h1>").as_str(), advice, id] {
        assert!(page.text.contains(shown), "{shown}: {}", page.text);
    }
    assert!(page.headers.contains_key("content-security-policy"));
}

#[tokio::test]
async fn each_error_says_what_to_do() {
    let world = World::new("ada").await;
    is_problem(
        &get(&world, "/nowhere").await,
        404,
        "Not found",
        "List of jobs",
    );
    is_problem(
        &get(&world, "/?size=7").await,
        400,
        "Invalid request",
        "Check the address.",
    );
    is_problem(
        &post(&world, "/workers", &[]).await,
        405,
        "Method not allowed",
        "buttons",
    );
    let far = Request::get("/")
        .header("accept", BROWSER)
        .header("host", "evil.example");
    let far = sent(&world, far.body(Body::empty()).unwrap()).await;
    is_problem(&far, 403, "Not allowed", "administrator");
    // A store that is away.
    world.store.clone().close().await;
    let away = get(&world, "/workers").await;
    is_problem(
        &away,
        503,
        "Temporarily unavailable",
        r#"<a class="button" href="/workers">Reload</a>"#,
    );
    // Programs get the same answers as before.
    world.get("/nowhere").await.fails(404, 5);
}

#[tokio::test]
async fn one_too_many_says_when_to_try_again() {
    let limits = LimitsConfig {
        requests_a_minute: Limit::new(1),
        ..LimitsConfig::none()
    };
    let world = World::limited(SignIn::Nobody("ada".into()), BOTS, limits).await;
    get(&world, "/workers").await.ok();
    let refused = get(&world, "/workers").await;
    is_problem(
        &refused,
        429,
        "Too many requests",
        "try again in 60 seconds.",
    );
    assert_eq!(refused.headers["retry-after"], "60");
    // The page looks like the others: its style belongs to no user's request.
    let style = refused.text.split(r#"rel="stylesheet" href=""#).nth(1);
    let style = style.unwrap().split('"').next().unwrap();
    assert_eq!(get(&world, style).await.status, 200);
}

/// `//` begins an address of another host.
#[tokio::test]
async fn no_error_leads_to_another_host() {
    let limits = LimitsConfig {
        requests_a_minute: Limit::new(1),
        ..LimitsConfig::none()
    };
    let world = World::limited(SignIn::Nobody("ada".into()), BOTS, limits).await;
    get(&world, "/workers").await.ok();
    let request = Request::get("http://localhost//evil.example/x").header("accept", BROWSER);
    let refused = sent(&world, request.body(Body::empty()).unwrap()).await;
    is_problem(
        &refused,
        429,
        "Too many requests",
        r#"<a class="button" href="/">"#,
    );
    assert!(!refused.text.contains("evil.example"), "{}", refused.text);
}

#[tokio::test]
async fn one_too_many_of_an_address_is_a_page_too() {
    let limits = LimitsConfig {
        address_requests_a_minute: Limit::new(1),
        ..LimitsConfig::none()
    };
    let world = World::limited(SignIn::Nobody("ada".into()), BOTS, limits).await;
    let ask = async || {
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        let request = Request::get("/workers").header("accept", BROWSER);
        let request = request.extension(ConnectInfo(peer));
        sent(&world, request.body(Body::empty()).unwrap()).await
    };
    ask().await.ok();
    is_problem(&ask().await, 429, "Too many requests", "Reload");
}

#[tokio::test]
async fn an_error_looks_like_the_other_pages_of_its_reader() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let person = Person::new(&world, "editor@example.org").await;
    let kept = person
        .post("/account/preferences", &[("theme", "dark")])
        .await;
    assert_eq!(kept.leads_to(), "/account");
    let absent = person.get("/nowhere").await;
    is_problem(&absent, 404, "Not found", r#"data-theme="dark""#);
    for part in [
        r#"href="/bots""#,
        r#"href="/account""#,
        r#"action="/sign-out""#,
    ] {
        assert!(absent.text.contains(part), "{part}: {}", absent.text);
    }
    let stranger = get(&world, "/nowhere").await;
    assert!(
        !stranger.text.contains(r#"href="/bots""#),
        "{}",
        stranger.text
    );
    let out = person.post("/sign-out", &[]).await.ok();
    assert!(out.contains(r#"data-theme="dark""#), "{out}");
}

#[tokio::test]
async fn a_stranger_signs_in_and_comes_back() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let leads_to = |page: &Page, to: &str| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let link = query.append_pair("return_to", to).finish();
        is_problem(page, 401, "Sign in", &format!(r#"href="/sign-in?{link}""#));
    };
    let stranger = get(&world, "/workers?a=1&b=%22").await;
    leads_to(&stranger, "/workers?a=1&b=%22");
    assert!(!stranger.text.contains("typed"), "{}", stranger.text);
    // A form without input leads to its page, whatever its origin.
    for (form, page) in [
        ("/account/tokens", "/account"),
        ("/account/tokens/revoke", "/account"),
        ("/jobs/a%2Fb/pause", "/jobs/a%2Fb"),
        ("/jobs/ab/cancel", "/jobs/ab/cancel"),
        ("/admin/verify", "/admin"),
        ("/view", "/"),
        ("/new?name=a", "/new"),
    ] {
        let request = Request::post(form)
            .header("accept", BROWSER)
            .header("host", "pinpoint.example.org")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("referer", "https://pinpoint.example.org/workers");
        let refused = sent(&world, request.body("name=a".into()).unwrap()).await;
        leads_to(&refused, page);
        assert!(
            refused.text.contains("Nothing was changed."),
            "{}",
            refused.text
        );
    }
    // A callback without a sign-in: no cache keeps it, and its address goes nowhere.
    let failed = get(&world, "/sign-in/callback?code=secret&state=forged").await;
    leads_to(&failed, "/");
    assert_eq!(failed.headers["cache-control"], "no-store");
    assert_eq!(failed.headers["referrer-policy"], "no-referrer");
    assert!(!failed.text.contains("secret"), "{}", failed.text);
    // Without sign-in by a browser, there is no button.
    let tokens = World::with(SignIn::Tokens).await;
    let page = get(&tokens, "/").await;
    is_problem(&page, 401, "Sign in", "Ask the operator");
    assert!(!page.text.contains("/sign-in"), "{}", page.text);
}

#[tokio::test]
async fn a_person_signs_out_and_is_led_back() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let person = Person::new(&world, "editor@example.org").await;
    assert!(
        person
            .get("/account")
            .await
            .ok()
            .contains(r#"action="/sign-out""#)
    );
    let page = person.post("/sign-out", &[]).await;
    assert_eq!(page.headers["cache-control"], "no-store");
    let cookie = page.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("Max-Age=0"), "{cookie}");
    let text = page.ok();
    assert!(text.contains("<h1>Signed out</h1>") && text.contains(r#"href="/sign-in""#));
    assert_eq!(person.get("/account").await.status, 401);
    // Without a place to return to, a sign-in leads to the list: its end is tested there.
    let begun = get(&world, "/sign-in").await;
    assert!(begun.leads_to().contains("/authorize"), "{begun:?}");
}
