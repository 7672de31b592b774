//! The header of a proxy that shows a certificate.

use axum::body::Body;
use http::Request;
use pinpoint_service::ClientCertificate;
use serde_json::Value;

use super::{ADA, CERTIFICATE, USER, certificate, status, ways};
use crate::world::World;

#[tokio::test]
async fn the_header_of_a_proxy_counts_from_the_proxy_alone() {
    let world = World::with(ways(CERTIFICATE)).await;
    let send = async |users: &[&str], shown: Option<ClientCertificate>| {
        let mut request = Request::get(USER);
        for user in users {
            request = request.header("x-webauth-user", *user);
        }
        if let Some(shown) = shown {
            request = request.extension(shown);
        }
        let answer = world.answer(request.body(Body::empty()).unwrap()).await;
        (answer.status.as_u16(), answer.body.to_string())
    };
    let proxy = certificate("proxy.example.org");
    let (found, body) = send(&["Ada@Admins.Example.org"], Some(proxy.clone())).await;
    assert_eq!((found, &*body), (200, &*format!("{{\"email\":\"{ADA}\"}}")));
    let (found, body) = send(&[ADA], None).await;
    assert_eq!(found, 401);
    assert!(
        body.contains("whose certificate names proxy.example.org"),
        "{body}"
    );
    for name in [
        "other.example.org",
        "proxy.example.org.evil.example",
        "example.org",
        "*.example.net",
    ] {
        assert_eq!(send(&[ADA], Some(certificate(name))).await.0, 401, "{name}");
    }
    for users in [&[""][..], &[" "], &[ADA, "bo@example.org"]] {
        assert_eq!(send(users, Some(proxy.clone())).await.0, 401, "{users:?}");
    }
    // Without the header, the proxy itself has no user.
    assert_eq!(send(&[], Some(proxy)).await.0, 401);
    // A token does not make up for a header that is forged.
    let token = world.token(ADA, &["admin"]).await;
    let bearer = format!("Bearer {token}");
    assert_eq!(status(&world, "authorization", &bearer).await.0, 200);
    let both = [
        ("authorization", &*bearer),
        ("x-webauth-user", "bo@example.org"),
    ];
    let both = world.send_with("GET", USER, &both, &Value::Null).await;
    both.fails(401, 16);
}
