//! DevTools' annotations in a trace: labels, ranges of time, links, breadcrumbs.
//!
//! ```json
//! {"traceEvents": […], "metadata": {"modifications": {
//!   "entriesModifications": {"hiddenEntries": [], "expandableEntries": []},
//!   "initialBreadcrumb": {"window": {"min": 10, "max": 90, "range": 80}, "child": null},
//!   "annotations": {
//!     "entryLabels": [{"entry": "r-12", "label": "here"}],
//!     "labelledTimeRanges": [{"bounds": {"min": 20, "max": 40, "range": 20}, "label": "start"}],
//!     "linksBetweenEntries": [{"entryFrom": "r-12", "entryTo": "p-7-1-120-33"}]}}}}
//! ```
//!
//! Entries are named by [`EventKey`](super::EventKey)s. They are not part of the measurement, so
//! that damaged ones do no harm: they are passed on unchanged.

use serde::Deserialize;
use serde_json::value::RawValue;

/// Longer notes are ignored.
const MOST_BYTES: usize = 1 << 20;

/// The contents of a file besides a timeline.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Notes {
    /// The modifications, as JSON.
    pub(super) modifications: Option<String>,
    /// The length of the recorded part.
    pub(super) recorded_bytes: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(borrow)]
    trace_events: Option<&'a RawValue>,
    #[serde(borrow)]
    time_deltas: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    modifications: Option<&'a RawValue>,
}

/// The notes in a valid document; an array of events has none.
pub(super) fn read_notes(text: &str) -> Notes {
    let Some(document) = object::<Document>(text) else {
        return Notes {
            modifications: None,
            recorded_bytes: trimmed(text),
        };
    };
    let recorded = document.trace_events.or(document.time_deltas);
    let metadata = document
        .metadata
        .and_then(|raw| object::<Metadata>(raw.get()));
    let modifications = metadata.and_then(|metadata| metadata.modifications);
    let modifications = modifications.map(RawValue::get);
    Notes {
        modifications: modifications
            .filter(|json| json.len() <= MOST_BYTES)
            .map(str::to_owned),
        recorded_bytes: recorded.map_or(0, |raw| trimmed(raw.get())),
    }
}

/// The length of a list without its closing bracket: that of a program that was killed lacks it.
fn trimmed(list: &str) -> usize {
    let is_ending = |it| matches!(it, ' ' | '\t' | '\r' | '\n' | ',' | ']');
    list.trim_start().trim_end_matches(is_ending).len()
}

/// Rejects an array, whose elements serde would take for members.
fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    let object = text.trim_start().starts_with('{').then_some(text)?;
    serde_json::from_str(object).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_found_wherever_the_metadata_stands() {
        for text in [
            r#"{"metadata": {"a": 1, "modifications": {"b": [2]}}, "traceEvents": []}"#,
            r#"{"traceEvents": [{"args": {"modifications": 3}}], "metadata": {"modifications": {"b": [2]}}}"#,
        ] {
            assert_eq!(read_notes(text).modifications.unwrap(), r#"{"b": [2]}"#);
        }
    }

    #[test]
    fn what_has_no_notes_is_no_error() {
        let long = format!(
            r#"{{"metadata": {{"modifications": "{}"}}}}"#,
            "x".repeat(MOST_BYTES)
        );
        for text in [
            r#"[{"name": "\"modifications\""}, "modifications"]"#,
            r#"{"metadata": "modifications"}"#,
            r#"{"metadata": null, "modifications": 1}"#,
            r#"{"metadata": [{"modifications": 1}]}"#,
            r#"[{"modifications": 1}]"#,
            &long,
        ] {
            assert_eq!(read_notes(text).modifications, None, "{text:.60}");
        }
    }

    /// As `annotations.test.js` has it.
    #[test]
    fn what_was_recorded_is_as_long_whatever_is_noted() {
        for text in [
            "[{\"a\":[1]}\n]\n",
            "[{\"a\":[1]},\n",
            r#" {"traceEvents": [{"a":[1]} ] }"#,
            r#"{"metadata":{"traceEvents":[]},"traceEvents":[{"a":[1]}]}"#,
        ] {
            assert_eq!(read_notes(text).recorded_bytes, 10, "{text}");
        }
        let profile = r#"{"nodes":[],"timeDeltas":[1,2]}"#;
        assert_eq!(read_notes(profile).recorded_bytes, 4);
        assert_eq!(read_notes("{}").recorded_bytes, 0);
    }
}
