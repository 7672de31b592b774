//! The result of a culprit finder, for people: that of a bisection, between the
//! comparisons that verify it.

use std::fmt::Write;

use pinpoint_core::PairwiseStatus;
use pinpoint_report::quantity::count;
use pinpoint_report::words::line_of;

use crate::arguments::Display;
use crate::show::summary;
use crate::show::text::{BOLD, DIM, FOUND, Text};
use pinpoint_core::job::CulpritFinderResult;

pub(crate) fn render(document: &CulpritFinderResult, display: &Display) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write(&mut text, document, display);
    text
}

fn write(text: &mut Text, document: &CulpritFinderResult, display: &Display) -> std::fmt::Result {
    let unit = document.search.unit.as_deref();
    let verdict = match document.verification.status {
        PairwiseStatus::Different => "verified",
        _ => "not verified",
    };
    writeln!(
        text,
        "{BOLD}regression {verdict}{BOLD:#} by {}\n",
        line_of(&document.verification, unit)
    )?;
    write!(text, "{}", summary::render(&document.search, display))?;
    for culprit in &document.unconfirmed {
        writeln!(text, "\n{FOUND}not confirmed{FOUND:#}")?;
        summary::write_culprit(text, &document.search, culprit)?;
    }
    if document.reused_runs > 0 {
        writeln!(
            text,
            "\n{DIM}{} of the verification also served the search{DIM:#}",
            count(document.reused_runs, "run")
        )?;
    }
    Ok(())
}
