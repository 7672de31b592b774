//! Which format an output is in.
//!
//! An output is recognised by its beginning, so that a truncated one is still recognised,
//! and then refused, rather than taken for another format. Each format is marked by
//! something that no other writes: members of a JSON document by their names, the root of
//! an XML document, the shape of a line.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Format, catch2, go_benchmark, lines, talos};

pub(super) fn recognise(output: &[u8]) -> Option<Format> {
    // Lines that are not text do not count: `read` will name them if others are
    // measurements.
    let text = String::from_utf8_lossy(output);
    let begin = text.trim_start();
    if begin.starts_with('<') && catch2::recognise(begin) {
        Some(Format::Catch2)
    } else if begin.starts_with(['{', '['])
        && let Some(format) = json(begin)
    {
        Some(format)
    } else if talos::recognise(&text) {
        Some(Format::Talos)
    } else if go_benchmark::recognise(&text) {
        Some(Format::GoBenchmark)
    } else if lines::recognise(output) {
        Some(Format::Lines)
    } else {
        None
    }
}

/// Looks at a JSON document until its format is known.
fn json(text: &str) -> Option<Format> {
    let mut outline = Outline::default();
    let mut parser = serde_json::Deserializer::from_str(text);
    // The reader deals with whatever follows the decision, or a fault.
    let _ = Top(&mut outline).deserialize(&mut parser);
    outline.format
}

/// The known facts of a document.
#[derive(Default)]
struct Outline {
    /// Members of the top object.
    members: BTreeSet<String>,
    format: Option<Format>,
}

impl Outline {
    /// Records a member of the top object, which may be followed by objects
    /// with members of their own.
    fn member(&mut self, name: &str) {
        self.members.insert(name.to_owned());
        let has = |name| self.members.contains(name);
        self.format = if has("benchmarks") && has("machine_info") {
            Some(Format::PytestBenchmark)
        } else if has("benchmarks") && has("context") {
            Some(Format::GoogleBenchmark)
        } else if has("charts") && (has("format_version") || has("benchmark_name")) {
            Some(Format::Chromium)
        } else {
            None
        };
    }

    /// Records the members of an object in an array: in that of hyperfine's
    /// results, or at the top.
    fn record(&mut self, array: Option<&str>, members: &BTreeSet<String>) {
        let has = |name| members.contains(name);
        self.format = match array {
            Some("results") if has("command") && (has("times") || has("mean")) => {
                Some(Format::Hyperfine)
            }
            None if has("benchmark") && has("mode") => Some(Format::Jmh),
            None if has("guid") && has("type") => Some(Format::Chromium),
            None if has("name") && has("unit") && HISTOGRAM.iter().any(|name| has(name)) => {
                Some(Format::Chromium)
            }
            _ => None,
        };
    }
}

/// The members that only a histogram has beside its name and its unit.
const HISTOGRAM: [&str; 5] = [
    "sampleValues",
    "binBoundaries",
    "running",
    "allBins",
    "diagnostics",
];

/// Ends the walk.
fn decided<E: Error>() -> E {
    E::custom("decided")
}

/// The whole document.
struct Top<'a>(&'a mut Outline);

impl<'de> DeserializeSeed<'de> for Top<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            self.0.member(&name);
            if self.0.format.is_some() {
                return Err(decided());
            }
            if name == "results" {
                members.next_value_seed(Records(self.0, Some("results")))?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<(), A::Error> {
        Records(self.0, None).visit_seq(elements)
    }
}

/// An array that may be one of records.
struct Records<'a>(&'a mut Outline, Option<&'static str>);

impl<'de> DeserializeSeed<'de> for Records<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Records<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements
            .next_element_seed(Record(self.0, self.1))?
            .is_some()
        {}
        Ok(())
    }
}

struct Record<'a>(&'a mut Outline, Option<&'static str>);

impl<'de> DeserializeSeed<'de> for Record<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Record<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = members.next_key()? {
            names.insert(name);
            self.0.record(self.1, &names);
            if self.0.format.is_some() {
                return Err(decided());
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
