//! `pinpoint alerts`: which traces are watched, how, and what follows.

mod description;
mod trial;

use pinpoint_traces::watch::{Alert, AlertAction, AlertId};
use serde_json::json;

use self::description::{changed, check_command, read};
use super::traces::open_dataset::OpenDataset;
use super::traces::warn;
use super::watch::in_dataset;
use crate::arguments::{AlertNew, AlertUpdate, Alerts, Display, Output};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::clock::now;
use crate::show::alert_list::{
    ALERT_DOCUMENT_VERSION, AlertRow, alert_document, described, listed,
};
use crate::show::output::{outln, print_result_json, print_text};

pub(crate) async fn run(command: Alerts, display: &Display) -> Result<u8, CliError> {
    match command {
        Alerts::List { dataset, all } => {
            let opened = OpenDataset::open(display, &dataset.dataset).await?;
            list(&opened, all, display).await
        }
        Alerts::Show { dataset, id } => {
            let opened = OpenDataset::open(display, &dataset.dataset).await?;
            let alert = opened.history.alert(id).await?;
            let state = opened.history.watch_state().await?;
            let row = AlertRow::of(alert, &state, now());
            match display.output {
                Output::Json => {
                    let alert = alert_document(&row);
                    print_result_json(
                        &json!({ "version": ALERT_DOCUMENT_VERSION, "alert": alert }),
                    );
                }
                Output::Text => print_text(&described(&row)),
            }
            Ok(FOUND)
        }
        Alerts::New(arguments) => new(&arguments, display).await,
        Alerts::Update(arguments) => update(&arguments, display).await,
        Alerts::Delete { dataset, id } => {
            let opened = OpenDataset::open(display, &dataset.dataset).await?;
            opened.history.delete_alert(id).await?;
            Ok(say(id, "deleted", display))
        }
        Alerts::Try(arguments) => trial::run(&arguments, display).await,
    }
}

async fn list(opened: &OpenDataset, all: bool, display: &Display) -> Result<u8, CliError> {
    let history = &opened.history;
    let (alerts, state) = (history.alerts().await?, history.watch_state().await?);
    let shown = alerts.iter().filter(|it| all || it.is_active());
    let rows: Vec<AlertRow> = shown
        .map(|alert| AlertRow::of(alert.clone(), &state, now()))
        .collect();
    match display.output {
        Output::Json => {
            let rows: Vec<_> = rows.iter().map(alert_document).collect();
            print_result_json(&json!({ "version": 1, "alerts": rows }));
        }
        Output::Text if rows.is_empty() => outln!(
            "the dataset `{}` has no alerts; `pinpoint alerts new` makes one",
            history.dataset()
        ),
        Output::Text => print_text(&listed(&rows)),
    }
    Ok(FOUND)
}

async fn new(arguments: &AlertNew, display: &Display) -> Result<u8, CliError> {
    let read = arguments.file.as_deref().map(read).transpose()?;
    let alert = changed(read.as_ref(), &arguments.options, &[])?;
    check_command(&alert)?;
    let opened = OpenDataset::open(display, &arguments.dataset.dataset).await?;
    warn_of(&opened, &alert).await?;
    let id = opened.history.add_alert(&alert).await?;
    let code = say(id, "added", display);
    if display.output == Output::Text && opened.history.is_watched().await? {
        outln!(
            "it watches the values that come from now on; `pinpoint alerts try {id}{}` shows the past",
            in_dataset(&opened.history)
        );
    }
    Ok(code)
}

async fn update(arguments: &AlertUpdate, display: &Display) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &arguments.dataset.dataset).await?;
    let stored = opened.history.alert(arguments.id).await?;
    let command = stored.command.clone();
    let base = match &arguments.file {
        Some(file) => read(file)?,
        None => stored,
    };
    let mut more = vec![("id_as_string", json!(arguments.id))];
    more.extend(arguments.state.map(|it| ("state", json!(it))));
    let alert = changed(Some(&base), &arguments.options, &more)?;
    if alert.command != command {
        check_command(&alert)?;
    }
    warn_of(&opened, &alert).await?;
    opened.history.replace_alert(&alert).await?;
    Ok(say(alert.id, "changed", display))
}

/// Says which keys and values of an alert no trace has, and what its bisections lack.
async fn warn_of(opened: &OpenDataset, alert: &Alert) -> Result<(), CliError> {
    let survey = opened.history.survey(&alert.query, None).await?;
    let mut warnings: Vec<String> = survey.unknown.iter().map(ToString::to_string).collect();
    let lacks = |key: &&String| survey.count > 0 && survey.params.values(key).is_none();
    warnings.extend(alert.group_by.iter().filter(lacks).map(|key| {
        format!(
            "no trace that matches has the key `{key}` of group_by, so that none is watched until one has"
        )
    }));
    if alert.action == AlertAction::Bisect && alert.command.is_none() {
        warnings.push(
            "the alert has no command of the benchmark: `pinpoint watch` needs --command to bisect"
                .into(),
        );
    }
    warn(&warnings);
    Ok(())
}

fn say(id: AlertId, what: &str, display: &Display) -> u8 {
    match display.output {
        Output::Json => print_result_json(&json!({ "version": 1, "alert": id })),
        Output::Text => outln!("alert {id} {what}"),
    }
    FOUND
}
