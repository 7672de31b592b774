//! `pinpoint annotate`: notes at commits.

use pinpoint_backends::traces::TraceStoreError;
use pinpoint_traces::{Annotation, AnnotationKind, Joined, MachineChange, Query};
use serde_json::json;

use super::traces::open_dataset::{ALL, OpenDataset};
use super::traces::warn_of_unknown;
use crate::arguments::{Annotate, AnnotateCommand, Author, Display, Note, Output};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::clock::now;
use crate::show::output::{outln, print_json, print_text};
use crate::show::trace_table::{annotation_document, annotations as listed};

pub(crate) async fn run(arguments: Annotate, display: &Display) -> Result<u8, CliError> {
    let Some(command) = arguments.command else {
        return note(arguments.note, display).await;
    };
    match command {
        AnnotateCommand::List {
            dataset,
            commits,
            trace,
        } => {
            let opened = OpenDataset::open(display, &dataset.dataset).await?;
            let range = match &commits {
                Some(range) => opened.range(range).await?,
                None => ALL,
            };
            let mut found = opened.history.annotations(range).await?;
            if let Some(trace) = &trace {
                found.retain(|it| it.annotation.concerns(trace));
            }
            match display.output {
                Output::Json => {
                    let found: Vec<_> = found.iter().map(annotation_document).collect();
                    print_json(json!({ "version": 1, "annotations": found }));
                }
                Output::Text => print_text(&listed(&found)),
            }
            Ok(FOUND)
        }
        AnnotateCommand::Edit {
            dataset,
            number,
            text,
        } => {
            let opened = OpenDataset::open(display, &dataset.dataset).await?;
            let known = opened.history.annotations(ALL).await?.into_iter();
            let mut known = known.filter(|it| it.number == number);
            let known = known.next().ok_or(TraceStoreError::NoAnnotation(number))?;
            let annotation = Annotation {
                text,
                edited: Some(now()),
                ..known.annotation
            };
            opened.history.edit_annotation(number, &annotation).await?;
            Ok(say(number, "edited", display))
        }
        AnnotateCommand::Delete { dataset, number } => {
            let opened = OpenDataset::open(display, &dataset.dataset).await?;
            opened.history.delete_annotation(number).await?;
            Ok(say(number, "deleted", display))
        }
        AnnotateCommand::Join {
            author,
            commit,
            before,
            after,
            text,
        } => {
            let kind = AnnotationKind::Joined(Joined { before, after });
            add(&commit, Query::default(), kind, text, author, display).await
        }
        AnnotateCommand::Machine {
            author,
            commit,
            key,
            before,
            after,
            text,
        } => {
            let kind = AnnotationKind::MachineChange(MachineChange { key, before, after });
            add(&commit, Query::default(), kind, text, author, display).await
        }
    }
}

async fn note(note: Note, display: &Display) -> Result<u8, CliError> {
    // Both are required by the command line.
    let (commit, text) = (
        note.commit.unwrap_or_default(),
        note.text.unwrap_or_default(),
    );
    let kind = AnnotationKind::Note;
    add(&commit, note.query, kind, text, note.author, display).await
}

async fn add(
    commit: &str,
    query: Query,
    kind: AnnotationKind,
    text: String,
    author: Author,
    display: &Display,
) -> Result<u8, CliError> {
    let opened = OpenDataset::open(display, &author.dataset.dataset).await?;
    warn_of_unknown(&opened, &query).await?;
    let annotation = Annotation {
        commit: opened.commit(commit).await?,
        query,
        kind,
        text,
        author: (author.author).unwrap_or_else(|| whoami::username().unwrap_or_default()),
        created: now(),
        edited: None,
    };
    let number = opened.history.annotate(&annotation).await?;
    Ok(say(number, "added", display))
}

fn say(number: u64, what: &str, display: &Display) -> u8 {
    match display.output {
        Output::Json => print_json(json!({ "version": 1, "annotation": number })),
        Output::Text => outln!("note {number} {what}"),
    }
    FOUND
}
