//! Files by their digests.

pub(crate) mod server;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::services::State;

/// The instance that has them.
pub const INSTANCE: &str = "projects/chrome-swarming/instances/default_instance";

impl State {
    /// Keeps a blob; its digest.
    pub(crate) fn store(&mut self, bytes: Vec<u8>) -> String {
        let hash = hex::encode(Sha256::digest(&bytes));
        let digest = format!("{hash}/{}", bytes.len());
        self.blobs.insert(digest.clone(), bytes);
        digest
    }

    /// The slowness of the build of this digest.
    pub(crate) fn level_of(&self, build: &str) -> Option<f64> {
        let build: Value = serde_json::from_slice(self.blobs.get(build)?).ok()?;
        build["level"].as_f64()
    }

    /// Does a build hold the browsers of Android?
    pub(crate) fn is_for_android(&self, build: &str) -> bool {
        let build = self.blobs.get(build);
        let build = build.and_then(|it| serde_json::from_slice::<Value>(it).ok());
        build.is_some_and(|build| build["android"] == true)
    }
}

/// Keeps what a task leaves: `BENCHMARK/perf_results.json`, and its trace at a path of its own;
/// the digest of the root.
pub(crate) fn results(
    state: &mut State,
    benchmark: &str,
    value: f64,
    trace: Option<(&str, Vec<u8>)>,
) -> String {
    let histograms = json!([{
        "name": "Score",
        "unit": "ms_smallerIsBetter",
        "sampleValues": [value, value],
    }]);
    let path = format!("{benchmark}/perf_results.json");
    let mut files = BTreeMap::from([(path, histograms.to_string().into_bytes())]);
    files.extend(trace.map(|(path, trace)| (path.to_owned(), trace)));
    tree(state, files)
}

/// Keeps files by their paths; the digest of the root.
fn tree(state: &mut State, files: BTreeMap<String, Vec<u8>>) -> String {
    let (mut here, mut folders) = (Vec::new(), BTreeMap::<_, BTreeMap<_, _>>::new());
    for (path, content) in files {
        match path.split_once('/') {
            Some((folder, rest)) => {
                let folder = folders.entry(folder.to_owned()).or_default();
                folder.insert(rest.to_owned(), content);
            }
            None => here.extend(entry(1, &path, &state.store(content))),
        }
    }
    for (name, files) in folders {
        let digest = tree(state, files);
        here.extend(entry(2, &name, &digest));
    }
    state.store(here)
}

/// An entry of a `Directory` of the Remote Execution API: a file (field 1) or a folder (field 2),
/// each with its name (field 1) and its digest (field 2: hash, size).
fn entry(field: u8, name: &str, digest: &str) -> Vec<u8> {
    let (hash, size) = digest.split_once('/').unwrap_or_default();
    let mut size_field = vec![0x10];
    size_field.extend(varint(size.parse().unwrap_or_default()));
    let digest = [message(1, hash.as_bytes()), size_field].concat();
    let entry = [message(1, name.as_bytes()), message(2, &digest)].concat();
    message(field, &entry)
}

fn message(field: u8, bytes: &[u8]) -> Vec<u8> {
    let mut message = vec![field << 3 | 2];
    message.extend(varint(bytes.len() as u64));
    message.extend_from_slice(bytes);
    message
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
