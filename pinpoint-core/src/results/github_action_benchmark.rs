//! The custom results of github-action-benchmark, `customSmallerIsBetter` and
//! `customBiggerIsBetter`.
//!
//! ```json
//! [{"name": "sum 1000", "unit": "ms", "value": 12.5, "range": "± 0.3", "extra": "one thread"}]
//! ```
//!
//! One chart for each entry, named by it, of one value. Which direction is better stands in the
//! action's settings, not in the file.
//!
//! Source: the README of <https://github.com/benchmark-action/github-action-benchmark>.

use std::borrow::Cow;

use pinpoint_document::Elements;
use serde::Deserialize;

use super::charts::Charts;
use super::document::{self, Number};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    unit: Cow<'a, str>,
    value: Number,
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let take = |index, Entry { name, unit, value }: Entry| match value {
        Number::Finite(value) => {
            let unit = Some(&*unit).filter(|unit| !unit.is_empty());
            charts.add_once(&name, vec![value], unit, Direction::Unknown, || {
                OutputPosition::Json(format!("/{index}"))
            });
        }
        Number::Failed => charts.fail(&name, "its value is not a number"),
    };
    document::read(text, "github-action-benchmark", Elements::new(take))?;
    charts.finish("an entry with name, unit and value in the array")
}
