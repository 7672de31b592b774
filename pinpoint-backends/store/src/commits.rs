//! The hashes of the commits by which a job is found: the ends of its question, and those that it
//! compared, could not use, or found to be to blame. The many candidates for the answer are left
//! out.

use serde_json::Value;

/// The fields of an outcome with commits that no run was about.
const OTHERS: [&str; 2] = ["candidates", "posterior"];

/// The hashes of commits in a job's JSON; none in text that is not JSON.
pub(super) fn hashes(json: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str(json) {
        collect(&value, &mut found);
    }
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(hash) if name == "git_hash" => found.push(hash.clone()),
                    _ if OTHERS.contains(&&**name) => {}
                    _ => collect(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_found_at_any_depth_but_for_those_that_no_run_was_about() {
        let json = r#"{
            "range": { "good": { "main": { "git_hash": "a1" }, "modified_deps": [{ "git_hash": "d1" }] } },
            "candidates": [{ "main": { "git_hash": "b1" } }],
            "posterior": { "points": [{ "git_hash": "b2" }] },
            "culprits": [{ "blamed": { "git_hash": "c1" } }],
            "title": "git_hash"
        }"#;
        let mut found = hashes(json);
        found.sort();
        assert_eq!(found, ["a1", "c1", "d1"]);
        assert_eq!(hashes("{"), Vec::<String>::new());
    }
}
