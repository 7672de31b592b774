//! People with browsers: OpenID Connect.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, Response, header};
use pinpoint_service::form_token;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::signed_tokens::{by_public_key, by_stranger, unsigned};
use super::{ADA, USER, assertion, bearer, oidc, status, ways};
use crate::pinpoint::bisection;
use crate::provider::{Mood, Provider, encode, now};
use crate::world::World;

/// A browser with its cookies.
struct Browser {
    service: Router,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    fn new(service: &Router) -> Self {
        Self {
            service: service.clone(),
            cookies: BTreeMap::new(),
        }
    }

    async fn send(&mut self, request: http::request::Builder, body: String) -> Response<Body> {
        let cookies = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        let request = request
            .header(header::COOKIE, cookies)
            .body(Body::from(body));
        let response = self
            .service
            .clone()
            .oneshot(request.unwrap())
            .await
            .unwrap();
        for cookie in response.headers().get_all(header::SET_COOKIE) {
            let (pair, attributes) = cookie.to_str().unwrap().split_once("; ").unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            assert!(name.starts_with("__Host-"), "{name}");
            let (age, rest) = attributes
                .strip_prefix("Path=/; Max-Age=")
                .unwrap()
                .split_once("; ")
                .unwrap();
            assert_eq!(rest, "HttpOnly; Secure; SameSite=Lax");
            let expected = match name {
                "__Host-pinpoint" => "43200",
                _ => "600",
            };
            assert!(age == "0" || age == expected, "{name}: {age}");
            match age {
                "0" => self.cookies.remove(name),
                _ => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        response
    }

    async fn get(&mut self, path: &str) -> Response<Body> {
        self.send(Request::get(path), String::new()).await
    }

    /// Begins to sign in, and returns the parameters that the provider gets.
    async fn begin(&mut self, return_to: &str) -> BTreeMap<String, String> {
        let response = self.get(&format!("/sign-in?return_to={return_to}")).await;
        assert_eq!(response.status(), 303);
        let location: reqwest::Url = response.headers()["location"]
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        assert_eq!(location.path(), "/authorize");
        location.query_pairs().into_owned().collect()
    }

    /// The status of the answer to a callback with these parameters.
    async fn call_back(&mut self, parameters: &[(&str, &str)]) -> u16 {
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .finish();
        let response = self.get(&format!("/sign-in/callback?{query}")).await;
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["referrer-policy"], "no-referrer");
        response.status().as_u16()
    }

    /// Signs in as a user whose ID token is edited first.
    async fn sign_in(
        &mut self,
        provider: &Provider,
        user: &str,
        edit: impl FnOnce(&mut Value),
    ) -> u16 {
        let asked = self.begin("/jobs").await;
        let mut claims = provider.claims("pinpoint", user);
        claims["nonce"] = asked["nonce"].clone().into();
        edit(&mut claims);
        let code = provider.grant(&asked["code_challenge"], &provider.key.sign(&claims));
        self.call_back(&[("state", &asked["state"]), ("code", &code)])
            .await
    }

    fn session(&self) -> Option<&str> {
        self.cookies.get("__Host-pinpoint").map(String::as_str)
    }

    /// The status of the answer to "who am I".
    async fn user(&mut self) -> u16 {
        self.get(USER).await.status().as_u16()
    }
}

#[tokio::test]
async fn a_person_signs_in_and_out() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    // Another process of the same store.
    let beside = world.beside(ways(&oidc(&provider))).await;
    let mut browser = Browser::new(world.router());
    assert_eq!(browser.user().await, 401);

    let asked = browser.begin("/jobs?tab=runs").await;
    let expected = [
        ("tenant", "1"),
        ("response_type", "code"),
        ("client_id", "pinpoint"),
        (
            "redirect_uri",
            "https://pinpoint.example.org/sign-in/callback",
        ),
        ("scope", "openid email"),
        ("code_challenge_method", "S256"),
    ];
    for (name, value) in expected {
        assert_eq!(asked[name], value);
    }
    let mut claims = provider.claims("pinpoint", "Ada@Admins.example.org");
    claims["nonce"] = asked["nonce"].clone().into();
    let code = provider.grant(&asked["code_challenge"], &provider.key.sign(&claims));
    let mut query = form_urlencoded::Serializer::new(String::new());
    query
        .append_pair("state", &asked["state"])
        .append_pair("code", &code);
    let back = browser
        .get(&format!("/sign-in/callback?{}", query.finish()))
        .await;
    assert_eq!(back.status(), 303);
    assert_eq!(back.headers()["location"], "/jobs?tab=runs");
    let mut other = Browser::new(&beside);
    other.cookies.clone_from(&browser.cookies);
    assert_eq!((browser.user().await, other.user().await), (200, 200));

