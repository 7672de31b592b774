//! The output of `go test -json -bench`: a line of JSON for each event.
//!
//! ```text
//! {"Time":"…","Action":"output","Package":"example.org/sums","Test":"BenchmarkSum","Output":"BenchmarkSum-2 \t"}
//! {"Time":"…","Action":"output","Package":"example.org/sums","Test":"BenchmarkSum","Output":"    1000\t  7.752 ns/op\n"}
//! ```
//!
//! The outputs in the events of a package make up the text that `go test -bench` prints for it, read
//! by `go_benchmark.rs`. Packages are tested at the same time, so their events alternate. A
//! line between them that is no event, as of a build, is skipped.
//!
//! Source: `go doc test2json`. Checked with Go 1.26.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::text::{lines_with, lines_with_ends};
use super::{OutputPosition, ReadError, Reading, go_benchmark};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event<'a> {
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(borrow)]
    package: Option<Cow<'a, str>>,
    #[serde(borrow)]
    output: Option<Cow<'a, str>>,
}

/// The printed text, and the places of its lines.
#[derive(Default)]
struct Printed {
    text: String,
    /// For each line of the text, that of the event in which it begins, from 0.
    lines: Vec<usize>,
    /// The lines of the events.
    known: Vec<usize>,
    /// The last line, if it looks like the beginning of an event.
    cut_off: Option<usize>,
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let printed = printed(text);
    let mut reading =
        go_benchmark::read(&printed.text).map_err(|error| printed.with_its_place(error))?;
    reading.lines.known = printed.known;
    reading.lines.garbled = printed.cut_off.into_iter().collect();
    Ok(reading)
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, ACTION).any(|line| event(line).is_some())
        && go_benchmark::recognize(&printed(text).text)
}

/// The member of an event that tells its kind.
const ACTION: &str = "\"Action\":";

/// An event, if the line is one.
fn event(line: &str) -> Option<Event<'_>> {
    // Most lines of other outputs are skipped without parsing.
    if !line.starts_with('{') || !line.contains(ACTION) {
        return None;
    }
    let event: Event = serde_json::from_str(line).ok()?;
    (event.package.is_some() && !event.action.is_empty()).then_some(event)
}

/// The text that the events of each package hold, one package after another.
fn printed(text: &str) -> Printed {
    let mut all = Printed::default();
    let mut of_packages: BTreeMap<String, Printed> = BTreeMap::new();
    for (index, line, has_end) in lines_with_ends(text) {
        let Some(event) = event(line) else {
            if !has_end && line.starts_with('{') {
                all.cut_off = Some(index);
            }
            continue;
        };
        all.known.push(index);
        let (Some(package), Some(output)) = (event.package, event.output) else {
            continue;
        };
        let printed = of_packages.entry(package.into_owned()).or_default();
        for piece in output.split_inclusive('\n') {
            if printed.text.is_empty() || printed.text.ends_with('\n') {
                printed.lines.push(index);
            }
            printed.text.push_str(piece);
        }
    }
    for mut printed in of_packages.into_values() {
        // A package whose events were cut off has a line without an end: no result, if it is the
        // name of a benchmark alone.
        if !printed.text.is_empty() && !printed.text.ends_with('\n') {
            printed.text.push('\n');
        }
        all.text.push_str(&printed.text);
        all.lines.append(&mut printed.lines);
    }
    all
}

impl Printed {
    /// The error with the place of the event instead of that in the printed text.
    fn with_its_place(&self, mut error: ReadError) -> ReadError {
        if let ReadError::GoLine { place, .. }
        | ReadError::NotFinite { place, .. }
        | ReadError::UnitChanged { place, .. } = &mut error
            && let OutputPosition::Text { line, .. } = place
            && let Some(event) = self.lines.get(line.saturating_sub(1))
        {
            *place = OutputPosition::Text {
                line: event + 1,
                column: 1,
            };
        }
        error
    }
}
