//! The details of a run.

use maud::{Markup, html};
use pinpoint_core::BuildReport;
use pinpoint_core::api::Timestamp;
use pinpoint_report::quantity::{count, duration, quantity};
use pinpoint_report::words::reason;
use pinpoint_report::{Foreign, Run, subject};

use super::commits::linked;
use super::job_snapshot::JobSnapshot;
use super::job_view_query::JobViewQuery;
use super::output_paths::{log_of_build, logs_of_run};
use crate::ui::dates::at;

/// The most values of a metric, and the most metrics, that are shown.
const MOST_VALUES: usize = 100;

/// A dialog that is open from the beginning; a script makes it one above the page.
pub(super) fn card(
    moment: &JobSnapshot,
    asked: &JobViewQuery,
    name: &str,
    output: Option<&str>,
) -> Markup {
    let without = JobViewQuery {
        run: None,
        ..asked.clone()
    };
    html! {
        dialog.card #run aria-labelledby="run-title" open {
            (all_about(moment, name, output))
            p { a.button data-close href=(without.address()) { "Close" } }
        }
    }
}

fn all_about(moment: &JobSnapshot, name: &str, output: Option<&str>) -> Markup {
    let measured = &moment.measured;
    let Some(run) = measured.runs.iter().find(|run| run.name == name) else {
        return html! {
            h2 #run-title { "Run " (Foreign(name)) }
            p.empty { "There is no run " (Foreign(name)) " at this point of the job." }
        };
    };
    let Run {
        report,
        charts,
        failure,
        ..
    } = run;
    let started = i64::try_from(report.started).unwrap_or_default();
    let values = |values: &[f64], unit: Option<&str>| {
        let shown = values
            .iter()
            .take(MOST_VALUES)
            .map(|value| quantity(*value, unit));
        let mut text = shown.collect::<Vec<_>>().join(", ");
        if values.len() > MOST_VALUES {
            text.push_str(", …");
        }
        text
    };
    let more = charts.len().saturating_sub(MOST_VALUES);
    html! {
        h2 #run-title { "Run " (Foreign(name)) }
        table.facts { tbody {
            @if let Some(place) = measured.place(run.position) {
                tr { th scope="row" { "Commit" } td { (linked(&place.commit)) " " (Foreign(subject(&place.commit))) } }
                @if let Some(build) = moment.build_of(&place.commit) {
                    tr { th scope="row" { "Build" } td { (built(moment, build)) } }
                }
            }
            tr { th scope="row" { "Machine" } td { (Foreign(report.bot.as_deref().unwrap_or("unknown"))) } }
            @if started > 0 {
                tr { th scope="row" { "Started" } td { (at(Timestamp::of_milliseconds(started).as_ref())) } }
            }
            @if let Some(failure) = failure {
                tr { th scope="row" { "Failed" } td { (Foreign(&reason(failure))) } }
            }
            @if let Some(code) = report.exit_code {
                tr { th scope="row" { "Exit code" } td { (code) } }
            }
            @for it in charts.iter().take(MOST_VALUES) {
                tr { th scope="row" { (Foreign(&pinpoint_report::text::name(&it.chart))) } td { (Foreign(&values(&it.values, it.unit.as_deref()))) } }
            }
            @if more > 0 {
                tr { th scope="row" { "" } td { (count(more as u64, "more metric")) } }
            }
            @for warning in &report.warnings {
                tr { th scope="row" { "Warning" } td { (Foreign(warning)) } }
            }
            @let logs = logs_of_run(moment, report);
            @if !logs.is_empty() {
                tr { th scope="row" { "Output" } td { @for (name, path) in logs { a href=(path) { (name) } " " } } }
            }
        } }
        @if let Some(output) = output {
            h3 { "The end of the output" }
            pre tabindex="0" role="group" aria-label="The end of the output" { (Foreign(output)) }
        }
    }
}

/// The build of a run in words.
fn built(moment: &JobSnapshot, build: &BuildReport) -> Markup {
    html! {
        @if build.cached {
            "reused build"
        } @else {
            "built in " (duration(build.duration as f64 / 1000.0))
        }
        @if let Some(path) = log_of_build(moment, build) { " " a href=(path) { "Log" } }
    }
}
