//! Signing in with a real browser at a real provider. Ignored by default, since not everybody
//! has Chromium, Node.js and the npm packages `oidc-provider` and `axe-core`:
//!
//!     npm install --prefix DIRECTORY oidc-provider@9 axe-core@4
//!     PINPOINT_TEST_OIDC_PROVIDER=DIRECTORY \
//!         cargo test -p pinpoint-service --test command browser:: -- --ignored

mod accessible;
mod job;
mod new;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use pinpoint_service::form_token;
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Url};
use serde_json::json;

use crate::authority::Authority;
use crate::chromium::Chromium;
use crate::scene::Scene;

const SECRET: &str = "a secret of the test: 2%+";

/// A provider; one that is dropped is killed.
struct Provider {
    child: Child,
    issuer: String,
    /// Kept, so that it can go on writing.
    _said: BufReader<ChildStdout>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The directory of a package of npm.
pub(crate) fn npm_package(name: &str) -> PathBuf {
    let advice = "install it with `npm install --prefix DIRECTORY oidc-provider@9 axe-core@4`, and \
                  set PINPOINT_TEST_OIDC_PROVIDER=DIRECTORY";
    let directory = std::env::var("PINPOINT_TEST_OIDC_PROVIDER");
    let directory = directory.unwrap_or_else(|_| panic!("{name} is missing: {advice}"));
    let package = Path::new(&directory).join("node_modules").join(name);
    assert!(
        package.is_dir(),
        "{} is missing: {advice}",
        package.display()
    );
    package
}

impl Provider {
    fn start(callback: &str) -> Self {
        let directory = npm_package("oidc-provider").join("../..");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command/provider.mjs");
        let child = Command::new("node")
            .args([script, callback])
            .env(
                "PINPOINT_TEST_OIDC_PROVIDER",
                fs::canonicalize(directory).unwrap(),
            )
            .env("PINPOINT_TEST_CLIENT_SECRET", SECRET)
            .stdout(Stdio::piped())
            // It warns of what a test does not need.
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.expect("Node.js 20 or later: `apt-get install nodejs`");
        let mut issuer = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut issuer).unwrap();
        let issuer = issuer.trim().to_owned();
        assert!(
            issuer.starts_with("http://"),
            "the provider has ended; run node {script} {callback}"
        );
        Self {
            child,
            issuer,
            _said: said,
        }
    }
}

#[tokio::test]
#[ignore = "needs Chromium, Node.js and oidc-provider"]
async fn a_person_signs_in_at_a_real_provider() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let home = format!("https://localhost:{port}");
    let provider = Provider::start(&format!("{home}/sign-in/callback"));
    let authority = Authority::new();
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    fs::write(&secret, SECRET).unwrap();
    let tls = authority.tls(directory.path(), "localhost");
    let scene = Scene::on(
        port,
        &format!(
            "{tls}\n[sign_in.oidc]\nissuer = '{}'\nurl = '{home}'\nclient_id = 'pinpoint'\n\
             client_secret = {{ file = '{}' }}\n[sign_in.roles]\neditor = ['domain:example.org']",
            provider.issuer,
            secret.display()
        ),
    );
    let running = scene.serve();
    let user = format!("{home}/pinpoint/v1/user");
    let mut browser = Chromium::start_with(&[
        "--ignore-certificate-errors",
        // The provider's pages ask for fonts of others.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
    ]);
    let text = "document.body.innerText";
    let shows = |browser: &mut Chromium, expected: &str| {
        let shown = browser.evaluate(text);
        assert!(shown.as_str().unwrap().contains(expected), "{shown}");
    };
    browser.visit(&user);
    shows(&mut browser, "sign in first");

    // To the provider, its form, its question, and back to the list.
    browser.visit(&format!("{home}/sign-in"));
    let at = browser.evaluate("location.origin");
    assert_eq!(at, *provider.issuer);
    browser.follow(
        "document.querySelector('[name=login]').value = 'Ada@Example.org';
         document.querySelector('[name=password]').value = 'any';
         document.querySelector('form').submit()",
    );
    browser.follow("document.querySelector('form').submit()");
    let at = browser.evaluate("location.href");
    assert!(
        at.as_str().unwrap().starts_with(&format!("{home}/?")),
        "{at}"
    );
    shows(&mut browser, "ada@example.org");
    // No script can read the session.
    assert_eq!(browser.evaluate("document.cookie"), "");
    let callback = browser
        .requests()
        .find(|url| url.contains("/sign-in/callback?"));
    let callback = callback.unwrap().to_owned();

    // A state that the service has not made, and an address for the second time.
    browser.visit(&format!("{home}/sign-in/callback?code=a&state=forged"));
    shows(&mut browser, "begin again at /sign-in");
    browser.visit(&callback);
    shows(&mut browser, "begin again at /sign-in");
    // A code for the second time, at the end of a sign-in that has just begun.
    let trusted = Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .tls_certs_only([trusted])
        .build()
        .unwrap();
    let begun = client.get(format!("{home}/sign-in")).send().await.unwrap();
    let pair = |url: &str, name: &str| {
        let url: Url = url.parse().unwrap();
        let mut pairs = url.query_pairs();
        pairs
            .find(|(found, _)| found == name)
            .unwrap()
            .1
            .into_owned()
    };
    let state = pair(begun.headers()["location"].to_str().unwrap(), "state");
    let cookie = begun.headers()["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let mut replayed: Url = callback.parse().unwrap();
    replayed
        .query_pairs_mut()
        .clear()
        .append_pair("code", &pair(&callback, "code"))
        .append_pair("iss", &provider.issuer)
        .append_pair("state", &state);
    let replayed = client
        .get(replayed)
        .header("cookie", cookie)
        .send()
        .await
        .unwrap();
    assert_eq!(replayed.status(), 401);
    let body = replayed.text().await.unwrap();
    assert!(body.contains("was used or is too old"), "{body}");

    // All that has not touched the session. Signing out needs the token of its forms.
    browser.visit(&user);
    shows(&mut browser, "ada@example.org");
    let cookies = browser.call("Network.getCookies", json!({ "urls": [&home] }));
    let session = cookies["cookies"].as_array().unwrap().iter();
    let session = session
        .clone()
        .find(|cookie| cookie["name"] == "__Host-pinpoint");
    let session = session.unwrap()["value"].as_str().unwrap().to_owned();
    let form = |token: &str| {
        format!(
            "const form = document.createElement('form');
             form.method = 'post';
             form.action = '/sign-out';
             form.innerHTML = '<input name=form_token value={token}>';
             document.body.append(form);
             form.submit()"
        )
    };
    browser.follow(&form("forged"));
    shows(&mut browser, "form_token");
    browser.visit(&user);
    browser.follow(&form(&form_token(&session)));
    shows(&mut browser, "Signed out");
    browser.visit(&user);
    shows(&mut browser, "sign in first");
    let cookie = format!("__Host-pinpoint={session}");
    let after = client
        .get(&user)
        .header("cookie", cookie)
        .send()
        .await
        .unwrap();
    assert_eq!(after.status(), 401);
    // All there is to tell, without secrets.
    let log = running.log();
    assert!(log.contains("/sign-in/callback"), "{log}");
    for hidden in [SECRET, &session, &pair(&callback, "code"), &state] {
        assert!(!log.contains(hidden), "{hidden}: {log}");
    }
}
