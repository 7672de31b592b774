//! The references of the subtests of V8, by which Talos makes scores of their times.
//!
//! The official benchmark joins Encrypt with Decrypt and Earley with Boyer; scores of Talos differ
//! from its by less than 1 %.
//!
//! Source: `v8_subtest` in `testing/talos/talos/filter.py` of mozilla-central.

const REFERENCES: [(&str, f64); 10] = [
    ("Encrypt", 266_181.0),
    ("Decrypt", 266_181.0),
    ("DeltaBlue", 66_118.0),
    ("Earley", 666_463.0),
    ("Boyer", 666_463.0),
    ("NavierStokes", 1_484_000.0),
    ("RayTrace", 739_989.0),
    ("RegExp", 910_985.0),
    ("Richards", 35_302.0),
    ("Splay", 81_491.0),
];

/// No subtest of V8 has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("V8 has no subtest `{0}`; v8-subtest knows {names}", names = names())]
pub struct UnknownSubtest(String);

fn names() -> String {
    REFERENCES.map(|(name, _)| name).join(", ")
}

/// The reference of a subtest, or of its chart: `suite/subtest [options]`.
pub(super) fn reference(name: &str) -> Result<f64, UnknownSubtest> {
    let without_options = name.split(" [").next().unwrap_or(name);
    let name = without_options.rsplit('/').next().unwrap_or(name);
    let mut references = REFERENCES.iter();
    references
        .find(|(known, _)| *known == name)
        .map(|(_, reference)| *reference)
        .ok_or_else(|| UnknownSubtest(name.to_owned()))
}
