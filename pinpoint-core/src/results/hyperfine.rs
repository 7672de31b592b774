//! hyperfine's `--export-json`.
//!
//! ```json
//! {"results": [{"command": "sleep 0.1", "mean": 0.1012, "times": [0.1011, 0.1013], …}]}
//! ```
//!
//! One chart for each command, named by it (or by `--command-name`), of all its
//! times in seconds. Checked with hyperfine 1.20.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::charts::Charts;
use super::document::{self, Elements, Member, Numbers};
use super::{Place, ReadError};
use crate::{Direction, Series};

#[derive(Deserialize)]
struct Benchmark<'a> {
    #[serde(borrow)]
    command: Cow<'a, str>,
    times: Numbers,
}

pub(super) fn read(text: &str) -> Result<BTreeMap<String, Series>, ReadError> {
    let mut charts = Charts::default();
    let take = |index, Benchmark { command, times }: Benchmark| match times.0 {
        None => charts.fail(&command),
        Some(times) => charts.add_once(&command, times, Some("s"), Direction::Down, || {
            Place::Json(format!("/results/{index}"))
        }),
    };
    document::read(text, "hyperfine", Member("results", Elements::new(take)))?;
    charts.finish("a command in /results")
}
