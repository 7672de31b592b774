//! The web page in a real browser, which also signs in at a real provider. Ignored by default, since
//! not everybody has Chromium, Node.js and the npm packages `oidc-provider` and `axe-core`:
//!
//!     npm install --prefix DIRECTORY oidc-provider@9 axe-core@4
//!     PINPOINT_TEST_OIDC_PROVIDER=DIRECTORY \
//!         cargo test -p pinpoint-service --test command browser:: -- --ignored

mod accessible;
mod faults;
mod functions;
#[path = "../service/gerrit.rs"]
#[allow(dead_code, reason = "the tests of the service need more of it")]
mod gerrit;
#[path = "../service/world.rs"]
#[allow(dead_code, reason = "the tests of the service need more of it")]
mod in_process;
mod job;
mod keyboard;
mod killed;
mod list;
mod new;
mod patches;
mod prepared;
mod screenshots;
mod sessions;
#[path = "../service/ui/simulated.rs"]
#[allow(dead_code, reason = "the tests of the service need more of it")]
mod simulated;
mod team;
mod tree;
mod views;
mod visitor;

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use pinpoint_service::form_token;
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Url};

use self::team::{SECRET, Team};
use self::visitor::Visitor;

/// A free port.
fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
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

#[tokio::test]
#[ignore = "needs Chromium, Node.js and oidc-provider"]
async fn a_person_signs_in_at_a_real_provider() {
    let team = Team::new("");
    let running = team.scene.serve();
    let home = &team.home;
    let user = format!("{home}/pinpoint/v1/user");
    let mut browser = team.visitor();
    browser.expect("the server responded with a status of 40");
    let text = "document.body.innerText";
    let shows = |browser: &mut Visitor, expected: &str| {
        let shown = browser.evaluate(text);
        assert!(shown.as_str().unwrap().contains(expected), "{shown}");
    };
    browser.visit(&user);
    shows(&mut browser, "Sign in first");

    // To the provider, its form, its question, and back to the list.
    browser.go("/");
    shows(&mut browser, "Sign in first");
    browser.click("main a.primary");
    let at = browser.evaluate("location.origin");
    assert_eq!(at, *team.provider.issuer);
    team.sign_in(&mut browser, "Ada@Example.org");
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

    // A forged state, and an address for the second time.
    browser.visit(&format!("{home}/sign-in/callback?code=a&state=forged"));
    shows(&mut browser, "begin again at /sign-in");
    browser.visit(&callback);
    shows(&mut browser, "begin again at /sign-in");
    // A code for the second time, at the end of a sign-in that has just begun.
    let trusted = Certificate::from_pem(team.authority.pem().as_bytes()).unwrap();
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
        .append_pair("iss", &team.provider.issuer)
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

    // Everything that left the session untouched. Signing out needs the token of its forms.
    browser.visit(&user);
    shows(&mut browser, "ada@example.org");
    let session = team.session(&mut browser);
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
    shows(
        &mut browser,
        "This form is from a page of an earlier session",
    );
    browser.visit(&user);
    browser.follow(&form(&form_token(&session)));
    shows(&mut browser, "Signed out");
    browser.visit(&user);
    shows(&mut browser, "Sign in first");
    let cookie = format!("__Host-pinpoint={session}");
    let after = client
        .get(&user)
        .header("cookie", cookie)
        .send()
        .await
        .unwrap();
    assert_eq!(after.status(), 401);
    drop(browser);
    // The full log, without secrets.
    let log = running.log();
    assert!(log.contains("/sign-in/callback"), "{log}");
    for hidden in [SECRET, &session, &pair(&callback, "code"), &state] {
        assert!(!log.contains(hidden), "{hidden}: {log}");
    }
}
