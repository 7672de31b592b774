//! `pinpoint alerts try`: an alert over the past.

use pinpoint_backends::traces::{ValuesAt, ValuesOf};
use pinpoint_traces::Annotation;
use pinpoint_traces::watch::try_alert;
use serde_json::json;

use super::description::{changed, read};
use crate::arguments::{AlertTry, Display, Output};
use crate::commands::traces::commit_names::CommitNames;
use crate::commands::traces::open_dataset::{ALL, OpenDataset};
use crate::commands::traces::{no_trace, warn};
use crate::error::CliError;
use crate::exit_code::{FOUND, NO_DIFFERENCE};
use crate::show::output::{print_result_json, print_text};
use crate::show::trial::render;

pub(super) async fn run(arguments: &AlertTry, display: &Display) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &arguments.dataset.dataset).await?;
    let base = match (&arguments.file, arguments.id) {
        (Some(file), _) => Some(read(file)?),
        (None, Some(id)) => Some(opened.history.alert(id).await?),
        (None, None) => None,
    };
    let alert = changed(base.as_ref(), &arguments.options, &[])?;
    let at = match (&arguments.commits, arguments.last) {
        (Some(range), _) => ValuesAt::Range(opened.range(range).await?),
        (None, Some(last)) => ValuesAt::Last(last as usize),
        (None, None) => ValuesAt::Last(usize::MAX),
    };
    let of = ValuesOf::Query(&alert.query);
    let values = opened.history.values(of, &at, arguments.limit).await?;
    let unknown: Vec<String> = values.unknown.iter().map(ToString::to_string).collect();
    warn(&unknown);
    let annotations = opened.history.annotations(ALL).await?.into_iter();
    let annotations: Vec<Annotation> = annotations.map(|it| it.annotation).collect();
    let traces = values.frame.names().len();
    if traces == 0 {
        return Err(no_trace(&opened.history, &alert.query));
    }
    let trial = try_alert(&alert, &values.frame, &annotations)
        .map_err(|error| CliError::Input(error.to_string()))?;
    let ranges = trial.regressions.iter().map(|it| it.range);
    let names = CommitNames::of(&opened.history, ranges).await?;
    match display.output {
        Output::Json => print_result_json(&json!({
            "version": 1,
            "dataset": opened.history.dataset(),
            "alert": alert,
            "traces": traces,
            "trial": trial,
        })),
        Output::Text => print_text(&render(&trial, traces, &names)),
    }
    Ok(match trial.regressions.is_empty() {
        true => NO_DIFFERENCE,
        false => FOUND,
    })
}
