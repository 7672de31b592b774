//! A job in a few words: its name, its kind and its state.

use maud::{Markup, html};

use crate::api::grpc::v2::messages::{JobSummary, Kind, State};

/// Returns true if a job has ended.
pub(in crate::ui) fn is_over(summary: &JobSummary) -> bool {
    !matches!(summary.state(), State::Pending | State::Running)
}

/// The display name of a job.
pub(in crate::ui) fn title(summary: &JobSummary) -> &str {
    match (&*summary.name, &*summary.title) {
        ("", "") => "Job without a name",
        ("", title) => title,
        (name, _) => name,
    }
}

/// The kind of a job.
pub(in crate::ui) fn kind(summary: &JobSummary) -> &'static str {
    match summary.kind() {
        Kind::Unspecified => "Job",
        Kind::Bisection => "Bisection",
        Kind::Pairwise => "Try job",
        Kind::CulpritFinder => "Culprit finder",
    }
}

/// The state of a job, in a word that needs no color.
pub(in crate::ui) fn state(summary: &JobSummary) -> Markup {
    let (name, tone) = match summary.state() {
        _ if summary.paused => ("Paused", "open"),
        State::Unspecified => ("Unknown", "open"),
        State::Pending => ("Pending", "open"),
        State::Running => ("Running", "open"),
        State::Completed => ("Completed", "good"),
        State::Failed => ("Failed", "bad"),
        State::Canceled => ("Canceled", "bad"),
    };
    html! { span.tone.(tone) { (name) } }
}
