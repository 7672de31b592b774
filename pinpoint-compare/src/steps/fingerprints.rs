//! Clusters of one run matched with those of earlier ones, so that a person triages each once.

use std::collections::BTreeSet;

/// The keys of a stored fingerprint that are looked for in a new cluster.
pub const KEYS_COMPARED: usize = 20;

/// A person's word on a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Triage {
    /// Nobody has looked at it.
    #[default]
    New,
    /// It does not matter.
    Ignore,
    /// It is a regression.
    Bug,
}

/// An interesting cluster of a run.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Found {
    /// The keys of its traces, nearest first.
    pub keys: Vec<String>,
    /// R of its centroid; negative for a rise.
    pub regression: f64,
    /// The centroid.
    pub values: Vec<f64>,
    /// When the commit of the step was made, in milliseconds of Unix time.
    pub time: i64,
    /// The commit of the step.
    pub hash: String,
    /// The number of that commit, by which tiles are cut.
    pub commit: u64,
}

/// A stored cluster and its triage.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fingerprint {
    /// Its name, the same for as long as it is stored.
    pub id: u64,
    /// The triage.
    pub triage: Triage,
    /// A person's message.
    pub message: String,
    /// The cluster: that with the largest |R| of all that matched, with the keys of all of them.
    pub cluster: Found,
}

/// Matches the clusters of a run with the stored fingerprints, and returns these as they are after
/// the run: the stored ones in their order, then the new ones in the order of `found`.
///
/// A cluster belongs to the stored fingerprint of its direction, among those whose step is in the
/// tile, of whose first [`KEYS_COMPARED`] keys it has most; of several with as many, to the one with
/// the lowest id. If it has none of any, it becomes a new entry, whose id follows the largest stored
/// one. The larger |R| of the two gives values, time, hash and commit (at a tie those stored stay);
/// id, triage and message stay; the keys are those of both, the winner's first.
///
/// All clusters are matched against the fingerprints as they were before the run. So two clusters
/// that both belong to one do not depend on each other: the second is no new entry because the first
/// has replaced the keys.
///
/// # Cost
///
/// O(stored · found · 20 · log keys).
pub fn match_fingerprints(
    stored: &[Fingerprint],
    found: &[Found],
    tile: std::ops::Range<u64>,
) -> Vec<Fingerprint> {
    let mut after = stored.to_vec();
    let mut next_id = stored.iter().map(|it| it.id).max().map_or(0, |id| id + 1);
    let mut fresh = Vec::new();
    for cluster in found {
        let keys: BTreeSet<&str> = cluster.keys.iter().map(String::as_str).collect();
        let in_tile = stored.iter().enumerate().filter(|(_, entry)| {
            tile.contains(&entry.cluster.commit)
                && (entry.cluster.regression < 0.0) == (cluster.regression < 0.0)
        });
        let best = in_tile
            .map(|(at, entry)| {
                let first = entry.cluster.keys.iter().take(KEYS_COMPARED);
                let common = first.filter(|key| keys.contains(key.as_str())).count();
                (at, entry.id, common)
            })
            .filter(|(_, _, common)| *common > 0)
            .max_by_key(|&(_, id, common)| (common, std::cmp::Reverse(id)));
        match best.and_then(|(at, ..)| after.get_mut(at)) {
            Some(entry) => merge(&mut entry.cluster, cluster),
            None => {
                fresh.push(Fingerprint {
                    id: next_id,
                    triage: Triage::New,
                    message: String::new(),
                    cluster: cluster.clone(),
                });
                next_id += 1;
            }
        }
    }
    after.extend(fresh);
    after
}

/// The larger |R| wins; the keys of both stay.
fn merge(entry: &mut Found, cluster: &Found) {
    let loser = if cluster.regression.abs() > entry.regression.abs() {
        std::mem::replace(entry, cluster.clone()).keys
    } else {
        cluster.keys.clone()
    };
    let known: BTreeSet<String> = entry.keys.iter().cloned().collect();
    entry
        .keys
        .extend(loser.into_iter().filter(|key| !known.contains(key)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(keys: &[&str], regression: f64) -> Found {
        Found {
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            regression,
            values: vec![regression],
            time: regression as i64,
            hash: regression.to_string(),
            commit: 10,
        }
    }

    fn entry(id: u64, triage: Triage, keys: &[&str], regression: f64) -> Fingerprint {
        Fingerprint {
            id,
            triage,
            message: format!("message {id}"),
            cluster: cluster(keys, regression),
        }
    }

    #[test]
    fn clusters_are_matched_with_the_fingerprints_before_the_run() {
        let stored = [
            entry(1, Triage::Bug, &["1"], -200.0),
            entry(2, Triage::New, &["2"], -180.0),
            entry(3, Triage::New, &["3", "4"], -300.0),
        ];
        let found = [
            cluster(&["1"], -250.0),
            cluster(&["3"], -350.0),
            cluster(&["4"], -310.0),
            cluster(&["5"], -160.0),
        ];
        let after = match_fingerprints(&stored, &found, 0..100);
        assert_eq!(after.len(), 4);
        assert_eq!(after[0], entry(1, Triage::Bug, &["1"], -250.0));
        assert_eq!(after[1], stored[1]);
        assert_eq!(after[2], entry(3, Triage::New, &["3", "4"], -350.0));
        assert_eq!(after[3].cluster, found[3]);
        assert_eq!((after[3].id, after[3].triage), (4, Triage::New));
        // The order of the clusters does not matter for the entries.
        let mut turned = found.clone();
        turned.reverse();
        let again = match_fingerprints(&stored, &turned, 0..100);
        assert_eq!(again[2].cluster.regression, -350.0);
        assert_eq!(again[2].cluster.keys, ["3", "4"]);
        assert_eq!(again.len(), 4);
    }

    #[test]
    fn a_fix_of_the_same_traces_is_an_entry_of_its_own() {
        let stored = [entry(1, Triage::Bug, &["1"], -200.0)];
        let after = match_fingerprints(&stored, &[cluster(&["1"], 200.0)], 0..100);
        assert_eq!((after.len(), after[1].triage), (2, Triage::New));
    }

    #[test]
    fn most_keys_win_then_the_older_entry() {
        let stored = [
            entry(5, Triage::New, &["a", "x"], -200.0),
            entry(2, Triage::New, &["b", "y"], -200.0),
            entry(7, Triage::New, &["a", "b"], -60.0),
        ];
        let after = match_fingerprints(&stored, &[cluster(&["a", "b"], -100.0)], 0..100);
        assert_eq!(after[2].cluster.regression, -100.0);
        let after = match_fingerprints(&stored[..2], &[cluster(&["a", "b"], -300.0)], 0..100);
        assert_eq!(after[1].cluster.regression, -300.0);
        assert_eq!(after[1].cluster.keys, ["a", "b", "y"]);
    }

    #[test]
    fn only_the_first_twenty_keys_and_the_tile_count() {
        let keys: Vec<String> = (0..21).map(|i| i.to_string()).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let stored = [entry(0, Triage::Ignore, &keys, -200.0)];
        let of =
            |key: &str, tile| match_fingerprints(&stored, &[cluster(&[key], -1.0)], tile).len();
        assert_eq!(
            (of("19", 0..100), of("20", 0..100), of("19", 11..100)),
            (1, 2, 2)
        );
    }
}
