//! `pinpoint traces`: questions to the history of values.

pub(crate) mod commit_names;
mod export;
mod lists;
pub(crate) mod open_dataset;
mod pivot;
mod query;
pub(crate) mod selection;
pub(crate) mod tries;

use pinpoint_backends::traces::History;
use pinpoint_report::quantity::count;
use pinpoint_traces::Shortcut;

use self::open_dataset::OpenDataset;
use self::selection::wrong;
use crate::arguments::{Display, Output, ShortcutArgument, TraceShortcut, Traces};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::output::{errln, outln, print_json};
use crate::show::text::FOUND as WARNING;

pub(crate) async fn run(command: Traces, display: &Display) -> Result<u8, CliError> {
    match command {
        Traces::List => lists::datasets(display).await,
        Traces::Query(arguments) => query::run(&arguments, display).await,
        Traces::Export(arguments) => export::run(&arguments, display).await,
        Traces::Params(arguments) => lists::params(&arguments, display).await,
        Traces::Pivot(arguments) => pivot::run(&arguments, display).await,
        Traces::Tries(arguments) => tries::run(&arguments, display).await,
        Traces::Source {
            dataset,
            trace,
            commit,
        } => {
            let opened = OpenDataset::open(display, &dataset.dataset).await?;
            lists::source(&opened, &trace, &commit, display).await
        }
        Traces::Shortcut(arguments) => shortcut(&arguments, display).await,
        Traces::Purge { dataset, before } => {
            let opened = OpenDataset::open(display, &dataset.dataset).await?;
            let tile = opened.commit(&before).await?.tile();
            let removed = opened.history.remove_tiles_before(tile.number()).await?;
            match display.output {
                Output::Json => print_json(serde_json::json!({ "removed_tiles": removed })),
                Output::Text => {
                    let removed = count(removed, "tile");
                    outln!(
                        "{removed} removed; commit {} is the first now",
                        tile.first()
                    );
                }
            }
            Ok(FOUND)
        }
    }
}

/// Says what of a question no trace has.
pub(crate) fn warn(warnings: &[String]) {
    for warning in warnings {
        errln!("{WARNING}warning:{WARNING:#} {warning}");
    }
}

async fn shortcut(arguments: &TraceShortcut, display: &Display) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &arguments.dataset.dataset).await?;
    let names = match (&arguments.query, &arguments.names[..]) {
        (Some(query), _) => {
            let select = pinpoint_backends::traces::Select::Query(query);
            let ids = opened.history.ids(select, arguments.limit).await?;
            warn_of_unknown(&opened, query).await?;
            ids.into_iter().map(Into::into).collect()
        }
        (None, [ShortcutArgument::Shortcut(id)]) => {
            let shortcut = opened.history.shortcut(id).await?;
            return Ok(say_shortcut(&shortcut, display));
        }
        (None, names) => {
            let mut all = Vec::new();
            for name in names {
                match name {
                    ShortcutArgument::Name(name) => all.push(name.clone()),
                    ShortcutArgument::Shortcut(id) => {
                        all.extend(opened.history.shortcut(id).await?.iter().cloned());
                    }
                }
            }
            // A dataset is made by results, not by a typing error.
            opened.newest().await?;
            all
        }
    };
    let shortcut = Shortcut::new(names).map_err(wrong)?;
    opened.history.keep_shortcut(&shortcut).await?;
    match display.output {
        Output::Json => return Ok(say_shortcut(&shortcut, display)),
        Output::Text => outln!("{}", shortcut.id()),
    }
    Ok(FOUND)
}

fn say_shortcut(shortcut: &Shortcut, display: &Display) -> u8 {
    let names: Vec<String> = shortcut.iter().map(ToString::to_string).collect();
    match display.output {
        Output::Json => {
            print_json(serde_json::json!({ "shortcut": shortcut.id(), "names": names }));
        }
        Output::Text => names.iter().for_each(|name| outln!("{name}")),
    }
    FOUND
}

/// The error of a search in no trace: a mistake in a query must not look like a history without
/// changes.
pub(crate) fn no_trace(history: &History, query: &pinpoint_traces::Query) -> CliError {
    let dataset = history.dataset();
    CliError::Input(match query.to_string() {
        query if query.is_empty() => {
            format!("the dataset `{dataset}` has no traces; `pinpoint ingest` adds values")
        }
        query => format!(
            "no trace of the dataset `{dataset}` matches {query}; `pinpoint traces params` shows its keys and values"
        ),
    })
}

pub(crate) async fn warn_of_unknown(
    opened: &OpenDataset,
    query: &pinpoint_traces::Query,
) -> Result<(), CliError> {
    let unknown = opened.history.survey(query, None).await?.unknown;
    let warnings: Vec<String> = unknown.iter().map(ToString::to_string).collect();
    warn(&warnings);
    Ok(())
}
