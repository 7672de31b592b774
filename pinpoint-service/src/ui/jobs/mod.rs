//! The list of jobs. Its address holds the whole view, so that it can be shared. The default list
//! is kept by a separate button, and not with each change: otherwise a short search, or a link from
//! somebody, would replace it unnoticed.

mod columns;
mod job_list_query;
mod live;

use std::collections::BTreeSet;

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::Uri;
use maud::{Markup, html};
use pinpoint_report::clean;
use pinpoint_report::quantity::count;
use serde_json::Value;
use tonic::Status;

use self::columns::Column;
pub(super) use self::job_list_query::KINDS;
use self::job_list_query::{JobListQuery, SIZES, STATES, Sort};
pub(super) use self::live::events;
use super::assets::path;
use super::dates;
use super::frame::{self, Section};
use super::problems::of_list;
use super::view::{Form, View, key};
use crate::api::access::Right;
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::api::grpc::v2::messages::{
    CountJobsRequest, CountJobsResponse, JobSummary, State as JobState,
};
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::state::Service;

/// The preference of a view of the list: its fields, as an address has them.
const VIEW: &str = "jobs";

/// The longest view that is kept, in bytes of its address.
const LONGEST_VIEW: usize = 4096;

/// GET `/`.
pub(super) async fn page(
    State(service): State<Service>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    if uri.query().is_none() {
        let beginning = match kept(&view) {
            // A kept view that no longer fits the limits must not hide all jobs.
            Some(kept) if counted(&service, &view, &kept).await.is_ok() => kept,
            _ => JobListQuery {
                user: view.user().to_owned(),
                ..JobListQuery::default()
            },
        };
        return Ok(Redirect::to(&beginning.address()).into_response());
    }
    let shown = JobListQuery::from_uri(&uri)?;
    let listed = service.list_jobs(view.call("pinpoint.v2.Pinpoint/ListJobs", shown.request()?));
    let listed = listed.await.map_err(of_list)?.into_inner();
    let counted = counted(&service, &view, &shown).await?;
    let other_page = |token: &str| {
        let other = JobListQuery {
            page: token.to_owned(),
            ..shown.clone()
        };
        (!token.is_empty()).then(|| other.address())
    };
    let main = html! {
        div.title {
            h1 { "Jobs" }
            @if view.may(Right::Create) { a.button.primary href="/new" { "New job" } }
        }
        (filters(&service, &view, &shown, &listed.jobs))
        (columns(&view, &shown))
        p.soft {
            @if counted.more { "more than " }
            (count(counted.jobs, "job"))
        }
        p.note #news role="status" data-href=(shown.first_page().address()) data-events=(events_of(&shown)) {}
        (table(&view, &shown, &listed.jobs))
        nav.bar aria-label="Pages of the list" {
            @if let Some(path) = other_page(&listed.previous_page_token) {
                a.button rel="prev" href=(path) { "Previous" }
            }
            @if let Some(path) = other_page(&listed.next_page_token) {
                a.button rel="next" href=(path) { "Next" }
            }
        }
    };
    Ok(frame::page(&view, Section::Jobs, "Jobs", &main))
}

/// The default list that the user has kept.
fn kept(view: &View) -> Option<JobListQuery> {
    let kept = view.preferences().get(VIEW).and_then(Value::as_str)?;
    JobListQuery::read(&mut Query::read(kept.as_bytes()).ok()?).ok()
}

/// The number of jobs in a list.
async fn counted(
    service: &Service,
    view: &View,
    shown: &JobListQuery,
) -> Result<CountJobsResponse, Status> {
    let request = CountJobsRequest {
        filter: Some(shown.filter()?),
    };
    let counted = service.count_jobs(view.call("pinpoint.v2.Pinpoint/CountJobs", request));
    Ok(counted.await?.into_inner())
}

