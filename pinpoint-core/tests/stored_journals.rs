//! Journals that were written once are read for ever: every file in
//! `tests/journals` holds a spec, the events of its search and the outcome they
//! led to, as the version in its name wrote them with the strategy in it.
//!
//! When the records of a spec, an event or an outcome change, their version
//! rises, and a journal of the new version joins those that are here; the old
//! ones stay as they are.

use pinpoint_core::{Bisection, BisectionSpec, Event, Machine, Outcome};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Stored {
    spec: BisectionSpec,
    events: Vec<Event>,
    outcome: Outcome,
}

#[test]
fn every_stored_journal_gives_its_outcome() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/journals");
    let mut versions = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let stored: Stored =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let name =
            format!("{:?}-{}.json", stored.spec.strategy, stored.spec.version).to_lowercase();
        assert_eq!(path.file_name(), Some(name.as_ref()));
        versions.push(stored.spec.version);
        assert!(stored.events.len() > 40, "{}", path.display());
        let machine = Bisection::replay(stored.spec, stored.events).unwrap();
        assert_eq!(
            machine.outcome(),
            Some(&stored.outcome),
            "{}",
            path.display()
        );
    }
    versions.sort_unstable();
    versions.dedup();
    let expected: Vec<u32> = (1..=pinpoint_core::SPEC_VERSION).collect();
    assert_eq!(versions, expected, "a journal of each version");
}