    // Nothing changes by a form without its token.
    let session = browser.session().unwrap().to_owned();
    let post = |path: &str, kind: &str| Request::post(path).header("content-type", kind);
    let form = "application/x-www-form-urlencoded";
    let path = "/pinpoint/v1/bisection";
    let request = bisection();
    let pairs = request.as_object().unwrap().iter();
    let pairs = pairs.filter_map(|(name, value)| Some((name, value.as_str()?)));
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish();
    let refused = browser.send(post(path, form), body.clone()).await;
    assert_eq!(refused.status(), 403);
    for (path, body) in [
        ("/sign-out", String::new()),
        (path, bisection().to_string()),
    ] {
        let refused = browser.send(Request::post(path), body).await;
        assert_eq!(refused.status(), 403);
    }
    let token = format!("form_token={}", form_token(&session));
    let made = browser
        .send(post(path, form), format!("{token}&{body}"))
        .await;
    assert_eq!(made.status(), 200);
    let made = browser
        .send(post(path, "application/json"), request.to_string())
        .await;
    assert_eq!(made.status(), 200);

    assert_eq!(
        browser.send(post("/sign-out", form), token).await.status(),
        200
    );
    assert_eq!(browser.session(), None);
    // The secret is useless now, everywhere.
    assert_eq!((browser.user().await, other.user().await), (401, 401));
    browser.cookies.insert("__Host-pinpoint".into(), session);
    assert_eq!(browser.user().await, 401);

    let expected = [
        "callback",
        "ScheduleBisection",
        "ScheduleBisection",
        "sign-out",
    ];
    let expected = expected.map(|operation| (ADA.into(), operation.into(), "ok".into()));
    assert_eq!(world.audited().await, expected);
}

#[tokio::test]
async fn a_callback_belongs_to_one_sign_in_of_one_browser() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let mut browser = Browser::new(world.router());
    let grant = |asked: &BTreeMap<String, String>| {
        let mut claims = provider.claims("pinpoint", ADA);
        claims["nonce"] = asked["nonce"].clone().into();
        provider.grant(&asked["code_challenge"], &provider.key.sign(&claims))
    };
    let asked = browser.begin("/").await;
    let (state, code) = (&*asked["state"], &*grant(&asked));
    for forged in [
        &[("code", code)][..],
        &[("code", code), ("state", "")],
        &[("code", code), ("state", "forged")],
        &[("code", code), ("state", &encode([7; 32]))],
    ] {
        assert_eq!(browser.call_back(forged).await, 401, "{forged:?}");
    }
    let twice = [("code", code), ("state", state), ("state", "forged")];
    assert_eq!(browser.call_back(&twice).await, 400);
    // They have not cost the person anything.
    assert_eq!(
        browser.call_back(&[("code", code), ("state", state)]).await,
        303
    );
    let session = browser.cookies.remove("__Host-pinpoint").unwrap();
    // The same address again, from the history of the browser.
    assert_eq!(
        browser.call_back(&[("code", code), ("state", state)]).await,
        401
    );
    // A code that was used, at the end of another sign-in.
    let again = browser.begin("/").await;
    let replayed = [("code", code), ("state", &*again["state"])];
    assert_eq!(browser.call_back(&replayed).await, 401);
    // Another user's code: PKCE's secret is not that of this sign-in.
    let (one, two) = (browser.begin("/").await, browser.begin("/").await);
    let mixed = [("code", &*grant(&one)), ("state", &*two["state"])];
    assert_eq!(browser.call_back(&mixed).await, 401);

    // A sign-in that another browser has begun, or none.
    let mut attacker = Browser::new(world.router());
    let theirs = attacker.begin("/").await;
    let lure = [("code", &*grant(&theirs)), ("state", &*theirs["state"])];
    assert_eq!(browser.call_back(&lure).await, 401);
    assert_eq!(Browser::new(world.router()).call_back(&lure).await, 401);
    assert_eq!(attacker.call_back(&lure).await, 401, "it was used");

    // The provider, or another, says no.
    let asked = browser.begin("/").await;
    let denied = [("error", "access_denied"), ("state", &*asked["state"])];
    assert_eq!(browser.call_back(&denied).await, 401);
    let asked = browser.begin("/").await;
    let code = grant(&asked);
    let elsewhere = [
        ("code", &*code),
        ("state", &*asked["state"]),
        ("iss", "https://evil.example"),
    ];
    assert_eq!(browser.call_back(&elsewhere).await, 401);
    assert_eq!(browser.session(), None);

    // Two tabs at once.
    let (one, two) = (browser.begin("/").await, browser.begin("/").await);
    for asked in [two, one] {
        let code = grant(&asked);
        let good = [("code", &*code), ("state", &*asked["state"])];
        assert_eq!(browser.call_back(&good).await, 303);
    }
    // The session before has ended with the new one of the same browser alone.
    assert!(
        world
            .store
            .sessions()
            .find(&session)
            .await
            .unwrap()
            .is_some()
    );
    let old = browser.session().unwrap().to_owned();
    assert_eq!(browser.sign_in(&provider, ADA, |_| {}).await, 303);
    assert!(world.store.sessions().find(&old).await.unwrap().is_none());
}

