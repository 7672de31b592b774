//! Sessions that end in the middle of something, and two tabs of one user.

use pinpoint_backends::store::JobStore;
use serde_json::json;

use super::accessible::{axe, problems};
use super::team::Team;
use super::visitor::Visitor;

/// The input of the form.
const TYPED: [(&str, &str); 6] = [
    ("name", "Since <Monday> & שלום 👩‍🔬"),
    ("bot", "lab"),
    ("benchmark", "parsing"),
    ("bug", "17"),
    ("good", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ("bad", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"),
];

/// A word in the input of users without rights.
const UNSENT: &str = "unsent-and-unlogged";

async fn end_session(team: &Team, visitor: &mut Visitor) {
    let secret = team.session(visitor);
    let state_dir = team.scene.directory.path().join("state");
    let store = JobStore::open(&state_dir).await.unwrap();
    store.sessions().end(&secret, None).await.unwrap();
    store.close().await;
}

/// From the page that asks to sign in, to the page that was left.
fn sign_in_again(visitor: &mut Visitor, path: &str) {
    visitor.evaluate("document.querySelector('main .primary').click()");
    let home = visitor.home.clone();
    visitor.wait_for(&format!(
        "location.origin === '{home}' && location.pathname === '{path}' \
         && document.readyState === 'complete'
         && document.querySelector('h1').innerText !== 'Sign in'"
    ));
}

#[tokio::test]
#[ignore = "needs Chromium, Node.js, oidc-provider and axe-core"]
async fn what_was_typed_survives_the_end_of_a_session() {
    let team = Team::new("");
    let running = team.scene.serve();
    let mut visitor = team.visitor();
    visitor.expect("the server responded with a status of 40");
    visitor.go("/");
    visitor.click("main .primary");
    team.sign_in(&mut visitor, "ada@example.org");

    for scripts in [true, false] {
        visitor.run_scripts(scripts);
        visitor.go("/new");
        visitor.fill(&TYPED);
        end_session(&team, &mut visitor).await;
        if scripts {
            visitor.fill(&[("commits", "3")]);
            visitor.shows("#estimate", "You are signed out.");
        }
        visitor.click("[value=make]");
        visitor.shows("h1", "Sign in");
        visitor.shows("main", "What you typed is kept");
        sign_in_again(&mut visitor, "/new");
        for (name, value) in TYPED {
            assert_eq!(visitor.value(name), value);
        }
        visitor.click("[value=make]");
        visitor.shows("h1", "Since <Monday> &");
        // The reason of a cancellation, too.
        visitor.click("#actions a[href$='/cancel']");
        visitor.fill(&[("reason", "fixed in <main>")]);
        end_session(&team, &mut visitor).await;
        visitor.click("main button.danger");
        let path = visitor.path();
        sign_in_again(&mut visitor, &path);
        assert_eq!(visitor.value("reason"), "fixed in <main>");
        visitor.click("main button.danger");
        visitor.shows("#facts", "fixed in <main>");
    }

    // Another user signs in with the same browser.
    visitor.run_scripts(true);
    visitor.go("/account");
    visitor.fill(&[("name", UNSENT)]);
    visitor.evaluate("document.querySelector('[name=may_see]').checked = true");
    end_session(&team, &mut visitor).await;
    visitor.click("form[action='/account/tokens'] button");
    visitor.shows("main", "What you typed is kept");
    visitor.call("Network.clearBrowserCookies", json!({}));
    visitor.evaluate("document.querySelector('main .primary').click()");
    visitor.wait_for("document.querySelector('[name=login]') !== null");
    team.sign_in(&mut visitor, "bo@example.org");
    assert_eq!(visitor.path(), "/account");
    visitor.shows("main", "bo@example.org");
    assert_eq!(visitor.value("name"), "");

    // A user without a role sees whom to ask.
    visitor.call("Network.clearBrowserCookies", json!({}));
    visitor.go("/workers");
    visitor.click("main .primary");
    team.sign_in(&mut visitor, "eve@elsewhere.org");
    visitor.shows("h1", "Not allowed");
    visitor.shows("main", "eve@elsewhere.org has no role");
    assert_eq!(problems(&mut visitor, &axe()), [] as [String; 0]);
    drop(visitor);
    let log = running.log();
    assert!(
        log.contains("/account/tokens") && !log.contains(UNSENT),
        "{log}"
    );
}

#[tokio::test]
#[ignore = "needs Chromium, Node.js, oidc-provider and axe-core"]
async fn two_tabs_of_a_user_show_the_same() {
    let team = Team::new("");
    let _running = team.scene.serve();
    let mut visitor = team.visitor();
    visitor.expect("the server responded with a status of 401");
    visitor.go("/");
    visitor.click("main .primary");
    team.sign_in(&mut visitor, "ada@example.org");
    visitor.go("/new");
    visitor.fill(&TYPED);
    visitor.click("[value=make]");
    let path = visitor.path();
    visitor.evaluate("document.isTheSame = true");
    let one = visitor.open_tab();
    visitor.go(&path);
    visitor.click("#actions form[action$='/pause'] button");
    let other = visitor.turn_to(one.clone());
    visitor.shows("#state", "Paused");
    assert_eq!(visitor.evaluate("document.isTheSame"), true);
    // The forms of both belong to one session, which ends in both.
    visitor.click("#actions form[action$='/resume'] button");
    visitor.click("form[action='/sign-out'] button");
    visitor.shows("h1", "Signed out");
    assert_eq!(problems(&mut visitor, &axe()), [] as [String; 0]);
    visitor.turn_to(other);
    visitor.click("#actions form[action$='/retry'] button");
    visitor.shows("h1", "Sign in");
    assert_eq!(problems(&mut visitor, &axe()), [] as [String; 0]);
    // Signed in again in one, both continue.
    sign_in_again(&mut visitor, &path);
    visitor.click("#actions form[action$='/pause'] button");
    visitor.shows("#state", "Paused");
    visitor.turn_to(one);
    visitor.go(&path);
    visitor.click("#actions form[action$='/resume'] button");
    visitor.shows("#state", "Pending");
    // Signed out without scripts.
    visitor.run_scripts(false);
    visitor.go(&path);
    visitor.click("form[action='/sign-out'] button");
    visitor.shows("h1", "Signed out");
    visitor.go(&path);
    visitor.shows("h1", "Sign in");
}
