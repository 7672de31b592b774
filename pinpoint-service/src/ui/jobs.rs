//! The list of jobs. All that it shows is in its address, so that a view can be sent.

use std::fmt::Write;

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::Uri;
use maud::{Markup, html};
use pinpoint_core::api::Timestamp;
use pinpoint_report::Foreign;
use tonic::Status;

use super::dates::ago;
use super::frame::{self, Section};
use super::job::{kind, state, title};
use super::view::{View, key};
use crate::Service;
use crate::grpc::errors;
use crate::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::grpc::v2::messages::{
    CountJobsRequest, JobFilter, JobSummary, Kind, ListJobsRequest, State as JobState,
};
use crate::older_page::{DAY, day};
use crate::operations::Right;
use crate::query::Query;
use crate::rest::Problem;

/// The sizes of a page; the second unless another is asked for.
const SIZES: [u32; 4] = [10, 25, 50, 100];

/// A column of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Name,
    Benchmark,
    Bot,
    Type,
    User,
    Created,
    Status,
    Runs,
    Duration,
}

impl Column {
    const ALL: [Self; 9] = [
        Self::Name,
        Self::Benchmark,
        Self::Bot,
        Self::Type,
        Self::User,
        Self::Created,
        Self::Status,
        Self::Runs,
        Self::Duration,
    ];

    /// As the head of the table has it.
    fn name(self) -> &'static str {
        match self {
            Self::Name => "Name",
            Self::Benchmark => "Benchmark",
            Self::Bot => "Bot",
            Self::Type => "Type",
            Self::User => "User",
            Self::Created => "Created",
            Self::Status => "Status",
            Self::Runs => "Runs",
            Self::Duration => "Duration",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.key() == name)
    }

    /// As an address has it.
    fn key(self) -> String {
        self.name().to_ascii_lowercase()
    }

    fn cell(self, job: &JobSummary) -> Markup {
        html! {
            @match self {
                Self::Name => th scope="row" {
                    a href=(format!("/jobs/{}", job.job_id)) { (Foreign(title(job))) }
                },
                Self::Benchmark => td { (Foreign(&job.benchmark)) },
                Self::Bot => td { (Foreign(&job.bot)) },
                Self::Type => td { (kind(job)) },
                Self::User => td { (Foreign(&job.user)) },
                Self::Created => td { (ago(job.created.as_ref())) },
                Self::Status => td { (state(job)) },
                Self::Runs => td.number { (job.runs) },
                Self::Duration => td.number {
                    @if let Some(seconds) = job.running_s { (format!("{seconds:.0} s")) }
                },
            }
        }
    }
}

/// What is shown, as its address says it.
#[derive(Debug, Clone, Default)]
struct Shown {
    text: String,
    benchmark: String,
    bot: String,
    user: String,
    kind: String,
    state: String,
    from: String,
    to: String,
    size: Option<u32>,
    page: String,
    columns: Option<Vec<Column>>,
}

pub(super) const KINDS: [(&str, Kind); 3] = [
    ("bisection", Kind::Bisection),
    ("try", Kind::Pairwise),
    ("culprit", Kind::CulpritFinder),
];

const STATES: [(&str, JobState); 5] = [
    ("pending", JobState::Pending),
    ("running", JobState::Running),
    ("completed", JobState::Completed),
    ("failed", JobState::Failed),
    ("canceled", JobState::Canceled),
];

impl Shown {
    fn of(uri: &Uri) -> Result<Self, Status> {
        let mut query = Query::of(uri)?;
        let mut text = |name| query.take(name).unwrap_or_default();
        let mut shown = Self {
            text: text("text"),
            benchmark: text("benchmark"),
            bot: text("bot"),
            user: text("user"),
            kind: text("kind"),
            state: text("state"),
            from: text("from"),
            to: text("to"),
            page: text("page"),
            ..Self::default()
        };
        if let Some(size) = query.take("size") {
            let size = size.parse().ok().filter(|size| SIZES.contains(size));
            let problem = "a page has 10, 25, 50 or 100 jobs";
            shown.size = Some(size.ok_or_else(|| errors::field("size", problem))?);
        }
        if let Some(columns) = query.take("columns") {
            let mut known = Vec::new();
            for name in columns.split(',') {
                let problem = || errors::field("columns", &format!("there is no column {name:?}"));
                let column = Column::of(name).ok_or_else(problem)?;
                if !known.contains(&column) {
                    known.push(column);
                }
            }
            shown.columns = Some(known);
        }
        Ok(shown)
    }

    fn columns(&self) -> &[Column] {
        self.columns.as_deref().unwrap_or(&Column::ALL)
    }

    fn size(&self) -> u32 {
        self.size.unwrap_or(SIZES[1])
    }

    /// The address that shows it, with the fields in one order.
    fn address(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [
            ("text", &self.text),
            ("benchmark", &self.benchmark),
            ("bot", &self.bot),
            ("user", &self.user),
            ("kind", &self.kind),
            ("state", &self.state),
            ("from", &self.from),
            ("to", &self.to),
        ] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if let Some(columns) = &self.columns {
            let keys: Vec<_> = columns.iter().map(|it| it.key()).collect();
            query.append_pair("columns", &keys.join(","));
        }
        query.append_pair("size", &self.size().to_string());
        if !self.page.is_empty() {
            query.append_pair("page", &self.page);
        }
        format!("/?{}", query.finish())
    }

