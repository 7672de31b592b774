//! Bencher Metric Format, the JSON that Bencher takes from any benchmark.
//!
//! ```json
//! {"sum 1000": {"latency": {"value": 88.0, "lower_value": 87.4, "upper_value": 88.9}}}
//! ```
//!
//! One chart for each measure of a benchmark, `sum 1000 latency`, of one value. The measures that
//! Bencher has built in have their units and directions; others have none.
//!
//! Source: <https://bencher.dev/docs/reference/bencher-metric-format>.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::charts::Charts;
use super::document::{self, Entries, Members, Number};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

#[derive(Deserialize)]
struct Metric {
    value: Number,
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let take = |benchmark: Cow<str>, Members(measures): Members<Metric>| {
        for (measure, metric) in measures {
            let chart = format!("{benchmark} {measure}");
            let (unit, direction) = of_measure(&measure);
            match metric.value {
                Number::Finite(value) => {
                    charts.add_once(&chart, vec![value], unit, direction, || {
                        OutputPosition::Json(document::pointer(&[&benchmark, &measure]))
                    });
                }
                Number::Failed => charts.fail(&chart, "its value is not a number"),
            }
        }
    };
    document::read(text, "Bencher Metric Format", Entries::new(take))?;
    charts.finish("a benchmark's measure with a value")
}

/// The unit and the direction of Bencher's own measures.
fn of_measure(measure: &str) -> (Option<&'static str>, Direction) {
    match measure {
        "latency" => (Some("ns"), Direction::Down),
        "throughput" => (Some("ops/s"), Direction::Up),
        "build-time" => (Some("s"), Direction::Down),
        "file-size" => (Some("B"), Direction::Down),
        "instructions" | "estimated-cycles" | "ram-hits" => (None, Direction::Down),
        _ => (None, Direction::Unknown),
    }
}

/// Returns true if the first benchmark with a measure has nothing but what the format allows.
pub(super) fn recognize(text: &str) -> bool {
    let mut parser = serde_json::Deserializer::from_str(text);
    let mut found = false;
    // The walk ends with an error as soon as it is decided.
    let _ = parser.deserialize_map(First(&mut found));
    found
}

struct First<'a>(&'a mut bool);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exactly {
    #[serde(rename = "value")]
    _value: Number,
    #[serde(rename = "lower_value")]
    _lower: Option<Number>,
    #[serde(rename = "upper_value")]
    _upper: Option<Number>,
}

impl<'de> Visitor<'de> for First<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut benchmarks: A) -> Result<(), A::Error> {
        while let Some((_, measures)) =
            benchmarks.next_entry::<String, BTreeMap<String, Exactly>>()?
        {
            if !measures.is_empty() {
                *self.0 = true;
                return Err(A::Error::custom("decided"));
            }
        }
        Ok(())
    }
}
