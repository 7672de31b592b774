//! The list of a stored build's files, with a right checksum or not: an error, or entries
//! that all lie in the build's directory.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinpoint_backends::local::BuildManifest;
use sha2::{Digest, Sha256};

fuzz_target!(|bytes: &[u8]| {
    let _ = BuildManifest::read(bytes, "key");
    let digest = Sha256::digest(bytes);
    let sum: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    // The bytes of its files are part of the first line.
    for size in [0, 3] {
        let mut whole = format!("{sum} {size}\n").into_bytes();
        whole.extend(bytes);
        if let Ok(manifest) = BuildManifest::read(&whole, "key") {
            for path in manifest.paths() {
                assert!(path.split('/').all(|part| !matches!(part, "" | "." | ".." | ".git")));
                assert!(path.starts_with("tree") || path.starts_with("modules"));
            }
        }
    }
});