/// POST `/view`: keeps a list as the default.
pub(super) async fn keep(
    State(service): State<Service>,
    view: View,
    Form(mut form): Form,
) -> Result<Response, Problem> {
    // Only lists that can be shown are kept.
    let shown = JobListQuery::read(&mut form)?.first_page();
    if shown.query().len() > LONGEST_VIEW {
        let problem = format!("the view is too long to be kept: {LONGEST_VIEW} bytes at most");
        return Err(Status::invalid_argument(problem).into());
    }
    counted(&service, &view, &shown).await?;
    let mut preferences = view.preferences().clone();
    preferences.insert(VIEW.into(), shown.query().into());
    let entry = view.preferred(VIEW);
    let kept = (service.store)
        .preferences()
        .set(view.user(), &preferences, Some(&entry));
    kept.await.map_err(errors::store)?;
    Ok(Redirect::to(&shown.address()).into_response())
}

/// The form that filters jobs.
fn filters(service: &Service, view: &View, shown: &JobListQuery, jobs: &[JobSummary]) -> Markup {
    let one_of = |name: &str, label: &str, value: &str, options: &[&str]| {
        html! {
            label {
                span { (label) }
                select name=(name) {
                    option value="" { "all" }
                    @for option in options {
                        option value=(option) selected[*option == value] { (option) }
                    }
                }
            }
        }
    };
    let text = |name: &str, label: &str, value: &str, kind: &str, list: Option<&str>| {
        html! {
            label {
                span { (label) }
                input type=(kind) name=(name) value=(value) list=[list];
            }
        }
    };
    let users = jobs.iter().map(|job| &*job.user);
    let users: BTreeSet<&str> = users.chain([view.user()]).collect();
    let everybody = JobListQuery {
        user: String::new(),
        ..shown.first_page()
    };
    let mine = JobListQuery {
        user: view.user().to_owned(),
        ..everybody.clone()
    };
    html! {
        p.bar {
            a.chip href=(mine.address()) aria-current=[(shown.user == view.user()).then_some("true")] { "My jobs" }
            a.chip href=(everybody.address()) aria-current=[shown.user.is_empty().then_some("true")] { "All jobs" }
        }
        form.filters method="get" action="/" role="search" aria-label="Jobs" {
            (text("text", "Search", &shown.text, "search", None))
            (text("benchmark", "Benchmark", &shown.benchmark, "text", Some("benchmarks")))
            (text("bot", "Bot", &shown.bot, "text", Some("bots")))
            (text("user", "User", &shown.user, "text", Some("users")))
            (one_of("kind", "Type", &shown.kind, &KINDS.map(|it| it.0)))
            (one_of("state", "Status", &shown.state, &STATES.map(|it| it.0)))
            (text("from", "From (UTC)", &shown.from, "date", None))
            (text("to", "To (UTC)", &shown.to, "date", None))
            label {
                span { "Rows" }
                select name="size" {
                    @for size in SIZES {
                        option value=(size) selected[size == shown.size()] { (size) }
                    }
                }
            }
            @if let Some(columns) = shown.column_keys() {
                input type="hidden" name="columns" value=(columns);
            }
            @if let Some(sort) = shown.sort_key() {
                input type="hidden" name="sort" value=(sort);
            }
            button { "Show" }
            a href="/?size=25" { "Reset" }
        }
        datalist #benchmarks { @for name in service.benchmark_names() { option value=(name); } }
        datalist #bots { @for bot in service.usable_bots() { option value=(bot.name); } }
        datalist #users { @for user in users { option value=(clean(user)); } }
    }
}

