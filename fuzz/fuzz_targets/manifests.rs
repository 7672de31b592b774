//! Every manifest, on the same file: an answer, or an error inside of the file.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use pinpoint_midpoint::manifest::{all, resolve_url};

fuzz_target!(|file: &[u8]| {
    let file = String::from_utf8_lossy(file);
    let gitlinks = BTreeMap::from([("p".to_owned(), "1f2e".to_owned())]);
    let half = file.char_indices().nth(file.chars().count() / 2);
    let (before, after) = file.split_at(half.map_or(0, |(at, _)| at));
    for manifest in all() {
        for file in [&*file, before, after] {
            match manifest.read(file, &gitlinks) {
                Ok(read) => assert_eq!(manifest.read(file, &gitlinks), Ok(read)),
                Err(error) => {
                    assert_eq!(error.file, manifest.file());
                    let line = file.split('\n').nth(error.line - 1).expect("a line of the file");
                    assert!((1..=line.chars().count() + 1).contains(&error.column), "{error}");
                }
            }
        }
    }
    let _ = resolve_url(before, after);
});
