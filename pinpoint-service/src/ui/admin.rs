//! The page of administrators: roles, limits, tokens and the audit log.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::Uri;
use maud::{Markup, html};
use pinpoint_backends::store::{AuditCheck, AuditFault};
use pinpoint_core::api::Timestamp;
use pinpoint_report::{Foreign, clean, quantity};
use tokio::sync::Semaphore;
use tonic::Status;

use super::account;
use super::dates::{at, days};
use super::frame::{self, Section};
use super::problems::of_list;
use super::view::View;
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::api::grpc::v2::messages::{AuditRow, GetAuditRequest};
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::auth::sign_in::Roles;
use crate::config::{Limit, LimitsConfig};
use crate::state::Service;

/// The days of the log that are shown unless others are asked for.
const LATELY: i64 = 7;

/// Checks of the log at once: each reads all of it.
static CHECKS: Semaphore = Semaphore::const_new(1);

/// The rows of the audit log that are shown.
#[derive(Default)]
struct AuditQuery {
    user: String,
    job: String,
    operation: String,
    from: String,
    to: String,
    page: String,
}

impl AuditQuery {
    fn from_uri(uri: &Uri) -> Result<Self, Status> {
        let mut query = Query::from_uri(uri)?;
        let mut text = |name| query.take(name).unwrap_or_default();
        Ok(Self {
            user: text("user"),
            job: text("job"),
            operation: text("operation"),
            from: text("from"),
            to: text("to"),
            page: text("page"),
        })
    }

