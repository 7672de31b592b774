//! The answer of `pinpoint ingest`.

use pinpoint_report::quantity::count;
use serde::Serialize;

use super::text::{BOLD, ERROR, FOUND as WARNING, Text, text};

/// The most files and warnings that the text names.
const MOST_NAMES: usize = 20;

/// The fate of the files, as `--output json` prints it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct IngestReport {
    pub(crate) version: u32,
    pub(crate) dataset: String,
    /// The commit whose first-parent line is numbered, if there is a repository.
    pub(crate) line: Option<String>,
    /// Commits that were added.
    pub(crate) commits: u64,
    pub(crate) files: FileCounts,
    /// Values that came to the history, those of files that had waited among them.
    pub(crate) values: u64,
    /// All files that wait for their commit, those of earlier calls among them.
    pub(crate) waiting: Vec<WaitingFile>,
    pub(crate) refused: Vec<Refused>,
    pub(crate) warnings: Vec<String>,
    #[serde(rename = "interrupted")]
    pub(crate) is_interrupted: bool,
}

/// Files by their fate.
#[derive(Debug, Default, Serialize)]
pub(crate) struct FileCounts {
    pub(crate) taken: u64,
    pub(crate) tries: u64,
    pub(crate) waiting: u64,
    pub(crate) known: u64,
    pub(crate) other_branches: u64,
}

impl FileCounts {
    /// The files that could be read.
    pub(crate) fn read(&self) -> u64 {
        self.taken + self.tries + self.waiting + self.known + self.other_branches
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct WaitingFile {
    pub(crate) path: String,
    pub(crate) commit: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Refused {
    pub(crate) path: String,
    pub(crate) error: String,
}

impl IngestReport {
    pub(crate) fn warn(&mut self, path: &str, warnings: Vec<String>) {
        let warnings = warnings.into_iter();
        self.warnings
            .extend(warnings.map(|it| format!("{path}: {it}")));
    }
}

pub(crate) fn render(report: &IngestReport) -> Text {
    let files = &report.files;
    let mut parts = vec![count(report.values, "new value")];
    for (number, what) in [
        (files.tries, "of tries"),
        (files.known, "known already"),
        (files.other_branches, "of other branches"),
        (files.waiting, "waiting"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    }
    if report.commits > 0 {
        parts.push(count(report.commits, "new commit"));
    }
    let mut shown = text!("{BOLD}{} taken{BOLD:#}", count(files.taken, "file"));
    for part in parts {
        shown = text!("{shown}, {part}");
    }
    shown = text!("{shown}; dataset {}", report.dataset);
    if let Some(line) = &report.line {
        let name = ["refs/heads/", "refs/remotes/"].iter();
        let name = name.fold(&**line, |name, of| name.strip_prefix(of).unwrap_or(name));
        shown = text!("{shown}, commits of {name}");
    }
    shown = text!("{shown}\n");
    if let [first, ..] = &report.waiting[..] {
        let waiting = report.waiting.len() as u64;
        shown = text!(
            "{shown}{} {}, the first of them {} (commit {}); the first ingest after that takes them\n",
            match waiting {
                1 => "1 file waits: its commit is".to_owned(),
                _ => format!("{waiting} files wait: their commits are"),
            },
            match report.line {
                Some(_) => "not on that line yet (--main names another)",
                None => "not known yet",
            },
            first.path,
            short(&first.commit),
        );
    }
    for warning in report.warnings.iter().take(MOST_NAMES) {
        shown = text!("{shown}{WARNING}warning:{WARNING:#} {warning}\n");
    }
    shown = and_more(shown, report.warnings.len(), "warning");
    if !report.refused.is_empty() {
        let refused = count(report.refused.len() as u64, "file");
        shown = text!("{shown}\n{ERROR}{refused} not taken{ERROR:#}\n");
    }
    for refused in report.refused.iter().take(MOST_NAMES) {
        shown = text!("{shown}  {}: {}\n", refused.path, refused.error);
    }
    and_more(shown, report.refused.len(), "file")
}

fn and_more(shown: Text, all: usize, one: &str) -> Text {
    match all.saturating_sub(MOST_NAMES) {
        0 => shown,
        more => text!(
            "{shown}  and {} (--output json lists all)\n",
            count(more as u64, &format!("more {one}"))
        ),
    }
}

/// The first characters of a hash.
pub(crate) fn short(hash: &str) -> String {
    hash.chars().take(10).collect()
}
