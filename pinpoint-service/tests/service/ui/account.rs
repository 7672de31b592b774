//! The account: quotas, preferences and tokens.

use pinpoint_backends::store::{AuditFilter, NewToken};
use pinpoint_service::SignIn;
use pinpoint_service::config::{Limit, LimitsConfig};
use serde_json::Value;

use super::jobs::{HOSTILE, made};
use super::people::Person;
use super::{get, post};
use crate::provider::Provider;
use crate::sign_in::{oidc, ways};
use crate::world::{BOTS, World};

const EDITOR: &str = "editor@example.org";
const ADMIN: &str = "ada@admins.example.org";

async fn world() -> World {
    let provider = Provider::start().await;
    World::with(ways(&oidc(&provider))).await
}

fn row(user: &str, operation: &str, result: &str) -> (String, String, String) {
    (user.into(), operation.into(), result.into())
}

#[tokio::test]
async fn a_token_is_made_shown_once_used_and_revoked() {
    let world = world().await;
    let person = Person::new(&world, EDITOR).await;
    assert!(person.get("/account").await.ok().contains("No tokens yet."));
    let fields = [("name", "nightly"), ("may_see", "on"), ("days", "7")];
    let made = person.post("/account/tokens", &fields).await;
    assert_eq!(made.headers["cache-control"], "no-store");
    let made = made.ok();
    let at = made.find("pinpoint_").unwrap();
    let secret = made[at..].split('<').next().unwrap().to_owned();

    let account = person.get("/account").await.ok();
    assert!(
        account.contains("nightly") && !account.contains(&secret),
        "{account}"
    );
    let bearer = format!("Bearer {secret}");
    let headers = [("authorization", &*bearer)];
    let user = world.send_with("GET", "/pinpoint/v1/user", &headers, &Value::Null);
    assert_eq!(user.await.ok()["email"], EDITOR);
    let token = world.store.tokens().list().await.unwrap().remove(0);
    assert_eq!(
        (&*token.user, &*token.rights),
        (EDITOR, &["see".to_owned()][..])
    );
    let days = (token.expires.unwrap() - token.created) / (24 * 60 * 60 * 1000 - 60_000);
    assert_eq!(days, 7);

    // A reload that sends it again makes no other one.
    let again = person.post("/account/tokens", &fields).await;
    assert_eq!(again.status, 400);
    assert!(
        again.text.contains("has been used before"),
        "{}",
        again.text
    );

    let name = [("name", "nightly")];
    let revoked = person.post("/account/tokens/revoke", &name).await;
    assert_eq!(revoked.leads_to(), "/account");
    let user = world.send_with("GET", "/pinpoint/v1/user", &headers, &Value::Null);
    user.await.fails(401, 16);
    assert!(person.get("/account").await.ok().contains("Revoked"));
    let rows = world
        .store
        .audit()
        .list(&AuditFilter::default(), 0, 100)
        .await
        .unwrap();
    assert!(!serde_json::to_string(&rows).unwrap().contains(&secret));
    assert_eq!(rows[0].entry.details["token"], "nightly");
    assert!(!rows[0].entry.address.is_empty() || !rows[0].entry.request.is_empty());
    let expected = [
        row(EDITOR, "tokens create", "ok"),
        row(EDITOR, "tokens revoke", "ok"),
    ];
    assert_eq!(world.audited().await, expected);
}