/// Links that show, hide and move columns.
fn columns(view: &View, shown: &JobListQuery) -> Markup {
    let with = |columns: Vec<Column>| {
        let columns = (columns != Column::ALL).then_some(columns);
        let other = JobListQuery {
            columns,
            ..shown.clone()
        };
        other.address()
    };
    let there = shown.columns();
    let without = |column: Column| there.iter().copied().filter(move |it| *it != column);
    let moved = |at: usize, to: usize| {
        let mut columns = there.to_vec();
        columns.swap(at, to);
        with(columns)
    };
    html! {
        details.columns {
            summary { "Columns" }
            ul {
                @for (at, column) in there.iter().copied().enumerate() {
                    li {
                        (column.name())
                        @if there.len() > 1 { " " a href=(with(without(column).collect())) { "hide" } }
                        @if at > 0 { " " a href=(moved(at, at - 1)) aria-label=(format!("move {} to the left", column.name())) { "←" } }
                        @if at + 1 < there.len() { " " a href=(moved(at, at + 1)) aria-label=(format!("move {} to the right", column.name())) { "→" } }
                    }
                }
                @for column in Column::ALL.into_iter().filter(|it| !there.contains(it)) {
                    li.soft {
                        (column.name()) " "
                        a href=(with(without(column).chain([column]).collect())) { "show" }
                    }
                }
            }
            div.bar {
                a href=(with(Column::ALL.to_vec())) { "Reset columns" }
                form method="post" action="/view" {
                    (view.form_token())
                    @for (name, value) in form_urlencoded::parse(shown.query().as_bytes()) {
                        @if name != "page" { input type="hidden" name=(name) value=(value); }
                    }
                    button { "Use as my default list" }
                }
            }
        }
    }
}

/// The address of the list's events. It carries the time and the version of the page, so that
/// changes since then, or a newer version, are announced.
fn events_of(shown: &JobListQuery) -> String {
    let (since, version) = (dates::now(), path("page.js"));
    format!("/events?{}&since={since}&version={version}", shown.query())
}

fn table(view: &View, shown: &JobListQuery, jobs: &[JobSummary]) -> Markup {
    html! {
        @if jobs.is_empty() {
            p.empty { "No jobs match. " a href="/?size=25" { "Show all jobs" } }
        } @else {
            div.wide tabindex="0" role="region" aria-label="Jobs" {
                table.jobs {
                    thead {
                        tr {
                            @for column in shown.columns() { (head(shown, *column)) }
                            th scope="col" { span.unseen { "Actions" } }
                        }
                    }
                    tbody { @for job in jobs { (row(view, shown.columns(), job)) } }
                }
            }
        }
    }
}

/// The head of a column: a link that sorts by it, or reverses the order.
fn head(shown: &JobListQuery, column: Column) -> Markup {
    let now = shown.sort();
    let is_sorted = now.by == column;
    let ascending = match is_sorted {
        true => !now.ascending,
        false => column.begins_ascending(),
    };
    let other = JobListQuery {
        sort: Some(Sort {
            by: column,
            ascending,
        }),
        ..shown.first_page()
    };
    let (direction, arrow) = match now.ascending {
        true => ("ascending", " ▲"),
        false => ("descending", " ▼"),
    };
    html! {
        th scope="col" aria-sort=[is_sorted.then_some(direction)] {
            a href=(other.address()) {
                (column.name())
                @if is_sorted { span aria-hidden="true" { (arrow) } }
            }
        }
    }
}

fn row(view: &View, columns: &[Column], job: &JobSummary) -> Markup {
    let path = |action: &str| format!("/jobs/{}/{action}", job.job_id);
    let is_under_way = matches!(job.state(), JobState::Pending | JobState::Running);
    html! {
        tr data-job=(job.job_id) {
            @for column in columns { (column.cell(job)) }
            td.actions {
                @if is_under_way && view.may_end(&job.user) {
                    a href=(path("cancel")) { "Cancel" }
                }
                @if view.may(Right::Create) && job.retriable {
                    " "
                    a href=(format!("/new?from={}", job.job_id)) { "Clone" }
                    " "
                    form method="post" action=(path("retry")) {
                        (view.form_token())
                        (key())
                        button.link { "Retry" }
                    }
                }
            }
        }
    }
}