    fn fields(&self) -> [(&'static str, &str); 6] {
        [
            ("user", &self.user),
            ("job", &self.job),
            ("operation", &self.operation),
            ("from", &self.from),
            ("to", &self.to),
            ("page", &self.page),
        ]
    }

    /// The address of this part of the log, at another page.
    fn at(&self, page: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in self.fields() {
            let value = if name == "page" { page } else { value };
            if !value.is_empty() || name == "from" {
                query.append_pair(name, value);
            }
        }
        format!("/admin?{}#audit", query.finish())
    }
}

/// GET `/admin`.
pub(super) async fn page(
    State(service): State<Service>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    let shown = AuditQuery::from_uri(&uri)?;
    if uri.query().is_none() {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default().as_secs().cast_signed() - LATELY * 24 * 60 * 60;
        let seconds = since.max(0);
        let day = Timestamp { seconds, nanos: 0 }.to_string();
        let from = day.get(..10).unwrap_or_default();
        return Ok(Redirect::to(&format!("/admin?from={from}")).into_response());
    }
    let (since, until) = days(&shown.from, &shown.to)?;
    let request = GetAuditRequest {
        user: shown.user.clone(),
        job_id: shown.job.clone(),
        operation: shown.operation.clone(),
        since,
        until,
        page_size: None,
        page_token: shown.page.clone(),
    };
    let read = service.get_audit(view.call("pinpoint.v2.Pinpoint/GetAudit", request));
    let read = read.await.map_err(of_list)?.into_inner();
    let all = service.store.tokens().list().await.map_err(errors::store)?;
    let main = html! {
        h1 { "Administration" }
        (roles(service.sign_in.roles()))
        (limits(service.limits.config()))
        h2 { "API tokens of all users" }
        (account::tokens(&view, &all))
        h2 #audit { "Audit log" }
        p { "Every change that users requested, and every refusal, oldest first." }
        form method="post" action="/admin/verify" {
            (view.form_token())
            button { "Verify the log" }
        }
        (filters(&shown))
        (table(&read.rows))
        nav.bar aria-label="Pages of the log" {
            @if !shown.page.is_empty() { a.button href=(shown.at("")) { "First" } }
            @if !read.next_page_token.is_empty() {
                a.button rel="next" href=(shown.at(&read.next_page_token)) { "Later" }
            }
        }
    };
    Ok(frame::page(&view, Section::Admin, "Administration", &main))
}

fn roles(roles: Option<&Roles>) -> Markup {
    html! {
        h2 { "Roles" }
        @match roles {
            None => p { "No roles are configured. Callers have the permissions of their tokens, or all permissions where sign-in is off." },
            Some(roles) => table.facts {
                tbody {
                    @for (role, members) in roles.each() {
                        tr {
                            th scope="row" { (role) }
                            td {
                                @if members.is_empty() { span.soft { "nobody" } }
                                @for member in members { div { (Foreign(&member.to_string())) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn limits(config: &LimitsConfig) -> Markup {
    let number = |most: Limit| match most.get() {
        Some(most) => most.to_string(),
        None => "no limit".to_owned(),
    };
    html! {
        h2 { "Limits" }
        div.wide tabindex="0" role="region" aria-label="Limits" {
            table {
                thead {
                    tr {
                        th scope="col" { "User" }
                        th.number scope="col" { "Requests per minute" }
                        th.number scope="col" { "Jobs per hour" }
                        th.number scope="col" { "Jobs under way" }
                        th.number scope="col" { "Runs per day" }
                        th.number scope="col" { "Streams" }
                    }
                }
                tbody {
                    tr {
                        th scope="row" { "each" }
                        @for most in [config.requests_a_minute, config.jobs_an_hour, config.jobs_under_way, config.runs_a_day, config.streams] {
                            td.number { (number(most)) }
                        }
                    }
                    @for (user, own) in &config.users {
                        tr {
                            th scope="row" { (Foreign(user)) }
                            @for (own, all) in [
                                (own.requests_a_minute, config.requests_a_minute),
                                (own.jobs_an_hour, config.jobs_an_hour),
                                (own.jobs_under_way, config.jobs_under_way),
                                (own.runs_a_day, config.runs_a_day),
                                (own.streams, config.streams),
                            ] {
                                td.number { (number(own.unwrap_or(all))) }
                            }
                        }
                    }
                }
            }
        }
        p.soft {
            @match config.address_requests_a_minute.get() {
                Some(most) => { "Each IP address may send up to " (most.get()) " requests per minute." }
                None => "Requests from one IP address are not limited.",
            }
        }
    }
}

fn filters(shown: &AuditQuery) -> Markup {
    let labels = ["User", "Job", "Operation", "From (UTC)", "To (UTC)"];
    html! {
        form.filters method="get" action="/admin#audit" aria-label="Entries of the log" {
            @for (label, (name, value)) in labels.into_iter().zip(shown.fields()) {
                label {
                    span { (label) }
                    input name=(name) value=(clean(value)) type=(if matches!(name, "from" | "to") { "date" } else { "text" });
                }
            }
            button { "Show" }
        }
    }
}

fn table(rows: &[AuditRow]) -> Markup {
    html! {
        @if rows.is_empty() {
            p.empty { "No entries match." }
        } @else {
            div.wide tabindex="0" role="region" aria-label="Entries of the log" {
                table {
                    thead {
                        tr {
                            th.number scope="col" { "Row" }
                            th scope="col" { "Time" }
                            th scope="col" { "User" }
                            th scope="col" { "Operation" }
                            th scope="col" { "Job" }
                            th scope="col" { "Result" }
                            th scope="col" { "Address" }
                            th scope="col" { "Request" }
                            th scope="col" { "Details" }
                        }
                    }
                    tbody {
                        @for row in rows {
                            tr {
                                th.number scope="row" { (row.number) }
                                td { (at(row.time.as_ref())) }
                                td { (Foreign(&row.user)) }
                                td { (Foreign(&row.operation)) }
                                td { @if !row.job_id.is_empty() { a href=(format!("/jobs/{}", row.job_id)) { (row.job_id) } } }
                                td { (Foreign(&row.result)) }
                                td { (Foreign(&row.address)) }
                                td { (Foreign(&row.request)) }
                                td { (Foreign(&row.details)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// POST `/admin/verify`: checks that each row of the log fits the one before.
pub(super) async fn verify(
    State(service): State<Service>,
    view: View,
) -> Result<Response, Problem> {
    let turn = CHECKS.acquire().await;
    let check = service
        .store
        .audit()
        .verify()
        .await
        .map_err(errors::store)?;
    drop(turn);
    let main = html! {
        h1 { "Audit log" }
        @match check {
            AuditCheck::Whole { rows, hash } => {
                p role="status" { span.tone.good { "Intact" } ": " (quantity::count(rows, "row")) ", and the hash chain is valid." }
                @if !hash.is_empty() {
                    p { "Keep a copy of the last hash elsewhere: anyone who can write to the database could recompute all hashes." }
                    pre { (hash) }
                }
            }
            AuditCheck::Broken { number, fault } => {
                p role="status" {
                    span.tone.bad { "Broken" } " Row " (number) " "
                    (match fault {
                        AuditFault::Altered => "was altered",
                        AuditFault::Missing => "is missing",
                        AuditFault::Inserted => "was inserted",
                    })
                    "."
                }
                p { "Keep a copy of the database, and compare it with a backup." }
            }
        }
        p { a.button href="/admin" { "Back" } }
    };
    Ok(frame::page(&view, Section::Admin, "Audit log", &main))
}