    fn filter(&self) -> Result<JobFilter, Status> {
        let time = |name: &str, text: &str, days: i64| match text {
            "" => Ok(None),
            text => {
                let problem = || errors::field(name, "write the day as YYYY-MM-DD");
                let day = day(text).ok_or_else(problem)?;
                Ok::<_, Status>(Timestamp::of_milliseconds(day + days * DAY))
            }
        };
        let (since, until) = (time("from", &self.from, 0)?, time("to", &self.to, 1)?);
        if let (Some(since), Some(until)) = (&since, &until)
            && since.seconds >= until.seconds
        {
            return Err(errors::field("from", "this day is after the last one"));
        }
        Ok(JobFilter {
            benchmark: self.benchmark.clone(),
            bots: match &*self.bot {
                "" => Vec::new(),
                bot => vec![bot.to_owned()],
            },
            user: self.user.clone(),
            kind: chosen("kind", &self.kind, &KINDS)?.unwrap_or_default() as i32,
            state: chosen("state", &self.state, &STATES)?.unwrap_or_default() as i32,
            since,
            until,
            text: self.text.clone(),
            ..JobFilter::default()
        })
    }
}

fn chosen<T: Copy>(name: &str, text: &str, all: &[(&str, T)]) -> Result<Option<T>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    let found = all.iter().find(|(key, _)| *key == text);
    let names: Vec<_> = all.iter().map(|(key, _)| *key).collect();
    let problem = || errors::field(name, &format!("choose one of {}", names.join(", ")));
    Ok(Some(found.ok_or_else(problem)?.1))
}

/// GET `/`.
pub(super) async fn page(
    State(service): State<Service>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    let shown = Shown::of(&uri)?;
    if uri.query().is_none() {
        // One's own jobs, and an address that says so.
        let mine = Shown {
            user: view.user().to_owned(),
            ..shown
        };
        return Ok(Redirect::to(&mine.address()).into_response());
    }
    let filter = shown.filter()?;
    let request = ListJobsRequest {
        filter: Some(filter.clone()),
        page_size: Some(shown.size()),
        page_token: shown.page.clone(),
        ..ListJobsRequest::default()
    };
    let listed = service.list_jobs(view.call("pinpoint.v2.Pinpoint/ListJobs", request));
    let listed = listed.await?.into_inner();
    let request = CountJobsRequest {
        filter: Some(filter),
    };
    let counted = service.count_jobs(view.call("pinpoint.v2.Pinpoint/CountJobs", request));
    let counted = counted.await?.into_inner();
    let other_page = |token: &str| {
        let other = Shown {
            page: token.to_owned(),
            ..shown.clone()
        };
        (!token.is_empty()).then(|| other.address())
    };
    let mut total = format!("{} job", counted.jobs);
    if counted.more {
        total.insert_str(0, "more than ");
    }
    if counted.jobs != 1 {
        let _ = total.write_char('s');
    }
    let main = html! {
        div.title {
            h1 { "Jobs" }
            @if view.may(Right::Create) { a.button href="/new" { "New job" } }
        }
        (filters(&service, &view, &shown))
        (columns(&shown))
        p.soft role="status" { (total) }
        (table(&view, &shown, &listed.jobs))
        nav.bar aria-label="Pages of the list" {
            @if let Some(path) = other_page(&listed.previous_page_token) {
                a.button rel="prev" href=(path) { "Newer" }
            }
            @if let Some(path) = other_page(&listed.next_page_token) {
                a.button rel="next" href=(path) { "Older" }
            }
        }
    };
    Ok(frame::page(&view, Section::Jobs, "Jobs", &main))
}

/// The form that says which jobs are shown.
fn filters(service: &Service, view: &View, shown: &Shown) -> Markup {
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
    let everybody = Shown {
        user: String::new(),
        page: String::new(),
        ..shown.clone()
    };
    let mine = Shown {
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
            (text("user", "User", &shown.user, "text", None))
            (one_of("kind", "Type", &shown.kind, &KINDS.map(|it| it.0)))
            (one_of("state", "Status", &shown.state, &STATES.map(|it| it.0)))
            (text("from", "From", &shown.from, "date", None))
            (text("to", "To", &shown.to, "date", None))
            label {
                span { "Rows" }
                select name="size" {
                    @for size in SIZES {
                        option value=(size) selected[size == shown.size()] { (size) }
                    }
                }
            }
            @if let Some(columns) = &shown.columns {
                input type="hidden" name="columns" value=(columns.iter().map(|it| it.key()).collect::<Vec<_>>().join(","));
            }
            button { "Show" }
            a href="/?size=25" { "Reset" }
        }
        datalist #benchmarks { @for name in service.benchmark_names() { option value=(name); } }
        datalist #bots { @for bot in service.usable_bots() { option value=(bot.name); } }
    }
}

/// Links that show, hide and move columns.
fn columns(shown: &Shown) -> Markup {
    let with = |columns: Vec<Column>| {
        let columns = (columns != Column::ALL).then_some(columns);
        let other = Shown {
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
            p { a href=(with(Column::ALL.to_vec())) { "Reset columns" } }
        }
    }
}

fn table(view: &View, shown: &Shown, jobs: &[JobSummary]) -> Markup {
    html! {
        @if jobs.is_empty() {
            p.empty { "No job fits." }
        } @else {
            div.wide tabindex="0" role="region" aria-label="Jobs" {
                table.jobs {
                    thead {
                        tr {
                            @for column in shown.columns() { th scope="col" { (column.name()) } }
                            th scope="col" { span.unseen { "Actions" } }
                        }
                    }
                    tbody { @for job in jobs { (row(view, shown.columns(), job)) } }
                }
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
                @if view.may(Right::Create) {
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