#[tokio::test]
async fn an_id_token_has_to_be_right_in_all_it_says() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let mut browser = Browser::new(world.router());
    let wrong: [(&str, Value); 10] = [
        ("iss", "https://evil.example".into()),
        ("aud", "api".into()),
        ("aud", json!(["pinpoint", "api"])),
        ("azp", "api".into()),
        ("nonce", Value::Null),
        ("nonce", "another".into()),
        ("exp", (now() - 60).into()),
        ("nbf", (now() + 60).into()),
        ("email_verified", false.into()),
        ("at_hash", "AAAAAAAAAAAAAAAAAAAAAA".into()),
    ];
    for (name, value) in wrong {
        let status = browser.sign_in(&provider, ADA, |claims| claims[name] = value.clone());
        assert_eq!(status.await, 401, "{name}: {value}");
        assert_eq!(browser.session(), None);
    }
    for sign in [unsigned, by_public_key, by_stranger] {
        let asked = browser.begin("/").await;
        let mut claims = provider.claims("pinpoint", ADA);
        claims["nonce"] = asked["nonce"].clone().into();
        let code = provider.grant(&asked["code_challenge"], &sign(&provider.key, &claims));
        let forged = [("code", &*code), ("state", &*asked["state"])];
        assert_eq!(browser.call_back(&forged).await, 401);
        assert_eq!(browser.session(), None);
    }
    assert_eq!(browser.sign_in(&provider, ADA, |_| {}).await, 303);
}

/// Many providers name addresses and groups there alone.
#[tokio::test]
async fn what_an_id_token_does_not_say_the_provider_is_asked_for() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let mut browser = Browser::new(world.router());
    let without = |claims: &mut Value| {
        let claims = claims.as_object_mut().unwrap();
        claims.retain(|name, _| !name.starts_with("email"));
    };
    let mut user = json!({ "sub": "1", "email": "bo@example.org", "email_verified": true, "groups": ["editors"] });
    provider.set_user(user.clone());
    assert_eq!(
        browser.sign_in(&provider, "2", without).await,
        401,
        "another user"
    );
    assert_eq!(browser.sign_in(&provider, "1", without).await, 303);
    let session = browser.session().unwrap();
    let session = world.store.sessions().find(session).await.unwrap().unwrap();
    assert_eq!(
        (&*session.user, &*session.groups),
        ("bo@example.org", &["editors".to_owned()][..])
    );
    let path = "/pinpoint/v1/bisection";
    let post = Request::post(path).header("content-type", "application/json");
    assert_eq!(
        browser.send(post, bisection().to_string()).await.status(),
        200
    );
    // The ID token has a part of it, and the provider the rest.
    let mut part = async |name: &str| {
        let found = browser.sign_in(&provider, "1", |claims| {
            claims["email"] = "bo@example.org".into();
            claims["groups"] = json!(["editors"]);
            claims.as_object_mut().unwrap().remove(name);
        });
        assert_eq!(found.await, 303, "{name}");
        let session = world
            .store
            .sessions()
            .find(browser.session().unwrap())
            .await;
        assert_eq!(session.unwrap().unwrap().groups, ["editors"], "{name}");
    };
    part("groups").await;
    part("email_verified").await;
    // It vouches for another address than that of the token.
    let other = |claims: &mut Value| {
        claims["email"] = ADA.into();
        claims.as_object_mut().unwrap().remove("email_verified");
    };
    assert_eq!(browser.sign_in(&provider, "1", other).await, 401);
    user["email_verified"] = false.into();
    provider.set_user(user);
    assert_eq!(browser.sign_in(&provider, "1", without).await, 401);
}

