//! Files of results as the store knows them: their identity, and which of two is later.

use pinpoint_traces::{ResultFile, Source};
use sha2::{Digest, Sha256};

/// The rank of a file as bytes: the greater of two is that of the later file, as files are ordered
/// by [`Source`]. Of two with the same path and time, what they say decides.
pub(super) fn rank(source: &Source, digest: &[u8]) -> Vec<u8> {
    // Without the sign, smaller numbers have smaller bytes.
    let ordered = |time: i64| (time.cast_unsigned() ^ 1 << 63).to_be_bytes();
    let mut rank = ordered(source.time()).to_vec();
    rank.extend(source.path.bytes());
    // Before any character of a longer path.
    rank.push(0);
    rank.extend(ordered(source.modified));
    rank.extend(digest);
    rank
}

/// The SHA-256 of all that a file says.
pub(super) fn digest(file: &ResultFile) -> Vec<u8> {
    let mut digest = Sha256::new();
    let mut add = |bytes: &[u8]| {
        // With its length, so that no two lists are the same bytes.
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    add(file.source.path.as_bytes());
    add(&file.source.modified.to_le_bytes());
    add(file.commit.to_string().as_bytes());
    match &file.tried {
        Some(tried) => [&tried.issue, &tried.patchset].map(|it| add(it.as_bytes())),
        None => [add(b""), add(b"")],
    };
    let mut add_links = |links: &pinpoint_traces::Links| {
        add(&(links.len() as u64).to_le_bytes());
        for (name, link) in links {
            add(name.as_bytes());
            add(link.as_bytes());
        }
    };
    add_links(&file.links);
    for point in &file.points {
        add_links(&point.links);
    }
    // Of the samples behind a value, only the value is kept.
    for point in &file.points {
        add(point.trace.as_str().as_bytes());
        add(&point.value.to_bits().to_le_bytes());
    }
    digest.finalize().to_vec()
}
