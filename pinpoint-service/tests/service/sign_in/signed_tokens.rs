//! Tokens that an issuer signs: those of programs, and those of a proxy.

use ring::hmac;
use serde_json::{Value, json};

use super::{ADA, assertion, bearer, status, ways};
use crate::provider::{Key, Mood, Provider, encode, message, now};
use crate::world::World;

pub(super) fn unsigned(_: &Key, claims: &Value) -> String {
    format!("{}.", message(&json!({ "alg": "none" }), claims))
}

/// As if the public key were a secret.
pub(super) fn by_public_key(key: &Key, claims: &Value) -> String {
    let message = message(&json!({ "alg": "HS256", "kid": "first" }), claims);
    let secret = hmac::Key::new(hmac::HMAC_SHA256, key.point());
    format!(
        "{message}.{}",
        encode(hmac::sign(&secret, message.as_bytes()))
    )
}

/// Under the name of the provider's key.
pub(super) fn by_stranger(_: &Key, claims: &Value) -> String {
    Key::new("first").sign(claims)
}

/// Tokens of programs, and those of a proxy.
#[tokio::test]
async fn signed_tokens_count_only_if_all_of_them_is_right() {
    let provider = Provider::start().await;
    let world = World::with(ways(&(bearer(&provider) + &assertion(&provider)))).await;
    for (header, scheme, audience) in [
        ("authorization", "Bearer ", "api"),
        ("x-assertion", "", "proxy"),
    ] {
        let send = async |token: String| status(&world, header, &format!("{scheme}{token}")).await;
        let right = provider.claims(audience, ADA);
        let key = &provider.key;
        let (found, body) = send(key.sign(&right)).await;
        assert_eq!((found, &*body), (200, &*format!("{{\"email\":\"{ADA}\"}}")));
        let edited = |name: &str, value: Value| {
            let mut claims = right.clone();
            claims[name] = value;
            key.sign(&claims)
        };
        // Clocks differ a little.
        assert_eq!(send(edited("exp", (now() - 5).into())).await.0, 200);
        for (token, expected) in [
            (
                edited("iss", "https://evil.example".into()),
                "issuer is another",
            ),
            (edited("aud", "pinpoint".into()), "another audience"),
            (edited("exp", (now() - 60).into()), "has expired"),
            (edited("exp", "never".into()), "`exp`"),
            (edited("nbf", (now() + 60).into()), "not valid yet"),
            (edited("nbf", "0".into()), "`nbf`"),
            (edited("email", Value::Null), "`email`"),
            (unsigned(key, &right), "not allowed here"),
            (by_public_key(key, &right), "not allowed here"),
            (
                key.sign_as(&json!({ "alg": "EdDSA" }), &right),
                "not allowed here",
            ),
            (
                key.sign_as(&json!({ "alg": "RS256", "kid": "first" }), &right),
                "a key that",
            ),
            (by_stranger(key, &right), "signature is wrong"),
            (key.sign(&right) + "A", "signature is wrong"),
            ("a.b.c".into(), "not a signed JSON Web Token"),
        ] {
            let (found, body) = send(token).await;
            assert_eq!(found, 401, "{expected}");
            assert!(body.contains(expected), "{expected}: {body}");
        }
    }
    // The sign of the unit Kelvin is not the letter, and this is not Kate.
    let claims = provider.claims("api", "\u{212a}ate@admins.example.org");
    let token = format!("Bearer {}", provider.key.sign(&claims));
    let (_, body) = status(&world, "authorization", &token).await;
    assert!(!body.contains("kate@"), "{body}");
    // An address that its issuer does not vouch for is accepted only from a proxy.
    let mut claims = provider.claims("api", ADA);
    claims["email_verified"] = false.into();
    let token = format!("Bearer {}", provider.key.sign(&claims));
    assert_eq!(status(&world, "authorization", &token).await.0, 401);
    claims["aud"] = "proxy".into();
    assert_eq!(
        status(&world, "x-assertion", &provider.key.sign(&claims))
            .await
            .0,
        200
    );
}

#[tokio::test]
async fn keys_rotate_and_strangers_can_not_make_us_ask_for_them() {
    let provider = Provider::start().await;
    let world = World::with(ways(&bearer(&provider))).await;
    let claims = provider.claims("api", ADA);
    let send = async |key: &Key| {
        let token = format!("Bearer {}", key.sign(&claims));
        status(&world, "authorization", &token).await.0
    };
    let first = &provider.key;
    for _ in 0..3 {
        assert_eq!(send(first).await, 200);
    }
    assert_eq!(provider.asked("/keys"), 1);
    // A new one is found at once; a removed one opens nothing.
    let second = Key::new("second");
    provider.show(&[&second]);
    assert_eq!(send(&second).await, 200);
    assert_eq!(send(first).await, 401);
    assert_eq!(provider.asked("/keys"), 2);
    for id in 0..50 {
        assert_eq!(send(&Key::new(&format!("unknown {id}"))).await, 401);
    }
    assert_eq!(provider.asked("/keys"), 2);
    // The name of another key.
    let borrowed = json!({ "alg": "ES256", "kid": "second" });
    let borrowed = format!("Bearer {}", first.sign_as(&borrowed, &claims));
    assert_eq!(status(&world, "authorization", &borrowed).await.0, 401);

    // A provider that is away refuses nobody.
    provider.set(Mood::Away);
    assert_eq!(send(&second).await, 200);
    let world = World::with(ways(&bearer(&provider))).await;
    let token = format!("Bearer {}", second.sign(&claims));
    let (found, body) = status(&world, "authorization", &token).await;
    assert_eq!(found, 503, "{body}");
    let gone = ways(&bearer(&provider));
    drop(provider);
    let world = World::with(gone).await;
    assert_eq!(status(&world, "authorization", &token).await.0, 503);
}