/// Two users of one browser, and the input of one of them.
#[tokio::test]
async fn what_was_typed_comes_back_to_its_user_alone() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let mut browser = Browser::new(world.router());
    let mut sign_in = async |user: &str, form_user: &str| {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("return_to", "/new?name=typed");
        form.append_pair("form_user", form_user);
        let post = Request::post("/sign-in")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin");
        // An existing session does not matter.
        let begun = browser.send(post, form.finish()).await;
        assert_eq!(begun.status(), 200);
        assert_eq!(begun.headers()["cache-control"], "no-store");
        assert_eq!(begun.headers()["referrer-policy"], "no-referrer");
        let refresh = begun.headers()["refresh"].to_str().unwrap();
        assert!(!refresh.contains("typed"), "{refresh}");
        let to: reqwest::Url = refresh.strip_prefix("0; url=").unwrap().parse().unwrap();
        let asked: BTreeMap<String, String> = to.query_pairs().into_owned().collect();
        let mut claims = provider.claims("pinpoint", user);
        claims["nonce"] = asked["nonce"].clone().into();
        let code = provider.grant(&asked["code_challenge"], &provider.key.sign(&claims));
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("state", &asked["state"])
            .append_pair("code", &code);
        let query = query.finish();
        let back = browser.get(&format!("/sign-in/callback?{query}")).await;
        assert_eq!(back.status(), 303);
        back.headers()["location"].to_str().unwrap().to_owned()
    };
    assert_eq!(
        sign_in(ADA, "Ada@admins.example.org").await,
        "/new?name=typed"
    );
    assert_eq!(sign_in(ADA, "bo@example.org").await, "/new");
    // A page of another site does not begin it.
    let post = Request::post("/sign-in")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "cross-site");
    let refused = browser.send(post, "return_to=/new".into()).await;
    assert_eq!(refused.status(), 403);
}

#[tokio::test]
async fn a_sign_in_leads_nowhere_else_and_a_session_ends_by_itself() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let mut browser = Browser::new(world.router());
    for evil in [
        "//evil.example",
        "/%5Cevil.example",
        "https://evil.example",
        "/%09/evil.example",
        "javascript:alert(1)",
        "+//evil.example",
        "/a&return_to=/b",
    ] {
        let response = browser.get(&format!("/sign-in?return_to={evil}")).await;
        assert_eq!(response.status(), 400, "{evil}");
    }
    let ended = world
        .store
        .sessions()
        .begin(ADA, &[], Duration::ZERO, None, None)
        .await
        .unwrap();
    browser
        .cookies
        .insert("__Host-pinpoint".into(), ended.as_str().into());
    assert_eq!(browser.user().await, 401);
    // Healthy for everybody, whatever they send.
    assert_eq!(browser.get("/healthz").await.status(), 200);

    // A provider that is away causes an error, and is not asked again at once.
    provider.set(Mood::Away);
    let world = World::with(ways(&oidc(&provider))).await;
    let mut browser = Browser::new(world.router());
    let discovery = "/.well-known/openid-configuration";
    let asked = provider.asked(discovery);
    for _ in 0..5 {
        assert_eq!(browser.get("/sign-in").await.status(), 503);
    }
    assert_eq!(provider.asked(discovery), asked + 1);
    // Without sign-in by a browser, the path is missing.
    let world = World::with(ways(&bearer(&provider))).await;
    let mut browser = Browser::new(world.router());
    assert_eq!(browser.get("/sign-in").await.status(), 404);
    assert_eq!(browser.get("/sign-in/callback?state=a").await.status(), 404);
}

/// A provider that wants its secret in the form, and names itself.
#[tokio::test]
async fn a_provider_gets_what_its_metadata_asks_for() {
    let provider = Provider::start().await;
    provider.set(Mood::Particular);
    let world = World::with(ways(&oidc(&provider))).await;
    let mut browser = Browser::new(world.router());
    assert_eq!(
        browser.sign_in(&provider, ADA, |_| {}).await,
        401,
        "anybody could have answered"
    );
    let asked = browser.begin("/").await;
    let mut claims = provider.claims("pinpoint", ADA);
    claims["nonce"] = asked["nonce"].clone().into();
    let code = provider.grant(&asked["code_challenge"], &provider.key.sign(&claims));
    let whole = [
        ("code", &*code),
        ("state", &*asked["state"]),
        ("iss", &*provider.issuer),
    ];
    assert_eq!(browser.call_back(&whole).await, 303);
}

#[tokio::test]
async fn a_provider_that_says_too_much_or_nothing_is_away() {
    let provider = Provider::start().await;
    let token = provider.key.sign(&provider.claims("proxy", ADA));
    for mood in [Mood::Endless, Mood::Silent] {
        provider.set(mood);
        let world = World::with(ways(&assertion(&provider))).await;
        let (found, body) = status(&world, "x-assertion", &token).await;
        assert_eq!(found, 503, "{mood:?}: {body}");
    }
}

#[tokio::test]
async fn somebody_without_a_role_is_told_whom_to_ask() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let mut browser = Browser::new(world.router());
    let stranger = "eve@sub.admins.example.org";
    assert_eq!(browser.sign_in(&provider, stranger, |_| {}).await, 303);
    let cookie = format!("__Host-pinpoint={}", browser.session().unwrap());
    let answer = world
        .send_with("GET", USER, &[("cookie", &cookie)], &Value::Null)
        .await;
    assert_eq!(
        answer.fails(403, 7),
        format!("{stranger} has no role in this service; ask root@example.org for one")
    );
    let json = Request::post("/sign-out").header("content-type", "application/json");
    assert_eq!(browser.send(json, String::new()).await.status(), 200);
    assert_eq!(browser.session(), None);
}
