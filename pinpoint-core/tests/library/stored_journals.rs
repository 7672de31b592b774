//! Journals of every version can always be read: every file in
//! `tests/journals` holds a spec, the events of its job and the outcome they
//! led to, as the version of its name wrote them: of a bisection, `adaptive-1.json`
//! and `pinpoint-1.json` with the strategy in the name, and of the other machines
//! `pairwise-1.json` and `culprit-finder-1.json`.
//!
//! When the records of a spec, an event or an outcome change, their version rises, and a journal of
//! the new version joins those that are here; the old ones stay unchanged.

#![expect(clippy::unwrap_used, reason = "a missing value fails the test")]

use std::fmt::Debug;

use pinpoint_core::{
    Action, Bisection, CULPRIT_FINDER_SPEC_VERSION, CulpritFinder, CulpritFinderOutcome,
    CulpritFinderSpec, Event, Machine, PAIRWISE_SPEC_VERSION, Pairwise, PairwiseOutcome,
    PairwiseSpec, SPEC_VERSION, SpecError,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
struct Stored<Spec, Outcome> {
    spec: Spec,
    events: Vec<Event>,
    outcome: Outcome,
}

fn stored<T: DeserializeOwned>(name: &str) -> T {
    let path = format!("{}/journals/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("a journal of each version");
    serde_json::from_str(&text).expect("a journal that can be read")
}

/// Replays the journals of all versions of a machine, whose files begin alike.
fn replay_every_version<Spec, M>(
    beginning: &str,
    versions: u32,
    begin: impl Fn(Spec) -> Result<M, SpecError>,
) where
    Spec: DeserializeOwned,
    M: Machine,
    M::Outcome: DeserializeOwned + Debug + PartialEq,
{
    for version in 1..=versions {
        let path = format!("{beginning}{version}.json");
        let stored: Stored<Spec, M::Outcome> = stored(&path);
        assert!(stored.events.len() > 40, "{path}");
        let mut machine = begin(stored.spec).expect("a spec that is known");
        for event in stored.events {
            machine.handle(event).expect("a possible event");
        }
        assert_eq!(machine.outcome(), Some(&stored.outcome), "{path}");
    }
}

#[test]
fn every_stored_bisection_gives_its_outcome() {
    replay_every_version("adaptive-", SPEC_VERSION, Bisection::new);
    replay_every_version("pinpoint-", SPEC_VERSION, Bisection::new);
}

#[test]
fn every_stored_pairwise_comparison_gives_its_outcome() {
    replay_every_version("pairwise-", PAIRWISE_SPEC_VERSION, Pairwise::new);
}

#[test]
fn every_stored_culprit_finder_gives_its_outcome() {
    replay_every_version(
        "culprit-finder-",
        CULPRIT_FINDER_SPEC_VERSION,
        CulpritFinder::new,
    );
}

/// The outcome of a machine that is canceled, and whose work then ends.
fn canceled<M: Machine<Outcome: Clone> + Clone>(machine: &M) -> M::Outcome {
    let mut machine = machine.clone();
    machine.handle(Event::CancelRequested).unwrap();
    for Action { number, .. } in machine.outstanding() {
        machine.handle(Event::Canceled { action: number }).unwrap();
    }
    machine.outcome().expect("nothing is under way").clone()
}

#[test]
fn a_comparison_so_far_is_the_outcome_of_one_that_is_canceled() {
    let pairwise: Stored<PairwiseSpec, PairwiseOutcome> = stored("pairwise-2.json");
    let finder: Stored<CulpritFinderSpec, CulpritFinderOutcome> = stored("culprit-finder-2.json");
    let mut comparison = Pairwise::new(pairwise.spec).unwrap();
    for event in pairwise.events {
        assert_eq!(comparison.so_far(), canceled(&comparison));
        comparison.handle(event).unwrap();
    }
    assert_eq!(comparison.so_far(), pairwise.outcome);
    let mut finder_now = CulpritFinder::new(finder.spec).unwrap();
    for event in finder.events {
        let so_far = finder_now.verification().so_far();
        assert_eq!(so_far, canceled(&finder_now).verification);
        finder_now.handle(event).unwrap();
    }
    assert_eq!(
        finder_now.verification().so_far(),
        finder.outcome.verification
    );
}

/// Writes the journals of the newest version from those before it: the same question and events,
/// and their current outcome.
#[test]
#[ignore = "for who raises a version"]
fn record_the_newest_version() {
    fn record<M>(beginning: &str, version: u32, begin: impl Fn(serde_json::Value) -> M)
    where
        M: Machine<Outcome: serde::Serialize>,
    {
        let mut journal: serde_json::Value = stored(&format!("{beginning}{}.json", version - 1));
        journal["spec"]["version"] = version.into();
        let mut machine = begin(journal["spec"].clone());
        let events: Vec<Event> = serde_json::from_value(journal["events"].clone()).unwrap();
        for event in events {
            machine.handle(event).unwrap();
        }
        let outcome = machine.outcome().expect("its events lead to an outcome");
        journal["outcome"] = serde_json::to_value(outcome).unwrap();
        let path = format!(
            "{}/journals/{beginning}{version}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        std::fs::write(path, serde_json::to_string(&journal).unwrap() + "\n").unwrap();
    }
    let bisection = |spec| Bisection::new(serde_json::from_value(spec).unwrap()).unwrap();
    record("adaptive-", SPEC_VERSION, bisection);
    record("pinpoint-", SPEC_VERSION, bisection);
    record("pairwise-", PAIRWISE_SPEC_VERSION, |spec| {
        Pairwise::new(serde_json::from_value(spec).unwrap()).unwrap()
    });
    record("culprit-finder-", CULPRIT_FINDER_SPEC_VERSION, |spec| {
        CulpritFinder::new(serde_json::from_value(spec).unwrap()).unwrap()
    });
}
