//! Every manifest, on the same file: an answer, or an error inside of the file.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use pinpoint_midpoint::manifest::{all, changes, resolve_url};

fuzz_target!(|file: &[u8]| {
    let file = String::from_utf8_lossy(file);
    let gitlinks = BTreeMap::from([("p".to_owned(), "1f2e".to_owned())]);
    // A change is from one file to another: both halves, and the whole.
    let half = file.char_indices().nth(file.chars().count() / 2);
    let (before, after) = file.split_at(half.map_or(0, |(at, _)| at));
    for manifest in all() {
        let read = |file: &str| match manifest.read(file, &gitlinks) {
            Ok(read) => {
                assert_eq!(changes(&read, &read), []);
                Some(read)
            }
            Err(error) => {
                assert_eq!(error.file, manifest.file());
                let line = file.split('\n').nth(error.line - 1).expect("a line of the file");
                assert!((1..=line.chars().count() + 1).contains(&error.column), "{error}");
                None
            }
        };
        read(&file);
        if let (Some(before), Some(after)) = (read(before), read(after)) {
            let there = changes(&before, &after);
            assert_eq!(there.len(), changes(&after, &before).len());
        }
    }
    let _ = resolve_url(before, after);
});
