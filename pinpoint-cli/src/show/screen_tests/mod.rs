//! Snapshots of everything that the command shows people, made without a process.

mod explain;
mod lists;
mod progress;
mod results;

use clap::Parser;
use pinpoint_core::{CombinedCommit, Commit};

use crate::arguments::{Arguments, Display};
use crate::show::text::Text;

/// A text with each style by its name in brackets, which people can read in a snapshot.
pub(crate) fn styles_shown(text: &Text) -> String {
    let mut shown = String::from_utf8(text.as_bytes().to_vec()).unwrap();
    for (sequence, name) in [
        ("\u{1b}[1m\u{1b}[31m", "[red]"),
        ("\u{1b}[1m\u{1b}[32m", "[green]"),
        ("\u{1b}[1m\u{1b}[33m", "[yellow]"),
        ("\u{1b}[1m", "[bold]"),
        ("\u{1b}[2m", "[dim]"),
        ("\u{1b}[0m", "[/]"),
    ] {
        shown = shown.replace(sequence, name);
    }
    shown
}

/// A text without colors, as in a file.
pub(crate) fn without_styles(text: &Text) -> String {
    let text = String::from_utf8(text.as_bytes().to_vec()).unwrap();
    anstream::adapter::strip_str(&text).to_string()
}

/// The options of all commands, at their defaults.
fn display() -> Display {
    Display {
        resume_options: Vec::new(),
        state_dir: None,
        store: None,
        ..Arguments::parse_from(["pinpoint", "clean"]).display
    }
}

/// The commit of this number: 0 is the good end.
fn commit(number: u64) -> CombinedCommit {
    let mut commit = Commit::new("/src/app", format!("{number:02}{}", "c0ffee".repeat(7)));
    commit.git_hash.truncate(40);
    commit.subject = Some(format!("Change {number}"));
    commit.author = Some("Ada Lovelace <ada@example.org>".into());
    commit.created = Some("2026-01-31T12:00:00Z".into());
    commit.into()
}
