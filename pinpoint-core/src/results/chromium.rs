//! Chromium's performance results: a set of histograms, or chart JSON.
//!
//! ```json
//! [{"guid": "f4…", "type": "GenericSet", "values": ["browse:news:cnn"]},
//!  {"name": "timeToFirstPaint", "unit": "ms_smallerIsBetter", "sampleValues": [610.2, 598.7],
//!   "diagnostics": {"stories": "f4…"}, …}]
//! ```
//!
//! A histogram is a chart named as Chromium's dashboard names it: the metric, the
//! values of its story tags of the form `key:value`, and its story,
//! `timeToFirstPaint/browse:news:cnn`; those of a reference build are kept apart
//! (`_ref`, or `/ref` without a story). A summary over stories bears the metric
//! alone. Its values are the sample values of all histograms of that name; the
//! unit is the part before the direction. A histogram without sample values gives no
//! chart. One with a sample that is not a number, and so all of that name, is left
//! out.
//!
//! ```json
//! {"format_version": "0.1", "charts": {"warm_times": {
//!    "http://www.google.com/": {"type": "list_of_scalar_values", "values": [9, 9, 8], "units": "ms",
//!                               "improvement_direction": "down"},
//!    "summary": {"type": "scalar", "value": 8.7, "units": "ms"}}}}
//! ```
//!
//! A trace of chart JSON is the chart `warm_times/http://www.google.com/`; the
//! trace `summary` is `warm_times`. Traces of another type than `scalar` and
//! `list_of_scalar_values` hold no values and are skipped.
//!
//! Source: Catapult's `docs/histogram-set-json-format.md`, `dashboard/docs/data-format.md` and, for
//! the names, `dashboard/common/histogram_helpers.py`. The dashboard replaces some characters of a
//! story by `_`; here it is unchanged.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pinpoint_document::{Elements, Member};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::charts::Charts;
use super::document::{self, Entries, Members, Number, Numbers};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

const NAME: &str = "Chromium";

/// The reason why a chart has failed.
const NO_NUMBER: &str = "one of its samples is not a number";

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    if text.trim_start().starts_with('{') {
        chart_json(text)
    } else {
        histograms(text, name_of_dashboard)
    }
}

/// A histogram, or a diagnostic that histograms share.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    unit: Option<Cow<'a, str>>,
    sample_values: Option<Numbers>,
    #[serde(default)]
    num_nans: u64,
    #[serde(default)]
    diagnostics: Diagnostics,
    #[serde(borrow)]
    guid: Option<Cow<'a, str>>,
    r#type: Option<IgnoredAny>,
    values: Option<Values>,
}

/// The fields that distinguish histograms of one name.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Diagnostics {
    stories: Option<Diagnostic>,
    story_tags: Option<Diagnostic>,
    is_reference_build: Option<Diagnostic>,
    summary_keys: Option<Diagnostic>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Diagnostic {
    Shared(String),
    Own { values: Values },
}

#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub(super) enum Values {
    List(Vec<Label>),
    Other(IgnoredAny),
}

#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub(super) enum Label {
    Text(String),
    Flag(bool),
    Other(IgnoredAny),
}

pub(super) struct Histogram {
    index: usize,
    pub(super) name: String,
    unit: String,
    /// None when one of them was not a number.
    values: Option<Vec<f64>>,
    diagnostics: Diagnostics,
}

/// Diagnostics that histograms share, by their guid.
pub(super) type Shared = BTreeMap<String, Values>;

/// Reads a set of histograms, each into the chart that `chart` names.
pub(super) fn histograms(
    text: &str,
    chart: impl Fn(&Histogram, &Shared) -> Result<String, ReadError>,
) -> Result<Reading, ReadError> {
    // A diagnostic may follow the histograms that share it.
    let mut shared = Shared::new();
    let mut histograms = Vec::new();
    let mut fault = None;
    let take = |index, entry: Entry<'_>| match entry {
        Entry {
            r#type: Some(_),
            guid: Some(guid),
            values,
            ..
        } => {
            shared.insert(
                guid.into_owned(),
                values.unwrap_or(Values::Other(IgnoredAny)),
            );
        }
        Entry {
            name: Some(name),
            unit: Some(unit),
            sample_values,
            num_nans,
            diagnostics,
            ..
        } => {
            let values = match sample_values {
                None if num_nans == 0 => return,
                Some(Numbers(Some(values))) if num_nans == 0 => Some(values),
                _ => None,
            };
            histograms.push(Histogram {
                index,
                name: name.into_owned(),
                unit: unit.into_owned(),
                values,
                diagnostics,
            });
        }
        _ => fault = fault.or(Some(index)),
    };
    document::read(text, NAME, Elements::new(take))?;
    if let Some(index) = fault {
        return Err(ReadError::NoValue {
            wanted: format!(
                "/{index}: it is neither a histogram (name, unit) nor a diagnostic (guid, type)"
            ),
            present: Vec::new(),
        });
    }
    let mut charts = Charts::default();
    for histogram in histograms {
        let chart = chart(&histogram, &shared)?;
        let index = histogram.index;
        match histogram.values {
            None => charts.fail(&chart, NO_NUMBER),
            Some(values) => {
                let (unit, direction) = unit_and_direction(&histogram.unit);
                charts.add(&chart, values, Some(unit), direction, || place(index));
            }
        }
    }
    charts.finish("a histogram with sampleValues")
}

