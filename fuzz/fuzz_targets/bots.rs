//! Bot configurations, as TOML and as JSON.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinpoint_core::bots::{Bots, ConfigFile};

fuzz_target!(|text: &[u8]| {
    let text = String::from_utf8_lossy(text);
    for name in ["bots.toml", "bots.json"] {
        let file = ConfigFile { name, text: &text };
        match Bots::read(&[file]) {
            Ok(bots) => {
                for bot in bots.iter() {
                    bots.get(bot.name).expect("what is listed is there");
                }
                bots.external();
            }
            Err(errors) => {
                let lines = text.split('\n').count();
                for error in errors.iter() {
                    assert!((1..=lines).contains(&error.line), "{error}");
                }
            }
        }
    }
});
