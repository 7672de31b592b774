//! The changes of traces of the history.

use pinpoint_backends::traces::{ValuesAt, ValuesOf};
use pinpoint_report::{ChangedSeries, DetectedChanges};
use pinpoint_traces::watch::seed_of_trace;
use pinpoint_traces::{
    Annotation, AnnotationKind, ChangeOptions, CommitNumber, Query, series_changes, trace_direction,
};

use super::{VERSION, options};
use crate::arguments::{Detect, Display};
use crate::commands::traces::open_dataset::OpenDataset;
use crate::commands::traces::{no_trace, warn};
use crate::error::CliError;

/// The most traces, unless the command says otherwise.
const LIMIT: u64 = 1000;

/// The digits of a hash that name a commit.
const DIGITS: usize = 10;

pub(super) async fn detect(
    arguments: &Detect,
    query: &Query,
    display: &Display,
) -> Result<DetectedChanges, CliError> {
    let history = &arguments.history;
    let dataset = match &history.dataset {
        Some(dataset) => dataset.clone(),
        None => ("default".parse())
            .map_err(|error: pinpoint_traces::DatasetError| CliError::Input(error.to_string()))?,
    };
    let opened = OpenDataset::open(display, &dataset).await?;
    let at = match (&history.commits, history.last) {
        (Some(range), _) => ValuesAt::Range(opened.range(range).await?),
        (None, Some(last)) => ValuesAt::Last(last as usize),
        (None, None) => ValuesAt::Last(usize::MAX),
    };
    let limit = history.limit.unwrap_or(LIMIT);
    let values = opened
        .history
        .values(ValuesOf::Query(query), &at, limit)
        .await?;
    let unknown: Vec<String> = values.unknown.iter().map(ToString::to_string).collect();
    warn(&unknown);
    let frame = values.frame;
    if frame.names().is_empty() {
        return Err(no_trace(&opened.history, query));
    }
    let numbers: Vec<CommitNumber> = frame.columns().iter().collect();
    let known = opened.commits(&numbers).await?;
    let label = |number: &CommitNumber| {
        let found = known.binary_search_by_key(number, |it| it.number);
        let hash = found.ok().and_then(|at| known.get(at)?.hash.get(..DIGITS));
        hash.map_or_else(|| number.to_string(), str::to_owned)
    };
    let annotations = opened.annotations(&numbers).await?;
    let told = arguments.direction.map(Into::into);
    let mut series = Vec::new();
    for (name, row) in frame.rows() {
        let Some(trace) = name.stored() else { continue };
        let history: Vec<Option<f64>> =
            row.iter().map(|it| (!it.is_nan()).then_some(*it)).collect();
        if history.iter().all(Option::is_none) {
            continue;
        }
        let options = ChangeOptions {
            seed: seed_of_trace(trace),
            ..options(arguments)
        };
        let found = series_changes(&history, options)
            .map_err(|error| CliError::Input(format!("trace {trace}: {error}")))?;
        for change in &found.changes {
            let [first, last] = change.interval;
            let commits = numbers.get(first)..=numbers.get(last);
            let machine = annotations.iter().find_map(|it| match &it.annotation {
                Annotation {
                    commit,
                    kind: AnnotationKind::MachineChange(machine),
                    ..
                } if commits.contains(&Some(commit)) && it.annotation.concerns(trace) => {
                    Some((commit, machine))
                }
                _ => None,
            });
            if let Some((commit, machine)) = machine {
                let (before, after) = (&machine.before, &machine.after);
                warn(&[format!(
                    "a change of {trace} may be that of its machine, from {before} to {after} at commit {}",
                    label(commit)
                )]);
            }
        }
        series.push(ChangedSeries {
            name: trace.to_string(),
            direction: told.unwrap_or_else(|| trace_direction(trace)),
            history,
            found,
        });
    }
    let values = series.iter().map(|it| it.found.values).sum::<usize>();
    Ok(DetectedChanges {
        version: VERSION,
        file: match query.to_string() {
            query if query.is_empty() => format!("dataset {dataset}"),
            query => format!("dataset {dataset}, {query}"),
        },
        rate: arguments.rate,
        values,
        expected_false_alarms: arguments.rate * values as f64,
        direction: told.unwrap_or_default(),
        label_column: Some("commit".into()),
        labels: Some(numbers.iter().map(label).collect()),
        series,
        unread_columns: Vec::new(),
    })
}
