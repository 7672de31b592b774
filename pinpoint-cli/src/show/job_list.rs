//! A list of jobs and the head of one job, for people.

use std::fmt::Write;

use pinpoint_backends::store::{CancelRequest, Job, JobFilter, JobId, Page, PagePosition};
use pinpoint_core::JobState;
use pinpoint_report::quantity::{count, date};

use crate::show::text::{BOLD, DIM, ERROR, Text, text};

/// The word for the state of a running job whose process is gone.
const INTERRUPTED: &str = "interrupted";

/// The jobs of a page, a line each; some of those that are running are interrupted.
pub(crate) fn render(page: &Page, interrupted: &[JobId]) -> Text {
    let mut text = Text::default();
    for job in &page.jobs {
        let state = match interrupted.contains(&job.id) {
            true => INTERRUPTED,
            false => job.state.as_str(),
        };
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "{BOLD}{}{BOLD:#}  {:<11}  {}  {:>9}  {:>10}  {}",
            job.id,
            state,
            date(job.created),
            count(job.runs, "run"),
            count(job.builds, "build"),
            job.title.replace(['\n', '\r'], " "),
        );
    }
    text
}

/// A line about a page: how to see more, or why it is empty.
pub(crate) fn note(page: &Page, place: &PagePosition, filter: &JobFilter) -> Option<Text> {
    match (page.jobs.first(), page.jobs.last()) {
        (Some(first), Some(last)) => page.more.then(|| match place {
            PagePosition::Before(_) => text!("more: repeat with --before {}", first.id),
            PagePosition::First | PagePosition::After(_) => {
                text!("more: repeat with --after {}", last.id)
            }
        }),
        _ if *place == PagePosition::First && *filter == JobFilter::default() => Some(text!(
            "there are no jobs; `pinpoint bisect`, `pairwise`, `culprit` and `demo` create some"
        )),
        _ => Some(text!("no matching jobs")),
    }
}

/// The head of a job: everything except its result.
pub(crate) fn about(job: &Job, is_interrupted: bool) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write_about(&mut text, job, is_interrupted);
    text
}

fn write_about(text: &mut Text, job: &Job, is_interrupted: bool) -> std::fmt::Result {
    let state = match is_interrupted {
        true => "interrupted; no process is running it anymore",
        false => job.state.as_str(),
    };
    writeln!(text, "{BOLD}job {}{BOLD:#}: {state}", job.id)?;
    writeln!(text, "{DIM}{}{DIM:#}", job.title)?;
    writeln!(text, "in {}, created {}", job.repository, date(job.created))?;
    let about = [
        ("name", &job.name),
        ("benchmark", &job.benchmark),
        ("bot", &job.bot),
        ("user", &job.user),
    ];
    let about = about.iter().filter(|(_, value)| !value.is_empty());
    let about: Vec<String> = about
        .map(|(what, value)| format!("{what} {value}"))
        .collect();
    if !about.is_empty() {
        writeln!(text, "{DIM}{}{DIM:#}", about.join(", "))?;
    }
    if job.imported {
        writeln!(
            text,
            "imported; `pinpoint jobs resume` shows the commands that it runs, and asks"
        )?;
    }
    // For a running job, the reason to wait.
    if let Some(error) = &job.error
        && job.state != JobState::Running
    {
        writeln!(text, "{ERROR}error:{ERROR:#} {error}")?;
    }
    write_cancel(text, job)
}

fn write_cancel(text: &mut Text, job: &Job) -> std::fmt::Result {
    let Some(CancelRequest { reason, by }) = &job.cancel else {
        return Ok(());
    };
    match job.state {
        JobState::Canceled => write!(text, "canceled")?,
        // The request came too late.
        state if state.has_ended() => return Ok(()),
        _ => write!(text, "to be canceled")?,
    }
    if !by.is_empty() {
        write!(text, " by {by}")?;
    }
    if !reason.is_empty() {
        write!(text, ": {reason}")?;
    }
    writeln!(text)?;
    Ok(())
}
