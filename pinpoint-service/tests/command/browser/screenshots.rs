//! Pictures of every page and state, to be looked at:
//!
//!     PINPOINT_TEST_SCREENSHOTS=DIRECTORY cargo test --workspace --all-features --test command \
//!         browser::screenshots -- --ignored
//!
//! Each is there in light and dark, wide and narrow, with an empty store and with jobs. Without
//! the variable, nothing is done.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::accessible::pages;
use super::prepared::{prepare, with_charts};
use super::visitor::Visitor;
use crate::scene::Scene;

const SCREENS: [(u32, &str); 4] = [
    (1280, "light"),
    (1280, "dark"),
    (320, "light"),
    (320, "dark"),
];

/// The largest height of a picture.
const HIGHEST: f64 = 6000.0;

fn shoot(visitor: &mut Visitor, directory: &Path, name: &str) {
    for (width, theme) in SCREENS {
        visitor.look_from(width, theme);
        let height = visitor.evaluate("document.documentElement.scrollHeight");
        let height = height.as_f64().unwrap().clamp(900.0, HIGHEST);
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let shot = json!({ "clip": clip, "captureBeyondViewport": true });
        let shot = visitor.call("Page.captureScreenshot", shot);
        let png = BASE64_STANDARD.decode(shot["data"].as_str().unwrap());
        let path = directory.join(format!("{name}-{width}-{theme}.png"));
        fs::write(path, png.unwrap()).unwrap();
    }
}

/// A name for a file, from an address.
fn file_name(path: &str) -> String {
    let letters = path
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() { it } else { '-' });
    let name: String = letters.take(80).collect();
    format!("page{name}")
}

#[tokio::test]
#[ignore = "needs Chromium, and somebody who looks at the pictures"]
async fn pictures_of_every_page_and_state() {
    let Ok(directory) = std::env::var("PINPOINT_TEST_SCREENSHOTS") else {
        return;
    };
    let directory = Path::new(&directory);
    fs::create_dir_all(directory).unwrap();
    let scene = Scene::new("");
    let running = scene.serve();
    let home = format!("http://{}", running.address);
    let mut visitor = Visitor::new(&running);
    visitor.expect("the server responded with a status of 40");
    for path in pages(&home, &"0".repeat(32)).await {
        visitor.go(&path);
        shoot(
            &mut visitor,
            directory,
            &format!("empty-{}", file_name(&path)),
        );
    }
    let prepared = prepare(&scene, &running, with_charts::<10_000>).await;
    for (number, path) in prepared.pages().iter().enumerate() {
        visitor.go(path);
        visitor.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)");
        let name = format!("{number:02}-{}", file_name(path));
        shoot(&mut visitor, directory, &name);
    }
    visitor.go("/new");
    visitor.fill(&[
        ("bot", "unheard"),
        ("benchmark", "parsing"),
        ("good", "HEAD"),
        ("bad", "nonsense!"),
        ("magnitude", "much"),
        ("commits", "30"),
    ]);
    visitor.shows("#s-bad", "does not name a commit");
    shoot(&mut visitor, directory, "form-filled");
    visitor.click("[value=make]");
    shoot(&mut visitor, directory, "form-problems");
}
