//! Catch2's XML reporter, `-r xml`.
//!
//! ```xml
//! <Catch2TestRun …>
//!   <TestCase name="sums" …>
//!     <Section name="large" …>
//!       <BenchmarkResults name="sum 100" …>
//!         <mean value="32.3275" …/>
//! ```
//!
//! One chart for each benchmark, named by its test case, its sections and
//! itself, `sums/large/sum 100`. Catch2 writes no single measurements, only their
//! mean in nanoseconds, so that a run gives one value, or one for each time that a
//! test case enters the benchmark. A benchmark that failed has no chart, nor has one of a test
//! case that failed. Checked
//! with Catch2 2.13 (whose root is `Catch`) and 3.7.

use std::borrow::Cow;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::charts::{Charts, MOST_OF_A_SHARED_NAME};
use super::number::{self, Number};
use super::text::place_at;
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

const ROOTS: [&str; 2] = ["Catch2TestRun", "Catch"];

/// An element that is open.
struct Element {
    is_results: bool,
    /// Its name, if it is part of a chart's.
    name: Option<String>,
    /// The bytes of the names of this and of all elements around it, and one for each of them.
    length: usize,
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut reader = Reader::from_str(text);
    let mut charts = Charts::default();
    let mut open: Vec<Element> = Vec::new();
    let mut has_root = false;
    loop {
        let start = reader.buffer_position();
        let place = || place_at(text, start as usize);
        let refuse = |problem: String| ReadError::Xml {
            place: place(),
            problem,
        };
        let event = reader.read_event().map_err(|error| ReadError::Xml {
            place: place_at(text, reader.error_position() as usize),
            problem: error.to_string(),
        })?;
        let (element, is_empty) = match &event {
            Event::Start(element) => (element, false),
            Event::Empty(element) => (element, true),
            Event::End(_) => {
                open.pop();
                continue;
            }
            Event::Text(text) if text.trim().is_empty() => continue,
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) if open.is_empty() => {
                return Err(refuse("there is text outside the document".into()));
            }
            Event::Eof if !open.is_empty() || !has_root => {
                return Err(refuse("the document ends too early".into()));
            }
            Event::Eof => break,
            _ => continue,
        };
        let tag = element.name();
        let in_results = open.last().is_some_and(|parent| parent.is_results);
        if open.is_empty() && (has_root || !ROOTS.contains(&tag.as_ref())) {
            return Err(refuse(
                "one element Catch2TestRun or Catch is needed".into(),
            ));
        }
        has_root = true;
        match tag.as_ref() {
            "mean" if in_results => {
                let value = attribute(element, "value").map_err(&refuse)?;
                add(&mut charts, &chart(&open), &value, place)?;
            }
            // Stands in place of the results.
            "failed" if in_results => {
                let message = attribute(element, "message").unwrap_or_default();
                charts.fail(&chart(&open), format!("Catch2 says `{message}`"));
            }
            // Ends a test case, of which an assertion did not hold or an exception was thrown.
            "OverallResult" if is_failure(element) => {
                let case = format!("{}/", chart(&open));
                let reason = "Catch2 says that its test case failed";
                charts.fail_beginning(&case, reason);
            }
            _ => {}
        }
        if !is_empty {
            let name = match tag.as_ref() {
                "TestCase" | "Section" | "BenchmarkResults" => {
                    Some(attribute(element, "name").map_err(&refuse)?.into_owned())
                }
                _ => None,
            };
            let outer = open.last().map_or(0, |parent| parent.length);
            let length = outer + name.as_ref().map_or(0, String::len) + 1;
            if length > MOST_OF_A_SHARED_NAME {
                return Err(refuse("the names of the sections are too long".into()));
            }
            open.push(Element {
                is_results: tag.as_ref() == "BenchmarkResults",
                name,
                length,
            });
        }
    }
    charts.finish(
        "a BenchmarkResults element (do the tests have benchmarks, and were they not skipped?)",
    )
}

/// Returns true for the result of a test case that failed.
fn is_failure(element: &BytesStart<'_>) -> bool {
    attribute(element, "success").is_ok_and(|success| success == "false")
}

/// Returns true if it begins like a report of Catch2.
pub(super) fn recognize(text: &str) -> bool {
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => return ROOTS.contains(&element.name().as_ref()),
            Ok(Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_)) => {}
            Ok(Event::Text(text)) if text.trim().is_empty() => {}
            Ok(_) | Err(_) => return false,
        }
    }
}

fn chart(open: &[Element]) -> String {
    let names = open.iter().filter_map(|element| element.name.as_deref());
    names.collect::<Vec<_>>().join("/")
}

fn attribute<'a>(element: &'a BytesStart<'_>, name: &str) -> Result<Cow<'a, str>, String> {
    let attribute = element
        .try_get_attribute(name)
        .map_err(|error| error.to_string())?
        .ok_or_else(|| format!("the attribute {name} is missing"))?;
    attribute
        .normalized_value(XmlVersion::Implicit1_0)
        .map_err(|error| error.to_string())
}

fn add(
    charts: &mut Charts,
    chart: &str,
    value: &str,
    place: impl Fn() -> OutputPosition,
) -> Result<(), ReadError> {
    match number::number(value) {
        Some(Number::Finite(number)) => {
            charts.add(chart, vec![number], Some("ns"), Direction::Down, place);
            Ok(())
        }
        Some(Number::NotFinite) => Err(ReadError::NotFinite {
            place: place(),
            found: format!("`{value}`"),
        }),
        None => Err(ReadError::NotANumber {
            place: place(),
            found: format!("`{value}`"),
        }),
    }
}
