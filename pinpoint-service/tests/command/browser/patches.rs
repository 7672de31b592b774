//! Changes under review, looked up as their names are typed.

use std::net::SocketAddr;

use pinpoint_service::SignIn;

use super::gerrit::gerrit;
use super::in_process::{BOTS, World};
use super::visitor::Visitor;
use crate::chromium::Chromium;

/// The target of `crrev`.
const HOST: &str = "chromium-review.googlesource.com";

/// The service in this process, since the command asks Gerrit at its own address only.
async fn served() -> (World, String) {
    let world = World::with_bots(SignIn::Nobody("ada".into()), BOTS).await;
    let world = world.asking(gerrit(HOST).await).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let home = format!("http://{}", listener.local_addr().unwrap());
    let router = world.router().clone();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    (world, home)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium"]
async fn a_patch_is_looked_up_as_it_is_typed() {
    let (_world, home) = served().await;
    let mut browser = Visitor::with(Chromium::start(), &home);
    let found = "#s-experiment_patch";
    let full = format!("https://{HOST}/c/tool/+/12345/6");
    let names = [
        "12345",
        "12345/6",
        "crrev/12345",
        "crrev.com/c/12345/6",
        &full,
    ];
    for scripts in [true, false] {
        browser.run_scripts(scripts);
        for name in names {
            browser.go("/new?kind=try&bot=lab");
            browser.fill(&[("experiment_patch", name)]);
            if !scripts {
                browser.click("[value=look]");
                assert_eq!(browser.value("experiment_patch"), name);
            }
            browser.shows(found, "12345/6 Faster");
            browser.shows(found, "Bo <bo@example.org>, tool");
        }
        // A failed look-up says why, and removed text leaves nothing.
        for (name, problem) in [
            ("http://example.org/1", "Enter a change as 12345"),
            ("https://example.org/c/1", "not one of the hosts"),
            ("4", "4"),
        ] {
            browser.go("/new?kind=try&bot=lab");
            browser.fill(&[("experiment_patch", name)]);
            if !scripts {
                browser.click("[value=look]");
            }
            browser.shows(&format!("{found} .error"), problem);
        }
    }
    browser.run_scripts(true);
    browser.go("/new?kind=try&bot=lab");
    browser.fill(&[("experiment_patch", "12345")]);
    browser.shows(found, "Faster");
    browser.fill(&[("experiment_patch", "")]);
    browser.wait_for(&format!(
        "document.querySelector('{found}').innerText === ''"
    ));
}