fn place(index: usize) -> OutputPosition {
    OutputPosition::Json(format!("/{index}"))
}

fn name_of_dashboard(histogram: &Histogram, shared: &Shared) -> Result<String, ReadError> {
    let labels = |diagnostic: &Option<Diagnostic>| {
        let values = match diagnostic {
            None => return Ok(Vec::new()),
            Some(Diagnostic::Own { values }) => values,
            Some(Diagnostic::Shared(guid)) => {
                shared
                    .get(guid.as_str())
                    .ok_or_else(|| ReadError::NoValue {
                        wanted: format!(
                            "{}: the diagnostic {guid} that it names",
                            place(histogram.index)
                        ),
                        present: Vec::new(),
                    })?
            }
        };
        Ok(match values {
            Values::List(labels) => labels.clone(),
            Values::Other(_) => Vec::new(),
        })
    };
    let diagnostics = &histogram.diagnostics;
    let summary = texts(&labels(&diagnostics.summary_keys)?);
    let is_reference = matches!(
        labels(&diagnostics.is_reference_build)?[..],
        [Label::Flag(true)]
    );
    let mut name = histogram.name.clone();
    if summary.is_empty() || summary.iter().any(|key| key == "storyTags") {
        let tags = texts(&labels(&diagnostics.story_tags)?);
        let mut pairs: Vec<_> = tags.iter().filter_map(|tag| tag.split_once(':')).collect();
        pairs.sort_unstable();
        if !pairs.is_empty() {
            let values: Vec<&str> = pairs.into_iter().map(|(_, value)| value).collect();
            name = format!("{name}/{}", values.join("_"));
        }
    }
    let stories = texts(&labels(&diagnostics.stories)?);
    Ok(match (&stories[..], summary.is_empty()) {
        ([story], true) if is_reference => format!("{name}/{story}_ref"),
        ([story], true) => format!("{name}/{story}"),
        _ if is_reference => format!("{name}/ref"),
        _ => name,
    })
}

fn texts(labels: &[Label]) -> Vec<String> {
    let text = |label: &Label| match label {
        Label::Text(text) => Some(text.clone()),
        Label::Flag(_) | Label::Other(_) => None,
    };
    labels.iter().filter_map(text).collect()
}

/// `ms_smallerIsBetter` taken apart.
fn unit_and_direction(unit: &str) -> (&str, Direction) {
    match unit.rsplit_once('_') {
        Some((unit, "smallerIsBetter")) => (unit, Direction::Down),
        Some((unit, "biggerIsBetter")) => (unit, Direction::Up),
        _ => (unit, Direction::Unknown),
    }
}

#[derive(Deserialize)]
struct Trace<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    units: Option<Cow<'a, str>>,
    improvement_direction: Option<String>,
    value: Option<Number>,
    values: Option<Numbers>,
}

fn chart_json(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let take = |chart: Cow<str>, Members(traces): Members<Trace>| {
        for (trace, content) in traces {
            let name = match &*trace {
                "summary" => chart.to_string(),
                trace => format!("{chart}/{trace}"),
            };
            let values = match (&*content.r#type, content.value, content.values) {
                ("scalar", Some(Number::Finite(value)), _) => Some(vec![value]),
                ("list_of_scalar_values", _, Some(Numbers(values))) => values,
                ("scalar" | "list_of_scalar_values", ..) => None,
                _ => continue,
            };
            let direction = match content.improvement_direction.as_deref() {
                Some("up" | "bigger_is_better") => Direction::Up,
                Some("down" | "smaller_is_better") => Direction::Down,
                _ => Direction::Unknown,
            };
            match values {
                None => charts.fail(&name, NO_NUMBER),
                Some(values) => {
                    charts.add_once(&name, values, content.units.as_deref(), direction, || {
                        OutputPosition::Json(document::pointer(&["charts", &chart, &trace]))
                    })
                }
            }
        }
    };
    document::read(text, NAME, Member("charts", Entries::new(take)))?;
    charts.finish("a trace with values in /charts")
}