#[tokio::test]
async fn a_token_has_no_more_rights_than_its_maker_and_no_later_end() {
    let world = world().await;
    let person = Person::new(&world, EDITOR).await;
    for right in ["may_read_audit", "may_end_others", "may_act_for_others"] {
        let fields = [
            ("name", "more"),
            ("may_see", "on"),
            (right, "on"),
            ("days", "7"),
        ];
        let refused = person.post("/account/tokens", &fields).await;
        assert_eq!(refused.status, 403, "{}", refused.text);
        assert!(!person.get("/account").await.ok().contains(right));
    }
    let refusal = row(EDITOR, "tokens create", "permission_denied");
    assert_eq!(world.audited().await, vec![refusal; 3]);
    // A token that ends soon could make one that does not.
    let bearer = format!("Bearer {}", world.token(EDITOR, &["editor"]).await);
    let headers = [
        ("authorization", &*bearer),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let mut request = http::Request::post("/account/tokens");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let form = "name=more&may_see=on&days=7";
    let refused = world.answer(request.body(form.into()).unwrap()).await;
    refused.fails(403, 7);
    assert_eq!(world.store.tokens().list().await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_token_of_another_is_revoked_by_administrators_alone() {
    let world = world().await;
    world.token("bo@example.org", &["viewer"]).await;
    let name = [("name", "bo@example.org viewer")];
    let path = "/account/tokens/revoke";
    let person = Person::new(&world, EDITOR).await;
    assert!(!person.get("/account").await.ok().contains("bo@example.org"));
    let refused = person.post(path, &name).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert_eq!(person.post(path, &[("name", "other")]).await.status, 404);
    assert_eq!(world.store.tokens().list().await.unwrap()[0].revoked, None);
    let admin = Person::new(&world, ADMIN).await;
    assert!(
        admin
            .get("/admin?from=")
            .await
            .ok()
            .contains("bo@example.org viewer")
    );
    assert_eq!(admin.post(path, &name).await.leads_to(), "/admin");
    assert_ne!(world.store.tokens().list().await.unwrap()[0].revoked, None);
    let expected = [
        row(EDITOR, "tokens revoke", "permission_denied"),
        row(ADMIN, "tokens revoke", "ok"),
    ];
    assert_eq!(world.audited().await, expected);
}

#[tokio::test]
async fn what_is_wrong_in_a_form_stands_at_its_fields_and_the_form_is_kept() {
    let world = World::new("ada").await;
    let wrong = post(&world, "/account/tokens", &[("days", "8")]).await;
    assert_eq!(wrong.status, 400);
    for problem in [
        "visible characters",
        "Choose at least one permission",
        "Choose when the token expires",
    ] {
        assert!(wrong.text.contains(problem), "{problem}: {}", wrong.text);
    }
    let long = "x".repeat(101);
    let fields = [("name", &*long), ("may_end", "on"), ("days", "365")];
    let wrong = post(&world, "/account/tokens", &fields).await.text;
    assert!(wrong.contains("at most 100 characters"), "{wrong}");
    assert!(wrong.contains(&format!(r#"value="{long}""#)), "{wrong}");
    assert!(wrong.contains(r#"name="may_end" checked"#), "{wrong}");
    assert!(
        wrong.contains(r#"<option value="365" selected>"#),
        "{wrong}"
    );
    assert_eq!(world.store.tokens().list().await.unwrap(), []);
}

#[tokio::test]
async fn a_user_has_so_many_tokens_until_one_ends() {
    let world = World::new("ada").await;
    let token = |number: u32| NewToken {
        name: format!("token {number}"),
        user: "ada".into(),
        rights: vec!["see".into()],
        expires: None,
    };
    for number in 0..50 {
        world
            .store
            .tokens()
            .create(&token(number), None)
            .await
            .unwrap();
    }
    let fields = [("name", "one more"), ("may_see", "on"), ("days", "7")];
    let refused = post(&world, "/account/tokens", &fields).await;
    assert!(refused.text.contains("the maximum"), "{}", refused.text);
    let name = [("name", "token 0")];
    post(&world, "/account/tokens/revoke", &name)
        .await
        .leads_to();
    let made = post(&world, "/account/tokens", &fields).await.ok();
    assert!(made.contains("pinpoint_"), "{made}");
}

#[tokio::test]
async fn names_of_tokens_are_text() {
    let world = World::new("ada").await;
    let token = NewToken {
        name: HOSTILE.into(),
        user: HOSTILE.into(),
        rights: vec![HOSTILE.into()],
        expires: None,
    };
    world.store.tokens().create(&token, None).await.unwrap();
    let text = get(&world, "/admin?from=&operation=%3Cimg%20src=x%3E%22")
        .await
        .ok();
    assert!(text.contains("&lt;img") && !text.contains("<img"), "{text}");
    // An invisible field keeps the name as it is.
    let shown = text
        .split("<input")
        .map(|part| part.split_once('>').map_or(part, |it| it.1));
    assert!(!shown.collect::<String>().contains('\u{202e}'), "{text}");
}

#[tokio::test]
async fn quotas_are_numbers_with_a_bar() {
    let limits = LimitsConfig {
        jobs_an_hour: Limit::new(4),
        ..LimitsConfig::none()
    };
    let world = World::limited(SignIn::Nobody("ada".into()), BOTS, limits).await;
    made(&world, "One").await;
    let text = get(&world, "/account").await.ok();
    let bar = r#"<meter min="0" max="4" value="1" aria-label="Jobs in the last hour: 1 of 4">"#;
    assert!(text.contains(bar) && text.contains("no limit"), "{text}");
}

#[tokio::test]
async fn a_theme_is_kept_for_its_user() {
    let world = world().await;
    let person = Person::new(&world, EDITOR).await;
    let theme = async |person: &Person<'_>| {
        let text = person.get("/workers").await.ok();
        let html = text
            .split("<html")
            .nth(1)
            .unwrap()
            .split('>')
            .next()
            .unwrap();
        html.split("data-theme=")
            .nth(1)
            .map(|it| it.trim_matches('"').to_owned())
    };
    let path = "/account/preferences";
    assert_eq!(theme(&person).await, None);
    for chosen in ["dark", "light"] {
        let kept = person.post(path, &[("theme", chosen)]).await;
        assert_eq!(kept.leads_to(), "/account");
        assert_eq!(theme(&person).await.as_deref(), Some(chosen));
        let shown = format!(r#"<option value="{chosen}" selected>"#);
        assert!(person.get("/account").await.ok().contains(&shown));
    }
    let other = Person::new(&world, ADMIN).await;
    assert_eq!(theme(&other).await, None);
    assert_eq!(person.post(path, &[("theme", "pink")]).await.status, 400);
    person.post(path, &[("theme", "system")]).await.leads_to();
    assert_eq!(theme(&person).await, None);
}
