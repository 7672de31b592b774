//! A proxy that proves itself by its certificate, over real TLS.

use std::fs;

use reqwest::{Certificate, Client, Identity};

use crate::authority::Authority;
use crate::scene::Scene;

const HEADER: &str = "X-WEBAUTH-USER";

/// A client of this authority's services, perhaps with a certificate and its key.
fn client(authority: &Authority, shown: Option<(String, String)>) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let trusted = Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let mut client = Client::builder().no_proxy().tls_certs_only([trusted]);
    if let Some((certificate, key)) = shown {
        client = client.identity(Identity::from_pem((certificate + &key).as_bytes()).unwrap());
    }
    client.build().unwrap()
}

#[tokio::test]
async fn only_the_named_proxy_says_who_somebody_is() {
    let (server, proxies) = (Authority::new(), Authority::new());
    let directory = tempfile::tempdir().unwrap();
    let authority = directory.path().join("proxies.pem");
    fs::write(&authority, proxies.pem()).unwrap();
    let tls = server.tls(directory.path(), "localhost");
    let scene = Scene::new(&format!(
        "{tls}\n[sign_in.proxy]\nheader = '{HEADER}'\nproof.certificate = {{ authority = '{}', \
         name = 'proxy.example.org' }}\n[sign_in.roles]\nviewer = ['domain:example.org']",
        authority.display()
    ));
    scene.says(&["serve", "--check"], "the configuration can be used");
    let running = scene.serve();
    let port = running.address.rsplit(':').next().unwrap();
    let user = format!("https://localhost:{port}/pinpoint/v1/user");
    let ask = async |client: &Client| {
        let request = client.get(&user).header(HEADER, "ada@example.org");
        let response = request.send().await?;
        let status = response.status().as_u16();
        Ok::<_, reqwest::Error>((status, response.text().await?))
    };

    let proxy = client(&server, Some(proxies.sign("proxy.example.org")));
    // Twice: the second connection may resume where the first has ended.
    for proxy in [&proxy, &proxy.clone()] {
        let (status, body) = ask(proxy).await.unwrap();
        assert_eq!((status, &*body), (200, r#"{"email":"ada@example.org"}"#));
    }
    let other = client(&server, Some(proxies.sign("other.example.org")));
    assert_eq!(ask(&other).await.unwrap().0, 401);
    let (status, body) = ask(&client(&server, None)).await.unwrap();
    assert_eq!(status, 401);
    assert!(body.contains("proxy.example.org"), "{body}");
    // One signed by another authority does not even connect.
    let forged = Authority::new().sign("proxy.example.org");
    assert!(ask(&client(&server, Some(forged))).await.is_err());
    // Clients without a proxy can connect without its header.
    let health = format!("https://localhost:{port}/healthz");
    let health = client(&server, None).get(health).send().await.unwrap();
    assert_eq!(health.status(), 200);
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_configuration_of_sign_in_that_can_not_be_used_says_why() {
    let roles = "[sign_in.roles]\nviewer = ['ada']";
    let oidc = "[sign_in.oidc]\nissuer = 'https://a'\nurl = 'https://b'\nclient_id = 'c'\n";
    for (more, expected) in [
        (
            format!("{oidc}client_secret = {{ file = '/nowhere' }}\n{roles}"),
            "the client's secret can't be read from /nowhere",
        ),
        (
            format!("{oidc}client_secret = {{ environment = 'PINPOINT_NOWHERE' }}\n{roles}"),
            "the environment variable PINPOINT_NOWHERE",
        ),
        (oidc.to_owned(), "missing field `client_secret`"),
    ] {
        let output = Scene::new(&more).says(&["serve", "--check"], expected);
        assert_eq!(output.status.code(), Some(1));
    }
}
