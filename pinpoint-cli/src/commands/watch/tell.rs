//! Telling others what happened: JSON Lines, and a command.

use std::io::Write as _;
use std::process::{Child, Command, ExitStatus, Stdio};

use pinpoint_backends::traces::History;
use pinpoint_traces::watch::{Event, EventKind};
use serde_json::json;

use crate::error::CliError;
use crate::show::output::{errln, json_lines};
use crate::show::text::FOUND as WARNING;

/// The events that are told at a time.
const AT_A_TIME: u64 = 1024;

/// Tells others, in one look.
#[derive(Debug, Default)]
pub(super) struct Teller {
    /// The events before this number are printed.
    printed: u64,
    /// The command failed: the next look runs it again, for the same events.
    has_failed: bool,
}

impl Teller {
    /// Prints the events that nobody was told of yet, and gives those that concern somebody to the
    /// command. Returns false if the command failed in this look: the events stay untold.
    ///
    /// A process that ends in between tells some of them again; none is forgotten.
    pub(super) async fn tell(
        &mut self,
        history: &History,
        command: Option<&str>,
    ) -> Result<bool, CliError> {
        let mut from = history.told_events().await?;
        loop {
            let events = history.watch_events(from, AT_A_TIME).await?;
            if events.is_empty() {
                return Ok(!self.has_failed);
            }
            let mut concern = String::new();
            let mut lines = json_lines();
            for (number, event) in (from..).zip(&events) {
                let line = line(history, number, event);
                // An error is remembered, and ends the command.
                if number >= self.printed && lines.write_all(line.as_bytes()).is_err() {
                    return Err(CliError::Interrupted);
                }
                if concerns(event) {
                    concern.push_str(&line);
                }
            }
            from += events.len() as u64;
            self.printed = self.printed.max(from);
            if let Some(command) = command.filter(|_| !self.has_failed && !concern.is_empty())
                && let Err(reason) = notify(command, history, concern).await
            {
                errln!("{WARNING}warning:{WARNING:#} the command of --notify {reason}");
                self.has_failed = true;
            }
            if !self.has_failed {
                history.note_told(from).await?;
            }
        }
    }
}

/// The event with its number and its dataset, on a line.
fn line(history: &History, number: u64, event: &Event) -> String {
    let mut document = json!(event);
    document["number"] = json!(number);
    document["dataset"] = json!(history.dataset());
    format!("{document}\n")
}

/// Returns true if somebody is to be notified.
fn concerns(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::ActedOn { .. } | EventKind::Bisected { .. } | EventKind::WentQuiet(_)
    )
}

/// Runs the command with these lines as its input. Its standard output is left out: that of the watch
/// has events alone.
async fn notify(command: &str, history: &History, lines: String) -> Result<(), String> {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .env("PINPOINT_DATASET", history.dataset().as_str())
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let run = move || {
        let mut child = shell.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A command that does not read all is no failure.
            let _ = stdin.write_all(lines.as_bytes());
        }
        wait(&mut child)
    };
    let ended = tokio::task::spawn_blocking(run).await;
    match ended.map_err(|_| "was interrupted".to_owned())? {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("failed: {status}")),
        Err(error) => Err(format!("can't be run: {error}")),
    }
}

#[expect(clippy::disallowed_methods, reason = "a thread of its own waits")]
fn wait(child: &mut Child) -> std::io::Result<ExitStatus> {
    child.wait()
}
