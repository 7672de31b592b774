//! Pictures of the report on an explanation, to be looked at. Without the variable, nothing is
//! done:
//!
//!     PINPOINT_TEST_SCREENSHOTS=DIRECTORY cargo test -p pinpoint-cli --test cli \
//!         browser::screenshots -- --ignored

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::annotations;
use super::explanation::{look_from, reported};
use crate::chromium::Chromium;
use crate::world::World;

#[test]
#[ignore = "needs Chromium, and makes pictures"]
fn of_an_explanation() {
    let Ok(folder) = std::env::var("PINPOINT_TEST_SCREENSHOTS") else {
        return;
    };
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder).unwrap();
    let world = World::new();
    let pages = [
        ("explanation", reported(&world)),
        ("traces", annotations::noted(&world)),
    ];
    let mut browser = Chromium::start();
    for (name, file) in pages {
        make(&mut browser, &folder, name, &file);
    }
}

fn make(browser: &mut Chromium, folder: &Path, name: &str, file: &Path) {
    for theme in ["light", "dark"] {
        for width in [1280, 320] {
            look_from(browser, width, theme);
            browser.open(file);
            browser.wait_for("!document.querySelector('#timeline').hidden");
            browser.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)");
            browser.wait_for("document.querySelector('#timeline .tree tbody') !== null");
            let picture = browser.call(
                "Page.captureScreenshot",
                json!({ "captureBeyondViewport": true, "format": "png" }),
            );
            let bytes = STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
            fs::write(folder.join(format!("{name}-{width}-{theme}.png")), bytes).unwrap();
        }
    }
}
